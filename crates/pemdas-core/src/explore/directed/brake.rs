//! What a human suspended writes nothing but its report.

use serde_json::{Value, json};

use super::{at_rest, clean, delete_root, v};
use crate::{
    explore::{
        lab::key,
        sim::Sim,
        zoo::{chain, job},
    },
    world::Fact,
};

fn condition(sim: &Sim, name: &str) -> Value {
    let status = &sim.root().unwrap().body["status"];
    let mut all = status["conditions"].as_array().into_iter().flatten();
    all.find(|it| it["type"] == name).cloned().unwrap_or_default()
}

fn is_suspended(sim: &Sim) -> bool {
    condition(sim, "Suspended")["status"] == "True"
}

pub(super) fn what_is_suspended_writes_nothing_but_its_report() {
    for lab in [chain(), job()] {
        let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
        sim.annotate("suspend", "we look into it");
        assert!(sim.settle() && !sim.is_ready() && sim.stalled().is_empty());
        assert!(sim.claimed().is_empty() && sim.cluster.ledger.is_none());
        assert!(sim.root().unwrap().finalizers.is_empty());
        let told = condition(&sim, "Ready");
        assert_eq!((&told["status"], &told["reason"]), (&json!("False"), &json!("Suspended")), "{told}");
        assert!(is_suspended(&sim) && told["message"].as_str().unwrap().contains("pemdas.dev/suspend"));
        sim.annotate("suspend", "false");
        assert!(sim.settle() && sim.is_ready() && !is_suspended(&sim), "{:?}", sim.waits());
        clean(&sim);
    }
}

pub(super) fn drift_waits_for_the_brake() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    sim.annotate("suspend", "");
    sim.settle();
    assert!(sim.is_ready() && is_suspended(&sim), "all is as it shall be");
    sim.edit_by("hand", &key("Thing", "a-a"));
    sim.set_spec(&json!({ "v": 2 }));
    sim.settle();
    assert!(!sim.is_ready() && v(&sim, "Thing", "a-a") == "edited", "{:?}", v(&sim, "Thing", "a-a"));
    assert!(condition(&sim, "Suspended")["message"].as_str().unwrap().contains("a-a would be written"));
    sim.annotate("suspend", "false");
    assert!(sim.settle() && sim.is_ready() && v(&sim, "Thing", "a-a") == 2);
    clean(&sim);
}

pub(super) fn a_deletion_waits_for_the_brake() {
    for lab in [chain(), job()] {
        let mut sim = at_rest(&[lab], json!({ "v": 1 }));
        sim.annotate("suspend", "");
        delete_root(&mut sim);
        let before = sim.uids();
        sim.settle();
        assert!(sim.root().is_some() && sim.uids() == before && sim.deleted.is_empty());
        let told = condition(&sim, "Ready");
        assert_eq!(told["reason"], "Suspended", "{told}");
        assert!(told["message"].as_str().unwrap().contains("the deletion waits") && is_suspended(&sim));
        sim.annotate("suspend", "false");
        sim.settle();
        assert!(sim.root().is_none() && sim.claimed().is_empty() && sim.cluster.ledger.is_none());
        clean(&sim);
    }
}

pub(super) fn a_brake_on_the_blueprint_holds_every_instance() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    sim.world.learn(Fact::Suspended(Some("the blueprint is suspended".into())));
    sim.set_spec(&json!({ "v": 2 }));
    sim.settle();
    assert!(!sim.is_ready() && v(&sim, "Thing", "a-a") == 1);
    assert!(condition(&sim, "Ready")["message"].as_str().unwrap().contains("the blueprint is suspended"));
    // Nothing on a root takes off what is said for all.
    sim.annotate("suspend", "false");
    sim.settle();
    assert!(v(&sim, "Thing", "a-a") == 1);
    sim.world.learn(Fact::Suspended(None));
    assert!(sim.settle() && sim.is_ready() && v(&sim, "Thing", "a-a") == 2);
    clean(&sim);
}
