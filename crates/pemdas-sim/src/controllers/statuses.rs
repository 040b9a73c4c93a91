//! The statuses that workloads have at each stage, as their real controllers write them.

use serde_json::{Value, json};

use crate::meta;

/// Where a workload stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// On its way.
    Progressing,
    /// There.
    Ready,
    /// It will not get there.
    Failed(String),
}

/// The status of a workload; none if the kind has none at this stage.
pub(super) fn status(kind: &str, object: &Value, stage: &Stage, now: &str) -> Option<Value> {
    let wanted = object.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1);
    let generation = object.pointer("/metadata/generation").cloned().unwrap_or(json!(1));
    let ready = *stage == Stage::Ready || wanted == 0;
    let status = match kind {
        "Deployment" => deployment(object, stage, wanted, &generation, now),
        "ReplicaSet" => without_zeros(json!({
            "replicas": wanted, "fullyLabeledReplicas": wanted, "observedGeneration": generation,
            "readyReplicas": if ready { wanted } else { 0 }, "availableReplicas": if ready { wanted } else { 0 },
        })),
        "StatefulSet" => stateful_set(object, ready, wanted, &generation),
        "DaemonSet" => {
            let up = i64::from(*stage == Stage::Ready);
            let mut status = json!({
                "currentNumberScheduled": 1, "numberMisscheduled": 0, "desiredNumberScheduled": 1, "numberReady": up,
                "observedGeneration": generation, "updatedNumberScheduled": 1,
            });
            let more = if up == 1 { "numberAvailable" } else { "numberUnavailable" };
            status[more] = json!(1);
            status
        }
        "Job" => job(object, stage, now),
        "PersistentVolumeClaim" => match stage {
            Stage::Ready => json!({
                "phase": "Bound",
                "accessModes": object.pointer("/spec/accessModes").cloned().unwrap_or(json!([])),
                "capacity": object.pointer("/spec/resources/requests").cloned().unwrap_or(json!({})),
            }),
            Stage::Progressing => json!({ "phase": "Pending" }),
            Stage::Failed(_) => json!({ "phase": "Lost" }),
        },
        "Pod" => pod(object, stage, now),
        "PodDisruptionBudget" if *stage == Stage::Ready => budget(object, &generation, now),
        "PodDisruptionBudget" => return None,
        "Service" => {
            if object.pointer("/spec/type") != Some(&json!("LoadBalancer")) {
                return None;
            }
            match stage {
                Stage::Ready => {
                    json!({ "loadBalancer": { "ingress": [{ "ip": "203.0.113.10", "ipMode": "VIP" }] } })
                }
                _ => json!({ "loadBalancer": {} }),
            }
        }
        _ => return None,
    };
    Some(status)
}

/// The status of a kind that nothing is known of: what the conventions for controllers say, beside what it has.
pub(super) fn by_convention(object: &Value, stage: &Stage, now: &str) -> Value {
    let (ready, stalled, reason, message) = match stage {
        Stage::Progressing => (false, false, "Progressing", ""),
        Stage::Ready => (true, false, "Ready", ""),
        Stage::Failed(message) => (false, true, "Failed", message.as_str()),
    };
    let mut conditions = vec![condition(object, "Ready", ready, reason, message, now)];
    if stalled {
        conditions.push(condition(object, "Stalled", true, reason, message, now));
    }
    for one in conditions.iter_mut().filter_map(Value::as_object_mut) {
        one.remove("lastUpdateTime");
    }
    let mut status = object.get("status").filter(|it| it.is_object()).cloned().unwrap_or(json!({}));
    let generation = object.pointer("/metadata/generation").cloned().unwrap_or(json!(1));
    status["observedGeneration"] = generation;
    let others = object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    let others = others.filter(|it| it["type"] != "Ready" && it["type"] != "Stalled").cloned();
    status["conditions"] = conditions.into_iter().chain(others).collect();
    status
}

/// Go leaves zeros out.
fn without_zeros(mut status: Value) -> Value {
    if let Some(fields) = status.as_object_mut() {
        fields.retain(|name, value| name == "replicas" || value != &json!(0));
    }
    status
}

/// A condition with the time it has had since it is so.
fn condition(object: &Value, kind: &str, value: bool, reason: &str, message: &str, now: &str) -> Value {
    let text = if value { "True" } else { "False" };
    let old = object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    let old = old.filter(|it| it["type"] == kind).find(|it| it["status"] == text && it["reason"] == reason);
    let time = |name: &str| old.and_then(|it| it.get(name)).cloned().unwrap_or(json!(now));
    json!({
        "type": kind, "status": text, "reason": reason, "message": message,
        "lastTransitionTime": time("lastTransitionTime"), "lastUpdateTime": time("lastUpdateTime"),
    })
}

/// As it is where no pod is selected: workloads have none here.
fn budget(object: &Value, generation: &Value, now: &str) -> Value {
    let mut allowed = condition(object, "DisruptionAllowed", false, "InsufficientPods", "", now);
    if let Some(fields) = allowed.as_object_mut() {
        fields.remove("lastUpdateTime");
        fields.insert("observedGeneration".to_owned(), generation.clone());
    }
    let wanted = object.pointer("/spec/minAvailable").and_then(Value::as_i64).unwrap_or(0);
    json!({
        "observedGeneration": generation, "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": wanted,
        "expectedPods": 0, "conditions": [allowed],
    })
}

