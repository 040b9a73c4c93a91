//! What is needed: conditions on needs that depend on conditions, whatever the nodes are called.

use std::collections::BTreeSet;

use serde_json::json;

use super::at_rest;
use crate::explore::lab::{Lab, key};
use crate::explore::sim::Sim;

/// All orders of some names.
fn orders(names: &[&'static str]) -> Vec<Vec<&'static str>> {
    let Some((first, rest)) = names.split_first() else { return vec![Vec::new()] };
    let shorter = orders(rest);
    let with = |order: &Vec<&'static str>, at: usize| {
        let mut order = order.clone();
        order.insert(at, first);
        order
    };
    shorter.iter().flat_map(|it| (0..=it.len()).map(|at| with(it, at)).collect::<Vec<_>>()).collect()
}

/// A graph of needs over nodes without names: who needs whom while which field of the root is true.
type Needs = [(&'static str, &'static str, &'static str)];

fn lab(needs: &Needs, names: &[&str], nodes: &[&str]) -> Lab {
    let name = |node: &str| nodes.iter().position(|it| *it == node).map_or("app", |at| names[at]);
    let lab = names.iter().fold(Lab::new(), |lab, it| lab.template(it, "Thing", &[]));
    needs.iter().fold(lab, |lab, (from, to, field)| lab.also_if(name(from), name(to), field))
}

/// By definition: what is reached from the root along needs whose fields are true.
fn needed(needs: &Needs, fields: usize, bits: usize) -> BTreeSet<&str> {
    let on = |field: &str| {
        FIELDS[..fields].iter().position(|it| *it == field).is_some_and(|at| bits >> at & 1 == 1)
    };
    let mut reached: BTreeSet<&str> = ["app"].into();
    loop {
        let more = needs.iter().filter(|(from, _, field)| reached.contains(from) && on(field));
        let more: BTreeSet<_> = more.map(|(_, to, _)| *to).filter(|it| !reached.contains(it)).collect();
        if more.is_empty() {
            return reached;
        }
        reached.extend(more);
    }
}

const FIELDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// In every order of the names, for every outcome of the conditions.
fn holds(needs: &Needs, nodes: &[&str], fields: usize) {
    // Before the root's name, and after it.
    for names in orders(&["aa", "ab", "x", "y"][4 - nodes.len()..]) {
        for bits in 0..1 << fields {
            let spec = FIELDS[..fields]
                .iter()
                .enumerate()
                .map(|(at, it)| ((*it).to_owned(), json!(bits >> at & 1 == 1)));
            let mut sim = Sim::new(&[lab(needs, &names, nodes)], &serde_json::Value::Object(spec.collect()));
            sim.deliver_all();
            let decision = sim.decide().clone();
            let found: BTreeSet<&str> = decision.nodes.keys().map(|it| it.node.as_str()).collect();
            let wants = needed(needs, fields, bits);
            let wants =
                nodes.iter().zip(&names).filter(|(node, _)| wants.contains(**node)).map(|(_, name)| *name);
            assert_eq!(found, wants.collect(), "{needs:?} of {names:?}, {bits:b}");
        }
    }
}

pub(super) fn what_is_needed_is_found_whatever_the_names() {
    // A node that is needed under a condition, and needs another one under a condition.
    holds(&[("app", "p", "a"), ("p", "q", "b")], &["p", "q"], 2);
    let chain = [("app", "p", "a"), ("p", "q", "b"), ("q", "r", "c"), ("r", "s", "d")];
    holds(&chain[..3], &["p", "q", "r"], 3);
    holds(&chain, &["p", "q", "r", "s"], 4);
    let diamond = [("app", "p", "a"), ("app", "q", "b"), ("p", "r", "c"), ("q", "r", "d"), ("r", "s", "e")];
    holds(&diamond, &["p", "q", "r", "s"], 5);
    // A circle of needs, entered anywhere: no order of its conditions is right for all of them.
    let circle = [
        ("app", "p", "a"),
        ("app", "q", "b"),
        ("app", "r", "c"),
        ("p", "q", "d"),
        ("q", "r", "e"),
        ("r", "p", "f"),
    ];
    holds(&circle, &["p", "q", "r"], 6);
}

/// It is made, and goes again, and nothing is asked twice for that.
pub(super) fn what_is_needed_late_is_made_and_goes() {
    let lab = Lab::new().template("aa", "Thing", &[]).template("b", "Note", &[]);
    let lab = lab.also_if("app", "aa", "one").also_if("aa", "b", "two");
    let mut sim = at_rest(&[lab], json!({ "v": 1, "one": true, "two": true }));
    assert!(super::there(&sim, "Thing", "a-aa") && super::there(&sim, "Note", "a-b"));
    sim.set_spec(&json!({ "v": 1, "one": false, "two": true }));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.waits());
    assert!(sim.live(&key("Thing", "a-aa")).is_none() && sim.live(&key("Note", "a-b")).is_none());
    // The root does not say it, and nobody who is needed asks for it.
    sim.set_spec(&json!({ "v": 1, "one": false }));
    assert!(sim.settle() && sim.is_ready() && sim.stalled().is_empty(), "{:?}", sim.stalled());
    sim.set_spec(&json!({ "v": 1, "one": true }));
    sim.settle();
    assert_eq!(sim.stalled().len(), 1, "it is told once: {:?}", sim.stalled());
    super::clean(&sim);
}

/// Nobody waits for what is only needed by somebody who is not: it is not there, and nothing is wrong with that.
pub(super) fn what_only_the_unneeded_needs_is_not_waited_for() {
    let lab = Lab::new().template("x", "Thing", &[]).template("y", "Thing", &[]).template("z", "Thing", &[]);
    let lab = lab.also_if("app", "x", "on").also("x", "y").also("app", "z").orders("y", "x").orders("z", "y");
    let mut sim = at_rest(&[lab], json!({ "v": 1, "on": false }));
    assert!(super::there(&sim, "Thing", "a-z") && !super::there(&sim, "Thing", "a-y"));
    // Once it is needed, the next version is waited for.
    sim.set_spec(&json!({ "v": 2, "on": true }));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.waits());
    assert!(super::there(&sim, "Thing", "a-y"));
    super::clean(&sim);
}
