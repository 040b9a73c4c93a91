//! One watch for all who may see the same.

use serde_json::json;

use super::{
    bed::{condition, shared, until},
    given::{OWNER, allow, listed_by, reader},
    space::Space,
};

#[test]
fn two_identities_share_one_watch_and_the_second_carries_it_on() {
    let _running = shared();
    let (owner, other) = (Space::new("watch-owner"), Space::new("watch-other"));
    owner.blueprint("blueprint", &OWNER.replace("Common", "Carried"));
    owner.runs("blueprint");
    owner.instance("Carried", "one", &json!({ "value": "a" }));
    owner.ready("Carried", "one");
    other.blueprint("blueprint", &reader(&owner).replace("Common", "Carried"));
    other.runs("blueprint");
    other.instance("Copy", "copy", &json!({ "name": "one" }));
    other.ready("Copy", "copy");
    let lists = listed_by("carrieds");
    let user = |space: &Space| format!("system:serviceaccount:{}:default", space.name);
    assert_eq!(lists, [user(&owner)], "one list, as the one who came first");
    owner.instance("Carried", "one", &json!({ "value": "b" }));
    until("the other sees it", || other.get("configmap", "copy").filter(|it| it["data"]["value"] == "b"));
    // The first one goes; the kind and its object stay.
    owner.merge(&owner.kind("Carried"), "one", &json!({ "metadata": { "finalizers": null } }));
    owner.delete(&owner.kind("Carried"), "one");
    owner.delete("configmap", "blueprint");
    until("the other lists it", || listed_by("carrieds").contains(&user(&other)).then_some(()));
    owner.instance("Carried", "one", &json!({ "value": "c" }));
    until("it is still seen", || other.get("configmap", "copy").filter(|it| it["data"]["value"] == "c"));
}

#[test]
fn who_may_not_see_it_is_not_shown_anothers_watch() {
    let _running = shared();
    let (owner, poor) = (Space::new("shown-owner"), Space::poor("shown-poor"));
    owner.blueprint("blueprint", &OWNER.replace("Common", "Hidden"));
    owner.runs("blueprint");
    owner.instance("Hidden", "one", &json!({ "value": "canary-in-a-cage" }));
    owner.ready("Hidden", "one");
    allow(
        &poor,
        &[
            json!({ "apiGroups": [poor.group], "resources": ["*"], "verbs": ["*"] }),
            json!({ "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["*"] }),
            json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"] }),
        ],
    );
    poor.blueprint("blueprint", &reader(&owner).replace("Common", "Hidden"));
    poor.runs("blueprint");
    poor.instance("Copy", "copy", &json!({ "name": "one" }));
    let copy = until("it says what it may not see", || {
        poor.get(&poor.kind("Copy"), "copy")
            .filter(|it| it["status"].to_string().contains("may not be listed"))
    });
    assert_eq!(condition(&copy, "Ready")["status"], "False");
    assert!(!copy.to_string().contains("canary-in-a-cage"));
    assert!(poor.get("configmap", "copy").is_none());
    let wanted = format!("list hiddens of {} in namespace {}", owner.group, owner.name);
    until("it is told by name", || {
        poor.told("blueprint").filter(|it| it["missing"].to_string().contains(&wanted))
    });
}

/// Reads the body of a Secret.
const SECRETS: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "secrets",
  kinds.Hash = { group = "GROUP", versions.v1.spec = { name | String | doc "The Secret" } },
  nodes = {
    instance = { root = kinds.Hash, also = ["map"] },
    secret.observe = fun the => { apiVersion = "v1", kind = "Secret", name = the.root.spec.name },
    map = {
      before.secret.extract = fun live => std.string.length live.data.password,
      template = fun the => {
        apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.metadata.name, data.length = std.to_string the.secret,
      },
    },
  },
} | Blueprint
"#;

#[test]
fn bodies_of_secrets_are_seen_by_each_identity_alone() {
    let _running = shared();
    let spaces = [Space::new("secrets-a"), Space::new("secrets-b")];
    for space in &spaces {
        space.blueprint("blueprint", SECRETS);
        space.runs("blueprint");
        let data = json!({ "password": "hunter2" });
        space.apply(
            &json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s" }, "stringData": data }),
        );
        space.instance("Hash", "one", &json!({ "name": "s" }));
        space.ready("Hash", "one");
    }
    let lists = listed_by("secrets");
    for space in &spaces {
        let user = format!("system:serviceaccount:{}:default", space.name);
        assert_eq!(lists.iter().filter(|it| **it == user).count(), 1, "{user} lists for itself: {lists:?}");
    }
}
