//! What is planned is what happens: the same instance through `plan`, from files and in the cluster, and through the operator on a
//! simulated cluster.
//!
//! | what | has to be the same |
//! | --- | --- |
//! | before an instance is applied | the plan from files and the plan in the cluster |
//! | once the operator is at rest | the objects, with what the plan says of each, in an order that the plan said; what becomes of each node |
//! | at rest | a plan that writes nothing, and says of each node what the status says |
//! | after a deletion | what was deleted, in an order that the plan said |

mod compare;
mod examples;
mod odd;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use pemdas_kube::survey::instance_name;
use pemdas_sim::Scenario;
use serde_json::{Value, json};

use self::compare::{Foreseen, Order};
use super::{Played, Prepared, live::Live, make, observed::Files, words};
use crate::{demo::play, input::Given, trial::scene::Scene};

/// What is not kept in files of a cluster, or is the operator's own.
const OF_OTHERS: [&str; 6] = ["Event", "Lease", "ControllerRevision", "Namespace", "ServiceAccount", "Node"];

/// A blueprint, and what is done with it.
struct Subject {
    name: &'static str,
    files: BTreeMap<String, String>,
    account: Option<String>,
    /// What is there before the blueprint.
    given: Vec<Value>,
    scenario: Scenario,
    /// Whether everything is foreseen: nobody else writes what the blueprint reads.
    exact: bool,
}

/// A subject on its way.
struct Stage<'s> {
    subject: &'s Subject,
    scene: Scene,
    folder: tempfile::TempDir,
    /// What was not foreseen.
    unforeseen: BTreeSet<String>,
}

impl Subject {
    fn given(&self) -> Given {
        Given { title: self.name.to_owned(), files: self.files.clone(), ..Given::default() }
    }

    fn prepared(&self) -> Prepared {
        match Prepared::new(self.given()) {
            Ok(prepared) => prepared,
            Err(checked) => panic!("{}: {:#?}", self.name, checked.diagnostics),
        }
    }

    /// The blueprint runs, and what is given is there.
    fn begin(&self) -> Stage<'_> {
        let mut scene = Scene::new(self.scenario.clone());
        let mut objects = self.given.clone();
        objects.push(play::config_map(self.name, &self.files, self.account.as_deref()));
        scene.apply(&objects);
        Stage { subject: self, scene, folder: tempfile::tempdir().unwrap(), unforeseen: BTreeSet::new() }
    }
}

