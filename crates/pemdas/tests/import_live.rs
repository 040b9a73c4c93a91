//! `pemdas import --from` on a simulated cluster that is served at a port.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

use std::{fs, process::Command};

use pemdas_box::{Clock, Host, Port};
use pemdas_sim::{Cluster, Method, Request, Scenario, Time};
use serde_json::{Value, json};

fn create(host: &Host, path: &str, object: &Value) -> Value {
    let request = Request::new(Method::Post, path).header("user-agent", "somebody");
    let request = request.json("application/json", object);
    let response = host.with(|cluster| cluster.handle(&request)).whole().unwrap();
    assert_eq!(response.status, 201, "{:?}", response.body);
    response.body
}

#[test]
fn an_object_of_a_cluster_comes_with_what_it_owns_and_without_what_the_cluster_wrote() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let start = Time(u64::try_from(since.as_millis()).unwrap());
    let (host, port) = runtime.block_on(async {
        let host = Host::new(Cluster::new(1, start, Scenario::default()), Clock::Wall { speed: 1.0 });
        let port = Port::open(host.clone(), 0).await.unwrap();
        (host, port)
    });
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    fs::write(&kubeconfig, port.kubeconfig()).unwrap();

    let maps = "/api/v1/namespaces/default/configmaps";
    let map = |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "a": "b" } });
    let owner = create(&host, maps, &map("shop"));
    create(&host, maps, &map("somebody-elses"));
    let owners =
        json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "shop", "uid": owner["metadata"]["uid"] }]);
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "shop-web", "ownerReferences": owners },
        "spec": { "selector": { "app": "shop" }, "ports": [{ "port": 80 }] } });
    create(&host, "/api/v1/namespaces/default/services", &service);
    let server = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "shop-web", "ownerReferences": owners },
        "spec": { "selector": { "matchLabels": { "app": "shop" } }, "template": { "metadata": { "labels": { "app": "shop" } },
            "spec": { "containers": [{ "name": "web", "image": "shop:1" }] } } } });
    create(&host, "/apis/apps/v1/namespaces/default/deployments", &server);

    let target = folder.path().join("out");
    let output = Command::new(env!("CARGO_BIN_EXE_pemdas"))
        .args(["import", "--from", "cm/shop", "-n", "default", "--kubeconfig"])
        .arg(&kubeconfig)
        .arg("-o")
        .arg(&target)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let source = fs::read_to_string(target.join("main.ncl")).unwrap();
    for wanted in ["config_map = {", "web = {", "web_service = {", "# it was the owner of it"] {
        assert!(source.contains(wanted), "{wanted}\n{source}");
    }
    for unwanted in
        ["somebody-elses", "clusterIP", "uid", "terminationMessagePath", "progressDeadline", "ReplicaSet"]
    {
        assert!(!source.contains(unwanted), "{unwanted}\n{source}");
    }

    let missing = Command::new(env!("CARGO_BIN_EXE_pemdas"))
        .args(["import", "--from", "cm/nobody", "-n", "default", "--kubeconfig"])
        .arg(&kubeconfig)
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(2));
    let said = String::from_utf8_lossy(&missing.stderr);
    assert!(said.contains("there is no ConfigMap nobody in the namespace default"), "{said}");
}
