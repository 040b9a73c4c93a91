//! What is asked of the API server: counted in its audit log.

use std::time::{Duration, Instant};

use serde_json::json;

use super::bed::{Space, a_while, asked, bed, exclusive, shared, until};

/// Four objects that have nothing to do with each other.
const FAN_OUT: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "fan-out",
  kinds.Fan = { group = "GROUP", versions.v1.spec = { value | String | doc "A value", other | String | doc "Another" | default = "x" } },
  nodes = {
    instance = { root = kinds.Fan, also = ["map", "secret", "account", "service"] },
    map.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.metadata.name, data.value = the.root.spec.value,
    },
    secret.template = fun the => {
      apiVersion = "v1", kind = "Secret", metadata.name = the.root.metadata.name, stringData.value = the.root.spec.value,
    },
    account.template = fun the => { apiVersion = "v1", kind = "ServiceAccount", metadata.name = the.root.metadata.name },
    service.template = fun the => {
      apiVersion = "v1", kind = "Service", metadata.name = the.root.metadata.name,
      spec = { selector.app = the.root.spec.other, ports = [{ port = 80 }] },
    },
  },
} | Blueprint
"#;

/// Each of three needs the uid of the one before.
pub(crate) const CHAIN: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
let link = fun name the from => {
  apiVersion = "v1", kind = "ConfigMap", metadata.name = "%{the.root.metadata.name}-%{name}", data.value = "%{the.root.spec.value} %{from}",
} in
{
  name = "chain",
  kinds.Chain = { group = "GROUP", versions.v1.spec = { value | String | doc "A value" } },
  nodes = {
    instance = { root = kinds.Chain, also = ["a", "b", "c"] },
    a.template = fun the => link "a" the "start",
    b = { before.a.extract = fun live => live.metadata.uid, template = fun the => link "b" the the.a },
    c = { before.b.extract = fun live => live.metadata.uid, template = fun the => link "c" the the.b },
  },
} | Blueprint
"#;

/// Also how long it took to be ready.
fn fan_out(about: &str) -> (Space, Duration) {
    let space = Space::new(about);
    space.blueprint("blueprint", FAN_OUT);
    space.runs("blueprint");
    let since = Instant::now();
    space.instance("Fan", "one", &json!({ "value": "a" }));
    space.ready("Fan", "one");
    (space, since.elapsed())
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
    a_while();
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
    a_while();
    let before = space.requests().len();
    a_while();
    assert_eq!(space.requests().len(), before, "a settled instance asks for nothing");
    let since = Instant::now();
    space.instance("Fan", "one", &json!({ "value": "b" }));
    until("the map is changed", || space.get("configmap", "one").filter(|it| it["data"]["value"] == "b"));
    space.ready("Fan", "one");
    let took = since.elapsed();
    a_while();
    let mut asked = without_passing(space.requests().split_off(before), 1, took);
    asked.sort();
    assert_eq!(asked, ["patch configmaps one", "patch secrets one", "update fans/status one"]);
}

#[test]
fn drift_is_repaired_with_one_request() {
    let _running = shared();
    let (space, _) = fan_out("drift");
    a_while();
    let before = space.requests().len();
    let since = Instant::now();
    space
        .kubectl(&[
            "patch",
            "configmap",
            "one",
            "--type=merge",
            "-p",
            r#"{"data":{"value":"mine","extra":"kept"}}"#,
        ])
        .unwrap();
    let map =
        until("it is put right", || space.get("configmap", "one").filter(|it| it["data"]["value"] == "a"));
    assert_eq!(map["data"]["extra"], "kept", "fields of others are left");
    space.kubectl(&["delete", "service", "one"]).unwrap();
    until("it is back", || space.get("service", "one"));
    let took = since.elapsed();
    a_while();
    let asked = without_passing(space.requests().split_off(before), 0, took);
    assert_eq!(asked, ["patch configmaps one", "patch services one"]);
}

#[test]
fn a_deletion_without_order_is_left_to_the_garbage_collector() {
    let _running = shared();
    let (space, _) = fan_out("delete");
    a_while();
    let before = space.requests().len();
    space.kubectl(&["delete", &space.kind("Fan"), "one"]).unwrap();
    for kind in ["configmap", "secret", "serviceaccount", "service"] {
        space.gone(kind, "one");
    }
    a_while();
    assert_eq!(space.requests().split_off(before), [""; 0]);
}

#[test]
fn data_flows_along_a_chain_and_removal_goes_back() {
    let _running = shared();
    let space = Space::new("chain");
    space.blueprint("blueprint", CHAIN);
    space.runs("blueprint");
    let since = Instant::now();
    space.instance("Chain", "one", &json!({ "value": "v" }));
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
    a_while();
    let asked = without_passing(space.requests(), 1, took);
    assert_eq!(asked.len(), 5, "three objects, a status, a finalizer: {asked:?}");
    space.kubectl(&["delete", space.kind("Chain").as_str(), "one"]).unwrap();
    space.gone("configmap", "one-a");
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
    space.instance("Chain", "one", &json!({ "value": "v" }));
    space.ready("Chain", "one");
    let took = since.elapsed();
    a_while();
    let asked = without_passing(space.requests(), 1, took);
    assert_eq!(asked.len(), 4, "three objects and a status: {asked:?}");
    let before = space.requests().len();
    space.kubectl(&["delete", space.kind("Chain").as_str(), "one"]).unwrap();
    for name in ["one-a", "one-b", "one-c"] {
        space.gone("configmap", name);
    }
    a_while();
    assert_eq!(space.requests().split_off(before), [""; 0], "it is left to the garbage collector");
}

#[test]
fn a_restart_writes_nothing() {
    let _alone = exclusive();
    let (space, _) = fan_out("restart");
    a_while();
    let before = space.requests().len();
    let since = Instant::now();
    bed().kill();
    bed().start();
    space.kubectl(&["delete", "service", "one"]).unwrap();
    until("it works again", || space.get("service", "one"));
    let took = since.elapsed();
    a_while();
    let asked = without_passing(space.requests().split_off(before), 0, took);
    let writes: Vec<_> =
        asked.iter().filter(|it| !it.starts_with("get") && !it.starts_with("list")).collect();
    assert_eq!(writes, ["patch services one"]);
}

#[test]
fn definitions_of_others_cost_nothing() {
    let _alone = exclusive();
    let (space, _) = fan_out("others");
    let others: Vec<_> =
        (0..30).map(|at| (format!("other{at}s.{}", space.group), format!("other{at}"))).collect();
    let definitions: Vec<_> = others.iter().map(|(name, kind)| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": name },
            "spec": {
                "group": space.group, "scope": "Namespaced",
                "names": { "plural": format!("{kind}s"), "singular": kind, "kind": kind.to_uppercase() },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
                }],
            },
        })
    }).collect();
    let before = asked().len();
    space.apply(&json!({ "apiVersion": "v1", "kind": "List", "items": definitions }));
    bed().kill();
    bed().start();
    space.kubectl(&["delete", "service", "one"]).unwrap();
    until("it works again", || space.get("service", "one"));
    a_while();
    let since = asked().split_off(before);
    assert!(!since.is_empty(), "it was started anew");
    for request in since {
        assert!(!request.resource.starts_with("other"), "{request:?}");
        let of_all = request.resource == "customresourcedefinitions" && request.name.is_none();
        assert!(!of_all, "it asks for those that it needs: {request:?}");
    }
    for (name, _) in &others {
        space.kubectl(&["delete", "crd", name, "--wait=false"]).unwrap();
    }
}
