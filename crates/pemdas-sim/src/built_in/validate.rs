//! What the API server refuses in objects of built-in kinds, beyond their types.
//!
//! The rules that operators meet: identity, keys, selectors, what cannot be changed. Rules of single fields that no test has asked
//! for are listed as a difference.

use pemdas_core::kube_types::format;
use serde_json::{Map, Value, json};

use crate::api::Cause;
use crate::kinds::Resource;

/// What is wrong with an object.
pub(crate) fn validate(resource: &Resource, object: &Value, is_new: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    match resource.qualified().as_str() {
        "configmaps" | "secrets" => {
            for field in ["data", "binaryData"] {
                for name in
                    object.get(field).and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name)
                {
                    causes.extend(data_key(field, name));
                }
            }
            let (texts, bytes) = (map_at(object, "/data"), map_at(object, "/binaryData"));
            for name in texts.iter().flat_map(|it| it.keys()) {
                if bytes.is_some_and(|it| it.contains_key(name)) {
                    let field = format!("data[{name}]");
                    causes.push(Cause::invalid(
                        &field,
                        &json!(name),
                        "duplicate of key present in binaryData",
                    ));
                }
            }
        }
        "deployments.apps" | "replicasets.apps" | "statefulsets.apps" | "daemonsets.apps" => {
            causes.extend(workload(object));
        }
        "services" => causes.extend(service_ports(object)),
        "controllerrevisions.apps" if is_new && object.get("data").is_none_or(Value::is_null) => {
            causes.push(Cause::required("data", "data is mandatory"));
        }
        _ => {}
    }
    let templates: &[&str] = match resource.qualified().as_str() {
        "pods" => &["spec"],
        "podtemplates" => &["template.spec"],
        "cronjobs.batch" => &["spec.jobTemplate.spec.template.spec"],
        "jobs.batch" | "deployments.apps" | "replicasets.apps" | "statefulsets.apps" | "daemonsets.apps" => {
            &["spec.template.spec"]
        }
        _ => &[],
    };
    for path in templates {
        let pointer = format!("/{}", path.replace('.', "/"));
        causes.extend(pod_spec(path, object.pointer(&pointer).unwrap_or(&Value::Null), resource));
    }
    causes
}

fn map_at<'a>(object: &'a Value, pointer: &str) -> Option<&'a Map<String, Value>> {
    object.pointer(pointer).and_then(Value::as_object)
}

fn service_ports(object: &Value) -> Vec<Cause> {
    let ports = object.pointer("/spec/ports").and_then(Value::as_array).cloned().unwrap_or_default();
    let headless = object.pointer("/spec/clusterIP").is_some_and(|it| it == "None");
    let mut causes = Vec::new();
    if ports.is_empty() && !headless && object.pointer("/spec/type").is_some_and(|it| it != "ExternalName") {
        causes.push(Cause::required("spec.ports", ""));
    }
    let mut seen: Vec<&str> = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let name = port.get("name").and_then(Value::as_str).unwrap_or_default();
        let place = format!("spec.ports[{index}].name");
        if name.is_empty() && ports.len() > 1 {
            causes.push(Cause::required(&place, ""));
        } else if !name.is_empty() && seen.contains(&name) {
            causes.push(Cause::duplicate(&place, &json!(name)));
        }
        seen.push(name);
    }
    causes
}

/// The address of a Service stays, and its families are those of the cluster.
fn service_addresses(object: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let at =
        |object: &Value, name: &str| object.pointer(&format!("/spec/{name}")).cloned().unwrap_or_default();
    if at(object, "clusterIP") != at(old, "clusterIP")
        && at(old, "clusterIP") != ""
        && at(object, "type") == at(old, "type")
    {
        causes.push(Cause::invalid(
            "spec.clusterIPs[0]",
            &at(object, "clusterIPs"),
            "may not change once set",
        ));
    }
    let headless = at(object, "clusterIP") == "None";
    let selects = at(object, "selector").as_object().is_some_and(|it| !it.is_empty());
    if headless && selects && at(object, "ipFamilyPolicy") == "RequireDualStack" {
        let why = "this cluster is not configured for dual-stack services";
        causes.push(Cause::invalid("spec.ipFamilyPolicy", &at(object, "ipFamilyPolicy"), why));
        for (index, family) in at(object, "ipFamilies").as_array().into_iter().flatten().enumerate() {
            if family != "IPv4" {
                let field = format!("spec.ipFamilies[{index}]");
                causes.push(Cause::invalid(&field, family, "not configured on this cluster"));
            }
        }
    }
    causes
}

fn data_key(field: &str, name: &str) -> Option<Cause> {
    let good = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let place = format!("{field}[{name}]");
    if name.len() > 253 {
        return Some(Cause::invalid(&place, &json!(name), "must be no more than 253 characters"));
    }
    if name.is_empty() || !name.chars().all(good) {
        let why = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
        return Some(Cause::invalid(&place, &json!(name), why));
    }
    match name {
        "." => Some(Cause::invalid(&place, &json!(name), "must not be '.'")),
        ".." => Some(Cause::invalid(&place, &json!(name), "must not be '..'")),
        _ if name.starts_with("..") => Some(Cause::invalid(&place, &json!(name), "must not start with '..'")),
        _ => None,
    }
}

