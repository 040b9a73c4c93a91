//! The schema of a value, as a structural schema of a CustomResourceDefinition can say it.

use std::collections::BTreeMap;

use serde_json::{Number, Value};

use super::rule::{CelRule, Wanted};
use crate::diagnostic::Span;

/// What a value must be.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Schema {
    /// Its type.
    pub of: Type,
    /// What it is for.
    pub description: Option<String>,
    /// The value that a missing one gets.
    pub default: Option<Value>,
    /// Whether null is a value too.
    pub nullable: bool,
    /// The values that it may be; none: any.
    pub allowed: Option<Vec<Value>>,
    /// The least number.
    pub minimum: Option<Number>,
    /// The greatest number.
    pub maximum: Option<Number>,
    /// The least length of a string, in characters.
    pub min_length: Option<u64>,
    /// The greatest length of a string, in characters.
    pub max_length: Option<u64>,
    /// What a string must match, all of them.
    pub patterns: Vec<String>,
    /// A named format, such as `int64` or `date-time`.
    pub format: Option<String>,
    /// The least number of items of a list.
    pub min_items: Option<u64>,
    /// The greatest number of items of a list.
    pub max_items: Option<u64>,
    /// The least number of entries of a record or dictionary.
    pub min_properties: Option<u64>,
    /// The greatest number of entries of a record or dictionary.
    pub max_properties: Option<u64>,
    /// How server-side apply merges a list.
    pub list_type: Option<ListType>,
    /// Whether a record or dictionary is replaced as a whole by server-side apply.
    pub atomic: bool,
    /// Whether it is an amount that can be compared as one, such as `500m`.
    pub quantity: bool,
    /// Whether it is one of Kubernetes' own types.
    pub embedded: bool,
    /// The rules that the API server evaluates.
    pub rules: Vec<CelRule>,
    /// Rules that are not made into such yet.
    pub wanted: Vec<Wanted>,
    /// What else a CRD that is not ours says, keyword by keyword.
    pub other: BTreeMap<String, Value>,
    /// Where the contract is written.
    pub span: Option<Span>,
}

/// The types of values.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Type {
    /// Anything, kept as it is.
    #[default]
    Any,
    /// A string.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A whole number or a string.
    IntOrString,
    /// A list.
    List(Box<Schema>),
    /// A record with known fields.
    Record(Record),
    /// A record with any names and such values.
    Dictionary(Box<Schema>),
}

/// A record with known fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Record {
    /// The fields, by name.
    pub fields: BTreeMap<String, Field>,
    /// Whether other fields are kept, instead of being dropped or refused.
    pub open: bool,
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Field {
    /// What its value must be.
    pub schema: Schema,
    /// Whether a record without it is refused.
    pub required: bool,
    /// Whether the contract gives it a value where it is missing, one that the CRD does not know: it is computed from
    /// the object. The API server then sees records without it, and the contract sees none.
    pub filled: bool,
}

impl Field {
    /// Whether every record that passes has it: it is required, or a default fills it.
    #[must_use]
    pub fn is_always_there(&self) -> bool {
        self.required || self.schema.default.is_some()
    }
}

/// How server-side apply merges a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListType {
    /// As a whole.
    Atomic,
    /// Item by item: no item stands twice.
    Set,
    /// Item by item, told apart by these fields.
    Map(Vec<String>),
}

impl Schema {
    /// A value of a type, with nothing else said about it.
    #[must_use]
    pub fn new(of: Type) -> Self {
        Self { of, ..Self::default() }
    }

    /// Anything at all, null too.
    #[must_use]
    pub fn any() -> Self {
        Self { nullable: true, ..Self::default() }
    }

    /// Lets it be null as well. The API server refuses null wherever values are listed, even if null is one of them, so
    /// that listed strings become a pattern. Gives back whether everything else is still checked.
    pub fn allow_null(&mut self) -> bool {
        self.nullable = true;
        let Some(allowed) = self.allowed.take() else { return true };
        let texts: Option<Vec<String>> = allowed.iter().map(|one| one.as_str().map(regex::escape)).collect();
        match texts {
            Some(texts) => {
                self.patterns.push(format!("^({})$", texts.join("|")));
                true
            }
            None => false,
        }
    }

    /// A list of such items.
    #[must_use]
    pub fn list(items: Self) -> Self {
        Self::new(Type::List(Box::new(items)))
    }

    /// A dictionary of such values.
    #[must_use]
    pub fn dictionary(values: Self) -> Self {
        Self::new(Type::Dictionary(Box::new(values)))
    }

    /// A record of fields: name, whether it is required, schema.
    #[must_use]
    pub fn record<'a>(fields: impl IntoIterator<Item = (&'a str, bool, Self)>) -> Self {
        let fields = fields
            .into_iter()
            .map(|(name, required, schema)| (name.to_owned(), Field { schema, required, filled: false }))
            .collect();
        Self::new(Type::Record(Record { fields, open: false }))
    }

    /// The same with a description.
    #[must_use]
    pub fn described(mut self, text: &str) -> Self {
        self.description = Some(text.to_owned());
        self
    }

    /// The record, if it is one.
    #[must_use]
    pub fn as_record(&self) -> Option<&Record> {
        match &self.of {
            Type::Record(record) => Some(record),
            _ => None,
        }
    }

    /// The record, if it is one.
    pub fn as_record_mut(&mut self) -> Option<&mut Record> {
        match &mut self.of {
            Type::Record(record) => Some(record),
            _ => None,
        }
    }

    /// The schema at a path of field names.
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        match path.split_first() {
            None => Some(self),
            Some((first, rest)) => self.as_record()?.fields.get(*first)?.schema.at(rest),
        }
    }

    /// Whether rules stand on it or on a record in it, made already or only wanted.
    #[must_use]
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
            || !self.wanted.is_empty()
            || match &self.of {
                Type::Record(record) => record.fields.values().any(|field| field.schema.has_rules()),
                Type::List(inner) | Type::Dictionary(inner) => inner.has_rules(),
                _ => false,
            }
    }

    /// Whether something in it is filled in by the contract alone.
    #[must_use]
    pub fn has_filled_fields(&self) -> bool {
        match &self.of {
            Type::Record(record) => {
                record.fields.values().any(|field| field.filled || field.schema.has_filled_fields())
            }
            Type::List(inner) | Type::Dictionary(inner) => inner.has_filled_fields(),
            _ => false,
        }
    }

    /// Its type with its article, for messages.
    #[must_use]
    pub fn a_type(&self) -> String {
        let name = self.type_name();
        match self.of {
            Type::Any => name.to_owned(),
            Type::Integer | Type::IntOrString => format!("an {name}"),
            _ => format!("a {name}"),
        }
    }

    /// Its type in a word, for messages.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match &self.of {
            Type::Any => "anything",
            Type::String => "string",
            Type::Integer => "integer",
            Type::Number => "number",
            Type::Boolean => "boolean",
            Type::IntOrString => "integer or string",
            Type::List(_) => "list",
            Type::Record(_) => "record",
            Type::Dictionary(_) => "dictionary",
        }
    }
}
