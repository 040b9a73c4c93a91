//! Selecting objects by labels and fields.

use serde_json::Value;

use crate::api::Failure;
use crate::kinds::Resource;

/// One demand on a label or field.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Demand {
    /// It is one of these.
    In(Vec<String>),
    /// It is none of these, or missing.
    NotIn(Vec<String>),
    /// It is there.
    Exists,
    /// It is not there.
    Missing,
    /// It is a number above or below.
    Greater(i64),
    Less(i64),
}

/// What is selected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    labels: Vec<(String, Demand)>,
    fields: Vec<(String, Demand)>,
}

impl Selection {
    /// Reads the parameters `labelSelector` and `fieldSelector`.
    ///
    /// # Errors
    /// If one is none, or the kind has no such field to select by.
    pub(crate) fn read(
        resource: &Resource,
        labels: Option<&str>,
        fields: Option<&str>,
    ) -> Result<Self, Failure> {
        let labels_read = parse_labels(labels.unwrap_or_default()).ok_or_else(|| {
            Failure::bad_request(format!("unable to parse requirement: {}", labels.unwrap_or_default()))
        })?;
        let fields_read = parse_fields(fields.unwrap_or_default()).ok_or_else(|| {
            Failure::bad_request(format!("invalid field selector: {}", fields.unwrap_or_default()))
        })?;
        for (name, _) in &fields_read {
            if !selectable(resource, name) {
                let own = matches!(
                    resource.qualified().as_str(),
                    "pods" | "events" | "nodes" | "namespaces" | "secrets" | "replicationcontrollers"
                );
                let what = if own || resource.definition().is_some() {
                    format!("field label not supported: {name}")
                } else {
                    format!(
                        "{name:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                    )
                };
                return Err(Failure::bad_request(what));
            }
        }
        Ok(Self { labels: labels_read, fields: fields_read })
    }

    /// Whether an object is selected.
    pub(crate) fn takes(&self, object: &Value) -> bool {
        let label = |name: &str| {
            object.pointer("/metadata/labels").and_then(|it| it.get(name)).and_then(Value::as_str)
        };
        let by_labels = self.labels.iter().all(|(name, demand)| demand.holds(label(name)));
        by_labels
            && self.fields.iter().all(|(name, demand)| {
                let pointer = format!("/{}", name.replace('.', "/"));
                let value = object.pointer(&pointer).map(|value| match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                });
                demand.holds(Some(value.as_deref().unwrap_or_default()))
            })
    }
}

impl Demand {
    fn holds(&self, value: Option<&str>) -> bool {
        let is_in = |list: &[String]| value.is_some_and(|value| list.iter().any(|one| one == value));
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::In(list) => is_in(list),
            Self::NotIn(list) => !is_in(list),
            Self::Exists => value.is_some(),
            Self::Missing => value.is_none(),
            Self::Greater(than) => number().is_some_and(|it| it > *than),
            Self::Less(than) => number().is_some_and(|it| it < *than),
        }
    }
}

fn selectable(resource: &Resource, name: &str) -> bool {
    if matches!(name, "metadata.name" | "metadata.namespace") {
        return true;
    }
    if let Some(definition) = resource.definition() {
        return definition.selectable.iter().any(|one| one == name);
    }
    let more: &[&str] = match resource.qualified().as_str() {
        "pods" => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        "events" => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        "events.events.k8s.io" => &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "reason",
            "type",
            "reportingController",
        ],
        "namespaces" => &["status.phase"],
        "secrets" => &["type"],
        "nodes" => &["spec.unschedulable"],
        "replicasets.apps" | "replicationcontrollers" => &["status.replicas"],
        "jobs.batch" => &["status.successful"],
        "services" => &["spec.clusterIP", "spec.type"],
        _ => &[],
    };
    more.contains(&name)
}

/// Splits at commas that are not within parentheses.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0_i32, 0, Vec::new());
    for (place, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                found.extend(text.get(start..place));
                start = place + 1;
            }
            _ => {}
        }
    }
    found.extend(text.get(start..));
    found.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn parse_labels(text: &str) -> Option<Vec<(String, Demand)>> {
    parts(text).into_iter().map(parse_label).collect()
}

fn parse_label(part: &str) -> Option<(String, Demand)> {
    let list = |text: &str| {
        let inner = text.trim().strip_prefix('(')?.strip_suffix(')')?;
        Some(inner.split(',').map(|one| one.trim().to_owned()).collect::<Vec<String>>())
    };
    let named = |name: &str, demand: Demand| Some((name.trim().to_owned(), demand));
    if let Some(name) = part.strip_prefix('!') {
        return named(name, Demand::Missing);
    }
    if let Some((name, rest)) = part.split_once(" notin ") {
        return named(name, Demand::NotIn(list(rest)?));
    }
    if let Some((name, rest)) = part.split_once(" in ") {
        return named(name, Demand::In(list(rest)?));
    }
    if let Some((name, value)) = part.split_once("!=") {
        return named(name, Demand::NotIn(vec![value.trim().to_owned()]));
    }
    if let Some((name, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return named(name, Demand::In(vec![value.trim().to_owned()]));
    }
    if let Some((name, value)) = part.split_once('>') {
        return named(name, Demand::Greater(value.trim().parse().ok()?));
    }
    if let Some((name, value)) = part.split_once('<') {
        return named(name, Demand::Less(value.trim().parse().ok()?));
    }
    let good = part.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./".contains(letter));
    if good { named(part, Demand::Exists) } else { None }
}

fn parse_fields(text: &str) -> Option<Vec<(String, Demand)>> {
    let parse = |part: &str| {
        if let Some((name, value)) = part.split_once("!=") {
            return Some((name.to_owned(), Demand::NotIn(vec![value.to_owned()])));
        }
        let (name, value) = part.split_once("==").or_else(|| part.split_once('='))?;
        Some((name.to_owned(), Demand::In(vec![value.to_owned()])))
    };
    text.split(',').filter(|part| !part.is_empty()).map(parse).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Selection, parse_labels};

    #[test]
    fn labels_are_selected_by() {
        let object = json!({ "metadata": { "labels": { "a": "1", "b": "x" } } });
        for (text, taken) in [
            ("a=1", true),
            ("a==2", false),
            ("a!=2,b", true),
            ("!c", true),
            ("!a", false),
            ("b in (x,y)", true),
            ("b notin (x, y)", false),
            ("c notin (x)", true),
            ("a>0", true),
        ] {
            let selection = Selection { labels: parse_labels(text).unwrap(), ..Selection::default() };
            assert_eq!(selection.takes(&object), taken, "{text}");
        }
        assert!(parse_labels("a in x").is_none());
    }
}
