//! Definitions of owned kinds: made, changed, waited for, refused; never deleted.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use pemdas_core::crd::install::{Maker, Policy};
use pemdas_kube::crds::install::{Kept, Standing, Wanted, manifest};
use serde_json::{Value, json};

use crate::server::{LONG, client, cluster};

fn maker(blueprint: &str, ordinal: u64) -> Maker {
    Maker { blueprint: blueprint.to_owned(), uid: "u".to_owned(), ordinal, version: "0.1.0".to_owned() }
}

#[allow(clippy::needless_pass_by_value, reason = "literals of JSON read better without borrows")]
fn draft(group: &str, fields: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("things.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                    "spec": { "type": "object", "properties": fields },
                } } },
            }],
        },
    })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn keep(client: &Client, policy: Policy, draft: Value, maker: Maker) -> Kept {
    Kept::start(client.clone(), client.clone(), Wanted { policy, draft, maker })
}

/// Waits until the standing is of this form.
async fn until(kept: &Kept, what: &str, is: impl Fn(&Standing) -> bool) -> Standing {
    let mut standing = kept.standing();
    let came = tokio::time::timeout(LONG, standing.wait_for(|it| is(it))).await;
    match came {
        Ok(found) => found.unwrap().clone(),
        Err(_) => panic!("{what}: it stays {:?}", kept.standing().borrow()),
    }
}

async fn usable(kept: &Kept) -> Vec<String> {
    match until(kept, "usable", |it| matches!(it, Standing::Usable(_))).await {
        Standing::Usable(told) => told,
        other => panic!("{other:?}"),
    }
}

/// Served, and stricter than the draft.
async fn unfit(kept: &Kept) -> Vec<String> {
    match until(kept, "unfit", |it| matches!(it, Standing::Unfit(_))).await {
        Standing::Unfit(told) => told,
        other => panic!("{other:?}"),
    }
}

/// Refused, while what is served accepts all that the draft does.
async fn wider(kept: &Kept) -> String {
    match until(kept, "wider", |it| matches!(it, Standing::Wider(_))).await {
        Standing::Wider(why) => why.join("\n"),
        other => panic!("{other:?}"),
    }
}

async fn refused(kept: &Kept) -> String {
    match until(kept, "refused", |it| matches!(it, Standing::Refused(_) | Standing::Anothers(_))).await {
        Standing::Refused(why) => why.join("\n"),
        Standing::Anothers(why) => why,
        other => panic!("{other:?}"),
    }
}

fn definitions(client: &Client) -> Api<CustomResourceDefinition> {
    Api::all(client.clone())
}

async fn fields(client: &Client, group: &str) -> Vec<String> {
    let live = definitions(client).get(&format!("things.{group}")).await.unwrap();
    let live = serde_json::to_value(live).unwrap();
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    live.pointer(spec).unwrap().as_object().unwrap().keys().cloned().collect()
}

#[tokio::test]
async fn a_definition_is_made_changed_where_it_may_be_and_never_written_back() {
    let client = client().await;
    let group = "made.example.com";
    let one = draft(group, json!({ "a": text() }));
    let two = draft(group, json!({ "a": text(), "b": text() }));
    assert_eq!(usable(&keep(&client, Policy::Create, one.clone(), maker("n/one", 1))).await, [""; 0]);
    assert_eq!(usable(&keep(&client, Policy::Create, two.clone(), maker("n/one", 2))).await, [""; 0]);
    assert_eq!(fields(&client, group).await, ["a", "b"]);

    let older = keep(&client, Policy::Create, one.clone(), maker("n/one", 1));
    let told = usable(&older).await.join("\n");
    assert!(told.contains("revision 1 is older and leaves it"), "{told}");
    assert_eq!(fields(&client, group).await, ["a", "b"], "the older revision took nothing away");

    let breaking = keep(&client, Policy::Create, one, maker("n/one", 3));
    assert_eq!(wider(&breaking).await, "v1 spec.b: the field is gone (needs a new version and a conversion)");
    assert_eq!(fields(&client, group).await, ["a", "b"]);

    let second = keep(&client, Policy::Create, two, maker("n/two", 1));
    assert_eq!(refused(&second).await, format!("the kind of things.{group} belongs to the blueprint n/one"));
}