impl Stage<'_> {
    /// An instance is made, or changed: as planned.
    fn apply(&mut self, instance: &Value) {
        let title = title(self.subject.name, "apply", instance);
        let file = self.file("instance.json", instance);
        let live = self.in_cluster(Some(&file), instance, false);
        if self.scene.object(instance).is_none() {
            // Later on, files do not know what is remembered.
            let files = self.offline(&file, false);
            assert_eq!(self.steps(&files), self.steps(&live), "{title}: files and cluster");
        }
        let before = self.ours(instance);
        let revision = self.scene.revision();
        self.scene.apply(std::slice::from_ref(instance));
        let foreseen = Foreseen::of(&live.plan, before);
        let after = self.ours(instance);
        self.unforeseen.extend(foreseen.compare(&title, &after, self.subject.exact));
        let status = self.scene.object(instance).unwrap()["status"].clone();
        compare::fates(&title, &live.plan, &status, self.subject.exact);
        Order::of(&live.plan).compare(&title, &self.scene.changes(revision));
        self.rests(instance);
    }

    /// Nothing is planned for what is at rest.
    fn rests(&self, instance: &Value) {
        let title = title(self.subject.name, "at rest", instance);
        let plan = self.in_cluster(None, instance, false);
        assert!(plan.plan.is_idle(), "{title}: {}", self.steps(&plan));
        let status = self.scene.object(instance).unwrap()["status"].clone();
        compare::fates(&title, &plan.plan, &status, true);
    }

    /// An instance goes: as planned.
    fn delete(&mut self, instance: &Value) {
        let title = title(self.subject.name, "delete", instance);
        let live = self.in_cluster(None, instance, true);
        let before = self.ours(instance);
        let name = self.instance(instance).unwrap();
        let revision = self.scene.revision();
        self.scene.delete(instance);
        assert!(self.scene.object(instance).is_none(), "{title}: it is still there");
        let left = self.labelled(&name);
        let foreseen = Foreseen::of(&live.plan, before);
        foreseen.compare_deletion(&title, &left);
        if instance["kind"] == "Namespace" {
            // It takes along what is in it, in no order.
            return;
        }
        Order::of(&live.plan).compare(&title, &self.scene.changes(revision));
    }

    fn file(&self, name: &str, object: &Value) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, object.to_string()).unwrap();
        path
    }

    /// A plan from files alone: the instance, and what the cluster has.
    fn offline(&self, instance: &std::path::Path, delete: bool) -> Played {
        let others = |it: &Value| {
            let keys = [json!("pemdas-key"), json!("pemdas-seal")];
            !OF_OTHERS.iter().any(|kind| it["kind"] == *kind) && !keys.contains(&it["metadata"]["name"])
        };
        let items: Vec<_> = self.scene.objects().into_iter().filter(others).collect();
        let observed = self.file("observed.json", &json!({ "items": items }));
        let mut observed = Files::new(Some(&observed));
        match make(self.subject.given(), Some(instance), delete, &mut observed) {
            Ok(planned) => {
                let super::Planned { root, instance, plan, notes, .. } = planned;
                Played { root, instance, plan, notes }
            }
            Err(checked) => panic!("{}: {:#?}", self.subject.name, checked.diagnostics),
        }
    }

    /// A plan in the cluster, of a file or of what is there.
    fn in_cluster(&self, file: Option<&std::path::Path>, instance: &Value, delete: bool) -> Played {
        let namespace = instance.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or("default");
        let session = self.scene.session(namespace);
        let home = format!("default/{}", self.subject.name);
        let readers = self.scene.readers.clone();
        let mut live = Live::new(&session, self.subject.prepared(), readers, Some(&home), None);
        let name = instance["metadata"]["name"].as_str().unwrap();
        let kind = instance["kind"].as_str().unwrap();
        let made = match file {
            Some(file) => live.file(Some(file), delete),
            None => live.named(kind, name, delete),
        };
        match made {
            Ok(played) => played,
            Err(super::live::NoPlan::Lost(lost)) => panic!("{}: {lost:?}", self.subject.name),
            Err(super::live::NoPlan::Problems(problems)) => panic!("{}: {problems:#?}", self.subject.name),
        }
    }

    /// The steps of a plan for people; the names of onces are only known in the cluster.
    fn steps(&self, played: &Played) -> String {
        let mut out = String::new();
        for (at, round) in played.plan.rounds.iter().enumerate() {
            for step in &round.steps {
                let (verb, slot) = (words::verb(step.verb), words::slot(&step.slot));
                out.push_str(&format!("{} {verb} {} of {slot}\n", at + 1, compare::name_of(step)));
            }
        }
        for (slot, node) in &played.plan.nodes {
            let told = words::reasons(&node.last).join("; ");
            out.push_str(&format!("{} {} {told}\n", words::slot(slot), words::fate(&node.fate)));
        }
        out
    }

    /// The name of an instance, once it is there.
    fn instance(&self, instance: &Value) -> Option<String> {
        let prepared = self.subject.prepared();
        let root = prepared.root_of(instance).unwrap();
        let uid = self.scene.object(instance)?["metadata"]["uid"].as_str()?.to_owned();
        Some(instance_name("default", self.subject.name, &root, &uid))
    }

    /// The objects of an instance, by kind and name.
    fn ours(&self, instance: &Value) -> BTreeMap<String, Value> {
        self.instance(instance).map(|it| self.labelled(&it)).unwrap_or_default()
    }

    fn labelled(&self, name: &str) -> BTreeMap<String, Value> {
        let all = self.scene.objects().into_iter();
        let ours =
            all.filter(|it| it.pointer("/metadata/labels/pemdas.dev~1root").is_some_and(|it| it == name));
        ours.map(|it| (compare::title_of(&it), it)).collect()
    }
}

fn title(subject: &str, what: &str, instance: &Value) -> String {
    format!("{subject}, {what} {} {}", instance["kind"], instance["metadata"]["name"])
}
