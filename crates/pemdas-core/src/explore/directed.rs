//! Directed accidents: one small world for each sentence of the rules, without chance.

use std::rc::Rc;

use serde_json::{Value, json};

use super::{
    lab::{Lab, key, kind, shape},
    properties::{chain, conditional, diamond, drain, fleet, job, renamed, replaced},
    sim::{Fault, Sim},
};
use crate::{
    action::Action,
    blueprint::{Body, OnDelete, OnImmutable, Own, Replace, Superseded},
    decide::decide,
    evaluate::Answer,
    ledger::{End, Slot},
    shape::Shape,
    world::{CLAIM_ANNOTATION, FINALIZER, Fact, Lease, ROOT_LABEL, Sight},
};

#[expect(clippy::needless_pass_by_value, reason = "a literal at every call")]
fn at_rest(labs: &[Lab], spec: Value) -> Sim {
    let mut sim = Sim::new(labs, &spec);
    assert!(sim.settle(), "it does not come to rest");
    assert!(sim.is_ready(), "not ready: {:?} {:?}", sim.stalled(), sim.decision);
    clean(&sim);
    sim
}

fn clean(sim: &Sim) {
    assert!(sim.violations.is_empty(), "{:?}", sim.violations);
}

fn rounds(sim: &mut Sim, count: usize) {
    for _ in 0..count {
        sim.round();
        sim.world.learn(Fact::Now(sim.world.now + 1_000));
    }
    clean(sim);
}

fn v(sim: &Sim, kind_name: &str, name: &str) -> Value {
    sim.live(&key(kind_name, name)).map_or(Value::Null, |it| it.body["spec"]["v"].clone())
}

fn there(sim: &Sim, kind_name: &str, name: &str) -> bool {
    sim.live(&key(kind_name, name)).is_some()
}

fn stalled(sim: &Sim, word: &str) -> bool {
    sim.stalled().iter().any(|it| it.contains(word))
}

fn delete_root(sim: &mut Sim) {
    let root = sim.cluster.root.clone();
    sim.cluster.delete(&root);
}

fn jobs(sim: &Sim) -> Vec<crate::world::ObjectKey> {
    sim.cluster.objects.keys().filter(|it| it.kind == kind("Job")).cloned().collect()
}

fn depth_takes_as_many_rounds() {
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

fn drift_is_put_right_by_force() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    sim.cluster.edit(&key("Thing", "a-a"), "hand", &json!({ "spec": { "v": 9 } }));
    rounds(&mut sim, 3);
    assert_eq!(v(&sim, "Thing", "a-a"), 1);
}

fn a_fight_ends_stalled() {
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

fn a_new_desired_takes_nothing() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    sim.cluster.edit(&key("Thing", "a-a"), "hand", &json!({ "spec": { "v": 9 } }));
    sim.set_spec(&json!({ "v": 2 }));
    rounds(&mut sim, 4);
    assert_eq!(v(&sim, "Thing", "a-a"), 9);
    assert!(stalled(&sim, "Conflict"));
}

fn an_object_in_the_way_is_not_touched() {
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
}

fn an_object_that_appears_meanwhile_is_not_touched() {
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.round();
    sim.decide();
    sim.cluster.create(&key("Thing", "a-a"), "somebody", json!({ "spec": { "v": 7 } }));
    assert!(sim.settle());
    clean(&sim);
    assert!(stalled(&sim, "Exists") && v(&sim, "Thing", "a-a") == 7);
}

fn what_another_instance_claims_is_not_touched() {
    let claimed = json!({ "metadata": { "labels": { ROOT_LABEL: "u99" } }, "spec": { "v": 7 } });
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.cluster.create(&key("Thing", "a-a"), "other", claimed.clone());
    assert!(sim.settle());
    clean(&sim);
    assert!(stalled(&sim, "Exists") && v(&sim, "Thing", "a-a") == 7);
    let lab = Lab::new().absent("old", "Thing", "legacy", &[]).also("app", "old");
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    sim.cluster.create(&key("Thing", "legacy"), "other", claimed);
    sim.settle();
    assert!(there(&sim, "Thing", "legacy") && stalled(&sim, "Exists"));
}

