//! Leadership: who leads, who takes over, and when.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease as LeaseObject;
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams},
};
use pemdas_core::world::Lease;
use pemdas_kube::{
    lease::{Candidate, Leadership, Timing},
    machine::Machine,
};
use serde_json::json;
use tokio::sync::watch;

use crate::server::{LONG, client, namespace};

const QUICK: Timing = Timing {
    duration: Duration::from_secs(3),
    deadline: Duration::from_secs(2),
    retry: Duration::from_millis(500),
};
/// Nobody runs out of this within a test.
const PATIENT: Timing = Timing {
    duration: Duration::from_secs(600),
    deadline: Duration::from_secs(300),
    retry: Duration::from_millis(500),
};

fn seek(client: &Client, namespace: &str, identity: &str, timing: Timing) -> Leadership {
    let candidate = Candidate {
        namespace: namespace.to_owned(),
        name: "pemdas".to_owned(),
        identity: identity.to_owned(),
        timing,
        machine: Machine::real(),
    };
    Leadership::seek(client.clone(), candidate)
}

async fn until(standing: &mut watch::Receiver<Lease>, held: bool) -> Lease {
    let came = tokio::time::timeout(LONG, standing.wait_for(|it| it.held == held)).await;
    *came.expect("the standing never changed").unwrap()
}

async fn stored(client: &Client, namespace: &str) -> LeaseObject {
    Api::<LeaseObject>::namespaced(client.clone(), namespace).get("pemdas").await.unwrap()
}

fn holder(lease: &LeaseObject) -> Option<&str> {
    lease.spec.as_ref().and_then(|it| it.holder_identity.as_deref())
}

#[tokio::test]
async fn one_of_two_leads_and_a_graceful_end_hands_over_at_once() {
    let client = client().await;
    let namespace = namespace(&client, "lease").await;
    // With a Lease of ten minutes, only a release can hand it over within the test.
    let first = seek(&client, &namespace, "first", PATIENT);
    let mut first_standing = first.standing();
    assert_eq!(until(&mut first_standing, true).await, Lease { held: true, epoch: 1 });
    let second = seek(&client, &namespace, "second", PATIENT);
    let mut second_standing = second.standing();
    // A few renewals of the first: the second leaves it alone.
    let version = stored(&client, &namespace).await.metadata.resource_version;
    crate::server::until("a renewal", || async {
        (stored(&client, &namespace).await.metadata.resource_version != version).then_some(())
    })
    .await;
    assert!(!second_standing.borrow().held);
    assert_eq!(holder(&stored(&client, &namespace).await), Some("first"));

    first.release().await;
    assert!(!first_standing.borrow().held, "told before it was given away");
    assert_eq!(until(&mut second_standing, true).await, Lease { held: true, epoch: 2 });
    let now = stored(&client, &namespace).await;
    assert_eq!(holder(&now), Some("second"));
    assert_eq!(now.spec.unwrap().lease_transitions, Some(2));
}

#[tokio::test]
async fn a_killed_leader_is_followed_by_the_other_in_a_new_epoch() {
    let client = client().await;
    let namespace = namespace(&client, "lease").await;
    let first = seek(&client, &namespace, "first", QUICK);
    let mut first_standing = first.standing();
    until(&mut first_standing, true).await;
    let second = seek(&client, &namespace, "second", QUICK);
    drop(first);
    assert!(!until(&mut first_standing, false).await.held, "nobody believes in a dead keeper");
    assert_eq!(
        holder(&stored(&client, &namespace).await),
        Some("first"),
        "a killed process releases nothing"
    );
    assert_eq!(until(&mut second.standing(), true).await, Lease { held: true, epoch: 2 });
}

#[tokio::test]
async fn a_leader_whose_lease_was_taken_stops_and_comes_back_in_a_later_epoch() {
    let client = client().await;
    let namespace = namespace(&client, "lease").await;
    let first = seek(&client, &namespace, "first", QUICK);
    let mut standing = first.standing();
    until(&mut standing, true).await;
    let api: Api<LeaseObject> = Api::namespaced(client.clone(), &namespace);
    let stolen =
        json!({ "spec": { "holderIdentity": "thief", "leaseTransitions": 7, "leaseDurationSeconds": 1 } });
    api.patch("pemdas", &PatchParams::default(), &Patch::Merge(stolen)).await.unwrap();
    assert_eq!(until(&mut standing, false).await.epoch, 1);
    // The thief never renews.
    assert_eq!(until(&mut standing, true).await, Lease { held: true, epoch: 8 });
}

#[tokio::test]
async fn an_annotation_on_the_lease_or_its_deletion_does_no_harm() {
    let client = client().await;
    let namespace = namespace(&client, "lease").await;
    let first = seek(&client, &namespace, "first", PATIENT);
    let mut standing = first.standing();
    until(&mut standing, true).await;
    let api: Api<LeaseObject> = Api::namespaced(client.clone(), &namespace);
    let note = json!({ "metadata": { "annotations": { "a": "hand" } } });
    let touched = api.patch("pemdas", &PatchParams::default(), &Patch::Merge(note)).await.unwrap();
    let renewed = crate::server::until("a renewal over the annotation", || async {
        let now = stored(&client, &namespace).await;
        (now.metadata.resource_version != touched.metadata.resource_version).then_some(now)
    })
    .await;
    assert_eq!(renewed.metadata.annotations.unwrap()["a"], "hand");
    assert_eq!(*standing.borrow_and_update(), Lease { held: true, epoch: 1 });

    api.delete("pemdas", &DeleteParams::default()).await.unwrap();
    assert!(!until(&mut standing, false).await.held);
    assert_eq!(until(&mut standing, true).await, Lease { held: true, epoch: 2 }, "it does not count anew");
}

/// A gate between a client and the API server, which can be shut.
#[tokio::test]
async fn a_leader_that_cannot_reach_the_server_stops_before_its_lease_runs_out() {
    let client = client().await;
    let namespace = namespace(&client, "lease").await;
    let (gated, shut) = crate::server::gated_client().await;
    let first = seek(&gated, &namespace, "first", QUICK);
    let mut standing = first.standing();
    until(&mut standing, true).await;
    let second = seek(&client, &namespace, "second", QUICK);
    let mut second_standing = second.standing();
    shut.send(true).unwrap();
    let taken = async {
        until(&mut second_standing, true).await;
        // The first is told on the same clock, and before.
        assert!(!standing.borrow().held, "two lead");
    };
    taken.await;
}
