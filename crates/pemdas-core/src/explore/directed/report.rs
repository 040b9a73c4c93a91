//! What is told, and everything that must not disturb it.

use serde_json::{Value, json};
use std::rc::Rc;

use super::{at_rest, clean, delete_root, rounds, stalled, there, v};
use crate::action::Action;
use crate::blueprint::{Body, OnImmutable};
use crate::decide::{Mode, decide};
use crate::evaluate::Answer;
use crate::explore::lab::{Lab, key, kind, shape};
use crate::explore::sim::{Fault, Sim, sealed};
use crate::explore::zoo::{chain, diamond, drain, fleet};
use crate::ledger::Slot;
use crate::shape::Shape;
use crate::world::{CLAIM_ANNOTATION, Fact, ROOT_LABEL};

pub(super) fn our_own_status_changes_nothing() {
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

pub(super) fn the_status_is_written_once_a_second() {
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
    assert!(sim.is_ready(), "what passes is not written: the first status says that it is ready");
}

pub(super) fn a_refused_write_to_the_root_waits() {
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.deliver_all();
    let mut tries = 0;
    for _ in 0..20 {
        sim.decide();
        while let Some(action) = sim.flights.first() {
            tries += usize::from(matches!(action, Action::Finalize { .. }));
            sim.land(0, Fault::Refused(0));
        }
    }
    assert_eq!(tries, 1, "within one millisecond");
}

pub(super) fn an_error_is_told() {
    let mut lab = chain();
    lab.functions
        .insert("nodes.a.template".to_owned(), Rc::new(|_| Answer::Error("division by zero".to_owned())));
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    sim.settle();
    assert!(stalled(&sim, "division by zero"), "{:?}", sim.stalled());
}

pub(super) fn a_template_that_never_settles_is_told() {
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

pub(super) fn a_seed_is_recorded_before_it_is_used() {
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

pub(super) fn a_gate_waits_for_a_human() {
    let mut sim = Sim::new(&[chain().with("a", |it| it.approve = true)], &json!({ "v": 1 }));
    sim.settle();
    assert!(!there(&sim, "Thing", "a-a"));
    let why = format!("{:?}", sim.decision.as_ref().unwrap().nodes);
    let digest = why.split("approval of ").nth(1).unwrap()[..10].to_owned();
    sim.annotate("approve.a", &digest);
    assert!(sim.settle() && sim.is_ready());
}

pub(super) fn a_failure_of_an_older_generation_is_not_told() {
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

pub(super) fn waiting_for_absence_looks_at_the_object() {
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

pub(super) fn all_members_are_waited_for() {
    let mut sim = Sim::new(&[fleet()], &json!({ "v": 1, "members": { "x": 1, "y": 1 } }));
    sim.asleep.push(key("Thing", "a-unit-y"));
    sim.settle();
    assert!(!there(&sim, "Note", "a-front"));
}

pub(super) fn older_edges_give_way_in_a_circle() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    for (name, after, ordinal) in [("a-a", "b", 9), ("a-b", "a", 1)] {
        let mut live = (**sim.live(&key("Thing", name)).unwrap()).clone();
        let text = live.annotation(CLAIM_ANNOTATION).unwrap().to_owned();
        let mut claim: Value = serde_json::from_str(&text).unwrap();
        claim["after"] = json!({ after: claim["applied"] });
        claim["ordinal"] = json!(ordinal);
        live.body["metadata"]["annotations"][CLAIM_ANNOTATION] = json!(sealed("u1", &live.key, claim));
        sim.cluster.store(live);
    }
    sim.program = None;
    delete_root(&mut sim);
    sim.settle();
    assert!(sim.root().is_none() && sim.claimed().is_empty(), "a circle of revisions");
    assert_eq!(sim.deleted.iter().position(|it| it.name == "a-a"), Some(1), "{:?}", sim.deleted);
}

pub(super) fn an_immutable_change_is_told_or_made_anew() {
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

pub(super) fn the_order_of_facts_does_not_matter() {
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

pub(super) fn the_why_leads_to_the_root_cause() {
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

pub(super) fn a_write_that_was_not_seen_holds_removal() {
    let mut sim = Sim::new(&[diamond()], &json!({ "v": 1 }));
    sim.telling = false;
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

pub(super) fn old_records_are_not_acted_on() {
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

pub(super) fn what_is_observed_is_read_and_never_written() {
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

pub(super) fn a_restored_root_takes_its_objects_back_when_told() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    for (key, live, _) in sim.claimed() {
        let mut live = (*live).clone();
        live.body["metadata"]["labels"][ROOT_LABEL] = json!("u0");
        let claim = serde_json::from_str(live.annotation(CLAIM_ANNOTATION).unwrap()).unwrap();
        live.body["metadata"]["annotations"][CLAIM_ANNOTATION] = json!(sealed("u0", &key, claim));
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

pub(super) fn leaving_the_selector_removes() {
    let mut sim = at_rest(&[diamond()], json!({ "v": 1 }));
    sim.world.learn(Fact::Selected(false));
    let over = |sim: &Sim| {
        let decision = sim.decision.as_ref();
        decision.is_some_and(|it| it.mode == Mode::Removing && !it.conditions.reconciling)
    };
    let gone = |sim: &Sim| sim.root().is_some_and(|it| it.finalizers.is_empty()) && sim.claimed().is_empty();
    for _ in 0..40 {
        rounds(&mut sim, 1);
        assert!(!over(&sim) || gone(&sim), "whoever believes that it is over leaves the rest");
    }
    assert!(over(&sim) && gone(&sim));
    clean(&sim);
}
