//! Kubernetes' own types as parts of a schema, taken from the table of the pinned version.

use serde_json::Value;

use super::schema::{Field, ListType, Record, Schema, Type};
use crate::kube_types;

/// How deep a type is written out; below that anything goes. No type in use is deeper, but JSON Schema's own.
const MAX_DEPTH: usize = 24;
/// How long a description is at most: a pod template alone has hundreds of fields, and a CRD has to fit into etcd.
const MAX_DESCRIPTION: usize = 160;

/// An amount in a string, as the contract of Kubernetes' types takes it.
const QUANTITY: &str =
    "^[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)?$";

/// A time, as the contract of Kubernetes' types takes it.
const TIME: &str = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01]?[0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.,][0-9]+)?(Z|[+-]([01][0-9]|2[0-4]):([0-5][0-9]|60))$";

/// Bytes in base64, as the contract of Kubernetes' types takes them.
const BASE64: &str = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

/// What a schema of Kubernetes' types leaves open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leaves {
    /// What is inside a type that contains itself.
    Inside(&'static str),
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
        merged(&mut schema, &field);
        schema.atomic = field.is_atomic();
        fields.insert(field.name.to_owned(), Field { schema, required: field.is_required(), filled: false });
    }
    let mut schema = Schema::new(Type::Record(Record { fields, open: false }));
    schema.atomic = body.is_atomic();
    schema.description = Some(first_sentences(&body.doc())).filter(|doc| !doc.is_empty());
    schema
}

/// A field that tells the items of a list apart, and the value of a missing one.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeKey {
    /// Its name.
    pub name: &'static str,
    /// The value that a missing one has.
    pub default: Option<Value>,
}

/// How the list of a field can be merged in a CRD of one's own: its keys, none for a set. Keys that may be missing and have no
/// default cannot be keys there.
#[must_use]
pub fn merge_keys(field: &kube_types::Field) -> Option<Vec<MergeKey>> {
    let kube_types::Shape::List(items) = field.shape() else { return None };
    match (field.list_type()?, items.shape()) {
        (kube_types::ListType::Set, kube_types::Shape::String) => Some(Vec::new()),
        (kube_types::ListType::Map, kube_types::Shape::Record(id)) => {
            let item = kube_types::Type::find(id)?;
            let key = |name: &'static str| {
                let field = item.field(name)?;
                let default = field.default().and_then(|text| serde_json::from_str(text).ok());
                (field.is_required() || default.is_some()).then_some(MergeKey { name, default })
            };
            field.list_keys().map(key).collect()
        }
        _ => None,
    }
}

/// Lets a list be merged as in Kubernetes' own kinds. A missing value may be written as null: the API server drops that of a field or
/// in a dictionary, and in a list it has to be allowed.
fn merged(schema: &mut Schema, field: &kube_types::Field) {
    let Type::List(items) = &mut schema.of else { return };
    match (merge_keys(field), field.list_type()) {
        (Some(keys), Some(kube_types::ListType::Map)) => {
            for key in &keys {
                let of_item = items.as_record_mut().and_then(|record| record.fields.get_mut(key.name));
                if let Some(of_item) = of_item.filter(|it| !it.required) {
                    of_item.schema.default.clone_from(&key.default);
                }
            }
            schema.list_type = Some(ListType::Map(keys.iter().map(|key| key.name.to_owned()).collect()));
        }
        (Some(_), _) => schema.list_type = Some(ListType::Set),
        (None, Some(kube_types::ListType::Atomic)) => {
            items.allow_null();
            schema.list_type = Some(ListType::Atomic);
        }
        // No item of such a list is null in the contract either.
        (None, Some(_)) => {}
        (None, None) => {
            items.allow_null();
        }
    }
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
        Shape::Bytes => Schema { patterns: vec![BASE64.to_owned()], ..Schema::new(Type::String) },
        Shape::Time | Shape::MicroTime => {
            Schema { patterns: vec![TIME.to_owned()], ..Schema::new(Type::String) }
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
        Shape::IntOrString => Schema {
            minimum: Some(i32::MIN.into()),
            maximum: Some(i32::MAX.into()),
            ..Schema::new(Type::IntOrString)
        },
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
