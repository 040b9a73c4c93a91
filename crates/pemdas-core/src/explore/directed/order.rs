//! Order through nodes that have no object of their own any more: a once that has ended, a node that is not needed, a set
//! without members.

use serde_json::json;

use super::{at_rest, clean, delete_root, jobs, there};
use crate::{
    blueprint::Once,
    explore::{
        lab::{Lab, key},
        sim::Sim,
    },
    shape::Shape,
};

fn on(on: bool) -> serde_json::Value {
    json!({ "v": 1, "on": on })
}

/// Somebody's finalizer keeps an object from going.
fn hold(sim: &mut Sim, kind: &str, name: &str, held: bool) {
    let mut live = (**sim.live(&key(kind, name)).expect("an object")).clone();
    if held {
        live.finalizers.insert("theirs".to_owned());
    } else {
        live.finalizers.remove("theirs");
    }
    sim.cluster.store(live);
}

/// `top` is held: nothing before it goes, and everything once it is gone.
fn goes_in_order(sim: &mut Sim, end: impl Fn(&mut Sim)) {
    hold(sim, "Note", "a-top", true);
    end(sim);
    sim.settle();
    let top = sim.live(&key("Note", "a-top")).expect("it is held");
    assert!(top.terminating && there(sim, "Thing", "a-base"), "base goes before top: {:?}", sim.deleted);
    hold(sim, "Note", "a-top", false);
    sim.settle();
    assert!(!there(sim, "Note", "a-top") && !there(sim, "Thing", "a-base"), "{:?}", sim.waits());
    clean(sim);
}

fn with_a_job() -> Lab {
    let lab =
        Lab::new().template("base", "Thing", &[]).template("job", "Job", &[]).template("top", "Note", &[]);
    let lab = lab.once("job").with("job", |it| it.once = Some(Once { done: None, result: None, retry: 0 }));
    lab.orders("job", "base").orders("top", "job")
}

pub(super) fn a_once_that_has_ended_passes_the_order_on() {
    let lab =
        with_a_job().also_if("app", "base", "on").also_if("app", "job", "on").also_if("app", "top", "on");
    let mut sim = at_rest(&[lab], on(true));
    goes_in_order(&mut sim, |sim| sim.set_spec(&on(false)));
    // The one that was needed only sometimes goes later than all of it.
    let lab = with_a_job().also("app", "base").also_if("app", "job", "on").also_if("app", "top", "on");
    let mut sim = at_rest(&[lab.named_by("base", "root.spec.v")], on(true));
    hold(&mut sim, "Note", "a-top", true);
    sim.set_spec(&json!({ "v": 2, "on": false }));
    sim.settle();
    assert!(there(&sim, "Thing", "a-base-1") && there(&sim, "Note", "a-top"), "{:?}", sim.deleted);
}

/// Its object was cleaned up long ago, and the root is deleted.
pub(super) fn a_once_without_an_object_passes_the_order_on() {
    let lab = with_a_job().also("app", "base").also("app", "job").also("app", "top");
    let mut sim = at_rest(&[lab], on(true));
    for job in jobs(&sim) {
        sim.cluster.delete(&job);
    }
    assert!(sim.settle() && sim.is_ready() && jobs(&sim).is_empty(), "{:?}", sim.waits());
    goes_in_order(&mut sim, delete_root);
}

/// Servers that join one after the other leave one after the other.
pub(super) fn what_was_scaled_up_in_order_is_scaled_down_in_order() {
    let mut lab = Lab::new().template("s0", "Thing", &[]).also("app", "s0");
    for (server, joined, before, field) in [("s1", "j1", "s0", "two"), ("s2", "j2", "s1", "three")] {
        lab = lab.template(server, "Thing", &[]).template(joined, "Job", &[]).once(joined);
        lab = lab.orders(joined, before).orders(server, joined);
        lab = lab.also_if("app", server, field).also_if("app", joined, field);
    }
    let count = |two: bool, three: bool| json!({ "v": 1, "two": two, "three": three });
    let mut sim = at_rest(&[lab], count(true, true));
    hold(&mut sim, "Thing", "a-s2", true);
    sim.set_spec(&count(false, false));
    sim.settle();
    assert!(there(&sim, "Thing", "a-s1") && there(&sim, "Thing", "a-s0"), "{:?}", sim.deleted);
    hold(&mut sim, "Thing", "a-s2", false);
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.waits());
    assert!(there(&sim, "Thing", "a-s0") && !there(&sim, "Thing", "a-s1") && !there(&sim, "Thing", "a-s2"));
    clean(&sim);
}

