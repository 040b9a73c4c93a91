//! A client that is built on a simulated cluster in the same process.

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
    runtime::watcher,
};
use pemdas_box::{Clock, Host};
use pemdas_sim::{Cluster, Scenario, Time};
use serde_json::json;

#[tokio::test]
async fn a_client_is_built_on_the_box_without_a_socket() {
    let host = Host::new(Cluster::new(1, Time(1_700_000_000_000), Scenario::default()), Clock::Told);
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::new(host, "default"));
    let mut watched = Box::pin(watcher(maps.clone(), watcher::Config::default().fields("metadata.name=a")));
    while !matches!(watched.next().await.unwrap().unwrap(), watcher::Event::InitDone) {}
    let map =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "x": "1" } });
    let made = maps.patch("a", &PatchParams::apply("test"), &Patch::Apply(&map)).await.unwrap();
    match watched.next().await.unwrap().unwrap() {
        watcher::Event::Apply(seen) => assert_eq!(seen, made),
        other => panic!("{other:?}"),
    }
    let gone = maps.get("b").await.unwrap_err();
    assert!(matches!(gone, kube::Error::Api(status) if status.code == 404));
}
