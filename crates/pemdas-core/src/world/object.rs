//! An object of the cluster as it was seen.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::Deref,
    sync::Arc,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{FieldSet, Managers};
use crate::{
    digest::Digester,
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
        self.uncovered(manager, wanted).is_empty()
    }

    /// The fields that we want and do not own.
    #[must_use]
    pub fn uncovered(&self, manager: &str, wanted: &Value) -> Vec<FieldPath> {
        let nothing = FieldSet::new();
        let owned = self.managed.get(manager).unwrap_or(&nothing);
        let others = self.managed.iter().filter(|(name, _)| *name != manager).map(|(_, set)| set).collect();
        let mut missing = Missing { owned, others, found: Vec::new(), empty: Vec::new() };
        missing.look(wanted, &FieldPath::root());
        // An empty list owns nothing where a server merges lists by element, and is mostly not even kept. It asks for something only
        // where somebody else has set the list as a whole.
        let is_set = |at: &FieldPath| self.managed.values().any(|set| set.contains(at));
        missing.found.extend(missing.empty.into_iter().filter(is_set));
        missing.found.retain(|path| !is_identity(path));
        missing.found
    }

    /// The fields that we want and do not own, each as a mark with what stands there: what a server makes of an apply. What changes by
    /// itself is left out of the marks.
    #[must_use]
    pub fn unkept(&self, manager: &str, wanted: &Value, secret: &[u8]) -> BTreeSet<String> {
        let mark = |at: FieldPath| {
            let parts = at.parts();
            let live = resolve(&self.body, parts).filter(|_| !changes_by_itself(parts));
            let mut digester = Digester::new(secret);
            parts.iter().for_each(|it| digester.text(it));
            live.inspect(|it| digester.value(it));
            let mut mark = digester.end().to_string();
            mark.truncate(12);
            mark
        };
        self.uncovered(manager, wanted).into_iter().map(mark).collect()
    }

    /// Who owns a field that we want and do not own: the manager and the field.
    #[must_use]
    pub fn taken_from(&self, manager: &str, wanted: &Value) -> Vec<(String, FieldPath)> {
        let holds = |set: &FieldSet, at: &FieldPath| {
            // Of a list others may own elements beside ours.
            let below = resolve(wanted, at.parts()).is_none_or(|it| !it.is_array());
            set.contains(at) || self.holds_above(set, at) || (below && has(set, at))
        };
        let mut taken = Vec::new();
        for leaf in self.uncovered(manager, wanted) {
            let other = self.managed.iter().find(|(name, set)| *name != manager && holds(set, &leaf));
            taken.extend(other.map(|(name, _)| (name.clone(), leaf)));
        }
        taken
    }

    /// The fields that we want otherwise than others who own them: because of these an apply is refused that takes nothing by force.
    #[must_use]
    pub fn conflicts(&self, manager: &str, wanted: &Value) -> Vec<(String, String)> {
        let differs = |at: &FieldPath| resolve(wanted, at.parts()) != resolve(&self.body, at.parts());
        let taken = self.taken_from(manager, wanted).into_iter().filter(|(_, at)| differs(at));
        let mut fields: Vec<_> = taken.map(|(who, at)| (who, at.to_string())).collect();
        // Who says of a record that it is empty owns it as a whole.
        for leaf in self.uncovered(manager, wanted) {
            let mut above = FieldPath::root();
            for part in leaf.parts().iter().take(leaf.parts().len().saturating_sub(1)) {
                above = above.field(part);
                let empty = resolve(&self.body, above.parts()).and_then(Value::as_object);
                let by = |(name, set): &(&String, &FieldSet)| *name != manager && set.contains(&above);
                let other = self.managed.iter().find(by).filter(|_| empty.is_some_and(Map::is_empty));
                fields.extend(other.map(|(name, _)| (name.clone(), above.to_string())));
            }
        }
        fields.dedup();
        fields
    }

    /// The fields that we own and nobody else does: those go that we no longer want.
    #[must_use]
    pub fn owned_alone(&self, manager: &str) -> FieldSet {
        let others: Vec<&FieldSet> =
            self.managed.iter().filter(|(name, _)| *name != manager).map(|(_, set)| set).collect();
        let owned = self.managed.get(manager).into_iter().flatten();
        owned.filter(|at| !others.iter().any(|set| has(set, at))).cloned().collect()
    }

    /// Whether a record that the field is in is owned as a whole, with something in it.
    fn holds_above(&self, set: &FieldSet, at: &FieldPath) -> bool {
        let parts = at.parts();
        (1..parts.len()).map(|length| &parts[..length]).any(|above| {
            set.iter().any(|it| it.parts() == above)
                && resolve(&self.body, above).and_then(Value::as_object).is_some_and(|it| !it.is_empty())
        })
    }
}

