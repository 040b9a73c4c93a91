//! Worlds that contradict themselves: told in mode present, never a panic, and in the way of no deletion.

use serde_json::{Value, json};

use super::{at_rest, clean, delete_root, stalled, there, v};
use crate::action::Action;
use crate::blueprint::Body;
use crate::evaluate::Answer;
use crate::explore::lab::{Lab, key, kind};
use crate::explore::sim::{Sim, sealed};
use crate::explore::zoo::{chain, drain, job};
use crate::world::{CLAIM_ANNOTATION, Claim, Fact, LedgerFact, ROOT_LABEL, Seal, place};

/// Deletes the root: whatever is wrong, everything that can be told to be ours goes.
fn goes(mut sim: Sim, left: &[&str]) {
    delete_root(&mut sim);
    sim.settle();
    let there: Vec<_> = sim.cluster.objects.keys().map(|it| it.name.clone()).collect();
    assert!(sim.root().is_none() && there == left, "{there:?} {:?}", sim.stalled());
}

fn with_claim(sim: &mut Sim, name: &str, labels: &Value, annotations: &Value) {
    let body =
        json!({ "kind": "Note", "metadata": { "labels": labels, "annotations": annotations }, "spec": {} });
    sim.cluster.create(&key("Note", name), "somebody", body);
    sim.settle();
}

/// Everything that somebody may write who has no key: on objects under names that the instance does not use.
fn forged(sim: &Sim) -> Vec<Option<String>> {
    let text = sim.live(&key("Note", "a-c")).unwrap().annotation(CLAIM_ANNOTATION).unwrap().to_owned();
    let renamed = text.replace("n/a-c", "n/strange");
    let nameless = text.replace("\"object\":\"n/a-c\",", "");
    let of = |seal: &Seal| {
        let claim: Claim = serde_json::from_str(&renamed).unwrap();
        claim.sealed("u1", &kind("Note"), seal)
    };
    let unparsable = ["?", "{}", "[]", "null", "{\"root\":7}", "\u{0}", "{\"node\":\"a\",\"surplus\":1}"];
    let unparsable = unparsable.map(|it| Some(it.to_owned()));
    let others = Seal::with(vec![b"somebody else".to_vec()]);
    let readable = [text.clone(), renamed.clone(), nameless, of(&Seal::Unverified), of(&others)].map(Some);
    unparsable.into_iter().chain(readable).chain([None]).collect()
}

pub(super) fn what_has_no_genuine_claim_is_ignored() {
    let claims = forged(&at_rest(&[chain()], json!({ "v": 1 })));
    for claim in claims {
        let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
        let annotations = claim.as_ref().map_or(json!({}), |it| json!({ CLAIM_ANNOTATION: it }));
        with_claim(&mut sim, "strange", &json!({ ROOT_LABEL: "u1" }), &annotations);
        assert!(sim.is_ready() && sim.deleted.is_empty(), "{claim:?}: {:?}", sim.stalled());
        sim.set_spec(&json!({ "v": 2 }));
        sim.settle();
        assert!(sim.is_ready() && there(&sim, "Note", "strange"), "{claim:?}: {:?}", sim.waits());
        goes(sim, &["strange"]);
    }
}

pub(super) fn what_is_ignored_is_reported_once() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    let mut events = 0;
    for name in ["strange", "stranger"] {
        let body = json!({ "kind": "Note", "metadata": { "labels": { ROOT_LABEL: "u1" } }, "spec": {} });
        sim.cluster.create(&key("Note", name), "somebody", body);
        for _ in 0..4 {
            sim.deliver_all();
            let told = |it: &&Action| matches!(it, Action::Event(it) if it.reason == "ClaimIgnored");
            events += sim.decide().actions.iter().filter(told).count();
            while !sim.flights.is_empty() {
                sim.land(0, crate::explore::sim::Fault::None);
            }
        }
    }
    assert_eq!(events, 1);
}

pub(super) fn a_forged_claim_under_a_wanted_name_is_a_conflict() {
    for name in ["a-a", "a-c"] {
        let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
        let kind = if name == "a-c" { "Note" } else { "Thing" };
        let labels = json!({ "labels": { ROOT_LABEL: "u1" }, "annotations": { CLAIM_ANNOTATION: "{}" } });
        let body = json!({ "kind": kind, "metadata": labels, "spec": { "mine": true } });
        sim.cluster.create(&key(kind, name), "somebody", body);
        sim.settle();
        assert!(stalled(&sim, "was not written by Pemdas") && !sim.is_ready(), "{:?}", sim.stalled());
        assert_eq!(sim.live(&key(kind, name)).unwrap().body["spec"], json!({ "mine": true }));
        goes(sim, &[name]);
    }
}

