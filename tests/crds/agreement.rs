//! Contract and API server agree on every value outside the reported gap.

use pemdas_core::crd::{KindDraft, Side};
use pemdas_nickel::kinds::Drafts;
use pemdas_nickel::{Evaluator as _, InProcess, Place, Sources};
use serde_json::Value;

use crate::generate::Generator;
use crate::server::{Server, object};
use crate::{drafted, server};

/// How many objects are made for each contract, in the default tier and in a round of the deep one.
const OBJECTS: (usize, usize) = (40, 400);

/// How often each side accepted and refused: a test in which one of them never happens proves nothing.
#[derive(Default, Debug)]
struct Tally {
    accepted: usize,
    refused: usize,
    only_contract: usize,
}

#[test]
fn contract_and_api_server_agree_outside_the_reported_gap() {
    let text = include_str!("contracts.ncl");
    let (evaluator, drafts, definitions) = drafted(&Sources::single(text));
    assert!(drafts.kinds.len() >= 12);
    let alone: Vec<_> = drafts.gaps.iter().filter(|gap| gap.side == Side::OnlyKubernetes).collect();
    assert!(alone.is_empty(), "a draft refuses what its contract accepts: {alone:?}");
    let server = server();
    let mut generator = Generator::new();
    let each = pemdas_tier::size(OBJECTS.0, OBJECTS.1);
    let mut disagreements = Vec::new();
    for (kind, definition) in drafts.kinds.iter().zip(&definitions) {
        server.install(definition);
        let mut tally = Tally::default();
        for index in 0..each {
            let fitting = generator.fitting(&kind.versions["v1"].spec);
            let spec = if index % 2 == 0 { fitting } else { generator.bent(&fitting) };
            let found = judge(server, &evaluator, kind, definition, &drafts, &spec, &mut tally);
            disagreements.extend(found);
        }
        let enough = each / 14;
        assert!(tally.accepted >= enough && tally.refused >= enough, "{}: {tally:?}", kind.kind);
        if kind.kind == "Opaque" {
            assert!(tally.only_contract >= enough / 2, "the reported gap was never met: {tally:?}");
        }
    }
    pemdas_tier::tried((each * drafts.kinds.len()) as u64, "objects");
    assert!(disagreements.is_empty(), "{} disagreements:\n{}", disagreements.len(), disagreements.join("\n"));
}

fn judge(
    server: &Server,
    evaluator: &InProcess,
    kind: &KindDraft,
    definition: &Value,
    drafts: &Drafts,
    spec: &Value,
    tally: &mut Tally,
) -> Option<String> {
    let contract = Place::at(["kinds", &kind.kind, "versions", "v1", "spec"]);
    match server.would_take(definition, &object(definition, spec)) {
        Ok(taken) => {
            tally.accepted += 1;
            // The contract sees what the API server stores: null where a default stands is a missing field there.
            let Err(failure) = evaluator.check(&contract, &taken["spec"]) else { return None };
            tally.only_contract += 1;
            let why = &failure.diagnostics()[0].message;
            // Only what is reported is excused: without those fields, the contract has nothing to say.
            let rest = without_gaps(&taken["spec"], kind, drafts);
            let excused = rest != taken["spec"] && evaluator.check(&contract, &rest).is_ok();
            (!excused).then(|| format!("{}: only the contract refuses {spec}: {why}", kind.kind))
        }
        Err(why) => {
            tally.refused += 1;
            evaluator
                .check(&contract, spec)
                .is_ok()
                .then(|| format!("{}: only the API server refuses {spec}: {why}", kind.kind))
        }
    }
}

/// A value without the fields that the gap report names.
fn without_gaps(spec: &Value, kind: &KindDraft, drafts: &Drafts) -> Value {
    let mut rest = spec.clone();
    for gap in drafts.gaps.iter().filter(|gap| gap.kind == kind.kind && gap.side == Side::OnlyContract) {
        let names: Vec<&str> = gap.path.split('.').skip(1).collect();
        remove(&mut rest, &names);
    }
    rest
}

fn remove(value: &mut Value, names: &[&str]) {
    let Some((first, below)) = names.split_first() else { return };
    let (name, inside) = match first.find(['[', '{']) {
        Some(at) => (&first[..at], true),
        None => (*first, false),
    };
    let Some(map) = value.as_object_mut() else { return };
    if below.is_empty() && !inside {
        map.remove(name);
        return;
    }
    match map.get_mut(name) {
        Some(Value::Array(items)) if inside && below.is_empty() => items.clear(),
        Some(Value::Array(items)) if inside => items.iter_mut().for_each(|item| remove(item, below)),
        Some(Value::Object(entries)) if inside && below.is_empty() => entries.clear(),
        Some(Value::Object(entries)) if inside => entries.values_mut().for_each(|item| remove(item, below)),
        Some(other) => remove(other, below),
        None => {}
    }
}

#[test]
fn a_whole_number_with_a_fraction_is_no_way_around_the_agreement() {
    // Clients write `14`. Where somebody sends `14.0` by hand, a rule that reads it refuses it, whatever the rule says; where no
    // rule does, the API server stores `14`. The contract refuses what is sent, and accepts what is stored.
    let text = include_str!("contracts.ncl");
    let (evaluator, drafts, definitions) = drafted(&Sources::single(text));
    let server = server();
    for (name, spec, taken) in [
        ("Numbers", serde_json::json!({ "port": 14.0, "int": 3.0 }), true),
        ("Orders", serde_json::json!({ "low": 1.0, "high": 14.0 }), false),
    ] {
        let index = drafts.kinds.iter().position(|kind| kind.kind == name).unwrap();
        let mut definition = definitions[index].clone();
        crate::examples::in_group(&mut definition, "spelling.example.com");
        server.install(&definition);
        let contract = Place::at(["kinds", name, "versions", "v1", "spec"]);
        assert!(evaluator.check(&contract, &spec).is_err(), "{spec}");
        match server.would_take(&definition, &object(&definition, &spec)) {
            Ok(stored) => {
                assert!(taken, "{spec}");
                assert_eq!(stored["spec"]["port"].to_string(), "14");
                assert!(evaluator.check(&contract, &stored["spec"]).is_ok(), "{stored}");
            }
            Err(why) => assert!(!taken, "{spec}: {why}"),
        }
    }
}
