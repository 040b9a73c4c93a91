//! An object of the cluster as it was seen.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::Deref,
    sync::Arc,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{FieldSet, Managers};
use crate::{
    packed::{Packed, Part, Press},
    path::FieldPath,
};

/// What is read, written and ordered as its parts are. Keys that share them are the same: most comparisons in the maps of an instance end
/// there.
macro_rules! shared {
    ($key:ident, $parts:ident) => {
        impl Ord for $key {
            fn cmp(&self, other: &Self) -> Ordering {
                if Arc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.0.cmp(&other.0) }
            }
        }

        impl PartialOrd for $key {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Deref for $key {
            type Target = $parts;

            fn deref(&self) -> &$parts {
                &self.0
            }
        }

        impl Serialize for $key {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                self.0.serialize(to)
            }
        }

        impl<'de> Deserialize<'de> for $key {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $parts::deserialize(from).map(|it| Self(Arc::new(it)))
            }
        }
    };
}

/// A kind without its version: what a resourceVersion may be compared within.
///
/// Its clones share it, as those of [`ObjectKey`] do: an instance names each of its objects a dozen times.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KindKey(Arc<KindParts>);

/// What a [`KindKey`] says.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KindParts {
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
        Self(Arc::new(KindParts { group: group.to_owned(), kind: kind.to_owned() }))
    }
}

shared!(KindKey, KindParts);

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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectKey(Arc<ObjectParts>);

/// What an [`ObjectKey`] says.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectParts {
    /// Its kind.
    pub kind: KindKey,
    /// Its namespace; empty for a kind of the cluster.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

shared!(ObjectKey, ObjectParts);

impl ObjectKey {
    /// The object of this name; the namespace is empty for a kind of the cluster.
    #[must_use]
    pub fn new(kind: KindKey, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self(Arc::new(ObjectParts { kind, namespace: namespace.into(), name: name.into() }))
    }

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
    pub managed: Packed<Managers>,
    /// The object as people know it, without `managedFields`.
    pub body: Packed<Value>,
}

impl Live {
    /// The same, put away until it is read again.
    #[must_use]
    pub fn packed(&self) -> Self {
        Self {
            key: self.key.clone(),
            uid: self.uid.clone(),
            finalizers: self.finalizers.clone(),
            managed: self.managed.packed(),
            body: self.body.packed(),
            ..*self
        }
    }

    /// The same, put away beside what is like it.
    #[must_use]
    pub fn pressed(&self, press: &mut Press) -> Self {
        // The model of a secret would outlive the secret.
        let is_secret = self.key.kind.group.is_empty() && self.key.kind.kind == "Secret";
        Self {
            key: self.key.clone(),
            uid: self.uid.clone(),
            finalizers: self.finalizers.clone(),
            managed: self.managed.pressed(&self.key.kind, Part::Managers, press),
            body: if is_secret {
                self.body.packed()
            } else {
                self.body.pressed(&self.key.kind, Part::Body, press)
            },
            ..*self
        }
    }

    /// Whether it is put away.
    #[must_use]
    pub fn is_packed(&self) -> bool {
        self.body.is_packed() && self.managed.is_packed()
    }

    /// Whether it is put away and takes no more room than it must.
    #[must_use]
    pub fn is_pressed(&self) -> bool {
        self.is_packed() && self.managed.is_pressed()
    }

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

    /// A label, for those who look at thousands of objects: what is put away stays so.
    #[must_use]
    pub fn peek_label(&self, name: &str) -> Option<String> {
        match self.body.put_away() {
            Some(text) => text.read(|it| Peeked::of(it)?.labels?.remove(name)?.as_str().map(str::to_owned)),
            None => self.label(name).map(str::to_owned),
        }
    }

    /// An annotation, as [`Live::peek_label`].
    #[must_use]
    pub fn peek_annotation(&self, name: &str) -> Option<String> {
        match self.body.put_away() {
            Some(text) => {
                text.read(|it| Peeked::of(it)?.annotations?.remove(name)?.as_str().map(str::to_owned))
            }
            None => self.annotation(name).map(str::to_owned),
        }
    }

    /// Whether our entry covers what we want: each field, and of a list of records each field of its elements.
    #[must_use]
    pub fn covers(&self, manager: &str, wanted: &Value) -> bool {
        let nothing = FieldSet::new();
        uncovered(self.managed.get(manager).unwrap_or(&nothing), wanted).is_empty()
    }

