//! Controllers that play workloads: ready after a time, or failed, or now so and now so, as a scenario says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::garbage::drop_finalizer;
use super::statuses::{self, Stage};
use super::{path_of, send};
use crate::api::Method;
use crate::meta;
use crate::server::{Answer, Server};
use crate::store::{Key, ResourceId};
use crate::time::Time;

/// How the workloads of a cluster behave. The first rule that is about an object counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scenario {
    /// The rules.
    pub rules: Vec<Rule>,
    /// How everything else behaves.
    pub otherwise: Behaviour,
    /// What Services answer; the first that is about a Service and a path counts.
    pub answers: Vec<Answer>,
}

/// How some workloads behave. What is not said is not asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    /// Of this kind.
    pub kind: Option<String>,
    /// In this namespace.
    pub namespace: Option<String>,
    /// Of this name.
    pub name: Option<String>,
    /// With this label.
    pub label: Option<(String, String)>,
    /// How they behave.
    pub behaviour: Behaviour,
}

/// How a workload behaves, beginning anew whenever it is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behaviour {
    /// After so many milliseconds.
    pub after: u64,
    /// What becomes of it.
    pub outcome: Outcome,
    /// Fields that its status has besides once it is ready.
    pub status: Option<Value>,
}

/// What becomes of a workload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It is ready.
    #[default]
    Ready,
    /// It fails, with this message.
    Fails(String),
    /// It is ready, then not, each for so many milliseconds.
    Flaps(u64),
    /// It makes no progress.
    Hangs,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self { after: 1_000, outcome: Outcome::Ready, status: None }
    }
}

impl Scenario {
    /// The rule that is about an object.
    fn rule(&self, kind: &str, object: &Value) -> Option<&Rule> {
        let label = |name: &str| object.pointer("/metadata/labels").and_then(|it| it.get(name));
        let fits = |rule: &&Rule| {
            rule.kind.as_deref().is_none_or(|it| it == kind)
                && rule.namespace.as_deref().is_none_or(|it| it == meta::text(object, "namespace"))
                && rule.name.as_deref().is_none_or(|it| it == meta::text(object, "name"))
                && rule.label.as_ref().is_none_or(|(name, value)| label(name).is_some_and(|it| it == value))
        };
        self.rules.iter().find(fits)
    }

    /// How an object behaves. A kind without a controller of its own behaves only as a rule that names the kind says.
    fn behaviour(&self, kind: &str, object: &Value) -> Option<&Behaviour> {
        match self.rule(kind, object) {
            Some(rule) if rule.kind.is_some() || is_played(kind) => Some(&rule.behaviour),
            _ => is_played(kind).then_some(&self.otherwise),
        }
    }

    /// The kinds that only rules play.
    fn named_kinds(&self) -> impl Iterator<Item = &str> {
        let named: BTreeSet<&str> = self.rules.iter().filter_map(|it| it.kind.as_deref()).collect();
        named.into_iter().filter(|it| !is_played(it))
    }
}

fn is_played(kind: &str) -> bool {
    PLAYED.iter().any(|(_, _, played)| *played == kind)
}

/// The kinds that are played.
const PLAYED: &[(&str, &str, &str)] = &[
    ("apps", "deployments", "Deployment"),
    ("apps", "replicasets", "ReplicaSet"),
    ("apps", "statefulsets", "StatefulSet"),
    ("apps", "daemonsets", "DaemonSet"),
    ("batch", "jobs", "Job"),
    ("", "persistentvolumeclaims", "PersistentVolumeClaim"),
    ("", "pods", "Pod"),
    ("", "services", "Service"),
    ("policy", "poddisruptionbudgets", "PodDisruptionBudget"),
];

/// What keeps a claim that is in use.
const CLAIM_IN_USE: &str = "kubernetes.io/pvc-protection";

/// What the players remember.
#[derive(Debug, Clone, Default)]
pub(crate) struct Workloads {
    scenario: Scenario,
    /// By uid: what was seen of it last.
    begun: BTreeMap<String, Seen>,
    next: Option<Time>,
}

