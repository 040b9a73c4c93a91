//! What becomes of contracts that a CRD cannot say as they are: never something wrong, and never in silence.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

use pemdas_core::crd::{Side, definition};
use pemdas_core::diagnostic::Severity;
use pemdas_nickel::kinds::Drafts;
use pemdas_nickel::{Evaluator as _, Limits, Place, Sources, outline};
use serde_json::{Value, json};

/// A kind whose spec is written so, and what is told of it: severity, code and message, one line each.
fn drafted(spec: &str) -> (Drafts, Vec<String>) {
    let text = format!(
        "let {{ Blueprint, Nat, Int, IntBetween, AtMostLong, Where, ExactlyOneOf, Cel, SetOf, Matching, OneOf, Nullable, .. }} = import \"pemdas/v1.ncl\" in
         let base = 4 in
         let Even = std.contract.from_predicate (fun x => x % 2 == 0) in
         let shared = {{ a | Nat | default = 5, x | Nat | IntBetween 0 a | default = a, y | Nat | default = 2, z | Even | optional }} in
         {{ name = \"a\", kinds.A = {{ group = \"example.com\", versions.v1.spec = {spec} }}, nodes = {{}} }} | Blueprint"
    );
    let (_, outline) = outline::load(&Sources::single(text), &Limits::default());
    let told = outline
        .diagnostics
        .iter()
        .map(|it| {
            assert!(!it.labels.is_empty(), "no place: {it:?}");
            let severity = match it.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            };
            format!("{severity} {} {}", it.code, it.message)
        })
        .collect();
    (outline.drafts, told)
}

fn schema(drafts: &Drafts) -> Value {
    let definition = definition(&drafts.kinds[0]);
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].clone()
}

fn gaps(drafts: &Drafts) -> Vec<String> {
    assert!(drafts.gaps.iter().all(|gap| gap.side == Side::OnlyContract));
    drafts.gaps.iter().map(|gap| format!("{}: {}", gap.path, gap.what)).collect()
}

#[test]
fn a_default_that_is_the_same_for_every_object_is_written_down() {
    let (drafts, told) = drafted(
        "{ a | Nat | default = base * 2, b | Array Nat | default = std.array.generate (fun i => i) 2,
           c | String | default = let x = \"y\" in \"%{x}z\", d | { e | Nat | default = 1 } | default = {} }",
    );
    assert_eq!(told, [""; 0]);
    let properties = &schema(&drafts)["properties"];
    assert_eq!(properties["a"]["default"], json!(8));
    assert_eq!(properties["b"]["default"], json!([0, 1]));
    assert_eq!(properties["c"]["default"], json!("yz"));
    assert_eq!(properties["d"]["default"], json!({ "e": 1 }));
    assert_eq!(gaps(&drafts), [""; 0]);
}

#[test]
fn a_default_that_is_computed_from_other_fields_is_left_to_the_contract() {
    let (drafts, told) = drafted(
        "{ a | Nat | default = 1, b | Nat | default = a + 1, c | Nat, d | Nat | default = c,
           inner = { e | Nat | default = a, f | Nat | default = base },
           list | Array { g | Nat | default = a } | optional,
           h | { i | Nat | default = a } | default = {} }",
    );
    assert_eq!(
        told,
        [
            "note PM0407 the default of spec.b is computed from `a`",
            "note PM0407 the default of spec.d is computed from `c`",
            "note PM0407 the default of spec.inner.e is computed from `a`",
            "note PM0407 the default of spec.list[].g is computed from `a`",
            "note PM0407 the default of spec.h is computed from what is inside of it",
            "note PM0407 the default of spec.h.i is computed from `a`",
        ]
    );
    let schema = schema(&drafts);
    assert_eq!(schema["required"], json!(["c"]), "a computed field may be missing");
    for pointer in ["/b", "/d", "/h", "/inner/properties/e", "/list/items/properties/g", "/h/properties/i"] {
        let field = schema["properties"].pointer(pointer).unwrap();
        assert_eq!(field.get("default"), None, "{pointer}");
        assert!(field.get("type").is_some(), "what it must be is still said: {pointer}");
    }
    assert_eq!(schema["properties"]["inner"]["properties"]["f"]["default"], json!(4));
    assert_eq!(gaps(&drafts).len(), 6);
}

