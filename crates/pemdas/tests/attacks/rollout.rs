//! A new revision over the instances: as many at once as the blueprint allows.

use std::collections::BTreeSet;

use pemdas_testbed::audit::Request;
use serde_json::{Value, json};

use super::{
    bed::{logged, until},
    operators::Plan,
    space::Space,
};

/// An instance is ready when a hand says so of its ConfigMap, for the text that it has then.
const PACED: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "paced",
  rollout = { max_in_flight = MOST, pause_on_stalled = true },
  kinds.Paced = { group = "GROUP", versions.v1.spec = { value | String | doc "A value" | default = "x" } },
  nodes = {
    instance = { root = kinds.Paced, also = ["map", "other"] },
    map = {
      template = fun the => {
        apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.metadata.name, data.text = "TEXT",
      },
      ready = { metadata.annotations.seen = "TEXT" },
    },
    other.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = "%{the.root.metadata.name}-OTHER", data.value = the.root.spec.value,
    },
  },
} | Blueprint
"#;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

impl Space {
    fn paced(&self, most: u32, text: &str, other: &str) {
        let source = PACED.replace("MOST", &most.to_string()).replace("TEXT", text).replace("OTHER", other);
        self.blueprint("blueprint", &source);
    }

    /// Says that a ConfigMap was seen as it is.
    fn seen(&self, name: &str, text: &str) {
        self.annotate("configmap", name, "seen", text);
    }

    fn text(&self, name: &str) -> String {
        self.get("configmap", name).unwrap()["data"]["text"].as_str().unwrap().to_owned()
    }

    /// Whose ConfigMap has this text.
    fn at(&self, text: &str) -> BTreeSet<&'static str> {
        NAMES.into_iter().filter(|it| self.text(it) == text).collect()
    }

    /// Five instances that are ready.
    fn fleet(&self, most: u32) {
        self.paced(most, "one", "o");
        self.runs("blueprint");
        for name in NAMES {
            self.instance("Paced", name, &json!({}));
        }
        for name in NAMES {
            until("it is made", || self.get("configmap", name));
            self.seen(name, "one");
        }
        for name in NAMES {
            self.ready("Paced", name);
        }
    }

    /// Whoever waits for its turn in a rollout runs on at the revision it is at. When it has followed this change of its root, all that
    /// was there before has been dealt with.
    fn followed(&self, waits: &str, value: &str) {
        self.instance("Paced", waits, &json!({ "value": value }));
        until("it is followed", || {
            self.get("configmap", &format!("{waits}-o")).filter(|it| it["data"]["value"] == value)
        });
    }

    /// How far a rollout is, once this holds of it; null when it is over.
    fn rollout(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        until(what, || self.told("blueprint").map(|it| it["rollout"].clone()).filter(|it| is(it)))
    }
}

/// The most ConfigMaps that were on their way at any moment, from the order of requests in the audit log: changed by the operator and not
/// seen yet by the hand.
fn most_in_flight(space: &Space, from: usize) -> usize {
    let patches = patches(space).into_iter().skip(from);
    let (mut flying, mut most) = (BTreeSet::new(), 0);
    for it in patches {
        let name = it.name.clone().unwrap_or_default();
        if !NAMES.contains(&name.as_str()) {
            continue;
        }
        if it.user.contains(":pemdas-system:") {
            flying.insert(name);
        } else {
            flying.remove(&name);
        }
        most = most.max(flying.len());
    }
    most
}

/// What was changed by anybody, in the order in which it was asked.
fn patches(space: &Space) -> Vec<Request> {
    let here = |it: &Request| it.namespace.as_deref() == Some(&space.name);
    let mut patches = logged(|it| here(it) && it.verb == "patch" && it.resource == "configmaps");
    patches.sort_by(|one, other| one.received.cmp(&other.received));
    patches
}

