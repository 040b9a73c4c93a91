//! Objects, edges and members: who acts, what is held, what is not touched.

use serde_json::{Value, json};

use super::{at_rest, clean, rounds, stalled, there, v};
use crate::action::Action;
use crate::blueprint::Own;
use crate::decide::decide;
use crate::evaluate::Answer;
use crate::explore::lab::{Lab, key, kind, shape};
use crate::explore::sim::{Fault, Sim, sealed};
use crate::explore::zoo::{chain, conditional, diamond, fleet};
use crate::path::FieldPath;
use crate::shape::Shape;
use crate::world::{CLAIM_ANNOTATION, Fact, Lease, ROOT_LABEL, Sight, place};

pub(super) fn depth_takes_as_many_rounds() {
    let mut sim = Sim::new(&[diamond()], &json!({ "v": 1 }));
    sim.round(); // the finalizer
    sim.round();
    assert_eq!(sim.created, 1, "a");
    sim.round();
    assert_eq!(sim.created, 3, "b and c at once");
    sim.control_all();
    sim.round();
    assert_eq!(sim.created, 4, "d");
    clean(&sim);
}

pub(super) fn drift_is_put_right_by_force() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    sim.cluster.edit(&key("Thing", "a-a"), "hand", &json!({ "spec": { "v": 9 } }));
    rounds(&mut sim, 3);
    assert_eq!(v(&sim, "Thing", "a-a"), 1);
}

pub(super) fn a_fight_ends_stalled() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    let before = sim.cluster.version;
    for _ in 0..12 {
        sim.cluster.edit(&key("Thing", "a-a"), "robot", &json!({ "spec": { "v": 9 } }));
        rounds(&mut sim, 2);
        sim.control_all();
    }
    rounds(&mut sim, 1);
    assert!(stalled(&sim, "Contended"), "{:?}", sim.stalled());
    assert!(sim.cluster.version - before < 60, "it fought on");
}

/// Nobody led while a person edited a field and the root's spec changed it: the person wins no more than with an operator that looks on.
pub(super) fn a_field_that_was_ours_is_taken_back() {
    for crash in [false, true] {
        let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
        sim.cluster.edit(&key("Thing", "a-a"), "person", &json!({ "spec": { "v": 9 } }));
        sim.set_spec(&json!({ "v": 2 }));
        if crash {
            sim.crash();
        }
        assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
        clean(&sim);
        assert_eq!(v(&sim, "Thing", "a-a"), 2);
    }
}

pub(super) fn a_new_desired_takes_nothing() {
    let lab = chain().template_with("a", "Thing", &[], |the| match &the["root"]["spec"]["more"] {
        serde_json::Value::Null => json!({}),
        more => json!({ "more": more }),
    });
    let mut sim = at_rest(&[lab], json!({ "v": 1 }));
    sim.cluster.edit(&key("Thing", "a-a"), "person", &json!({ "spec": { "more": 9 } }));
    rounds(&mut sim, 2);
    sim.set_spec(&json!({ "v": 2, "more": 3 }));
    rounds(&mut sim, 4);
    let spec = |sim: &Sim| sim.live(&key("Thing", "a-a")).unwrap().body["spec"].clone();
    assert_eq!((&spec(&sim)["more"], &spec(&sim)["v"]), (&json!(9), &json!(1)));
    assert!(stalled(&sim, "Conflict: spec.more (person)"), "{:?}", sim.stalled());
    // One that was ours beside it changes nothing about that.
    sim.cluster.edit(&key("Thing", "a-a"), "person", &json!({ "spec": { "v": 8 } }));
    rounds(&mut sim, 4);
    assert_eq!(spec(&sim)["more"], 9);
    assert!(stalled(&sim, "Conflict"), "{:?}", sim.stalled());
}

