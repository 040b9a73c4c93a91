//! Writes that the API server refuses for as long as it likes: rights, quotas, policies, namespaces. And fields of a status that it drops.

use serde_json::json;

use super::{
    at_rest,
    clauses::{condition, status},
    clean, delete_root, rounds, stalled, there,
    told::listen,
};
use crate::{
    action::Action,
    decide::Phase,
    explore::{
        lab::{key, kind},
        sim::{Fault, Sim},
        zoo::{chain, job},
    },
    ledger::Slot,
    world::{Fact, Refusal},
};

fn forbidden() -> Refusal {
    Refusal::Forbidden("you may not".to_owned())
}

/// The ways in which a deletion is refused by somebody who may do so.
fn refusals() -> [Refusal; 2] {
    [forbidden(), Refusal::Denied("a policy says no".to_owned())]
}

pub(super) fn a_deletion_that_is_refused_holds_the_root() {
    for refusal in refusals() {
        let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
        let heard = listen(&mut sim);
        sim.cluster.undeletable.insert(kind("Thing"), refusal.clone());
        delete_root(&mut sim);
        rounds(&mut sim, 30);
        assert!(sim.root().is_some(), "the root is gone: {:?}", sim.claimed());
        assert!(there(&sim, "Thing", "a-b") && there(&sim, "Thing", "a-a") && !there(&sim, "Note", "a-c"));
        let stall = condition(&sim, "Stalled");
        assert_eq!((&stall["status"], &stall["reason"]), (&json!("True"), &json!("Refused")));
        for said in [&stall, &condition(&sim, "Ready")] {
            let message = said["message"].as_str().unwrap();
            assert!(message.contains("a-b") && message.contains(&refusal.to_string()), "{message}");
        }
        assert_eq!(condition(&sim, "Ready")["status"], "False");
        assert_eq!(condition(&sim, "Reconciling")["status"], "False");
        let told = heard.borrow().clone();
        assert!(told.len() == 1 && told[0].warning && told[0].reason == "Refused", "{told:?}");
        // It is tried for ever, and told once, whoever tries.
        let version = sim.cluster.version;
        rounds(&mut sim, 60);
        assert_eq!(sim.cluster.version, version, "it writes for ever");
        assert_eq!(heard.borrow().len(), 1, "{:?}", heard.borrow());
        sim.cluster.undeletable.clear();
        sim.settle();
        assert!(sim.root().is_none() && sim.claimed().is_empty(), "{:?}", sim.stalled());
        clean(&sim);
    }
}

pub(super) fn what_is_given_up_by_name_is_left() {
    for (name, gives_up) in
        [("yes", false), ("Thing/a-a", false), ("Thing/other/a-b", false), ("Note/a-b", false)]
            .into_iter()
            .chain([("Thing/a-b", true), ("x/y, Thing.example.com/n/a-b", true)])
    {
        let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
        let heard = listen(&mut sim);
        // Of its kind, the other one goes.
        sim.cluster.undeletable.insert(kind("Thing"), forbidden());
        sim.annotate("skip-deletion", name);
        delete_root(&mut sim);
        rounds(&mut sim, 3);
        if sim.root().is_some() && gives_up {
            sim.cluster.undeletable.clear();
        }
        sim.settle();
        assert_eq!(sim.root().is_none(), gives_up, "{name}: {:?}", sim.stalled());
        if gives_up {
            assert!(there(&sim, "Thing", "a-b") && !there(&sim, "Thing", "a-a"), "{name}");
            let told = heard.borrow().last().cloned().unwrap();
            assert!(told.reason == "Left" && told.message.contains("a-b"), "{told:?}");
        }
        clean(&sim);
    }
}

pub(super) fn giving_up_an_object_skips_no_node_of_the_deletion() {
    let lab = chain().template("final", "Thing", &[]).deleting("final");
    let mut sim = at_rest(&[lab], json!({ "v": 1 }));
    sim.asleep.push(key("Thing", "a-final"));
    sim.annotate("skip-deletion", "Thing/a-b");
    delete_root(&mut sim);
    rounds(&mut sim, 12);
    assert!(sim.root().is_some() && there(&sim, "Note", "a-c"), "{:?}", sim.deleted);
    sim.annotate("skip-deletion", "Thing/a-b,yes");
    sim.settle();
    assert!(sim.root().is_none() && there(&sim, "Thing", "a-b") && !there(&sim, "Thing", "a-final"));
}

pub(super) fn a_kind_that_may_not_be_seen_holds_the_root() {
    for crash in [false, true] {
        let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
        sim.cluster.unlistable.insert(kind("Thing"));
        // The instance says so while it lives: during its deletion there may be no permission left to write its status.
        let mut lives = sim.clone();
        lives.relist();
        lives.settle();
        assert!(stalled(&lives, "Refused"), "{:?}", lives.stalled());
        lives.cluster.unlistable.clear();
        assert!(lives.settle() && lives.is_ready(), "{:?}", lives.stalled());
        delete_root(&mut sim);
        if crash {
            sim.crash();
        }
        sim.settle();
        let stall = condition(&sim, "Stalled");
        assert!(sim.root().is_some() && stall["reason"] == "Refused", "{stall}");
        assert!(
            stall["message"].as_str().unwrap().contains("Thing.example.com may not be listed"),
            "{stall}"
        );
        let mut given_up = sim.clone();
        sim.cluster.unlistable.clear();
        sim.settle();
        assert!(sim.root().is_none() && sim.claimed().is_empty(), "{:?}", sim.stalled());
        clean(&sim);
        given_up.annotate("skip-deletion", "Thing/*");
        given_up.settle();
        assert!(given_up.root().is_none(), "{:?}", given_up.stalled());
        assert!(there(&given_up, "Thing", "a-a"), "the whole kind is given up, seen or not");
    }
}

