#![allow(clippy::needless_pass_by_value, reason = "literals of JSON read better without borrows")]

use serde_json::{Value, json};

use super::{Verdict, changes};
use crate::crd::against::Given;

fn definition(spec: Value) -> Given {
    let value = json!({
        "kind": "CustomResourceDefinition",
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "kind": "Thing", "plural": "things" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } },
            }],
        },
    });
    Given::read(&value).unwrap()
}

fn with_field(field: Value, required: bool) -> Given {
    let required = if required { json!(["a"]) } else { json!([]) };
    definition(json!({ "type": "object", "properties": { "a": field }, "required": required }))
}

/// The worst verdict on a change, and what was said of it.
fn verdict(old: &Given, new: &Given) -> (Verdict, String) {
    changes(old, new)
        .into_iter()
        .next()
        .map_or((Verdict::Safe, String::new()), |it| (it.verdict, format!("{}: {}", it.path, it.what)))
}

#[test]
fn each_change_of_a_field_is_judged() {
    let text = json!({ "type": "string" });
    let cases = [
        (text.clone(), json!({ "type": "string", "maxLength": 5 }), Verdict::NeedsVersion),
        (
            json!({ "type": "string", "maxLength": 5 }),
            json!({ "type": "string", "maxLength": 9 }),
            Verdict::Safe,
        ),
        (
            json!({ "type": "string", "maxLength": 9 }),
            json!({ "type": "string", "maxLength": 5 }),
            Verdict::NeedsVersion,
        ),
        (text.clone(), json!({ "type": "string", "pattern": "^a$" }), Verdict::NeedsVersion),
        (
            json!({ "type": "string", "enum": ["a", "b"] }),
            json!({ "type": "string", "enum": ["a"] }),
            Verdict::NeedsVersion,
        ),
        (
            json!({ "type": "string", "enum": ["a"] }),
            json!({ "type": "string", "enum": ["a", "b"] }),
            Verdict::Safe,
        ),
        (text.clone(), json!({ "type": "integer" }), Verdict::NeedsConversion),
        (json!({ "type": "integer" }), json!({ "type": "number" }), Verdict::Safe),
        (json!({ "type": "number" }), json!({ "type": "integer" }), Verdict::NeedsVersion),
        (
            json!({ "type": "integer", "minimum": 1 }),
            json!({ "type": "integer", "minimum": 0 }),
            Verdict::Safe,
        ),
        (
            json!({ "type": "integer", "minimum": 0 }),
            json!({ "type": "integer", "minimum": 1 }),
            Verdict::NeedsVersion,
        ),
        (
            json!({ "type": "integer", "default": 1 }),
            json!({ "type": "integer", "default": 2 }),
            Verdict::NeedsVersion,
        ),
        (json!({ "type": "string", "nullable": true }), text.clone(), Verdict::NeedsVersion),
        (text.clone(), json!({ "type": "string", "description": "new words" }), Verdict::Safe),
        (
            text.clone(),
            json!({ "type": "string", "x-kubernetes-validations": [{ "rule": "self == oldSelf" }] }),
            Verdict::NeedsVersion,
        ),
        (
            json!({ "type": "array", "items": { "type": "string" } }),
            json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" }),
            Verdict::NeedsVersion,
        ),
    ];
    for (old, new, expected) in cases {
        let (found, why) = verdict(&with_field(old.clone(), false), &with_field(new.clone(), false));
        assert_eq!(found, expected, "{old} to {new}: {why}");
    }
}

#[test]
fn fields_come_and_go() {
    let none = definition(json!({ "type": "object" }));
    let text = || json!({ "type": "string" });
    assert_eq!(verdict(&none, &with_field(text(), false)).0, Verdict::Safe);
    assert_eq!(verdict(&none, &with_field(text(), true)).0, Verdict::NeedsVersion);
    assert_eq!(verdict(&with_field(text(), false), &none).0, Verdict::NeedsConversion);
    assert_eq!(verdict(&with_field(text(), false), &with_field(text(), true)).0, Verdict::NeedsVersion);
    assert_eq!(verdict(&with_field(text(), true), &with_field(text(), false)).0, Verdict::Safe);
}

#[test]
fn what_the_api_server_cannot_change_needs_a_new_kind() {
    let old = with_field(json!({ "type": "string" }), false);
    let new = Given { scope: "Cluster".to_owned(), ..old.clone() };
    assert_eq!(
        verdict(&old, &new),
        (Verdict::NeedsKind, "scope: it was Namespaced, and is Cluster now".to_owned())
    );
}

#[test]
fn a_version_that_goes_is_told() {
    let old = with_field(json!({ "type": "string" }), false);
    let new = Given { versions: std::collections::BTreeMap::new(), ..old.clone() };
    assert_eq!(verdict(&old, &new).0, Verdict::NeedsConversion);
    assert_eq!(verdict(&new, &old).0, Verdict::Safe);
}