fn an_absence_comes_after_what_it_waits_for() {
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

fn an_unknown_condition_keeps_and_holds() {
    let mut sim = at_rest(&[conditional()], json!({ "v": 1, "on": true }));
    sim.set_spec(&json!({ "v": 1 }));
    sim.settle();
    assert!(there(&sim, "Thing", "a-extra") && sim.deleted.is_empty());
    assert!(!sim.is_ready(), "ready although it is not known what is needed");
    let mut sim = Sim::new(&[conditional()], &json!({ "v": 1 }));
    sim.settle();
    assert!(!there(&sim, "Note", "a-last"), "created although its precursor is perhaps needed");
    sim.set_spec(&json!({ "v": 1, "on": false }));
    assert!(sim.settle() && sim.is_ready() && there(&sim, "Note", "a-last"));
}

fn nothing_is_removed_while_members_are_unknown() {
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

fn a_closed_edge_keeps_the_members() {
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
    let mut lab = Lab::new().select("all", "Note").template("unit", "Thing", &[]).for_each("unit", "unused");
    let path = "nodes.unit.before.all.extract";
    let extract = lab.function(path, &[""], |live| {
        let names = live.as_object().into_iter().flatten().map(|(_, it)| it["metadata"]["name"].clone());
        Answer::Value(names.map(|it| (it.as_str().unwrap_or_default().to_owned(), json!(1))).collect())
    });
    let for_each = lab.function("nodes.unit.for_each", &["all"], |the| Answer::Value(the["all"].clone()));
    let mut edge = crate::blueprint::SequenceEdge::new(super::lab::span());
    edge.extract = Some(extract);
    edge.until = Some(shape(Shape::Any));
    lab.node("unit").before.insert("all".to_owned(), edge);
    lab.node("unit").for_each = Some(for_each);
    lab.also("app", "unit")
}

fn a_collection_that_cannot_be_seen_deletes_nothing() {
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

fn a_generation_that_was_not_observed_is_not_ready() {
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.round();
    sim.round();
    sim.cluster
        .set_status(&key("Thing", "a-a"), json!({ "conditions": [{ "type": "Ready", "status": "True" }] }));
    rounds(&mut sim, 3);
    assert!(!there(&sim, "Thing", "a-b"), "b came after a status that names no generation");
}

fn an_edge_needs_a_settled_precursor() {
    let lab = chain().until("b", "a", Shape::Any);
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    sim.asleep.push(key("Thing", "a-a"));
    sim.settle();
    assert!(!there(&sim, "Thing", "a-b"));
}

fn a_terminating_object_is_left_alone() {
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

fn a_closed_edge_holds_and_repairs() {
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

fn cleanup_neither_loses_nor_reruns_a_job() {
    for crash in [false, true] {
        let mut sim = Sim::new(&[job()], &json!({ "v": 1 }));
        for _ in 0..12 {
            if !jobs(&sim).is_empty() {
                break;
            }
            rounds(&mut sim, 1);
            sim.control(&key("Thing", "a-before"), End::Passed);
        }
        let name = jobs(&sim)[0].clone();
        sim.control(&name, End::Passed);
        sim.cluster.delete(&name);
        sim.deliver_all();
        sim.decide();
        let release = sim.flights.iter().position(|it| matches!(it, Action::Release { .. }));
        if let (true, Some(at)) = (crash, release) {
            sim.land(at, Fault::None);
        }
        if crash {
            sim.crash();
            sim.late.clear();
        }
        assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
        clean(&sim);
        assert_eq!(sim.entry("job").unwrap().attempt, 1);
    }
}

fn a_failure_is_resumed_once() {
    let mut sim = Sim::new(&[job()], &json!({ "v": 1 }));
    let fail = |sim: &mut Sim| {
        for _ in 0..14 {
            rounds(sim, 1);
            sim.control(&key("Thing", "a-before"), End::Passed);
            for name in jobs(sim) {
                sim.control(&name, End::Failed);
            }
        }
    };
    fail(&mut sim);
    assert!(stalled(&sim, "Failed"), "{:?}", sim.stalled());
    assert_eq!(sim.entry("job").unwrap().attempt, 1);
    sim.annotate("resume", "one");
    fail(&mut sim);
    assert_eq!(sim.entry("job").unwrap().attempt, 2, "a nonce starts one attempt");
    assert!(!there(&sim, "Note", "a-after"));
    sim.annotate("resume", "two");
    assert!(sim.settle() && sim.is_ready());
    assert_eq!(sim.entry("job").unwrap().attempt, 3);
}

fn a_failure_opens_the_edges_that_want_it() {
    let lab = job().template("note", "Note", &[]).orders("note", "job").until("note", "job", Shape::Failed);
    let lab = lab.also_if("app", "note", "on");
    let mut sim = Sim::new(&[lab], &json!({ "v": 1, "on": true }));
    for _ in 0..14 {
        rounds(&mut sim, 1);
        sim.control(&key("Thing", "a-before"), End::Passed);
        for name in jobs(&sim) {
            sim.control(&name, End::Failed);
        }
    }
    assert!(there(&sim, "Note", "a-note") && !there(&sim, "Note", "a-after"));
}

fn a_job_that_is_deleted_is_not_rerun() {
    let mut sim = Sim::new(&[job()], &json!({ "v": 1 }));
    for _ in 0..12 {
        rounds(&mut sim, 1);
        sim.control(&key("Thing", "a-before"), End::Passed);
    }
    let name = jobs(&sim)[0].clone();
    sim.cluster.delete(&name);
    sim.settle();
    assert!(stalled(&sim, "Cut"), "{:?}", sim.stalled());
    assert!(jobs(&sim).is_empty(), "released");
    assert_eq!(sim.entry("job").unwrap().attempt, 1);
}

fn an_unfinished_attempt_is_waited_for() {
    for cancel in [false, true] {
        let lab = job().with("job", |it| {
            it.superseded = if cancel { Superseded::Cancel } else { Superseded::Wait };
        });
        let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
        for _ in 0..12 {
            rounds(&mut sim, 1);
            sim.control(&key("Thing", "a-before"), End::Passed);
        }
        let first = jobs(&sim);
        assert_eq!(first.len(), 1);
        sim.set_spec(&json!({ "v": 2 }));
        for _ in 0..12 {
            rounds(&mut sim, 1);
            sim.control(&key("Thing", "a-before"), End::Passed);
            assert!(jobs(&sim).len() < 2, "two keys at once");
        }
        if !cancel {
            assert!(stalled(&sim, "Superseded") && jobs(&sim) == first);
        }
        assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
        assert!(!jobs(&sim).contains(&first[0]), "the object of the older attempt goes");
    }
}

fn each_attempt_has_a_name_of_its_own() {
    let mut sim = at_rest(&[job()], json!({ "v": 1 }));
    let first = jobs(&sim);
    sim.set_spec(&json!({ "v": 2 }));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    clean(&sim);
    assert_ne!(jobs(&sim), first);
    assert_eq!(sim.entry("job").unwrap().attempt, 2);
}

fn an_unknown_key_keeps_the_last() {
    let mut lab = job();
    let key_function =
        lab.function("nodes.job.key", &["root.spec.when"], |the| match &the["root"]["spec"]["when"] {
            Value::Null => Answer::Missing("spec.when".to_owned()),
            value => Answer::Value(value.clone()),
        });
    lab.node("job").key = Some(key_function);
    let mut sim = at_rest(&[lab], json!({ "v": 1, "when": 1 }));
    sim.set_spec(&json!({ "v": 1 }));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    assert_eq!(sim.entry("job").unwrap().attempt, 1);
}

fn watch_record(sim: &mut Sim) {
    sim.watcher = Some(Rc::new(|sim, action| {
        let (Action::Create { key, body } | Action::Change { key, body, .. }) = action else { return None };
        let drained = sim.entry("drained");
        if key.name == "a-migrated" && drained.is_none_or(|it| it.end != Some(End::Passed)) {
            return Some("migrated before the record says that it was drained".to_owned());
        }
        if key.name == "a-serving" {
            if let Action::Change { resource_version: None, .. } = action {
                return Some("an object with states is changed without its resourceVersion".to_owned());
            }
            let state = if body["spec"]["replicas"] == 0 { "drained" } else { "serving" };
            if sim.entry(state).is_none_or(|it| it.due || it.attempt == 0) {
                return Some(format!("{state} is applied before its attempt is recorded"));
            }
        }
        None
    }));
}

fn a_schema_change_drains_migrates_and_serves() {
    let mut sim = at_rest(&[drain()], json!({ "v": 1 }));
    let uid = sim.live(&key("Server", "a-serving")).unwrap().uid.clone();
    watch_record(&mut sim);
    sim.set_spec(&json!({ "v": 2 }));
    let mut was_drained = false;
    for _ in 0..30 {
        rounds(&mut sim, 1);
        sim.control_all();
        let replicas = sim.live(&key("Server", "a-serving")).unwrap().body["spec"]["replicas"].clone();
        was_drained |= replicas == 0;
        if v(&sim, "Thing", "a-migrated") == 2
            && sim.was_ready.get(&key("Thing", "a-migrated")) == Some(&false)
        {
            assert_eq!(replicas, 0);
        }
    }
    assert!(sim.settle() && sim.is_ready() && was_drained);
    clean(&sim);
    let server = sim.live(&key("Server", "a-serving")).unwrap();
    assert!(server.uid == uid && server.body["spec"]["replicas"] == 2);
}

fn flapping_drains_and_deletes_nothing() {
    for lab in [chain(), diamond(), drain(), job(), replaced()] {
        let mut sim = at_rest(&[lab], json!({ "v": 1, "on": true }));
        let before = sim.result();
        let keys: Vec<_> = sim.cluster.objects.keys().cloned().collect();
        for key in keys {
            sim.flap(&key);
            rounds(&mut sim, 3);
            assert!(sim.deleted.is_empty(), "{:?}", sim.deleted);
            assert_eq!(sim.result(), before);
            sim.control_all();
        }
        assert!(sim.settle() && sim.is_ready());
    }
}

/// One small step, the same each time: reverting after every single one of them is worth a test.
fn small_step(sim: &mut Sim, number: usize) {
    match number % 4 {
        0 => {
            sim.deliver_all();
        }
        1 => {
            sim.decide();
        }
        2 => sim.land(0, Fault::None),
        _ => {
            sim.control_all();
            sim.world.learn(Fact::Now(sim.world.now + 1_000));
        }
    }
}

fn reverting_at_every_step_changes_nothing() {
    for lab in [chain(), drain(), replaced(), job()] {
        let start = at_rest(&[lab], json!({ "v": 1 }));
        let uids = |sim: &Sim| -> Vec<_> {
            let kept = sim.claimed().into_iter().filter(|(_, _, it)| it.attempt.is_none());
            kept.map(|(key, live, _)| (key, live.uid.clone())).collect()
        };
        for steps in (0..48).step_by(2) {
            let mut sim = start.clone();
            sim.set_spec(&json!({ "v": 2 }));
            (0..steps).for_each(|number| small_step(&mut sim, number));
            sim.set_spec(&json!({ "v": 1 }));
            assert!(sim.settle() && sim.is_ready(), "after {steps}: {:?}", sim.stalled());
            clean(&sim);
            assert_eq!(sim.result(), start.result(), "after {steps}");
            let same = uids(&sim) == uids(&start) || sim.deleted.iter().any(|it| it.name.starts_with("a-a-"));
            assert!(same, "after {steps}");
        }
    }
}

fn a_renamed_node_keeps_its_object() {
    let mut sim = at_rest(&[chain(), renamed()], json!({ "v": 1 }));
    let uid = sim.live(&key("Thing", "a-b")).unwrap().uid.clone();
    sim.program = Some(1);
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    clean(&sim);
    assert_eq!(sim.live(&key("Thing", "a-b")).unwrap().uid, uid);
    assert!(sim.deleted.is_empty());
    let one = Lab::new().template("x", "Thing", &[]).also("app", "x");
    let mut other = one.clone();
    let node = other.blueprint.nodes.remove("x").unwrap();
    other.blueprint.nodes.insert("y".to_owned(), node);
    other.node("app").also.clear();
    let mut sim = at_rest(&[one, other.also("app", "y")], json!({ "v": 1 }));
    sim.watcher = Some(Rc::new(|_, action| {
        matches!(action, Action::Delete { .. }).then(|| "a renamed node's object is to be deleted".to_owned())
    }));
    sim.program = Some(1);
    assert!(sim.settle() && sim.is_ready());
    clean(&sim);
}

fn an_attempt_makes_what_comes_later_due() {
    let lab = drain().template("job", "Job", &[]).once("job").keyed("job", "root.metadata.name");
    let lab = lab.orders("job", "drained").orders("serving", "job").also("app", "job");
    let mut sim = at_rest(&[lab], json!({ "v": 1 }));
    assert_eq!(sim.entry("job").unwrap().attempt, 1);
    sim.set_spec(&json!({ "v": 2 }));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    assert_eq!(sim.entry("job").unwrap().attempt, 2, "it was drained again, and the job did not run again");
}

fn a_replacement_is_ready_before_the_old_goes() {
    let mut sim = at_rest(&[replaced()], json!({ "v": 1 }));
    sim.asleep.push(key("Thing", "a-a-2"));
    sim.set_spec(&json!({ "v": 2 }));
    sim.settle();
    assert!(there(&sim, "Thing", "a-a-1") && there(&sim, "Thing", "a-a-2"));
    sim.asleep.clear();
    sim.asleep.push(key("Thing", "a-b"));
    sim.settle();
    assert!(there(&sim, "Thing", "a-a-1"), "b is not settled without it");
    assert!(!sim.is_ready());
    sim.asleep.clear();
    assert!(sim.settle() && sim.is_ready() && !there(&sim, "Thing", "a-a-1"));
    clean(&sim);
    let alone = Lab::new().template("a", "Thing", &[]).named_by("a", "root.spec.v").also("app", "a");
    let mut sim = at_rest(&[alone], json!({ "v": 1 }));
    sim.asleep.push(key("Thing", "a-a-2"));
    sim.set_spec(&json!({ "v": 2 }));
    sim.settle();
    assert!(there(&sim, "Thing", "a-a-1"), "a gap");
}

fn with_before_the_old_goes_first() {
    let lab = Lab::new().template("a", "Thing", &[]).named_by("a", "root.spec.v").also("app", "a");
    let lab = lab.with("a", |it| it.replace = Replace::Before);
    let mut sim = at_rest(&[lab], json!({ "v": 1 }));
    sim.watcher = Some(Rc::new(|sim, action| {
        let creates = matches!(action, Action::Create { .. });
        (creates && there(sim, "Thing", "a-a-1")).then(|| "created while the old one is there".to_owned())
    }));
    sim.set_spec(&json!({ "v": 2 }));
    for _ in 0..20 {
        rounds(&mut sim, 1);
        sim.control_all();
        assert!(!(there(&sim, "Thing", "a-a-1") && there(&sim, "Thing", "a-a-2")), "both at once");
    }
    assert!(sim.settle() && sim.is_ready());
}

fn the_finalizer_comes_first() {
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.watcher = Some(Rc::new(|sim, action| {
        let finalized = sim.root().is_some_and(|it| it.finalizers.contains(FINALIZER));
        (matches!(action, Action::Create { .. }) && !finalized)
            .then(|| "created before the finalizer".to_owned())
    }));
    sim.settle();
    clean(&sim);
}

fn with_deletion() -> Lab {
    drain().template("final", "Thing", &["serving"]).deleting("final")
}

fn the_nodes_of_the_deletion_run_first() {
    let mut sim = at_rest(&[with_deletion()], json!({ "v": 1 }));
    assert!(!there(&sim, "Thing", "a-final"));
    sim.asleep.push(key("Thing", "a-final"));
    delete_root(&mut sim);
    sim.settle();
    sim.set_spec(&json!({ "v": 2 }));
    sim.settle();
    assert!(there(&sim, "Thing", "a-final") && there(&sim, "Server", "a-serving"));
    assert_eq!(v(&sim, "Thing", "a-migrated"), 1, "what is frozen does not change");
    sim.asleep.clear();
    sim.settle();
    assert!(sim.root().is_none() && sim.claimed().is_empty() && sim.cluster.ledger.is_none());
    clean(&sim);
}

fn a_broken_blueprint_blocks_no_removal_and_skips_nothing() {
    let mut sim = at_rest(&[with_deletion()], json!({ "v": 1 }));
    sim.program = None;
    delete_root(&mut sim);
    sim.settle();
    assert!(there(&sim, "Server", "a-serving") && stalled(&sim, "DeletionBlocked"), "{:?}", sim.stalled());
    sim.annotate("skip-deletion", "yes");
    sim.settle();
    assert!(sim.root().is_none() && sim.claimed().is_empty());
    let mut sim = at_rest(&[diamond()], json!({ "v": 1 }));
    sim.program = None;
    delete_root(&mut sim);
    sim.settle();
    assert!(sim.root().is_none() && sim.claimed().is_empty());
    clean(&sim);
}

fn a_terminating_namespace_ends() {
    let mut sim = at_rest(&[with_deletion()], json!({ "v": 1 }));
    sim.cluster.namespace_ending = true;
    delete_root(&mut sim);
    sim.deliver_all();
    let warned = sim.decide().actions.iter().any(|it| matches!(it, Action::Event(event) if event.warning));
    sim.settle();
    assert!(warned && sim.root().is_none() && sim.claimed().is_empty());
    assert!(!there(&sim, "Thing", "a-final"));
}

fn what_is_to_stay_stays() {
    let lab = chain().with("c", |it| it.on_delete = OnDelete::Orphan);
    let mut sim = at_rest(&[lab], json!({ "v": 1 }));
    delete_root(&mut sim);
    sim.settle();
    assert!(there(&sim, "Note", "a-c") && sim.claimed().is_empty() && sim.root().is_none());
}

fn objects_of_a_root_that_was_not_seen_going_are_left() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    sim.crash();
    sim.relist();
    sim.world.root.live = None;
    sim.world.root.seen_going = false;
    let decision = decide(sim.program(), &sim.world);
    assert!(decision.actions.is_empty() && decision.conditions.stalled[0].contains("RootMissing"));
    sim.world.root.seen_going = true;
    assert!(!decide(sim.program(), &sim.world).actions.is_empty());
}

fn a_list_of_an_earlier_lease_does_not_count() {
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.round();
    sim.world.lease = Lease { held: true, epoch: 2 };
    let actions = sim.decide().actions.clone();
    assert!(!actions.iter().any(|it| it.written().is_some()), "{actions:?}");
    sim.world.lease.held = false;
    assert!(sim.decide().actions.is_empty());
}

fn our_own_status_changes_nothing() {
    let mut lab = Lab::new().template("a", "Note", &[]).also("app", "a");
    let function = lab.function("nodes.a.template", &["root"], |the| {
        Answer::Value(json!({
            "apiVersion": "example.com/v1", "kind": "Note", "metadata": { "name": "a-a" },
            "spec": { "v": the["root"]["spec"]["v"], "root": the["root"].to_string() },
        }))
    });
    if let Body::Template(it) = &mut lab.node("a").body {
        it.function = function;
    }
    let sim = at_rest(&[lab], json!({ "v": 1 }));
    assert_eq!(sim.live(&key("Note", "a-a")).unwrap().generation, Some(1), "written more than once");
}

fn the_status_is_written_once_a_second() {
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    let mut writes = 0;
    for _ in 0..20 {
        sim.deliver_all();
        writes += sim.decide().actions.iter().filter(|it| matches!(it, Action::Status { .. })).count();
        while !sim.flights.is_empty() {
            sim.land(0, Fault::None);
        }
        sim.control_all();
    }
    assert_eq!(writes, 1, "within one millisecond");
}

fn an_error_is_told() {
    let mut lab = chain();
    lab.functions
        .insert("nodes.a.template".to_owned(), Rc::new(|_| Answer::Error("division by zero".to_owned())));
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    sim.settle();
    assert!(stalled(&sim, "division by zero"), "{:?}", sim.stalled());
}

fn a_template_that_never_settles_is_told() {
    let mut lab = Lab::new().template("a", "Note", &[]).also("app", "a");
    let function = lab.function("nodes.a.template", &["self"], |the| {
        let last = the["self"]["spec"]["n"].as_i64().unwrap_or(0);
        Answer::Value(json!({
            "apiVersion": "example.com/v1", "kind": "Note", "metadata": { "name": "a-a" }, "spec": { "n": last + 1 },
        }))
    });
    if let Body::Template(it) = &mut lab.node("a").body {
        it.function = function;
    }
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    assert!(sim.settle() && stalled(&sim, "DoesNotSettle"), "{:?}", sim.stalled());
}

fn a_seed_is_recorded_before_it_is_used() {
    let mut lab = Lab::new().template("a", "Note", &[]).also("app", "a");
    let function = lab.function("nodes.a.template", &["seed"], |the| {
        Answer::Value(json!({
            "apiVersion": "example.com/v1", "kind": "Note", "metadata": { "name": "a-a" }, "spec": { "seed": the["seed"] },
        }))
    });
    if let Body::Template(it) = &mut lab.node("a").body {
        it.function = function;
    }
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    sim.watcher = Some(Rc::new(|sim, action| {
        let recorded =
            sim.cluster.ledger.as_ref().is_some_and(|(_, it)| it.seeds.contains_key(&Slot::new("a", "")));
        (matches!(action, Action::Create { .. }) && !recorded)
            .then(|| "a seed that nobody remembers".to_owned())
    }));
    assert!(sim.settle() && sim.is_ready());
    clean(&sim);
    let seed = sim.live(&key("Note", "a-a")).unwrap().body["spec"]["seed"].clone();
    sim.crash();
    sim.world.entropy = "other dice".to_owned();
    sim.cluster.delete(&key("Note", "a-a"));
    assert!(sim.settle() && sim.is_ready());
    assert_eq!(sim.live(&key("Note", "a-a")).unwrap().body["spec"]["seed"], seed);
}

fn a_gate_waits_for_a_human() {
    let mut sim = Sim::new(&[chain().with("a", |it| it.approve = true)], &json!({ "v": 1 }));
    sim.settle();
    assert!(!there(&sim, "Thing", "a-a"));
    let why = format!("{:?}", sim.decision.as_ref().unwrap().nodes);
    let digest = why.split("approval of ").nth(1).unwrap()[..10].to_owned();
    sim.annotate("approve.a", &digest);
    assert!(sim.settle() && sim.is_ready());
}

fn a_failure_of_an_older_generation_is_not_told() {
    let failed = Shape::Condition { kind: "Broken".to_owned(), status: "True".to_owned(), reason: None };
    let lab = chain().with("a", |it| it.fails = Some(shape(failed)));
    let mut sim = at_rest(&[lab], json!({ "v": 1 }));
    let mut status = sim.live(&key("Thing", "a-a")).unwrap().body["status"].clone();
    status["conditions"] =
        json!([{ "type": "Broken", "status": "True" }, { "type": "Ready", "status": "False" }]);
    sim.cluster.set_status(&key("Thing", "a-a"), status);
    rounds(&mut sim, 1);
    assert!(stalled(&sim, "Failed"));
    sim.set_spec(&json!({ "v": 2 }));
    rounds(&mut sim, 4);
    assert!(!stalled(&sim, "Failed"), "the failure of the generation before");
}

fn waiting_for_absence_looks_at_the_object() {
    let old = |lab: Lab| lab.template("old", "Thing", &[]).also_if("app", "old", "on");
    let lab =
        old(Lab::new()).template("new", "Note", &[]).orders("new", "old").until("new", "old", Shape::Absent);
    let lab = lab.also_if("app", "new", "next");
    let mut sim = at_rest(&[lab], json!({ "v": 1, "on": true, "next": false }));
    let mut live = (**sim.live(&key("Thing", "a-old")).unwrap()).clone();
    live.finalizers.insert("somebody/else".to_owned());
    sim.cluster.store(live);
    sim.set_spec(&json!({ "v": 1, "on": false, "next": true }));
    sim.settle();
    assert!(
        there(&sim, "Thing", "a-old") && !there(&sim, "Note", "a-new"),
        "it did not wait for the absence"
    );
    assert!(!sim.is_ready(), "ready while something is still to be removed");
    let mut live = (**sim.live(&key("Thing", "a-old")).unwrap()).clone();
    live.finalizers.clear();
    sim.cluster.store(live);
    assert!(sim.settle() && sim.is_ready() && there(&sim, "Note", "a-new"));
}

fn all_members_are_waited_for() {
    let mut sim = Sim::new(&[fleet()], &json!({ "v": 1, "members": { "x": 1, "y": 1 } }));
    sim.asleep.push(key("Thing", "a-unit-y"));
    sim.settle();
    assert!(!there(&sim, "Note", "a-front"));
}

fn older_edges_give_way_in_a_circle() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    for (name, after, ordinal) in [("a-a", "b", 9), ("a-b", "a", 1)] {
        let mut live = (**sim.live(&key("Thing", name)).unwrap()).clone();
        let text = live.annotation(CLAIM_ANNOTATION).unwrap().to_owned();
        let mut claim: Value = serde_json::from_str(&text).unwrap();
        claim["after"] = json!({ after: claim["applied"] });
        claim["ordinal"] = json!(ordinal);
        live.body["metadata"]["annotations"][CLAIM_ANNOTATION] = json!(claim.to_string());
        sim.cluster.store(live);
    }
    sim.program = None;
    delete_root(&mut sim);
    sim.settle();
    assert!(sim.root().is_none() && sim.claimed().is_empty(), "a circle of revisions");
    assert_eq!(sim.deleted.iter().position(|it| it.name == "a-a"), Some(1), "{:?}", sim.deleted);
}

fn what_contradicts_itself_is_told_and_blocks_no_deletion() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    let strange =
        json!({ "metadata": { "labels": { ROOT_LABEL: "u1" }, "annotations": { CLAIM_ANNOTATION: "?" } } });
    sim.cluster.create(&key("Note", "strange"), "somebody", strange);
    sim.settle();
    assert!(stalled(&sim, "Unreadable") && !sim.is_ready());
    assert!(there(&sim, "Note", "strange"));
    delete_root(&mut sim);
    sim.settle();
    assert!(sim.root().is_none() && there(&sim, "Note", "strange"));
}

fn an_immutable_change_is_told_or_made_anew() {
    for recreate in [false, true] {
        let lab = chain().with("b", |it| {
            it.on_immutable = if recreate { OnImmutable::Recreate } else { OnImmutable::Fail };
        });
        let mut sim = at_rest(&[lab], json!({ "v": 1 }));
        sim.cluster.immutable.insert(kind("Thing"));
        let a = key("Thing", "a-a");
        sim.cluster.delete(&a);
        sim.set_spec(&json!({ "v": 2 }));
        sim.settle();
        assert_eq!(stalled(&sim, "Immutable"), !recreate, "{:?}", sim.stalled());
        assert_eq!(v(&sim, "Thing", "a-b"), if recreate { 2 } else { 1 });
    }
}

fn the_order_of_facts_does_not_matter() {
    let mut sim = Sim::new(&[diamond()], &json!({ "v": 1 }));
    sim.round();
    for _ in 0..6 {
        let kinds = ["App", "Note", "Thing"];
        let mut seen = std::collections::BTreeSet::new();
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1]] {
            let mut other = sim.clone();
            other.read_ledger();
            for at in order {
                while other.deliver(&kind(kinds[at])) {}
            }
            let decision = other.decide().clone();
            seen.insert(serde_json::to_string(&decision).unwrap());
        }
        assert_eq!(seen.len(), 1, "the same facts, two decisions");
        sim.deliver_all();
        sim.decide();
        while !sim.flights.is_empty() {
            sim.land(0, Fault::None);
        }
        sim.control_all();
    }
}