/// What a quota, a policy, a missing right or a missing namespace refuses is told as stalled after a few tries, and goes on by itself.
pub(super) fn what_is_refused_again_and_again_stalls() {
    let nowhere = Refusal::NoNamespace("there is none".to_owned());
    for refusal in refusals().into_iter().chain([nowhere, Refusal::Invalid("no".to_owned())]) {
        let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
        sim.cluster.unwritable.insert(kind("Note"), refusal.clone());
        let heard = listen(&mut sim);
        sim.settle();
        rounds(&mut sim, 20);
        let stall = condition(&sim, "Stalled");
        assert_eq!((&stall["status"], &stall["reason"]), (&json!("True"), &json!("Refused")), "{refusal}");
        assert!(stall["message"].as_str().unwrap().contains(&refusal.to_string()), "{stall}");
        assert_eq!(
            heard.borrow().iter().filter(|it| it.reason == "Refused").count(),
            1,
            "{:?}",
            heard.borrow()
        );
        // It is tried again, and nobody is told otherwise meanwhile.
        let (version, mut tries) = (sim.cluster.version, 0);
        for _ in 0..6 {
            let wake = sim.decision.as_ref().and_then(|it| it.wake).expect("it is tried again");
            sim.world.learn(Fact::Now(wake));
            let decision = sim.decide();
            let creates = |it: &&Action| matches!(it, Action::Create { .. });
            tries += decision.actions.iter().filter(creates).count();
            assert_eq!(decision.nodes[&Slot::new("c", "")].phase, Phase::Stalled, "as it is tried");
            assert_eq!(sim.decide().nodes[&Slot::new("c", "")].phase, Phase::Stalled, "under way");
            while !sim.flights.is_empty() {
                sim.land(0, Fault::None);
            }
            assert!(stalled(&sim, "Refused") && !sim.decide().conditions.reconciling);
        }
        assert!(tries >= 3 && sim.cluster.version == version, "{tries} tries");
        sim.cluster.unwritable.clear();
        assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
        assert_eq!(condition(&sim, "Stalled")["status"], "False");
        clean(&sim);
    }
}

pub(super) fn a_ledger_that_is_refused_again_and_again_stalls() {
    let mut sim = Sim::new(&[job()], &json!({ "v": 1 }));
    for _ in 0..60 {
        sim.deliver_all();
        sim.decide();
        while let Some(action) = sim.flights.first() {
            let refused = matches!(action, Action::Record { .. });
            sim.land(0, if refused { Fault::Refused(1) } else { Fault::None });
        }
        sim.control_all();
        sim.world.learn(Fact::Now(sim.world.now + 1_000));
    }
    assert!(stalled(&sim, "Refused: the ledger: forbidden"), "{:?} {:?}", sim.stalled(), sim.waits());
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    clean(&sim);
}

pub(super) fn fields_that_a_definition_drops_are_told() {
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.cluster.pruned = Some("a");
    let heard = listen(&mut sim);
    assert!(sim.settle() && sim.is_ready());
    let pruned = condition(&sim, "StatusPruned");
    assert_eq!((&pruned["status"], &pruned["reason"]), (&json!("True"), &json!("UnknownFields")));
    assert!(pruned["message"].as_str().unwrap().contains("status.a"), "{pruned}");
    assert_eq!(condition(&sim, "Ready")["status"], "True", "the instance itself is well");
    let told = || heard.borrow().iter().filter(|it| it.reason == "StatusPruned").count();
    assert_eq!(told(), 1, "{:?}", heard.borrow());
    let before = status(&sim);
    // Another process finds it told, and writes the same once at most.
    sim.crash();
    assert!(sim.settle() && sim.is_ready());
    assert_eq!((status(&sim), told()), (before, 1));
    let version = sim.cluster.version;
    rounds(&mut sim, 10);
    assert_eq!(sim.cluster.version, version, "it writes for ever");
    // The definition is another one: with the next status it is over.
    sim.cluster.pruned = None;
    sim.set_spec(&json!({ "v": 2 }));
    assert!(sim.settle() && sim.is_ready());
    assert!(
        status(&sim).get("a").is_some() && condition(&sim, "StatusPruned").is_null(),
        "{:#}",
        status(&sim)
    );
    clean(&sim);
}

/// Also what Pemdas itself says may be dropped: then only an Event tells.
pub(super) fn a_definition_without_conditions_is_not_fought() {
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.cluster.pruned = Some("conditions");
    let heard = listen(&mut sim);
    assert!(sim.settle() && sim.is_ready(), "it writes for ever");
    let told: Vec<_> = heard.borrow().iter().filter(|it| it.reason == "StatusPruned").cloned().collect();
    assert!(told.len() == 1 && told[0].message.contains("status.conditions"), "{told:?}");
    let version = sim.cluster.version;
    rounds(&mut sim, 10);
    assert_eq!(sim.cluster.version, version);
}