/// The accident: a server drops a field that a template sets, and the same apply is sent for ever.
pub(super) fn what_a_server_does_not_keep_is_not_sent_again() {
    let lost = |name: &str| FieldPath::of(&["spec", name]);
    let lab = chain().template_with("a", "Thing", &[], |_| json!({ "lost": { "it": 1 }, "kept": 1 }));
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    sim.cluster.dropped = vec![(kind("Thing"), lost("lost").field("it"))];
    assert!(sim.settle() && sim.is_ready(), "{:?} {:#?}", sim.stalled(), sim.waits());
    clean(&sim);
    let mut version = sim.cluster.version;
    for round in 0..3 {
        rounds(&mut sim, 6);
        assert_eq!(sim.cluster.version, version, "round {round}: it writes again");
        let asks = sim.decision.as_ref().unwrap().actions.clone();
        assert!(asks.is_empty(), "{asks:?}");
        // Also after a restart, and after what somebody else did was put right, time and again.
        if round == 1 {
            for _ in 0..2 {
                sim.cluster.take_out(&key("Thing", "a-a"), &lost("kept"));
                assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
                assert_eq!(sim.live(&key("Thing", "a-a")).unwrap().body["spec"]["kept"], 1);
            }
            version = sim.cluster.version;
        }
        sim.crash();
        assert!(sim.settle() && sim.is_ready());
        assert_eq!(sim.cluster.version, version, "round {round}: it writes again after a restart");
    }
}

/// The server keeps what it dropped before: that is drift when somebody takes it out.
pub(super) fn what_a_server_keeps_again_is_repaired() {
    let lost = FieldPath::of(&["spec", "lost"]);
    let lab = chain().template_with("a", "Thing", &[], |_| json!({ "lost": 1 }));
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    sim.cluster.dropped = vec![(kind("Thing"), lost.clone())];
    assert!(sim.settle() && sim.is_ready());
    sim.cluster.dropped.clear();
    sim.cluster.edit(&key("Thing", "a-a"), "hand", &json!({ "spec": { "v": 9 } }));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    let spec = |sim: &Sim| sim.live(&key("Thing", "a-a")).unwrap().body["spec"].clone();
    assert_eq!(spec(&sim)["lost"], 1);
    sim.cluster.take_out(&key("Thing", "a-a"), &lost);
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    assert_eq!(spec(&sim)["lost"], 1, "it counts as not kept");
    clean(&sim);
}

/// Whoever takes a field out owns nothing by that: it is a fight all the same.
pub(super) fn a_field_that_does_not_stay_is_told() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    let before = sim.cluster.version;
    for _ in 0..12 {
        sim.cluster.take_out(&key("Thing", "a-a"), &FieldPath::of(&["spec", "v"]));
        rounds(&mut sim, 2);
        sim.control_all();
    }
    rounds(&mut sim, 1);
    let told = "spec.v of Thing.example.com n/a-a does not stay";
    assert!(stalled(&sim, "Contended") && stalled(&sim, told), "{:?}", sim.stalled());
    assert!(sim.cluster.version - before < 60, "it fought on");
}

/// The accident: a Job that its time to live takes away is made again at once, for ever.
pub(super) fn what_goes_away_again_and_again_is_made_with_a_growing_pause() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    let (before, mut told) = (sim.created, false);
    for _ in 0..300 {
        sim.cluster.delete(&key("Note", "a-c"));
        rounds(&mut sim, 1);
        told |= stalled(&sim, "Recreated");
    }
    let made = sim.created - before;
    assert!((4..20).contains(&made), "made {made} times in five minutes");
    assert!(told, "{:?}", sim.stalled());
    assert!(sim.settle() && sim.is_ready() && there(&sim, "Note", "a-c"), "{:?}", sim.stalled());
    // What stays a while has forgotten it.
    let later = sim.world.now + 1_000_000;
    sim.world.learn(Fact::Now(later));
    sim.cluster.delete(&key("Note", "a-c"));
    rounds(&mut sim, 2);
    assert!(there(&sim, "Note", "a-c"));
}