fn workload(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let replicas = object.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(0);
    if replicas < 0 {
        causes.push(Cause::invalid("spec.replicas", &json!(replicas), "must be greater than or equal to 0"));
    }
    let Some(selector) = object.pointer("/spec/selector").filter(|it| !it.is_null()) else {
        causes.push(Cause::required("spec.selector", ""));
        return causes;
    };
    if selector.as_object().is_some_and(Map::is_empty) {
        causes.push(Cause::invalid("spec.selector", &json!({}), "empty selector is invalid for deployment"));
    }
    let labels = map_at(object, "/spec/template/metadata/labels");
    let missing = map_at(selector, "/matchLabels")
        .into_iter()
        .flatten()
        .any(|(name, value)| labels.and_then(|it| it.get(name)) != Some(value));
    if missing {
        let labels = labels.cloned().map_or(Value::Null, Value::Object);
        let why = "`selector` does not match template `labels`";
        causes.push(Cause::invalid("spec.template.metadata.labels", &labels, why));
    }
    causes
}

fn pod_spec(path: &str, spec: &Value, resource: &Resource) -> Vec<Cause> {
    let mut causes = Vec::new();
    let containers = spec.get("containers").and_then(Value::as_array).cloned().unwrap_or_default();
    if containers.is_empty() {
        causes.push(Cause::required(&format!("{path}.containers"), ""));
    }
    let mut names: Vec<&str> = Vec::new();
    for (index, container) in containers.iter().enumerate() {
        let text = |name: &str| container.get(name).and_then(Value::as_str).unwrap_or_default();
        let at = |name: &str| format!("{path}.containers[{index}].{name}");
        let name = text("name");
        if name.is_empty() {
            causes.push(Cause::required(&at("name"), ""));
        } else if format::dns_label(name).is_err() {
            causes.push(Cause::invalid(&at("name"), &json!(name), crate::meta::DNS_LABEL));
        } else if names.contains(&name) {
            causes.push(Cause::duplicate(&at("name"), &json!(name)));
        }
        names.push(name);
        if text("image").is_empty() {
            causes.push(Cause::required(&at("image"), ""));
        }
        for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
            let handlers = ["exec", "httpGet", "tcpSocket", "grpc"];
            let given = container.get(probe).and_then(Value::as_object);
            if given.is_some_and(|given| !handlers.iter().any(|it| given.contains_key(*it))) {
                causes.push(Cause::required(&at(probe), "must specify a handler type"));
            }
        }
    }
    let policy = spec.get("restartPolicy").and_then(Value::as_str).unwrap_or_default();
    let is_job = resource.group == "batch";
    if is_job && policy == "Always" {
        let at = format!("{path}.restartPolicy");
        let why = "Required value: valid values: \"OnFailure\", \"Never\"";
        causes.push(Cause { reason: "FieldValueRequired", message: why.to_owned(), field: at });
    } else if resource.group == "apps" && policy != "Always" {
        causes.push(Cause::unsupported(&format!("{path}.restartPolicy"), &json!(policy), &["Always"]));
    }
    causes
}

/// What is wrong with a change.
pub(crate) fn validate_update(resource: &Resource, object: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut fixed = |field: &str| {
        let pointer = format!("/{}", field.replace('.', "/"));
        let (was, is) = (old.pointer(&pointer), object.pointer(&pointer));
        if was != is {
            causes.push(Cause::invalid(field, is.unwrap_or(&Value::Null), "field is immutable"));
        }
    };
    match resource.qualified().as_str() {
        "deployments.apps" | "replicasets.apps" | "daemonsets.apps" => fixed("spec.selector"),
        "secrets" => fixed("type"),
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io"
            if old.get("roleRef") != object.get("roleRef") =>
        {
            // Here the server shows its own names.
            let name = |name: &str| object.pointer(&format!("/roleRef/{name}")).cloned().unwrap_or_default();
            let role = json!({ "APIGroup": name("apiGroup"), "Kind": name("kind"), "Name": name("name") });
            causes.push(Cause::invalid("roleRef", &role, "cannot change roleRef"));
        }
        "services" => causes.extend(service_addresses(object, old)),
        "controllerrevisions.apps" => fixed("data"),
        "jobs.batch" => {
            for field in ["spec.selector", "spec.template", "spec.completionMode"] {
                fixed(field);
            }
        }
        "statefulsets.apps" => {
            let plain = |object: &Value| {
                let mut spec = object.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
                for free in [
                    "replicas",
                    "ordinals",
                    "template",
                    "updateStrategy",
                    "revisionHistoryLimit",
                    "persistentVolumeClaimRetentionPolicy",
                    "minReadySeconds",
                ] {
                    spec.remove(free);
                }
                spec
            };
            if plain(object) != plain(old) {
                let why = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
                causes.push(Cause::forbidden("spec", why));
            }
        }
        _ => {}
    }
    if matches!(resource.qualified().as_str(), "configmaps" | "secrets")
        && old.get("immutable") == Some(&json!(true))
    {
        let mut frozen = |field: &str| {
            if old.get(field) != object.get(field) {
                causes.push(Cause::forbidden(field, "field is immutable when `immutable` is set"));
            }
        };
        for field in ["immutable", "data", "binaryData"] {
            frozen(field);
        }
    }
    causes
}
