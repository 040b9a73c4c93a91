//! Which fields an apply had, in a few letters for each: whoever takes one of them is told from whoever had it before.
//!
//! A set of owned fields names the elements of a list by their keys, and which fields those are only the server knows. So an element
//! is noted by each of its plain fields, and what is in it by a path that says only that it is in some element.

use serde_json::Value;

use super::object::{Element, resolve};
use crate::{digest::Digester, path::FieldPath};

/// How many fields are noted of one apply; of a larger object those after them count as never owned.
pub const MAX_FIELDS: usize = 512;
/// How many letters a field takes.
const LETTERS: usize = 4;
/// In the place of the name of an element.
const ELEMENT: &str = "[]";

/// The fields of an apply, each as a mark that cannot be read without the key.
#[must_use]
pub fn fields(applied: &Value, secret: &[u8]) -> String {
    let mut notes = Notes { secret, marks: Vec::new() };
    notes.look(applied, &mut Vec::new());
    notes.marks.concat()
}

/// Whether a field was among those of an apply: its path as in a set of owned fields, and what is wanted now.
#[must_use]
pub fn had(fields: &str, at: &FieldPath, wanted: &Value, secret: &[u8]) -> bool {
    let known = |mark: &str| fields.as_bytes().chunks(LETTERS).any(|it| it == mark.as_bytes());
    let mut general: Vec<&str> = Vec::new();
    for (length, part) in at.parts().iter().enumerate() {
        let Some(element) = Element::read(part) else {
            general.push(part);
            continue;
        };
        if let Element::Keyed(keys) = element {
            let item = resolve(wanted, &at.parts()[..=length]);
            let was = |(name, value): (&String, &Value)| known(&element_mark(secret, &general, name, value));
            // A key that is left out is the server's to fill in.
            let left_out = |name: &String| item.is_some_and(|it| it.get(name).is_none());
            if !keys.iter().any(was) || !keys.iter().all(|it| was(it) || left_out(it.0)) {
                return false;
            }
        }
        general.push(ELEMENT);
    }
    known(&mark(secret, &general))
}

struct Notes<'s> {
    secret: &'s [u8],
    marks: Vec<String>,
}

impl Notes<'_> {
    fn look<'v>(&mut self, value: &'v Value, at: &mut Vec<&'v str>) {
        match value {
            Value::Null => {}
            Value::Object(fields) if !fields.is_empty() => {
                for (name, field) in fields {
                    at.push(name);
                    self.look(field, at);
                    at.pop();
                }
            }
            Value::Array(items) => {
                self.note(mark(self.secret, at));
                for item in items {
                    for (name, value) in item.as_object().into_iter().flatten() {
                        if !value.is_object() && !value.is_array() {
                            self.note(element_mark(self.secret, at, name, value));
                        }
                    }
                    if item.is_object() {
                        at.push(ELEMENT);
                        self.look(item, at);
                        at.pop();
                    }
                }
            }
            _ => self.note(mark(self.secret, at)),
        }
    }

    fn note(&mut self, mark: String) {
        if self.marks.len() < MAX_FIELDS && !self.marks.contains(&mark) {
            self.marks.push(mark);
        }
    }
}

fn mark(secret: &[u8], at: &[&str]) -> String {
    let mut digester = Digester::new(secret);
    at.iter().for_each(|it| digester.text(it));
    digester.end().letters(LETTERS)
}

fn element_mark(secret: &[u8], list: &[&str], name: &str, value: &Value) -> String {
    let mut digester = Digester::new(secret);
    list.iter().for_each(|it| digester.text(it));
    digester.tag(b'=');
    digester.text(name);
    digester.value(value);
    digester.end().letters(LETTERS)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{LETTERS, MAX_FIELDS, fields, had};
    use crate::path::FieldPath;

    fn was(applied: &Value, at: &[&str], wanted: &Value) -> bool {
        had(&fields(applied, b"key"), &FieldPath::of(at), wanted, b"key")
    }

    #[test]
    fn a_field_of_an_apply_is_known_again_and_another_one_is_not() {
        let applied = json!({
            "spec": { "replicas": 1, "selector": {}, "list": ["a"], "nothing": null },
            "data": { "a.b": "1" },
        });
        for at in [&["spec", "replicas"][..], &["spec", "selector"], &["spec", "list"], &["data", "a.b"]] {
            assert!(was(&applied, at, &applied), "{at:?}");
        }
        for at in [&["spec", "paused"][..], &["spec", "nothing"], &["spec"], &["data", "a", "b"]] {
            assert!(!was(&applied, at, &applied), "{at:?}");
        }
        assert!(
            !had("", &FieldPath::of(&["spec", "replicas"]), &applied, b"key"),
            "a claim of an earlier version"
        );
    }

    #[test]
    fn an_element_of_a_list_is_known_by_its_keys() {
        let port = |protocol: &str| json!({ "containerPort": 53, "protocol": protocol });
        let applied = json!({ "containers": [
            { "name": "web", "image": "i", "ports": [{ "containerPort": 80 }, port("TCP")] },
            { "name": "side" },
        ] });
        let wanted = json!({ "containers": [
            { "name": "web", "image": "j", "ports": [{ "containerPort": 80 }, port("UDP")] },
            { "name": "new", "image": "k" },
        ] });
        let (web, new) = (r#"[{"name":"web"}]"#, r#"[{"name":"new"}]"#);
        let (http, dns) =
            (r#"[{"containerPort":80,"protocol":"TCP"}]"#, r#"[{"containerPort":53,"protocol":"UDP"}]"#);
        assert!(was(&applied, &["containers", web, "image"], &wanted));
        assert!(!was(&applied, &["containers", web, "tty"], &wanted));
        assert!(!was(&applied, &["containers", new, "image"], &wanted), "an element that was never ours");
        assert!(was(&applied, &["containers", web, "ports", http, "containerPort"], &wanted));
        assert!(!was(&applied, &["containers", web, "ports", dns, "containerPort"], &wanted));
    }

    #[test]
    fn what_is_noted_is_bounded() {
        let many = |count: usize| (0..count).map(|it| (format!("k{it:05}"), json!("x"))).collect::<Value>();
        assert_eq!(fields(&many(20), &[]).len(), 20 * LETTERS);
        assert_eq!(fields(&many(2_000), &[]).len(), MAX_FIELDS * LETTERS);
    }
}