/// The accident: two controllers, one of which makes what the other one deletes, keep the API server busy for ever.
pub(super) fn what_comes_back_again_and_again_is_deleted_with_a_growing_pause() {
    let mut sim =
        Sim::new(&[chain().absent("old", "Thing", "legacy", &[]).also("app", "old")], &json!({ "v": 1 }));
    assert!(sim.settle() && sim.is_ready());
    let legacy = key("Thing", "legacy");
    let (mut told, mut events) = (Vec::new(), 0);
    for _ in 0..300 {
        if !there(&sim, "Thing", "legacy") {
            sim.cluster.create(&legacy, "somebody", json!({ "spec": { "v": 7 } }));
        }
        rounds(&mut sim, 1);
        told.extend(sim.stalled());
        let told_of =
            sim.world.told.iter().filter(|(about, _)| about.as_ref().is_some_and(|it| it.node == "old"));
        events += told_of.filter(|(_, reason)| *reason == "Recreated").count();
        assert!(!(there(&sim, "Thing", "legacy") && sim.is_ready()));
    }
    let deleted = sim.deleted.len();
    assert!((4..20).contains(&deleted), "deleted {deleted} times in five minutes");
    let wants = "Recreated: Thing.example.com n/legacy was deleted";
    assert!(told.iter().any(|it| it.contains(wants)), "{told:?}");
    assert!(events > 0, "there is no Event");
    assert!(sim.settle() && sim.is_ready() && !there(&sim, "Thing", "legacy"), "{:?}", sim.stalled());
    // Once it has stayed away for a while, that is forgotten.
    let later = sim.world.now + 1_000_000;
    sim.world.learn(Fact::Now(later));
    sim.cluster.create(&legacy, "somebody", json!({ "spec": { "v": 7 } }));
    rounds(&mut sim, 2);
    assert!(!there(&sim, "Thing", "legacy"));
    // Somebody copied an object with its claim, and makes it anew when it is removed.
    let mut sim = at_rest(&[conditional()], json!({ "v": 1, "on": true }));
    let extra = key("Thing", "a-extra");
    let copy = Value::clone(&sim.live(&extra).unwrap().body);
    sim.set_spec(&json!({ "v": 1, "on": false }));
    assert!(sim.settle() && sim.is_ready());
    let before = sim.deleted.len();
    for _ in 0..300 {
        if !there(&sim, "Thing", "a-extra") {
            sim.cluster.create(&extra, "somebody", copy.clone());
        }
        rounds(&mut sim, 1);
    }
    let deleted = sim.deleted.len() - before;
    assert!((4..20).contains(&deleted), "removed {deleted} times in five minutes");
    // A node that makes and removes its object by turns is not in a fight.
    let mut sim = at_rest(&[conditional()], json!({ "v": 1, "on": true }));
    for turn in 0..12 {
        sim.set_spec(&json!({ "v": 1, "on": turn % 2 == 1 }));
        assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    }
    assert!(sim.world.expelled.values().all(|it| it.times < 2), "{:?}", sim.world.expelled);
}

pub(super) fn an_object_in_the_way_is_not_touched() {
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.cluster.create(&key("Thing", "a-a"), "somebody", json!({ "spec": { "v": 7 } }));
    assert!(sim.settle());
    clean(&sim);
    assert!(stalled(&sim, "Exists") && v(&sim, "Thing", "a-a") == 7);
    let adopt = chain().with("a", |it| it.own = Own::Adopt);
    let mut sim = Sim::new(&[adopt], &json!({ "v": 1 }));
    sim.cluster.create(
        &key("Thing", "a-a"),
        "somebody",
        json!({ "kind": "Thing", "metadata": { "name": "a-a" }, "spec": { "other": 7 } }),
    );
    assert!(sim.settle() && sim.is_ready());
    clean(&sim);
    let mut sim = Sim::new(&[chain().with("a", |it| it.own = Own::Adopt)], &json!({ "v": 1 }));
    sim.cluster.create(&key("Thing", "a-a"), "somebody", json!({ "spec": { "v": 7 } }));
    sim.settle();
    clean(&sim);
    assert!(
        stalled(&sim, "Conflict: spec.v (somebody)") && v(&sim, "Thing", "a-a") == 7,
        "{:?}",
        sim.stalled()
    );
}

