//! Ledgers that somebody deletes: nothing runs twice, and nothing that was generated changes, before a human decides.

use serde_json::{Value, json};

use super::{
    bed::until,
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
