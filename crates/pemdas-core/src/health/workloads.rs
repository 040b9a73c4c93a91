//! Deployments, StatefulSets, DaemonSets, ReplicaSets.

use serde_json::Value;

use super::{Health, Rule, conditions, current, extra, failed, first_below, in_progress, number};
use crate::path::FieldPath;

/// What the controller takes where `spec.replicas` is not given.
const DEFAULT_REPLICAS: i64 = 1;
/// The deadline that means none: the controller then reports no progress.
const NO_DEADLINE: i64 = 2_147_483_647;

fn replicas(object: &Value) -> i64 {
    number(object, &["spec", "replicas"]).unwrap_or(DEFAULT_REPLICAS)
}

fn update_strategy(object: &Value) -> &str {
    FieldPath::find(object, &["spec", "updateStrategy", "type"]).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn deployment(object: &Value) -> Health {
    let progressing = conditions::find(object, "Progressing");
    if let Some(progress) = progressing
        && progress.reason == "ProgressDeadlineExceeded"
    {
        return failed(conditions::path("Progressing"), progress.in_words(), "progress before its deadline");
    }
    let wanted = replicas(object);
    first_below(object, wanted, &["replicas", "updatedReplicas"])
        .or_else(|| extra(object, wanted))
        .or_else(|| {
            let updated = number(object, &["status", "updatedReplicas"]).unwrap_or(0);
            first_below(object, updated, &["availableReplicas"])
        })
        .or_else(|| first_below(object, wanted, &["readyReplicas"]))
        .or_else(|| deployment_conditions(object, progressing))
        .unwrap_or_else(current)
}

fn deployment_conditions(object: &Value, progressing: Option<conditions::Condition<'_>>) -> Rule {
    let deadline = number(object, &["spec", "progressDeadlineSeconds"]).unwrap_or(NO_DEADLINE);
    let rolled_out =
        progressing.is_some_and(|it| it.status == "True" && it.reason == "NewReplicaSetAvailable");
    if deadline != NO_DEADLINE && !rolled_out {
        return Some(waiting_for(progressing, "Progressing", "\"True\" (NewReplicaSetAvailable)"));
    }
    let available = conditions::find(object, "Available");
    if available.is_some_and(|it| it.status == "True") {
        return None;
    }
    Some(waiting_for(available, "Available", "\"True\""))
}

fn waiting_for(found: Option<conditions::Condition<'_>>, kind: &str, wants: &str) -> Health {
    let is = found.map_or_else(|| "missing".to_owned(), |it| it.in_words());
    in_progress(&["status", "conditions", &format!("[{kind}]")], is, wants)
}

pub(super) fn replica_set(object: &Value) -> Health {
    if let Some(failure) = conditions::find(object, "ReplicaFailure").filter(|it| it.status == "True") {
        return waiting_for(Some(failure), "ReplicaFailure", "\"False\"");
    }
    let wanted = replicas(object);
    first_below(object, wanted, &["fullyLabeledReplicas", "availableReplicas", "readyReplicas"])
        .or_else(|| extra(object, wanted))
        .unwrap_or_else(current)
}

pub(super) fn stateful_set(object: &Value) -> Health {
    // Its pods are replaced when somebody deletes them: there is nothing to wait for.
    if update_strategy(object) == "OnDelete" {
        return current();
    }
    let wanted = replicas(object);
    first_below(object, wanted, &["replicas", "readyReplicas"])
        .or_else(|| extra(object, wanted))
        .or_else(|| match number(object, &["spec", "updateStrategy", "rollingUpdate", "partition"]) {
            Some(partition) => first_below(object, wanted - partition, &["updatedReplicas"]),
            None => first_below(object, wanted, &["currentReplicas"]).or_else(|| revision(object)),
        })
        .unwrap_or_else(current)
}

fn revision(object: &Value) -> Rule {
    let revision = |name| {
        FieldPath::find(object, &["status", name]).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let (is, wants) = (revision("currentRevision"), revision("updateRevision"));
    (is != wants)
        .then(|| in_progress(&["status", "currentRevision"], format!("{is:?}"), format!("{wants:?}")))
}

pub(super) fn daemon_set(object: &Value) -> Health {
    // Its controller always reports these: missing means that it has not come round yet.
    let Some(generation) = number(object, &["metadata", "generation"]) else {
        return in_progress(&["metadata", "generation"], "missing", "a number");
    };
    if number(object, &["status", "observedGeneration"]).is_none() {
        return in_progress(&["status", "observedGeneration"], "missing", generation);
    }
    let Some(wanted) = number(object, &["status", "desiredNumberScheduled"]) else {
        return in_progress(&["status", "desiredNumberScheduled"], "missing", "a number");
    };
    first_below(
        object,
        wanted,
        &["currentNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady"],
    )
    .unwrap_or_else(current)
}
