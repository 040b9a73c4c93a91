//! Paths of fields, as people write them.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A field of a field of an object. An item of a list is named by its number or, in a list of conditions, by type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FieldPath(Vec<String>);

impl FieldPath {
    /// The object itself.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// A path from its parts: `FieldPath::of(&["status", "phase"])`.
    #[must_use]
    pub fn of(parts: &[&str]) -> Self {
        Self(parts.iter().map(|part| (*part).to_owned()).collect())
    }

    /// This path and one field more.
    #[must_use]
    pub fn field(&self, name: &str) -> Self {
        let mut parts = self.0.clone();
        parts.push(name.to_owned());
        Self(parts)
    }

    /// This path and an item of the list there.
    #[must_use]
    pub fn item(&self, name: impl fmt::Display) -> Self {
        self.field(&format!("[{name}]"))
    }

    /// Its parts.
    #[must_use]
    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// What stands at a path of plain fields; null counts as nothing.
    #[must_use]
    pub fn find<'a>(object: &'a Value, parts: &[&str]) -> Option<&'a Value> {
        let found = parts.iter().try_fold(object, |value, part| value.get(part))?;
        (!found.is_null()).then_some(found)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return out.write_str("the object");
        }
        for (index, part) in self.0.iter().enumerate() {
            let plain = !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
            if index > 0 && !part.starts_with('[') {
                out.write_str(".")?;
            }
            if plain || part.starts_with('[') {
                out.write_str(&crate::text::shorten(part))?;
            } else {
                write!(out, "{:?}", crate::text::shorten(part))?;
            }
        }
        Ok(())
    }
}
