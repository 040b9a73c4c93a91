//! Whatever an author writes, the draft is one that the API server installs: what it would refuse is left out and told.

use pemdas_core::crd::definition;
use pemdas_nickel::{Limits, Sources, outline};

use crate::server;

/// Contracts of a field that a CRD cannot say, or not so.
const CONTRACTS: [&str; 40] = [
    "Number -> Number",
    "Tree",
    "Matching \"(\"",
    "Matching \"a**\"",
    "Matching \"(?=x)a\"",
    "Matching \"[[:alpha:]]\"",
    "Matching \"a{1001}\"",
    "OneOf []",
    "OneOf [\"x\", \"x\"]",
    "OneOf [1]",
    "IntBetween 5 2",
    "ListBetween 3 1 Nat",
    "AtMostLong (-1)",
    "AtMostLong 1.5",
    "SetOf (SetOf Nat)",
    "SetOf { x | Nat }",
    "SetOf (Nullable Nat)",
    "ListMap [] { x | Nat }",
    "ListMap [\"x\"] Nat",
    "ListMap [\"y\"] { x | Nat }",
    "ListMap [\"x\"] { x | Nat | optional }",
    "ListMap [\"x\"] { x | Array Nat }",
    "Typed { type = \"foo\" } anything",
    "Typed { type = \"array\", uniqueItems = true } anything",
    "Typed { type = \"string\", pattern = \"(\" } anything",
    "Typed { type = \"integer\", minimum = \"x\" } anything",
    "Typed { type = \"integer\", default = \"x\" } anything",
    "Typed { anyOf = [{ type = \"string\" }, { type = \"integer\" }] } anything",
    "Typed { type = \"string\", not = { type = \"string\", pattern = \"x\" } } anything",
    "Typed { type = \"string\", \"x-kubernetes-list-type\" = \"set\" } anything",
    "Typed { type = \"array\", \"x-kubernetes-list-type\" = \"map\" } anything",
    "Typed { type = \"object\", \"x-kubernetes-embedded-resource\" = true } anything",
    "Typed { type = \"string\", \"x-kubernetes-validations\" = [{ rule = \"self.foo\" }] } anything",
    "Typed { type = \"object\", properties = { a = { type = \"x\" } }, additionalProperties = { type = \"string\" } } anything",
    "Typed { \"$ref\" = \"x\" } anything",
    "Typed { \"x-kubernetes-int-or-string\" = true, type = \"string\" } anything",
    "String | Cel { rule = \"self.foo\", check = fun _x => true }",
    "Array String | Cel { rule = \"self.all(a, self.all(b, a.contains(b)))\", check = fun _x => true }",
    "Nullable (OneOf [\"a\"]) | Immutable",
    "Dyn | GrowOnly",
];

#[test]
fn every_draft_is_installed_however_odd_its_contracts_are() {
    let server = server();
    let besides = ["| optional", "| default = 1", "| default = \"x\""];
    for (index, contract) in CONTRACTS.into_iter().enumerate() {
        // The default tier tries one of them with each contract.
        let first = pemdas_tier::size(index % besides.len(), 0);
        for status in besides.into_iter().skip(first).take(pemdas_tier::size(1, besides.len())) {
            let text = format!(
                "let {{ Blueprint, Nat, IntBetween, AtMostLong, Matching, OneOf, SetOf, ListMap, ListBetween, Nullable, Typed, Cel, Immutable, GrowOnly, .. }} =
                   import \"pemdas/v1.ncl\" in
                 let rec Tree = {{ name | String, left | Tree | optional, right | Tree | optional }} in
                 let anything = fun _label value => 'Ok value in
                 {{ name = \"odd\", nodes = {{}}, kinds.Odd{index} = {{ group = \"odd.example.com\", versions.v1 = {{
                   spec = {{ field | {contract} {status}, list | Array ({contract}) | optional }},
                   status = {{ field | {contract} | optional }},
                 }} }} }} | Blueprint",
                contract = contract.split(" | ").next().unwrap_or(contract),
            );
            let text = match contract.split_once(" | ") {
                Some((first, more)) => {
                    text.replacen(&format!("field | {first}"), &format!("field | {first} | {more}"), 1)
                }
                None => text,
            };
            let limits = Limits { millis: 60_000, ..Limits::default() };
            let (_, outlined) = outline::load(&Sources::single(text), &limits);
            assert!(outlined.diagnostics.iter().all(|it| !it.labels.is_empty()), "{contract}");
            for kind in &outlined.drafts.kinds {
                let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
                let (answer, why) = server.post(path, &definition(kind));
                assert_eq!(answer, 201, "{contract} {status}: {}", why["message"]);
            }
            let told = !outlined.diagnostics.is_empty();
            let unremarkable = ["OneOf [\"x\", \"x\"]", "IntBetween 5 2", "ListBetween 3 1 Nat", "OneOf [1]"];
            assert!(told || unremarkable.contains(&contract), "{contract} {status}: nothing is told");
        }
    }
}

#[test]
fn names_that_the_api_server_refuses_are_told_before() {
    let long = "Thing".repeat(12);
    for (kind, group, more, words) in [
        ("Thing", "apps", "", "has no dot"),
        ("Thing", "things.k8s.io", "", "is Kubernetes' own"),
        (long.as_str(), "example.com", "", "is too long for a kind"),
        ("Thing", "example.com", ", versions.v1.served = false", "no version of the kind is served"),
    ] {
        let text = format!(
            "let {{ Blueprint, .. }} = import \"pemdas/v1.ncl\" in
             {{ name = \"odd\", nodes = {{}}, kinds.{kind} = {{ group = \"{group}\", versions.v1.spec = {{}}{more} }} }} | Blueprint"
        );
        let (_, outlined) = outline::load(&Sources::single(text), &Limits::default());
        let told: Vec<&str> = outlined.diagnostics.iter().map(|it| it.message.as_str()).collect();
        assert!(matches!(told.as_slice(), [one] if one.contains(words)), "{kind} {group}: {told:?}");
        assert_eq!(outlined.diagnostics[0].code, "PM0209");
    }
}
