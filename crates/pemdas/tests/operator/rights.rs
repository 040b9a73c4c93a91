//! Accounts that may not see the whole cluster.

use std::{fs, process::Command};

use serde_json::{Value, json};

use super::{
    bed::{condition, shared, until},
    given::{PLACED, grant, modest},
    space::Space,
};

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
    space.delete("configmap", "one");
    until("it is back", || space.get("configmap", "one"));
    space.instance("Note", "one", &json!({ "value": "b", "where": space.name }));
    until("it is changed", || space.get("configmap", "one").filter(|it| it["data"]["value"] == "b"));
    space.delete(&space.kind("Note"), "one");
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
    grant(&space, &elsewhere);
    space.ready("Note", "away");
    assert_eq!(elsewhere.get("configmap", "away").unwrap()["data"]["value"], "a");
    until("nothing is missing", || space.told("blueprint").filter(|it| it["missing"] == json!([])));
    space.ready("Note", "home");
    // What was found to be needed is known to the next process too: the map is removed although only the deletion is seen.
    let told = space.told("blueprint").unwrap();
    assert_eq!(told["namespaces"], json!([elsewhere.name]), "{told}");
    space.delete(&space.kind("Note"), "away");
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
    let items = list["items"].as_array().unwrap().iter();
    // The account is there, and lets every blueprint act as it.
    items.filter(|it| it["kind"] != "ServiceAccount").cloned().collect()
}

#[test]
fn a_bundle_is_all_that_a_blueprint_needs() {
    let _running = shared();
    let space = Space::poor("bundled");
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), made(&space, "bundle", &["--crds", "await"])).unwrap();
    space.kubectl(&["apply", "--server-side", "-f", &file.path().to_string_lossy()]).unwrap();
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a", "where": space.name }));
    space.ready("Note", "one");
    until("nothing is missing", || space.told("blueprint").filter(|it| it["missing"] == json!([])));
    let role = format!("pemdas:{}:blueprint", space.name);
    let whole = [
        ("clusterrole", role.clone()),
        ("clusterrolebinding", role.clone()),
        ("clusterrole", role + ":operator"),
    ];
    for (kind, name) in &whole {
        until(&format!("{kind} {name} is held"), || {
            space.get(kind, name).filter(|it| it["metadata"]["finalizers"].is_array())
        });
    }
    // All of it goes at once, with the instance.
    space.kubectl(&["delete", "--wait=false", "-f", &file.path().to_string_lossy()]).unwrap();
    space.gone("configmap", "one");
    space.gone("configmap", "blueprint");
    space.gone("serviceaccount", "blueprint");
    for (kind, name) in &whole {
        space.gone(kind, name);
    }
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
    space.delete(&space.kind("Note"), "one");
    space.gone("configmap", "one");
}
