//! What people are told where nothing would say it by itself: functions that fail, conditions that lower `Ready`, removals that
//! somebody holds up.

use std::{cell::RefCell, rc::Rc};

use serde_json::{Value, json};

use super::{
    at_rest,
    clauses::{answering, condition, status},
    clean, delete_root, rounds, stalled,
};
use crate::{
    action::{Action, Event},
    evaluate::Answer,
    explore::{
        lab::{key, kind},
        sim::Sim,
        zoo::chain,
    },
    path::FieldPath,
};

/// Writes down the Events that are told from now on.
pub(super) fn listen(sim: &mut Sim) -> Rc<RefCell<Vec<Event>>> {
    let heard = Rc::new(RefCell::new(Vec::new()));
    let into = heard.clone();
    sim.watcher = Some(Rc::new(move |_, action| {
        if let Action::Event(event) = action {
            into.borrow_mut().push(event.clone());
        }
        None
    }));
    heard
}

pub(super) fn a_removal_that_is_held_up_is_told() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    let held = key("Thing", "a-b");
    let mut live = (**sim.live(&held).unwrap()).clone();
    live.finalizers.insert("example.com/theirs".to_owned());
    sim.cluster.store(live);
    let heard = listen(&mut sim);
    delete_root(&mut sim);
    rounds(&mut sim, 15);
    assert_eq!(condition(&sim, "Ready")["status"], "False");
    let reconciling = condition(&sim, "Reconciling");
    assert_eq!((&reconciling["status"], &reconciling["reason"]), (&json!("True"), &json!("Removing")));
    let message = reconciling["message"].as_str().unwrap();
    assert!(message.contains("a-b") && message.contains("example.com/theirs"), "{message}");
    let told = heard.borrow().clone();
    assert!(told.len() == 1 && told[0].warning && told[0].message == message, "{told:?}");
    let version = sim.cluster.version;
    rounds(&mut sim, 15);
    assert_eq!(sim.cluster.version, version, "it is told once");
    // Another process finds it told.
    sim.crash();
    rounds(&mut sim, 15);
    assert!(sim.cluster.version == version && heard.borrow().len() == 1, "{:?}", heard.borrow());
    // What lasts is a human's.
    sim.settle();
    let stall = condition(&sim, "Stalled");
    assert_eq!((&stall["status"], &stall["reason"]), (&json!("True"), &json!("Held")));
    assert_eq!(condition(&sim, "Reconciling")["status"], "False");
    assert!(heard.borrow().len() == 2 && heard.borrow()[1].reason == "Held", "{:?}", heard.borrow());
    let mut live = (**sim.live(&held).unwrap()).clone();
    live.finalizers.clear();
    sim.cluster.store(live);
    sim.settle();
    assert!(sim.root().is_none() && sim.claimed().is_empty());
    clean(&sim);
}

/// Nobody is told that it is ready while its author says that it is not, and everybody once it is.
pub(super) fn an_author_who_lowers_ready_is_quoted() {
    let mut lab = chain();
    let function = answering(
        &mut lab,
        "nodes.app.conditions",
        &["root.spec"],
        |the| json!({ "Ready": { "status": the["root"]["spec"]["day"], "reason": "Night", "message": "it is dark" } }),
    );
    lab.node("app").conditions = Some(function);
    let mut sim = Sim::new(&[lab], &json!({ "v": 1, "day": false }));
    let heard = listen(&mut sim);
    assert!(sim.settle());
    let told = |event: &Event| format!("{} {}", event.reason, event.message);
    let all = || heard.borrow().iter().map(told).collect::<Vec<_>>();
    assert_eq!(all(), ["NotReady Night: it is dark"]);
    sim.set_spec(&json!({ "v": 1, "day": true }));
    sim.settle();
    assert_eq!(all()[1..], ["Ready everything that is needed is ready"]);
    assert_eq!(condition(&sim, "Ready")["status"], "True");
    clean(&sim);
}