fn the_why_leads_to_the_root_cause() {
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.asleep.push(key("Thing", "a-a"));
    sim.settle();
    let nodes = &sim.decision.as_ref().unwrap().nodes;
    let chain: Vec<_> = crate::decide::chain(nodes, &Slot::new("c", ""))
        .iter()
        .map(|(slot, cause)| format!("{slot}: {cause}"))
        .collect();
    assert_eq!(
        chain,
        [
            "c: waits for b",
            "b: waits for a: status.observedGeneration is missing, wants 1",
            "a: status.observedGeneration is missing, wants 1",
        ]
    );
}

fn a_write_that_was_not_seen_holds_removal() {
    let mut sim = Sim::new(&[diamond()], &json!({ "v": 1 }));
    sim.round();
    sim.round();
    sim.decide();
    while !sim.flights.is_empty() {
        sim.land(0, Fault::None);
    }
    delete_root(&mut sim);
    sim.deliver(&kind("App"));
    sim.deliver(&kind("App"));
    sim.deliver(&kind("App"));
    sim.decide();
    clean(&sim);
    sim.settle();
    assert!(sim.root().is_none() && sim.claimed().is_empty());
}

fn old_records_are_not_acted_on() {
    let mut sim = at_rest(&[drain()], json!({ "v": 1 }));
    sim.set_spec(&json!({ "v": 2 }));
    sim.deliver_all();
    sim.decide();
    while !sim.flights.is_empty() {
        sim.land(0, Fault::None);
    }
    let decision = decide(sim.program(), &sim.world);
    assert!(!decision.actions.iter().any(|it| matches!(it, Action::Record { .. })), "{:?}", decision.actions);
}

