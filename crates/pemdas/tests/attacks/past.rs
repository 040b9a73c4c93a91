//! Revisions that do not run any more.

use serde_json::{Value, json};

use super::{bed::until, operators::Plan, space::Space};

fn note(more_needs: &str, more: &str, value: &str) -> String {
    r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "note",
  kinds.Note = { group = "GROUP", versions.v1.spec = { value | String | doc "A value" } },
  nodes = {
    instance = { root = kinds.Note, also = ["map" NEEDS] },
    map.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.metadata.name, data = { v = the.root.spec.value, w = "VALUE" },
    },
    MORE
  },
} | Blueprint
"#
    .replace("NEEDS", more_needs)
    .replace("MORE", more)
    .replace("VALUE", value)
}

const ACCOUNT: &str = r#"account.template = fun the => { apiVersion = "v1", kind = "ServiceAccount", metadata.name = the.root.metadata.name },"#;

#[test]
fn old_revisions_that_nothing_names_are_pruned() {
    let space = Space::new("pruned");
    let _operator = Plan::over(&[&space]).start();
    let mut names = Vec::new();
    // The one that runs, five for people, and the oldest.
    for number in 0..7 {
        let value = number.to_string();
        space.blueprint("blueprint", &note("", "", &value));
        // What runs is told with a delay: of those between nobody has to know.
        if number == 0 || number == 6 {
            let told = until("it runs", || {
                let of_this = |it: &Value| it["ordinal"] == number + 1 && it["definitions"] == json!({});
                space.told("blueprint").filter(of_this)
            });
            names.push(told["revision"].as_str().unwrap().to_owned());
        }
        space.instance("Note", "one", &json!({ "value": "a" }));
        until("it is applied", || {
            space.get("configmap", "one").filter(|it| it["data"]["w"] == value.as_str())
        });
    }
    until("the oldest is gone", || (!space.names("controllerrevision").contains(&names[0])).then_some(()));
    let left = space.names("controllerrevision");
    assert!(left.contains(names.last().unwrap()), "the one that runs stays: {left:?}");
    assert!(left.len() >= 6, "and five for people: {left:?}");
    space.ready("Note", "one");
}

#[test]
fn kinds_of_earlier_revisions_are_looked_at_by_a_new_process() {
    let space = Space::new("earlier");
    let mut operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", &note(r#", "account""#, ACCOUNT, "1"));
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    assert!(space.get("serviceaccount", "one").is_some());
    operator.kill();
    space.blueprint("blueprint", &note("", "", "2"));
    operator.start();
    space.gone("serviceaccount", "one");
    until("the new revision is applied", || {
        space.get("configmap", "one").filter(|it| it["data"]["w"] == "2")
    });
    space.ready("Note", "one");
}

/// The deletion waits for a hand that puts a label on `final`.
const FINAL: &str = r#"final = {
      ready = { metadata.labels.done = "yes" },
      template = fun the => {
        apiVersion = "v1", kind = "ConfigMap", metadata.name = "%{the.root.metadata.name}-final", data.of = "VALUE",
      },
    },"#;

#[test]
fn a_deletion_ends_with_the_revision_that_it_began_with() {
    let space = Space::new("deleting");
    let mut operator = Plan::over(&[&space]).start();
    let with_final = |value: &str| {
        note("", FINAL, value).replace(r#"also = ["map" ] }"#, r#"also = ["map"], deleting = ["final"] }"#)
    };
    space.blueprint("blueprint", &with_final("1"));
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    space.delete_soon(&space.kind("Note"), "one");
    until("the deletion begins", || space.get("configmap", "one-final").filter(|it| it["data"]["of"] == "1"));
    // The beginning is on record before anything else happens.
    until("it is on record", || {
        space.names("secret").iter().any(|it| it.starts_with("pemdas-ledger")).then_some(())
    });
    space.blueprint("blueprint", &with_final("2"));
    let told = until("the other runs", || space.told("blueprint").filter(|it| it["ordinal"] == 2));
    space.passes_by("Note", |turn| json!({ "value": turn }));
    assert_eq!(space.get("configmap", "one-final").unwrap()["data"]["of"], "1", "{told}");
    // Nor does another process know better, nor a blueprint that is broken.
    operator.kill();
    space.blueprint("blueprint", "this is no blueprint");
    operator.start();
    until("it is told", || {
        space.told("blueprint").filter(|it| it["problems"].as_array().is_some_and(|it| !it.is_empty()))
    });
    space.passes_by("Note", |turn| json!({ "value": turn }));
    assert_eq!(space.get("configmap", "one-final").unwrap()["data"]["of"], "1");
    space.merge("configmap", "one-final", &json!({ "metadata": { "labels": { "done": "yes" } } }));
    space.gone(&space.kind("Note"), "one");
    space.gone("configmap", "one");
}