#[tokio::test]
async fn a_settled_definition_costs_no_write_when_it_is_looked_after_again() {
    let client = client().await;
    let group = "settled.example.com";
    let one = draft(group, json!({ "a": text() }));
    usable(&keep(&client, Policy::Create, one.clone(), maker("n/one", 1))).await;
    let before = definitions(&client).get(&format!("things.{group}")).await.unwrap();
    usable(&keep(&client, Policy::Create, one, maker("n/one", 2))).await;
    let after = definitions(&client).get(&format!("things.{group}")).await.unwrap();
    assert_eq!(before.metadata.resource_version, after.metadata.resource_version);
}

#[tokio::test]
async fn a_definition_that_disappears_is_made_again() {
    let client = client().await;
    let group = "gone.example.com";
    let kept = keep(&client, Policy::Create, draft(group, json!({ "a": text() })), maker("n/one", 1));
    usable(&kept).await;
    let name = format!("things.{group}");
    let before = definitions(&client).get(&name).await.unwrap().metadata.uid;
    definitions(&client).delete(&name, &DeleteParams::default()).await.unwrap();
    crate::server::until("another definition that is usable", || async {
        let now = definitions(&client).get_opt(&name).await.unwrap()?.metadata.uid;
        let is_usable = matches!(&*kept.standing().borrow(), Standing::Usable(_));
        (now != before && is_usable).then_some(())
    })
    .await;
}

#[tokio::test]
async fn what_a_hand_changed_is_left_and_the_hand_is_named() {
    let client = client().await;
    let group = "hand.example.com";
    let one = draft(group, json!({ "a": text() }));
    usable(&keep(&client, Policy::Create, one.clone(), maker("n/one", 1))).await;
    let place = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a/maxLength";
    let patch = serde_json::from_value(json!([{ "op": "add", "path": place, "value": 3 }])).unwrap();
    let hand = PatchParams { field_manager: Some("a-hand".to_owned()), ..PatchParams::default() };
    let name = format!("things.{group}");
    definitions(&client).patch(&name, &hand, &Patch::<()>::Json(patch)).await.unwrap();
    let told = unfit(&keep(&client, Policy::Create, one, maker("n/one", 1))).await.join("\n");
    assert!(told.contains("spec.a") && told.contains("only the API server checks it"), "{told}");
    // A new draft would have to take the field: it is not forced.
    let two = draft(group, json!({ "a": text(), "b": text() }));
    let why = refused(&keep(&client, Policy::Create, two, maker("n/one", 2))).await;
    assert!(why.contains("a-hand"), "{why}");
    assert_eq!(fields(&client, group).await, ["a"]);
}

#[tokio::test]
async fn an_awaited_definition_is_picked_up_when_somebody_installs_what_was_published() {
    let client = client().await;
    let group = "awaited.example.com";
    let one = draft(group, json!({ "a": text() }));
    for policy in [Policy::Await, Policy::Publish] {
        let kept = keep(&client, policy, one.clone(), maker("n/one", 1));
        until(
            &kept,
            "waits",
            |it| matches!(it, Standing::Waiting(why) if why.contains("somebody has to apply the CRD")),
        )
        .await;
        assert!(definitions(&client).get_opt(&format!("things.{group}")).await.unwrap().is_none());
    }
    let kept = keep(&client, Policy::Await, one.clone(), maker("n/one", 1));
    let published = manifest(&[one], &maker("n/one", 1));
    tokio::task::spawn_blocking(move || cluster().apply(&published).unwrap()).await.unwrap();
    assert_eq!(usable(&kept).await, [""; 0]);
}

#[tokio::test]
async fn names_that_are_taken_and_drafts_that_are_none_are_refused_with_the_servers_words() {
    let client = client().await;
    let group = "names.example.com";
    let mut first = draft(group, json!({ "a": text() }));
    first["metadata"]["name"] = json!(format!("others.{group}"));
    first["spec"]["names"] =
        json!({ "kind": "Thing", "listKind": "ThingList", "plural": "others", "singular": "other" });
    let body = serde_json::from_value(first).unwrap();
    definitions(&client).create(&PostParams::default(), &body).await.unwrap();
    let taken = keep(&client, Policy::Create, draft(group, json!({ "a": text() })), maker("n/one", 1));
    let why = refused(&taken).await;
    assert!(why.contains("already in use"), "{why}");

    let broken = draft("broken.example.com", json!({ "a": { "type": "no-such-type" } }));
    let why = refused(&keep(&client, Policy::Create, broken, maker("n/one", 1))).await;
    assert!(why.contains("no-such-type"), "{why}");
}
