//! The properties, each over blueprints of every sort and over walks with faults.

use serde_json::{Value, json};

use super::{
    lab::{Lab, at},
    sim::Sim,
    walk::{Faults, explore},
};
use crate::blueprint::{Once, SequenceEdge};

pub(super) fn chain() -> Lab {
    Lab::new()
        .template("a", "Thing", &[])
        .template("b", "Thing", &["a"])
        .template("c", "Note", &["b"])
        .also("app", "a")
        .also("app", "b")
        .also("app", "c")
}

pub(super) fn diamond() -> Lab {
    Lab::new()
        .template("a", "Note", &[])
        .template("b", "Thing", &["a"])
        .template("c", "Thing", &["a"])
        .template("d", "Thing", &["b", "c"])
        .also("app", "d")
        .also("d", "c")
        .also("d", "b")
        .also("b", "a")
        .also("c", "a")
}

/// The database, drained before its schema changes and serving after it.
pub(super) fn drain() -> Lab {
    Lab::new()
        .template_with("serving", "Server", &[], |_| json!({ "replicas": 2 }))
        .state("drained", "serving", json!({ "spec": { "replicas": 0 } }), &[])
        .keyed("drained", "root.spec.v")
        .with("drained", |it| {
            let zero = crate::shape::Shape::from_value(&json!({ "status": { "replicas": 0 } })).unwrap();
            it.ready = Some(super::lab::shape(zero));
        })
        .template("migrated", "Thing", &[])
        .orders("migrated", "drained")
        .orders("serving", "migrated")
        .also("app", "serving")
        .also("app", "drained")
        .also("app", "migrated")
}

pub(super) fn job() -> Lab {
    Lab::new()
        .template("before", "Thing", &[])
        .template("job", "Job", &["before"])
        .once("job")
        .template("after", "Note", &[])
        .orders("after", "job")
        .also("app", "before")
        .also("app", "job")
        .also("app", "after")
        .with("job", |it| it.once = Some(Once { done: None, result: None, retry: 0 }))
}

pub(super) fn fleet() -> Lab {
    Lab::new()
        .template("base", "Thing", &[])
        .template("unit", "Thing", &["base"])
        .for_each("unit", "members")
        .template("front", "Note", &[])
        .orders("front", "unit")
        .also("app", "base")
        .also("app", "unit")
        .also("app", "front")
}

pub(super) fn versions() -> Vec<Value> {
    vec![json!({ "v": 1, "on": true }), json!({ "v": 2, "on": true })]
}

/// In the end it is ready, and as if nothing had ever gone wrong.
pub(super) fn as_if_nothing_happened(labs: Vec<Lab>) -> impl Fn(&mut Sim) -> Option<String> {
    move |sim| {
        let root = sim.root().cloned()?;
        let program = sim.program?;
        let mut fresh = Sim::new(&labs[program..=program], &root.body["spec"]);
        fresh.settle();
        if !sim.is_ready() {
            let why: Vec<_> =
                sim.decision.iter().flat_map(|it| &it.nodes).map(|it| format!("{it:?}")).collect();
            return Some(format!("it is not ready: {:?} {why:#?}", sim.stalled()));
        }
        let (is, wants) = (sim.result(), fresh.result());
        if is != wants {
            return Some(format!("the end differs:\n is    {is:?}\n wants {wants:?}"));
        }
        let moved = sim.cluster.version;
        sim.round();
        sim.round();
        (moved != sim.cluster.version).then(|| "it acts although it is ready".to_owned())
    }
}

/// Gone without a trace.
pub(super) fn gone(sim: &mut Sim) -> Option<String> {
    let root = sim.cluster.root.clone();
    sim.cluster.delete(&root);
    if !sim.settle() {
        return Some("the deletion does not come to rest".to_owned());
    }
    let left: Vec<_> = sim.claimed().iter().map(|(key, _, _)| key.to_string()).collect();
    if sim.root().is_some() || !left.is_empty() || sim.cluster.ledger.is_some() {
        return Some(format!(
            "left behind: {left:?}, root {}, ledger {}",
            sim.root().is_some(),
            sim.cluster.ledger.is_some()
        ));
    }
    None
}

pub(super) fn both(labs: Vec<Lab>) -> impl Fn(&mut Sim) -> Option<String> {
    let first = as_if_nothing_happened(labs);
    move |sim| first(sim).or_else(|| gone(sim))
}

pub(super) fn chain_survives(walks: u64) {
    explore("chain", &[chain()], &versions(), Faults::ALL, (walks, 60), |_| {}, &both(vec![chain()]));
}