    /// Who owns a field that we want and do not own: the manager and the field.
    #[must_use]
    pub fn taken_from(&self, manager: &str, wanted: &Value) -> Vec<(String, FieldPath)> {
        let nothing = FieldSet::new();
        let mut taken = Vec::new();
        for leaf in uncovered(self.managed.get(manager).unwrap_or(&nothing), wanted) {
            let other = self.managed.iter().find(|(name, set)| *name != manager && has(set, &leaf));
            taken.extend(other.map(|(name, _)| (name.clone(), leaf)));
        }
        taken
    }
}

/// What of a value is not in the set. Null asks for nothing: an apply leaves it out.
fn uncovered(owned: &FieldSet, wanted: &Value) -> Vec<FieldPath> {
    let mut found = Vec::new();
    missing(owned, wanted, &FieldPath::root(), &mut found);
    found.retain(|path| !is_identity(path));
    found
}

fn missing(owned: &FieldSet, wanted: &Value, at: &FieldPath, found: &mut Vec<FieldPath>) {
    match wanted {
        Value::Null => {}
        Value::Object(fields) if !fields.is_empty() => {
            // Owned as a whole, as an atomic record is.
            if owned.contains(at) {
                return;
            }
            for (name, field) in fields {
                missing(owned, field, &at.field(name), found);
            }
        }
        Value::Array(items) if !items.is_empty() && !owned.contains(at) => {
            let known = elements(owned, at);
            if known.is_empty() {
                found.push(at.clone());
            }
            for item in items.iter().filter(|_| !known.is_empty()) {
                match known.iter().find(|(_, element)| element.is(item)) {
                    Some((part, Element::Keyed(_))) => missing(owned, item, &at.field(part), found),
                    Some(_) => {}
                    None => found.push(at.clone()),
                }
            }
        }
        _ if has(owned, at) => {}
        _ => found.push(at.clone()),
    }
}

/// An element of a list, as a set of owned fields names it.
enum Element {
    /// Of a list of records: the fields that tell it from others.
    Keyed(serde_json::Map<String, Value>),
    /// Of a set: its value.
    Same(Value),
    /// By its place.
    Placed,
}

impl Element {
    /// From the part of a path: `[{"name":"web"}]`, `[="a"]`, `[0]`.
    fn read(part: &str) -> Option<Self> {
        let inner = part.strip_prefix('[')?.strip_suffix(']')?;
        if let Some(value) = inner.strip_prefix('=') {
            return serde_json::from_str(value).ok().map(Self::Same);
        }
        match serde_json::from_str(inner) {
            Ok(Value::Object(key)) => Some(Self::Keyed(key)),
            _ => Some(Self::Placed),
        }
    }

    /// Whether it is this one. A key that the item leaves out was filled in by the server.
    fn is(&self, item: &Value) -> bool {
        match self {
            Self::Keyed(key) => key.iter().all(|(name, value)| item.get(name).is_none_or(|it| it == value)),
            Self::Same(value) => value == item,
            Self::Placed => true,
        }
    }
}

fn elements(owned: &FieldSet, list: &FieldPath) -> Vec<(String, Element)> {
    let mut found: Vec<(String, Element)> = Vec::new();
    for path in owned.range(list.clone()..).take_while(|it| it.parts().starts_with(list.parts())) {
        let Some(part) = path.parts().get(list.parts().len()) else { continue };
        if found.last().is_some_and(|(last, _)| last == part) {
            continue;
        }
        found.extend(Element::read(part).map(|it| (part.clone(), it)));
    }
    found
}

fn has(set: &FieldSet, leaf: &FieldPath) -> bool {
    set.contains(leaf)
        || set.range(leaf.clone()..).next().is_some_and(|next| next.parts().starts_with(leaf.parts()))
}

/// Identity is nobody's field.
fn is_identity(path: &FieldPath) -> bool {
    let parts: Vec<_> = path.parts().iter().map(String::as_str).collect();
    matches!(parts[..], ["apiVersion" | "kind"] | ["metadata", "name" | "namespace"])
}

