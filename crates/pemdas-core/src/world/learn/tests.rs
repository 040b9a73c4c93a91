use std::sync::Arc;

use serde_json::json;

use super::{Fact, Refusal, WriteOutcome};
use crate::{
    digest::Digest,
    world::{KindKey, KindView, Live, ObjectKey, Sight, World},
};

fn live(name: &str, resource_version: u64) -> Arc<Live> {
    Arc::new(Live {
        key: ObjectKey::new(KindKey::new("v1", "Thing"), "n", name),
        uid: "u".to_owned(),
        resource_version,
        generation: None,
        terminating: false,
        finalizers: [].into(),
        managed: super::super::Managers::default().into(),
        body: json!({}).into(),
    })
}

fn sight(watermark: u64) -> KindView {
    KindView { sight: Sight::Synced, epoch: 0, watermark, observed_generation: false, namespaced: true }
}

#[test]
fn what_a_watch_repeats_is_not_looked_at_again() {
    let mut world = World::new(ObjectKey::new(KindKey::new("x/v1", "Shop"), "n", "s"), "r");
    world.learn(Fact::Kind(KindKey::new("v1", "Thing"), sight(1)));
    let mut wakes = |fact| {
        let before = world.changes;
        world.learn(fact);
        world.changes != before
    };
    assert!(wakes(Fact::Answer(live("a", 5))));
    assert!(!wakes(Fact::Seen(live("a", 5))), "the answer has told that");
    assert!(wakes(Fact::Seen(live("a", 6))), "somebody else changed it");

    // Of this one only the version is known: the watch may show it by going on, with whatever object.
    let other = live("b", 9);
    let done = Fact::Outcome(other.key.clone(), Digest::of(&[], &json!(1)), WriteOutcome::Done(9));
    assert!(wakes(done));
    assert!(wakes(Fact::Answer(live("a", 10))));
    assert!(wakes(Fact::Seen(live("a", 10))), "now the other write is known to be seen");
    assert!(world.unseen_write(&other.key).is_none());
}

/// The accident: an account that sees single namespaces has a watch for each. What one of them told let a write in another count as
/// seen, whose answer was then taken for that of an object that is gone again.
#[test]
fn what_one_namespace_shows_says_nothing_of_another() {
    let mut world = World::new(ObjectKey::new(KindKey::new("x/v1", "Shop"), "n", "s"), "r");
    world.learn(Fact::Kind(KindKey::new("v1", "Thing"), sight(1)));
    let elsewhere = |version| {
        let mut it = Arc::unwrap_or_clone(live("a", version));
        it.key = ObjectKey::new(it.key.kind.clone(), "elsewhere", "a");
        Arc::new(it)
    };
    world.learn(Fact::Seen(live("a", 9)));
    let key = elsewhere(5).key.clone();
    world.learn(Fact::Outcome(key.clone(), Digest::of(&[], &json!(1)), WriteOutcome::Done(5)));
    assert!(world.unseen_write(&key).is_some(), "its own watch has not come so far");
    world.learn(Fact::Answer(elsewhere(5)));
    assert!(world.objects.contains_key(&key), "nobody has told that it is gone");
    world.learn(Fact::Vanished(key.clone(), 7));
    assert!(!world.objects.contains_key(&key));
    world.learn(Fact::Answer(elsewhere(6)));
    assert!(!world.objects.contains_key(&key), "an answer that is older than the watch");
}

#[test]
fn what_we_delete_does_not_count_as_gone_again_and_again() {
    let mut world = World::new(ObjectKey::new(KindKey::new("x/v1", "Shop"), "n", "s"), "r");
    world.learn(Fact::Kind(KindKey::new("v1", "Thing"), sight(1)));
    let claim = json!({
        "root": world.root.key, "node": "a", "revision": "r", "ordinal": 1, "applied": Digest::of(&[], &json!(1)),
    });
    let ours = |version: u64, terminating: bool| {
        let mut it = Arc::unwrap_or_clone(live("a", version));
        it.terminating = terminating;
        it.body = json!({ "metadata": {
            "labels": { "pemdas.dev/root": "r" }, "annotations": { "pemdas.dev/claim": claim.to_string() },
        } })
        .into();
        Arc::new(it)
    };
    let key = live("a", 1).key.clone();
    let mut times = |version: u64, by_us: bool| {
        world.learn(Fact::Seen(ours(version, false)));
        if by_us {
            let deleted = WriteOutcome::Deleted("u".to_owned());
            world.learn(Fact::Outcome(key.clone(), Digest::of(&[], &json!(2)), deleted));
        }
        // Somebody holds it for a while.
        world.learn(Fact::Seen(ours(version + 1, true)));
        world.learn(Fact::Vanished(key.clone(), version + 2));
        world.gone.get(&key).map_or(0, |it| it.times)
    };
    assert_eq!([times(10, true), times(20, false), times(30, true), times(40, false)], [0, 1, 1, 2]);
}

#[test]
fn a_refusal_stands_until_there_is_another_answer() {
    let mut world = World::new(ObjectKey::new(KindKey::new("x/v1", "Shop"), "n", "s"), "r");
    let key = live("a", 1).key.clone();
    let mut refused = |body: u64, refusal: Refusal| {
        let tried = Digest::of(&[], &json!(body));
        world.learn(Fact::Outcome(key.clone(), tried, WriteOutcome::Refused(refusal)));
        world.refused.get(&key).map(|it| (it.refusal.clone(), it.times)).unwrap()
    };
    let (busy, wrong) = (Refusal::Busy("500".to_owned()), Refusal::Invalid("no".to_owned()));
    assert_eq!(refused(1, busy.clone()), (busy.clone(), 0));
    assert_eq!(refused(1, wrong.clone()), (wrong.clone(), 1));
    assert_eq!(refused(1, busy.clone()), (wrong, 2), "nobody has taken it back");
    assert_eq!(refused(1, Refusal::Changed), (Refusal::Changed, 3), "that is an answer");
    assert_eq!(refused(2, busy.clone()), (busy, 0), "this was not tried before");
}

#[test]
fn since_when_a_root_goes_is_what_it_says() {
    let since = |said: serde_json::Value, now: u64| {
        let mut world = World::new(ObjectKey::new(KindKey::new("x/v1", "Shop"), "n", "s"), "u");
        let mut root = Arc::unwrap_or_clone(live("s", 1));
        root.key = world.root.key.clone();
        root.terminating = true;
        root.body = json!({ "metadata": { "deletionTimestamp": said } }).into();
        world.learn(Fact::Now(now));
        world.learn(Fact::Root(Arc::new(root)));
        world.root.going_since
    };
    assert_eq!(since(json!("1970-01-01T00:00:10Z"), 500_000), Some(10_000), "whoever began to look when");
    assert_eq!(since(json!("1970-01-01T00:10:00Z"), 500_000), Some(500_000), "it may have time left to go");
    assert_eq!(since(json!("soon"), 500_000), Some(500_000));
}