fn with_a_middle() -> Lab {
    let lab = Lab::new().template("base", "Thing", &[]).template("middle", "Thing", &[]);
    lab.template("top", "Note", &[]).orders("middle", "base").orders("top", "middle")
}

/// `top` waits for `base`, whatever is between them, and outlives nothing of it.
fn is_made_in_order(lab: Lab, spec: &serde_json::Value) -> Sim {
    let mut sim = Sim::new(&[lab], spec);
    sim.asleep.push(key("Thing", "a-base"));
    sim.settle();
    assert!(there(&sim, "Thing", "a-base") && !there(&sim, "Note", "a-top"), "{:?}", sim.waits());
    let waits = sim.waits();
    assert!(waits.iter().any(|it| it.starts_with("top: ")), "{waits:?}");
    sim.asleep.clear();
    assert!(sim.settle() && sim.is_ready() && there(&sim, "Note", "a-top"), "{:?}", sim.waits());
    clean(&sim);
    sim
}

pub(super) fn what_is_not_needed_passes_the_order_on() {
    let lab = with_a_middle().also_if("app", "middle", "middle");
    let lab = lab.also_if("app", "base", "on").also_if("app", "top", "on");
    let spec = |on: bool, middle: bool| json!({ "v": 1, "on": on, "middle": middle });
    let mut sim = is_made_in_order(lab.clone(), &spec(true, false));
    goes_in_order(&mut sim, |sim| sim.set_spec(&spec(false, false)));
    // It was needed when the others were made.
    let mut sim = at_rest(std::slice::from_ref(&lab), spec(true, true));
    sim.set_spec(&spec(true, false));
    assert!(sim.settle() && sim.is_ready() && !there(&sim, "Thing", "a-middle"), "{:?}", sim.waits());
    goes_in_order(&mut sim, |sim| sim.set_spec(&spec(false, false)));
    // It is made after the others: the order between them stays.
    let mut sim = at_rest(&[lab], spec(true, false));
    sim.set_spec(&spec(true, true));
    assert!(sim.settle() && sim.is_ready() && there(&sim, "Thing", "a-middle"), "{:?}", sim.waits());
    goes_in_order(&mut sim, |sim| sim.set_spec(&spec(false, false)));
}

/// It may wait for what never comes while it is not needed: that is not asked.
pub(super) fn what_is_not_needed_does_not_pass_on_what_it_waits_for() {
    for wanted in [Shape::Absent, Shape::Failed] {
        let lab = with_a_middle().until("middle", "base", wanted).also_if("app", "middle", "middle");
        let lab = lab.also_if("app", "base", "on").also("app", "top");
        is_made_in_order(lab, &json!({ "v": 1, "middle": false, "on": true }));
    }
}

/// Whoever waits until something is gone comes after what that comes after, too.
pub(super) fn an_absence_passes_the_order_on() {
    let lab = with_a_middle().until("top", "middle", Shape::Absent).also_if("app", "middle", "middle");
    let lab = lab.also("app", "base").also("app", "top");
    is_made_in_order(lab, &json!({ "v": 1, "middle": false }));
}

