//! What becomes of an object when all goes well: the status it needs to be of the wanted shapes, and nothing more.
//!
//! Only what a shape asks for is made up. Everything else that a status may hold stays unknown, so that what reads it waits.

use serde_json::{Map, Value, json};

use super::merge::set;
use crate::{
    path::FieldPath,
    shape::{Live, Shape},
    truth::Truth,
};

/// Stands for an address that nobody knows yet.
const CHOSEN: &str = "(chosen by the cluster)";

/// Gives an object the status that it has when it is current.
pub(super) fn healthy(object: &mut Value, observes_generation: bool) {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let generation = FieldPath::find(object, &["metadata", "generation"]).cloned();
    if let Some(generation) = generation.filter(|_| observes_generation) {
        set(object, &FieldPath::of(&["status", "observedGeneration"]), generation);
    }
    let replicas = FieldPath::find(object, &["spec", "replicas"]).cloned().unwrap_or_else(|| json!(1));
    let counters: &[&str] = match (group, kind.as_str()) {
        ("apps", "Deployment") => &["replicas", "updatedReplicas", "availableReplicas", "readyReplicas"],
        ("apps", "ReplicaSet") => &["replicas", "fullyLabeledReplicas", "availableReplicas", "readyReplicas"],
        ("apps", "StatefulSet") => {
            &["replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"]
        }
        _ => &[],
    };
    for counter in counters {
        set(object, &FieldPath::of(&["status", counter]), replicas.clone());
    }
    match (group, kind.as_str()) {
        ("apps", "Deployment") => {
            condition(object, "Progressing", "True", Some("NewReplicaSetAvailable"));
            condition(object, "Available", "True", None);
        }
        ("apps", "StatefulSet") => {
            // Which revision it is, nobody knows; that both are the same one is what being current means.
            let wanted = FieldPath::find(object, &["status", "updateRevision"]).cloned();
            if let Some(wanted) = wanted {
                set(object, &FieldPath::of(&["status", "currentRevision"]), wanted);
            }
        }
        ("apps", "DaemonSet") => {
            let wanted = FieldPath::find(object, &["status", "desiredNumberScheduled"]).cloned();
            let wanted = wanted.unwrap_or_else(|| json!(1));
            for counter in [
                "desiredNumberScheduled",
                "currentNumberScheduled",
                "updatedNumberScheduled",
                "numberAvailable",
                "numberReady",
            ] {
                set(object, &FieldPath::of(&["status", counter]), wanted.clone());
            }
        }
        ("batch", "Job") => {
            let started = FieldPath::find(object, &["status", "startTime"]).is_some();
            if !started {
                condition(object, "Complete", "True", None);
            }
        }
        ("", "Pod") => {
            set(object, &FieldPath::of(&["status", "phase"]), json!("Running"));
            condition(object, "Ready", "True", None);
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            condition(object, "NamesAccepted", "True", None);
            condition(object, "Established", "True", None);
        }
        // The API server chooses it when it creates the object; until then its kind is not ready.
        ("", "Service") if FieldPath::find(object, &["spec", "clusterIP"]).is_none() => {
            set(object, &FieldPath::of(&["spec", "clusterIP"]), json!(CHOSEN));
        }
        ("", "PersistentVolumeClaim") => {
            set(object, &FieldPath::of(&["status", "phase"]), json!("Bound"));
        }
        _ => {}
    }
    for (kind, status) in [("Reconciling", "False"), ("Stalled", "False"), ("Ready", "True")] {
        if crate::health::conditions::find(object, kind).is_some() {
            condition(object, kind, status, None);
        }
    }
}

