//! Who makes the definitions of kinds, and whose a kind is.

use serde_json::{Value, json};

use super::{
    bed::{bed, shared, until},
    space::Space,
};

const NOTE: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "note",
  kinds.Note = { group = "GROUP", versions.v1.spec = { value | String | doc "A value" } },
  nodes = {
    instance = { root = kinds.Note, also = ["map"] },
    map.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = "%{the.root.metadata.name}-NAME", data.v = the.root.spec.value,
    },
  },
} | Blueprint
"#;

/// Applies a blueprint that says who makes its definitions.
fn blueprint(space: &Space, name: &str, policy: &str) {
    blueprint_of(space, name, policy, &NOTE.replace("GROUP", &space.group).replace("NAME", name));
}

fn blueprint_of(space: &Space, name: &str, policy: &str, source: &str) {
    space.apply(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": name, "labels": { "pemdas.dev/blueprint": "" }, "annotations": { "pemdas.dev/crds": policy },
        },
        "data": { "main.ncl": source },
    }));
}

fn crd(space: &Space) -> String {
    format!("notes.{}", space.group)
}

/// Makes the CRD as a hand would: without a word of who made it.
fn definition_of_somebody(space: &Space) {
    space.apply(&definition_as_drafted(space));
}

fn definition_as_drafted(space: &Space) -> Value {
    let maker = Space::new(&format!("{}-maker", space.name));
    maker.blueprint("blueprint", &NOTE.replace("NAME", "map"));
    maker.runs("blueprint");
    let mut there = maker.get("crd", &crd(&maker)).unwrap();
    there["metadata"] = json!({ "name": crd(space) });
    there["spec"]["group"] = json!(space.group);
    there.as_object_mut().unwrap().remove("status");
    there
}

/// What is made from now on is younger than a blueprint: ages are counted in seconds. Only the clock tells.
fn a_second_younger(space: &Space, than: &str) {
    let made = space.get("configmap", than).unwrap()["metadata"]["creationTimestamp"].clone();
    until("a second has begun", || {
        space.creates(&json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "clock" } }));
        let now = space.get("configmap", "clock")?["metadata"]["creationTimestamp"].clone();
        space.delete("configmap", "clock");
        (now != made).then_some(())
    });
}

fn says(space: &Space, name: &str, words: &str) -> Value {
    until(&format!("{name} says: {words}"), || {
        space
            .told(name)
            .filter(|it| it["definitions"][crd(space)].as_str().is_some_and(|it| it.contains(words)))
    })
}

#[test]
fn published_definitions_are_taken_from_the_config_map() {
    let _running = shared();
    let space = Space::new("publish");
    blueprint(&space, "blueprint", "publish");
    says(&space, "blueprint", "somebody has to apply");
    assert!(space.get("crd", &crd(&space)).is_none(), "nobody but a human makes it");
    let published = until("it is published", || {
        let map = space.get("configmap", "blueprint")?;
        map["metadata"]["annotations"]["pemdas.dev/definitions"].as_str().map(str::to_owned)
    });
    bed().cluster.apply(&published).unwrap();
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    // Somebody who wants it otherwise says so, and what was published goes.
    blueprint(&space, "blueprint", "create");
    until("it is taken back", || {
        let map = space.get("configmap", "blueprint")?;
        map["metadata"]["annotations"]["pemdas.dev/definitions"].is_null().then_some(())
    });
    space.ready("Note", "one");
}

#[test]
fn an_awaited_definition_is_picked_up_and_its_return_too() {
    let _running = shared();
    let (space, other) = (Space::new("await"), Space::new("await-other"));
    blueprint(&space, "blueprint", "await");
    says(&space, "blueprint", "somebody has to apply");
    other.blueprint("blueprint", &NOTE.replace("NAME", "map"));
    other.runs("blueprint");
    other.instance("Note", "one", &json!({ "value": "a" }));
    other.ready("Note", "one");
    // The same definition, made by a hand: without a word of who made it.
    let mut there = other.get("crd", &crd(&other)).unwrap();
    there["metadata"] = json!({ "name": crd(&space) });
    there["spec"]["group"] = json!(space.group);
    there.as_object_mut().unwrap().remove("status");
    space.apply(&there);
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    space.delete("crd", &crd(&space));
    says(&space, "blueprint", "somebody has to apply");
    space.apply(&there);
    space.runs("blueprint");
    // The garbage collector may not have met the kind while it was there: then it ends what is left once the kind is back.
    space.gone("configmap", "one-blueprint");
    space.instance("Note", "two", &json!({ "value": "b" }));
    space.ready("Note", "two");
    other.instance("Note", "one", &json!({ "value": "b" }));
    other.ready("Note", "one");
}

