#![allow(clippy::needless_pass_by_value, reason = "literals of JSON read better without borrows")]

use serde_json::{Value, json};

use super::{Trouble, compile};
use crate::crd::{Relation, Schema, Wanted, from_json};

fn wanted(relation: Relation) -> Wanted {
    Wanted { relation, message: None, reason: None, field_path: None, span: None }
}

fn names(of: &[&str]) -> Vec<String> {
    of.iter().map(|&name| name.to_owned()).collect()
}

/// A record with optional numbers `low` and `high`, a required string `mode`, and an optional record `inner` with an
/// optional string `text`.
fn schema() -> Schema {
    from_json(&json!({
        "type": "object", "required": ["mode"],
        "properties": {
            "low": { "type": "integer" }, "high": { "type": "integer" }, "ratio": { "type": "number" },
            "filled": { "type": "integer", "default": 1 },
            "mode": { "type": "string", "enum": ["tls", "plain"] },
            "in-side": { "type": "object", "properties": { "text": { "type": "string", "maxLength": 9 } } },
            "any": { "x-kubernetes-preserve-unknown-fields": true },
            "null": { "type": "string", "nullable": true },
        },
    }))
}

/// The expressions that a rule on the whole record becomes, or why it is left out.
fn compiled(relation: Relation) -> Result<Vec<String>, Trouble> {
    let mut schema = schema();
    schema.wanted.push(wanted(relation));
    let left_out = compile(&mut schema, "spec");
    match left_out.into_iter().next() {
        Some(one) => Err(one.trouble),
        None => Ok(schema.rules.into_iter().map(|rule| rule.rule).collect()),
    }
}

#[test]
fn rules_about_fields_become_expressions() {
    let tls = || vec![("mode".to_owned(), json!("tls"))];
    let cases: [(Relation, &[&str]); 8] = [
        (
            Relation::Ordered(names(&["low", "high"])),
            &["!has(self.low) || !has(self.high) || self.low <= self.high"],
        ),
        (
            Relation::Ordered(names(&["filled", "ratio"])),
            &["!has(self.ratio) || double(self.filled) <= double(self.ratio)"],
        ),
        (
            Relation::ExactlyOneOf(names(&["low", "in-side.text"])),
            &[
                "[has(self.low), (has(self.in__dash__side) && has(self.in__dash__side.text))].exists_one(given, given)",
            ],
        ),
        (
            Relation::AtMostOneOf(names(&["low", "high"])),
            &["[has(self.low), has(self.high)].filter(given, given).size() <= 1"],
        ),
        (Relation::AtLeastOneOf(names(&["low", "high"])), &["has(self.low) || has(self.high)"]),
        (
            Relation::Together(names(&["low", "high", "ratio"])),
            &["has(self.low) == has(self.high) && has(self.high) == has(self.ratio)"],
        ),
        (Relation::RequiredWhen(tls(), names(&["low"])), &["!(self.mode == \"tls\") || (has(self.low))"]),
        (
            Relation::ForbiddenWhen(tls(), names(&["low", "high"])),
            &["!(self.mode == \"tls\") || !(has(self.low) || has(self.high))"],
        ),
    ];
    for (relation, expected) in cases {
        assert_eq!(compiled(relation.clone()), Ok(names(expected)), "{relation:?}");
    }
}

#[test]
fn what_does_not_go_with_its_fields_is_left_out() {
    let wrong = [
        Relation::Ordered(names(&["low", "hihg"])),
        Relation::Ordered(names(&["low", "mode"])),
        Relation::ExactlyOneOf(names(&["low", "any"])),
        Relation::ExactlyOneOf(names(&["low", "null"])),
        Relation::ExactlyOneOf(names(&["mode.x"])),
        Relation::ExactlyOneOf(Vec::new()),
        Relation::RequiredWhen(vec![("mode".to_owned(), json!("tsl"))], names(&["low"])),
        Relation::RequiredWhen(Vec::new(), names(&["low"])),
        Relation::GrowOnly,
        Relation::Immutable,
    ];
    for relation in wrong {
        assert!(matches!(compiled(relation.clone()), Err(Trouble::Wrong(_))), "{relation:?}");
    }
}

/// The rules of a field below `spec`, and what was left out.
fn change(spec: Value, path: &[&str], relation: Relation) -> (Vec<String>, Vec<Trouble>) {
    fn inner<'s>(schema: &'s mut Schema, path: &[&str]) -> &'s mut Schema {
        use crate::crd::Type;
        let Some((first, rest)) = path.split_first() else { return schema };
        match (&mut schema.of, *first) {
            (Type::List(items), "[]") => inner(items, rest),
            (Type::Record(record), name) => inner(&mut record.fields.get_mut(name).unwrap().schema, rest),
            _ => panic!("no {first}"),
        }
    }
    fn all(schema: &Schema, path: &str, found: &mut Vec<String>) {
        use crate::crd::Type;
        found.extend(schema.rules.iter().map(|rule| format!("{path}: {}", rule.rule)));
        match &schema.of {
            Type::List(items) | Type::Dictionary(items) => all(items, &format!("{path}[]"), found),
            Type::Record(record) => {
                for (name, field) in &record.fields {
                    all(&field.schema, &format!("{path}.{name}"), found);
                }
            }
            _ => {}
        }
    }
    let mut schema = from_json(&spec);
    inner(&mut schema, path).wanted.push(wanted(relation));
    let left_out = compile(&mut schema, "spec").into_iter().map(|one| one.trouble).collect();
    let mut found = Vec::new();
    all(&schema, "spec", &mut found);
    (found, left_out)
}

#[test]
fn a_rule_of_change_stands_where_it_is_asked_when_the_field_goes() {
    let short = json!({ "type": "string", "maxLength": 9 });
    let required = json!({ "type": "object", "required": ["a"], "properties": { "a": short } });
    assert_eq!(change(required, &["a"], Relation::Immutable).0, ["spec.a: self == oldSelf"]);
    let optional = json!({ "type": "object", "properties": { "a": short } });
    assert_eq!(
        change(optional, &["a"], Relation::Immutable).0,
        ["spec: !has(oldSelf.a) || (has(self.a) && self.a == oldSelf.a)"]
    );
    let deep = json!({ "type": "object", "properties": {
        "a": { "type": "object", "required": ["b"], "properties": { "b": short } },
    } });
    assert_eq!(
        change(deep, &["a", "b"], Relation::Immutable).0,
        ["spec: !has(oldSelf.a) || (has(self.a) && self.a.b == oldSelf.a.b)"]
    );
}

#[test]
fn a_rule_of_change_in_a_list_needs_keys_and_a_bound() {
    let list = |more: Value| {
        let mut list = json!({ "type": "array", "items": {
            "type": "object", "required": ["name"],
            "properties": { "name": { "type": "string", "maxLength": 9 }, "size": { "type": "integer", "default": 1 } },
        } });
        list.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "type": "object", "properties": { "disks": list } })
    };
    let keyed =
        json!({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "maxItems": 9 });
    let path = ["disks", "[]", "size"];
    assert_eq!(change(list(keyed), &path, Relation::GrowOnly).0, ["spec.disks[].size: self >= oldSelf"]);
    let unbounded = json!({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] });
    assert_eq!(change(list(unbounded), &path, Relation::GrowOnly).1, [Trouble::TooExpensive]);
    assert_eq!(change(list(json!({ "maxItems": 9 })), &path, Relation::GrowOnly).1, [Trouble::NoOldValue]);
}