pub(super) fn a_function_of_the_status_that_fails_is_told() {
    for clause in ["status", "conditions"] {
        for partly in [false, true] {
            let mut lab = chain();
            let path = format!("nodes.app.{clause}");
            let function =
                lab.function(&path, &["root.spec"], move |the| match the["root"]["spec"]["bad"] == true {
                    true if partly => Answer::Partial(json!({ "good": true }), "bad: no".to_owned()),
                    true => Answer::Error("bad: no".to_owned()),
                    false => Answer::Value(json!({ "good": true })),
                });
            match clause {
                "status" => lab.node("app").status = Some(function),
                _ => lab.node("app").conditions = Some(function),
            }
            let mut sim = at_rest(&[lab], json!({ "v": 1 }));
            let heard = listen(&mut sim);
            sim.set_spec(&json!({ "v": 1, "bad": true }));
            assert!(sim.settle());
            let ready = condition(&sim, "Ready");
            assert_eq!((&ready["status"], &ready["reason"]), (&json!("False"), &json!("StatusFailed")));
            assert_eq!(ready["message"], "bad: no");
            assert_eq!(heard.borrow().len(), 1, "{:?}", heard.borrow());
            assert!(heard.borrow()[0].warning && heard.borrow()[0].reason == "StatusFailed");
            let left = if clause == "status" {
                status(&sim)["good"] == true
            } else {
                condition(&sim, "good")["status"] == "True"
            };
            assert_eq!(left, partly, "what can be told is told: {:#}", status(&sim));
            sim.set_spec(&json!({ "v": 1 }));
            sim.settle();
            assert_eq!(condition(&sim, "Ready")["status"], "True");
            clean(&sim);
        }
    }
}

/// The accident: the API server drops a field that a template sets, and nobody is told.
pub(super) fn what_a_server_drops_is_told_once() {
    let lost = FieldPath::of(&["spec", "lost"]);
    let more = |the: &Value| json!({ "lost": { "it": the["root"]["spec"]["v"] } });
    let mut sim = Sim::new(&[chain().template_with("a", "Thing", &[], more)], &json!({ "v": 1 }));
    sim.cluster.dropped = vec![(kind("Thing"), lost.clone())];
    let heard = listen(&mut sim);
    let sentence = "the API server dropped spec.lost of Thing.example.com n/a-a";
    let said = |sim: &Sim| condition(sim, "Ready")["message"].as_str().unwrap().to_owned();
    for (value, restart) in [(1, false), (2, false), (2, true), (3, false)] {
        if restart {
            sim.crash();
        }
        sim.set_spec(&json!({ "v": value }));
        assert!(sim.settle() && sim.is_ready(), "{:?} {:#?}", sim.stalled(), sim.waits());
        let told: Vec<_> = heard.borrow().iter().filter(|it| it.reason == "FieldsDropped").cloned().collect();
        assert!(told.len() == 1 && told[0].warning && told[0].message == sentence, "{value}: {told:?}");
        assert!(said(&sim).ends_with(&format!("; a: {sentence}")), "{}", said(&sim));
    }
    let version = sim.cluster.version;
    sim.settle();
    assert_eq!(sim.cluster.version, version, "it comes to rest");
    // The schema is mended, and the next apply keeps the field.
    sim.cluster.dropped.clear();
    sim.set_spec(&json!({ "v": 4 }));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    assert_eq!(said(&sim), "everything that is needed is ready");
    clean(&sim);
}

/// The accident: an object with a field that its kind does not have is sent for ever, and the instance is called reconciling.
pub(super) fn an_unknown_field_is_told_and_hardly_tried_again() {
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.cluster.unknown = Some(kind("Thing"));
    let (heard, mut tried) = (listen(&mut sim), 0);
    for second in 0..120 {
        sim.decide();
        tried += sim.flights.iter().filter(|it| it.written() == Some(&key("Thing", "a-a"))).count();
        rounds(&mut sim, 1);
        assert!(second < 5 || stalled(&sim, "UnknownField: its kind has no field spec.v"), "{second}");
    }
    assert_eq!(tried, 1, "tries in two minutes");
    assert_eq!(heard.borrow().iter().filter(|it| it.reason == "UnknownField").count(), 1);
    sim.cluster.unknown = None;
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
}