/// Sets a condition.
fn condition(object: &mut Value, kind: &str, status: &str, reason: Option<&str>) {
    let path = FieldPath::of(&["status", "conditions"]);
    let mut all = match FieldPath::find(object, &["status", "conditions"]) {
        Some(Value::Array(all)) => all.clone(),
        _ => Vec::new(),
    };
    all.retain(|it| it.get("type").and_then(Value::as_str) != Some(kind));
    let mut wanted = json!({ "type": kind, "status": status });
    if let (Some(reason), Some(fields)) = (reason, wanted.as_object_mut()) {
        fields.insert("reason".to_owned(), json!(reason));
    }
    all.push(wanted);
    set(object, &path, Value::Array(all));
}

/// Changes the status of an object so that it is of a shape; says whether that is possible.
pub(super) fn satisfy(object: &mut Value, shape: &Shape) -> bool {
    let holds = |object: &Value| shape.judge(Live::Present(object)).truth == Truth::True;
    if holds(object) {
        return true;
    }
    let mut tried = object.clone();
    if !make(&mut tried, shape, &FieldPath::root()) || !holds(&tried) {
        return false;
    }
    *object = tried;
    true
}

/// Whether a path may be made up: the status is the controllers', everything else is somebody's word.
fn may_set(path: &FieldPath) -> bool {
    path.parts().first().is_some_and(|it| it == "status")
}

fn make(object: &mut Value, shape: &Shape, at: &FieldPath) -> bool {
    let is = at.parts().iter().try_fold(&*object, |it, part| it.get(part)).cloned();
    let live = is.as_ref().map_or(Live::Absent, Live::Present);
    if shape.judge(live).truth == Truth::True {
        return true;
    }
    let mut put = |value: Value| {
        let may = may_set(at);
        if may {
            set(object, at, value);
        }
        may
    };
    match shape {
        Shape::Has(fields) => fields.iter().all(|(name, below)| make(object, below, &at.field(name))),
        Shape::AllOf(shapes) => shapes.iter().all(|it| make(object, it, at)),
        Shape::AnyOf(shapes) => shapes.iter().any(|it| {
            let mut tried = object.clone();
            let made = make(&mut tried, it, at);
            if made {
                *object = tried;
            }
            made
        }),
        Shape::Available => {
            condition(object, "Available", "True", None);
            at.parts().is_empty()
        }
        Shape::Complete | Shape::Finished => {
            condition(object, "Complete", "True", None);
            at.parts().is_empty()
        }
        Shape::Condition { kind, status, reason } => {
            condition(object, kind, status, reason.as_deref());
            at.parts().is_empty()
        }
        Shape::Bound => {
            set(object, &FieldPath::of(&["status", "phase"]), json!("Bound"));
            at.parts().is_empty()
        }
        Shape::Equals(value) | Shape::AtLeast(value) | Shape::AtMost(value) => put(value.clone()),
        Shape::MoreThan(value) => value.as_i64().is_some_and(|it| put(json!(it.saturating_add(1)))),
        Shape::LessThan(value) => value.as_i64().is_some_and(|it| put(json!(it.saturating_sub(1)))),
        Shape::OneOf(values) => values.first().cloned().is_some_and(put),
        Shape::EveryItem(_) => put(json!([])),
        Shape::SomeItem(item) => made_up(item).is_some_and(|made| {
            let mut items = is.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
            items.push(made);
            put(Value::Array(items))
        }),
        Shape::Items(items) => {
            let made: Option<Vec<Value>> = items.iter().map(made_up).collect();
            made.is_some_and(|made| put(Value::Array(made)))
        }
        // What may stand there is anybody's guess, or not ours to take away.
        Shape::Any
        | Shape::Absent
        | Shape::Ready
        | Shape::Failed
        | Shape::Matches(_)
        | Shape::Not(_)
        | Shape::Contract(_) => false,
    }
}

/// A value of a shape, where one can be made up.
fn made_up(shape: &Shape) -> Option<Value> {
    // Under `status`, everything may be.
    let mut holder = json!({ "status": { "it": Value::Object(Map::new()) } });
    let at = FieldPath::of(&["status", "it"]);
    if !make(&mut holder, shape, &at) {
        return None;
    }
    FieldPath::find(&holder, &["status", "it"]).cloned()
}