/// The fields of a value that a manager may own: everything that is no record, and empty records. Identity is
/// nobody's field.
#[must_use]
pub fn leaves(value: &Value) -> Vec<FieldPath> {
    let mut found = Vec::new();
    collect(value, &FieldPath::root(), &mut found);
    found.retain(|path| !is_identity(path));
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

/// The little that is read of an object without unpacking it.
#[derive(Deserialize)]
struct Peeked {
    labels: Option<BTreeMap<String, Value>>,
    annotations: Option<BTreeMap<String, Value>>,
}

impl Peeked {
    fn of(text: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Whole {
            metadata: Peeked,
        }
        serde_json::from_slice(text).ok().map(|Whole { metadata }| metadata)
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

    use super::{KindKey, Live, ObjectKey, Press, leaves, without};

    fn live(managed: &[(&str, serde_json::Value)]) -> Live {
        let key = ObjectKey::new(KindKey::new("v1", "Thing"), "n", "t");
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
                .collect::<super::Managers>()
                .into(),
            body: json!({}).into(),
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
    fn coverage_follows_the_elements_of_a_list() {
        let container = r#"[{"name":"web"}]"#;
        let port = r#"[{"containerPort":80,"protocol":"TCP"}]"#;
        let owned = |image: bool| {
            let mut live = live(&[("them", json!({}))]);
            let of = |parts: &[&str]| crate::path::FieldPath::of(parts);
            let us = live.managed.entry("us".to_owned()).or_default();
            us.insert(of(&["containers", container, "name"]));
            us.insert(of(&["containers", container, "ports", port, "containerPort"]));
            us.insert(of(&["finalizers", r#"[="a/b"]"#]));
            us.insert(of(&["args"]));
            let who = if image { "us" } else { "them" };
            let set = live.managed.entry(who.to_owned()).or_default();
            set.insert(of(&["containers", container, "image"]));
            live
        };
        let wanted = json!({
            "containers": [{ "name": "web", "image": "i", "ports": [{ "containerPort": 80 }] }],
            "finalizers": ["a/b"], "args": ["x", "y"], "nothing": null,
        });
        assert!(owned(true).covers("us", &wanted));
        let edited = owned(false);
        assert!(!edited.covers("us", &wanted));
        let taken = edited.taken_from("us", &wanted);
        assert_eq!(taken.iter().map(|(who, _)| who.as_str()).collect::<Vec<_>>(), ["them"]);
        let more = json!({ "containers": [{ "name": "web" }, { "name": "side" }] });
        assert!(!owned(true).covers("us", &more), "a container that somebody took out");
    }

    #[test]
    fn a_look_at_a_label_leaves_an_object_put_away() {
        let mut whole = live(&[]);
        whole.body = json!({
            "metadata": { "name": "t", "labels": { "a": "1", "odd": 2 }, "annotations": { "b": "\"2\"" } }, "spec": { "labels": {} },
        })
        .into();
        let away = whole.packed();
        for object in [&whole, &away] {
            assert_eq!(object.peek_label("a").as_deref(), Some("1"));
            assert_eq!(object.peek_annotation("b").as_deref(), Some("\"2\""));
            assert_eq!(
                [object.peek_label("b"), object.peek_label("odd"), object.peek_annotation("a")],
                [None, None, None]
            );
        }
        assert!(away.is_packed());
        assert_eq!(live(&[]).packed().peek_label("a"), None);
    }

    #[test]
    fn what_is_pressed_is_read_as_it_was_and_no_secret_is_a_model() {
        let mut press = Press::default();
        let mut whole = live(&[("us", json!({ "data": { "a": 1 } }))]);
        whole.body =
            json!({ "metadata": { "labels": { "a": "1" } }, "data": { "a": "the same ".repeat(50) } }).into();
        let pressed = whole.pressed(&mut press);
        assert!(pressed.is_pressed() && pressed.body.is_pressed());
        assert_eq!(pressed.peek_label("a").as_deref(), Some("1"));
        assert!(pressed.is_pressed(), "a look leaves it so");
        assert_eq!(pressed, whole);
        whole.key = ObjectKey::new(KindKey::new("v1", "Secret"), "n", "t");
        let secret = whole.pressed(&mut press);
        assert!(secret.is_pressed() && !secret.body.is_pressed());
        assert_eq!(secret, whole);
    }

    #[test]
    fn a_field_is_taken_out_with_the_records_it_leaves_empty() {
        let mut value = json!({ "spec": { "a": { "b": 1 }, "c": 2 } });
        without(&mut value, &["spec".to_owned(), "a".to_owned(), "b".to_owned()]);
        assert_eq!(value, json!({ "spec": { "c": 2 } }));
    }
}