#[test]
fn what_depends_on_another_field_is_not_frozen_at_its_default() {
    // The API server would refuse `{ a = 10, x = 7 }`, which the contract accepts.
    let (drafts, told) = drafted(
        "{ a | Nat | default = 5, x | Nat | IntBetween 0 a | optional, b = a, c | String = \"n-%{std.to_string a}\" }",
    );
    assert_eq!(
        told,
        [
            "warning PM0417 the contract of spec.x depends on `a`",
            "warning PM0417 the contract of spec.b depends on `a`",
            "warning PM0417 the contract of spec.c depends on `a`",
        ]
    );
    let schema = schema(&drafts);
    assert_eq!(schema["properties"]["x"], json!({ "type": "integer", "minimum": 0 }));
    assert_eq!(schema["properties"]["c"], json!({ "type": "string" }));
    assert_eq!(
        schema["properties"]["b"],
        json!({ "nullable": true, "x-kubernetes-preserve-unknown-fields": true })
    );
    assert_eq!(
        gaps(&drafts),
        ["spec.b: what depends on `a`", "spec.c: what depends on `a`", "spec.x: what depends on `a`"]
    );
}

#[test]
fn no_rule_speaks_of_a_field_that_only_the_contract_fills_in() {
    let unseen = "where `b` is missing, the contract computes it, and the API server sees nothing there";
    let (drafts, told) = drafted(
        "Where { a | Nat | default = 1, b | Nat | default = a, c | Nat | optional }
           [ExactlyOneOf [\"b\", \"c\"], Cel { rule = \"!has(self.b)\", check = fun value => true }]",
    );
    assert_eq!(told[1], format!("error PM0404 this rule cannot hold: {unseen}"));
    assert_eq!(told[2], format!("error PM0404 this rule cannot hold: {unseen}"));
    assert_eq!(schema(&drafts).get("x-kubernetes-validations"), None);
}

#[test]
fn a_default_that_every_object_would_fail_with_is_an_error() {
    let (drafts, told) =
        drafted("{ a | Nat | default = \"x\", b | Nat | default = 1 / 0, c | Nat | default = fun x => x }");
    assert_eq!(
        told,
        [
            "error PM0407 the default of spec.a has no value that fits: contract broken by the value of `a`: expected a whole number, zero or more, got \"x\"",
            "error PM0407 the default of spec.b has no value that fits: division by zero",
            "error PM0407 the default of spec.c has no value that fits: contract broken by the value of `c`: expected a whole number, zero or more, got a function",
        ]
    );
    assert_eq!(schema(&drafts)["properties"]["a"], json!({ "type": "integer", "minimum": 0 }));
}

#[test]
fn a_contract_that_contains_itself_is_cut_where_it_does() {
    let (drafts, told) = drafted(
        "let rec Tree = { name | String, left | Tree | optional, right | Tree | optional, zone | String } in
         { tree | Tree, after | Nat }",
    );
    let again = "warning PM0402 this contract contains itself, or is nested very deep";
    assert_eq!(told, [again, again], "once for each place where it does");
    let schema = schema(&drafts);
    let anything = json!({ "nullable": true, "x-kubernetes-preserve-unknown-fields": true });
    assert_eq!(schema["properties"]["tree"]["properties"]["left"], anything);
    assert_eq!(schema["properties"]["tree"]["properties"]["zone"], json!({ "type": "string" }));
    assert_eq!(schema["properties"]["after"], json!({ "type": "integer", "minimum": 0 }));
    // Nesting one literal in another of the same place is no recursion.
    let (_, told) = drafted("let Pair = fun T => { one | T, two | T } in { pairs | Pair (Pair (Pair Nat)) }");
    assert_eq!(told, [""; 0]);
    // A function that makes such a contract makes another one each time.
    let (drafts, told) = drafted(
        "let rec List = fun T => { head | T, tail | List T | optional, other | List T | optional } in
         { list | List Nat, after | Nat }",
    );
    assert!(told.iter().all(|one| one == again) && !told.is_empty(), "{told:?}");
    assert_eq!(schema_of(&drafts, "after"), json!({ "type": "integer", "minimum": 0 }));
}

#[test]
fn a_contract_that_several_versions_share_is_read_in_each() {
    let (drafts, told) = drafted("shared, versions.v2 = { spec = shared, stored = true }");
    assert_eq!(drafts.kinds[0].versions.len(), 2, "{told:?}");
    let versions = definition(&drafts.kinds[0])["spec"]["versions"].clone();
    for version in versions.as_array().unwrap() {
        let spec = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
        assert_eq!(
            spec["properties"]["x"],
            json!({ "type": "integer", "minimum": 0 }),
            "{}",
            version["name"]
        );
        assert_eq!(spec["properties"]["y"]["default"], json!(2));
    }
    assert_eq!(
        gaps(&drafts),
        [
            "spec.x: the default is computed from `a`",
            "spec.x: what depends on `a`",
            "spec.z: the contract Even"
        ]
        .repeat(2)
    );
}

fn schema_of(drafts: &Drafts, field: &str) -> Value {
    schema(drafts)["properties"][field].clone()
}

/// Takes out where contracts are written. What was used before has forgotten it.
fn without_places(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("form") {
                fields.remove("span");
            }
            fields.values_mut().for_each(without_places);
        }
        Value::Array(items) => items.iter_mut().for_each(without_places),
        _ => {}
    }
}

