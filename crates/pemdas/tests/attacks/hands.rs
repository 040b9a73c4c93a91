//! Hands in what is ours: claims, labels, ledgers, statuses, and the clock.

use std::{
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};

use super::{
    bed::{condition, until},
    input::NOTE,
    operators::{Operator, Plan, warned},
    space::Space,
};

/// An instance and its neighbour, both ready.
pub(crate) fn two(about: &str) -> (Space, Operator) {
    let space = Space::new(about);
    let operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", NOTE);
    space.runs("blueprint");
    for name in ["one", "two"] {
        space.instance("Note", name, &json!({ "value": "a" }));
        space.ready("Note", name);
    }
    (space, operator)
}

pub(crate) fn neighbour_works(space: &Space) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let value = format!("changed-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    space.instance("Note", "two", &json!({ "value": value }));
    until("the neighbour is changed", || {
        space.get("configmap", "two").filter(|it| it["data"]["value"] == value.as_str())
    });
}

#[test]
fn a_claim_that_was_edited_by_hand_is_told_and_nothing_is_guessed() {
    let (space, _operator) = two("claims");
    space.annotate("configmap", "one", "pemdas.dev/claim", "rubbish");
    let note = space.stalls("Note", "one", "was not written by Pemdas");
    assert_eq!(condition(&note, "Ready")["status"], "False");
    warned(&space, "one", "was not written by Pemdas");
    neighbour_works(&space);
    let label = |of: Value| json!({ "metadata": { "labels": { "pemdas.dev/root": of } } });
    // No name at all: it is nobody's, and in the way.
    space.merge("configmap", "one", &label(Value::Null));
    space.stalls("Note", "one", "is not ours");
    neighbour_works(&space);
    // Whoever takes it out of the way mends it.
    space.delete("configmap", "one");
    space.ready("Note", "one");
    until("it is made again", || space.get("configmap", "one").filter(|it| it["data"]["value"] == "a"));
}

#[test]
fn a_label_copied_by_hand_makes_nothing_ours() {
    let (space, _operator) = two("copied-label");
    let ours = space.get("configmap", "one").unwrap();
    // Somebody copies an object with everything on it, as people do.
    space.apply(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "copy", "labels": ours["metadata"]["labels"], "annotations": ours["metadata"]["annotations"],
        },
        "data": { "precious": "yes" },
    }));
    neighbour_works(&space);
    space.instance("Note", "one", &json!({ "value": "b" }));
    until("it works", || space.get("configmap", "one").filter(|it| it["data"]["value"] == "b"));
    let copy = space.get("configmap", "copy").expect("what somebody made is not removed");
    assert_eq!(copy["data"]["precious"], "yes");
}

#[test]
fn a_status_and_an_annotation_that_a_hand_changed_are_put_right() {
    let (space, _operator) = two("statuses");
    let kind = space.kind("Note");
    space.merge_status(&kind, "one", &json!({ "conditions": [], "observedGeneration": 99 }));
    space.ready("Note", "one");
    space.annotate("configmap", "blueprint", "pemdas.dev/status", "rubbish");
    until("what is told of the blueprint is put right", || {
        let map = space.get("configmap", "blueprint")?;
        let text = map["metadata"]["annotations"]["pemdas.dev/status"].as_str()?;
        serde_json::from_str::<serde_json::Value>(text).ok()
    });
}

/// A Job that runs once for each version.
pub(crate) const TASK: &str = r#"
let { Blueprint, Complete, Failed, .. } = import "pemdas/v1.ncl" in
{
  name = "task",
  kinds.Task = { group = "GROUP", versions.v1.spec = { version | String | doc "What to run" } },
  nodes = {
    instance = { root = kinds.Task, also = ["before", "job", "after"] },
    before.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = "%{the.root.metadata.name}-before", data.version = the.root.spec.version,
    },
    job = {
      before = ["before"],
      once = { done = Complete, result = fun live => { version = live.metadata.labels.version } },
      key = fun the => the.root.spec.version,
      fails = Failed,
      template = fun the => {
        apiVersion = "batch/v1", kind = "Job",
        metadata = { name = the.root.metadata.name, labels.version = the.root.spec.version },
        spec = {
          backoffLimit = 0,
          template.spec = { restartPolicy = "Never", containers = [{ name = "run", image = "testbed.example/workload:1" }] },
        },
      },
    },
    after = {
      before.job.extract = fun result => result.version,
      template = fun the => {
        apiVersion = "v1", kind = "ConfigMap", metadata.name = "%{the.root.metadata.name}-after", data.version = the.job,
      },
    },
  },
} | Blueprint
"#;

