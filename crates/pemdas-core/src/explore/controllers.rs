//! Controllers that play the cluster's part: what a kind's controller writes into the status of an object.

use serde_json::{Value, json};

use crate::{
    ledger::End,
    world::{KindKey, Live},
};

/// Whether a kind has a controller here; the others are as they are made.
pub(super) fn has(kind: &KindKey) -> bool {
    matches!(
        (kind.group.as_str(), kind.kind.as_str()),
        ("example.com", "Thing" | "Server" | "Job")
            | ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
            | ("batch", "Job")
            | ("", "PersistentVolumeClaim" | "Pod")
            | ("policy", "PodDisruptionBudget")
    )
}

/// The status that an object's controller comes to; nothing where it has done its work, or there is none.
pub(super) fn status(live: &Live, end: End) -> Option<Value> {
    let body = &live.body;
    let generation = live.generation;
    let condition = |name: &str| json!([{ "type": name, "status": "True" }]);
    let replicas = body["spec"]["replicas"].as_i64().unwrap_or(1);
    Some(match (live.key.kind.group.as_str(), live.key.kind.kind.as_str()) {
        ("example.com", "Thing") => json!({
            "observedGeneration": generation, "conditions": condition("Ready"), "v": body["spec"]["v"],
        }),
        ("example.com", "Server") => json!({
            "observedGeneration": generation, "replicas": body["spec"]["replicas"], "conditions": condition("Ready"),
        }),
        ("example.com" | "batch", "Job") if body.get("status").is_none() => {
            let word = if end == End::Failed { "Failed" } else { "Complete" };
            json!({
                "conditions": condition(word), "succeeded": i32::from(end == End::Passed),
                "completionTime": "2030-01-31T12:00:00Z",
            })
        }
        ("apps", "Deployment") => json!({
            "observedGeneration": generation, "replicas": replicas, "updatedReplicas": replicas,
            "readyReplicas": replicas, "availableReplicas": replicas, "terminatingReplicas": 0,
            "conditions": [
                { "type": "Available", "status": "True" },
                { "type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable" },
            ],
        }),
        ("apps", "StatefulSet" | "ReplicaSet") => json!({
            "observedGeneration": generation, "replicas": replicas, "currentReplicas": replicas,
            "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
            "currentRevision": "r", "updateRevision": "r", "fullyLabeledReplicas": replicas,
        }),
        ("apps", "DaemonSet") => json!({
            "observedGeneration": generation, "desiredNumberScheduled": 1, "currentNumberScheduled": 1,
            "updatedNumberScheduled": 1, "numberAvailable": 1, "numberReady": 1,
        }),
        ("", "PersistentVolumeClaim") => json!({ "phase": "Bound" }),
        ("", "Pod") => json!({ "phase": "Running", "conditions": condition("Ready") }),
        ("policy", "PodDisruptionBudget") => json!({
            "observedGeneration": generation, "currentHealthy": 1, "desiredHealthy": 1,
        }),
        _ => return None,
    })
}

/// The status of an object that is not ready for a while; nothing where that cannot be.
pub(super) fn unready(live: &Live) -> Option<Value> {
    let mut status = live.body.get("status").cloned().unwrap_or_default();
    match (live.key.kind.group.as_str(), live.key.kind.kind.as_str()) {
        ("example.com", "Thing" | "Server") => {
            status["conditions"] = json!([{ "type": "Ready", "status": "False" }]);
        }
        ("apps", "Deployment" | "StatefulSet") => {
            status["readyReplicas"] = json!(0);
            status["availableReplicas"] = json!(0);
            status["conditions"] = json!([{ "type": "Available", "status": "False" }]);
        }
        _ => return None,
    }
    Some(status)
}