/// A workload as it was seen last.
#[derive(Debug, Clone)]
struct Seen {
    object: Arc<Value>,
    /// Since when it has had its spec.
    since: Time,
    /// The stage that its status tells of already.
    told: Option<Stage>,
}

impl Workloads {
    pub(crate) fn set(&mut self, scenario: Scenario) {
        self.scenario = scenario;
    }

    /// What was seen of a workload, as it is now.
    fn seen(&mut self, object: &Arc<Value>, now: Time) -> Seen {
        match self.begun.remove(meta::text(object, "uid")) {
            Some(seen) if Arc::ptr_eq(&seen.object, object) => seen,
            Some(seen) if seen.object.get("spec") == object.get("spec") => {
                Seen { object: Arc::clone(object), told: None, ..seen }
            }
            _ => Seen { object: Arc::clone(object), since: now, told: None },
        }
    }

    pub(crate) fn next_event(&self) -> Option<Time> {
        self.next
    }

    /// What is played: workloads, and the kinds that rules name.
    fn resources(&self, server: &Server) -> Vec<(ResourceId, String)> {
        let workloads = PLAYED.iter().map(|(group, plural, kind)| {
            (ResourceId { group: (*group).to_owned(), plural: (*plural).to_owned() }, (*kind).to_owned())
        });
        let mut all: Vec<_> = workloads.collect();
        for kind in self.scenario.named_kinds() {
            let served: BTreeSet<ResourceId> =
                server.kinds().all().filter(|it| it.kind == kind).map(|it| it.id()).collect();
            all.extend(served.into_iter().map(|id| (id, kind.to_owned())));
        }
        all
    }

    /// One pass over all workloads: whether something changed.
    pub(crate) fn pass(&mut self, server: &mut Server, now: Time) -> bool {
        self.next = None;
        let mut changed = false;
        let mut alive: BTreeMap<String, Seen> = BTreeMap::new();
        for (id, kind) in self.resources(server) {
            let kind = kind.as_str();
            let all = server.store().list(&id, None, None);
            let all: Vec<(Key, Arc<Value>)> = all.map(|(key, it)| (key.clone(), Arc::clone(it))).collect();
            for (key, object) in all {
                let mut seen = self.seen(&object, now);
                let since = seen.since;
                if meta::is_deleting(&object) {
                    changed |= end_pod(server, now, kind, &key);
                    changed |= release_claim(server, now, kind, &key, &object);
                    alive.insert(meta::text(&object, "uid").to_owned(), seen);
                    continue;
                }
                let Some(behaviour) = self.scenario.behaviour(kind, &object) else { continue };
                // A controller that hangs said so once. What somebody says of the object after that stands.
                let hangs = matches!(behaviour.outcome, Outcome::Hangs);
                if hangs && !is_played(kind) && object.pointer("/status/conditions").is_some() {
                    continue;
                }
                let (stage, next) = stage(behaviour, since, now);
                let kept_until = kept_until(kind, &object, &stage, since.after(behaviour.after));
                if kept_until.is_some_and(|it| it <= now) {
                    changed |= remove(server, now, &key);
                } else {
                    if seen.told.as_ref() != Some(&stage) {
                        let wrote = play(server, now, kind, &key, &object, &stage, behaviour.status.as_ref());
                        changed |= wrote;
                        seen.told = (!wrote).then_some(stage);
                    }
                    for next in next.into_iter().chain(kept_until) {
                        self.next = Some(self.next.map_or(next, |other| other.min(next)));
                    }
                }
                alive.insert(meta::text(&object, "uid").to_owned(), seen);
            }
        }
        self.begun = alive;
        changed
    }
}

/// Where a workload stands, and when that changes.
fn stage(behaviour: &Behaviour, since: Time, now: Time) -> (Stage, Option<Time>) {
    let due = since.after(behaviour.after);
    if matches!(behaviour.outcome, Outcome::Hangs) {
        return (Stage::Progressing, None);
    }
    if now < due {
        return (Stage::Progressing, Some(due));
    }
    match &behaviour.outcome {
        Outcome::Fails(message) => (Stage::Failed(message.clone()), None),
        Outcome::Flaps(every) => {
            let every = (*every).max(1);
            let turns = (now.0 - due.0) / every;
            let stage = if turns.is_multiple_of(2) { Stage::Ready } else { Stage::Progressing };
            (stage, Some(due.after((turns + 1) * every)))
        }
        Outcome::Ready | Outcome::Hangs => (Stage::Ready, None),
    }
}

