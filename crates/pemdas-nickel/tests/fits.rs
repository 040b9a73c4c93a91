//! What is admitted by the description of a contract is what the contract itself admits, with the same fields filled in.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers of a test are the test"
)]

mod chance;

use std::fmt::Write as _;

use pemdas_core::blueprint::{Blueprint, ContractRef};
use pemdas_core::digest::Digest;
use pemdas_core::evaluate::{Answer, Form, Question};
use pemdas_nickel::{InProcess, Limits, Loaded, Sources};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use serde_json::Value;

const NAMES: [&str; 4] = ["a", "b", "c", "x-y"];

/// A contract as it is written in Nickel.
fn contract() -> impl Strategy<Value = String> {
    let scalar = prop::sample::select(vec![
        "String",
        "Number",
        "Bool",
        "NonEmpty",
        "Nat",
        "Port",
        "(IntBetween 1 9)",
        "(OneOf [\"s\", \"t\"])",
        "(AtMostLong 3)",
        "Dyn",
    ]);
    let leaf = scalar.prop_map(str::to_owned);
    leaf.prop_recursive(3, 12, 4, |inner| {
        let field = (prop::sample::select(&NAMES[..]), inner.clone(), beside());
        prop_oneof![
            1 => inner.clone().prop_map(|it| format!("(Array {it})")),
            1 => inner.prop_map(|it| format!("{{ _ | {it} }}")),
            4 => prop::collection::vec(field, 1..4).prop_map(record),
        ]
    })
}

/// What stands beside the contract of a field.
fn beside() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "", " | default = 7", " | default = \"s\"", " | optional", " | optional"])
}

fn field() -> impl Strategy<Value = (&'static str, String, &'static str)> {
    (prop::sample::select(&NAMES[..]), contract(), beside())
}

fn record(mut fields: Vec<(&'static str, String, &'static str)>) -> String {
    fields.sort_by_key(|it| it.0);
    fields.dedup_by_key(|it| it.0);
    let fields: Vec<_> =
        fields.into_iter().map(|(name, it, more)| format!("\"{name}\" | {it}{more}")).collect();
    format!("{{ {} }}", fields.join(", "))
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => prop::sample::select(vec!["", "s", "t", "long", "äöü"]).prop_map(Value::from),
        4 => prop::sample::select(vec![0, 1, 7, 9, 10, 80, -1, 70_000]).prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => prop::sample::select(vec![1.0, 1.5]).prop_map(Value::from),
        2 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            4 => prop::collection::btree_map(prop::sample::select(&NAMES[..]), inner, 0..5)
                .prop_map(|it| it.into_iter().collect::<Value>()),
        ]
    })
}

/// A blueprint of kinds with these contracts.
fn of_contracts(contracts: &[String]) -> Loaded<InProcess> {
    let mut text = String::from(
        "let { Blueprint, Port, Nat, IntBetween, OneOf, AtMostLong, NonEmpty, .. } = import \"pemdas/v1.ncl\" in {\n  name = \"x\",\n",
    );
    for (at, it) in contracts.iter().enumerate() {
        let _ = writeln!(text, "  kinds.K{at} = {{ group = \"example.com\", versions.v1.spec = {it} }},");
        let _ = writeln!(text, "  nodes.n{at} = {{ root = kinds.K{at} }},");
    }
    text.push_str("} | Blueprint\n");
    Loaded::in_process(&Sources::single(&text), &Limits::default())
}

fn specs(blueprint: &Blueprint) -> impl Iterator<Item = &ContractRef> {
    blueprint.kinds.values().flat_map(|it| it.versions.values()).filter_map(|it| it.spec.as_ref())
}

fn asked(contract: &ContractRef, input: Value) -> Question {
    Question { digest: Digest::of(&[], &input), path: contract.path.clone(), form: Form::Admitted, input }
}

#[test]
fn what_is_admitted_by_its_description_is_what_the_contract_admits() {
    let mut runner = chance::runner();
    let mut same = 0;
    for _ in 0..pemdas_tier::size(6, 150) {
        let mut draw = |_| {
            prop::collection::vec(field(), 1..4).prop_map(record).new_tree(&mut runner).unwrap().current()
        };
        let contracts: Vec<String> = (0..20).map(&mut draw).collect();
        let loaded = of_contracts(&contracts);
        let (blueprint, renderer) = (loaded.blueprint.unwrap(), loaded.renderer.unwrap());
        for contract in specs(&blueprint) {
            let Some(fits) = &contract.fits else { continue };
            for _ in 0..40 {
                let value = value().new_tree(&mut runner).unwrap().current();
                let Some(filled) = fits.filled(&value) else { continue };
                let said = renderer.answers(&[asked(contract, value.clone())]).remove(0);
                assert_eq!(said, Answer::Value(filled), "{fits:?} of {value}");
                same += 1;
            }
        }
    }
    assert!(same > 100, "only {same} answers were compared");
    pemdas_tier::tried(same, "answers");
}

#[test]
fn only_types_bounds_and_constant_defaults_are_described() {
    let described = [
        "{ a | String }",
        "{ a | String | default = \"x\", b | Number | optional }",
        "{ a | Port, b | NonEmpty, c | { d | Array Bool } }",
        "{ a | { _ | IntBetween 1 9 } }",
    ];
    let other = [
        "{ a | String, .. }",
        "{ a | Number | default = 1, b | Number | default = a }",
        "{ a | Number, b | IntBetween 1 a }",
        "{ a | Number, b | (if a == 1 then String else Number) | optional }",
        "{ a | std.contract.from_predicate (fun it => it == 1) }",
        "{ a = { b | Number | default = 1 } }",
        "{ a | { b | Number | default = 1 } | default = {} }",
        "{ a | Dyn }",
        "{ a | String | OneOf [\"x\"] }",
    ];
    let all: Vec<String> = described.iter().chain(&other).map(|it| (*it).to_owned()).collect();
    let blueprint = of_contracts(&all).blueprint.unwrap();
    for (at, text) in all.iter().enumerate() {
        let contract = blueprint.kinds[&format!("K{at}")].versions["v1"].spec.as_ref().unwrap();
        assert_eq!(contract.fits.is_some(), at < described.len(), "{text}: {:?}", contract.fits);
    }
}
