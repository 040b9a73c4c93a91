//! Whose an object is, and who is asked before it is touched.

use serde_json::json;

use super::{
    bed::{condition, shared, until},
    given::{CHAIN, allow},
    space::Space,
};

const NOTE: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "note",
  kinds.Note = { group = "GROUP", versions.v1.spec = { value | String | doc "A value", name | String | doc "The name of the map" } },
  nodes = {
    instance = { root = kinds.Note, also = ["map"] },
    map = {
      OWN
      template = fun the => {
        apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.spec.name, data.value = the.root.spec.value,
      },
    },
  },
} | Blueprint
"#;

fn map(name: &str, value: &str) -> serde_json::Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "value": value } })
}

fn note_of_a_marker(turn: &str) -> serde_json::Value {
    json!({ "value": turn, "name": "marker" })
}

#[test]
fn an_object_that_is_there_already_is_not_touched() {
    let _running = shared();
    let space = Space::new("exists");
    space.apply(&map("taken", "somebody's"));
    space.blueprint("blueprint", &NOTE.replace("OWN", ""));
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "ours", "name": "taken" }));
    let note = space.stalls("Note", "one", "exists and is not ours");
    assert_eq!(condition(&note, "Stalled")["reason"], "Exists");
    assert_eq!(space.get("configmap", "taken").unwrap()["data"]["value"], "somebody's");
    let events = space.events();
    assert!(events.contains("exists and is not ours"), "{events}");
    space.delete("configmap", "taken");
    space.ready("Note", "one");
    assert_eq!(space.get("configmap", "taken").unwrap()["data"]["value"], "ours");
}

#[test]
fn an_object_is_adopted_when_the_blueprint_says_so() {
    let _running = shared();
    let space = Space::new("adopt");
    space.apply(&map("taken", "ours"));
    space.blueprint("blueprint", &NOTE.replace("OWN", "own = 'Adopt, conflict = 'Force,"));
    space.runs("blueprint");
    let uid = space.get("configmap", "taken").unwrap()["metadata"]["uid"].clone();
    space.instance("Note", "one", &json!({ "value": "new", "name": "taken" }));
    space.ready("Note", "one");
    let taken = space.get("configmap", "taken").unwrap();
    assert_eq!((&taken["metadata"]["uid"], &taken["data"]["value"]), (&uid, &json!("new")));
}

/// The accident: whoever applies an object with `labels: {}` owns the labels as a whole, and it was refused for ever.
#[test]
fn an_object_whose_labels_are_another_ones_is_reported_until_they_are_given_up() {
    let _running = shared();
    let space = Space::new("adopt-labels");
    let taken = |metadata: serde_json::Value| {
        space.apply_as(
            "person",
            &json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "value": "ours" } }),
        );
    };
    taken(json!({ "name": "taken", "labels": {} }));
    space.blueprint("blueprint", &NOTE.replace("OWN", "own = 'Adopt,"));
    space.runs("blueprint");
    let uid = space.get("configmap", "taken").unwrap()["metadata"]["uid"].clone();
    space.instance("Note", "one", &json!({ "value": "ours", "name": "taken" }));
    let stalled = condition(&space.stalls("Note", "one", "metadata.labels (person)"), "Stalled");
    assert_eq!(stalled["reason"], "Conflict", "{stalled}");
    let events = space.events();
    assert!(events.contains("Conflict: metadata.labels (person)"), "{events}");
    taken(json!({ "name": "taken" }));
    space.ready("Note", "one");
    let taken = space.get("configmap", "taken").unwrap();
    assert_eq!(taken["metadata"]["uid"], uid);
}

#[test]
fn two_instances_never_share_an_object() {
    let _running = shared();
    let space = Space::new("two");
    space.blueprint("blueprint", &NOTE.replace("OWN", ""));
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "one's", "name": "same" }));
    space.ready("Note", "one");
    space.instance("Note", "two", &json!({ "value": "two's", "name": "same" }));
    space.stalls("Note", "two", "belongs to another instance");
    space.passes_by("Note", note_of_a_marker);
    assert_eq!(space.get("configmap", "same").unwrap()["data"]["value"], "one's");
    space.delete(&space.kind("Note"), "one");
    space.ready("Note", "two");
    assert_eq!(space.get("configmap", "same").unwrap()["data"]["value"], "two's");
}