#[test]
fn contracts_are_described_the_same_one_after_another_and_each_alone() {
    let text = include_str!("../../../tests/crds/contracts.ncl");
    let limits = Limits { millis: 60_000, ..Limits::default() };
    let (evaluator, outline) = outline::load(&Sources::single(text), &limits);
    let evaluator = evaluator.unwrap();
    let names: Vec<&str> = outline.drafts.kinds.iter().map(|kind| kind.kind.as_str()).collect();
    let place = |name: &str| Place::at(["kinds", name, "versions", "v1", "spec"]);
    let schemas = |described: pemdas_nickel::contract::Contract| {
        let mut value = serde_json::to_value(described).unwrap();
        without_places(&mut value);
        value
    };
    let after_others: Vec<Value> =
        names.iter().map(|name| schemas(evaluator.describe(&place(name)).unwrap())).collect();
    for (name, after_others) in names.iter().zip(after_others) {
        // A check uses contracts, after which descriptions start anew.
        let _ = evaluator.check(&place(name), &json!({}));
        assert_eq!(schemas(evaluator.describe(&place(name)).unwrap()), after_others, "{name}");
    }
}

#[test]
fn a_whole_number_with_a_fraction_is_refused_as_rules_refuse_it() {
    let text = include_str!("../../../tests/crds/contracts.ncl");
    let limits = Limits { millis: 60_000, ..Limits::default() };
    let (evaluator, _) = outline::load(&Sources::single(text), &limits);
    let evaluator = evaluator.unwrap();
    let contract = Place::at(["kinds", "Orders", "versions", "v1", "spec"]);
    assert!(evaluator.check(&contract, &json!({ "low": 1, "ratio": 0.5 })).is_ok());
    let failure = evaluator.check(&contract, &json!({ "inner": { "from": 1.0 } })).unwrap_err();
    assert_eq!(failure.diagnostics()[0].notes, ["in the data: inner.from"]);
}

