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
    /// Pairs of objects of which the first comes before the second.
    pub(super) came: BTreeSet<(String, String)>,
    /// Pairs of objects of which the second goes before the first.
    pub(super) went: BTreeSet<(String, String)>,
}

/// What happened to an instance.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// What it came to, for each version of its root.
    pub(super) outcomes: Vec<Outcome>,
    /// When each object came, for the first version: what came later has a larger number.
    pub(super) came: BTreeMap<String, usize>,
    /// When each object came when the root was deleted.
    pub(super) late: BTreeMap<String, usize>,
    /// When each object went: for each version of the root, and at its end.
    pub(super) went: Vec<BTreeMap<String, usize>>,
    /// What is left when the root is gone.
    pub(super) left: Vec<String>,
    /// Whether something is said of nodes without members.
    pub(super) tells_empty: bool,
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
    /// A function of it fails, whatever comes of these that it comes after.
    FailsAnyway(BTreeSet<String>),
    /// It has no members.
    Empty,
    /// It is a state or a once, and not due.
    Idle,
    /// What it observes is not there.
    Missing,
    /// Whether it is needed is not known.
    Perhaps,
}

/// A node or a member. What a selector picks are no members that the author named.
pub(super) fn slot(node: &str, member: &str) -> Slot {
    let member = if member.contains('/') { "" } else { member };
    (node.to_owned(), member.to_owned())
}

/// Kind, namespace and name of an object.
pub(super) fn key_of(object: &Value) -> String {
    let text = |it: &'_ Value| it.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    key(&text(&object["kind"]), &text(&metadata["namespace"]), &text(&metadata["name"]))
}

/// The same of its parts. The name of an attempt ends in a digest that only the cluster's key can make.
pub(super) fn key(kind: &str, namespace: &str, name: &str) -> String {
    let name = match name.rsplit_once('-') {
        Some((name, _)) if kind == "Job" => name,
        _ => name,
    };
    format!("{kind} {namespace}/{name}")
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

/// The node that something is to be taken from, which is not needed or not due: that is waited for.
pub(super) fn unneeded(reason: &str) -> Option<String> {
    let told = reason.strip_suffix(" is not needed")?;
    Some(told.rsplit_once(": ").map_or(told, |(_, name)| name).to_owned())
}