pub(super) fn an_object_that_appears_meanwhile_is_not_touched() {
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.round();
    sim.decide();
    sim.cluster.create(&key("Thing", "a-a"), "somebody", json!({ "spec": { "v": 7 } }));
    assert!(sim.settle());
    clean(&sim);
    assert!(stalled(&sim, "Exists") && v(&sim, "Thing", "a-a") == 7);
}

/// The accident: a second look was on its way when the first one's answer led to a write; its answer, which was older than the write, let
/// the write be sent once more.
pub(super) fn what_is_looked_up_is_not_looked_up_again() {
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.round();
    sim.decide();
    sim.land(0, Fault::Dropped);
    let is_look = |it: &&Action| matches!(it, Action::Look { .. });
    for _ in 0..3 {
        sim.world.learn(Fact::Now(sim.world.now + 1_000));
        // News of something else: a whole pass again.
        sim.world.learn(Fact::Lease(Lease { epoch: sim.world.lease.epoch + 1, ..sim.world.lease }));
        sim.decide();
    }
    assert_eq!(sim.flights.iter().filter(is_look).count(), 1, "{:?}", sim.flights);
    assert!(sim.settle());
    clean(&sim);
}

pub(super) fn what_another_instance_claims_is_not_touched() {
    let text = at_rest(&[chain()], json!({ "v": 1 })).live(&key("Thing", "a-a")).unwrap().clone();
    let text = text.annotation(CLAIM_ANNOTATION).unwrap().to_owned();
    let claimed = |name: &str| {
        let mut claim: Value = serde_json::from_str(&text).unwrap();
        claim["root"]["name"] = json!("another");
        claim["object"] = json!(place(&key("Thing", name)));
        let claim = sealed("u99", &key("Thing", name), claim);
        let metadata = json!({ "labels": { ROOT_LABEL: "u99" }, "annotations": { CLAIM_ANNOTATION: claim } });
        json!({ "metadata": metadata, "spec": { "v": 7 } })
    };
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.cluster.create(&key("Thing", "a-a"), "other", claimed("a-a"));
    assert!(sim.settle());
    clean(&sim);
    assert!(stalled(&sim, "Exists") && v(&sim, "Thing", "a-a") == 7);
    let lab = Lab::new().absent("old", "Thing", "legacy", &[]).also("app", "old");
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    sim.cluster.create(&key("Thing", "legacy"), "other", claimed("legacy"));
    sim.settle();
    assert!(there(&sim, "Thing", "legacy") && stalled(&sim, "Exists"));
}

pub(super) fn an_absence_comes_after_what_it_waits_for() {
    let lab = chain().absent("old", "Thing", "legacy", &["b"]).also("app", "old");
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    sim.cluster.create(&key("Thing", "legacy"), "somebody", json!({ "spec": {} }));
    sim.asleep.push(key("Thing", "a-b"));
    sim.settle();
    assert!(there(&sim, "Thing", "legacy"));
    sim.asleep.clear();
    assert!(sim.settle() && sim.is_ready());
    assert!(!there(&sim, "Thing", "legacy"));
}

pub(super) fn an_unknown_condition_keeps_and_holds() {
    let mut sim = at_rest(&[conditional()], json!({ "v": 1, "on": true }));
    sim.set_spec(&json!({ "v": 1 }));
    sim.settle();
    assert!(there(&sim, "Thing", "a-extra") && sim.deleted.is_empty());
    assert!(!sim.is_ready(), "ready although it is not known what is needed");
    assert!(stalled(&sim, "the.root.spec.on is missing"), "{:?}", sim.stalled());
    let mut sim = Sim::new(&[conditional()], &json!({ "v": 1 }));
    sim.settle();
    assert!(!there(&sim, "Note", "a-last"), "created although its precursor is perhaps needed");
    sim.set_spec(&json!({ "v": 1, "on": false }));
    assert!(sim.settle() && sim.is_ready() && there(&sim, "Note", "a-last"));
}

