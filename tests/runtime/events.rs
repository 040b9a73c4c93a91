//! Events, as `kubectl describe` shows them.

use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use k8s_openapi::api::events::v1::Event as EventObject;
use kube::{
    Api, Client, Resource as _,
    api::{ListParams, ObjectMeta, PostParams},
};
use pemdas_core::action::Event;
use pemdas_kube::{events::Teller, machine::Machine, metrics::Metrics};

use crate::server::{client, cluster, namespace};

fn event(reason: &str, message: &str, warning: bool) -> Event {
    Event { about: None, reason: reason.to_owned(), message: message.to_owned(), warning }
}

async fn object(client: &Client, namespace: &str) -> ObjectReference {
    let metadata = ObjectMeta { name: Some("thing".to_owned()), ..ObjectMeta::default() };
    let body = ConfigMap { metadata, ..ConfigMap::default() };
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    api.create(&PostParams::default(), &body).await.unwrap().object_ref(&())
}

async fn stored(client: &Client, namespace: &str) -> Vec<(String, i32)> {
    let api: Api<EventObject> = Api::namespaced(client.clone(), namespace);
    let mut found: Vec<(String, i32)> = api
        .list(&ListParams::default())
        .await
        .unwrap()
        .into_iter()
        .map(|it| (it.note.unwrap_or_default(), it.series.map_or(1, |it| it.count)))
        .collect();
    found.sort();
    found
}

#[tokio::test]
async fn kubectl_describe_shows_them_and_repetitions_are_counted_also_after_a_restart() {
    let client = client().await;
    let namespace = namespace(&client, "events").await;
    let about = object(&client, &namespace).await;
    for process in ["one", "two"] {
        let (teller, telling) =
            Teller::start(client.clone(), process.to_owned(), Metrics::new(), Machine::real());
        teller.tell(about.clone(), event("Stalled", "the job has failed", true));
        teller.tell(about.clone(), event("Stalled", "the job has failed", true));
        teller.tell(about.clone(), event("Stalled", "another reason", true));
        drop(teller);
        telling.await.unwrap();
    }
    let expected = [("another reason".to_owned(), 2), ("the job has failed".to_owned(), 4)];
    assert_eq!(stored(&client, &namespace).await, expected);
    let described = {
        let namespace = namespace.clone();
        tokio::task::spawn_blocking(move || {
            cluster().kubectl(&["describe", "configmap", "thing", "-n", &namespace]).unwrap()
        })
    };
    let described = described.await.unwrap();
    let line = described.lines().find(|it| it.contains("the job has failed")).expect("it is shown");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[..2], ["Warning", "Stalled"], "{described}");
    assert!(line.contains("(x4 over") && line.contains("pemdas.dev/operator"), "{described}");
}

#[tokio::test]
async fn too_many_are_dropped_and_counted_and_nobody_waits() {
    let client = client().await;
    let namespace = namespace(&client, "events").await;
    let about = object(&client, &namespace).await;
    let metrics = Metrics::new();
    let (teller, telling) = Teller::start(client.clone(), "one".to_owned(), metrics.clone(), Machine::real());
    for number in 0..5_000 {
        teller.tell(about.clone(), event("Flapping", &format!("number {number}"), false));
    }
    drop(teller);
    telling.await.unwrap();
    let sent = stored(&client, &namespace).await.len() as u64;
    assert_eq!(sent, 20, "an object has its share");
    assert_eq!(metrics.events_dropped(), 5_000 - sent);
}

#[tokio::test]
async fn long_words_and_objects_of_the_cluster_are_told_too() {
    let client = client().await;
    let namespace = namespace(&client, "events").await;
    let metrics = Metrics::new();
    let (teller, telling) = Teller::start(client.clone(), "x".repeat(500), metrics.clone(), Machine::real());
    let about = object(&client, &namespace).await;
    teller.tell(about, event(&"Reason".repeat(50), &"ü".repeat(3_000), false));
    let cluster_scoped = ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Namespace".to_owned()),
        name: Some(namespace.clone()),
        uid: Some("u".to_owned()),
        ..ObjectReference::default()
    };
    teller.tell(cluster_scoped, event("Ready", &format!("about {namespace}"), false));
    drop(teller);
    telling.await.unwrap();
    assert_eq!(metrics.events_dropped(), 0);
    assert_eq!(stored(&client, &namespace).await.len(), 1);
    let of_the_cluster = stored(&client, "default").await;
    assert!(
        of_the_cluster.iter().any(|(note, _)| *note == format!("about {namespace}")),
        "{of_the_cluster:?}"
    );
}
