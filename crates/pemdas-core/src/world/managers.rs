//! Who owns which fields of an object.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{Deref, DerefMut},
};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::{packed::Packed, path::FieldPath};

/// How deep the fields of a manager are followed; what lies deeper counts as owned where this ends.
const MAX_DEPTH: usize = 32;

/// The fields that a manager owns: paths of leaves. A list is owned as a whole or by paths below it.
pub type FieldSet = BTreeSet<FieldPath>;

/// Field managers, and the fields of each. As text it is either that, or the `managedFields` that the server sends: most
/// objects are never asked who owns them.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(transparent)]
pub struct Managers(BTreeMap<String, FieldSet>);

impl Managers {
    /// From the text of `managedFields` as the server sends them, read when somebody asks.
    #[must_use]
    pub fn unread(managed_fields: Vec<u8>) -> Packed<Self> {
        Packed::unread(managed_fields)
    }

    /// Entries of the same manager (one for each operation and subresource) are taken together.
    fn read(entries: &[Value]) -> Self {
        let mut managers: BTreeMap<String, FieldSet> = BTreeMap::new();
        for entry in entries {
            let Some(manager) = entry.get("manager").and_then(Value::as_str) else { continue };
            let owned = managers.entry(manager.to_owned()).or_default();
            if let Some(fields) = entry.get("fieldsV1").and_then(Value::as_object) {
                collect(fields, &FieldPath::root(), owned, 0);
            }
        }
        Self(managers)
    }
}

impl Deref for Managers {
    type Target = BTreeMap<String, FieldSet>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Managers {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl FromIterator<(String, FieldSet)> for Managers {
    fn from_iter<I: IntoIterator<Item = (String, FieldSet)>>(managers: I) -> Self {
        Self(managers.into_iter().collect())
    }
}

impl<'de> Deserialize<'de> for Managers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::Array(entries) => Ok(Self::read(&entries)),
            own => serde_json::from_value(own).map(Self).map_err(serde::de::Error::custom),
        }
    }
}

/// Leaves of the tree of owned fields; the elements of lists are parts of a path as `[{"name":"web"}]`, `[="a"]`, `[0]`.
fn collect(fields: &Map<String, Value>, at: &FieldPath, owned: &mut FieldSet, depth: usize) {
    let mut inner = false;
    for (name, below) in fields {
        let Some(part) = part(name) else { continue };
        inner = true;
        let path = at.field(&part);
        match below.as_object() {
            Some(below) if !below.is_empty() && depth < MAX_DEPTH => collect(below, &path, owned, depth + 1),
            _ => {
                owned.insert(path);
            }
        }
    }
    if !inner && depth > 0 {
        owned.insert(at.clone());
    }
}

fn part(name: &str) -> Option<String> {
    let (form, rest) = name.split_once(':')?;
    match form {
        "f" => Some(rest.to_owned()),
        "k" | "i" => Some(format!("[{rest}]")),
        "v" => Some(format!("[={rest}]")),
        _ => None,
    }
}