/// A pod that is to go ends at once: nobody waits for its processes.
fn end_pod(server: &mut Server, now: Time, kind: &str, key: &Key) -> bool {
    if kind != "Pod" {
        return false;
    }
    let Some(path) = path_of(server, key) else { return false };
    let body = json!({ "gracePeriodSeconds": 0 });
    let before = server.store().revision();
    send(server, now, Method::Delete, &path, "application/json", &body);
    server.store().revision() != before
}

/// A claim that is to go is kept as long as a pod uses it, of its own or of a workload, whose pods are played and not made.
fn release_claim(server: &mut Server, now: Time, kind: &str, key: &Key, claim: &Value) -> bool {
    if kind != "PersistentVolumeClaim" || !meta::finalizers(claim).iter().any(|it| it == CLAIM_IN_USE) {
        return false;
    }
    let is_it =
        |volume: &Value| volume.pointer("/persistentVolumeClaim/claimName") == Some(&json!(key.name()));
    let has_it = |object: &Value| {
        let places = ["/spec/volumes", "/spec/template/spec/volumes"];
        places.iter().filter_map(|it| object.pointer(it)?.as_array()).flatten().any(is_it)
    };
    let used = PLAYED.iter().any(|(group, plural, kind)| {
        let id = ResourceId { group: (*group).to_owned(), plural: (*plural).to_owned() };
        let runs = |it: &Value| *kind != "Job" || it.pointer("/status/active").is_some();
        server.store().list(&id, key.namespace(), None).any(|(_, it)| has_it(it) && runs(it))
    });
    !used && drop_finalizer(server, now, key, claim, CLAIM_IN_USE)
}

/// When a Job that has ended is cleaned up, if it says so.
fn kept_until(kind: &str, object: &Value, stage: &Stage, ended: Time) -> Option<Time> {
    let has_ended = kind == "Job" && *stage != Stage::Progressing;
    let seconds = object.pointer("/spec/ttlSecondsAfterFinished").and_then(Value::as_u64)?;
    has_ended.then(|| ended.after(seconds.saturating_mul(1_000)))
}

fn remove(server: &mut Server, now: Time, key: &Key) -> bool {
    let Some(path) = path_of(server, key) else { return false };
    let body = json!({ "propagationPolicy": "Foreground" });
    let before = server.store().revision();
    send(server, now, Method::Delete, &path, "application/json", &body);
    server.store().revision() != before
}

fn play(
    server: &mut Server,
    now: Time,
    kind: &str,
    key: &Key,
    object: &Value,
    stage: &Stage,
    more: Option<&Value>,
) -> bool {
    let status = if is_played(kind) {
        statuses::status(kind, object, stage, &now.text())
    } else {
        Some(statuses::by_convention(object, stage, &now.text()))
    };
    let more = more.filter(|_| *stage == Stage::Ready);
    let Some(mut status) = status.or_else(|| more.map(|_| json!({}))) else { return false };
    if let Some(more) = more {
        merge(&mut status, more);
    }
    let old = object.get("status").cloned().unwrap_or(json!({}));
    if old == status {
        return false;
    }
    let Some(path) = path_of(server, key) else { return false };
    let mut whole = object.clone();
    whole["status"] = status;
    let before = server.store().revision();
    let has_status = server.kinds().any_version(&key.resource).is_some_and(|it| it.has_subresource("status"));
    let path = if has_status { format!("{path}/status") } else { path };
    send(server, now, Method::Put, &path, "application/json", &whole);
    server.store().revision() != before
}

/// As a merge patch does, but for null, which stays.
fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (name, value) in more {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, more) => into.clone_from(more),
    }
}
