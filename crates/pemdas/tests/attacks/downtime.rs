//! What happens while nobody leads, or while a revision waits: the end is the same as if an operator had seen all of it.

use serde_json::json;

use super::{
    bed::{condition, until},
    given::note,
    operators::{Plan, events, warned},
    space::Space,
};

/// A field of its contract comes and goes: `extra` has a default, so the API server writes it into every instance.
const SHOP: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "shop",
  kinds.Shop = { group = "GROUP", versions.v1.spec = { value | String | doc "A value", FIELD } },
  nodes = {
    instance = { root = kinds.Shop, also = ["map"] },
    map.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.metadata.name,
      data = { value = the.root.spec.value, revision = "REVISION" },
    },
  },
} | Blueprint
"#;

#[test]
fn a_breaking_change_of_a_definition_leaves_every_instance_ready() {
    let space = Space::new("breaking");
    let mut operator = Plan::over(&[&space]).start();
    let revision = |field: &str, name: &str| SHOP.replace("FIELD", field).replace("REVISION", name);
    space.blueprint("blueprint", &revision("extra | String | doc \"More\" | default = \"x\"", "first"));
    let good = space.runs("blueprint");
    for name in ["one", "two", "three"] {
        space.instance("Shop", name, &json!({ "value": "a" }));
        space.ready("Shop", name);
    }
    // The field with the default goes, and one comes that nobody has.
    space.blueprint("blueprint", &revision("other | String | doc \"Required\"", "second"));
    let words = warned(&space, "blueprint", "does not become active");
    let crd = format!("shops.{}", space.group);
    assert!(words.starts_with("Warning DefinitionRefused: ") && words.contains(&crd), "{words}");
    for field in ["spec.extra", "spec.other"] {
        assert!(words.contains(field), "{words}");
    }
    for turn in ["b", "c"] {
        let told = until("the revision that waits is told", || {
            space.told("blueprint").filter(|it| it["definitions"][&crd].is_string())
        });
        assert_eq!(told["revision"], good["revision"], "the last active revision decides: {told}");
        assert!(told["upcoming"]["revision"].is_string(), "{told}");
        for name in ["one", "two", "three"] {
            space.instance("Shop", name, &json!({ "value": turn }));
            until("it goes on", || space.get("configmap", name).filter(|it| it["data"]["value"] == turn));
            let shop = space.ready("Shop", name);
            assert_eq!(condition(&shop, "Stalled")["status"], "False");
            assert_eq!(space.get("configmap", name).unwrap()["data"]["revision"], "first");
            let told = events(&space, name);
            assert!(!told.iter().any(|it| it.contains("BreaksContract")), "{told:?}");
        }
        // The same after a restart.
        operator.kill();
        operator.start();
    }
    // A change that can be made goes through.
    space.blueprint("blueprint", &revision("extra | String | doc \"More\" | default = \"x\"", "third"));
    for name in ["one", "two", "three"] {
        until("the new revision decides", || {
            space.get("configmap", name).filter(|it| it["data"]["revision"] == "third")
        });
    }
}

#[test]
fn who_owned_a_field_before_decides_and_not_whether_an_operator_ran() {
    let space = Space::new("downtime");
    let mut operator = Plan::over(&[&space]).start();
    let extra = r#"(if the.root.spec.value == "more" then { extra = "ours" } else {})"#;
    space.blueprint("blueprint", &note(&format!("{{ v = the.root.spec.value }} & {extra}")));
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    let data = || space.get("configmap", "one").unwrap()["data"].clone();
    let edit = |data: serde_json::Value| {
        space.apply_as(
            "person",
            &json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "one" }, "data": data,
            }),
        );
    };
    // A person takes a field that was ours, and the root wants another value of it.
    operator.kill();
    edit(json!({ "v": "theirs" }));
    space.instance("Note", "one", &json!({ "value": "b" }));
    operator.start();
    until("it is taken back", || (data() == json!({ "v": "b" })).then_some(()));
    space.ready("Note", "one");
    // A field that was never ours.
    operator.kill();
    edit(json!({ "extra": "theirs" }));
    space.instance("Note", "one", &json!({ "value": "more" }));
    operator.start();
    let stalled = condition(&space.stalls("Note", "one", "data.extra (person)"), "Stalled");
    assert_eq!(stalled["reason"], "Conflict", "{stalled}");
    assert_eq!(
        data(),
        json!({ "v": "b", "extra": "theirs" }),
        "nothing is taken, and nothing else is changed"
    );
    // The same with an operator, and with one that begins anew.
    operator.kill();
    operator.start();
    space.passes_by("Note", |turn| json!({ "value": turn }));
    assert_eq!(data(), json!({ "v": "b", "extra": "theirs" }));
    // The person lets go.
    edit(json!({}));
    until("it is ours", || (data() == json!({ "v": "more", "extra": "ours" })).then_some(()));
    space.ready("Note", "one");
}
