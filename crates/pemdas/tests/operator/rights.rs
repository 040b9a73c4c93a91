//! Accounts that may not see the whole cluster, and operators that may not either.

use std::{fs, process::Command};

use serde_json::{Value, json};

use super::{
    bed::{Space, bed, condition, exclusive, shared, until},
    other::Other,
};

/// `where` says in which namespace the map is.
const PLACED: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "placed",
  kinds.Note = {
    group = "GROUP",
    versions.v1.spec = { value | String | doc "A value", where | String | doc "The namespace of the map" },
  },
  nodes = {
    instance = { root = kinds.Note, also = ["map"] },
    map.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = the.root.metadata.name, namespace = the.root.spec.where },
      data.value = the.root.spec.value,
    },
  },
} | Blueprint
"#;

/// Lets the account of a space do all that it needs in a namespace, and nothing elsewhere.
fn grant(space: &Space, namespace: &str) {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": { "name": space.name, "namespace": namespace },
        "rules": [
            { "apiGroups": [space.group], "resources": ["*"], "verbs": ["*"] },
            { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create", "patch", "delete"] },
        ],
    });
    bed().cluster.apply(&role.to_string()).unwrap();
    let (role, account) =
        (format!("--role={}", space.name), format!("--serviceaccount={}:default", space.name));
    bed().cluster.kubectl(&["-n", namespace, "create", "rolebinding", &space.name, &role, &account]).unwrap();
}

/// A space whose account has rights in its own namespace only; definitions are the one thing of the cluster that it may make.
fn modest(about: &str) -> Space {
    let space = Space::poor(about);
    grant(&space, &space.name);
    bed().cluster.apply(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": space.name },
        "rules": [{ "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["*"] }],
    }).to_string()).unwrap();
    let (role, account) =
        (format!("--clusterrole={}", space.name), format!("--serviceaccount={}:default", space.name));
    bed().cluster.kubectl(&["create", "clusterrolebinding", &space.name, &role, &account]).unwrap();
    space
}

#[test]
fn rights_in_one_namespace_are_enough_for_what_is_there() {
    let _running = shared();
    let space = modest("modest");
    space.blueprint("blueprint", PLACED);
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a", "where": space.name }));
    space.ready("Note", "one");
    let told =
        until("nothing is missing", || space.told("blueprint").filter(|it| it["missing"] == json!([])));
    assert!(told["instances"]["total"] == 1 || told["instances"]["total"] == 0, "{told}");
    // It is really watched there.
    space.kubectl(&["delete", "configmap", "one"]).unwrap();
    until("it is back", || space.get("configmap", "one"));
    space.instance("Note", "one", &json!({ "value": "b", "where": space.name }));
    until("it is changed", || space.get("configmap", "one").filter(|it| it["data"]["value"] == "b"));
    space.kubectl(&["delete", &space.kind("Note"), "one"]).unwrap();
    space.gone("configmap", "one");
}

#[test]
fn a_namespace_that_is_needed_and_not_allowed_is_named() {
    let _running = shared();
    let space = modest("modest-elsewhere");
    let elsewhere = Space::poor("elsewhere");
    space.blueprint("blueprint", PLACED);
    space.runs("blueprint");
    space.instance("Note", "home", &json!({ "value": "a", "where": space.name }));
    space.instance("Note", "away", &json!({ "value": "a", "where": elsewhere.name }));
    space.ready("Note", "home");
    let wanted = format!("list configmaps in namespace {}", elsewhere.name);
    until("it is told by name", || {
        space.told("blueprint").filter(|it| it["missing"].to_string().contains(&wanted))
    });
    let away = until("the instance says what it does not see", || {
        space
            .get(&space.kind("Note"), "away")
            .filter(|it| it["status"].to_string().contains("may not be listed"))
    });
    assert_eq!(condition(&away, "Ready")["status"], "False");
    assert!(elsewhere.get("configmap", "away").is_none());
    grant(&space, &elsewhere.name);
    space.ready("Note", "away");
    assert_eq!(elsewhere.get("configmap", "away").unwrap()["data"]["value"], "a");
    until("nothing is missing", || space.told("blueprint").filter(|it| it["missing"] == json!([])));
    space.ready("Note", "home");
    // What was found to be needed is known to the next process too: the map is removed although only the deletion is seen.
    let told = space.told("blueprint").unwrap();
    assert_eq!(told["namespaces"], json!([elsewhere.name]), "{told}");
    space.kubectl(&["delete", &space.kind("Note"), "away"]).unwrap();
    elsewhere.gone("configmap", "away");
}

/// What a command writes for the blueprint of a space.
fn made(space: &Space, command: &str, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("main.ncl"), PLACED.replace("GROUP", &space.group)).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_pemdas"))
        .arg(command)
        .arg(folder.path())
        .args(["-n", &space.name, "--name", "blueprint"])
        .args(arguments)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// What `pemdas rbac` writes for the account of a space.