/// What changes although nobody wants it otherwise.
fn changes_by_itself(parts: &[String]) -> bool {
    match parts {
        [status, ..] if status == "status" => true,
        [metadata, field, ..] if metadata == "metadata" => {
            ["resourceVersion", "generation", "managedFields"].contains(&field.as_str())
        }
        _ => false,
    }
}

/// What stands at a path, whose elements of lists are named as in a set of owned fields.
pub(super) fn resolve<'v>(value: &'v Value, parts: &[String]) -> Option<&'v Value> {
    parts.iter().try_fold(value, |it, part| match (it, Element::read(part)) {
        (Value::Array(items), Some(element)) => items.iter().find(|item| element.is(item)),
        _ => it.get(part),
    })
}

/// Looks for what of a value is not in a set. Null asks for nothing: an apply leaves it out.
struct Missing<'o> {
    owned: &'o FieldSet,
    /// What others own: which element of a list is meant.
    others: Vec<&'o FieldSet>,
    found: Vec<FieldPath>,
    /// Empty lists that are not in the set.
    empty: Vec<FieldPath>,
}

impl Missing<'_> {
    fn look(&mut self, wanted: &Value, at: &FieldPath) {
        match wanted {
            Value::Null => {}
            Value::Object(fields) if !fields.is_empty() => {
                // Owned as a whole, as an atomic record is.
                if self.owned.contains(at) {
                    return;
                }
                for (name, field) in fields {
                    self.look(field, &at.field(name));
                }
            }
            Value::Array(items) if !items.is_empty() && !self.owned.contains(at) => {
                let known = elements(self.owned, at);
                let theirs: Vec<_> = self.others.iter().flat_map(|it| elements(it, at)).collect();
                for item in items {
                    let ours = known.iter().find(|(_, element)| element.is(item));
                    // Another one's element of the same name: each of its fields may be theirs.
                    let keyed = |(_, it): &&(String, Element)| matches!(it, Element::Keyed(_)) && it.is(item);
                    match ours.or_else(|| theirs.iter().find(keyed)) {
                        Some((part, Element::Keyed(_))) => self.look(item, &at.field(part)),
                        Some(_) => {}
                        None => self.found.push(at.clone()),
                    }
                }
            }
            _ if has(self.owned, at) => {}
            // It asks for a record, and there is one with fields of others in it: whoever adds a field takes the empty record from us.
            Value::Object(_) if self.others.iter().any(|set| !set.contains(at) && has(set, at)) => {}
            Value::Array(items) if items.is_empty() => self.empty.push(at.clone()),
            _ => self.found.push(at.clone()),
        }
    }
}

/// An element of a list, as a set of owned fields names it.
pub(super) enum Element {
    /// Of a list of records: the fields that tell it from others.
    Keyed(serde_json::Map<String, Value>),
    /// Of a set: its value.
    Same(Value),
    /// By its place.
    Placed,
}

