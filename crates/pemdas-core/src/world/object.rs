//! An object of the cluster as it was seen.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::path::FieldPath;

/// A kind without its version: what a resourceVersion may be compared within.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KindKey {
    /// The API group; empty for the core group.
    pub group: String,
    /// The kind.
    pub kind: String,
}

impl KindKey {
    /// From `apps/v1` and `Deployment`.
    #[must_use]
    pub fn new(api_version: &str, kind: &str) -> Self {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        Self { group: group.to_owned(), kind: kind.to_owned() }
    }
}

impl fmt::Display for KindKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            write!(out, "{}", self.kind)
        } else {
            write!(out, "{}.{}", self.kind, self.group)
        }
    }
}

/// The identity of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectKey {
    /// Its kind.
    pub kind: KindKey,
    /// Its namespace; empty for a kind of the cluster.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ObjectKey {
    /// The identity as data, for digests.
    #[must_use]
    pub fn to_value(&self) -> Value {
        Value::from(vec![&*self.kind.group, &*self.kind.kind, &*self.namespace, &*self.name])
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(out, "{} {}", self.kind, self.name)
        } else {
            write!(out, "{} {}/{}", self.kind, self.namespace, self.name)
        }
    }
}

/// The fields that a manager owns: paths of leaves. A list is owned as a whole or by paths below it.
pub type FieldSet = BTreeSet<FieldPath>;

/// An object of the cluster as it was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Live {
    /// Its identity.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: String,
    /// Its resourceVersion: compared within its kind only.
    pub resource_version: u64,
    /// Its generation, where its kind counts them.
    pub generation: Option<i64>,
    /// Whether it has a deletion timestamp.
    pub terminating: bool,
    /// Its finalizers.
    pub finalizers: BTreeSet<String>,
    /// Who owns which fields, by field manager.
    pub managed: BTreeMap<String, FieldSet>,
    /// The object as people know it, without `managedFields`.
    pub body: Value,
}

impl Live {
    /// A label.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.body.get("metadata")?.get("labels")?.get(name)?.as_str()
    }

    /// An annotation.
    #[must_use]
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.body.get("metadata")?.get("annotations")?.get(name)?.as_str()
    }

    /// Whether our entry covers what we want: each field, and of a list the whole or something below it.
    #[must_use]
    pub fn covers(&self, manager: &str, wanted: &Value) -> bool {
        let nothing = FieldSet::new();
        let owned = self.managed.get(manager).unwrap_or(&nothing);
        leaves(wanted).iter().all(|leaf| has(owned, leaf))
    }

    /// Who owns a field that we want and do not own: the manager and the field.
    #[must_use]
    pub fn taken_from(&self, manager: &str, wanted: &Value) -> Vec<(String, FieldPath)> {
        let nothing = FieldSet::new();
        let owned = self.managed.get(manager).unwrap_or(&nothing);
        let mut taken = Vec::new();
        for leaf in leaves(wanted).into_iter().filter(|leaf| !has(owned, leaf)) {
            let other = self.managed.iter().find(|(name, set)| *name != manager && has(set, &leaf));
            taken.extend(other.map(|(name, _)| (name.clone(), leaf)));
        }
        taken
    }
}

fn has(set: &FieldSet, leaf: &FieldPath) -> bool {
    set.contains(leaf)
        || set.range(leaf.clone()..).next().is_some_and(|next| next.parts().starts_with(leaf.parts()))
}

/// The fields of a value that a manager may own: everything that is no record, and empty records. Identity is
/// nobody's field.
#[must_use]
pub fn leaves(value: &Value) -> Vec<FieldPath> {
    let mut found = Vec::new();
    collect(value, &FieldPath::root(), &mut found);
    found.retain(|path| {
        let parts: Vec<_> = path.parts().iter().map(String::as_str).collect();
        !matches!(parts[..], ["apiVersion" | "kind"] | ["metadata", "name" | "namespace"])
    });
    found
}

fn collect(value: &Value, path: &FieldPath, found: &mut Vec<FieldPath>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, field) in fields {
                collect(field, &path.field(name), found);
            }
        }
        _ => found.push(path.clone()),
    }
}

/// Takes a field out of a value, and the records that become empty by it.
pub fn without(value: &mut Value, path: &[String]) {
    let Some((first, rest)) = path.split_first() else { return };
    let Some(fields) = value.as_object_mut() else { return };
    if rest.is_empty() {
        fields.remove(first);
        return;
    }
    if let Some(below) = fields.get_mut(first) {
        without(below, rest);
        if below.as_object().is_some_and(serde_json::Map::is_empty) {
            fields.remove(first);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{KindKey, Live, ObjectKey, leaves, without};

    fn live(managed: &[(&str, serde_json::Value)]) -> Live {
        let key =
            ObjectKey { kind: KindKey::new("v1", "Thing"), namespace: "n".to_owned(), name: "t".to_owned() };
        Live {
            key,
            uid: "u".to_owned(),
            resource_version: 1,
            generation: None,
            terminating: false,
            finalizers: [].into(),
            managed: managed
                .iter()
                .map(|(who, it)| ((*who).to_owned(), leaves(it).into_iter().collect()))
                .collect(),
            body: json!({}),
        }
    }

    #[test]
    fn coverage_is_by_field_and_an_edit_takes_one_away() {
        let wanted =
            json!({ "kind": "Thing", "metadata": { "name": "t" }, "spec": { "a": 1, "b": { "c": [1] } } });
        assert!(live(&[("us", wanted.clone())]).covers("us", &wanted));
        let edited = live(&[
            ("us", json!({ "spec": { "a": 1 } })),
            ("them", json!({ "spec": { "b": { "c": [2] } } })),
        ]);
        assert!(!edited.covers("us", &wanted));
        let taken = edited.taken_from("us", &wanted);
        assert_eq!(
            taken.iter().map(|(who, at)| format!("{who} {at}")).collect::<Vec<_>>(),
            ["them spec.b.c"]
        );
    }

    #[test]
    fn a_field_is_taken_out_with_the_records_it_leaves_empty() {
        let mut value = json!({ "spec": { "a": { "b": 1 }, "c": 2 } });
        without(&mut value, &["spec".to_owned(), "a".to_owned(), "b".to_owned()]);
        assert_eq!(value, json!({ "spec": { "c": 2 } }));
    }
}