fn written(space: &Space) -> Vec<Value> {
    let text = made(space, "rbac", &["-o", "json", "--service-account", "default"]);
    let list: Value = serde_json::from_str(&text).unwrap();
    list["items"].as_array().unwrap().clone()
}

#[test]
fn a_bundle_is_all_that_a_blueprint_needs() {
    let _running = shared();
    let space = Space::poor("bundled");
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), made(&space, "bundle", &[])).unwrap();
    space.kubectl(&["apply", "--server-side", "-f", &file.path().to_string_lossy()]).unwrap();
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a", "where": space.name }));
    space.ready("Note", "one");
    until("nothing is missing", || space.told("blueprint").filter(|it| it["missing"] == json!([])));
    space.kubectl(&["delete", &space.kind("Note"), "one", "--timeout=600s"]).unwrap();
    space.gone("configmap", "one");
}

#[test]
fn what_breaks_without_one_of_the_written_rules_is_told_by_name() {
    let _running = shared();
    let space = Space::poor("written");
    let whole = written(&space);
    let mut less = whole.clone();
    let status = |rule: &Value| rule["resources"] == json!(["notes/status"]);
    less[0]["rules"].as_array_mut().unwrap().retain(|it| !status(it));
    assert_ne!(less, whole);
    less.iter().for_each(|it| space.apply(it));
    space.blueprint("blueprint", PLACED);
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a", "where": space.name }));
    until("what needs the other rights only is made", || space.get("configmap", "one"));
    let lacks = format!(
        "ServiceAccount {0}/default may not update notes/status of {1} in namespace {0}",
        space.name, space.group
    );
    until("the rule is named", || space.told("blueprint").filter(|it| it["missing"] == json!([lacks])));
    assert!(space.get(&space.kind("Note"), "one").unwrap()["status"]["pemdas"].is_null());
    space.apply(&whole[0]);
    space.ready("Note", "one");
    until("nothing is missing", || space.told("blueprint").filter(|it| it["missing"] == json!([])));
    space.kubectl(&["delete", &space.kind("Note"), "one", "--timeout=600s"]).unwrap();
    space.gone("configmap", "one");
}

/// A role with which an operator looks after the blueprints of one namespace.
fn operator_role(space: &Space) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": { "name": "operator", "namespace": space.name },
        "rules": [
            { "apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["*"] },
            { "apiGroups": ["apps"], "resources": ["controllerrevisions"], "verbs": ["*"] },
            { "apiGroups": ["events.k8s.io", ""], "resources": ["events"], "verbs": ["*"] },
            { "apiGroups": [space.group], "resources": ["*"], "verbs": ["get", "patch", "update"] },
            { "apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"] },
            { "apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"] },
        ],
    })
}

#[test]
fn an_operator_of_chosen_namespaces_needs_rights_only_there() {
    let _alone = exclusive();
    let (one, two, not_chosen) = (modest("chosen-a"), modest("chosen-b"), modest("not-chosen"));
    // The definitions are there: reading them is not a right of a namespace.
    for space in [&one, &two, &not_chosen] {
        space.blueprint("blueprint", PLACED);
        space.runs("blueprint");
    }
    for space in [&one, &two] {
        let mut role = operator_role(space);
        // Without the right to patch roots at first.
        role["rules"].as_array_mut().unwrap().retain(|it| it["apiGroups"] != json!([space.group]));
        bed().cluster.apply(&role.to_string()).unwrap();
        let account = format!("--serviceaccount={}:operator", one.name);
        space.kubectl(&["create", "rolebinding", "operator", "--role=operator", &account]).unwrap();
    }
    one.kubectl(&["create", "serviceaccount", "operator"]).unwrap();
    let arguments = ["--namespace", &one.name, "--namespace", &two.name, "--own-namespace", &one.name];
    let other = Other::start_as(&one.name, "operator", &arguments);
    for space in [&one, &two] {
        space.instance("Note", "here", &json!({ "value": "a", "where": space.name }));
        let lacks = format!("Pemdas itself may not patch notes of {} in namespace", space.group);
        until("what Pemdas lacks is told", || {
            space.told("blueprint").filter(|it| it["missing"].to_string().contains(&lacks))
        });
        bed().cluster.apply(&operator_role(space).to_string()).unwrap();
        until("it is made", || space.get("configmap", "here"));
        space.kubectl(&["delete", "configmap", "here"]).unwrap();
        until("it is back", || space.get("configmap", "here"));
    }
    not_chosen.instance("Note", "here", &json!({ "value": "a", "where": not_chosen.name }));
    // A namespace that ends is noticed although namespaces cannot be watched.
    two.kubectl(&["delete", &two.kind("Note"), "here", "--timeout=600s"]).unwrap();
    two.gone("configmap", "here");
    assert!(not_chosen.get("configmap", "here").is_none());
    drop(other);
    not_chosen.ready("Note", "here");
}