#[test]
fn no_more_instances_than_allowed_are_on_their_way_also_across_a_restart() {
    let space = Space::new("rollout");
    let mut operator = Plan::over(&[&space]).start();
    space.fleet(2);
    let before = patches(&space).len();
    space.paced(2, "two", "o");
    // Before all of them were looked at, those that were not are counted otherwise.
    let two = |it: &Value| it["inFlight"].as_array().is_some_and(|it| it.len() == 2) && it["waiting"] == 3;
    let far = space.rollout("two are on their way and three wait", two);
    assert_eq!((&far["rolled"], &far["total"]), (&json!(0), &json!(5)));
    until("two are changed", || (space.at("two").len() == 2).then_some(()));
    // Who waits runs on at the revision it is at: drift is repaired, and the root is followed.
    let waits = *NAMES.iter().find(|it| !space.at("two").contains(*it)).unwrap();
    space.merge("configmap", waits, &json!({ "data": { "text": "drift" } }));
    until("it is put right", || (space.text(waits) == "one").then_some(()));
    space.followed(waits, "new");
    assert_eq!(space.at("two").len(), 2, "nobody else goes on");
    // The hand and the repair are no part of the rollout.
    let drifted = patches(&space).len();
    assert!(most_in_flight(&space, before) <= 3, "two and the one that was repaired");
    operator.kill();
    operator.start();
    space.followed(waits, "newer");
    assert_eq!(space.at("two").len(), 2, "a new process goes on where the last one stopped");
    for round in 0..NAMES.len() {
        let done: BTreeSet<_> = space.at("two");
        for name in &done {
            space.seen(name, "two");
        }
        if done.len() == NAMES.len() {
            break;
        }
        assert!(round < NAMES.len() - 1, "it never gets on");
        until("others go on", || (space.at("two").len() > done.len()).then_some(()));
    }
    for name in NAMES {
        space.ready("Paced", name);
    }
    space.rollout("it is over", Value::is_null);
    assert!(most_in_flight(&space, drifted) <= 2);
}

#[test]
fn one_that_stalls_pauses_the_rollout_until_it_is_mended() {
    let space = Space::new("paused");
    let _operator = Plan::over(&[&space]).start();
    space.fleet(1);
    // Something that is not ours is in the way of the new revision, in the first instance.
    space.map_of_a_hand("a-p");
    space.paced(1, "one", "p");
    space.stalls("Paced", "a", "exists and is not ours");
    let far = space.rollout("it pauses", |it| it["paused"].is_string());
    assert!(far["paused"].as_str().unwrap().contains("/a stalls"), "{far}");
    assert_eq!(far["waiting"], 4, "{far}");
    space.followed("e", "new");
    let there = space.names("configmap");
    assert!(there.contains(&"b-o".to_owned()) && !there.contains(&"b-p".to_owned()), "{there:?}");
    space.delete("configmap", "a-p");
    space.rollout("it is over", Value::is_null);
    let there = space.names("configmap");
    for name in NAMES {
        assert!(there.contains(&format!("{name}-p")) && !there.contains(&format!("{name}-o")), "{there:?}");
    }
}

#[test]
fn a_human_has_a_rollout_go_on_without_one_that_stalls() {
    let space = Space::new("passed-over");
    let _operator = Plan::over(&[&space]).start();
    space.fleet(1);
    space.map_of_a_hand("a-p");
    space.paced(1, "one", "p");
    let far = space.rollout("it pauses", |it| it["paused"].is_string());
    let revision = space.told("blueprint").unwrap()["revision"].as_str().unwrap().to_owned();
    let advice = format!("pemdas.dev/resume={revision}");
    assert!(far["paused"].as_str().unwrap().contains(&advice), "{far}");
    // What was meant for something else has no effect.
    space.annotate(&space.kind("Paced"), "a", "pemdas.dev/resume", "1");
    space.followed("e", "new");
    assert!(!space.names("configmap").contains(&"b-p".to_owned()));
    space.annotate(&space.kind("Paced"), "a", "pemdas.dev/resume", &revision);
    space.rollout("it is over", Value::is_null);
    let there = space.names("configmap");
    for name in &NAMES[1..] {
        assert!(there.contains(&format!("{name}-p")), "{there:?}");
    }
    // One that is over does not begin again because something is not ready for a while.
    space.annotate("configmap", "e", "seen", "not any more");
    until("it is not ready", || {
        space.told("blueprint").filter(|it| it["instances"]["ready"] == json!(3) && it["rollout"].is_null())
    });
}