pub(super) fn what_has_no_members_passes_the_order_on() {
    let each = |lab: Lab| lab.with("middle", |it| it.before.values_mut().for_each(|it| it.each = true));
    let spec = |on: bool, members: serde_json::Value| json!({ "v": 1, "on": on, "members": members });
    let lab = with_a_middle().for_each("middle", "members").also("app", "middle");
    let lab = lab.also_if("app", "base", "on").also_if("app", "top", "on");
    let mut sim = is_made_in_order(lab, &spec(true, json!({})));
    goes_in_order(&mut sim, |sim| sim.set_spec(&spec(false, json!({}))));
    // From member to member: there is none whose edge could be asked.
    let lab = each(with_a_middle().for_each("middle", "none").for_each("base", "members"));
    let lab = lab.also("app", "base").also("app", "middle").also("app", "top");
    let mut sim = Sim::new(&[lab], &json!({ "v": 1, "none": {}, "members": { "x": 1, "y": 1 } }));
    sim.asleep.push(key("Thing", "a-base-x"));
    sim.settle();
    assert!(there(&sim, "Thing", "a-base-y") && !there(&sim, "Note", "a-top"), "{:?}", sim.waits());
    sim.asleep.clear();
    assert!(sim.settle() && sim.is_ready() && there(&sim, "Note", "a-top"), "{:?}", sim.waits());
    clean(&sim);
}

/// A selector that picks nothing comes after what it comes after.
pub(super) fn what_picks_nothing_passes_the_order_on() {
    let lab =
        Lab::new().template("base", "Thing", &[]).select("middle", "Server").template("top", "Note", &[]);
    let lab = lab.orders("middle", "base").orders("top", "middle");
    let lab = lab.also("app", "base").also("app", "middle").also("app", "top");
    is_made_in_order(lab, &json!({ "v": 1 }));
}

/// The state of another object in between: what it comes after outlives that object, and what comes after it.
pub(super) fn a_state_passes_the_order_on() {
    let lab = Lab::new().template("base", "Thing", &[]).also_if("app", "base", "on");
    let lab = lab.template("object", "Server", &[]).state(
        "early",
        "object",
        json!({ "spec": { "low": true } }),
        &["base"],
    );
    let lab = lab.keyed("early", "root.spec.v").template("top", "Note", &[]).orders("top", "early");
    let lab = lab.orders("object", "top");
    let lab = lab.also_if("app", "object", "on").also_if("app", "early", "on").also_if("app", "top", "on");
    let mut sim = at_rest(std::slice::from_ref(&lab), on(true));
    goes_in_order(&mut sim, |sim| sim.set_spec(&on(false)));
    let mut sim = at_rest(&[lab], on(true));
    hold(&mut sim, "Server", "a-object", true);
    sim.set_spec(&on(false));
    sim.settle();
    assert!(there(&sim, "Thing", "a-base") && there(&sim, "Note", "a-top"), "{:?}", sim.deleted);
}

/// A condition waits for a node whose name nobody knows yet. What is needed for another reason does not, and goes first later.
pub(super) fn a_condition_that_waits_for_a_name_holds_nobody_else() {
    let lab = Lab::new().template("base", "Thing", &[]).named_by("base", "root.spec.name");
    let lab = lab.template("top", "Note", &[]).template("asks", "Thing", &[]);
    let lab = lab.also("app", "base").also_if("app", "top", "on").also("app", "asks");
    let lab = lab.also_if("asks", "top", "on").asked_after("asks", "top", "base");
    let mut sim = Sim::new(&[lab], &on(true));
    sim.settle();
    assert!(there(&sim, "Note", "a-top"), "{:?}", sim.waits());
    sim.set_spec(&json!({ "v": 1, "on": true, "name": "x" }));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.waits());
    hold(&mut sim, "Note", "a-top", true);
    delete_root(&mut sim);
    sim.settle();
    assert!(there(&sim, "Thing", "a-base-x"), "base goes before top: {:?}", sim.deleted);
    hold(&mut sim, "Note", "a-top", false);
    sim.settle();
    assert!(!there(&sim, "Note", "a-top") && !there(&sim, "Thing", "a-base-x"), "{:?}", sim.waits());
    clean(&sim);
}