fn what_is_observed_is_read_and_never_written() {
    let lab =
        Lab::new().observe("theirs", "Thing", "legacy").template("b", "Note", &["theirs"]).also("app", "b");
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    sim.settle();
    assert!(!sim.is_ready() && !there(&sim, "Note", "a-b"));
    let body = json!({ "kind": "Thing", "metadata": { "name": "legacy" }, "spec": { "v": 7 } });
    sim.cluster.create(&key("Thing", "legacy"), "somebody", body);
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    let uses = sim.live(&key("Note", "a-b")).unwrap().body["spec"]["uses"].clone();
    assert_eq!(uses, json!(["Thing/legacy"]));
    delete_root(&mut sim);
    sim.settle();
    assert!(sim.root().is_none() && v(&sim, "Thing", "legacy") == 7);
    clean(&sim);
}

fn a_restored_root_takes_its_objects_back_when_told() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    for (key, live, _) in sim.claimed() {
        let mut live = (*live).clone();
        live.body["metadata"]["labels"][ROOT_LABEL] = json!("u0");
        let own = live.managed.remove("pemdas-u1").unwrap();
        live.managed.insert("pemdas-u0".to_owned(), own);
        assert_eq!(live.key, key);
        sim.cluster.store(live);
    }
    sim.settle();
    assert!(stalled(&sim, "reclaim=u0") && sim.claimed().is_empty() && sim.deleted.is_empty());
    sim.annotate("reclaim", "u0");
    assert!(sim.settle() && sim.is_ready() && sim.deleted.is_empty(), "{:?}", sim.stalled());
    assert_eq!(sim.claimed().len(), 3);
}

