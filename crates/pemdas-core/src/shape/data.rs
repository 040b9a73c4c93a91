//! Shapes to and from JSON: the one form in which the library, the evaluator and the core hand them on.
//!
//! A record with the field `~shape` is a shape of that name; a record without it means `has`; a list means a list
//! of so many items; anything else means exactly that value.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value, json};

use super::Shape;

/// The field that names a shape.
pub const SHAPE_TAG: &str = "~shape";
/// How deep a shape may nest.
pub const MAX_SHAPE_DEPTH: usize = 64;
/// Of how many parts a shape may consist.
pub const MAX_SHAPE_PARTS: usize = 10_000;

/// Why data is no shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// There is no shape of that name.
    #[error("there is no shape \"{0}\"")]
    UnknownName(String),
    /// A field of a shape is missing or of the wrong type.
    #[error("the shape \"{name}\" wants `{field}`: {wants}")]
    BadField {
        /// The shape.
        name: String,
        /// The field.
        field: &'static str,
        /// What it has to be.
        wants: &'static str,
    },
    /// It nests too deep.
    #[error("a shape may nest {MAX_SHAPE_DEPTH} levels deep, not more")]
    TooDeep,
    /// It has too many parts.
    #[error("a shape may have {MAX_SHAPE_PARTS} parts, not more")]
    TooLarge,
}

impl Shape {
    /// Reads a shape from its data form.
    ///
    /// # Errors
    /// When the data names an unknown shape, lacks a field, or is too deep or too large.
    pub fn from_value(value: &Value) -> Result<Self, ShapeError> {
        Reader { parts: 0 }.shape(value, 0)
    }

    /// The data form; [`Shape::from_value`] reads it back.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let list = |shapes: &[Shape]| shapes.iter().map(Shape::to_value).collect::<Vec<_>>();
        match self {
            Self::Any => named("Any"),
            Self::Absent => named("Absent"),
            Self::Ready => named("Ready"),
            Self::Available => named("Available"),
            Self::Complete => named("Complete"),
            Self::Failed => named("Failed"),
            Self::Finished => named("Finished"),
            Self::Bound => named("Bound"),
            Self::Condition { kind, status, reason: None } => {
                json!({ SHAPE_TAG: "condition", "type": kind, "status": status })
            }
            Self::Condition { kind, status, reason: Some(reason) } => {
                json!({ SHAPE_TAG: "condition", "type": kind, "status": status, "reason": reason })
            }
            Self::Has(fields) => {
                let want: Map<_, _> =
                    fields.iter().map(|(key, shape)| (key.clone(), shape.to_value())).collect();
                json!({ SHAPE_TAG: "has", "want": want })
            }
            Self::Items(items) => json!({ SHAPE_TAG: "items", "items": list(items) }),
            Self::Equals(value) => json!({ SHAPE_TAG: "equals", "value": value }),
            Self::AtLeast(value) => json!({ SHAPE_TAG: "at_least", "value": value }),
            Self::AtMost(value) => json!({ SHAPE_TAG: "at_most", "value": value }),
            Self::MoreThan(value) => json!({ SHAPE_TAG: "more_than", "value": value }),
            Self::LessThan(value) => json!({ SHAPE_TAG: "less_than", "value": value }),
            Self::OneOf(values) => json!({ SHAPE_TAG: "one_of", "values": values }),
            Self::Matches(pattern) => json!({ SHAPE_TAG: "matches", "pattern": pattern }),
            Self::SomeItem(item) => json!({ SHAPE_TAG: "some", "item": item.to_value() }),
            Self::EveryItem(item) => json!({ SHAPE_TAG: "every", "item": item.to_value() }),
            Self::AllOf(shapes) => json!({ SHAPE_TAG: "all_of", "shapes": list(shapes) }),
            Self::AnyOf(shapes) => json!({ SHAPE_TAG: "any_of", "shapes": list(shapes) }),
            Self::Not(shape) => json!({ SHAPE_TAG: "not", "shape": shape.to_value() }),
            Self::Contract(path) => json!({ SHAPE_TAG: "contract", "path": path }),
        }
    }
}

fn named(name: &str) -> Value {
    json!({ SHAPE_TAG: name })
}

impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(&Value::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// Counts the parts while reading, so that a hostile shape ends early.
struct Reader {
    parts: usize,
}

impl Reader {
    fn shape(&mut self, value: &Value, depth: usize) -> Result<Shape, ShapeError> {
        self.parts += 1;
        if depth > MAX_SHAPE_DEPTH {
            return Err(ShapeError::TooDeep);
        }
        if self.parts > MAX_SHAPE_PARTS {
            return Err(ShapeError::TooLarge);
        }
        match value {
            Value::Object(record) => match record.get(SHAPE_TAG) {
                None => self.has(record, depth),
                Some(Value::String(name)) => self.tagged(name, record, depth),
                Some(other) => Err(ShapeError::UnknownName(crate::text::brief(other))),
            },
            Value::Array(items) => Ok(Shape::Items(self.shapes(items, depth)?)),
            other => Ok(Shape::Equals(other.clone())),
        }
    }

    fn shapes(&mut self, values: &[Value], depth: usize) -> Result<Vec<Shape>, ShapeError> {
        values.iter().map(|value| self.shape(value, depth + 1)).collect()
    }

    fn has(&mut self, record: &Map<String, Value>, depth: usize) -> Result<Shape, ShapeError> {
        let fields: Result<BTreeMap<_, _>, _> =
            record.iter().map(|(key, want)| Ok((key.clone(), self.shape(want, depth + 1)?))).collect();
        fields.map(Shape::Has)
    }

    fn tagged(&mut self, name: &str, record: &Map<String, Value>, depth: usize) -> Result<Shape, ShapeError> {
        let fields = Fields { name, record };
        Ok(match name {
            "Any" => Shape::Any,
            "Absent" => Shape::Absent,
            "Ready" => Shape::Ready,
            "Available" => Shape::Available,
            "Complete" => Shape::Complete,
            "Failed" => Shape::Failed,
            "Finished" => Shape::Finished,
            "Bound" => Shape::Bound,
            "condition" => Shape::Condition {
                kind: fields.text("type")?,
                status: if record.contains_key("status") {
                    fields.text("status")?
                } else {
                    "True".to_owned()
                },
                reason: if record.get("reason").is_some_and(|it| !it.is_null()) {
                    Some(fields.text("reason")?)
                } else {
                    None
                },
            },
            "has" => match fields.get("want", "a record")? {
                Value::Object(want) => self.has(want, depth)?,
                _ => return Err(fields.bad("want", "a record")),
            },
            "items" => Shape::Items(self.shapes(fields.list("items")?, depth)?),
            "equals" => Shape::Equals(fields.get("value", "a value")?.clone()),
            "at_least" => Shape::AtLeast(fields.bound()?),
            "at_most" => Shape::AtMost(fields.bound()?),
            "more_than" => Shape::MoreThan(fields.bound()?),
            "less_than" => Shape::LessThan(fields.bound()?),
            "one_of" => Shape::OneOf(fields.list("values")?.clone()),
            "matches" => Shape::Matches(fields.pattern()?),
            "some" => Shape::SomeItem(Box::new(self.shape(fields.get("item", "a shape")?, depth + 1)?)),
            "every" => Shape::EveryItem(Box::new(self.shape(fields.get("item", "a shape")?, depth + 1)?)),
            "all_of" => Shape::AllOf(self.shapes(fields.list("shapes")?, depth)?),
            "any_of" => Shape::AnyOf(self.shapes(fields.list("shapes")?, depth)?),
            "not" => Shape::Not(Box::new(self.shape(fields.get("shape", "a shape")?, depth + 1)?)),
            "contract" => Shape::Contract(fields.path()?),
            other => return Err(ShapeError::UnknownName(crate::text::shorten(other))),
        })
    }
}

/// The fields of a tagged shape, with errors that name it.
struct Fields<'a> {
    name: &'a str,
    record: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    fn bad(&self, field: &'static str, wants: &'static str) -> ShapeError {
        ShapeError::BadField { name: self.name.to_owned(), field, wants }
    }

    fn get(&self, field: &'static str, wants: &'static str) -> Result<&'a Value, ShapeError> {
        self.record.get(field).ok_or_else(|| self.bad(field, wants))
    }

    fn text(&self, field: &'static str) -> Result<String, ShapeError> {
        self.get(field, "a string")?.as_str().map(str::to_owned).ok_or_else(|| self.bad(field, "a string"))
    }

    fn list(&self, field: &'static str) -> Result<&'a Vec<Value>, ShapeError> {
        self.get(field, "a list")?.as_array().ok_or_else(|| self.bad(field, "a list"))
    }

    fn bound(&self) -> Result<Value, ShapeError> {
        const WANTS: &str = "a number, or a quantity such as \"10Gi\"";
        let value = self.get("value", WANTS)?;
        if super::judge::quantity_of(value).is_some() {
            Ok(value.clone())
        } else {
            Err(self.bad("value", WANTS))
        }
    }

    fn pattern(&self) -> Result<String, ShapeError> {
        let pattern = self.text("pattern")?;
        match super::judge::compile(&pattern) {
            Ok(_) => Ok(pattern),
            Err(_) => Err(self.bad("pattern", "a regular expression of modest size")),
        }
    }

    fn path(&self) -> Result<Vec<String>, ShapeError> {
        let path: Option<Vec<_>> =
            self.list("path")?.iter().map(|it| it.as_str().map(str::to_owned)).collect();
        path.ok_or_else(|| self.bad("path", "a list of strings"))
    }
}
