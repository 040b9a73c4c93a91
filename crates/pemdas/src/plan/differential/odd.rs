//! Blueprints that nobody would write, one for each thing that a plan has to know. Each goes through some versions of its root and to its end.

use serde_json::{Value, json};

use super::Subject;
use pemdas_sim::Scenario;

/// A blueprint with a kind of its own, or whatever else its first node says.
fn subject(name: &'static str, nodes: &str, given: Vec<Value>) -> Subject {
    let text = format!(
        r#"let {{ Blueprint, Int, Any, Absent, Available, Complete, Failed, at, not, record_of, .. }} = import "pemdas/v1.ncl" in
let map = fun name_ data_ => {{ apiVersion = "v1", kind = "ConfigMap", metadata.name = name_, data = data_ }} in
{{
  name = "{name}",
  kinds.Odd = {{
    group = "odd.example.com",
    versions.v1.spec = {{
      size | Int | default = 1,
      names | Array String | default = [],
      on | Bool | default = false,
      other | Bool | default = false,
    }},
  }},
  nodes = {{
{nodes}
  }},
}} | Blueprint
"#
    );
    let files = [("main.ncl".to_owned(), text)].into();
    Subject { name, files, account: None, given, scenario: Scenario::default(), exact: true }
}

fn odd(spec: &Value) -> Value {
    let metadata = json!({ "name": "it", "namespace": "default" });
    json!({ "apiVersion": "odd.example.com/v1", "kind": "Odd", "metadata": metadata, "spec": spec })
}

fn config_map(name: &str, labels: &Value, data: &Value) -> Value {
    let metadata = json!({ "name": name, "namespace": "default", "labels": labels });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data })
}

/// An instance goes through these versions, and to its end.
fn played(subject: &Subject, versions: &[Value]) {
    let mut stage = subject.begin();
    for version in versions {
        stage.apply(version);
    }
    stage.delete(&versions[0]);
}

#[test]
fn a_node_that_observes_its_own_root() {
    let nodes = r#"
    app = { root = kinds.Odd, also = ["made", "watched"] },
    itself = { observe = fun the => { apiVersion = "odd.example.com/v1", kind = "Odd", name = the.root.metadata.name }, ready = Any },
    made = {
      before.itself.extract = fun live => { text = "%{live.spec.size}" },
      template = fun the => map "made" { size = std.string.from_number the.root.spec.size, seen = the.itself.text },
    },
    watched = {
      before.itself.until = { status.observedGeneration = 1 },
      template = fun _the => map "watched" { a = "b" },
    },"#;
    let nodes = nodes.replace("%{live.spec.size}", "%{std.string.from_number live.spec.size}");
    played(&subject("itself", &nodes, vec![]), &[odd(&json!({ "size": 2 })), odd(&json!({ "size": 3 }))]);
}

#[test]
fn conditions_that_lead_to_conditions() {
    let nodes = r#"
    foo = { root = kinds.Odd, also.a.when = fun the => the.root.spec.on },
    a = { also.b.when = fun the => the.root.spec.other, before.b = {}, template = fun _the => map "a" {} },
    b = { template = fun _the => map "b" {} },"#;
    let versions = [(true, true), (true, false), (false, true), (true, true)];
    let versions = versions.map(|(on, other)| odd(&json!({ "on": on, "other": other })));
    played(&subject("needs", nodes, vec![]), &versions);
}

