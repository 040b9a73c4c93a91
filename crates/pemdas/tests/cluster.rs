//! The commands that ask a cluster, on a real one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

use std::process::{Command, Output};

use pemdas_testbed::{Cluster, Level};
use serde_json::{Value, json};

const SHOP: &str = "tests/cmd/crds.in/shop";

/// `pemdas crds` on the shop, and how it ended.
fn crds(kubeconfig: &std::path::Path, arguments: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_pemdas"))
        .args(["crds", SHOP, "--no-advice"])
        .args(arguments)
        .env("KUBECONFIG", kubeconfig)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (status.code().unwrap(), text(&stdout), text(&stderr))
}

/// A kubeconfig with another token.
fn with_token(cluster: &Cluster, token: &str) -> String {
    let text = std::fs::read_to_string(cluster.kubeconfig()).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    config["users"][0]["user"] = json!({ "token": token.trim() });
    config.to_string()
}

#[test]
fn drafts_are_compared_with_what_the_cluster_has() {
    let cluster = Cluster::start(Level::ControlPlane).unwrap();
    let admin = cluster.kubeconfig();

    let (status, told, _) = crds(admin, &["--against", "cluster"]);
    assert_eq!((status, told.as_str()), (0, "Shop: new (it has no CRD yet)\n"));
    let (_, report, _) = crds(admin, &["--against", "cluster", "-o", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&report).unwrap()["kinds"][0]["exists"], json!(false));

    let (_, yaml, _) = crds(admin, &[]);
    cluster.apply(&yaml).unwrap();
    let (status, told, errors) = crds(admin, &["--against", "cluster"]);
    assert_eq!((status, told.as_str()), (0, "Shop: the same\n"), "{errors}");

    // Somebody adds a bound, a rule and a field by hand, and takes a bound away.
    let version = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    let patch = json!([
        { "op": "add", "path": format!("{version}/properties/min/maximum"), "value": 20 },
        { "op": "add", "path": format!("{version}/properties/owner"), "value": { "type": "string" } },
        { "op": "remove", "path": format!("{version}/properties/timeoutSeconds/minimum") },
    ]);
    let patch = patch.to_string();
    cluster.kubectl(&["patch", "crd", "shops.web.example.com", "--type=json", "-p", &patch]).unwrap();
    let (status, told, errors) = crds(admin, &["--against", "cluster", "--gap"]);
    let (contract, server) = told.split_once("Only the API server checks").unwrap();
    assert!(server.contains("Shop v1 spec.min: the greatest value is not limited in the contract"), "{told}");
    assert!(contract.contains("Shop v1 spec.timeoutSeconds: the least value is 0 in the contract"), "{told}");
    assert!(contract.contains("Shop v1 spec.owner: the field is new in the cluster's CRD"), "{told}");
    // To apply the draft would drop a field that objects may have.
    assert_eq!(status, 1, "{told}{errors}");
    assert!(errors.contains("PM0410") && errors.contains("spec.owner"), "{errors}");

    let folder = tempfile::tempdir().unwrap();
    let stranger = folder.path().join("stranger");
    cluster.kubectl(&["create", "serviceaccount", "stranger"]).unwrap();
    let token = cluster.kubectl(&["create", "token", "stranger"]).unwrap();
    std::fs::write(&stranger, with_token(&cluster, &token)).unwrap();
    let (status, told, errors) = crds(&stranger, &["--against", "cluster"]);
    assert_eq!((status, told.as_str()), (2, ""));
    assert!(
        errors.contains("does not allow it: customresourcedefinitions.apiextensions.k8s.io \"shops.web.example.com\" is forbidden: User \"system:serviceaccount:default:stranger\" cannot get"),
        "{errors}"
    );

    std::fs::write(&stranger, with_token(&cluster, "not-a-token")).unwrap();
    let (status, _, errors) = crds(&stranger, &["--against", "cluster", "--gap"]);
    assert_eq!(status, 2);
    assert!(
        errors.contains("does not accept the credentials") && !errors.contains("not-a-token"),
        "{errors}"
    );
}
