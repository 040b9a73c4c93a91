//! The control-plane level is a real one: each test is named by what it proves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

use std::process::Command;
use std::sync::OnceLock;

use pemdas_testbed::{Cluster, Level, audit};

/// One cluster for the whole file: each test has a namespace of its own in it.
fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| Cluster::start(Level::ControlPlane).unwrap())
}

fn namespace(name: &str) -> &'static Cluster {
    cluster().kubectl(&["create", "namespace", name]).unwrap();
    cluster()
}

#[test]
fn a_deployment_becomes_available() {
    let cluster = namespace("deployment");
    cluster
        .kubectl(&["-n", "deployment", "create", "deployment", "web", "--image=x", "--replicas=3"])
        .unwrap();
    let wait = ["-n", "deployment", "wait", "--for=condition=Available", "deployment/web", "--timeout=120s"];
    cluster.kubectl(&wait).unwrap();
    let pods = cluster.kubectl(&["-n", "deployment", "get", "pods", "-o", "name"]).unwrap();
    assert_eq!(pods.lines().count(), 3, "{pods}");
}

#[test]
fn a_job_completes() {
    let cluster = namespace("job");
    cluster.kubectl(&["-n", "job", "create", "job", "once", "--image=x"]).unwrap();
    cluster
        .kubectl(&["-n", "job", "wait", "--for=condition=Complete", "job/once", "--timeout=120s"])
        .unwrap();
}

#[test]
fn deleting_an_owner_collects_its_dependents() {
    let cluster = namespace("owner");
    cluster.kubectl(&["-n", "owner", "create", "configmap", "parent"]).unwrap();
    let uid =
        cluster.kubectl(&["-n", "owner", "get", "cm", "parent", "-o", "jsonpath={.metadata.uid}"]).unwrap();
    let child = serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "child", "namespace": "owner", "ownerReferences": [
            { "apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": uid }
        ]},
    });
    cluster.apply(&child.to_string()).unwrap();
    cluster.kubectl(&["-n", "owner", "delete", "cm", "parent"]).unwrap();
    cluster.kubectl(&["-n", "owner", "wait", "--for=delete", "cm/child", "--timeout=120s"]).unwrap();
}

#[test]
fn a_crd_with_a_cel_rule_rejects_what_it_should() {
    let cluster = namespace("cel");
    cluster.apply(include_str!("cases/ranges-crd.yaml")).unwrap();
    cluster
        .kubectl(&["wait", "--for=condition=Established", "crd/ranges.testbed.example", "--timeout=60s"])
        .unwrap();
    let range = |name: &str, low: u32, high: u32| {
        serde_json::json!({
            "apiVersion": "testbed.example/v1", "kind": "Range",
            "metadata": { "name": name, "namespace": "cel" }, "spec": { "low": low, "high": high },
        })
        .to_string()
    };
    cluster.apply(&range("good", 1, 2)).unwrap();
    let refused = cluster.apply(&range("bad", 3, 2)).unwrap_err().to_string();
    assert!(refused.contains("low must not exceed high"), "{refused}");
}

#[test]
fn a_service_account_without_rights_is_refused() {
    let cluster = namespace("rights");
    cluster.kubectl(&["-n", "rights", "create", "serviceaccount", "nobody"]).unwrap();
    let token = cluster.kubectl(&["-n", "rights", "create", "token", "nobody"]).unwrap();
    let as_nobody = |arguments: &[&str]| {
        let done = Command::new(&cluster.ready().kubectl)
            .args(["--kubeconfig=/dev/null", "--insecure-skip-tls-verify", "--server", cluster.server()])
            .arg(format!("--token={}", token.trim()))
            .args(arguments)
            .output()
            .unwrap();
        (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let (allowed, said) = as_nobody(&["-n", "rights", "get", "configmaps"]);
    assert!(!allowed);
    assert!(
        said.contains(r#"User "system:serviceaccount:rights:nobody" cannot list resource "configmaps""#),
        "{said}"
    );
    // And the refusal is RBAC's: with the right, the same account is let in.
    let role = ["-n", "rights", "create", "role", "reader", "--verb=get,list", "--resource=configmaps"];
    cluster.kubectl(&role).unwrap();
    let bind =
        ["-n", "rights", "create", "rolebinding", "reads", "--role=reader", "--serviceaccount=rights:nobody"];
    cluster.kubectl(&bind).unwrap();
    let let_in = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        as_nobody(&["-n", "rights", "get", "configmaps"]).0
    });
    assert!(let_in, "the account was not let in with the right it needs");
}

#[test]
fn the_audit_log_counts_requests_by_user_and_verb() {
    let cluster = namespace("audit");
    let account = "system:serviceaccount:audit:counted";
    let as_account = format!("--as={account}");
    for name in ["one", "two", "three"] {
        // Refused, and counted all the same.
        let refused = cluster.kubectl(&["-n", "audit", &as_account, "create", "configmap", name]);
        assert!(refused.is_err());
    }
    cluster.kubectl(&["-n", "audit", "create", "configmap", "allowed"]).unwrap();
    let requests = cluster.requests().unwrap();
    let counts = audit::count(&requests);
    assert_eq!(counts.get(&(account.into(), "create".into(), "configmaps".into())), Some(&3), "{counts:?}");
    let allowed = requests.iter().find(|request| request.name.as_deref() == Some("allowed"));
    assert_eq!(allowed.map(|request| (request.user.as_str(), request.code)), Some(("admin", 201)));
}

#[test]
fn control_planes_run_side_by_side() {
    let other = Cluster::start(Level::ControlPlane).unwrap();
    assert_ne!(other.server(), cluster().server());
    let uid = |cluster: &Cluster| {
        cluster.kubectl(&["get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}"]).unwrap()
    };
    assert_ne!(uid(&other), uid(cluster()));
}
