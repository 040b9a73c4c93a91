//! What an instance comes to, in a form in which the operator, `plan` and the reference can be compared.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A node, and a member of it or an empty name.
pub(super) type Slot = (String, String);

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Outcome {
    /// What is made, by kind, namespace and name.
    pub(super) objects: BTreeMap<String, Value>,
    /// What becomes of the nodes that are needed.
    pub(super) fates: BTreeMap<Slot, Fate>,
    /// What was there and has to go.
    pub(super) gone: BTreeSet<String>,
    /// Pairs of objects of which the first comes before the second, and goes after it.
    pub(super) order: BTreeSet<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    Ready,
    /// It is there and not of its shape.
    Unready,
    /// It comes after these, which are not as they are to be.
    Waits(BTreeSet<String>),
    /// A function of it fails.
    Fails,
    /// It has no members.
    Empty,
    /// What it observes is not there.
    Missing,
    /// Whether it is needed is not known.
    Perhaps,
}

/// Kind, namespace and name of an object.
pub(super) fn key_of(object: &Value) -> String {
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    format!("{} {}/{}", text(&object["kind"]), text(&metadata["namespace"]), text(&metadata["name"]))
}

/// What an author says of an object.
pub(super) fn normal(object: &Value) -> Value {
    let mut said = serde_json::Map::new();
    for field in ["apiVersion", "kind", "data"] {
        if let Some(value) = object.get(field).filter(|it| !is_empty(it)) {
            said.insert(field.to_owned(), value.clone());
        }
    }
    let annotations = object["metadata"]["annotations"].as_object().into_iter().flatten();
    let own: serde_json::Map<_, _> = annotations
        .filter(|(name, _)| name.starts_with('k') && name.len() == 2 || *name == "name")
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if !own.is_empty() {
        said.insert("annotations".to_owned(), own.into());
    }
    said.into()
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}
