//! What a real API server said of the manifests after each was changed in one place, in every place.
//!
//! `data/verdicts.txt` has a line for each place of each manifest: the number of the manifest, the path, and the
//! verdict on each change: `r` the field renamed, `d` removed, or the value replaced by `s` a string, `n` a whole
//! number, `f` a fraction, `b` a boolean, `a` an empty list, `o` an empty record, `z` null. A verdict is `ok`,
//! `unknown` (no such field), `type` (it cannot be decoded) or `invalid` (its meaning was refused).

use pemdas_core::diagnostic::Severity;
use pemdas_core::kube_types::{Finding, Problem, Purpose, validate};
use serde_json::{Value, json};

use super::{kind_of, manifests};

fn replacement(change: &str) -> Option<Value> {
    Some(match change {
        "s" => json!("zzz"),
        "n" => json!(7),
        "f" => json!(1.5),
        "b" => json!(true),
        "a" => json!([]),
        "o" => json!({}),
        "z" => Value::Null,
        _ => return None,
    })
}

fn changed(object: &Value, path: &[Value], change: &str) -> Value {
    let mut object = object.clone();
    let (last, before) = path.split_last().unwrap();
    let mut parent = &mut object;
    for step in before {
        parent = match step {
            Value::String(name) => &mut parent[name.as_str()],
            index => &mut parent[usize::try_from(index.as_u64().unwrap()).unwrap()],
        };
    }
    match (last, replacement(change)) {
        (Value::String(name), Some(value)) => parent[name.as_str()] = value,
        (index, Some(value)) => parent[usize::try_from(index.as_u64().unwrap()).unwrap()] = value,
        (Value::String(name), None) => {
            let value = parent.as_object_mut().unwrap().remove(name).unwrap();
            if change == "r" {
                parent[format!("{name}Q")] = value;
            }
        }
        _ => panic!("an item of a list cannot be renamed"),
    }
    object
}

fn errors(object: &Value, kind_from: &Value) -> Vec<Finding> {
    let checked = validate(&kind_of(kind_from), object, Purpose::Apply);
    checked.findings.into_iter().filter(|finding| finding.problem.severity() == Severity::Error).collect()
}

/// Where we are stricter than the server, on purpose: fields that its own document calls required and of which it
/// takes Go's zero value for the author's, and the inner schemas of a CRD, which it stores without looking.
fn stricter_on_purpose(finding: &Finding) -> bool {
    match &finding.problem {
        Problem::MissingField { name, owner } => matches!(
            (*owner, *name),
            ("apiextensions/v1/CustomResourceDefinitionVersion", "served")
                | ("batch/v1/PodFailurePolicy", "rules")
                | ("core/v1/HTTPHeader", "value")
                | ("core/v1/LimitRangeSpec", "limits")
                | ("core/v1/TypedLocalObjectReference", "kind" | "name")
                | ("resource/v1/ResourceClaimTemplate" | "resource/v1/ResourceClaimTemplateSpec", "spec")
                | ("storage/v1/CSIDriver", "spec")
                | ("storage/v1/TokenRequest", "audience")
        ),
        Problem::UnknownField { owner, .. } => {
            *owner == "apiextensions/v1/JSONSchemaProps" && finding.path.ends_with(".items")
        }
        _ => false,
    }
}

#[test]
fn agrees_with_the_api_server_on_every_change() {
    let manifests = manifests();
    let (mut disagreements, mut seen) = (Vec::new(), 0);
    for line in include_str!("../data/verdicts.txt").lines() {
        let words: Vec<&str> = line.split('\t').collect();
        let original = &manifests[words[0].parse::<usize>().unwrap()];
        let path: Vec<Value> = serde_json::from_str(words[1]).unwrap();
        for verdict in words[2].split(' ') {
            let (change, verdict) = verdict.split_once('=').unwrap();
            let found = errors(&changed(original, &path, change), original);
            seen += 1;
            let agreed = match verdict {
                "ok" => found.iter().all(stricter_on_purpose),
                "unknown" => {
                    found.iter().any(|finding| matches!(finding.problem, Problem::UnknownField { .. }))
                }
                "type" => !found.is_empty(),
                // What the server refuses for its meaning is not in the document.
                _ => true,
            };
            if !agreed {
                let told: Vec<String> = found.iter().map(Finding::message).collect();
                disagreements.push(format!(
                    "{} {} {change}: the server says {verdict}, we say {told:?}",
                    original["kind"], words[1]
                ));
            }
        }
    }
    assert!(seen > 7_000, "only {seen} verdicts");
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n"));
}

#[test]
fn the_manifests_themselves_are_good() {
    for object in manifests() {
        let found = validate(&kind_of(&object), &object, Purpose::Apply);
        assert_eq!(found.findings, [], "{}", object["kind"]);
    }
}
