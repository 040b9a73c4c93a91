//! An object as the API server sends it, turned into what the core knows.

use pemdas_core::world::{KindKey, Live, Managers, ObjectKey};
use serde_json::{Map, Value};

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
    let key = ObjectKey::new(
        kind.clone(),
        text(metadata, "namespace").unwrap_or_default(),
        text(metadata, "name")?,
    );
    let uid = text(metadata, "uid")?;
    let resource_version = version(metadata.get("resourceVersion")?)?;
    let generation = metadata.get("generation").and_then(Value::as_i64);
    let terminating =
        metadata.get("deletionTimestamp").is_some_and(|it| !it.is_null()) && !mutant!(TerminatingUnseen);
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
        managed: managed.as_ref().map(Managers::unread).unwrap_or_default(),
        body: body.into(),
    })
}

/// A resourceVersion as a number: compared within a kind only.
#[must_use]
pub fn version(value: &Value) -> Option<u64> {
    value.as_str()?.parse().ok()
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
