//! How an object is doing, by the rules of its kind: the default meaning of *ready*.
//!
//! The rules are those of kstatus, which `kubectl wait`, Flux and Argo CD share: first what holds for every object
//! (it goes away, its controller has not seen the last change, it says `Reconciling` or `Stalled`), then the rules
//! of the built-in kinds, then the condition `Ready`. Three differences, each because an order depends on it here:
//! a Pod that failed is failed (kstatus calls it current: it will not change any more), a claim that lost its
//! volume is failed, and a condition that names an older generation does not count.

pub mod conditions;
mod custom;
mod pods;
mod workloads;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{path::FieldPath, shape::Why, text};

/// How an object is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HealthState {
    /// What its spec asks for is there.
    Current,
    /// Its controller is at work, or has not begun.
    InProgress,
    /// It will not come right by itself.
    Failed,
    /// It is being deleted.
    Terminating,
}

/// How an object is doing, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// How.
    pub state: HealthState,
    /// What stands there and what is wanted; for a current object, what made it so is not said.
    pub why: Why,
}

/// Whether the rules can say something of an object, and what: none lets the next rule speak.
type Rule = Option<Health>;

/// How an object is doing. One whose kind has no rule and that says nothing of itself is current.
#[must_use]
pub fn of(object: &Value) -> Health {
    generic(object).or_else(|| by_kind(object)).unwrap_or_else(current)
}

fn by_kind(object: &Value) -> Rule {
    let api_version = FieldPath::find(object, &["apiVersion"]).and_then(Value::as_str).unwrap_or_default();
    let kind = FieldPath::find(object, &["kind"]).and_then(Value::as_str).unwrap_or_default();
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    match (group, kind) {
        ("apps" | "extensions", "Deployment") => Some(workloads::deployment(object)),
        ("apps" | "extensions", "ReplicaSet") => Some(workloads::replica_set(object)),
        ("apps" | "extensions", "DaemonSet") => Some(workloads::daemon_set(object)),
        ("apps", "StatefulSet") => Some(workloads::stateful_set(object)),
        ("batch", "Job") => Some(pods::job(object)),
        ("", "Pod") => Some(pods::pod(object)),
        ("", "PersistentVolumeClaim") => Some(pods::claim(object)),
        ("", "Service") => Some(pods::service(object)),
        ("policy", "PodDisruptionBudget") => Some(pods::disruption_budget(object)),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => Some(custom::definition(object)),
        ("", "ConfigMap" | "Secret") | ("batch", "CronJob") => Some(current()),
        _ => custom::ready_condition(object),
    }
}

/// What holds for every object, whatever its kind.
fn generic(object: &Value) -> Rule {
    if let Some(since) = FieldPath::find(object, &["metadata", "deletionTimestamp"]) {
        let at = FieldPath::of(&["metadata", "deletionTimestamp"]);
        return Some(Health {
            state: HealthState::Terminating,
            why: Why::new(at, text::brief(since), "absent"),
        });
    }
    let generation = number(object, &["metadata", "generation"]);
    let observed = number(object, &["status", "observedGeneration"]);
    if let (Some(generation), Some(observed)) = (generation, observed)
        && observed != generation
    {
        return Some(in_progress(&["status", "observedGeneration"], observed, generation));
    }
    let says = |kind| conditions::find(object, kind).filter(|it| it.status == "True" && it.stale.is_none());
    if let Some(reconciling) = says("Reconciling") {
        let why = Why::new(conditions::path("Reconciling"), reconciling.in_words(), "\"False\"");
        return Some(Health { state: HealthState::InProgress, why });
    }
    if let Some(stalled) = says("Stalled") {
        let why = Why::new(conditions::path("Stalled"), stalled.in_words(), "\"False\"");
        return Some(Health { state: HealthState::Failed, why });
    }
    None
}

fn current() -> Health {
    Health { state: HealthState::Current, why: Why::new(FieldPath::root(), "as its spec says", "that") }
}

#[expect(clippy::needless_pass_by_value, reason = "numbers and texts alike, without a borrow at each rule")]
fn in_progress(path: &[&str], is: impl ToString, wants: impl ToString) -> Health {
    let why = Why::new(FieldPath::of(path), is.to_string(), wants.to_string());
    Health { state: HealthState::InProgress, why }
}

fn failed(path: FieldPath, is: impl Into<String>, wants: impl Into<String>) -> Health {
    Health { state: HealthState::Failed, why: Why::new(path, is, wants) }
}

fn number(object: &Value, path: &[&str]) -> Option<i64> {
    FieldPath::find(object, path)?.as_i64()
}

/// The first of some counters that is too small: what a rollout waits for.
fn first_below(object: &Value, wanted: i64, counters: &[&str]) -> Rule {
    counters.iter().find_map(|counter| {
        let is = number(object, &["status", counter]).unwrap_or(0);
        (is < wanted).then(|| in_progress(&["status", counter], is, wanted))
    })
}

/// More of them are there than wanted: the rest has not gone yet.
fn extra(object: &Value, wanted: i64) -> Rule {
    let is = number(object, &["status", "replicas"]).unwrap_or(0);
    (is > wanted).then(|| in_progress(&["status", "replicas"], is, wanted))
}
