//! The type of a value, as far as merging goes.

use pemdas_core::kube_types::{Field, ListType, Shape, Type};
use serde_json::Value;

use crate::custom;

/// The type of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TypeRef<'a> {
    /// A field of a built-in type.
    Field(Field),
    /// An item of a built-in list or dictionary.
    Shape(Shape),
    /// A built-in record.
    Record(Type),
    /// The schema of a definition.
    Schema(&'a Value),
    /// A whole object of a definition: its metadata is built in.
    Root(&'a Value),
    /// Not known: the value itself says what it is.
    Deduced,
}

/// How a value of a type is taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Atom<'a> {
    /// Not at all.
    Leaf,
    /// Field by field.
    Map(TypeRef<'a>),
    /// Item by item.
    List(Items<'a>, TypeRef<'a>),
}

/// How the items of a list are told apart.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Items<'a> {
    /// They are their own keys.
    Set,
    /// By the fields that a built-in list names.
    BuiltIn(Field),
    /// By the fields that a schema names.
    Schema(&'a Value),
}

impl<'a> TypeRef<'a> {
    /// How a value is taken apart.
    pub(crate) fn atom(self, value: &Value) -> Atom<'a> {
        match self {
            Self::Field(field) => match field.shape() {
                Shape::List(item) => match field.list_type() {
                    Some(ListType::Map) => Atom::List(Items::BuiltIn(field), Self::Shape(item.shape())),
                    Some(ListType::Set) => Atom::List(Items::Set, Self::Shape(item.shape())),
                    _ => Atom::Leaf,
                },
                _ if field.is_atomic() => Atom::Leaf,
                shape => Self::Shape(shape).atom(value),
            },
            Self::Shape(shape) => match shape {
                Shape::Record(id) => Type::find(id).map_or(Atom::Leaf, |it| Self::Record(it).atom(value)),
                Shape::Dictionary(_) => Atom::Map(self),
                _ => Atom::Leaf,
            },
            Self::Record(record) if record.is_atomic() => Atom::Leaf,
            Self::Record(_) | Self::Root(_) => Atom::Map(self),
            Self::Schema(schema) => schema_atom(schema, value),
            Self::Deduced if value.is_object() => Atom::Map(self),
            Self::Deduced => Atom::Leaf,
        }
    }

    /// The type of a field, and whether it is one that the type names.
    pub(crate) fn child(self, name: &str) -> (TypeRef<'a>, bool) {
        match self {
            Self::Record(record) => match record.field(name) {
                Some(field) => (Self::Field(field), true),
                None => (Self::Deduced, false),
            },
            Self::Field(field) => Self::Shape(field.shape()).child(name),
            Self::Shape(Shape::Record(id)) => {
                Type::find(id).map_or((Self::Deduced, false), |it| Self::Record(it).child(name))
            }
            Self::Shape(Shape::Dictionary(item)) => (Self::Shape(item.shape()), false),
            Self::Root(_) if matches!(name, "apiVersion" | "kind") => (Self::Shape(Shape::String), true),
            Self::Root(_) if name == "metadata" => match Type::find("meta/v1/ObjectMeta") {
                Some(meta) => (Self::Record(meta), true),
                None => (Self::Deduced, true),
            },
            Self::Root(schema) | Self::Schema(schema) => {
                if let Some(property) = schema.get("properties").and_then(|it| it.get(name)) {
                    return (Self::Schema(property), true);
                }
                match schema.get("additionalProperties") {
                    Some(values) if values.is_object() => (Self::Schema(values), false),
                    _ => (Self::Deduced, false),
                }
            }
            Self::Shape(_) | Self::Deduced => (Self::Deduced, false),
        }
    }

    /// Whether a field of a map may be there.
    pub(crate) fn knows(self, name: &str) -> bool {
        match self {
            Self::Record(record) => record.field(name).is_some(),
            Self::Field(field) => Self::Shape(field.shape()).knows(name),
            Self::Shape(Shape::Record(id)) => Type::find(id).is_none_or(|it| it.field(name).is_some()),
            Self::Root(schema) | Self::Schema(schema) => {
                matches!(self, Self::Root(_)) && matches!(name, "apiVersion" | "kind" | "metadata")
                    || schema.get("properties").is_some_and(|it| it.get(name).is_some())
                    || schema.get("additionalProperties").is_some_and(|it| it != &Value::Bool(false))
                    || custom::preserves_unknown(schema)
            }
            Self::Shape(_) | Self::Deduced => true,
        }
    }
}

fn schema_atom<'a>(schema: &'a Value, value: &Value) -> Atom<'a> {
    let this = TypeRef::Schema(schema);
    let word = |key: &str| schema.get(key).and_then(Value::as_str);
    match word("type") {
        Some("object") if word("x-kubernetes-map-type") == Some("atomic") => Atom::Leaf,
        Some("object") => Atom::Map(this),
        Some("array") => {
            let item = schema.get("items").map_or(TypeRef::Deduced, TypeRef::Schema);
            match word("x-kubernetes-list-type") {
                Some("map") => Atom::List(Items::Schema(schema), item),
                Some("set") => Atom::List(Items::Set, item),
                _ => Atom::Leaf,
            }
        }
        None if custom::preserves_unknown(schema) => TypeRef::Deduced.atom(value),
        _ => Atom::Leaf,
    }
}

impl Items<'_> {
    /// The fields that tell items apart, each with its default.
    pub(crate) fn keys(&self) -> Vec<(String, Option<Value>)> {
        match self {
            Self::Set => Vec::new(),
            Self::BuiltIn(field) => {
                let item = match field.shape() {
                    Shape::List(item) => match item.shape() {
                        Shape::Record(id) => Type::find(id),
                        _ => None,
                    },
                    _ => None,
                };
                let default = |key: &str| {
                    let text = item?.field(key)?.default()?;
                    serde_json::from_str(text).ok()
                };
                field.list_keys().map(|key| (key.to_owned(), default(key))).collect()
            }
            Self::Schema(schema) => {
                let names = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
                let default =
                    |key: &str| schema.get("items")?.get("properties")?.get(key)?.get("default").cloned();
                names
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .map(|key| (key.to_owned(), default(key)))
                    .collect()
            }
        }
    }
}