/// What is told of two versions of a kind.
fn versions(text: &str) -> Vec<(String, String, Vec<String>)> {
    let text = format!(
        "let {{ Blueprint, Nat, at, .. }} = import \"pemdas/v1.ncl\" in
         {{ name = \"a\", kinds.A = {{ group = \"example.com\", versions = {{ {text} }} }}, nodes = {{}} }} | Blueprint"
    );
    let (_, outline) = outline::load(&Sources::single(text), &Limits::default());
    outline.diagnostics.into_iter().map(|it| (it.code, it.message, it.notes)).collect()
}

#[test]
fn a_loss_is_shown_with_the_smallest_object_that_shows_it() {
    let told = versions(
        "v1 = { stored = true, spec = { a | Nat | optional, b | String | optional, c | Nat | optional, d | Array Nat | optional },
                convert.v2 = fun object => { spec = std.record.filter (fun name _value => name != \"b\") object.spec } },
         v2 = { spec = { a | Nat | optional, c | Nat | optional, d | Array Nat | optional }, convert.v1 = fun object => { spec = object.spec } }",
    );
    let [(code, message, notes)] = told.as_slice() else { panic!("{told:#?}") };
    assert_eq!(code, "PM0411");
    assert_eq!(message, "A loses something from v1 to v2 and back: spec.b is gone");
    let [object, there, back] = notes.as_slice() else { panic!("{notes:#?}") };
    assert!(object.starts_with("the object: {\"spec\":{\"b\":\""), "{object}");
    assert_eq!(object.matches("\":").count(), 2, "nothing but b: {object}");
    assert_eq!([there.as_str(), back.as_str()], ["as v2: {\"spec\":{}}", "and back: {\"spec\":{}}"]);
}

#[test]
fn what_the_other_version_has_no_field_for_can_be_kept_in_an_annotation() {
    let v2 = "v2 = { spec = { a | Nat | optional }, convert.v1 = fun object =>
                let kept = std.record.get_or \"b\" null (at \"metadata.annotations\" {} object) in
                { spec = object.spec & (if kept == null then {} else { b = kept }) } }";
    let keeps = "let b = at \"spec.b\" null object in
                 { metadata.annotations = if b == null then {} else { include b }, spec = std.record.filter (fun name _value => name != \"b\") object.spec }";
    let v1 = |body: &str| {
        format!(
            "v1 = {{ stored = true, spec = {{ a | Nat | optional, b | String | optional }}, convert.v2 = fun object => {body} }}, {v2}"
        )
    };
    assert_eq!(versions(&v1(keeps)), []);
    // The name of an object, and whatever else is in its metadata, is not a conversion's to change: it is not even looked at.
    let named = keeps.replace("metadata.annotations =", "metadata.name = \"x\", metadata.annotations =");
    assert_eq!(versions(&v1(&named)), []);
}

#[test]
fn the_status_is_converted_too() {
    let both = |there: &str, back: &str| {
        versions(&format!(
            "v1 = {{ stored = true, spec = {{}}, status = {{ ready | Nat | optional }}, convert.v2 = fun object => {there} }},
             v2 = {{ spec = {{}}, status = {{ serving | Nat | optional }}, convert.v1 = fun object => {back} }}"
        ))
    };
    let renamed = |from: &str, to: &str| {
        format!(
            "{{ spec = {{}}, status = let old = at \"status.{from}\" null object in if old == null then {{}} else {{ {to} = old }} }}"
        )
    };
    assert_eq!(both(&renamed("ready", "serving"), &renamed("serving", "ready")), []);
    let carried_over = both("{ spec = {} }", "{ spec = {} }");
    let codes: Vec<&str> = carried_over.iter().map(|(code, ..)| code.as_str()).collect();
    assert_eq!(codes, ["PM0412", "PM0412"], "{carried_over:#?}");
    let lost = both("{ spec = {}, status = {} }", &renamed("serving", "ready"));
    assert_eq!(lost[0].1, "A loses something from v1 to v2 and back: status.ready is gone");
    // Without functions, nobody converts it.
    let none =
        versions("v1 = { stored = true, spec = {}, status = { a | Nat | optional } }, v2 = { spec = {} }");
    assert_eq!(none[0].0, "PM0413");
}

#[test]
fn only_advice_can_be_declined() {
    let text = "let { Blueprint, .. } = import \"pemdas/v1.ncl\" in
        { name = \"a\", kinds.A = { group = \"example.com\", accept = [\"PM0420\", \"PM0401\"], versions.v1.spec = {} }, nodes = {} } | Blueprint";
    let (_, outline) = outline::load(&Sources::single(text), &Limits::default());
    let told: Vec<String> =
        outline.diagnostics.iter().map(|it| format!("{} {}", it.code, it.message)).collect();
    assert_eq!(told, ["PM0409 \"PM0401\" is no advice that a kind could decline"]);
}
