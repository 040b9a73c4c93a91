//! Contract and API server agree on every value outside the reported gap.

use pemdas_core::crd::{KindDraft, Side};
use pemdas_nickel::kinds::Drafts;
use pemdas_nickel::{Evaluator as _, InProcess, Place, Sources};
use serde_json::Value;

use crate::generate::Generator;
use crate::server::{Server, object};
use crate::{drafted, server};

/// How many objects are made for each contract.
const OBJECTS: usize = 140;

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
    let server = server();
    let mut generator = Generator::new();
    let mut objects = 0;
    let mut disagreements = Vec::new();
    for (kind, definition) in drafts.kinds.iter().zip(&definitions) {
        server.install(definition);
        let mut tally = Tally::default();
        for index in 0..OBJECTS {
            let fitting = generator.fitting(&kind.versions["v1"].spec);
            let spec = if index % 2 == 0 { fitting } else { generator.bent(&fitting) };
            objects += 1;
            let found = judge(server, &evaluator, kind, definition, &drafts, &spec, &mut tally);
            disagreements.extend(found);
        }
        assert!(tally.accepted >= 10 && tally.refused >= 10, "{}: {tally:?}", kind.kind);
        if kind.kind == "Opaque" {
            assert!(tally.only_contract >= 5, "the reported gap was never met: {tally:?}");
        }
    }
    assert!(objects >= 2_000, "only {objects} objects");
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
    let gap = |side: Side| drafts.gaps.iter().any(|gap| gap.kind == kind.kind && gap.side == side);
    let contract = Place::at(["kinds", &kind.kind, "versions", "v1", "spec"]);
    match server.would_take(definition, &object(definition, spec)) {
        Ok(taken) => {
            tally.accepted += 1;
            // The contract sees what the API server stores: null where a default stands is a missing field there.
            let Err(failure) = evaluator.check(&contract, &taken["spec"]) else { return None };
            tally.only_contract += 1;
            let why = &failure.diagnostics()[0].message;
            (!gap(Side::OnlyContract))
                .then(|| format!("{}: only the contract refuses {spec}: {why}", kind.kind))
        }
        Err(why) => {
            tally.refused += 1;
            let accepted = evaluator.check(&contract, spec).is_ok() && !gap(Side::OnlyKubernetes);
            accepted.then(|| format!("{}: only the API server refuses {spec}: {why}", kind.kind))
        }
    }
}