#[test]
fn a_damaged_ledger_is_told_and_nothing_runs_on_a_guess() {
    let space = Space::new("ledgers");
    let _operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", TASK);
    space.runs("blueprint");
    for name in ["one", "two"] {
        space.instance("Task", name, &json!({ "version": "1" }));
        space.ready("Task", name);
    }
    let uid = space.get(&space.kind("Task"), "one").unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
    let ledger = space.names("secret").into_iter().find(|it| it.contains(&uid)).expect("a ledger");
    let good = space.get("secret", &ledger).unwrap()["data"]["ledger"].clone();
    let write = |data: &serde_json::Value| {
        space.merge("secret", &ledger, &json!({ "data": { "ledger": data } }));
    };
    write(&json!("cnViYmlzaA=="));
    space.stalls("Task", "one", "ledger");
    warned(&space, "one", "ledger");
    let of_one = || space.names("job").into_iter().filter(|it| it.starts_with("one")).collect::<Vec<_>>();
    let jobs = of_one();
    space.instance("Task", "one", &json!({ "version": "2" }));
    space.instance("Task", "two", &json!({ "version": "2" }));
    until("the neighbour goes on", || {
        space.get("configmap", "two-after").filter(|it| it["data"]["version"] == "2")
    });
    assert_eq!(of_one(), jobs, "only the neighbour's ran");
    // Whoever has kept a copy puts it back.
    write(&good);
    until("it goes on", || space.get("configmap", "one-after").filter(|it| it["data"]["version"] == "2"));
}

#[test]
fn a_clock_that_jumps_changes_nothing() {
    let space = Space::new("clock");
    let folder = tempfile::tempdir().unwrap();
    let (library, offset) = (folder.path().join("libclock.so"), folder.path().join("offset"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attacks/clock.rs.txt");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let built = Command::new(rustc)
        .args(["--edition=2024", "--crate-type=cdylib", "--crate-name=clock", "-Copt-level=1", "-o"])
        .arg(&library)
        .arg(source)
        .status()
        .unwrap();
    assert!(built.success(), "the clock is built");
    std::fs::write(&offset, "0").unwrap();
    let _operator = Plan::over(&[&space])
        .environment("LD_PRELOAD", &library.to_string_lossy())
        .environment("CLOCK_OFFSET", &offset.to_string_lossy())
        .start();
    space.blueprint("blueprint", TASK);
    space.runs("blueprint");
    // Now, yesterday, tomorrow, an hour ago, now.
    for (version, jump) in [("1", "0"), ("2", "-86400"), ("3", "86400"), ("4", "-3600"), ("5", "0")] {
        std::fs::write(&offset, jump).unwrap();
        space.instance("Task", "one", &json!({ "version": version }));
        until("it goes on", || {
            space.get("configmap", "one-after").filter(|it| it["data"]["version"] == version)
        });
        space.ready("Task", "one");
        space.delete("configmap", "one-before");
        until("drift is repaired", || space.get("configmap", "one-before"));
    }
    let created: std::collections::BTreeSet<_> =
        space.writes().into_iter().filter(|it| it.starts_with("patch jobs ")).collect();
    assert_eq!(created.len(), 5, "one Job for each version: {created:?}");
    let statuses = space.writes().iter().filter(|it| it.contains("tasks/status")).count();
    assert!(statuses <= 5 * 6, "no status is written again and again: {statuses}");
}
