//! States and onces: what is remembered, and what a change or a revert does.

use serde_json::{Value, json};
use std::rc::Rc;

use super::{at_rest, clean, jobs, rounds, stalled, there, v};
use crate::action::Action;
use crate::blueprint::Superseded;
use crate::evaluate::Answer;
use crate::explore::lab::{Lab, key, shape};
use crate::explore::sim::{Fault, Sim};
use crate::explore::zoo::{drain, job};
use crate::ledger::End;
use crate::shape::Shape;

pub(super) fn cleanup_neither_loses_nor_reruns_a_job() {
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

/// A Server that is drained when `m` changes, and tested once when `v` does: before anybody sees it, or only while it is drained.
fn drained_and_tested(while_drained: bool) -> Lab {
    let lab = Lab::new()
        .template_with("serving", "Server", &[], |_| json!({ "replicas": 2 }))
        .state("drained", "serving", json!({ "spec": { "replicas": 0 } }), &[])
        .keyed("drained", "root.spec.m")
        .with("drained", |it| {
            let zero = Shape::from_value(&json!({ "status": { "replicas": 0 } })).unwrap();
            it.ready = Some(shape(zero));
        })
        .template("tested", "Job", &[])
        .once("tested")
        .orders("serving", "drained")
        .orders("serving", "tested");
    let lab = if while_drained { lab.orders("tested", "drained") } else { lab };
    lab.also("app", "serving").also("app", "drained").also("app", "tested")
}

pub(super) fn an_attempt_returns_only_to_states_that_it_comes_after() {
    for while_drained in [false, true] {
        let mut sim = at_rest(&[drained_and_tested(while_drained)], json!({ "v": 1, "m": 1 }));
        let replicas = |sim: &Sim| {
            let serving = sim.live(&key("Server", "a-serving")).expect("it is always there");
            serving.body["spec"]["replicas"].clone()
        };
        assert_eq!(replicas(&sim), 2);
        sim.set_spec(&json!({ "v": 2, "m": 1 }));
        let (mut drained, mut seen) = (false, jobs(&sim));
        for _ in 0..40 {
            rounds(&mut sim, 1);
            drained |= replicas(&sim) == 0;
            for job in jobs(&sim) {
                if !seen.contains(&job) {
                    assert_eq!(drained, while_drained, "at the beginning of {job}");
                    seen.push(job);
                }
            }
            sim.control_all();
        }
        assert!(sim.is_ready(), "{:?}", sim.waits());
        assert_eq!(sim.entry("tested").unwrap().attempt, 2);
        assert_eq!((drained, replicas(&sim)), (while_drained, json!(2)));
        sim.set_spec(&json!({ "v": 2, "m": 2 }));
        assert!(sim.settle() && sim.is_ready(), "{:?}", sim.waits());
        assert_eq!((sim.entry("drained").unwrap().attempt, replicas(&sim)), (2, json!(2)));
        clean(&sim);
    }
}

pub(super) fn a_failure_is_resumed_once() {
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

pub(super) fn a_failure_opens_the_edges_that_want_it() {
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

pub(super) fn a_job_that_is_deleted_is_not_rerun() {
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

pub(super) fn an_unfinished_attempt_is_waited_for() {
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

pub(super) fn each_attempt_has_a_name_of_its_own() {
    let mut sim = at_rest(&[job()], json!({ "v": 1 }));
    let first = jobs(&sim);
    sim.set_spec(&json!({ "v": 2 }));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    clean(&sim);
    assert_ne!(jobs(&sim), first);
    assert_eq!(sim.entry("job").unwrap().attempt, 2);
}

pub(super) fn an_unknown_key_keeps_the_last() {
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

pub(super) fn a_schema_change_drains_migrates_and_serves() {
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
