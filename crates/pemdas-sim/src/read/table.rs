//! Tables: what `kubectl get` shows.
//!
//! The columns of custom kinds are those of their definitions; of built-in kinds the most used have the columns of the real server,
//! the others name and age.

use serde_json::{Value, json};

use crate::kinds::Resource;
use crate::time::Time;

/// A table of objects.
pub(super) fn table(resource: &Resource, objects: &[&Value], metadata: &Value, now: &str) -> Value {
    let columns = columns(resource);
    let definitions: Vec<Value> = columns
        .iter()
        .map(|column| {
            json!({ "name": column.name, "type": column.kind, "format": column.format,
                "description": column.description, "priority": column.priority })
        })
        .collect();
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| {
            let cells: Vec<Value> = columns.iter().map(|column| (column.cell)(object, now, &column.path)).collect();
            let partial = json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"] });
            json!({ "cells": cells, "object": partial })
        })
        .collect();
    json!({ "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": definitions, "rows": rows })
}

/// Makes a cell of an object, at a time, from what stands at a path.
type Cell = fn(&Value, &str, &str) -> Value;

struct Column {
    name: String,
    kind: &'static str,
    format: String,
    description: String,
    priority: i64,
    path: String,
    cell: Cell,
}

fn column(name: &str, path: &str, cell: Cell) -> Column {
    let format = if name == "Name" { "name" } else { "" };
    Column {
        name: name.to_owned(),
        kind: "string",
        format: format.to_owned(),
        description: String::new(),
        priority: 0,
        path: path.to_owned(),
        cell,
    }
}

fn columns(resource: &Resource) -> Vec<Column> {
    let mut all = vec![column("Name", "metadata.name", plain)];
    if let Some(definition) = resource.definition() {
        for own in &definition.columns {
            let cell = if own.kind == "date" { age } else { plain };
            all.push(Column {
                name: own.name.clone(),
                kind: match own.kind.as_str() {
                    "integer" => "integer",
                    "number" => "number",
                    "boolean" => "boolean",
                    "date" => "date",
                    _ => "string",
                },
                format: own.format.clone(),
                description: own.description.clone(),
                priority: own.priority,
                path: own.path.trim_start_matches('.').to_owned(),
                cell,
            });
        }
        if definition.columns.is_empty() {
            all.push(column("Age", "metadata.creationTimestamp", age));
        }
        return all;
    }
    let own: &[(&str, &str, Cell)] = match resource.qualified().as_str() {
        "configmaps" => &[("Data", "data", count)],
        "secrets" => &[("Type", "type", plain), ("Data", "data", count)],
        "namespaces" => &[("Status", "status.phase", plain)],
        "pods" => &[("Ready", "", pod_ready), ("Status", "status.phase", plain), ("Restarts", "", none_yet)],
        "deployments.apps" => &[
            ("Ready", "", ready),
            ("Up-to-date", "status.updatedReplicas", plain_or_zero),
            ("Available", "status.availableReplicas", plain_or_zero),
        ],
        "statefulsets.apps" => &[("Ready", "", ready)],
        "replicasets.apps" => &[
            ("Desired", "spec.replicas", plain_or_zero),
            ("Current", "status.replicas", plain_or_zero),
            ("Ready", "status.readyReplicas", plain_or_zero),
        ],
        "jobs.batch" => &[("Status", "", job_status), ("Completions", "", completions)],
        "services" => &[("Type", "spec.type", plain), ("Cluster-IP", "spec.clusterIP", plain)],
        "persistentvolumeclaims" => {
            &[("Status", "status.phase", plain), ("Volume", "spec.volumeName", plain)]
        }
        "customresourcedefinitions.apiextensions.k8s.io" => {
            all.push(column("Created At", "metadata.creationTimestamp", plain));
            return all;
        }
        _ => &[],
    };
    all.extend(own.iter().map(|(name, path, cell)| column(name, path, *cell)));
    all.push(column("Age", "metadata.creationTimestamp", age));
    all
}

fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    // Paths with filters (`.status.conditions[?(@.type=="Ready")].status`) are what definitions use most.
    let Some((list, rest)) = path.split_once("[?(@.") else {
        return object.pointer(&format!("/{}", path.replace('.', "/")));
    };
    let (condition, rest) = rest.split_once(")]")?;
    let (name, wanted) = condition.split_once("==")?;
    let wanted = wanted.trim_matches(['"', '\'']);
    let items = object.pointer(&format!("/{}", list.replace('.', "/")))?.as_array()?;
    let item = items.iter().find(|item| item.get(name).is_some_and(|it| it == wanted))?;
    item.pointer(&rest.replace('.', "/"))
}

fn plain(object: &Value, _now: &str, path: &str) -> Value {
    match at(object, path) {
        Some(value @ (Value::Object(_) | Value::Array(_))) => Value::from(value.to_string()),
        Some(value) => value.clone(),
        None => Value::Null,
    }
}

fn plain_or_zero(object: &Value, now: &str, path: &str) -> Value {
    Some(plain(object, now, path)).filter(|value| !value.is_null()).unwrap_or(json!(0))
}

fn count(object: &Value, _now: &str, path: &str) -> Value {
    Value::from(at(object, path).and_then(Value::as_object).map_or(0, serde_json::Map::len))
}

fn none_yet(_object: &Value, _now: &str, _path: &str) -> Value {
    json!("0")
}

fn ready(object: &Value, _now: &str, _path: &str) -> Value {
    let number = |path: &str| at(object, path).and_then(Value::as_i64).unwrap_or(0);
    Value::from(format!("{}/{}", number("status.readyReplicas"), number("spec.replicas")))
}

fn pod_ready(object: &Value, _now: &str, _path: &str) -> Value {
    let containers = at(object, "spec.containers").and_then(Value::as_array).map_or(0, Vec::len);
    let is_ready =
        at(object, "status.conditions[?(@.type==\"Ready\")].status").is_some_and(|it| it == "True");
    Value::from(format!("{}/{containers}", if is_ready { containers } else { 0 }))
}

fn job_status(object: &Value, _now: &str, _path: &str) -> Value {
    let holds = |kind: &str| {
        at(object, &format!("status.conditions[?(@.type==\"{kind}\")].status")).is_some_and(|it| it == "True")
    };
    Value::from(if holds("Complete") {
        "Complete"
    } else if holds("Failed") {
        "Failed"
    } else {
        "Running"
    })
}

fn completions(object: &Value, _now: &str, _path: &str) -> Value {
    let number = |path: &str| at(object, path).and_then(Value::as_i64);
    Value::from(format!(
        "{}/{}",
        number("status.succeeded").unwrap_or(0),
        number("spec.completions").unwrap_or(1)
    ))
}

/// How long ago, in the manner of kubectl.
fn age(object: &Value, now: &str, path: &str) -> Value {
    let then = at(object, path).and_then(Value::as_str).and_then(Time::parse);
    let (Some(then), Some(now)) = (then, Time::parse(now)) else { return json!("<unknown>") };
    let seconds = now.0.saturating_sub(then.0) / 1000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    Value::from(match seconds {
        0..120 => format!("{seconds}s"),
        120..600 if seconds % 60 != 0 => format!("{minutes}m{}s", seconds % 60),
        120..10_800 => format!("{minutes}m"),
        10_800..28_800 if minutes % 60 != 0 => format!("{hours}h{}m", minutes % 60),
        10_800..172_800 => format!("{hours}h"),
        _ => format!("{days}d"),
    })
}
