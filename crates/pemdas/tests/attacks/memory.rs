//! States, onces and what is remembered of them.

use pemdas_tier::size;
use serde_json::json;

use super::{bed::until, operators::Plan, space::Space};

const ONCE: &str = r#"
let { Blueprint, Complete, Failed, at, .. } = import "pemdas/v1.ncl" in
{
  name = "once",
  kinds.Task = { group = "GROUP", versions.v1 = { spec = { version | String | doc "What to run" }, status = { done | String | optional } } },
  nodes = {
    instance = { root = kinds.Task, also = ["job", "after"], status = fun the => { done = at "version" "" the.job } },
    job = {
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
        apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.metadata.name, data.version = the.job,
      },
    },
  },
} | Blueprint
"#;

#[test]
fn what_is_too_much_is_not_kept() {
    let (hostile, quiet) = (Space::new("hoard"), Space::new("thrift"));
    let large = "x".repeat(900_000);
    let (maps, secrets) = (size(60, 200), size(40, 150));
    for number in 0..maps {
        hostile.apply(&json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": format!("large-{number:03}"), "labels": { "pemdas.dev/blueprint": "" } },
            "data": { "main.ncl": format!("\"{large}\"") },
        }));
    }
    for number in 0..secrets {
        let instance = format!("forged-{number}");
        hostile.apply(&json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": format!("pemdas-ledger-{instance}"), "labels": { "pemdas.dev/ledger": instance } },
            "stringData": { "ledger": large },
        }));
    }
    let operator = Plan::over(&[&hostile, &quiet]).start();
    quiet.blueprint("blueprint", ONCE);
    quiet.runs("blueprint");
    quiet.instance("Task", "one", &json!({ "version": "1" }));
    quiet.ready("Task", "one");
    until("it is told", || hostile.events().contains("PM0018").then_some(()));
    let peak = operator.peak_memory();
    assert!(peak < 300, "{peak} MiB");
    // Where room is made, what was refused is read.
    for number in 0..maps - 1 {
        hostile.delete_soon("configmap", &format!("large-{number:03}"));
    }
    until("the last one is read", || hostile.told(&format!("large-{:03}", maps - 1)));
}

#[test]
fn a_once_runs_once_for_each_key_and_three_requests_more() {
    let space = Space::new("once");
    let _operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", ONCE);
    space.runs("blueprint");
    space.instance("Task", "one", &json!({ "version": "1" }));
    let task = space.ready("Task", "one");
    assert_eq!(task["status"]["done"], "1");
    assert_eq!(space.get("configmap", "one").unwrap()["data"]["version"], "1");
    space.passes_by("Task", |turn| json!({ "version": turn }));
    let jobs = space.names("job");
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    let writes = space.writes();
    let of = |what: &str| writes.iter().filter(|it| it.contains(what)).count();
    assert_eq!(
        (of("secrets pemdas-ledger"), of("jobs")),
        (2, 2),
        "attempt, result; job, release: {writes:?}"
    );
    // The Job is cleaned up: nothing runs again.
    space.delete("job", &jobs[0]);
    space.passes_by("Task", |turn| json!({ "version": turn }));
    assert_eq!(space.names("job"), [""; 0]);
    space.instance("Task", "one", &json!({ "version": "2" }));
    until("it ran again", || space.get("configmap", "one").filter(|it| it["data"]["version"] == "2"));
    space.delete(&space.kind("Task"), "one");
    space.gone("configmap", "one");
    until("the ledger is gone", || {
        space.names("secret").iter().all(|it| !it.starts_with("pemdas-ledger")).then_some(())
    });
}

#[test]
fn killing_the_operator_at_any_moment_runs_nothing_twice() {
    let space = Space::new("killed");
    let mut operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", ONCE);
    space.runs("blueprint");
    let rounds = size(4, 12);
    for round in 1..=rounds {
        // Each time a little later in the course of things.
        let (version, pause) = (round.to_string(), 40 * round);
        space.instance("Task", "one", &json!({ "version": version }));
        std::thread::sleep(std::time::Duration::from_millis(pause));
        operator.kill();
        operator.start();
        until("it ran", || space.get("configmap", "one").filter(|it| it["data"]["version"] == version));
    }
    space.ready("Task", "one");
    let created: std::collections::BTreeSet<_> =
        space.writes().into_iter().filter(|it| it.starts_with("patch jobs ")).collect();
    assert_eq!(created.len() as u64, rounds, "one Job for each key: {created:?}");
}
