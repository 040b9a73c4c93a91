//! The types that kinds are made of: records with fields, and the shapes of their values.

use super::suggest;
use super::table;

/// A record type, such as `core/v1/Container`. A view into the table: copying it costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Type {
    heading: &'static str,
    body: &'static str,
}

impl Type {
    /// The type of this name: package, version and kind, such as `core/v1/Container` or `meta/v1/ObjectMeta`.
    #[must_use]
    pub fn find(id: &str) -> Option<Self> {
        table::type_block(id).map(|(heading, body)| Self { heading, body })
    }

    /// The names of all types, ordered.
    pub fn all_ids() -> impl Iterator<Item = &'static str> {
        table::type_ids()
    }

    /// Its name, such as `core/v1/Container`.
    #[must_use]
    pub fn id(&self) -> &'static str {
        self.heading.split('\t').next().unwrap_or_default()
    }

    /// The last part of its name, such as `Container`.
    #[must_use]
    pub fn short_name(&self) -> &'static str {
        self.id().rsplit('/').next().unwrap_or_default()
    }

    /// What it is for, in Kubernetes' words.
    #[must_use]
    pub fn doc(&self) -> String {
        doc(self.id(), "")
    }

    /// Its fields, ordered by name.
    pub fn fields(&self) -> impl Iterator<Item = Field> + use<> {
        let owner = self.id();
        self.body.lines().filter_map(move |line| {
            let (name, facts) = line.split_once('\t')?;
            Some(Field { owner, name, facts })
        })
    }

    /// Whether it has any required field.
    pub(super) fn has_required(&self) -> bool {
        self.body.contains("\t!")
    }

    /// The field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Field> {
        let (name, facts) = table::line_of(self.body, name)?;
        Some(Field { owner: self.id(), name, facts })
    }

    /// The name of a field that was perhaps meant by one that does not exist.
    #[must_use]
    pub fn closest_field(&self, written: &str) -> Option<&'static str> {
        suggest::closest(written, self.fields().map(|field| field.name))
    }

    /// The field at a path of field names; lists and dictionaries on the way are passed through to their items
    /// with `[]` and `{}`.
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<Field> {
        let (first, rest) = path.split_first()?;
        let field = self.field(first)?;
        let mut shape = field.shape();
        let mut rest = rest;
        loop {
            match (rest.split_first(), shape) {
                (None, _) => return Some(field),
                (Some((&"[]", after)), Shape::List(item)) => (shape, rest) = (item.shape(), after),
                (Some((&"{}", after)), Shape::Dictionary(item)) => (shape, rest) = (item.shape(), after),
                (Some(_), Shape::Record(id)) => return Self::find(id)?.at(rest),
                _ => return None,
            }
        }
    }

    /// Whether objects of it are replaced as a whole by server-side apply.
    #[must_use]
    pub fn is_atomic(&self) -> bool {
        word(self.heading, "mt=") == Some("atomic")
    }

    /// Fields of which at most one may be set, with the field that says which, if there is one:
    /// (discriminator, [(field, value of the discriminator)]).
    pub fn unions(&self) -> impl Iterator<Item = (Option<&'static str>, Vec<(&'static str, &'static str)>)> {
        self.heading.split('\t').filter_map(|word| word.strip_prefix("un=")?.split_once(':')).map(
            |(discriminator, members)| {
                let members = members.split(',').filter_map(|member| member.split_once('>')).collect();
                ((!discriminator.is_empty()).then_some(discriminator), members)
            },
        )
    }
}

/// A field of a record type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    owner: &'static str,
    /// Its name.
    pub name: &'static str,
    facts: &'static str,
}

