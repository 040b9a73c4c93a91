//! Blueprints that go, in order or torn away.

use serde_json::json;

use super::{bed::until, given::CHAIN, operators::Plan, space::Space};

#[test]
fn a_blueprint_that_is_being_deleted_starts_nothing_new() {
    let space = Space::new("going");
    let _operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", CHAIN);
    space.runs("blueprint");
    space.instance("Chain", "old", &json!({ "value": "a" }));
    space.ready("Chain", "old");
    until("it is held", || {
        space.get("configmap", "blueprint").filter(|it| it["metadata"]["finalizers"].is_array())
    });
    space.delete_soon("configmap", "blueprint");
    until("it is going", || {
        space.get("configmap", "blueprint").filter(|it| it["metadata"]["deletionTimestamp"].is_string())
    });
    space.sees_blueprints();
    space.instance("Chain", "new", &json!({ "value": "a" }));
    until("it is told", || space.events().contains("is being deleted and starts nothing new").then_some(()));
    assert!(space.get("configmap", "new-a").is_none());
    // What it has, it looks after.
    space.instance("Chain", "old", &json!({ "value": "b" }));
    until("it is changed", || {
        space.get("configmap", "old-a").filter(|it| it["data"]["value"].as_str().unwrap().starts_with("b "))
    });
    space.delete(&space.kind("Chain"), "old");
    until(&format!("the blueprint is gone, of which is told: {:?}", space.told("blueprint")), || {
        space.get("configmap", "blueprint").is_none().then_some(())
    });
    until("its revisions are gone", || space.names("controllerrevision").is_empty().then_some(()));
    // And the root that was passed over is nobody's.
    space.delete(&space.kind("Chain"), "new");
}

/// Takes a ConfigMap away without asking anybody.
fn tear_away(space: &Space) {
    space.delete_soon("configmap", "blueprint");
    // It may be gone already.
    let free = json!({ "metadata": { "finalizers": null } });
    let _gone = Space::client().merge(&space.path("configmap", "blueprint"), &free);
    space.gone("configmap", "blueprint");
}

#[test]
fn what_is_left_of_a_blueprint_that_was_torn_away_can_be_deleted() {
    let space = Space::new("torn");
    let _operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", CHAIN);
    space.runs("blueprint");
    for name in ["one", "two"] {
        space.instance("Chain", name, &json!({ "value": "a" }));
        space.ready("Chain", name);
    }
    tear_away(&space);
    space.sees_blueprints();
    // Nothing is changed any more, and nothing is stuck.
    assert_eq!(space.names("configmap"), ["one-a", "one-b", "one-c", "two-a", "two-b", "two-c"]);
    space.delete(&space.kind("Chain"), "one");
    assert_eq!(space.names("configmap"), ["two-a", "two-b", "two-c"]);
    // It comes back, and takes up what is there.
    space.blueprint("blueprint", CHAIN);
    space.runs("blueprint");
    space.instance("Chain", "two", &json!({ "value": "b" }));
    until("it is changed", || {
        space.get("configmap", "two-a").filter(|it| it["data"]["value"].as_str().unwrap().starts_with("b "))
    });
}

#[test]
fn a_new_process_finds_what_a_blueprint_left_that_was_torn_away() {
    let space = Space::new("torn-unseen");
    let mut operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", CHAIN);
    space.runs("blueprint");
    space.instance("Chain", "one", &json!({ "value": "a" }));
    space.ready("Chain", "one");
    operator.kill();
    tear_away(&space);
    operator.start();
    space.delete(&space.kind("Chain"), "one");
    assert_eq!(space.names("configmap"), [""; 0]);
    until("nothing is kept of it", || space.names("controllerrevision").is_empty().then_some(()));
}

#[test]
fn a_blueprint_that_lost_its_label_does_not_wait_for_ever() {
    let space = Space::new("unlabelled");
    let _operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", CHAIN);
    space.runs("blueprint");
    space.instance("Chain", "one", &json!({ "value": "a" }));
    space.ready("Chain", "one");
    until("the blueprint is held", || {
        space.get("configmap", "blueprint").filter(|it| it["metadata"]["finalizers"].is_array())
    });
    let unlabelled = json!({ "metadata": { "labels": { "pemdas.dev/blueprint": null } } });
    space.merge("configmap", "blueprint", &unlabelled);
    space.delete_soon("configmap", "blueprint");
    until("it waits for its instance", || {
        space.get("configmap", "blueprint").filter(|it| it["metadata"]["deletionTimestamp"].is_string())
    });
    space.delete(&space.kind("Chain"), "one");
    space.gone(&space.kind("Chain"), "one");
    space.gone("configmap", "blueprint");
}
