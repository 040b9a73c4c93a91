//! Kubernetes' own types as parts of a schema, taken from the table of the pinned version.

use serde_json::Value;

use super::schema::{Field, ListType, Record, Schema, Type};
use crate::kube_types;

/// How deep a type is written out; below that anything goes. No type in use is deeper, but JSON Schema's own.
const MAX_DEPTH: usize = 24;
/// How long a description is at most: a pod template alone has hundreds of fields, and a definition has to fit into etcd.
const MAX_DESCRIPTION: usize = 160;

/// An amount in a string, as the contract of Kubernetes' types takes it.
const QUANTITY: &str =
    "^[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)?$";

/// What a schema of Kubernetes' types leaves open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leaves {
    /// What is inside a type that contains itself.
    Inside(&'static str),
    /// The format of times or bytes.
    Formats,
    /// Amounts that are written as numbers with a fraction, which the contract accepts and definitions cannot.
    Fractions,
}

/// The schema of a type such as `core/v1/ResourceRequirements`; none if there is no such type. What it leaves open is
/// told to `deeper`.
pub fn embedded(id: &str, deeper: &mut dyn FnMut(Leaves)) -> Option<Schema> {
    let body = kube_types::Type::find(id)?;
    let mut schema = record(&body, &mut vec![body.id()], deeper);
    schema.embedded = true;
    Some(schema)
}

fn record(
    body: &kube_types::Type,
    on_the_way: &mut Vec<&'static str>,
    deeper: &mut dyn FnMut(Leaves),
) -> Schema {
    let mut fields = std::collections::BTreeMap::new();
    for field in body.fields() {
        let mut schema = shape(field.shape(), on_the_way, deeper);
        schema.description = Some(first_sentences(&field.doc())).filter(|doc| !doc.is_empty());
        if let Some(allowed) = field.allowed() {
            let target = match &mut schema.of {
                Type::List(items) => items,
                _ => &mut schema,
            };
            let mut values: Vec<Value> = allowed.into_iter().map(Value::from).collect();
            // Kubernetes takes an empty string for a missing one.
            if !field.is_required() {
                values.push(Value::from(""));
            }
            target.allowed = Some(values);
        }
        if let Type::List(_) = &schema.of {
            // How others merge is taken only where it refuses nothing: items of a set or map may not stand twice.
            let atomic = field.list_type() == Some(kube_types::ListType::Atomic);
            schema.list_type = atomic.then_some(ListType::Atomic);
        }
        schema.atomic = field.is_atomic();
        // A missing value may be written as null.
        if !field.is_required() {
            schema.allow_null();
        }
        fields.insert(field.name.to_owned(), Field { schema, required: field.is_required() });
    }
    let mut schema = Schema::new(Type::Record(Record { fields, open: false }));
    schema.atomic = body.is_atomic();
    schema.description = Some(first_sentences(&body.doc())).filter(|doc| !doc.is_empty());
    schema
}

fn shape(
    shape: kube_types::Shape,
    on_the_way: &mut Vec<&'static str>,
    deeper: &mut dyn FnMut(Leaves),
) -> Schema {
    use kube_types::Shape;
    let format = |of: Type, format: &str| Schema { format: Some(format.to_owned()), ..Schema::new(of) };
    match shape {
        Shape::String => Schema::new(Type::String),
        Shape::Bytes | Shape::Time | Shape::MicroTime => {
            deeper(Leaves::Formats);
            Schema::new(Type::String)
        }
        Shape::Boolean => Schema::new(Type::Boolean),
        Shape::Int32 => {
            let mut schema = format(Type::Integer, "int32");
            schema.minimum = Some(i32::MIN.into());
            schema.maximum = Some(i32::MAX.into());
            schema
        }
        Shape::Int64 => format(Type::Integer, "int64"),
        Shape::Double => Schema::new(Type::Number),
        Shape::IntOrString => Schema::new(Type::IntOrString),
        Shape::Quantity => {
            Schema { quantity: true, patterns: vec![QUANTITY.to_owned()], ..Schema::new(Type::IntOrString) }
        }
        Shape::Any | Shape::OneOf(_) => Schema::any(),
        Shape::Object => Schema::new(Type::Record(Record { open: true, ..Record::default() })),
        Shape::List(items) => Schema::list(self::shape(items.shape(), on_the_way, deeper)),
        Shape::Dictionary(values) => Schema::dictionary(self::shape(values.shape(), on_the_way, deeper)),
        Shape::Record(id) if on_the_way.contains(&id) || on_the_way.len() > MAX_DEPTH => {
            deeper(Leaves::Inside(id));
            Schema::new(Type::Record(Record { open: true, ..Record::default() }))
        }
        Shape::Record(id) => match kube_types::Type::find(id) {
            Some(body) => {
                on_the_way.push(body.id());
                let schema = record(&body, on_the_way, deeper);
                on_the_way.pop();
                schema
            }
            None => Schema::any(),
        },
    }
}

/// As many whole sentences as fit.
fn first_sentences(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.len() <= MAX_DESCRIPTION {
        return line.to_owned();
    }
    let mut end = 0;
    for (at, _) in line.match_indices(". ") {
        if at < MAX_DESCRIPTION {
            end = at + 1;
        }
    }
    if end == 0 {
        let cut =
            line.char_indices().take_while(|(at, _)| *at < MAX_DESCRIPTION).last().map_or(0, |(at, _)| at);
        return format!("{}…", line.get(..cut).unwrap_or_default().trim_end());
    }
    line.get(..end).unwrap_or_default().to_owned()
}
