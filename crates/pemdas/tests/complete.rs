//! Completions with live names, and the plugin of kubectl, on a simulated cluster that is served at a port.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Output},
};

use pemdas_box::{Clock, Host, Port};
use pemdas_sim::{Cluster, Method, Request, Scenario, Time};
use serde_json::json;

/// What a shell is offered for the last of these words.
fn offered(kubeconfig: &Path, words: &[&str]) -> Vec<String> {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_pemdas"))
        .args(["--", "pemdas"])
        .args(words)
        .env("PEMDAS_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_IFS", "\n")
        .env("KUBECONFIG", kubeconfig)
        // A busy machine may need longer than a person would wait.
        .env("PEMDAS_COMPLETE_SECONDS", "60")
        .output()
        .unwrap();
    assert!(status.success() && stderr.is_empty(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap().lines().map(|it| it.trim_end().to_owned()).collect()
}

fn create_map(host: &Host, namespace: &str, name: &str) {
    let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    let request = Request::new(Method::Post, &path).json("application/json", &body);
    assert_eq!(host.with(|cluster| cluster.handle(&request)).whole().unwrap().status, 201);
}

#[test]
fn a_shell_is_offered_the_names_that_the_cluster_has() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (host, port) = runtime.block_on(async {
        let host = Host::new(Cluster::new(1, Time(0), Scenario::default()), Clock::Wall { speed: 1.0 });
        let port = Port::open(host.clone(), 0).await.unwrap();
        (host, port)
    });
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    fs::write(&kubeconfig, port.kubeconfig()).unwrap();
    create_map(&host, "default", "shop-one");
    create_map(&host, "default", "shop-two");
    create_map(&host, "kube-system", "shop-three");

    let kinds = offered(&kubeconfig, &["explain", "config"]);
    assert_eq!(kinds, ["configmaps"]);
    assert_eq!(offered(&kubeconfig, &["explain", "cm/shop-t"]), ["cm/shop-two"]);
    assert_eq!(offered(&kubeconfig, &["explain", "cm/shop"]), ["cm/shop-one", "cm/shop-two"]);
    assert_eq!(offered(&kubeconfig, &["explain", "-n", "kube-system", "cm/shop"]), ["cm/shop-three"]);
    assert_eq!(offered(&kubeconfig, &["plan", ".", "--instance", "cm/shop-t"]), ["cm/shop-two"]);
    assert_eq!(offered(&kubeconfig, &["explain", "-n", "kube-sys"]), ["kube-system"]);
    assert_eq!(offered(&kubeconfig, &["explain", "nonsense/x"]), [""; 0]);
    let text = fs::read_to_string(&kubeconfig).unwrap();
    let context = offered(&kubeconfig, &["explain", "--context", ""]);
    assert!(context.len() == 1 && text.contains(&context[0]), "{context:?}");
    // Nobody answers, and nobody is told of it.
    drop(port);
    assert_eq!(offered(Path::new("/nowhere"), &["explain", "cm/shop"]), [""; 0]);
}

#[test]
fn kubectl_finds_a_plugin_that_speaks_as_it_was_called() {
    let folder = tempfile::tempdir().unwrap();
    let called = |name: &str, words: &[&str]| {
        let program = folder.path().join(name);
        symlink(env!("CARGO_BIN_EXE_pemdas"), &program).unwrap();
        let Output { stdout, stderr, .. } =
            Command::new(program).args(words).env("KUBECONFIG", "/nowhere").output().unwrap();
        format!("{}{}", String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    };
    let said = called("kubectl-pemdas", &["explain", "--help"]);
    assert!(said.contains("Usage: kubectl pemdas explain"), "{said}");
    let said = called("kubectl_complete-pemdas", &["expl"]);
    assert!(said.starts_with("explain\tExplain why") && said.ends_with("\n:4\n"), "{said}");
}