pub(super) fn diamond_survives(walks: u64) {
    explore("diamond", &[diamond()], &versions(), Faults::ALL, (walks, 80), |_| {}, &both(vec![diamond()]));
}

pub(super) fn conditional() -> Lab {
    chain()
        .template("extra", "Thing", &["a"])
        .also_if("app", "extra", "on")
        .template("last", "Note", &[])
        .orders("last", "extra")
        .also("app", "last")
}

pub(super) fn condition_survives(walks: u64) {
    let specs =
        [json!({ "v": 1, "on": true }), json!({ "v": 1, "on": false }), json!({ "v": 2, "on": true })];
    let faults = Faults { specs: 3, ..Faults::ALL };
    explore("condition", &[conditional()], &specs, faults, (walks, 80), |_| {}, &both(vec![conditional()]));
}

pub(super) fn fleet_survives(walks: u64) {
    let specs = [
        json!({ "v": 1, "members": { "x": 1, "y": 2 } }),
        json!({ "v": 1, "members": { "y": 2, "z": 3 } }),
        json!({ "v": 2, "members": {} }),
    ];
    let faults = Faults { specs: 3, ..Faults::ALL };
    explore("fleet", &[fleet()], &specs, faults, (walks, 80), |_| {}, &both(vec![fleet()]));
}

/// A name with a version in it: the new one before the old goes, and nobody loses what it uses.
pub(super) fn replaced() -> Lab {
    chain().named_by("a", "root.spec.v").with("b", |it| {
        it.before.insert("a".to_owned(), SequenceEdge { ..it.before["a"].clone() });
    })
}

pub(super) fn replacement_survives(walks: u64) {
    explore("replace", &[replaced()], &versions(), Faults::ALL, (walks, 80), |_| {}, &both(vec![replaced()]));
}

pub(super) fn renamed() -> Lab {
    let mut lab = chain();
    let mut node = lab.blueprint.nodes.remove("b").unwrap();
    let edge = lab.node("c").before.remove("b").unwrap();
    lab.node("c").before.insert("bb".to_owned(), edge);
    lab.node("app").also.remove("b");
    node.clauses.clear();
    lab.blueprint.nodes.insert("bb".to_owned(), node);
    let function = lab.function("nodes.c.template", &["root.spec", "root.metadata.name", "bb"], |the| {
        crate::evaluate::Answer::Value(json!({
            "apiVersion": "example.com/v1", "kind": "Note", "metadata": { "name": "a-c" },
            "spec": { "v": the["root"]["spec"]["v"], "uses": [the["bb"]] },
        }))
    });
    if let crate::blueprint::Body::Template(it) = &mut lab.node("c").body {
        it.function = function;
    }
    lab.also("app", "bb")
}

pub(super) fn revisions_survive(walks: u64) {
    let labs = vec![chain(), renamed(), diamond()];
    let faults = Faults { revisions: 3, ..Faults::ALL };
    explore("revisions", &labs, &versions(), faults, (walks, 90), |_| {}, &both(labs.clone()));
}

/// Migrating happens only on a drained object, serving only after it migrated.
pub(super) fn watch_drain(sim: &mut Sim) {
    sim.watcher = Some(std::rc::Rc::new(|sim, action| {
        use crate::action::Action;
        let (Action::Create { key, body } | Action::Change { key, body, .. }) = action else { return None };
        let server = sim.live(&super::lab::key("Server", "a-serving")).cloned();
        let migrated = sim.live(&super::lab::key("Thing", "a-migrated")).cloned();
        if key.name == "a-migrated" {
            let same = migrated.as_ref().is_some_and(|it| {
                it.body["spec"]["v"] == body["spec"]["v"] || it.body["spec"]["v"] == "edited"
            });
            let seen = sim.world.objects.get(key).is_some_and(|it| it.body["spec"]["v"] == body["spec"]["v"]);
            let repaired = sim.world.vanished.contains_key(key) || seen || sim.late_write_landed();
            let drained = server.as_ref().is_none_or(|it| at(&it.body, "spec.replicas") == 0);
            if !drained && !same && !repaired {
                return Some(format!("it migrates to {} on a serving object", body["spec"]["v"]));
            }
        }
        if key.name == "a-serving" && body["spec"]["replicas"] == 2 {
            let seen = sim.world.objects.get(key).is_some_and(|it| it.body["spec"]["replicas"] == 2);
            let repaired = sim.world.vanished.contains_key(key) || seen || sim.late_write_landed();
            let ready = migrated.as_ref().is_some_and(|it| sim.was_ready.get(&it.key) == Some(&true));
            if !ready && !repaired {
                return Some("it serves before it migrated".to_owned());
            }
        }
        None
    }));
}