/// Somebody who may not read Secrets names the instance of another as an earlier one, with a copy of its claim.
pub(super) fn a_forged_claim_reclaims_nothing() {
    let mut sim = at_rest(&[job()], json!({ "v": 1 }));
    sim.annotate("reclaim", "u9");
    let mut claim: Value =
        serde_json::from_str(&forged(&at_rest(&[chain()], json!({ "v": 1 })))[7].clone().unwrap()).unwrap();
    claim["object"] = json!(place(&key("Note", "bait")));
    with_claim(
        &mut sim,
        "bait",
        &json!({ ROOT_LABEL: "u9" }),
        &json!({ CLAIM_ANNOTATION: claim.to_string() }),
    );
    let asks = |it: &Action| matches!(it, Action::ReadLedgerOf { .. } | Action::ForgetLedgerOf { .. });
    assert!(!sim.decide().actions.iter().any(asks) && sim.is_ready(), "{:?}", sim.stalled());
    // With a claim that Pemdas wrote it would.
    let labels = json!({ ROOT_LABEL: "u9" });
    claim["object"] = json!(place(&key("Note", "left")));
    let genuine = json!({ CLAIM_ANNOTATION: sealed("u9", &key("Note", "left"), claim) });
    let body =
        json!({ "kind": "Note", "metadata": { "labels": labels, "annotations": genuine }, "spec": {} });
    sim.cluster.create(&key("Note", "left"), "somebody", body);
    sim.deliver_all();
    assert!(sim.decide().actions.iter().any(asks), "{:?}", sim.stalled());
}

pub(super) fn a_claim_of_an_unknown_node_and_revision_is_removed_as_any_other() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    let text = sim.live(&key("Note", "a-c")).unwrap().annotation(CLAIM_ANNOTATION).unwrap().to_owned();
    let mut claim: Value = serde_json::from_str(&text).unwrap();
    claim["node"] = json!("forgotten");
    claim["object"] = json!(place(&key("Note", "left")));
    claim["revision"] = json!("r99");
    claim["ordinal"] = json!(u64::MAX);
    let labels = json!({ ROOT_LABEL: "u1" });
    let claim = sealed("u1", &key("Note", "left"), claim);
    with_claim(&mut sim, "left", &labels, &json!({ CLAIM_ANNOTATION: claim }));
    assert!(sim.is_ready() && !there(&sim, "Note", "left"), "{:?} {:?}", sim.stalled(), sim.waits());
    clean(&sim);
}

pub(super) fn an_instance_without_a_revision_that_runs_is_told() {
    for lab in [chain(), drain(), job()] {
        let mut sim = at_rest(&[lab], json!({ "v": 1 }));
        sim.program = None;
        sim.settle();
        assert!(stalled(&sim, "no revision of the blueprint can run") && !sim.is_ready());
        assert!(sim.deleted.is_empty());
        goes(sim, &[]);
    }
}

pub(super) fn a_ledger_that_cannot_be_read_is_told_and_blocks_no_deletion() {
    for lab in [drain(), job()] {
        let mut sim = at_rest(&[lab], json!({ "v": 1 }));
        sim.world.learn(Fact::Ledger(LedgerFact::Unreadable));
        let decision = sim.decide().clone();
        assert!(
            !decision.actions.iter().any(crate::action::Action::moves_the_cluster),
            "{:?}",
            decision.actions
        );
        assert!(stalled(&sim, "MemoryLost: its ledger cannot be read") && !sim.is_ready());
        delete_root(&mut sim);
        for _ in 0..12 {
            sim.deliver_all();
            sim.world.learn(Fact::Ledger(LedgerFact::Unreadable));
            sim.decide();
            while !sim.flights.is_empty() {
                sim.land(0, crate::explore::sim::Fault::None);
            }
        }
        assert!(sim.root().is_none() && sim.claimed().is_empty(), "{:?}", sim.stalled());
    }
}

pub(super) fn an_old_ledger_that_cannot_be_read_is_told() {
    let mut sim = at_rest(&[job()], json!({ "v": 1 })).reborn();
    sim.annotate("reclaim", "u1");
    for _ in 0..6 {
        sim.deliver_all();
        sim.world.learn(Fact::OldLedger("u1".to_owned(), LedgerFact::Unreadable));
        sim.decide();
        while !sim.flights.is_empty() {
            sim.land(0, crate::explore::sim::Fault::None);
        }
        sim.control_all();
    }
    assert!(stalled(&sim, "the ledger of the earlier root cannot be read"), "{:?}", sim.stalled());
    assert!(sim.cluster.ledger.is_none(), "something was recorded over what is not known");
}

pub(super) fn an_object_in_the_way_of_a_template_that_reads_everything_is_told() {
    let mut lab = Lab::new().template("a", "Note", &[]).also("app", "a");
    let function = lab.function("nodes.a.template", &[""], |the| {
        let kept = the["self"]["spec"]["kept"].clone();
        Answer::Value(json!({
            "apiVersion": "example.com/v1", "kind": "Note", "metadata": { "name": "a-a" },
            "spec": { "v": the["root"]["spec"]["v"], "kept": if kept.is_null() { json!(1) } else { kept } },
        }))
    });
    let Body::Template(it) = &mut lab.node("a").body else { panic!("no template") };
    it.function = function;
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    sim.cluster.create(&key("Note", "a-a"), "somebody", json!({ "spec": { "v": 7 } }));
    sim.settle();
    assert!(stalled(&sim, "Exists") && v(&sim, "Note", "a-a") == 7, "{:?} {:?}", sim.stalled(), sim.waits());
    clean(&sim);
}