pub(super) fn nothing_is_removed_while_members_are_unknown() {
    let mut less = fleet();
    less.blueprint.nodes.remove("front");
    less.node("app").also.remove("front");
    let members = json!({ "x": 1 });
    let mut sim = at_rest(&[fleet(), less], json!({ "v": 1, "members": members }));
    sim.program = Some(1);
    sim.set_spec(&json!({ "v": 1 }));
    sim.settle();
    assert!(sim.deleted.is_empty(), "{:?}", sim.deleted);
    assert!(!sim.is_ready());
    sim.set_spec(&json!({ "v": 1, "members": members }));
    assert!(sim.settle() && sim.is_ready());
    assert!(!there(&sim, "Note", "a-front"));
}

pub(super) fn a_closed_edge_keeps_the_members() {
    let mut lab = fleet();
    lab.blueprint.nodes.remove("front");
    lab.node("app").also.remove("front");
    let mut sim = at_rest(&[lab], json!({ "v": 1, "members": { "x": 1, "y": 1 } }));
    sim.asleep.push(key("Thing", "a-base"));
    sim.flap(&key("Thing", "a-base"));
    sim.set_spec(&json!({ "v": 1, "members": { "y": 1, "z": 1 } }));
    sim.settle();
    assert!(there(&sim, "Thing", "a-unit-x") && !there(&sim, "Thing", "a-unit-z"));
    sim.asleep.clear();
    assert!(sim.settle() && sim.is_ready());
    assert!(!there(&sim, "Thing", "a-unit-x") && there(&sim, "Thing", "a-unit-z"));
}

fn collection() -> Lab {
    collection_of(json!({ "selector": {} }))
}

fn collection_of(which: Value) -> Lab {
    let mut lab =
        Lab::new().select_by("all", "Note", which).template("unit", "Thing", &[]).for_each("unit", "unused");
    let path = "nodes.unit.before.all.extract";
    let extract = lab.function(path, &[""], |live| {
        let names = live.as_object().into_iter().flatten().map(|(_, it)| it["metadata"]["name"].clone());
        Answer::Value(names.map(|it| (it.as_str().unwrap_or_default().to_owned(), json!(1))).collect())
    });
    let for_each = lab.function("nodes.unit.for_each", &["all"], |the| Answer::Value(the["all"].clone()));
    let mut edge = crate::blueprint::SequenceEdge::new(crate::explore::lab::span());
    edge.extract = Some(extract);
    edge.until = Some(shape(Shape::Any));
    lab.node("unit").before.insert("all".to_owned(), edge);
    lab.node("unit").for_each = Some(for_each);
    lab.also("app", "unit")
}

pub(super) fn a_collection_that_cannot_be_seen_deletes_nothing() {
    for sight in [Sight::Unsynced, Sight::Forbidden, Sight::NoSuchKind] {
        let mut sim = Sim::new(&[collection()], &json!({ "v": 1 }));
        sim.cluster.create(&key("Note", "x"), "somebody", json!({ "metadata": { "name": "x" } }));
        assert!(sim.settle() && sim.is_ready());
        assert!(there(&sim, "Thing", "a-unit-x"));
        sim.world.objects.retain(|it, _| it.kind != kind("Note"));
        if let Some(view) = sim.world.kinds.get_mut(&kind("Note")) {
            view.sight = sight;
        }
        let decision = decide(sim.program(), &sim.world);
        assert!(!decision.actions.iter().any(Action::moves_the_cluster), "{:?}", decision.actions);
        assert!(!decision.conditions.ready);
    }
    let mut sim = Sim::new(&[collection()], &json!({ "v": 1 }));
    sim.cluster.create(&key("Note", "x"), "somebody", json!({ "metadata": { "name": "x" } }));
    sim.settle();
    sim.cluster.delete(&key("Note", "x"));
    assert!(sim.settle() && sim.is_ready() && !there(&sim, "Thing", "a-unit-x"), "an empty one is a value");
}

