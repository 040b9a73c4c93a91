//! Revisions of blueprints as ControllerRevisions.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::ControllerRevision;
use kube::Api;
use pemdas_kube::revisions::{Content, MAX_STORED, Revision, Revisions};

use crate::server::{client, namespace};

fn content(text: &str) -> Content {
    Content { library: "1.0".to_owned(), sources: [("main.ncl".to_owned(), text.to_owned())].into() }
}

fn numbers(revisions: &[Revision]) -> Vec<u64> {
    revisions.iter().map(|it| it.ordinal).collect()
}

#[tokio::test]
async fn revisions_are_numbered_read_back_and_pruned_when_nothing_names_them() {
    let client = client().await;
    let namespace = namespace(&client, "revisions").await;
    let revisions = Revisions::new(client.clone(), &namespace);
    let first = revisions.store("shop", &content("1")).await.unwrap();
    let second = revisions.store("shop", &content("2")).await.unwrap();
    assert_eq!((first.ordinal, second.ordinal), (1, 2));
    assert_eq!(revisions.store("shop", &content("2")).await.unwrap(), second, "the same again is the same");
    let back = revisions.store("shop", &content("1")).await.unwrap();
    assert_eq!(
        back,
        Revision { ordinal: 3, name: first.name.clone() },
        "what is in force again is the newest"
    );
    let other = revisions.store("other", &content("1")).await.unwrap();
    assert_ne!(other.name, first.name, "blueprints do not share revisions");

    let large = content(&"# a long comment\n".repeat(100_000));
    let third = revisions.store("shop", &large).await.unwrap();
    let (read, sources) = revisions.read("shop", &third.name).await.unwrap().unwrap();
    assert_eq!((read, sources), (third.clone(), large));
    assert_eq!(revisions.read("shop", "no-such").await.unwrap(), None);
    assert!(revisions.read("other", &third.name).await.is_err(), "another blueprint's is not its own");
    assert_eq!(numbers(&revisions.list("shop").await.unwrap()), [2, 3, 4]);

    // The fourth was stored after somebody collected that only the third is named.
    let pruned = revisions.prune("shop", &BTreeSet::from([back.name.clone()]), 0).await.unwrap();
    assert_eq!(pruned, [second]);
    assert_eq!(numbers(&revisions.list("shop").await.unwrap()), [3, 4]);
    let named_elsewhere = BTreeSet::from(["not-here".to_owned()]);
    assert_eq!(revisions.prune("shop", &named_elsewhere, 0).await.unwrap(), [], "the view may be wrong");
    revisions.prune("shop", &BTreeSet::new(), 0).await.unwrap();
    assert_eq!(revisions.list("shop").await.unwrap(), []);
    assert_eq!(revisions.list("other").await.unwrap(), [other]);
}

/// Text that does not get much smaller.
fn noise(length: usize) -> String {
    let mut state = 1_u64;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'!' + u8::try_from((state >> 33) % 90).unwrap())
    })
    .take(length)
    .collect()
}

#[tokio::test]
async fn a_revision_has_no_owner_and_too_large_a_blueprint_is_refused() {
    let client = client().await;
    let namespace = namespace(&client, "revisions").await;
    let revisions = Revisions::new(client.clone(), &namespace);
    let stored = revisions.store("shop", &content("1")).await.unwrap();
    let object: ControllerRevision =
        Api::namespaced(client.clone(), &namespace).get(&stored.name).await.unwrap();
    assert!(object.metadata.owner_references.is_none(), "it outlives the ConfigMap");

    let why = revisions.store("shop", &content(&noise(2_000_000))).await.unwrap_err().to_string();
    assert!(why.contains(&format!("at most {MAX_STORED} can be kept")), "{why}");
    assert_eq!(revisions.list("shop").await.unwrap(), [stored]);

    // What is taken for small enough, the API server takes as well.
    let mut length = MAX_STORED / 100 * 94;
    let (second, largest) = loop {
        let content = content(&noise(length));
        match revisions.store("shop", &content).await {
            Ok(revision) => break (revision, content),
            Err(why) => assert!(why.to_string().contains("can be kept"), "{why}"),
        }
        length -= 10_000;
    };
    assert_eq!(revisions.read("shop", &second.name).await.unwrap(), Some((second, largest)));
}
