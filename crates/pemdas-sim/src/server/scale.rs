//! The scale subresource.

use serde_json::{Value, json};

use super::{Call, Server};
use crate::api::{Failure, Method};
use crate::kinds::Body;
use crate::manage::Managers;
use crate::meta;
use crate::patch::{apply_json, apply_merge};
use crate::typed::FieldSet;

/// What the real server puts into a scale in place of a number that is not there.
const UNSAID: i64 = i32::MIN as i64;

impl Server {
    /// Reads or changes how many replicas an object wants.
    ///
    /// # Errors
    /// If it is not there, or not as the request says.
    pub(crate) fn scale(&mut self, call: &Call<'_>) -> Result<Value, Failure> {
        let Some(found) = self.store.get(&call.key()).cloned() else {
            return Err(Failure::not_found(&call.resource, &call.name));
        };
        let wanted_path = paths(call).0;
        if call.resource.definition().is_some()
            && at(&found, &wanted_path).is_none()
            && call.request.method == Method::Get
        {
            return Err(Failure::internal(&format!(
                "the spec replicas field \".{wanted_path}\" does not exist"
            )));
        }
        let before = at(&found, &wanted_path).and_then(Value::as_i64);
        let mut current = scale_of(call, &found);
        let wanted = match call.request.method {
            Method::Get => return Ok(current),
            Method::Put => call.body()?,
            Method::Patch => {
                let patch: Value = serde_json::from_slice(&call.request.body)
                    .map_err(|error| Failure::bad_request(format!("error decoding patch: {error}")))?;
                // A patch of a number that nothing says has to say one, be it 0.
                current["spec"]["replicas"] = json!(before.unwrap_or(UNSAID));
                let mut wanted = current;
                match call.request.content_type() {
                    "application/json-patch+json" => {
                        apply_json(&mut wanted, &patch).map_err(|_| Failure::unprocessable(""))?;
                    }
                    _ => apply_merge(&mut wanted, &patch),
                }
                wanted
            }
            _ => return Err(Failure::method_not_allowed()),
        };
        let replicas = wanted.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(0);
        if replicas == UNSAID {
            return Err(Failure::bad_request(format!(
                "the spec replicas field \".{wanted_path}\" cannot be empty"
            )));
        }
        let old = call.converted(&found);
        let mut object = old.clone();
        put_at(&mut object, &wanted_path, json!(replicas));
        let mut managers = Managers::decode(&old).unwrap_or_default();
        let path: Vec<&str> = wanted_path.split('.').collect();
        managers.scale(&FieldSet::of_names(&path), before, replicas, &call.writer(false));
        managers.put_into(&mut object);
        let version = meta::text(&wanted, "resourceVersion").to_owned();
        if !version.is_empty() {
            meta::set(&mut object, "resourceVersion", Some(json!(version)));
        }
        let inner = Call { subresource: String::new(), ..call.named(call.namespace.as_deref(), &call.name) };
        if version.is_empty() {
            meta::set(&mut object, "resourceVersion", Some(json!(meta::text(&old, "resourceVersion"))));
        }
        let written = self.change(&inner, &old, object)?;
        Ok(scale_of(call, &written))
    }
}

/// Where the wanted number, the number there is and the selector stand.
fn paths(call: &Call<'_>) -> (String, String, Option<String>) {
    match &call.resource.body {
        Body::Custom(definition) => match &definition.scale {
            Some(scale) => {
                (scale.spec_replicas.clone(), scale.status_replicas.clone(), scale.selector.clone())
            }
            None => (String::new(), String::new(), None),
        },
        Body::BuiltIn(_) => ("spec.replicas".to_owned(), "status.replicas".to_owned(), None),
    }
}

fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    object.pointer(&format!("/{}", path.replace('.', "/")))
}

fn put_at(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for step in path.split('.') {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[step];
    }
    *place = value;
}

fn scale_of(call: &Call<'_>, object: &Value) -> Value {
    let (wanted, current, selector) = paths(call);
    let number = |path: &str| at(object, path).and_then(Value::as_i64).unwrap_or(0);
    let mut metadata = json!({});
    for name in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if !meta::text(object, name).is_empty() {
            metadata[name] = json!(meta::text(object, name));
        }
    }
    let mut spec = json!({});
    if number(&wanted) != 0 {
        spec["replicas"] = json!(number(&wanted));
    }
    let mut status = json!({ "replicas": number(&current) });
    let text = match &selector {
        Some(path) => at(object, path).and_then(Value::as_str).unwrap_or_default().to_owned(),
        None => {
            let labels = object.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
            let pairs = labels
                .into_iter()
                .flatten()
                .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()));
            pairs.collect::<Vec<_>>().join(",")
        }
    };
    if !text.is_empty() {
        status["selector"] = json!(text);
    }
    json!({ "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status })
}
