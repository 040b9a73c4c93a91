//! An object as the API server sends it, turned into what the core knows.

use std::collections::{BTreeMap, BTreeSet};

use pemdas_core::{
    path::FieldPath,
    world::{FieldSet, KindKey, Live, ObjectKey},
};
use serde_json::{Map, Value};

/// How deep the fields of a manager are followed; what lies deeper counts as owned where this ends.
const MAX_DEPTH: usize = 32;

/// Reads an object of this kind; nothing if it has no name, uid or resourceVersion.
///
/// `managedFields` leave the body and become sets: nobody else should see them, and they are often half of an object.
#[must_use]
pub fn live(kind: &KindKey, mut body: Value) -> Option<Live> {
    let metadata = body.get_mut("metadata")?.as_object_mut()?;
    let managed = metadata.remove("managedFields");
    let text = |metadata: &Map<String, Value>, field: &str| {
        metadata.get(field).and_then(Value::as_str).map(str::to_owned)
    };
    let key = ObjectKey {
        kind: kind.clone(),
        namespace: text(metadata, "namespace").unwrap_or_default(),
        name: text(metadata, "name")?,
    };
    let uid = text(metadata, "uid")?;
    let resource_version = version(metadata.get("resourceVersion")?)?;
    let generation = metadata.get("generation").and_then(Value::as_i64);
    let terminating = metadata.get("deletionTimestamp").is_some_and(|it| !it.is_null());
    let finalizers = metadata
        .get("finalizers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    Some(Live {
        key,
        uid,
        resource_version,
        generation,
        terminating,
        finalizers,
        managed: managers(managed.as_ref()),
        body,
    })
}

/// A resourceVersion as a number: compared within a kind only.
#[must_use]
pub fn version(value: &Value) -> Option<u64> {
    value.as_str()?.parse().ok()
}

/// Who owns which fields. Entries of the same manager (one for each operation and subresource) are taken together.
fn managers(entries: Option<&Value>) -> BTreeMap<String, FieldSet> {
    let mut managers: BTreeMap<String, FieldSet> = BTreeMap::new();
    for entry in entries.and_then(Value::as_array).into_iter().flatten() {
        let Some(manager) = entry.get("manager").and_then(Value::as_str) else { continue };
        let owned = managers.entry(manager.to_owned()).or_default();
        if let Some(fields) = entry.get("fieldsV1").and_then(Value::as_object) {
            collect(fields, &FieldPath::root(), owned, 0);
        }
    }
    managers
}

/// Leaves of the tree of owned fields; the elements of lists are parts of a path as `[{"name":"web"}]`, `[="a"]`, `[0]`.
fn collect(fields: &Map<String, Value>, at: &FieldPath, owned: &mut BTreeSet<FieldPath>, depth: usize) {
    let mut inner = false;
    for (name, below) in fields {
        let Some(part) = part(name) else { continue };
        inner = true;
        let path = at.field(&part);
        match below.as_object() {
            Some(below) if !below.is_empty() && depth < MAX_DEPTH => collect(below, &path, owned, depth + 1),
            _ => {
                owned.insert(path);
            }
        }
    }
    if !inner && depth > 0 {
        owned.insert(at.clone());
    }
}

fn part(name: &str) -> Option<String> {
    let (form, rest) = name.split_once(':')?;
    match form {
        "f" => Some(rest.to_owned()),
        "k" | "i" => Some(format!("[{rest}]")),
        "v" => Some(format!("[={rest}]")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use pemdas_core::world::KindKey;
    use serde_json::json;

    use super::live;

    #[test]
    fn an_object_is_read_and_its_managers_are_taken_out() {
        let body = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "web", "namespace": "n", "uid": "u", "resourceVersion": "12", "generation": 3,
                "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"],
                "managedFields": [
                    { "manager": "us", "operation": "Apply", "fieldsV1": {
                        "f:metadata": { "f:labels": { "f:app": {} } },
                        "f:spec": {
                            "f:replicas": {},
                            "f:template": { "f:spec": { "f:containers": {
                                "k:{\"name\":\"web\"}": { ".": {}, "f:image": {}, "f:name": {} } } } } } } },
                    { "manager": "us", "operation": "Update", "subresource": "status",
                      "fieldsV1": { "f:status": { ".": {}, "f:ready": {} } } },
                ],
            },
            "spec": { "replicas": 1 },
        });
        let live = live(&KindKey::new("apps/v1", "Deployment"), body).unwrap();
        assert_eq!((live.resource_version, live.generation, live.terminating), (12, Some(3), true));
        assert!(live.finalizers.contains("a/b"));
        assert!(live.body["metadata"].get("managedFields").is_none());
        let owned: Vec<_> = live.managed["us"].iter().map(ToString::to_string).collect();
        assert_eq!(owned.len(), 5, "{owned:?}");
        let wanted = |container: serde_json::Value| json!({ "spec": { "replicas": 2, "template": { "spec": { "containers": [container] } } } });
        assert!(live.covers("us", &wanted(json!({ "name": "web", "image": "i" }))));
        assert!(!live.covers("us", &wanted(json!({ "name": "web", "args": [] }))));
        assert!(!live.covers("us", &json!({ "spec": { "paused": true } })));
    }

    #[test]
    fn what_has_no_identity_is_nothing() {
        let kind = KindKey::new("v1", "ConfigMap");
        assert!(live(&kind, json!({ "metadata": { "name": "x" } })).is_none());
        assert!(live(&kind, json!([])).is_none());
    }
}
