//! Worlds that contradict themselves: told in mode present, never a panic, and in the way of no deletion.

use serde_json::{Value, json};

use super::{at_rest, clean, delete_root, stalled, there, v};
use crate::blueprint::Body;
use crate::evaluate::Answer;
use crate::explore::lab::{Lab, key};
use crate::explore::sim::Sim;
use crate::explore::zoo::{chain, drain, job};
use crate::world::{CLAIM_ANNOTATION, Fact, LedgerFact, ROOT_LABEL, place};

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

pub(super) fn a_label_without_a_claim_that_can_be_read_is_told() {
    let unparsable = ["?", "{}", "[]", "null", "{\"root\":7}", "\u{0}", "{\"node\":\"a\",\"surplus\":1}"];
    for claim in unparsable.map(Some).into_iter().chain([None]) {
        let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
        let annotations = claim.map_or(json!({}), |it| json!({ CLAIM_ANNOTATION: it }));
        with_claim(&mut sim, "strange", &json!({ ROOT_LABEL: "u1" }), &annotations);
        assert!(stalled(&sim, "Unreadable") && !sim.is_ready(), "{claim:?}: {:?}", sim.stalled());
        goes(sim, &["strange"]);
    }
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
    with_claim(&mut sim, "left", &labels, &json!({ CLAIM_ANNOTATION: claim.to_string() }));
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
        assert!(stalled(&sim, "the ledger cannot be read") && !sim.is_ready());
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
