//! The operator that was written by hand, on a simulated cluster: what the comparison says of it is so.

use std::time::Duration;

use k8s_openapi::{
    api::{apps::v1::StatefulSet, batch::v1::Job, core::v1::PersistentVolumeClaim},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use pemdas_box::{Clock, Host};
use pemdas_sim::{Cluster, Scenario, Time};
use serde_json::{Value, json};

const DEFINITIONS: &str = include_str!("../../docs/comparisons/postgres-by-hand/crds.yaml");

fn ours(client: &Client, kind: &str) -> Api<DynamicObject> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("db.example.com", "v1", kind));
    Api::default_namespaced_with(client.clone(), &kind)
}

/// Waits until an object is so; the runtime's clock stands still while nobody has anything to do.
async fn until(api: &Api<DynamicObject>, name: &str, is_so: impl Fn(Option<&Value>) -> bool) {
    for _ in 0..600 {
        let object = api.get_opt(name).await.unwrap().map(|it| serde_json::to_value(it).unwrap());
        if is_so(object.as_ref()) {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("{name} never was so: {:#?}", api.get_opt(name).await.unwrap());
}

fn is(path: &'static str, value: Value) -> impl Fn(Option<&Value>) -> bool {
    move |object| object.and_then(|it| it.pointer(path)) == Some(&value)
}

#[tokio::test(start_paused = true)]
async fn the_operator_by_hand_runs_a_server_and_backs_it_up() {
    let host = Host::new(Cluster::new(1, Time(1_700_000_000_000), Scenario::default()), Clock::Runtime);
    let client = Client::new(host, "default");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let written: Vec<Value> = serde_saphyr::from_multiple(DEFINITIONS).unwrap();
    for definition in written {
        let definition = serde_json::from_value(definition).unwrap();
        definitions.create(&PostParams::default(), &definition).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    tokio::spawn(postgres_by_hand::run(client.clone()));

    let (instances, backups) = (ours(&client, "PostgresInstance"), ours(&client, "PostgresBackup"));
    let claims: Api<PersistentVolumeClaim> = Api::default_namespaced(client.clone());
    let volume = json!({
        "metadata": { "name": "postgres-backups" },
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
    });
    claims.create(&PostParams::default(), &serde_json::from_value(volume).unwrap()).await.unwrap();
    let made = |kind: &str, name: &str, spec: Value| {
        let object = json!({ "apiVersion": "db.example.com/v1", "kind": kind, "metadata": { "name": name }, "spec": spec });
        serde_json::from_value::<DynamicObject>(object).unwrap()
    };
    let orders = made("PostgresInstance", "orders", json!({ "storage": "1Gi" }));
    instances.create(&PostParams::default(), &orders).await.unwrap();
    until(&instances, "orders", is("/status/conditions/0/reason", json!("Ready"))).await;

    let tuesday = made("PostgresBackup", "tuesday", json!({ "instance": "orders" }));
    backups.create(&PostParams::default(), &tuesday).await.unwrap();
    until(&backups, "tuesday", is("/status/done", json!(true))).await;

    let restore = json!({ "spec": { "restore": { "request": "now", "backup": "tuesday" } } });
    instances.patch("orders", &PatchParams::default(), &Patch::Merge(&restore)).await.unwrap();
    until(&instances, "orders", is("/status/restored/request", json!("now"))).await;
    until(&instances, "orders", is("/status/conditions/0/status", json!("True"))).await;
    // It ran once, also when its Job is gone.
    let jobs: Api<Job> = Api::default_namespaced(client.clone());
    let restores = ListParams::default().labels("app.kubernetes.io/name=postgres-restore");
    assert_eq!(jobs.list(&restores).await.unwrap().items.len(), 1);
    jobs.delete_collection(&DeleteParams::background(), &restores).await.unwrap();
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(jobs.list(&restores).await.unwrap().items.len(), 0);

    instances.delete("orders", &DeleteParams::default()).await.unwrap();
    until(&backups, "orders-final", is("/status/done", json!(true))).await;
    until(&instances, "orders", |it| it.is_none()).await;
    let servers: Api<StatefulSet> = Api::default_namespaced(client.clone());
    assert!(servers.get_opt("orders").await.unwrap().is_none());
    assert!(claims.get_opt("orders-data").await.unwrap().is_some(), "data stays");
}