#[test]
fn members_that_come_and_go() {
    let nodes = r#"
    app = { root = kinds.Odd, also = ["first", "units", "doors", "last"] },
    first = { template = fun _the => { apiVersion = "apps/v1", kind = "Deployment", metadata.name = "first", spec = {
      selector.matchLabels.a = "b", template = { metadata.labels.a = "b", spec.containers = [{ name = "a", image = "i" }] } } } },
    units = {
      for_each = fun the => record_of (std.array.map (fun it => { field = it, value = { name = it } }) the.root.spec.names),
      before = ["first"],
      template = fun the => map "unit-%{the.each.key}" { size = std.string.from_number the.root.spec.size },
    },
    doors = {
      for_each = fun the => record_of (std.array.map (fun it => { field = it, value = { name = it } }) the.root.spec.names),
      before.units.each = true,
      template = fun the => map "door-%{the.each.key}" { a = the.each.value.name },
    },
    last = { before = ["doors"], template = fun _the => map "last" {} },"#;
    let names = |names: &[&str], size: u32| odd(&json!({ "names": names, "size": size }));
    let versions = [names(&["x", "y"], 1), names(&["y", "z"], 2), names(&[], 2), names(&["a"], 2)];
    played(&subject("members", nodes, vec![]), &versions);
}

#[test]
fn selectors_and_values() {
    let nodes = r#"
    app = { root = kinds.Odd, also = ["made", "also_made", "none"] },
    many = { observe = fun _the => { apiVersion = "v1", kind = "ConfigMap", selector.matchLabels.odd = "yes" } },
    none = { observe = fun _the => { apiVersion = "v1", kind = "Secret", selector.matchLabels.odd = "yes" } },
    sum = {
      before.many.extract = fun live => { names = std.record.fields live },
      value = fun the => { text = std.string.join "," the.many.names },
    },
    made = {
      before.sum.extract = fun value => value,
      template = fun the => map "made" { names = the.sum.text },
    },
    also_made = { before = ["none", "made"], template = fun _the => map "also-made" {} },"#;
    let given = vec![
        config_map("one", &json!({ "odd": "yes" }), &json!({ "a": "1" })),
        config_map("two", &json!({ "odd": "yes" }), &json!({ "a": "2" })),
        config_map("three", &json!({ "odd": "no" }), &json!({ "a": "3" })),
    ];
    played(&subject("selectors", nodes, given), &[odd(&json!({}))]);
}

#[test]
fn a_deletion_with_nodes_of_its_own() {
    let nodes = r#"
    app = { root = kinds.Odd, also = ["base", "top"], deleting = { saved = {}, told.when = fun the => the.root.spec.on } },
    base = { template = fun _the => map "base" {} },
    top = { before = ["base"], template = fun _the => map "top" {} },
    saved = {
      once = { done = Complete },
      fails = Failed,
      template = fun _the => { apiVersion = "batch/v1", kind = "Job", metadata.name = "save", spec.template.spec = {
        restartPolicy = "Never", containers = [{ name = "a", image = "i" }] } },
    },
    told = { before = ["saved"], template = fun _the => map "told" {} },"#;
    for on in [false, true] {
        played(&subject("deleting", nodes, vec![]), &[odd(&json!({ "on": on }))]);
    }
}

#[test]
fn states_and_onces() {
    let nodes = r#"
    app = { root = kinds.Odd, also = ["drained", "migrated", "serving"] },
    drained = {
      state_of = "serving",
      key = fun the => the.root.spec.size,
      first = 'Skip,
      template = fun _the => { spec.replicas = 0 },
      ready = not { status.replicas = 1 },
    },
    migrated = {
      before = ["drained"],
      once = { done = Complete },
      key = fun the => the.root.spec.size,
      fails = Failed,
      template = fun the => { apiVersion = "batch/v1", kind = "Job", metadata.name = "migrate", spec.template.spec = {
        restartPolicy = "Never", containers = [{ name = "a", image = "i:%{std.string.from_number the.root.spec.size}" }] } },
    },
    serving = {
      before = ["migrated"],
      template = fun the => { apiVersion = "apps/v1", kind = "Deployment", metadata.name = "serving", spec = {
        replicas = 1, selector.matchLabels.a = "b",
        template = { metadata.labels.a = "b", spec.containers = [{ name = "a", image = "i:%{std.string.from_number the.root.spec.size}" }] } } },
      ready = Available,
    },"#;
    played(&subject("states", nodes, vec![]), &[odd(&json!({ "size": 1 })), odd(&json!({ "size": 2 }))]);
}

