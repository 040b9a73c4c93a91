//! What is asked of the API server: counted in its audit log.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    bed::{bed, exclusive, shared, until},
    given::{CHAIN, FAN_OUT},
    space::Space,
};

/// Also how long it took to be ready.
fn fan_out(about: &str) -> (Space, Duration) {
    let space = Space::new(about);
    space.blueprint("blueprint", FAN_OUT);
    space.runs("blueprint");
    let since = Instant::now();
    space.instance("Fan", "one", &value("a"));
    space.ready("Fan", "one");
    (space, since.elapsed())
}

fn value(text: &str) -> Value {
    json!({ "value": text })
}

/// Leaves out what a slow machine adds: a status a second, beside those that last.
fn without_passing(mut asked: Vec<String>, lasting: usize, took: Duration) -> Vec<String> {
    let statuses = asked.iter().filter(|it| it.contains("/status")).count();
    let passing = statuses.saturating_sub(lasting);
    assert!(passing <= usize::try_from(took.as_secs()).unwrap(), "in {took:?}: {asked:?}");
    for _ in 0..passing {
        let first = asked.iter().position(|it| it.contains("/status")).unwrap();
        asked.remove(first);
    }
    asked
}

#[test]
fn to_create_costs_one_request_an_object_and_one_for_the_status() {
    let _running = shared();
    let (space, took) = fan_out("create");
    space.settles("Fan", value);
    let mut asked = without_passing(space.requests(), 1, took);
    asked.sort();
    assert_eq!(
        asked,
        [
            "patch configmaps one",
            "patch secrets one",
            "patch serviceaccounts one",
            "patch services one",
            "update fans/status one"
        ]
    );
}

#[test]
fn a_change_costs_what_depends_on_it_and_a_settled_instance_nothing() {
    let _running = shared();
    let (space, _) = fan_out("change");
    space.passes_by("Fan", value);
    let before = space.requests().len();
    space.settles("Fan", value);
    assert_eq!(space.requests().len(), before, "a settled instance asks for nothing");
    let since = Instant::now();
    space.instance("Fan", "one", &value("b"));
    until("the map is changed", || space.get("configmap", "one").filter(|it| it["data"]["value"] == "b"));
    space.ready("Fan", "one");
    let took = since.elapsed();
    space.settles("Fan", value);
    let mut asked = without_passing(space.requests().split_off(before), 1, took);
    asked.sort();
    assert_eq!(asked, ["patch configmaps one", "patch secrets one", "update fans/status one"]);
}

#[test]
fn drift_is_repaired_with_one_request() {
    let _running = shared();
    let (space, _) = fan_out("drift");
    space.passes_by("Fan", value);
    let before = space.requests().len();
    let since = Instant::now();
    space.merge("configmap", "one", &json!({ "data": { "value": "mine", "extra": "kept" } }));
    let map =
        until("it is put right", || space.get("configmap", "one").filter(|it| it["data"]["value"] == "a"));
    assert_eq!(map["data"]["extra"], "kept", "fields of others are left");
    space.delete("service", "one");
    until("it is back", || space.get("service", "one"));
    let took = since.elapsed();
    space.settles("Fan", value);
    let asked = without_passing(space.requests().split_off(before), 0, took);
    assert_eq!(asked, ["patch configmaps one", "patch services one"]);
}

#[test]
fn a_deletion_without_order_is_left_to_the_garbage_collector() {
    let _running = shared();
    let (space, _) = fan_out("delete");
    space.passes_by("Fan", value);
    let before = space.requests().len();
    space.delete(&space.kind("Fan"), "one");
    for kind in ["configmap", "secret", "serviceaccount", "service"] {
        space.gone(kind, "one");
    }
    space.settles("Fan", value);
    assert_eq!(space.requests().split_off(before), [""; 0]);
}

#[test]
fn data_flows_along_a_chain_and_removal_goes_back() {
    let _running = shared();
    let space = Space::new("chain");
    space.blueprint("blueprint", CHAIN);
    space.runs("blueprint");
    let since = Instant::now();
    space.instance("Chain", "one", &value("v"));
    space.ready("Chain", "one");
    let took = since.elapsed();
    let (a, b, c) = (
        space.get("configmap", "one-a").unwrap(),
        space.get("configmap", "one-b").unwrap(),
        space.get("configmap", "one-c").unwrap(),
    );
    let uid = |it: &serde_json::Value| it["metadata"]["uid"].as_str().unwrap().to_owned();
    assert_eq!(b["data"]["value"], format!("v {}", uid(&a)));
    assert_eq!(c["data"]["value"], format!("v {}", uid(&b)));
    space.settles("Chain", value);
    let asked = without_passing(space.requests(), 1, took);
    assert_eq!(asked.len(), 5, "three objects, a status, a finalizer: {asked:?}");
    space.delete(&space.kind("Chain"), "one");
    space.gone("configmap", "one-a");
    space.passes_by("Chain", value);
    let deletes: Vec<_> = space.requests().into_iter().filter(|it| it.starts_with("delete")).collect();
    assert_eq!(deletes, ["delete configmaps one-c", "delete configmaps one-b", "delete configmaps one-a"]);
}

#[test]
fn a_chain_that_may_go_in_any_order_needs_no_finalizer() {
    let _running = shared();
    let space = Space::new("loose");
    let edge = |from: &str| format!("before.{from}.extract = fun live => live.metadata.uid");
    let loose =
        |from: &str| format!("before.{from} = {{ extract = fun live => live.metadata.uid, removal = 'Any }}");
    let blueprint = CHAIN.replace(&edge("a"), &loose("a")).replace(&edge("b"), &loose("b"));
    space.blueprint("blueprint", &blueprint);
    space.runs("blueprint");
    let since = Instant::now();
    space.instance("Chain", "one", &value("v"));
    space.ready("Chain", "one");
    let took = since.elapsed();
    space.settles("Chain", value);
    let asked = without_passing(space.requests(), 1, took);
    assert_eq!(asked.len(), 4, "three objects and a status: {asked:?}");
    let before = space.requests().len();
    space.delete(&space.kind("Chain"), "one");
    for name in ["one-a", "one-b", "one-c"] {
        space.gone("configmap", name);
    }
    space.settles("Chain", value);
    assert_eq!(space.requests().split_off(before), [""; 0], "it is left to the garbage collector");
}

#[test]
fn a_restart_writes_nothing() {
    let _alone = exclusive();
    let (space, _) = fan_out("restart");
    space.passes_by("Fan", value);
    let before = space.requests().len();
    let since = Instant::now();
    bed().kill();
    bed().start();
    space.delete("service", "one");
    until("it works again", || space.get("service", "one"));
    let took = since.elapsed();
    space.settles("Fan", value);
    let asked = without_passing(space.requests().split_off(before), 0, took);
    let writes: Vec<_> =
        asked.iter().filter(|it| !it.starts_with("get") && !it.starts_with("list")).collect();
    assert_eq!(writes, ["patch services one"]);
}