#[test]
fn a_renamed_object_is_made_before_the_old_one_goes() {
    let _running = shared();
    let space = Space::new("rename");
    space.blueprint("blueprint", &NOTE.replace("OWN", ""));
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "v", "name": "old" }));
    space.ready("Note", "one");
    space.instance("Note", "one", &json!({ "value": "v", "name": "new" }));
    space.gone("configmap", "old");
    space.passes_by("Note", note_of_a_marker);
    let writes = space.writes();
    let at =
        |what: &str| writes.iter().position(|it| it == what).unwrap_or_else(|| panic!("{what}: {writes:?}"));
    assert!(at("patch configmaps new") < at("delete configmaps old"));
    space.ready("Note", "one");
}

#[test]
fn a_root_deleted_without_its_objects_leaves_them() {
    let _running = shared();
    let space = Space::new("orphan");
    space.blueprint("blueprint", CHAIN);
    space.runs("blueprint");
    space.instance("Chain", "one", &json!({ "value": "v" }));
    space.ready("Chain", "one");
    let kind = space.kind("Chain");
    space.delete_alone(&kind, "one");
    space.settles("Chain", |turn| json!({ "value": turn }));
    assert_eq!(space.names("configmap"), ["blueprint", "one-a", "one-b", "one-c"]);
}

#[test]
fn what_arrives_after_the_end_of_its_instance_is_taken_away_and_what_is_restored_stays() {
    let _running = shared();
    let space = Space::new("late");
    space.blueprint("blueprint", &NOTE.replace("OWN", ""));
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "v", "name": "map" }));
    space.ready("Note", "one");
    let was = space.get("configmap", "map").unwrap();
    let instance = was["metadata"]["labels"]["pemdas.dev/root"].as_str().unwrap();
    let manager = format!("pemdas-{instance}");
    let kind = space.kind("Note");
    space.delete(&kind, "one");
    space.gone("configmap", "map");

    let copy = |name: &str| {
        let mut copy = map(name, "v");
        copy["metadata"]["labels"] = was["metadata"]["labels"].clone();
        copy["metadata"]["annotations"] = was["metadata"]["annotations"].clone();
        copy
    };
    space.apply(&copy("restored"));
    // Some backups bring the notes of managers back as well, after the object.
    space.apply(&copy("restored-with-notes"));
    let notes = json!({ "metadata": { "managedFields": [{
        "manager": manager, "operation": "Apply", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1", "fieldsV1": { "f:data": { "f:value": {} } },
    }] } });
    space.merge("configmap", "restored-with-notes", &notes);
    let get = ["get", "configmap", "restored-with-notes", "-o", "json", "--show-managed-fields"];
    assert!(space.kubectl(&get).unwrap().contains(&manager), "the server keeps the notes");
    // The request of a copy that does not lead any more.
    space.apply_as(&manager, &copy("late"));
    space.gone("configmap", "late");
    space.settles("Note", note_of_a_marker);
    assert_eq!(space.names("configmap"), ["blueprint", "restored", "restored-with-notes"]);
}

#[test]
fn an_account_that_may_not_is_told_by_name() {
    let _running = shared();
    let space = Space::poor("poor");
    allow(
        &space,
        &[
            json!({ "apiGroups": [space.group], "resources": ["*"], "verbs": ["*"] }),
            json!({ "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["*"] }),
            json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"] }),
        ],
    );
    space.blueprint("blueprint", &NOTE.replace("OWN", ""));
    space.runs("blueprint");
    let told = until("it is told", || {
        space.told("blueprint").filter(|it| it["missing"].as_array().is_some_and(|it| !it.is_empty()))
    });
    let missing = told["missing"].to_string();
    assert!(missing.contains("create configmaps") && !missing.contains("list configmaps"), "{missing}");
    space.instance("Note", "one", &json!({ "value": "v", "name": "map" }));
    let note = until("the refusal is told", || {
        space.get(&space.kind("Note"), "one").filter(|it| it["status"].to_string().contains("forbidden"))
    });
    assert_eq!(condition(&note, "Ready")["status"], "False");
    assert!(space.get("configmap", "map").is_none());
}