impl Field {
    /// The name of the type that it belongs to.
    #[must_use]
    pub fn owner(&self) -> &'static str {
        self.owner
    }

    /// The shape of its value.
    #[must_use]
    pub fn shape(&self) -> Shape {
        ShapeText(self.facts.split('\t').next().unwrap_or_default()).shape()
    }

    /// What it is for, in Kubernetes' words.
    #[must_use]
    pub fn doc(&self) -> String {
        doc(self.owner, self.name)
    }

    /// Whether an object without it is refused.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.facts.split('\t').any(|fact| fact == "!")
    }

    /// What the API server fills in, as JSON.
    #[must_use]
    pub fn default(&self) -> Option<&'static str> {
        word(self.facts, "d=")
    }

    /// The strings that it, or each of its items, may be; none if every string may be.
    #[must_use]
    pub fn allowed(&self) -> Option<Vec<&'static str>> {
        word(self.facts, "e=").map(|values| values.split('|').collect())
    }

    /// How server-side apply merges its list.
    #[must_use]
    pub fn list_type(&self) -> Option<ListType> {
        match word(self.facts, "lt=")? {
            "map" => Some(ListType::Map),
            "set" => Some(ListType::Set),
            "atomic" => Some(ListType::Atomic),
            _ => None,
        }
    }

    /// The fields that tell the items of a [`ListType::Map`] apart.
    pub fn list_keys(&self) -> impl Iterator<Item = &'static str> + use<> {
        word(self.facts, "lk=").unwrap_or_default().split(',').filter(|key| !key.is_empty())
    }

    /// Whether its record or dictionary is replaced as a whole by server-side apply.
    #[must_use]
    pub fn is_atomic(&self) -> bool {
        word(self.facts, "mt=") == Some("atomic")
    }

    /// The strategies of a strategic merge patch, such as `merge` and `retainKeys`.
    pub fn patch_strategies(&self) -> impl Iterator<Item = &'static str> + use<> {
        word(self.facts, "ps=").unwrap_or_default().split(',').filter(|one| !one.is_empty())
    }

    /// The field that a strategic merge patch tells items apart by.
    #[must_use]
    pub fn patch_merge_key(&self) -> Option<&'static str> {
        word(self.facts, "pk=")
    }
}

/// How server-side apply merges a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListType {
    /// Item by item; items are told apart by their key fields.
    Map,
    /// Item by item; items are their own keys.
    Set,
    /// As a whole.
    Atomic,
}

/// The shape of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A string.
    String,
    /// Base64 in a string.
    Bytes,
    /// A time in a string.
    Time,
    /// A time in a string, written with microseconds.
    MicroTime,
    /// `true` or `false`.
    Boolean,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// A number.
    Double,
    /// A quantity: a string or a number.
    Quantity,
    /// A whole number of 32 bits, or a string.
    IntOrString,
    /// Anything.
    Any,
    /// Any record.
    Object,
    /// A list of such items.
    List(ShapeText),
    /// A dictionary of such values.
    Dictionary(ShapeText),
    /// The record type of this name.
    Record(&'static str),
    /// One of several shapes.
    OneOf(ShapeText),
}

/// A shape as the table writes it, read when it is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeText(&'static str);

impl ShapeText {
    /// What it says.
    #[must_use]
    pub fn shape(self) -> Shape {
        let text = self.0;
        // The choices of the table begin with a record, so that the bar cannot be an item's.
        if text.contains('|') && !text.starts_with(['{', '[']) {
            return Shape::OneOf(self);
        }
        let inside = |open, close| text.strip_prefix(open)?.strip_suffix(close).map(ShapeText);
        if let Some(item) = inside('[', ']') {
            return Shape::List(item);
        }
        if let Some(item) = inside('{', '}') {
            return Shape::Dictionary(item);
        }
        match text {
            "s" => Shape::String,
            "bytes" => Shape::Bytes,
            "time" => Shape::Time,
            "microtime" => Shape::MicroTime,
            "b" => Shape::Boolean,
            "i32" => Shape::Int32,
            "i64" => Shape::Int64,
            "f64" => Shape::Double,
            "quantity" => Shape::Quantity,
            "intstr" => Shape::IntOrString,
            "object" => Shape::Object,
            id if id.contains('/') => Shape::Record(id),
            _ => Shape::Any,
        }
    }

    /// The shapes of a [`Shape::OneOf`].
    pub fn choices(self) -> impl Iterator<Item = Shape> {
        self.0.split('|').map(|one| ShapeText(one).shape())
    }
}

fn word(facts: &'static str, key: &str) -> Option<&'static str> {
    facts.split('\t').find_map(|fact| fact.strip_prefix(key))
}

fn doc(owner: &str, field: &str) -> String {
    let line = table::doc_line(owner, field).unwrap_or_default();
    let original = line.strip_prefix('@').and_then(|place| {
        let (owner, field) = place.split_once('#')?;
        table::doc_line(owner, field)
    });
    unescaped(original.unwrap_or(line))
}

fn unescaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => text.push(match letters.next() {
                Some('n') => '\n',
                Some(other) => other,
                None => '\\',
            }),
            other => text.push(other),
        }
    }
    text
}