fn leaving_the_selector_removes() {
    let mut sim = at_rest(&[diamond()], json!({ "v": 1 }));
    sim.world.learn(Fact::Selected(false));
    sim.settle();
    assert!(sim.root().is_some_and(|it| it.finalizers.is_empty()) && sim.claimed().is_empty());
    clean(&sim);
}

macro_rules! properties {
    ($($name:ident,)*) => {
        /// Every directed accident, by name.
        pub(super) const DIRECTED: &[(&str, fn())] = &[$((stringify!($name), $name),)*];
        mod tests {
            $(#[test] fn $name() { super::$name(); })*
        }
    };
}

properties! {
    depth_takes_as_many_rounds,
    drift_is_put_right_by_force,
    a_fight_ends_stalled,
    a_new_desired_takes_nothing,
    an_object_in_the_way_is_not_touched,
    an_object_that_appears_meanwhile_is_not_touched,
    what_another_instance_claims_is_not_touched,
    an_absence_comes_after_what_it_waits_for,
    an_unknown_condition_keeps_and_holds,
    nothing_is_removed_while_members_are_unknown,
    a_closed_edge_keeps_the_members,
    a_collection_that_cannot_be_seen_deletes_nothing,
    a_generation_that_was_not_observed_is_not_ready,
    an_edge_needs_a_settled_precursor,
    a_terminating_object_is_left_alone,
    a_closed_edge_holds_and_repairs,
    cleanup_neither_loses_nor_reruns_a_job,
    a_failure_is_resumed_once,
    a_failure_opens_the_edges_that_want_it,
    a_job_that_is_deleted_is_not_rerun,
    an_unfinished_attempt_is_waited_for,
    each_attempt_has_a_name_of_its_own,
    an_unknown_key_keeps_the_last,
    a_schema_change_drains_migrates_and_serves,
    flapping_drains_and_deletes_nothing,
    a_renamed_node_keeps_its_object,
    an_attempt_makes_what_comes_later_due,
    a_replacement_is_ready_before_the_old_goes,
    with_before_the_old_goes_first,
    the_finalizer_comes_first,
    the_nodes_of_the_deletion_run_first,
    a_broken_blueprint_blocks_no_removal_and_skips_nothing,
    a_terminating_namespace_ends,
    what_is_to_stay_stays,
    objects_of_a_root_that_was_not_seen_going_are_left,
    a_list_of_an_earlier_lease_does_not_count,
    our_own_status_changes_nothing,
    the_status_is_written_once_a_second,
    an_error_is_told,
    a_template_that_never_settles_is_told,
    a_seed_is_recorded_before_it_is_used,
    a_gate_waits_for_a_human,
    a_failure_of_an_older_generation_is_not_told,
    waiting_for_absence_looks_at_the_object,
    all_members_are_waited_for,
    older_edges_give_way_in_a_circle,
    what_contradicts_itself_is_told_and_blocks_no_deletion,
    an_immutable_change_is_told_or_made_anew,
    the_order_of_facts_does_not_matter,
    the_why_leads_to_the_root_cause,
    a_write_that_was_not_seen_holds_removal,
    old_records_are_not_acted_on,
    what_is_observed_is_read_and_never_written,
    a_restored_root_takes_its_objects_back_when_told,
    leaving_the_selector_removes,
    reverting_at_every_step_changes_nothing,
}