fn deployment(object: &Value, stage: &Stage, wanted: i64, generation: &Value, now: &str) -> Value {
    let name = meta::text(object, "name");
    let up = *stage == Stage::Ready || wanted == 0;
    let mut status = without_zeros(json!({
        "observedGeneration": generation, "replicas": wanted, "updatedReplicas": wanted,
        "readyReplicas": if up { wanted } else { 0 }, "availableReplicas": if up { wanted } else { 0 },
        "unavailableReplicas": if up { 0 } else { wanted },
    }));
    if let Some(fields) = status.as_object_mut() {
        fields.retain(|_, value| value != &json!(0));
        // A pointer in Go: told as soon as it is known. Pods that nobody made are gone at once.
        fields.insert("terminatingReplicas".to_owned(), json!(0));
    }
    let available = if up {
        condition(
            object,
            "Available",
            true,
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
            now,
        )
    } else {
        let message = "Deployment does not have minimum availability.";
        condition(object, "Available", false, "MinimumReplicasUnavailable", message, now)
    };
    let progressing = match stage {
        Stage::Ready => {
            let message = format!("ReplicaSet \"{name}\" has successfully progressed.");
            condition(object, "Progressing", true, "NewReplicaSetAvailable", &message, now)
        }
        Stage::Progressing => {
            let message = format!("ReplicaSet \"{name}\" is progressing.");
            condition(object, "Progressing", true, "ReplicaSetUpdated", &message, now)
        }
        Stage::Failed(message) => {
            condition(object, "Progressing", false, "ProgressDeadlineExceeded", message, now)
        }
    };
    status["conditions"] = json!([available, progressing]);
    status
}

fn stateful_set(object: &Value, ready: bool, wanted: i64, generation: &Value) -> Value {
    let up = if ready { wanted } else { 0 };
    let template = object.pointer("/spec/template").cloned().unwrap_or_default();
    let revision = format!("{}-{}", meta::text(object, "name"), hash(&template));
    let mut status = without_zeros(json!({
        "observedGeneration": generation, "replicas": wanted, "readyReplicas": up, "availableReplicas": up,
        "currentReplicas": wanted, "updatedReplicas": wanted,
        "currentRevision": revision, "updateRevision": revision, "collisionCount": 0,
    }));
    status["availableReplicas"] = json!(up);
    status["collisionCount"] = json!(0);
    status
}

/// What tells a pod template from others, as in the names of revisions: the same template has the same name again.
fn hash(template: &Value) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let sum = template
        .to_string()
        .bytes()
        .fold(0x811c_9dc5_u32, |sum, it| (sum ^ u32::from(it)).wrapping_mul(0x0100_0193));
    let letter = |it: u8| LETTERS.get(usize::from(it) % LETTERS.len()).map(|it| char::from(*it));
    sum.to_string().bytes().filter_map(letter).collect()
}

fn job(object: &Value, stage: &Stage, now: &str) -> Value {
    let start = object.pointer("/status/startTime").cloned().unwrap_or(json!(now));
    let wanted = object.pointer("/spec/completions").and_then(Value::as_i64).unwrap_or(1);
    let ended = |kind: &str, reason: &str, message: &str| {
        let old = object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
        let old = old.filter(|it| it["type"] == kind).find_map(|it| it.get("lastTransitionTime").cloned());
        let time = old.unwrap_or(json!(now));
        json!({ "type": kind, "status": "True", "reason": reason, "message": message,
            "lastProbeTime": time, "lastTransitionTime": time })
    };
    if object.pointer("/spec/suspend") == Some(&json!(true)) {
        return json!({ "conditions": [ended("Suspended", "JobSuspended", "Job suspended")] });
    }
    match stage {
        Stage::Progressing => {
            json!({ "active": 1, "ready": 1, "terminating": 0, "startTime": start, "uncountedTerminatedPods": {} })
        }
        Stage::Ready => {
            let end = object.pointer("/status/completionTime").cloned().unwrap_or(json!(now));
            let message = "Reached expected number of succeeded pods";
            let conditions = json!([
                ended("SuccessCriteriaMet", "CompletionsReached", message),
                ended("Complete", "CompletionsReached", message)
            ]);
            json!({ "startTime": start, "completionTime": end, "succeeded": wanted, "ready": 0, "terminating": 0,
                "uncountedTerminatedPods": {}, "conditions": conditions })
        }
        Stage::Failed(message) => json!({
            "startTime": start, "failed": 1, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {},
            "conditions": [ended("FailureTarget", "BackoffLimitExceeded", message), ended("Failed", "BackoffLimitExceeded", message)],
        }),
    }
}

fn pod(object: &Value, stage: &Stage, now: &str) -> Value {
    let start = object.pointer("/status/startTime").cloned().unwrap_or(json!(now));
    let once = object.pointer("/spec/restartPolicy").is_some_and(|it| it != "Always");
    let up = *stage == Stage::Ready;
    let phase = match stage {
        Stage::Progressing => "Pending",
        Stage::Ready if once => "Succeeded",
        Stage::Ready => "Running",
        Stage::Failed(_) => "Failed",
    };
    let conditions: Vec<Value> = ["Initialized", "Ready", "ContainersReady", "PodScheduled"]
        .iter()
        .map(|kind| {
            let holds = up || matches!(*kind, "Initialized" | "PodScheduled");
            let mut one = condition(object, kind, holds, "", "", now);
            if let Some(fields) = one.as_object_mut() {
                fields.retain(|name, value| name != "lastUpdateTime" && value != "");
                fields.insert("lastProbeTime".to_owned(), Value::Null);
            }
            one
        })
        .collect();
    let mut status =
        json!({ "phase": phase, "startTime": start, "conditions": conditions, "qosClass": "BestEffort" });
    if let Stage::Failed(message) = stage {
        status["message"] = json!(message);
    }
    status
}
