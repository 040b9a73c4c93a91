//! The node level is a real one: pods run, services lead to them, names are found.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use common::node_level_can_run;
use pemdas_testbed::{Cluster, Level};

fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| Cluster::start(Level::Node).unwrap())
}

fn namespace(name: &str, manifest: &str) -> &'static Cluster {
    cluster().kubectl(&["create", "namespace", name]).unwrap();
    let file = cluster().ready().folder.join(format!("{name}.yaml"));
    std::fs::write(&file, manifest).unwrap();
    cluster().kubectl(&["-n", name, "apply", "-f", file.to_str().unwrap()]).unwrap();
    cluster()
}

#[test]
fn postgresql_answers_a_psql_job_through_its_service() {
    if !node_level_can_run() {
        return;
    }
    let cluster = namespace("postgres", include_str!("cases/postgres.yaml"));
    let wait = ["-n", "postgres", "wait", "--for=condition=Complete", "job/psql", "--timeout=180s"];
    let waited = cluster.kubectl(&wait);
    let said = cluster.kubectl(&["-n", "postgres", "logs", "job/psql"]).unwrap_or_default();
    assert!(waited.is_ok(), "{waited:?}\n{said}");
    assert!(said.contains("the answer is 42"), "{said}");
}

#[test]
fn nginx_is_reached_through_the_api_servers_service_proxy() {
    if !node_level_can_run() {
        return;
    }
    let cluster = namespace("web", include_str!("cases/web.yaml"));
    cluster.kubectl(&["-n", "web", "rollout", "status", "deployment/web", "--timeout=180s"]).unwrap();
    // The proxy looks at the Service's endpoints, which follow the pod's readiness by a moment.
    let path = "/api/v1/namespaces/web/services/web:8080/proxy/index.html";
    let page = (0..100).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        cluster.kubectl(&["get", "--raw", path]).ok()
    });
    assert_eq!(page.as_deref(), Some("hello from a ConfigMap"));
}

/// An image needs nothing besides a program that is linked statically.
#[test]
fn a_static_program_runs_as_a_pod() {
    if !node_level_can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("hello.rs"), folder.path().join("hello"));
    std::fs::write(&source, r#"fn main() { println!("hello {}", std::env::args().nth(1).unwrap()); }"#)
        .unwrap();
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let mut build = Command::new(rustc);
    build.args(["--edition=2024", "-Ctarget-feature=+crt-static", "-o"]).arg(&program).arg(&source);
    assert!(build.status().unwrap().success());
    assert_eq!(said_by_a_pod("hello", &program, "world"), "hello world");
}

/// What a program says as the only file of an image.
fn said_by_a_pod(name: &str, program: &Path, argument: &str) -> String {
    let image = cluster().load_program(program, name).unwrap();
    let cluster = namespace(
        name,
        &serde_json::json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "said" },
            "spec": { "backoffLimit": 0, "template": { "spec": { "restartPolicy": "Never", "containers": [
                { "name": name, "image": image, "command": [format!("/{name}"), argument] }
            ]}}},
        })
        .to_string(),
    );
    cluster.kubectl(&["-n", name, "wait", "--for=condition=Complete", "job/said", "--timeout=120s"]).unwrap();
    cluster.kubectl(&["-n", name, "logs", "job/said"]).unwrap().trim().to_owned()
}
