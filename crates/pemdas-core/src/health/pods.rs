//! Pods, Jobs, and what pods need: claims, Services, disruption budgets.

use serde_json::Value;

use super::{Health, conditions, current, failed, in_progress, number};
use crate::{path::FieldPath, text};

fn phase(object: &Value) -> &str {
    FieldPath::find(object, &["status", "phase"]).and_then(Value::as_str).unwrap_or_default()
}

fn shown(phase: &str) -> String {
    if phase.is_empty() { "missing".to_owned() } else { format!("{:?}", text::shorten(phase)) }
}

pub(super) fn pod(object: &Value) -> Health {
    let phase = phase(object);
    match phase {
        "Succeeded" => return current(),
        "Failed" => {
            let reason =
                FieldPath::find(object, &["status", "reason"]).and_then(Value::as_str).unwrap_or_default();
            let is = if reason.is_empty() { shown(phase) } else { format!("{} ({reason})", shown(phase)) };
            return failed(FieldPath::of(&["status", "phase"]), is, "\"Running\" or \"Succeeded\"");
        }
        _ => {}
    }
    if let Some(container) = crash_looping(object) {
        let at = FieldPath::of(&["status", "containerStatuses"]).item(text::shorten(container));
        return failed(at, "in CrashLoopBackOff", "running");
    }
    if phase != "Running" {
        return in_progress(&["status", "phase"], shown(phase), "\"Running\"");
    }
    match conditions::find(object, "Ready") {
        Some(ready) if ready.status == "True" => current(),
        Some(ready) => in_progress(&["status", "conditions", "[Ready]"], ready.in_words(), "\"True\""),
        None => in_progress(&["status", "conditions", "[Ready]"], "missing", "\"True\""),
    }
}

fn crash_looping(object: &Value) -> Option<&str> {
    let reason = |status: &Value| {
        FieldPath::find(status, &["state", "waiting", "reason"]).is_some_and(|it| it == "CrashLoopBackOff")
    };
    ["initContainerStatuses", "containerStatuses"]
        .iter()
        .filter_map(|list| FieldPath::find(object, &["status", list])?.as_array())
        .flatten()
        .find(|status| reason(status))
        .map(|status| status.get("name").and_then(Value::as_str).unwrap_or("?"))
}

/// A Job is ready once it runs. Whoever has to wait for its end says `until = Complete`, or makes it a `once`.
pub(super) fn job(object: &Value) -> Health {
    if let Some(failure) = conditions::find(object, "Failed").filter(|it| it.status == "True") {
        return failed(conditions::path("Failed"), failure.in_words(), "\"False\"");
    }
    if conditions::find(object, "Complete").is_some_and(|it| it.status == "True") {
        return current();
    }
    if FieldPath::find(object, &["status", "startTime"]).is_none() {
        return in_progress(&["status", "startTime"], "missing", "the Job to start");
    }
    current()
}

pub(super) fn claim(object: &Value) -> Health {
    match phase(object) {
        "Bound" => current(),
        "Lost" => failed(FieldPath::of(&["status", "phase"]), "\"Lost\"", "\"Bound\""),
        other => in_progress(&["status", "phase"], shown(other), "\"Bound\""),
    }
}

pub(super) fn service(object: &Value) -> Health {
    let field = |name| FieldPath::find(object, &["spec", name]).and_then(Value::as_str).unwrap_or_default();
    if field("type") == "LoadBalancer" && field("clusterIP").is_empty() {
        return in_progress(&["spec", "clusterIP"], "missing", "an address");
    }
    current()
}

/// Its controller always reports the generation; until then nothing is computed.
pub(super) fn disruption_budget(object: &Value) -> Health {
    if number(object, &["status", "observedGeneration"]).is_none() {
        return in_progress(
            &["status", "observedGeneration"],
            "missing",
            "the allowed disruptions to be computed",
        );
    }
    current()
}
