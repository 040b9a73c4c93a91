//! Requests that a client makes are counted by verb and result.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Config,
    api::{ListParams, Patch, PatchParams},
    client::ClientBuilder,
    config::{KubeConfigOptions, Kubeconfig},
};
use pemdas_kube::metrics::{CountRequests, Metrics};
use serde_json::json;

use crate::server::{client, cluster, namespace};

#[tokio::test]
async fn requests_are_counted_by_verb_and_result() {
    let namespace = namespace(&client().await, "metrics").await;
    let kubeconfig = Kubeconfig::read_from(cluster().kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let metrics = Metrics::new();
    let counted =
        ClientBuilder::try_from(config).unwrap().with_layer(&CountRequests(metrics.clone())).build();
    let api: Api<ConfigMap> = Api::namespaced(counted, &namespace);
    let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
    api.patch("a", &PatchParams::apply("test"), &Patch::Apply(&body)).await.unwrap();
    api.patch("a", &PatchParams::apply("test"), &Patch::Apply(&body)).await.unwrap();
    api.list(&ListParams::default()).await.unwrap();
    api.get("missing").await.unwrap_err();
    let text = metrics.text();
    for line in [
        "pemdas_requests_total{verb=\"apply\",result=\"201\"} 1",
        "pemdas_requests_total{verb=\"apply\",result=\"200\"} 1",
        "pemdas_requests_total{verb=\"list\",result=\"200\"} 1",
        "pemdas_requests_total{verb=\"get\",result=\"404\"} 1",
    ] {
        assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
    }
}
