//! Metadata: what every object has, and what the API server demands of it.

use pemdas_core::kube_types::format;
use serde_json::{Map, Value, json};

use crate::api::Cause;
use crate::kinds::Resource;

/// What a label of DNS must be, in the words of the API server.
pub(crate) const DNS_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const DNS_SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const QUALIFIED_NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/// A text of the metadata; empty if there is none.
pub(crate) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object.get("metadata").and_then(|it| it.get(name)).and_then(Value::as_str).unwrap_or_default()
}

/// Changes the metadata, which is made if there is none.
pub(crate) fn edit(object: &mut Value, change: impl FnOnce(&mut Map<String, Value>)) {
    if !object.is_object() {
        *object = json!({});
    }
    if !object.get("metadata").is_some_and(Value::is_object) {
        object["metadata"] = json!({});
    }
    if let Some(fields) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        change(fields);
    }
}

/// Sets a field of the metadata, or removes it.
pub(crate) fn set(object: &mut Value, name: &str, value: Option<Value>) {
    edit(object, |fields| match value {
        Some(value) => {
            fields.insert(name.to_owned(), value);
        }
        None => {
            fields.remove(name);
        }
    });
}

/// The finalizers.
pub(crate) fn finalizers(object: &Value) -> Vec<String> {
    let list = object.get("metadata").and_then(|it| it.get("finalizers")).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Whether it is being deleted.
pub(crate) fn is_deleting(object: &Value) -> bool {
    object.get("metadata").and_then(|it| it.get("deletionTimestamp")).is_some_and(|it| !it.is_null())
}

/// What is wrong with the name, for the kind.
fn wrong_name(resource: &Resource, name: &str) -> Option<&'static str> {
    match resource.qualified().as_str() {
        "namespaces" | "services" | "statefulsets.apps" => {
            format::dns_label(name).is_err().then_some(DNS_LABEL)
        }
        "roles.rbac.authorization.k8s.io"
        | "rolebindings.rbac.authorization.k8s.io"
        | "clusterroles.rbac.authorization.k8s.io"
        | "clusterrolebindings.rbac.authorization.k8s.io" => match name {
            "." => Some("may not be '.'"),
            ".." => Some("may not be '..'"),
            _ if name.contains('/') => Some("may not contain '/'"),
            _ if name.contains('%') => Some("may not contain '%'"),
            _ => None,
        },
        _ => format::dns_subdomain(name).is_err().then_some(DNS_SUBDOMAIN),
    }
}

/// What is wrong with the metadata of an object.
pub(crate) fn validate(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let name = text(object, "name");
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else if let Some(why) = wrong_name(resource, name) {
        causes.push(Cause::invalid("metadata.name", &json!(name), why));
    }
    causes.extend(labels(object, "metadata"));
    for (index, finalizer) in finalizers(object).iter().enumerate() {
        if !finalizer.contains('/')
            && !matches!(finalizer.as_str(), "orphan" | "foregroundDeletion" | "kubernetes")
            && resource.definition().is_none()
            && resource.group != "apiextensions.k8s.io"
        {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid("metadata.finalizers", &json!(finalizer), why));
        } else if format::label_key(finalizer).is_err() {
            causes.push(Cause::invalid(
                &format!("metadata.finalizers[{index}]"),
                &json!(finalizer),
                QUALIFIED_NAME,
            ));
        }
    }
    causes.extend(owners(object));
    causes
}

fn labels(object: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    let field = format!("{path}.labels");
    for (name, value) in object.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten() {
        if format::label_key(name).is_err() {
            causes.push(Cause::invalid(&field, &json!(name), QUALIFIED_NAME));
        }
        let value = value.as_str().unwrap_or_default();
        if value.len() > 63 {
            causes.push(Cause::invalid(&field, &json!(value), "must be no more than 63 bytes"));
        } else if format::label_value(value).is_err() {
            causes.push(Cause::invalid(&field, &json!(value), LABEL_VALUE));
        }
    }
    for (name, _) in object.pointer("/metadata/annotations").and_then(Value::as_object).into_iter().flatten()
    {
        if format::annotation_key(name).is_err() {
            causes.push(Cause::invalid(&format!("{path}.annotations"), &json!(name), QUALIFIED_NAME));
        }
    }
    causes
}

fn owners(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let all = object.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten();
    let mut controllers = 0;
    for (index, owner) in all.enumerate() {
        let at = |name: &str| format!("metadata.ownerReferences[{index}].{name}");
        let text = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("apiVersion").is_empty() {
            causes.push(Cause::invalid(&at("apiVersion"), &json!(""), "version must not be empty"));
        }
        for name in ["kind", "name", "uid"] {
            if text(name).is_empty() {
                causes.push(Cause::invalid(&at(name), &json!(""), "must not be empty"));
            }
        }
        controllers += i32::from(owner.get("controller") == Some(&json!(true)));
    }
    if controllers > 1 {
        let all = object.pointer("/metadata/ownerReferences").cloned().unwrap_or_default();
        let why = "Only one reference can have Controller set to true.";
        causes.push(Cause::invalid("metadata.ownerReferences", &all, why));
    }
    causes
}

/// What is wrong with a change of the metadata.
pub(crate) fn validate_update(object: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if is_deleting(old) {
        let before = finalizers(old);
        let added: Vec<String> = finalizers(object).into_iter().filter(|it| !before.contains(it)).collect();
        if !added.is_empty() {
            let all: Vec<String> = added.iter().map(|it| format!("{it:?}")).collect();
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                all.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &why));
        }
    }
    for name in ["name", "namespace", "uid"] {
        let (was, is) = (text(old, name), text(object, name));
        if was != is {
            causes.push(Cause::invalid(&format!("metadata.{name}"), &json!(is), "field is immutable"));
        }
    }
    causes
}
