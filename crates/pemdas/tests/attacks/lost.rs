//! Ledgers that somebody deletes: nothing runs twice, and nothing that was generated changes, before a human decides.

use serde_json::{Value, json};

use super::{
    bed::{condition, until},
    forged::DB,
    hands::TASK,
    operators::{Operator, Plan, warned},
    space::Space,
};

/// A Db with its password and a Task that ran, both of which are remembered.
fn remembered(about: &str) -> (Space, Operator) {
    let space = Space::new(about);
    let operator = Plan::over(&[&space]).start();
    space.blueprint("db", DB);
    space.blueprint("task", TASK);
    space.runs("db");
    space.runs("task");
    space.instance("Db", "data", &json!({}));
    space.instance("Task", "one", &json!({ "version": "1" }));
    space.ready("Db", "data");
    space.ready("Task", "one");
    // The Job is cleaned up: only the ledger knows of it.
    space.names("job").iter().for_each(|it| space.delete("job", it));
    space.ready("Task", "one");
    (space, operator)
}

fn ledger(space: &Space, kind: &str, name: &str) -> Value {
    let root = space.get(&space.kind(kind), name).unwrap();
    let uid = root["metadata"]["uid"].as_str().unwrap();
    let name = space.names("secret").into_iter().find(|it| it.contains("ledger") && it.contains(uid));
    space.get("secret", &name.expect("a ledger")).unwrap()
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

#[test]
fn a_ledger_that_is_deleted_while_no_operator_runs_is_not_taken_for_an_empty_one() {
    let (space, mut operator) = remembered("lost-ledger");
    let password = || space.get("secret", "data").unwrap()["data"]["password"].clone();
    let before = password();
    let (of_db, of_task) = (ledger(&space, "Db", "data"), ledger(&space, "Task", "one"));
    operator.stop();
    space.delete("secret", name(&of_db));
    space.delete("secret", name(&of_task));
    space.delete("configmap", "one-before");
    operator.start();
    for (kind, of, ledger) in [("Db", "data", &of_db), ("Task", "one", &of_task)] {
        space.stalls(kind, of, name(ledger));
        assert!(warned(&space, of, "MemoryLost").contains("start-over=forget-1"));
    }
    // What needs no memory goes on.
    until("it is put back", || space.get("configmap", "one-before"));
    assert_eq!((password(), space.names("job")), (before.clone(), Vec::new()));
    // A human restores one of them, and begins anew with the other.
    let restored = json!({
        "apiVersion": "v1", "kind": "Secret", "type": of_task["type"], "data": of_task["data"],
        "metadata": { "name": name(&of_task), "labels": of_task["metadata"]["labels"] },
    });
    assert!(space.creates(&restored));
    space.ready("Task", "one");
    assert_eq!(space.names("job"), Vec::<String>::new(), "nothing ran twice");
    space.annotate(&space.kind("Db"), "data", "pemdas.dev/start-over", "forget-1");
    space.ready("Db", "data");
    assert_ne!(password(), before);
    for (kind, of) in [("Db", "data"), ("Task", "one")] {
        space.delete(&space.kind(kind), of);
        space.gone(&space.kind(kind), of);
    }
    until("no ledger is left", || space.names("secret").is_empty().then_some(()));
}

#[test]
fn a_ledger_that_is_deleted_while_the_operator_runs_is_written_again() {
    let (space, mut operator) = remembered("torn-ledger");
    for of in [ledger(&space, "Db", "data"), ledger(&space, "Task", "one")] {
        space.delete("secret", name(&of));
        let again = until("it is written again", || space.get("secret", name(&of)));
        assert_eq!(again["data"]["ledger"], of["data"]["ledger"]);
    }
    let password = space.get("secret", "data").unwrap()["data"]["password"].clone();
    operator.stop();
    operator.start();
    space.instance("Db", "data", &json!({ "size": 2 }));
    space.ready("Db", "data");
    space.ready("Task", "one");
    assert_eq!(space.get("secret", "data").unwrap()["data"]["password"], password);
    assert_eq!(space.names("job"), Vec::<String>::new(), "nothing ran twice");
}

/// The objects of these kinds, as a backup holds them.
fn backup(space: &Space, kinds: &[String]) -> Vec<(String, Value)> {
    let kept = |kind: &String, mut object: Value| {
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.retain(|field, _| ["name", "labels", "annotations"].contains(&field.as_str()));
        object.as_object_mut().unwrap().remove("status");
        (kind.clone(), object)
    };
    // Each as it is, with what a list leaves out.
    let each = |kind: &String| {
        let names = space.list(kind).into_iter().map(|it| name(&it).to_owned()).collect::<Vec<_>>();
        let own = |it: &String| !it.starts_with("kube-root-ca") && !it.starts_with("marker");
        let found = names.into_iter().filter(own).filter_map(|it| space.get(kind, &it));
        found.map(|it| kept(kind, it)).collect::<Vec<_>>()
    };
    kinds.iter().flat_map(each).collect()
}

/// All that is in a namespace is lost, and comes back from a backup, with other uids and without owners.
#[test]
fn what_is_restored_from_a_backup_goes_on_where_it_was() {
    let (space, mut operator) = remembered("restored");
    let password = || space.get("secret", "data").unwrap()["data"]["password"].clone();
    let before = password();
    let kinds: Vec<String> = ["configmap", "secret", "controllerrevision"]
        .map(str::to_owned)
        .into_iter()
        .chain([space.kind("Db"), space.kind("Task")])
        .collect();
    let all = backup(&space, &kinds);
    operator.stop();
    for (kind, object) in &all {
        let Some(there) = space.get(kind, name(object)) else { continue };
        if there["metadata"]["finalizers"].is_array() {
            space.merge(kind, name(object), &json!({ "metadata": { "finalizers": null } }));
        }
        space.delete(kind, name(object));
    }
    for (kind, object) in &all {
        Space::client().create(&space.path(kind, ""), object).unwrap();
    }
    operator.start();
    for (kind, of) in [("Db", "data"), ("Task", "one")] {
        let root = space.stalls(kind, of, "pemdas.dev/reclaim=");
        let reason = condition(&root, "Stalled")["reason"].clone();
        assert!(reason == "MemoryLost" || reason == "Exists", "{reason}");
        assert_eq!((password(), space.names("job")), (before.clone(), Vec::new()), "nothing ran");
        // A person does what the message says.
        let message = condition(&root, "Stalled")["message"].as_str().unwrap().to_owned();
        let told = message.split("pemdas.dev/reclaim=").nth(1).unwrap();
        let instance: String =
            told.chars().take_while(|it| it.is_ascii_alphanumeric() || "-_.".contains(*it)).collect();
        space.annotate(&space.kind(kind), of, "pemdas.dev/reclaim", instance.trim_end_matches('.'));
        space.ready(kind, of);
    }
    assert_eq!(
        (password(), space.names("job")),
        (before, Vec::new()),
        "nothing ran twice, nothing was generated anew"
    );
    for (kind, of) in [("Db", "data"), ("Task", "one")] {
        space.delete(&space.kind(kind), of);
    }
    until("no ledger is left", || space.names("secret").is_empty().then_some(()));
    assert_eq!(space.get("configmap", "one-before"), None);
}