impl Element {
    /// From the part of a path: `[{"name":"web"}]`, `[="a"]`, `[0]`.
    pub(super) fn read(part: &str) -> Option<Self> {
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
    pub(super) fn is(&self, item: &Value) -> bool {
        match self {
            Self::Keyed(key) => key.iter().all(|(name, value)| item.get(name).is_none_or(|it| it == value)),
            Self::Same(value) => value == item,
            Self::Placed => true,
        }
    }
}

pub(super) fn elements(owned: &FieldSet, list: &FieldPath) -> Vec<(String, Element)> {
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

pub(super) fn has(set: &FieldSet, leaf: &FieldPath) -> bool {
    set.contains(leaf)
        || set.range(leaf.clone()..).next().is_some_and(|next| next.parts().starts_with(leaf.parts()))
}

/// Identity is nobody's field.
pub(super) fn is_identity(path: &FieldPath) -> bool {
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

    /// The accident: an API server keeps no empty list that is merged by element, and an apply was sent for ever.
    #[test]
    fn an_empty_list_asks_for_something_only_where_somebody_has_set_the_list() {
        let of = |parts: &[&str]| crate::path::FieldPath::of(parts);
        let wanted = json!({ "spec": { "volumes": [], "replicas": 1 } });
        let mut it = live(&[("us", json!({ "spec": { "replicas": 1 } })), ("them", json!({}))]);
        assert!(it.covers("us", &wanted));
        let theirs = it.managed.entry("them".to_owned()).or_default();
        theirs.insert(of(&["spec", "volumes", r#"[{"name":"injected"}]"#, "name"]));
        assert!(it.covers("us", &wanted), "another one's element of a list that is merged");
        it.managed.entry("them".to_owned()).or_default().insert(of(&["spec", "volumes"]));
        assert!(!it.covers("us", &wanted), "somebody set the list as a whole");
    }

    /// The accident: a template gives empty annotations, a controller notes something there, and both write in turn.
    #[test]
    fn an_empty_record_asks_for_nothing_that_others_put_into_it() {
        let of = |parts: &[&str]| crate::path::FieldPath::of(parts);
        let wanted = json!({ "spec": { "annotations": {}, "replicas": 1 } });
        let mut it = live(&[("us", json!({ "spec": { "replicas": 1 } })), ("them", json!({}))]);
        assert!(!it.covers("us", &wanted), "nobody has such a record");
        it.managed.entry("them".to_owned()).or_default().insert(of(&["spec", "annotations", "noted"]));
        assert!(it.covers("us", &wanted));
        assert_eq!(it.taken_from("us", &wanted), []);
        it.managed.entry("them".to_owned()).or_default().insert(of(&["spec", "annotations"]));
        assert!(!it.covers("us", &wanted), "somebody set the record as a whole");
    }

    /// As an API server 1.36 has noted an apply of this Deployment.
    #[test]
    fn a_deployment_with_everything_empty_is_covered() {
        let applied = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": "d", "finalizers": [], "labels": {}, "annotations": {} },
            "spec": {
                "selector": { "matchLabels": { "a": "b" } },
                "template": { "metadata": { "labels": { "a": "b" } }, "spec": {
                    "tolerations": [], "nodeSelector": {}, "securityContext": {}, "affinity": {}, "volumes": [],
                    "initContainers": [], "hostAliases": [],
                    "containers": [{
                        "name": "c", "image": "i", "command": [], "args": [], "env": [], "ports": [], "volumeMounts": [],
                        "resources": { "claims": [], "limits": {} }, "securityContext": {},
                    }],
                } },
            },
        });
        let container = json!({
            ".": {}, "f:args": {}, "f:command": {}, "f:image": {}, "f:name": {}, "f:resources": { "f:limits": {} },
            "f:securityContext": {},
        });
        let noted = json!([{ "manager": "us", "operation": "Apply", "fieldsV1": {
            "f:metadata": { "f:annotations": {}, "f:labels": {} },
            "f:spec": { "f:selector": {}, "f:template": { "f:metadata": { "f:labels": { "f:a": {} } }, "f:spec": {
                "f:affinity": {}, "f:containers": { "k:{\"name\":\"c\"}": container }, "f:nodeSelector": {},
                "f:securityContext": {}, "f:tolerations": {},
            } } },
        } }]);
        let mut it = live(&[]);
        it.managed = super::Managers::unread(serde_json::to_vec(&noted).unwrap());
        assert!(it.covers("us", &applied), "{:?}", it.uncovered("us", &applied));
        let mut more = applied;
        more["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{ "name": "A", "value": "1" }]);
        assert_eq!(it.uncovered("us", &more).len(), 1);
    }

    #[test]
    fn what_a_server_does_not_keep_is_told_by_field_and_what_stands_there() {
        let wanted = json!({ "spec": { "a": 1, "b": 2 }, "status": { "c": 3 } });
        let mut it = live(&[("us", json!({ "spec": { "a": 1 } }))]);
        let first = it.unkept("us", &wanted, &[]);
        assert_eq!(first.len(), 2);
        it.body = json!({ "status": { "c": 4 } }).into();
        assert_eq!(it.unkept("us", &wanted, &[]), first, "a status changes by itself");
        it.body = json!({ "spec": { "b": 5 } }).into();
        assert_ne!(it.unkept("us", &wanted, &[]), first, "somebody has set it");
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
