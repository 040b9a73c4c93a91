//! Another key takes the place of the one that seals, as the page about it says, word for word.

use std::{os::unix::fs::symlink, process::Command};

use serde_json::{Value, json};

use super::{
    bed::{bed, until},
    forged::DB,
    hands::TASK,
    operators::{Operator, Plan},
    space::Space,
};

const PAGE: &str = include_str!("../../../../docs/guides/new-key.md");
const CLAIM: &str = "pemdas.dev/claim";
/// More instances than are sealed anew at once.
const TASKS: usize = 6;

/// Somebody's shell, with the programs that the page speaks of.
struct Shell {
    folder: tempfile::TempDir,
}

impl Shell {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        symlink(bed().cluster.kubectl_command().get_program(), folder.path().join("kubectl")).unwrap();
        symlink(env!("CARGO_BIN_EXE_pemdas"), folder.path().join("pemdas")).unwrap();
        Self { folder }
    }

    fn types(&self, text: &str) -> String {
        let path = std::env::var("PATH").unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-ec", text]).env("PATH", format!("{}:{path}", self.folder.path().display()));
        let cluster = &bed().cluster;
        for (name, value) in cluster.kubectl_command().get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        let output = shell.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}\n{said}{}", String::from_utf8_lossy(&output.stderr));
        said
    }
}

/// What the page says to type, block by block, for the namespaces of this test. The operator runs in no Deployment here: whether it is to be
/// started again.
fn blocks(space: &Space, own: &Space) -> Vec<(String, bool)> {
    let inside = PAGE.split("```sh\n").skip(1).filter_map(|it| it.split("```").next());
    let typed = |block: &str| {
        let (restarts, rest): (Vec<_>, Vec<_>) =
            block.lines().partition(|it| it.starts_with("kubectl rollout"));
        let text = rest.join("\n").replace("-n pemdas-system", &format!("-n {}", own.name));
        (text.replace("pemdas reseal", &format!("pemdas reseal -n {}", space.name)), !restarts.is_empty())
    };
    inside.map(typed).collect()
}

fn restart(operator: &mut Operator) {
    operator.stop();
    operator.start();
}

fn claim(space: &Space, kind: &str, name: &str) -> Value {
    space.get(kind, name).unwrap()["metadata"]["annotations"][CLAIM].clone()
}

#[test]
fn a_key_is_replaced_as_the_page_says() {
    let (space, own) = (Space::new("new-key"), Space::new("new-key-own"));
    let mut operator = Plan::over(&[&space]).argument(format!("--operator-namespace={}", own.name)).start();
    space.blueprint("task", TASK);
    space.blueprint("db", DB);
    space.runs("task");
    space.runs("db");
    let tasks: Vec<_> = (0..TASKS).map(|it| format!("task{it}")).collect();
    for name in &tasks {
        space.instance("Task", name, &json!({ "version": "1" }));
    }
    space.instance("Db", "base", &json!({}));
    let all_ready = || {
        tasks.iter().for_each(|it| drop(space.ready("Task", it)));
        space.ready("Db", "base");
    };
    all_ready();
    let (jobs, password) = (space.names("job"), space.get("secret", "base").unwrap()["data"].clone());
    let before = claim(&space, "configmap", "task0-after");
    let (shell, blocks) = (Shell::new(), blocks(&space, &own));
    let [(exchange, restarts), (reseal, none), (delete, restarts_again)] = &blocks[..] else {
        panic!("{blocks:?}")
    };
    assert!(*restarts && !none && *restarts_again);

    shell.types(exchange);
    restart(&mut operator);
    // What the old key sealed still counts, and what is new is sealed with the new one.
    space.instance("Task", "task0", &json!({ "version": "2" }));
    until("it goes on", || space.get("configmap", "task0-after").filter(|it| it["data"]["version"] == "2"));
    all_ready();
    let jobs_now = space.names("job");
    assert!(jobs.iter().filter(|it| !jobs_now.contains(it)).count() <= 1, "{jobs:?} {jobs_now:?}");

    let said = shell.types(reseal);
    for (blueprint, count) in [("db", 1), ("task", TASKS)] {
        let line =
            format!("{}/{blueprint}: {count} of {count} instances are sealed with the new key", space.name);
        assert!(said.contains(&line), "{said}");
    }
    all_ready();
    for blueprint in ["db", "task"] {
        let map = space.get("configmap", blueprint).unwrap();
        assert!(map["metadata"]["annotations"]["pemdas.dev/reseal"].is_null(), "the question is taken back");
    }

    shell.types(delete);
    restart(&mut operator);
    space.instance("Db", "base", &json!({ "size": 2 }));
    space.instance("Task", "task1", &json!({ "version": "1" }));
    all_ready();
    assert_eq!(space.names("job"), jobs_now, "nothing ran again");
    assert_eq!(space.get("secret", "base").unwrap()["data"], password, "no value was made anew");
    // What the old key sealed counts no more.
    space.annotate("configmap", "task1-after", CLAIM, "rubbish");
    space.stalls("Task", "task1", "was not written by Pemdas");
    space.annotate("configmap", "task0-after", CLAIM, before.as_str().unwrap());
    space.stalls("Task", "task0", "was not written by Pemdas");
    for name in ["task0", "task1"] {
        space.delete("configmap", &format!("{name}-after"));
        space.ready("Task", name);
    }
    for name in &tasks {
        space.delete(&space.kind("Task"), name);
    }
    space.delete(&space.kind("Db"), "base");
    until("all is gone", || {
        (space.names("job").is_empty() && space.names("secret").is_empty()).then_some(())
    });
}
