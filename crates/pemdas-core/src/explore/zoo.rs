//! Blueprints of every sort for the abstract world: by hand, and by chance.

use std::ops::Range;

use serde_json::{Value, json};

use super::{
    lab::{Lab, at},
    sim::Sim,
    subject::Subject,
    walk::Dice,
};
use crate::blueprint::{Once, Removal};

pub(super) fn chain() -> Lab {
    Lab::new()
        .template("a", "Thing", &[])
        .template("b", "Thing", &["a"])
        .template("c", "Note", &["b"])
        .also("app", "a")
        .also("app", "b")
        .also("app", "c")
}

/// A chain whose objects go in any order: the garbage collector may take them.
pub(super) fn loose() -> Lab {
    chain()
        .with("b", |it| it.before.values_mut().for_each(|it| it.removal = Removal::Any))
        .with("c", |it| it.before.values_mut().for_each(|it| it.removal = Removal::Any))
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
    drained(Lab::new(), &[])
}

/// A drain beside other nodes, after some of them.
fn drained(lab: Lab, after: &[&str]) -> Lab {
    let mut lab = lab
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
        .also("app", "migrated");
    for precursor in after {
        lab = lab.orders("migrated", precursor);
    }
    lab
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

pub(super) fn conditional() -> Lab {
    chain()
        .template("extra", "Thing", &["a"])
        .also_if("app", "extra", "on")
        .template("last", "Note", &[])
        .orders("last", "extra")
        .also("app", "last")
}

/// A name with a version in it: the new one before the old goes, and nobody loses what it uses.
pub(super) fn replaced() -> Lab {
    chain().named_by("a", "root.spec.v")
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

/// A graph by chance: edges of both kinds, with and without conditions, members, names with a version in them, a state
/// of an object, a once, a node of the deletion.
pub(super) fn generated(seed: u64) -> Lab {
    const NAMES: [&str; 7] = ["n0", "n1", "n2", "n3", "n4", "n5", "n6"];
    let mut dice = Dice::new(seed);
    let mut lab = Lab::new();
    let mut together = Vec::new();
    for (at, name) in NAMES.iter().enumerate() {
        let before: Vec<&str> = NAMES[..at].iter().filter(|_| dice.roll(4) == 0).copied().collect();
        let kind = ["Thing", "Note", "Server"][dice.roll(3)];
        // What is taken from many is not the name of one.
        let (many, one): (Vec<&str>, Vec<&str>) = before.iter().partition(|it| together.contains(*it));
        lab = lab.template(name, kind, &one);
        for precursor in many {
            lab = lab.orders(name, precursor);
        }
        for precursor in before {
            lab = lab.also(name, precursor);
        }
        match dice.roll(7) {
            0 => lab = lab.named_by(name, "root.spec.v"),
            1 => {
                lab = lab.for_each(name, "members");
                together.push(*name);
            }
            _ => {}
        }
    }
    for name in NAMES {
        lab = if dice.roll(5) == 0 { lab.also_if("app", name, "on") } else { lab.also("app", name) };
    }
    if dice.roll(3) == 0 {
        lab = drained(lab, &[NAMES[dice.roll(7)]]);
        let named: Vec<_> = lab.node("migrated").before.keys().cloned().collect();
        for precursor in named.iter().filter(|it| it.starts_with('n')) {
            lab = lab.also("migrated", precursor);
        }
    }
    if dice.roll(3) == 0 {
        lab = lab.template("note", "Note", &[]).also_if("app", "note", "on");
        lab = lab.asked_after("app", "note", NAMES[dice.roll(7)]);
    }
    if dice.roll(3) == 0 {
        let precursor = NAMES[dice.roll(7)];
        lab = lab.template("job", "Job", &[]).once("job").orders("job", precursor).also("job", precursor);
        lab = lab.template("report", "Note", &[]).orders("report", "job");
        lab = lab.also("app", "job").also("app", "report");
    }
    if dice.roll(3) == 0 {
        let loose = NAMES[dice.roll(7)];
        lab = lab.with(loose, |it| it.before.values_mut().for_each(|it| it.removal = Removal::Any));
    }
    if dice.roll(4) == 0 {
        lab = lab.template("final", "Thing", &[]).orders("final", NAMES[0]).deleting("final");
    }
    lab
}

pub(super) fn specs() -> Vec<Value> {
    vec![
        json!({ "v": 1, "on": true, "members": { "x": 1, "y": 2 } }),
        json!({ "v": 2, "on": true, "members": { "y": 2, "z": 3 } }),
        json!({ "v": 2, "on": false, "members": {} }),
    ]
}

/// A graph by chance, as something to walk.
pub(super) fn by_chance(seed: u64) -> Subject {
    Subject::of_labs(&format!("generated-{seed}"), &[generated(seed)], &specs())
}

/// One of every sort, and some by chance: those of these seeds.
pub(super) fn all(generated: Range<u64>) -> Vec<Subject> {
    let one = |name: &str, lab: Lab| Subject::of_labs(name, &[lab], &specs());
    let mut all = vec![
        one("chain", chain()),
        one("loose", loose()),
        one("diamond", diamond()),
        one("condition", conditional()),
        one("fleet", fleet()),
        one("replace", replaced()),
        one("drain", drain()),
        one("job", job()),
    ];
    all.extend(generated.map(by_chance));
    all
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