/// Which of the notes in the root's namespace and in two others a selector gives members for.
fn picked(which: Value) -> Vec<&'static str> {
    let mut sim = Sim::new(&[collection_of(which)], &json!({ "v": 1 }));
    for (namespace, name) in [("n", "here"), ("m", "there"), ("o", "beyond")] {
        let note = crate::world::ObjectKey::new(kind("Note"), namespace.to_owned(), name.to_owned());
        sim.cluster.create(&note, "somebody", json!({ "metadata": { "name": name } }));
    }
    sim.settle();
    clean(&sim);
    ["here", "there", "beyond"]
        .into_iter()
        .filter(|it| there(&sim, "Thing", &format!("a-unit-{it}")))
        .collect()
}

pub(super) fn a_selector_picks_in_the_namespace_that_it_says() {
    assert_eq!(picked(json!({ "selector": {} })), ["here"], "the root's");
    assert_eq!(picked(json!({ "selector": {}, "namespace": "m" })), ["there"]);
    assert_eq!(picked(json!({ "selector": {}, "namespace": "*" })), ["here", "there", "beyond"], "all");
    // What is no namespace, or no selector, picks nothing.
    assert_eq!(picked(json!({ "selector": {}, "namespace": "" })), [""; 0]);
    assert_eq!(picked(json!({ "selector": { "matchLabel": {} } })), [""; 0]);
}

pub(super) fn a_generation_that_was_not_observed_is_not_ready() {
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.round();
    sim.round();
    sim.cluster
        .set_status(&key("Thing", "a-a"), json!({ "conditions": [{ "type": "Ready", "status": "True" }] }));
    rounds(&mut sim, 3);
    assert!(!there(&sim, "Thing", "a-b"), "b came after a status that names no generation");
}

/// The accident: a Pod was changed, and what its status said of the generation before counted, since not every kubelet says which.
pub(super) fn what_an_object_says_of_its_generation_is_believed() {
    let mut sim = at_rest(&[chain().with("c", |it| it.ready = Some(shape(Shape::Any)))], json!({ "v": 1 }));
    let note = key("Note", "a-c");
    sim.asleep.push(note.clone());
    for (says, value, ready) in [(1, 1, true), (1, 2, false), (2, 2, true)] {
        sim.cluster.set_status(&note, json!({ "observedGeneration": says }));
        sim.set_spec(&json!({ "v": value }));
        assert!(sim.settle());
        assert_eq!(sim.live(&note).unwrap().generation, Some(value));
        assert_eq!(sim.is_ready(), ready, "{says} of {value}");
    }
    clean(&sim);
}

pub(super) fn an_edge_needs_a_settled_precursor() {
    let lab = chain().until("b", "a", Shape::Any);
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    sim.asleep.push(key("Thing", "a-a"));
    sim.settle();
    assert!(!there(&sim, "Thing", "a-b"));
}

pub(super) fn a_terminating_object_is_left_alone() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    let mut live = (**sim.live(&key("Thing", "a-a")).unwrap()).clone();
    live.finalizers.insert("somebody/else".to_owned());
    sim.cluster.store(live);
    sim.cluster.delete(&key("Thing", "a-a"));
    sim.set_spec(&json!({ "v": 2 }));
    rounds(&mut sim, 4);
    assert_eq!(v(&sim, "Thing", "a-a"), 1, "applied although it is going");
    assert!(!sim.is_ready());
}

pub(super) fn a_closed_edge_holds_and_repairs() {
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.asleep.push(key("Thing", "a-a"));
    sim.settle();
    assert!(!there(&sim, "Thing", "a-b"), "created over a closed edge");
    sim.asleep.clear();
    assert!(sim.settle() && sim.is_ready());
    sim.flap(&key("Thing", "a-a"));
    sim.asleep.push(key("Thing", "a-a"));
    sim.cluster.delete(&key("Thing", "a-b"));
    rounds(&mut sim, 4);
    assert!(there(&sim, "Thing", "a-b"), "what was deleted behind a closed edge does not return");
    sim.set_spec(&json!({ "v": 2 }));
    rounds(&mut sim, 4);
    assert_eq!(v(&sim, "Thing", "a-b"), 1, "changed over a closed edge");
}