pub(super) fn drain_survives(walks: u64) {
    explore(
        "drain",
        &[drain()],
        &versions(),
        Faults { hands: false, ..Faults::ALL },
        (walks, 100),
        watch_drain,
        &both(vec![drain()]),
    );
}

pub(super) fn drain_survives_hands(walks: u64) {
    explore("drain-hands", &[drain()], &versions(), Faults::ALL, (walks, 100), |_| {}, &both(vec![drain()]));
}

pub(super) fn job_survives(walks: u64) {
    let faults = Faults { jobs: false, ..Faults::ALL };
    explore("job", &[job()], &versions(), faults, (walks, 100), |_| {}, &both(vec![job()]));
}

/// Jobs that fail or are cleaned up: each attempt completes at most once, and a human can resume.
pub(super) fn failing_job_survives(walks: u64) {
    let faults = Faults { jobs: true, ..Faults::ALL };
    let end = |sim: &mut Sim| {
        if !sim.is_ready() {
            let stalled = sim.stalled();
            if !stalled.iter().any(|it| it.contains("Failed") || it.contains("Cut")) {
                return Some(format!("neither ready nor stalled for a reason: {stalled:?}"));
            }
            sim.annotate("resume", "again");
            sim.settle();
        }
        as_if_nothing_happened(vec![job()])(sim).or_else(|| gone(sim))
    };
    explore("failing-job", &[job()], &versions(), faults, (walks, 100), |_| {}, &end);
}

/// A graph by chance: edges of both kinds, with and without conditions.
pub(super) fn generated(seed: u64) -> Lab {
    const NAMES: [&str; 9] = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"];
    let mut dice = super::walk::Dice::new(seed);
    let mut lab = Lab::new();
    for (at, name) in NAMES.iter().enumerate() {
        let before: Vec<&str> = NAMES[..at].iter().filter(|_| dice.roll(4) == 0).copied().collect();
        let kind = ["Thing", "Note", "Server"][dice.roll(3)];
        lab = lab.template(name, kind, &before);
        for precursor in before {
            lab = lab.also(name, precursor);
        }
    }
    for name in NAMES {
        lab = if dice.roll(5) == 0 { lab.also_if("app", name, "on") } else { lab.also("app", name) };
    }
    lab
}

pub(super) fn generated_survive(walks: u64) {
    let specs =
        [json!({ "v": 1, "on": true }), json!({ "v": 2, "on": true }), json!({ "v": 2, "on": false })];
    for seed in 1..=walks {
        let lab = generated(seed);
        let faults = Faults { specs: 3, ..Faults::ALL };
        explore(
            &format!("generated-{seed}"),
            std::slice::from_ref(&lab),
            &specs,
            faults,
            (2, 150),
            |_| {},
            &both(vec![lab.clone()]),
        );
    }
}

pub(super) fn deletion_survives(walks: u64) {
    let faults = Faults { deletion: true, ..Faults::ALL };
    explore("deletion", &[diamond()], &versions(), faults, (walks, 80), |_| {}, &gone);
}

mod tests {
    #[test]
    fn a_chain_survives_every_fault() {
        super::chain_survives(60);
    }

    #[test]
    fn a_diamond_survives_every_fault() {
        super::diamond_survives(60);
    }

    #[test]
    fn a_condition_survives_every_fault() {
        super::condition_survives(60);
    }

    #[test]
    fn a_fleet_survives_every_fault() {
        super::fleet_survives(60);
    }

    #[test]
    fn a_replacement_survives_every_fault() {
        super::replacement_survives(60);
    }

    #[test]
    fn revisions_survive_every_fault() {
        super::revisions_survive(60);
    }

    #[test]
    fn a_drain_survives_every_fault() {
        super::drain_survives(60);
        super::drain_survives_hands(40);
    }

    #[test]
    fn a_job_survives_every_fault() {
        super::job_survives(60);
    }

    #[test]
    fn a_failing_job_survives_every_fault() {
        super::failing_job_survives(60);
    }

    #[test]
    fn generated_graphs_survive_every_fault() {
        super::generated_survive(12);
    }

    #[test]
    fn a_deletion_survives_every_fault() {
        super::deletion_survives(60);
    }
}
