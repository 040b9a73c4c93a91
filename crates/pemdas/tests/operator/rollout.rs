//! A new revision over the instances: as many at once as the blueprint allows.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::bed::{Space, a_while, bed, exclusive, shared, until};

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
        self.kubectl(&["annotate", "--overwrite", "configmap", name, &format!("seen={text}")]).unwrap();
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

    /// How far a rollout is, once this holds of it; null when it is over.
    fn rollout(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        until(what, || self.told("blueprint").map(|it| it["rollout"].clone()).filter(|it| is(it)))
    }
}

/// The most ConfigMaps that were on their way at any moment, from the order of requests in the audit log: changed by the operator and not
/// seen yet by the hand.
fn most_in_flight(space: &Space, from: usize) -> usize {
    let requests = bed().cluster.requests().unwrap();
    let ours = requests.iter().filter(|it| it.namespace.as_deref() == Some(&space.name) && it.complete);
    let patches = ours.filter(|it| it.verb == "patch" && it.resource == "configmaps").skip(from);
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

fn patches(space: &Space) -> usize {
    let requests = bed().cluster.requests().unwrap();
    let ours = requests.iter().filter(|it| it.namespace.as_deref() == Some(&space.name) && it.complete);
    ours.filter(|it| it.verb == "patch" && it.resource == "configmaps").count()
}

#[test]
fn no_more_instances_than_allowed_are_on_their_way_also_across_a_restart() {
    let _alone = exclusive();
    let space = Space::new("rollout");
    space.fleet(2);
    a_while();
    let before = patches(&space);
    space.paced(2, "two", "o");
    let far =
        space.rollout("two are on their way", |it| it["inFlight"].as_array().is_some_and(|it| it.len() == 2));
    assert_eq!((&far["rolled"], &far["waiting"], &far["total"]), (&json!(0), &json!(3), &json!(5)));
    until("two are changed", || (space.at("two").len() == 2).then_some(()));
    a_while();
    assert_eq!(space.at("two").len(), 2, "nobody else goes on");
    // Who waits runs on at the revision it is at: drift is repaired, and the root is followed.
    let waits = *NAMES.iter().find(|it| !space.at("two").contains(*it)).unwrap();
    space
        .kubectl(&["patch", "configmap", waits, "--type=merge", "-p", r#"{"data":{"text":"drift"}}"#])
        .unwrap();
    until("it is put right", || (space.text(waits) == "one").then_some(()));
    space.instance("Paced", waits, &json!({ "value": "new" }));
    until("it is followed", || {
        space.get("configmap", &format!("{waits}-o")).filter(|it| it["data"]["value"] == "new")
    });
    // The hand and the repair are no part of the rollout.
    let drifted = patches(&space);
    assert!(most_in_flight(&space, before) <= 3, "two and the one that was repaired");
    bed().kill();
    bed().start();
    a_while();
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
    let _running = shared();
    let space = Space::new("paused");
    space.fleet(1);
    // Something that is not ours is in the way of the new revision, in the first instance.
    space.kubectl(&["create", "configmap", "a-p", "--from-literal=mine=yes"]).unwrap();
    space.paced(1, "one", "p");
    space.stalls("Paced", "a", "exists and is not ours");
    let far = space.rollout("it pauses", |it| it["paused"].is_string());
    assert!(far["paused"].as_str().unwrap().contains("/a stalls"), "{far}");
    assert_eq!(far["waiting"], 4, "{far}");
    a_while();
    let there = space.names("configmap");
    assert!(there.contains(&"b-o".to_owned()) && !there.contains(&"b-p".to_owned()), "{there:?}");
    space.kubectl(&["delete", "configmap", "a-p"]).unwrap();
    space.rollout("it is over", Value::is_null);
    let there = space.names("configmap");
    for name in NAMES {
        assert!(there.contains(&format!("{name}-p")) && !there.contains(&format!("{name}-o")), "{there:?}");
    }
}

#[test]
fn another_library_is_rolled_out_with_care_also_without_the_clause() {
    let _alone = exclusive();
    let space = Space::new("library");
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
    bed().kill();
    made_by_another_library(&space, &source("one"));
    space.blueprint("blueprint", &source("two"));
    bed().start();
    let changed = || ["a", "b", "c"].into_iter().filter(|it| space.text(it) == "two").collect::<Vec<_>>();
    until("one goes on", || (!changed().is_empty()).then_some(()));
    a_while();
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
    space.kubectl(&["delete", "controllerrevision", &real]).unwrap();
    space.apply(&revision);
    for instance in ["a", "b", "c"] {
        let patch = json!({ "status": { "pemdas": { "revision": name } } }).to_string();
        let kind = space.kind("Paced");
        space
            .kubectl(&["patch", &kind, instance, "--subresource=status", "--type=merge", "-p", &patch])
            .unwrap();
    }
}
