//! Ends and beginnings: namespaces that end, roots that leave what they made, finalizers of others, names that are used
//! again, definitions that go and come.

use serde_json::json;

use super::{
    bed::{condition, until},
    hands::TASK,
    input::NOTE,
    operators::{Plan, warned},
    space::Space,
};

#[test]
fn a_namespace_that_is_deleted_ends_with_everything_in_it() {
    let (space, other) = (Space::new("ending"), Space::new("staying"));
    let _operator = Plan::over(&[&space, &other]).start();
    space.blueprint("blueprint", TASK);
    space.runs("blueprint");
    other.blueprint("blueprint", NOTE);
    other.runs("blueprint");
    space.instance("Task", "one", &json!({ "version": "1" }));
    space.ready("Task", "one");
    // In the middle of another attempt.
    space.instance("Task", "one", &json!({ "version": "2" }));
    space.delete("namespace", &space.name);
    other.instance("Note", "one", &json!({ "value": "a" }));
    other.ready("Note", "one");
}

#[test]
fn what_a_root_left_behind_is_not_taken_by_the_next_of_its_name() {
    let space = Space::new("left");
    let _operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", NOTE);
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    let kind = space.kind("Note");
    space.delete_alone(&kind, "one");
    space.gone(&kind, "one");
    assert_eq!(space.get("configmap", "one").unwrap()["data"]["value"], "a");
    space.instance("Note", "one", &json!({ "value": "b" }));
    let note = until("it says why", || {
        space.get(&kind, "one").filter(|it| condition(it, "Stalled")["status"] == "True")
    });
    let message = condition(&note, "Stalled")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("one"), "{message}");
    warned(&space, "one", "");
    assert_eq!(space.get("configmap", "one").unwrap()["data"]["value"], "a", "it is not touched");
}

#[test]
fn finalizers_of_others_are_waited_for() {
    let space = Space::new("finalizers");
    let _operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", TASK);
    space.runs("blueprint");
    space.instance("Task", "one", &json!({ "version": "1" }));
    space.ready("Task", "one");
    const HOLD: &str = "example.com/hold";
    let free = json!({ "metadata": { "finalizers": null } });
    space.merge("configmap", "one-after", &json!({ "metadata": { "finalizers": [HOLD] } }));
    let kind = space.kind("Task");
    space.delete_soon(&kind, "one");
    until("it is being deleted", || {
        space.get("configmap", "one-after").filter(|it| it["metadata"]["deletionTimestamp"].is_string())
    });
    // What comes before it waits, and so does the root.
    assert!(
        space.get("configmap", "one-before").is_some_and(|it| it["metadata"]["deletionTimestamp"].is_null())
    );
    assert!(space.get(&kind, "one").is_some());
    space.merge("configmap", "one-after", &free);
    space.gone(&kind, "one");
    assert!(space.get("configmap", "one-before").is_none());
    // A root that others hold is left alone when we are through with it.
    space.instance("Task", "two", &json!({ "version": "1" }));
    space.ready("Task", "two");
    let mut held = space.get(&kind, "two").unwrap()["metadata"]["finalizers"].clone();
    held.as_array_mut().unwrap().push(json!(HOLD));
    space.merge(&kind, "two", &json!({ "metadata": { "finalizers": held } }));
    space.delete_soon(&kind, "two");
    space.gone("configmap", "two-before");
    until("only the other's finalizer is left", || {
        space.get(&kind, "two").filter(|it| it["metadata"]["finalizers"] == json!([HOLD]))
    });
    let before = space.requests().len();
    space.settles("Task", |turn| json!({ "version": turn }));
    assert_eq!(space.requests().len(), before, "nothing is asked while it is held");
    space.merge(&kind, "two", &free);
    space.gone(&kind, "two");
}

#[test]
fn another_object_under_the_same_name_is_another_object() {
    let space = Space::new("uid");
    let _operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", NOTE);
    space.runs("blueprint");
    let kind = space.kind("Note");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    let first = space.get("configmap", "one").unwrap()["metadata"]["uid"].clone();
    // A root that goes and comes back at once: what is there belongs to the old one until it is gone.
    space.delete(&kind, "one");
    space.instance("Note", "one", &json!({ "value": "b" }));
    space.ready("Note", "one");
    let map = space.get("configmap", "one").unwrap();
    assert_eq!(map["data"]["value"], "b");
    assert_ne!(map["metadata"]["uid"], first);
    // Somebody deletes our object and puts their own there at once.
    let data = json!({ "value": "theirs" });
    let theirs =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "one" }, "data": data });
    // Whoever is quicker: either it is theirs, and told, or ours was there first and stays.
    space.delete_soon("configmap", "one");
    let won = space.creates(&theirs);
    if won && space.get("configmap", "one").unwrap()["metadata"]["labels"].is_null() {
        space.stalls("Note", "one", "is not ours");
        assert_eq!(space.get("configmap", "one").unwrap()["data"]["value"], "theirs");
        space.delete("configmap", "one");
    }
    until("it is ours again", || space.get("configmap", "one").filter(|it| it["data"]["value"] == "b"));
    space.ready("Note", "one");
}

#[test]
fn a_definition_that_goes_and_comes_back_does_no_harm() {
    let space = Space::new("definition");
    let _operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", NOTE);
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    let crd = format!("notes.{}", space.group);
    for round in ["b", "c"] {
        space.delete("crd", &crd);
        // It is made again by the blueprint that owns it; its objects went with it.
        until("it is served again", || {
            space.get("crd", &crd).filter(|it| condition(it, "Established")["status"] == "True")
        });
        space.gone("configmap", "one");
        space.instance("Note", "one", &json!({ "value": round }));
        space.ready("Note", "one");
        until("it is made", || space.get("configmap", "one").filter(|it| it["data"]["value"] == round));
    }
}

#[test]
fn what_is_in_the_way_is_told_and_adopted_only_where_the_blueprint_says_so() {
    let space = Space::new("adopted");
    let _operator = Plan::over(&[&space]).start();
    space.apply(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "one" }, "data": { "value": "theirs", "more": "kept" },
    }));
    space.blueprint("blueprint", NOTE);
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    let note = space.stalls("Note", "one", "is not ours");
    assert_eq!(condition(&note, "Stalled")["reason"], "Exists");
    warned(&space, "one", "is not ours");
    assert_eq!(space.get("configmap", "one").unwrap()["data"]["value"], "theirs");
    space.blueprint(
        "blueprint",
        &NOTE.replace("map.template", "map.own = 'Adopt, map.conflict = 'Force, map.template"),
    );
    let map =
        until("it is adopted", || space.get("configmap", "one").filter(|it| it["data"]["value"] == "a"));
    assert_eq!(map["data"]["more"], "kept");
    space.ready("Note", "one");
}
