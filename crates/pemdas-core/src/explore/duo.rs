//! Two instances in one cluster, each with a process of its own: what they both want goes to one of them, for good.

use std::ops::Range;

use serde_json::{Value, json};

use super::{
    lab::{Lab, key},
    sim::Sim,
    walk::{Faults, steps, take},
};
use crate::world::ROOT_LABEL;

/// The other process takes its turn at the same cluster; root and ledger are its own.
fn hand_over(from: &mut Sim, to: &mut Sim) {
    std::mem::swap(&mut from.cluster, &mut to.cluster);
    std::mem::swap(&mut from.cluster.root, &mut to.cluster.root);
    std::mem::swap(&mut from.cluster.ledger, &mut to.cluster.ledger);
    // Whose controllers worked does not matter.
    std::mem::swap(&mut from.was_ready, &mut to.was_ready);
}

/// Both make objects of the same names: `a-x` and `a-y`.
fn both_want() -> Lab {
    Lab::new().template("x", "Thing", &[]).template("y", "Note", &["x"]).also("app", "x").also("app", "y")
}

fn two() -> (Sim, Sim) {
    let lab = both_want();
    let first = Sim::new(std::slice::from_ref(&lab), &json!({ "v": 1 }));
    let mut cluster = first.cluster.clone();
    let root = key("App", "b");
    let body = json!({
        "apiVersion": "example.com/v1", "kind": "App", "metadata": { "name": "b", "namespace": "n" },
        "spec": { "v": 2 },
    });
    cluster.create(&root, "user", body);
    let mut second = Sim::beside(first.programs.clone(), first.kinds.clone(), cluster, root, None);
    let mut first = first;
    // The first has the turn, and the cluster in which both roots are.
    hand_over(&mut second, &mut first);
    (first, second)
}

/// Rounds without faults, turn by turn, until nothing moves.
fn settle(first: &mut Sim, second: &mut Sim) -> bool {
    let mut quiet = 0;
    for _ in 0..120 {
        let version = first.cluster.version;
        for _ in 0..2 {
            first.round();
            first.control_all();
            let wake = first.decision.as_ref().and_then(|it| it.wake).unwrap_or(0);
            first.world.learn(crate::world::Fact::Now(wake.max(first.world.now + 1_000)));
            hand_over(first, second);
            std::mem::swap(first, second);
        }
        quiet = if version == first.cluster.version { quiet + 1 } else { 0 };
        if quiet > 3 {
            return true;
        }
    }
    false
}

fn owner_of(sim: &Sim, kind: &str, name: &str) -> Value {
    sim.live(&key(kind, name)).map_or(Value::Null, |it| json!(it.label(ROOT_LABEL)))
}

pub(super) fn two_instances_never_flap_over_one_object(seeds: Range<u64>) {
    for seed in seeds {
        let (mut first, mut second) = two();
        let faults = Faults { hands: false, specs: 1, ..Faults::ALL };
        for (at, step) in steps(seed, 120, faults).into_iter().enumerate() {
            take(&mut first, step, &[]);
            if (at + usize::try_from(seed).unwrap_or(0)) % 3 == 0 {
                hand_over(&mut first, &mut second);
                std::mem::swap(&mut first, &mut second);
            }
        }
        for sim in [&mut first, &mut second] {
            sim.evaluator_broken = false;
            sim.late.clear();
        }
        for _ in 0..2 {
            while !first.flights.is_empty() {
                first.land(0, super::sim::Fault::None);
            }
            first.relist();
            hand_over(&mut first, &mut second);
            std::mem::swap(&mut first, &mut second);
        }
        assert!(settle(&mut first, &mut second), "seed {seed}: they do not come to rest");
        for sim in [&first, &second] {
            assert!(sim.violations.is_empty(), "seed {seed}: {:?}", sim.violations);
        }
        let owner = owner_of(&first, "Thing", "a-x");
        assert!(!owner.is_null(), "seed {seed}: nobody made it");
        for sim in [&first, &second] {
            if json!(sim.uid) != owner {
                assert!(
                    sim.stalled().iter().any(|it| it.contains("belongs to another instance")),
                    "seed {seed}: {:?}",
                    sim.stalled()
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{hand_over, owner_of, settle, two};

    #[test]
    fn two_instances_never_flap_over_one_object() {
        super::two_instances_never_flap_over_one_object(pemdas_tier::seeds(20, 4_000));
    }

    #[test]
    fn what_one_instance_gives_up_the_other_may_have() {
        let (mut first, mut second) = two();
        assert!(settle(&mut first, &mut second));
        let owner = owner_of(&first, "Thing", "a-x");
        if owner != first.uid.as_str() {
            hand_over(&mut first, &mut second);
            std::mem::swap(&mut first, &mut second);
        }
        assert_eq!(owner, first.uid.as_str());
        let root = first.cluster.root.clone();
        first.cluster.delete(&root);
        assert!(settle(&mut first, &mut second));
        let other = if owner == first.uid.as_str() { &second } else { &first };
        assert_eq!(owner_of(&first, "Thing", "a-x"), other.uid.as_str());
        assert!(other.is_ready(), "{:?}", other.stalled());
    }
}
