//! Blueprints that come, change, break, are mended and go while the operator runs.

use std::{fs, process::Command};

use serde_json::json;

use super::{
    bed::{condition, shared, until},
    given::note,
    space::Space,
};

#[test]
fn a_node_that_is_taken_out_takes_its_object_with_it() {
    let _running = shared();
    let space = Space::new("taken-out");
    let two = note("{ v = the.root.spec.value }").replace(
        r#"also = ["map"] },"#,
        r#"also = ["map", "account"] }, account.template = fun the => { apiVersion = "v1", kind = "ServiceAccount", metadata.name = the.root.metadata.name },"#,
    );
    space.blueprint("blueprint", &two);
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    assert!(space.get("serviceaccount", "one").is_some());
    let uid = space.get("configmap", "one").unwrap()["metadata"]["uid"].clone();
    space.blueprint("blueprint", &note("{ v = the.root.spec.value }").replace("map", "renamed"));
    space.gone("serviceaccount", "one");
    space.ready("Note", "one");
    assert_eq!(
        space.get("configmap", "one").unwrap()["metadata"]["uid"],
        uid,
        "a renamed node keeps its object"
    );
}

#[test]
fn a_blueprint_with_instances_is_kept_until_they_are_gone() {
    let _running = shared();
    let space = Space::new("kept");
    space.blueprint("blueprint", &note("{ v = the.root.spec.value }"));
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    until("it is held", || {
        space.get("configmap", "blueprint").filter(|it| it["metadata"]["finalizers"].is_array())
    });
    space.delete_soon("configmap", "blueprint");
    space.sees_blueprints();
    space.instance("Note", "one", &json!({ "value": "b" }));
    until("it still runs", || space.get("configmap", "one").filter(|it| it["data"]["v"] == "b"));
    space.delete(&space.kind("Note"), "one");
    space.gone("configmap", "blueprint");
}

/// What does not fit into a ConfigMap as it is written: bundled, applied and run as by a person.
#[test]
fn a_large_blueprint_is_compressed_and_runs() {
    let _running = shared();
    let space = Space::new("large");
    let folder = tempfile::tempdir().unwrap();
    let words: String = (0..150_000).map(|it| format!("{it:07} ")).collect();
    let main =
        note("{ v = the.root.spec.value, l = std.to_string (std.string.length (import \"words.ncl\")) }");
    fs::write(folder.path().join("main.ncl"), main.replace("GROUP", &space.group)).unwrap();
    fs::write(folder.path().join("words.ncl"), format!("\"{words}\"")).unwrap();
    let bundle = folder.path().join("bundle.yaml");
    let made = Command::new(env!("CARGO_BIN_EXE_pemdas"))
        .args(["bundle", "-n", &space.name, "-o"])
        .args([&bundle, folder.path()])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    space.kubectl(&["apply", "--server-side", "-f", &bundle.to_string_lossy()]).unwrap();
    space.runs("note");
    let map = space.get("configmap", "note").unwrap();
    assert!(map.get("data").is_none() && map["binaryData"]["words.ncl.gz"].is_string(), "{map}");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    assert_eq!(space.get("configmap", "one").unwrap()["data"], json!({ "v": "a", "l": "1200000" }));
    // One that nobody can unpack is told, and what ran runs on.
    space.merge("configmap", "note", &json!({ "binaryData": { "words.ncl.gz": "AAAA" } }));
    let told = until("it is told", || space.told("note").filter(|it| it["problems"][0]["code"] == "PM0015"));
    assert!(told["problems"][0]["message"].as_str().unwrap().contains("\"words.ncl.gz\" in binaryData"));
    assert!(told["revision"].is_string(), "{told}");
    space.instance("Note", "two", &json!({ "value": "b" }));
    space.ready("Note", "two");
}

#[test]
fn a_config_map_that_is_no_blueprint_is_told_so() {
    let _running = shared();
    let space = Space::new("none");
    for (name, source) in
        [("text", "hello there"), ("number", "42"), ("loop", "let rec f = fun x => f x in f 1")]
    {
        space.blueprint(name, source);
        until("it is told", || {
            space.told(name).filter(|it| it["revision"].is_null() && it["problems"][0]["message"].is_string())
        });
    }
    space.apply(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "empty", "labels": { "pemdas.dev/blueprint": "" } },
    }));
    until("it is told", || space.told("empty").filter(|it| it["problems"][0]["message"].is_string()));
}

#[test]
fn a_singleton_is_rooted_at_its_own_config_map() {
    let _running = shared();
    let space = Space::new("singleton");
    space.blueprint("blueprint", r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "singleton",
  nodes.map.template = fun the => {
    apiVersion = "v1", kind = "ConfigMap", metadata.name = "%{the.root.metadata.name}-made", data.made = "yes",
  },
} | Blueprint
"#);
    until("it is made", || space.get("configmap", "blueprint-made"));
    space.delete("configmap", "blueprint");
    space.gone("configmap", "blueprint-made");
}

#[test]
fn a_foreign_root_is_picked_by_its_labels() {
    let _running = shared();
    let space = Space::new("foreign");
    space.blueprint("blueprint", r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "foreign",
  nodes = {
    secret = { root = { apiVersion = "v1", kind = "Secret", selector.matchLabels.copy = "GROUP" }, also = ["map"] },
    map.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = "of-%{the.root.metadata.name}", data.type = the.root.type,
    },
  },
} | Blueprint
"#);
    space.runs("blueprint");
    let secret = |labels: serde_json::Value| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "labels": labels } });
    space.apply(&secret(json!({ "copy": space.group })));
    until("it is made", || space.get("configmap", "of-s"));
    // It leaves the selector, and lives on.
    space.apply(&secret(json!({ "copy": "no" })));
    space.gone("configmap", "of-s");
    assert!(space.get("secret", "s").is_some());
    space.apply(&secret(json!({ "copy": space.group })));
    until("it is made again", || space.get("configmap", "of-s"));
}

#[test]
fn an_error_in_a_template_is_told_and_harms_nobody_else() {
    let _running = shared();
    let space = Space::new("error");
    space.blueprint(
        "blueprint",
        &note(
            "{ v = if the.root.spec.value == \"bad\" then std.fail_with \"it is bad\" else the.root.spec.value }",
        ),
    );
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "bad" }));
    space.instance("Note", "two", &json!({ "value": "good" }));
    space.ready("Note", "two");
    let note = space.stalls("Note", "one", "map");
    assert_eq!(condition(&note, "Ready")["status"], "False");
    space.instance("Note", "one", &json!({ "value": "mended" }));
    space.ready("Note", "one");
}
