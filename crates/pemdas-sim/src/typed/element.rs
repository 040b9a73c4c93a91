//! One step of a path into an object.

use std::fmt;

use serde_json::{Map, Value};

use super::types::Items;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Element {
    /// The field of this name.
    Field(String),
    /// The item with these values of its keys, as JSON.
    Key(String),
    /// The item that is this value, as JSON.
    Value(String),
    /// The item at this place.
    Index(usize),
}

impl Element {
    /// The step as `managedFields` writes it.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(keys) => format!("k:{keys}"),
            Self::Value(value) => format!("v:{value}"),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    /// The step that a text of `managedFields` stands for.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        Some(match kind {
            "f" => Self::Field(rest.to_owned()),
            "k" => Self::Key(serde_json::from_str::<Value>(rest).ok()?.to_string()),
            "v" => Self::Value(serde_json::from_str::<Value>(rest).ok()?.to_string()),
            "i" => Self::Index(rest.parse().ok()?),
            _ => return None,
        })
    }

    /// The step to an item of a list.
    ///
    /// # Errors
    /// If the item lacks a key.
    pub(crate) fn of_item(items: Items<'_>, item: &Value) -> Result<Self, String> {
        if matches!(items, Items::Set) {
            return match item {
                Value::Array(_) => Err("invalid indexing element: set element cannot be list".to_owned()),
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".to_owned())
                }
                Value::Null => {
                    Err("associative list without keys has an element that's an explicit null".to_owned())
                }
                scalar => Ok(Self::Value(scalar.to_string())),
            };
        }
        let Some(fields) = item.as_object() else {
            return Err("associative list with keys may not have non-map elements".to_owned());
        };
        let mut key = Map::new();
        let names = items.keys();
        for (name, default) in &names {
            let value = fields.get(name).filter(|value| !value.is_null()).or(default.as_ref());
            key.extend(value.map(|value| (name.clone(), value.clone())));
        }
        if key.is_empty() {
            let names: Vec<String> = names.iter().map(|(name, _)| format!("{name:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                names.join(" ")
            ));
        }
        Ok(Self::Key(Value::Object(key).to_string()))
    }
}

impl fmt::Display for Element {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(to, ".{name}"),
            Self::Key(keys) => {
                let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                let pairs: Vec<String> = keys.iter().map(|(name, value)| format!("{name}={value}")).collect();
                write!(to, "[{}]", pairs.join(","))
            }
            Self::Value(value) => write!(to, "[={value}]"),
            Self::Index(index) => write!(to, "[{index}]"),
        }
    }
}