#[test]
fn a_definition_that_disappears_is_made_again() {
    let _running = shared();
    let space = Space::new("again");
    blueprint(&space, "blueprint", "create");
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    let uid = space.get("crd", &crd(&space)).unwrap()["metadata"]["uid"].clone();
    space.delete("crd", &crd(&space));
    until("it is made again", || space.get("crd", &crd(&space)).filter(|it| it["metadata"]["uid"] != uid));
    space.gone("configmap", "one-blueprint");
    space.instance("Note", "two", &json!({ "value": "b" }));
    space.ready("Note", "two");
}

#[test]
fn a_second_blueprint_that_owns_the_same_kind_serves_nothing_of_it() {
    let _running = shared();
    let space = Space::new("owners");
    blueprint(&space, "first", "create");
    space.runs("first");
    blueprint(&space, "second", "create");
    says(&space, "second", &format!("belongs to the blueprint {}/first", space.name));
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    space.passes_by("Note", |turn| json!({ "value": turn }));
    assert!(space.get("configmap", "one-second").is_none(), "it is the first one's");
}

#[test]
fn of_two_blueprints_that_await_a_kind_the_older_has_it_and_the_other_inherits_it() {
    let _running = shared();
    let space = Space::new("awaiting");
    definition_of_somebody(&space);
    blueprint(&space, "older", "await");
    space.runs("older");
    a_second_younger(&space, "older");
    blueprint(&space, "newer", "await");
    says(&space, "newer", &format!("belongs to the blueprint {}/older", space.name));
    space.instance("Note", "one", &json!({ "value": "a" }));
    until("the older serves it", || space.get("configmap", "one-older"));
    space.passes_by("Note", |turn| json!({ "value": turn }));
    assert!(space.get("configmap", "one-newer").is_none());
    space.takes_the_marker_away("Note");
    space.delete(&space.kind("Note"), "one");
    space.delete("configmap", "older");
    space.instance("Note", "two", &json!({ "value": "a" }));
    until("the newer serves it", || space.get("configmap", "two-newer"));
}

#[test]
fn an_older_blueprint_of_which_nothing_can_run_keeps_a_kind_from_nobody() {
    let _running = shared();
    let space = Space::new("awaiting-broken");
    definition_of_somebody(&space);
    blueprint_of(&space, "older", "await", "{ name = ");
    a_second_younger(&space, "older");
    blueprint(&space, "newer", "await");
    space.runs("newer");
    space.instance("Note", "one", &json!({ "value": "a" }));
    until("the newer serves it", || space.get("configmap", "one-newer"));
}

/// Somebody made the CRD with `kubectl`, and it lacks a field. The blueprint says what differs and what to do.
#[test]
fn an_awaited_definition_that_does_not_fit_is_told_and_served_once_it_does() {
    let _running = shared();
    let space = Space::new("unfit");
    let mut there = definition_as_drafted(&space);
    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    let spec = there.pointer_mut(schema).unwrap();
    spec["properties"] = json!({ "other": { "type": "string" } });
    spec.as_object_mut().unwrap().remove("required");
    space.apply(&there);
    blueprint(&space, "blueprint", "await");
    says(&space, "blueprint", "value");
    until("an Event says so", || space.events().contains("does not serve revision").then_some(()));
    // What the message says: apply what `pemdas crds` writes.
    let folder = tempfile::tempdir().unwrap();
    let source = NOTE.replace("GROUP", &space.group).replace("NAME", "blueprint");
    std::fs::write(folder.path().join("main.ncl"), source).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pemdas"))
        .arg("crds")
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let file = folder.path().join("crds.yaml");
    std::fs::write(&file, output.stdout).unwrap();
    let file = file.to_string_lossy().into_owned();
    let apply = ["apply", "--server-side", "--force-conflicts", "-f", &file];
    bed().cluster.kubectl(&apply).unwrap();
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
}
