//! Which fields of an apply the API server did not keep, told by its answer.
//!
//! *The accident*: a template sets a field that the definition of its kind prunes. The apply succeeds, the field is gone, and nobody
//! is told. The server says nothing of it: it refuses fields of which it knows that they are unknown, and prunes the others silently.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Live, manager,
    object::{Element, elements, has, is_identity},
};
use crate::{path::FieldPath, world::FieldSet};

/// How many fields are named of one object.
pub const MAX_DROPPED: usize = 8;
/// Longer lists of records are not looked through.
const MAX_ITEMS: usize = 1_000;

/// The fields of an apply that are not in the answer to it, for people: elements of lists are not named, and no value is.
///
/// A value that says nothing (null, false, 0, and what is empty) is not missed: an API server leaves it out.
#[must_use]
pub fn dropped(instance: &str, applied: &Value, answer: &Live) -> BTreeSet<String> {
    let nothing = FieldSet::new();
    let owned = answer.managed.get(&manager(instance)).unwrap_or(&nothing);
    // Written once and kept as `data`.
    let write_only = (answer.key.kind.group.is_empty() && answer.key.kind.kind == "Secret")
        .then(|| FieldPath::of(&["stringData"]));
    let mut look = Look { owned, write_only, found: BTreeSet::new() };
    look.at(applied, &answer.body, &FieldPath::root());
    look.found.into_iter().take(MAX_DROPPED).collect()
}

struct Look<'l> {
    owned: &'l FieldSet,
    write_only: Option<FieldPath>,
    found: BTreeSet<String>,
}

impl Look<'_> {
    fn at(&mut self, sent: &Value, kept: &Value, at: &FieldPath) {
        match (sent, kept) {
            (Value::Object(fields), Value::Object(there)) => {
                for (name, field) in fields.iter().filter(|(_, it)| says_something(it)) {
                    let path = at.field(name);
                    if is_identity(&path) || self.write_only.as_ref() == Some(&path) {
                        continue;
                    }
                    match there.get(name).filter(|it| !it.is_null()) {
                        Some(there) => self.at(field, there, &path),
                        None => self.miss(&path),
                    }
                }
            }
            (Value::Array(items), Value::Array(there)) => self.items(items, there, at),
            // Another form of what is ours is no other value: `1000m` is kept as `1`.
            (sent, kept) if sent != kept && !self.owns(at) => self.miss(at),
            _ => {}
        }
    }

    /// Elements of a list are told apart by their keys, where the server has noted some; otherwise by their places.
    fn items(&mut self, sent: &[Value], kept: &[Value], at: &FieldPath) {
        if kept.len() < sent.len() {
            self.miss(at);
            return;
        }
        if sent.len() > MAX_ITEMS {
            return;
        }
        let keys = elements(self.owned, at);
        let keyed =
            |it: &&(String, Element), item: &Value| matches!(it.1, Element::Keyed(_)) && it.1.is(item);
        for (place, item) in sent.iter().enumerate().filter(|(_, it)| it.is_object() || it.is_array()) {
            let key = keys.iter().find(|it| keyed(it, item));
            let found = match key {
                Some((part, element)) => kept.iter().find(|it| element.is(it)).map(|it| (part.clone(), it)),
                None if sent.len() == kept.len() => Some((format!("[{place}]"), &kept[place])),
                None => None,
            };
            if let Some((part, there)) = found {
                self.at(item, there, &at.field(&part));
            }
        }
    }

    fn owns(&self, at: &FieldPath) -> bool {
        let above = |length| {
            let parts: Vec<_> = at.parts()[..length].iter().map(String::as_str).collect();
            self.owned.contains(&FieldPath::of(&parts))
        };
        has(self.owned, at) || (1..at.parts().len()).any(above)
    }

    fn miss(&mut self, at: &FieldPath) {
        let parts: Vec<_> = at.parts().iter().map(String::as_str).collect();
        let part = |it: &&str| if it.starts_with('[') { "[]".to_owned() } else { (*it).to_owned() };
        // A status is dropped as a whole, whatever its controller has written meanwhile.
        let shown = if parts.first() == Some(&"status") { &parts[..1] } else { &parts[..] };
        let shown: Vec<_> = shown.iter().map(part).collect();
        let shown: Vec<_> = shown.iter().map(String::as_str).collect();
        self.found.insert(FieldPath::of(&shown).to_string());
    }
}

