//! The brake: for one instance, for a blueprint, for the whole operator. Nothing is written but reports.

use serde_json::{Value, json};

use super::{
    bed::{condition, until},
    given::CHAIN,
    hands::{neighbour_works, two},
    input::NOTE,
    operators::{Operator, Plan, warned},
    space::Space,
};

const SUSPEND: &str = "pemdas.dev/suspend";

fn value(space: &Space, name: &str) -> Value {
    space.get("configmap", name).unwrap()["data"]["value"].clone()
}

/// Waits until an instance says that it is suspended; what it says.
fn suspended(space: &Space, name: &str) -> String {
    suspended_of(space, "Note", name)
}

fn suspended_of(space: &Space, kind: &str, name: &str) -> String {
    let note = until(&format!("{name} is suspended"), || {
        space.get(&space.kind(kind), name).filter(|it| condition(it, "Ready")["reason"] == "Suspended")
    });
    assert_eq!(condition(&note, "Suspended")["status"], "True");
    assert_eq!(condition(&note, "Stalled")["status"], "False");
    condition(&note, "Suspended")["message"].as_str().unwrap().to_owned()
}

fn counts(space: &Space, operator: &Operator, name: &str, state: &str, count: usize) {
    let line = format!("pemdas_instances{{blueprint=\"{}/{name}\",state=\"{state}\"}} {count}", space.name);
    until(&line, || operator.page("/metrics").contains(&line).then_some(()));
}

#[test]
fn an_instance_that_is_suspended_is_not_written_and_goes_on_afterwards() {
    let (space, mut operator) = two("brake-instance");
    let (kind, lift) = (space.kind("Note"), json!({ "metadata": { "annotations": { SUSPEND: null } } }));
    space.annotate(&kind, "one", SUSPEND, "the disk is full");
    space.instance("Note", "one", &json!({ "value": "b" }));
    assert!(suspended(&space, "one").contains("ConfigMap"));
    warned(&space, "one", "Suspended");
    counts(&space, &operator, "blueprint", "suspended", 1);
    space.delete("configmap", "one");
    // Others go on, and a new process holds still too.
    neighbour_works(&space);
    operator.kill();
    operator.start();
    neighbour_works(&space);
    suspended(&space, "one");
    assert!(space.get("configmap", "one").is_none());
    space.merge(&kind, "one", &lift);
    until("it goes on", || space.get("configmap", "one").filter(|it| it["data"]["value"] == "b"));
    space.ready("Note", "one");
}

#[test]
fn a_deletion_waits_for_the_brake_and_says_so() {
    let space = Space::new("brake-deletion");
    let _operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", CHAIN);
    space.runs("blueprint");
    space.instance("Chain", "one", &json!({ "value": "a" }));
    space.ready("Chain", "one");
    let kind = space.kind("Chain");
    space.annotate(&kind, "one", SUSPEND, "");
    until("it is suspended", || {
        space.get(&kind, "one").filter(|it| condition(it, "Suspended")["status"] == "True")
    });
    space.delete_soon(&kind, "one");
    let told = suspended_of(&space, "Chain", "one");
    assert!(told.contains("deletion") && told.contains(SUSPEND), "{told}");
    assert!(["one-a", "one-b", "one-c"].iter().all(|it| space.get("configmap", it).is_some()));
    space.merge(&kind, "one", &json!({ "metadata": { "annotations": { SUSPEND: null } } }));
    space.gone(&kind, "one");
    space.gone("configmap", "one-a");
}

#[test]
fn a_blueprint_that_is_suspended_begins_nothing_and_its_next_revision_waits() {
    let (space, _operator) = two("brake-blueprint");
    let revisions = || space.names("controllerrevision").len();
    let before = revisions();
    space.annotate("configmap", "blueprint", SUSPEND, "yes");
    until("it is told", || space.told("blueprint").filter(|it| it["suspended"].is_string()));
    space.instance("Note", "one", &json!({ "value": "b" }));
    space.instance("Note", "new", &json!({ "value": "c" }));
    for name in ["one", "new"] {
        assert!(suspended(&space, name).contains("the blueprint "), "{name}");
    }
    space.blueprint("blueprint", &NOTE.replace("A value", "Another value"));
    space.annotate("configmap", "blueprint", SUSPEND, "yes");
    until("the next revision waits", || {
        space.told("blueprint").filter(|it| it["problems"].to_string().contains("is not kept yet"))
    });
    assert_eq!((revisions(), value(&space, "one")), (before, json!("a")));
    assert!(space.get("configmap", "new").is_none());
    space.merge("configmap", "blueprint", &json!({ "metadata": { "annotations": { SUSPEND: null } } }));
    for (name, value) in [("one", "b"), ("new", "c")] {
        until("it goes on", || space.get("configmap", name).filter(|it| it["data"]["value"] == value));
        space.ready("Note", name);
    }
    until("it is told", || {
        space.told("blueprint").filter(|it| it["suspended"].is_null() && it["problems"] == json!([]))
    });
    assert_eq!(revisions(), before + 1);
}

#[test]
fn an_operator_that_is_suspended_writes_nothing_but_reports() {
    let (space, mut first) = two("brake-operator");
    first.stop();
    let operator = Plan::over(&[&space]).argument("--suspend".to_owned()).start();
    space.instance("Note", "one", &json!({ "value": "b" }));
    space.instance("Note", "new", &json!({ "value": "c" }));
    space.delete("configmap", "two");
    for name in ["one", "two", "new"] {
        assert!(suspended(&space, name).contains("--suspend"), "{name}");
    }
    counts(&space, &operator, "blueprint", "suspended", 3);
    let is_report = |it: &&String| {
        ["notes/status ", "configmaps blueprint", "reviews "].iter().any(|word| it.contains(word))
    };
    let others: Vec<_> = operator.writes().into_iter().filter(|it| !is_report(&it)).collect();
    assert_eq!(others, Vec::<String>::new());
    drop(operator);
    first.start();
    for (name, value) in [("one", "b"), ("two", "a"), ("new", "c")] {
        until("it goes on", || space.get("configmap", name).filter(|it| it["data"]["value"] == value));
    }
}