#[test]
fn what_must_be_absent_and_what_is_elsewhere() {
    let nodes = r#"
    app = { root = kinds.Odd, also = ["elsewhere", "gone", "after"] },
    elsewhere = { template = fun the => map "there-%{std.string.from_number the.root.spec.size}" {} & { metadata.namespace = "other" } },
    gone = { before = ["elsewhere"], absent = fun _the => { apiVersion = "v1", kind = "ConfigMap", name = "old" } },
    after = { before.gone.until = Absent, template = fun _the => map "after" {} },"#;
    let given = vec![
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "other" } }),
        config_map("old", &json!({}), &json!({ "a": "b" })),
    ];
    played(&subject("absent", nodes, given), &[odd(&json!({ "size": 1 })), odd(&json!({ "size": 2 }))]);
}

#[test]
fn what_is_in_the_way_and_what_waits_for_it() {
    let nodes = r#"
    app = { root = kinds.Odd, also = ["taken", "adopted", "waits", "never", "free"] },
    taken = { template = fun _the => map "taken" { a = "ours" } },
    adopted = { own = 'Adopt, template = fun _the => map "adopted" { a = "ours" } },
    waits = { before = ["taken"], template = fun _the => map "waits" {} },
    never = { before.free.until = { data.go = "yes" }, template = fun _the => map "never" {} },
    free = { template = fun _the => map "free" {} },"#;
    let given = vec![
        config_map("taken", &json!({}), &json!({ "a": "theirs" })),
        config_map("adopted", &json!({ "x": "y" }), &json!({ "a": "theirs" })),
    ];
    played(&subject("in-the-way", nodes, given), &[odd(&json!({}))]);
}

#[test]
fn what_the_same_is_wanted_of_is_adopted() {
    let nodes = r#"
    app = { root = kinds.Odd, also = ["adopted"] },
    adopted = { own = 'Adopt, on_delete = 'Orphan, template = fun _the => map "adopted" { a = "b", c = "d" } },"#;
    let given = vec![config_map("adopted", &json!({ "x": "y" }), &json!({ "a": "b", "e": "f" }))];
    played(&subject("adoption", nodes, given), &[odd(&json!({}))]);
}

#[test]
fn kinds_of_others_outside_of_namespaces() {
    let nodes = r#"
    zone = { root = { apiVersion = "zones.example.com/v1", kind = "Zone", selector.matchLabels.odd = "yes" }, also = ["part", "note", "last"] },
    part = { template = fun the => { apiVersion = "zones.example.com/v1", kind = "Zone", metadata.name = "%{the.root.metadata.name}-part" } },
    note = { template = fun the => map "note" { zone = the.root.metadata.name } & { metadata.namespace = "default" } },
    last = { before = ["part"], template = fun the => map "last" {} & { metadata.namespace = "default" } },"#;
    let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let schema = json!({ "type": "object", "properties": { "spec": anything, "status": anything } });
    let version =
        json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } });
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "zones.zones.example.com" },
        "spec": {
            "group": "zones.example.com", "scope": "Cluster", "versions": [version],
            "names": { "kind": "Zone", "plural": "zones", "singular": "zone", "listKind": "ZoneList" },
        },
    });
    let metadata = json!({ "name": "north", "labels": { "odd": "yes" } });
    let zone = json!({ "apiVersion": "zones.example.com/v1", "kind": "Zone", "metadata": metadata });
    played(&subject("zones", nodes, vec![crd]), &[zone]);
}

#[test]
fn what_goes_without_order() {
    let nodes = r#"
    app = { root = kinds.Odd, also = ["a", "b"] },
    a = { template = fun the => map "a-%{std.string.from_number the.root.spec.size}" {} },
    b = { before.a.removal = 'Any, template = fun _the => map "b" {} },"#;
    played(&subject("unordered", nodes, vec![]), &[odd(&json!({ "size": 1 })), odd(&json!({ "size": 2 }))]);
}