/// Whether a value would be missed.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) => true,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => items.iter().any(says_something),
        Value::Object(fields) => fields.values().any(says_something),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{MAX_DROPPED, dropped};
    use crate::world::{KindKey, Live, Managers, ObjectKey};

    fn told(kind: &str, applied: &Value, answer: Value, owned: &Value) -> Vec<String> {
        let noted = json!([{ "manager": "pemdas-i", "operation": "Apply", "fieldsV1": owned }]);
        let live = Live {
            key: ObjectKey::new(KindKey::new("v1", kind), "n", "t"),
            uid: "u".to_owned(),
            resource_version: 1,
            generation: None,
            terminating: false,
            finalizers: [].into(),
            managed: Managers::unread(noted.to_string().into_bytes()),
            body: answer.into(),
        };
        dropped("i", applied, &live).into_iter().collect()
    }

    #[test]
    fn what_is_not_in_the_answer_is_told_by_its_path() {
        let applied = json!({
            "apiVersion": "v1", "kind": "Thing", "metadata": { "name": "t" },
            "spec": { "kept": 1, "pruned": { "a": 1 }, "open": { "deep": { "gone": "secret" } } },
            "status": { "phase": "Up" },
        });
        let answer = json!({ "metadata": { "name": "t" }, "spec": { "kept": 1, "open": { "deep": {} } }, "status": { "phase": "Down", "other": 1 } });
        let owned =
            json!({ "f:spec": { "f:kept": {}, "f:pruned": {}, "f:open": { "f:deep": { "f:gone": {} } } } });
        assert_eq!(told("Thing", &applied, answer, &owned), ["spec.open.deep.gone", "spec.pruned", "status"]);
    }

    #[test]
    fn what_a_server_normalises_is_not_missed() {
        let applied = json!({
            "metadata": { "finalizers": [], "labels": null },
            "spec": { "a": false, "b": 0, "c": "", "d": {}, "e": [], "f": { "g": [null] }, "cpu": "1000m", "text": "x" },
        });
        let answer = json!({ "spec": { "cpu": "1", "text": "other" } });
        let owned = json!({ "f:spec": { "f:cpu": {} } });
        assert_eq!(
            told("Thing", &applied, answer, &owned),
            ["spec.text"],
            "only what is ours has other forms"
        );
        let secret = json!({ "stringData": { "a": "b" } });
        let kept = || json!({ "data": { "a": "Yg==" } });
        assert_eq!(told("Secret", &secret, kept(), &json!({ "f:stringData": { "f:a": {} } })), [""; 0]);
        assert_eq!(told("Thing", &secret, kept(), &json!({})), ["stringData"]);
    }

    #[test]
    fn elements_are_told_apart_by_their_keys_or_by_their_places() {
        let applied = json!({
            "map": [{ "name": "b", "x": 1 }, { "name": "a", "y": 1 }], "atomic": [{ "x": 1 }, { "y": { "z": 1 } }],
            "set": ["b", "a"], "shorter": [1, 2],
        });
        let answer = json!({
            "map": [{ "name": "a", "y": 1 }, { "name": "b" }, { "name": "injected" }], "atomic": [{ "x": 1 }, { "y": {} }],
            "set": ["a", "b"], "shorter": [1],
        });
        let owned = json!({
            "f:map": { "k:{\"name\":\"a\"}": { "f:name": {}, "f:y": {} }, "k:{\"name\":\"b\"}": { "f:name": {}, "f:x": {} } },
            "f:atomic": {}, "f:set": { "v:\"a\"": {}, "v:\"b\"": {} }, "f:shorter": {},
        });
        assert_eq!(told("Thing", &applied, answer, &owned), ["atomic[].y.z", "map[].x", "shorter"]);
    }

    #[test]
    fn what_is_told_is_bounded() {
        let many: Value = (0..100).map(|it| (format!("k{it}"), json!("x"))).collect();
        assert_eq!(told("Thing", &many, json!({}), &json!({})).len(), MAX_DROPPED);
    }
}