#[test]
fn one_that_stalled_before_holds_nobody_up_also_after_a_restart() {
    let space = Space::new("stalled-before");
    let mut operator = Plan::over(&[&space]).start();
    space.fleet(1);
    // It would go first, by its name.
    space.map_of_a_hand("0-o");
    space.instance("Paced", "0", &json!({}));
    space.stalls("Paced", "0", "exists and is not ours");
    operator.kill();
    space.paced(1, "two", "o");
    operator.start();
    for _ in NAMES {
        let done = space.at("two");
        done.iter().for_each(|it| space.seen(it, "two"));
        let all = done.len() == NAMES.len();
        until("the next one goes on", || (all || space.at("two").len() > done.len()).then_some(()));
    }
    NAMES.iter().for_each(|it| space.seen(it, "two"));
    space.rollout("it is over", Value::is_null);
    assert_eq!(space.at("two").len(), NAMES.len());
}

#[test]
fn another_library_is_rolled_out_with_care_also_without_the_clause() {
    let space = Space::new("library");
    let mut operator = Plan::over(&[&space]).start();
    let source = |text: &str| {
        PACED
            .replace("  rollout = { max_in_flight = MOST, pause_on_stalled = true },\n", "")
            .replace("TEXT", text)
            .replace("OTHER", "o")
            .replace("GROUP", &space.group)
    };
    space.blueprint("blueprint", &source("one"));
    space.runs("blueprint");
    for name in ["a", "b", "c"] {
        space.instance("Paced", name, &json!({}));
        until("it is made", || space.get("configmap", name));
        space.seen(name, "one");
        space.ready("Paced", name);
    }
    operator.kill();
    made_by_another_library(&space, &source("one"));
    space.blueprint("blueprint", &source("two"));
    operator.start();
    let changed = || ["a", "b", "c"].into_iter().filter(|it| space.text(it) == "two").collect::<Vec<_>>();
    until("one goes on", || (!changed().is_empty()).then_some(()));
    // Who waits does not run on here: nobody knows the revision of another library.
    space.sees_blueprints();
    assert_eq!(changed(), ["a"], "one after the other");
    let far = space.rollout("it is told", Value::is_object);
    assert_eq!(
        (&far["inFlight"][0], &far["waiting"]),
        (&json!(format!("{}/a", space.name)), &json!(2)),
        "{far}"
    );
    for (at, name) in ["a", "b", "c"].into_iter().enumerate() {
        until("it is its turn", || (changed().len() > at).then_some(()));
        space.seen(name, "two");
        space.ready("Paced", name);
    }
    space.rollout("it is over", Value::is_null);
}

/// Makes it look as if an operator with another library had made everything: its revision is there, and the statuses name it. (A hand on the
/// claims of objects would be a conflict.)
fn made_by_another_library(space: &Space, source: &str) {
    let content = json!({ "library": "another", "sources": { "main.ncl": source } });
    let digest = pemdas_core::digest::Digest::of(&[], &json!(["blueprint", content]));
    let name = format!("blueprint-{digest}");
    let real = space.told("blueprint").unwrap()["revision"].as_str().unwrap().to_owned();
    let revision = json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1, "data": content,
        "metadata": {
            "name": name, "labels": { "pemdas.dev/blueprint": "blueprint" },
            "annotations": { "pemdas.dev/blueprint": "blueprint" },
        },
    });
    space.delete("controllerrevision", &real);
    space.apply(&revision);
    for instance in ["a", "b", "c"] {
        let status = json!({ "pemdas": { "revision": name } });
        space.merge_status(&space.kind("Paced"), instance, &status);
    }
}
