//! One watch for all who may see the same.

use serde_json::{Value, json};

use super::{
    bed::{Space, bed, condition, exclusive, shared, until},
    other::Other,
};

/// The blueprint that owns the kind.
const OWNER: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "owner",
  kinds.Common = { group = "GROUP", versions.v1.spec = { value | String | doc "A value" } },
  nodes = {
    instance = { root = kinds.Common, also = ["map"] },
    map.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.metadata.name, data.value = the.root.spec.value,
    },
  },
} | Blueprint
"#;

/// A blueprint of somebody else that reads it, whatever its status: when its owner goes, nobody writes that any more.
const READER: &str = r#"
let { Blueprint, Any, .. } = import "pemdas/v1.ncl" in
{
  name = "reader",
  kinds.Copy = { group = "GROUP", versions.v1.spec = { name | String | doc "What is copied" } },
  nodes = {
    instance = { root = kinds.Copy, also = ["map"] },
    common = {
      observed = false,
      observe = fun the => {
        apiVersion = "OTHERS/v1", kind = "Common", name = the.root.spec.name, namespace = "PLACE",
      },
    },
    map = {
      before.common = { until = Any, extract = fun live => live.spec.value },
      template = fun the => {
        apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.metadata.name, data.value = the.common,
      },
    },
  },
} | Blueprint
"#;

fn reader(owner: &Space) -> String {
    READER.replace("OTHERS", &owner.group).replace("PLACE", &owner.name)
}

/// As whom a resource was listed so far.
fn listed_by(resource: &str) -> Vec<String> {
    let requests = bed().cluster.requests().unwrap();
    let lists = requests.iter().filter(|it| it.verb == "list" && it.resource == resource);
    lists.filter(|it| it.complete && it.code == 200).filter_map(|it| it.impersonated.clone()).collect()
}

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
    owner
        .kubectl(&[
            "patch",
            &owner.kind("Carried"),
            "one",
            "--type=merge",
            "-p",
            "{\"metadata\":{\"finalizers\":null}}",
        ])
        .unwrap();
    owner.kubectl(&["delete", &owner.kind("Carried"), "one"]).unwrap();
    owner.kubectl(&["delete", "configmap", "blueprint", "--timeout=600s"]).unwrap();
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

fn allow(space: &Space, rules: &[Value]) {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": space.name }, "rules": rules,
    });
    bed().cluster.apply(&role.to_string()).unwrap();
    let (role, account) =
        (format!("--clusterrole={}", space.name), format!("--serviceaccount={}:default", space.name));
    let _there = bed().cluster.kubectl(&["create", "clusterrolebinding", &space.name, &role, &account]);
}

#[test]
fn what_is_shared_is_taken_back_when_the_right_is() {
    let _alone = exclusive();
    let operator = Other::start(&["--own-namespace", "pemdas-system", "--recheck", "2"]);
    let (owner, other) = (Space::new("back-owner"), Space::poor("back-other"));
    let rules = |with: bool| {
        let groups = if with { json!([other.group, owner.group]) } else { json!([other.group]) };
        vec![
            json!({ "apiGroups": groups, "resources": ["*"], "verbs": ["*"] }),
            json!({ "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["*"] }),
            json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"] }),
        ]
    };
    allow(&other, &rules(true));
    owner.blueprint("blueprint", &OWNER.replace("Common", "Lent"));
    owner.runs("blueprint");
    owner.instance("Lent", "one", &json!({ "value": "a" }));
    owner.ready("Lent", "one");
    other.blueprint("blueprint", &reader(&owner).replace("Common", "Lent"));
    other.runs("blueprint");
    other.instance("Copy", "copy", &json!({ "name": "one" }));
    other.ready("Copy", "copy");
    allow(&other, &rules(false));
    until("it is not shown any more", || {
        let copy = other.get(&other.kind("Copy"), "copy")?;
        copy["status"].to_string().contains("may not be listed").then_some(())
    });
    owner.instance("Lent", "one", &json!({ "value": "b" }));
    owner.ready("Lent", "one");
    until("the owner sees it", || owner.get("configmap", "one").filter(|it| it["data"]["value"] == "b"));
    assert_eq!(other.get("configmap", "copy").unwrap()["data"]["value"], "a");
    allow(&other, &rules(true));
    until("it is shown again", || other.get("configmap", "copy").filter(|it| it["data"]["value"] == "b"));
    assert_eq!(listed_by("lents").len(), 1, "still one watch");
    drop(operator);
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
        space.kubectl(&["create", "secret", "generic", "s", "--from-literal=password=hunter2"]).unwrap();
        space.instance("Hash", "one", &json!({ "name": "s" }));
        space.ready("Hash", "one");
    }
    let lists = listed_by("secrets");
    for space in &spaces {
        let user = format!("system:serviceaccount:{}:default", space.name);
        assert_eq!(lists.iter().filter(|it| **it == user).count(), 1, "{user} lists for itself: {lists:?}");
    }
}
