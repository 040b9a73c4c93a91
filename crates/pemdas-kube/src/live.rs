//! An object as the API server sends it, turned into what the core knows.

use std::fmt;

use pemdas_core::world::{KindKey, Live, Managers, ObjectKey};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value};

use crate::resource::Resource;

/// An object as it was sent. Its `managedFields`, often half of it, stay text: hardly anybody asks for them.
#[derive(Debug)]
pub(crate) struct Object {
    fields: Map<String, Value>,
    managed: Option<Vec<u8>>,
}

impl Object {
    /// Objects of a list do not say what they are, and those without bodies say something else.
    pub(crate) fn of(mut self, resource: &Resource) -> Self {
        self.fields.insert("apiVersion".to_owned(), Value::from(resource.api_version.as_str()));
        self.fields.insert("kind".to_owned(), Value::from(resource.kind.kind.as_str()));
        self
    }

    /// Whether it says that it is of this kind.
    pub(crate) fn is(&self, kind: &KindKey) -> bool {
        self.fields.get("kind").is_some_and(|it| *it == kind.kind)
    }

    /// As an object of this kind; nothing if it has no name, uid or resourceVersion.
    pub(crate) fn live(self, kind: &KindKey) -> Option<Live> {
        let mut live = live(kind, Value::Object(self.fields))?;
        live.managed = self.managed.map(Managers::unread).unwrap_or_default();
        Some(live)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Object;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Object, A::Error> {
                let mut object = Object { fields: Map::new(), managed: None };
                while let Some(name) = from.next_key::<String>()? {
                    let value = if name == "metadata" {
                        let Metadata { fields, managed } = from.next_value()?;
                        object.managed = managed;
                        Value::Object(fields)
                    } else {
                        from.next_value()?
                    };
                    object.fields.insert(name, value);
                }
                Ok(object)
            }
        }
        from.deserialize_map(Fields)
    }
}

/// The metadata of an object, in two parts.
struct Metadata {
    fields: Map<String, Value>,
    managed: Option<Vec<u8>>,
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Metadata;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("metadata")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Metadata, A::Error> {
                let mut metadata = Metadata { fields: Map::new(), managed: None };
                while let Some(name) = from.next_key::<String>()? {
                    if name == "managedFields" {
                        metadata.managed = Some(from.next_value::<Text>()?.0);
                    } else {
                        metadata.fields.insert(name, from.next_value()?);
                    }
                }
                Ok(metadata)
            }
        }
        from.deserialize_map(Fields)
    }
}

/// Anything, as JSON text: written while it is read, without a tree between.
struct Text(Vec<u8>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut text = Vec::new();
        serde_transcode::transcode(from, &mut serde_json::Serializer::new(&mut text))
            .map_err(serde::de::Error::custom)?;
        Ok(Self(text))
    }
}

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
        managed: managed
            .and_then(|it| serde_json::to_vec(&it).ok())
            .map(Managers::unread)
            .unwrap_or_default(),
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
        assert!(!live.covers("us", &wanted(json!({ "name": "web", "args": ["a"] }))));
        // The server keeps no empty list: it asks for nothing.
        assert!(live.covers("us", &wanted(json!({ "name": "web", "args": [] }))));
        assert!(!live.covers("us", &json!({ "spec": { "paused": true } })));
    }

    #[test]
    fn what_has_no_identity_is_nothing() {
        let kind = KindKey::new("v1", "ConfigMap");
        assert!(live(&kind, json!({ "metadata": { "name": "x" } })).is_none());
        assert!(live(&kind, json!([])).is_none());
    }
}
