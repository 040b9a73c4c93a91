//! What the API server fills into objects of built-in kinds.
//!
//! The defaults that the OpenAPI document declares come from the table of types; the rest, which stands in code of the
//! API server only, is here, a rule for each type. Kinds that no rule is about are listed as a difference.

use pemdas_core::kube_types::{Shape, Type};
use serde_json::{Map, Value, json};

use super::images::pull_policy;

/// Fills in what is missing in a record and everything below it, outermost first.
pub(crate) fn fill(of: Type, value: &mut Value) {
    let Some(fields) = value.as_object_mut() else { return };
    rule(of.id(), fields);
    for field in of.fields() {
        if let Some(text) = field.default()
            && !is_set(fields, field.name)
            && let Ok(default) = serde_json::from_str::<Value>(text)
            && !default.is_object()
        {
            fields.insert(field.name.to_owned(), default);
        }
        if let Some(value) = fields.get_mut(field.name) {
            fill_shape(field.shape(), value);
        }
    }
}

fn fill_shape(of: Shape, value: &mut Value) {
    match of {
        Shape::Record(id) => {
            if let Some(of) = Type::find(id) {
                fill(of, value);
            }
        }
        Shape::List(item) => {
            if let Shape::Record(_) = item.shape() {
                value.as_array_mut().into_iter().flatten().for_each(|one| fill_shape(item.shape(), one));
            }
        }
        Shape::Dictionary(item) => {
            if let Shape::Record(_) = item.shape() {
                value
                    .as_object_mut()
                    .into_iter()
                    .flatten()
                    .for_each(|(_, one)| fill_shape(item.shape(), one));
            }
        }
        _ => {}
    }
}

/// Where a DaemonSet counts the changes of its template: a field that is no more, kept as an annotation.
pub(crate) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

type Fields = Map<String, Value>;

fn is_set(fields: &Fields, name: &str) -> bool {
    fields.get(name).is_some_and(|value| !value.is_null() && value != "")
}

fn or(fields: &mut Fields, name: &str, default: Value) {
    if !is_set(fields, name) {
        fields.insert(name.to_owned(), default);
    }
}

/// The record at a field, made if it is not there.
fn inside<'a>(fields: &'a mut Fields, name: &str) -> Option<&'a mut Fields> {
    or(fields, name, json!({}));
    fields.get_mut(name).and_then(Value::as_object_mut)
}

fn number(fields: &mut Fields, name: &str, default: i64) {
    if fields.get(name).is_none_or(|value| value.is_null() || value == &json!(0)) {
        fields.insert(name.to_owned(), Value::from(default));
    }
}

fn rule(id: &str, fields: &mut Fields) {
    match id {
        "core/v1/Pod" => pod(fields),
        "core/v1/PodSpec" => {
            or(fields, "dnsPolicy", json!("ClusterFirst"));
            or(fields, "restartPolicy", json!("Always"));
            or(fields, "securityContext", json!({}));
            or(fields, "terminationGracePeriodSeconds", json!(30));
            or(fields, "schedulerName", json!("default-scheduler"));
            // Both names of one thing.
            match (fields.get("serviceAccountName").cloned(), fields.get("serviceAccount").cloned()) {
                (Some(name), _) if name != "" => or_replace(fields, "serviceAccount", name),
                (_, Some(name)) if name != "" => or_replace(fields, "serviceAccountName", name),
                _ => {}
            }
        }
        "core/v1/Container" | "core/v1/EphemeralContainer" => {
            let image = fields.get("image").and_then(Value::as_str).unwrap_or_default();
            let policy = if image.is_empty() { "IfNotPresent" } else { pull_policy(image) };
            or(fields, "imagePullPolicy", json!(policy));
            or(fields, "terminationMessagePath", json!("/dev/termination-log"));
            or(fields, "terminationMessagePolicy", json!("File"));
        }
        "core/v1/Probe" => {
            for (name, default) in [
                ("timeoutSeconds", 1),
                ("periodSeconds", 10),
                ("successThreshold", 1),
                ("failureThreshold", 3),
            ] {
                number(fields, name, default);
            }
        }
        "core/v1/HTTPGetAction" => {
            or(fields, "path", json!("/"));
            or(fields, "scheme", json!("HTTP"));
        }
        "core/v1/ObjectFieldSelector" => or(fields, "apiVersion", json!("v1")),
        "core/v1/Volume" => {
            if !fields.iter().any(|(name, value)| name != "name" && !value.is_null()) {
                fields.insert("emptyDir".to_owned(), json!({}));
            }
        }
        "core/v1/SecretVolumeSource"
        | "core/v1/ConfigMapVolumeSource"
        | "core/v1/DownwardAPIVolumeSource"
        | "core/v1/ProjectedVolumeSource" => or(fields, "defaultMode", json!(420)),
        "core/v1/ServiceAccountTokenProjection" => or(fields, "expirationSeconds", json!(3600)),
        "core/v1/HostPathVolumeSource" => {
            if !fields.contains_key("type") {
                fields.insert("type".to_owned(), json!(""));
            }
        }
        "core/v1/Secret" => {
            or(fields, "type", json!("Opaque"));
            write_texts(fields);
        }
        "core/v1/Service" => service(fields),
        "core/v1/Namespace" => namespace(fields),
        "core/v1/NamespaceStatus" => or(fields, "phase", json!("Active")),
        "core/v1/PersistentVolumeClaimStatus" => or(fields, "phase", json!("Pending")),
        "core/v1/PersistentVolumeStatus" => or(fields, "phase", json!("Pending")),
        "core/v1/PersistentVolumeClaimSpec" => or(fields, "volumeMode", json!("Filesystem")),
        "core/v1/PersistentVolumeSpec" => {
            or(fields, "volumeMode", json!("Filesystem"));
            or(fields, "persistentVolumeReclaimPolicy", json!("Retain"));
        }
        _ => rule_of_others(id, fields),
    }
}

fn rule_of_others(id: &str, fields: &mut Fields) {
    match id {
        "apps/v1/DeploymentSpec" => {
            or(fields, "replicas", json!(1));
            rolling(fields, "strategy", &[("maxUnavailable", json!("25%")), ("maxSurge", json!("25%"))]);
            or(fields, "revisionHistoryLimit", json!(10));
            or(fields, "progressDeadlineSeconds", json!(600));
        }
        "apps/v1/DaemonSetSpec" => {
            rolling(fields, "updateStrategy", &[("maxUnavailable", json!(1)), ("maxSurge", json!(0))]);
            or(fields, "revisionHistoryLimit", json!(10));
        }
        "apps/v1/StatefulSetSpec" => stateful_set(fields),
        "apps/v1/ReplicaSetSpec" | "core/v1/ReplicationControllerSpec" => or(fields, "replicas", json!(1)),
        "batch/v1/Job" => job(fields),
        "batch/v1/CronJobSpec" => {
            or(fields, "concurrencyPolicy", json!("Allow"));
            or(fields, "suspend", json!(false));
            or(fields, "successfulJobsHistoryLimit", json!(3));
            or(fields, "failedJobsHistoryLimit", json!(1));
        }
        "networking/v1/NetworkPolicyPort" => or(fields, "protocol", json!("TCP")),
        "networking/v1/NetworkPolicySpec" => {
            let mut types = vec![json!("Ingress")];
            if fields.get("egress").and_then(Value::as_array).is_some_and(|rules| !rules.is_empty()) {
                types.push(json!("Egress"));
            }
            if fields.get("policyTypes").and_then(Value::as_array).is_none_or(Vec::is_empty) {
                fields.insert("policyTypes".to_owned(), Value::Array(types));
            }
        }
        "rbac/v1/RoleRef" => or(fields, "apiGroup", json!("rbac.authorization.k8s.io")),
        "rbac/v1/Subject" => {
            if matches!(fields.get("kind").and_then(Value::as_str), Some("User" | "Group")) {
                or(fields, "apiGroup", json!("rbac.authorization.k8s.io"));
            }
        }
        "storage/v1/StorageClass" => {
            or(fields, "reclaimPolicy", json!("Delete"));
            or(fields, "volumeBindingMode", json!("Immediate"));
        }
        "apiextensions/v1/CustomResourceDefinition" => definition(fields),
        "autoscaling/v2/HorizontalPodAutoscalerSpec" => or(fields, "minReplicas", json!(1)),
        _ => {}
    }
}

fn or_replace(fields: &mut Fields, name: &str, value: Value) {
    fields.insert(name.to_owned(), value);
}

fn pod(fields: &mut Fields) {
    let Some(spec) = inside(fields, "spec") else { return };
    or(spec, "enableServiceLinks", json!(true));
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let limits = container.pointer("/resources/limits").and_then(Value::as_object).cloned();
            let resources = container.get_mut("resources").and_then(Value::as_object_mut);
            if let (Some(limits), Some(resources)) = (limits, resources)
                && let Some(requests) = inside(resources, "requests")
            {
                for (name, amount) in limits {
                    requests.entry(name).or_insert(amount);
                }
            }
        }
    }
}

/// A strategy that rolls unless it says otherwise.
fn rolling(fields: &mut Fields, name: &str, defaults: &[(&str, Value)]) {
    let Some(strategy) = inside(fields, name) else { return };
    or(strategy, "type", json!("RollingUpdate"));
    if strategy.get("type") == Some(&json!("RollingUpdate"))
        && let Some(rolling) = inside(strategy, "rollingUpdate")
    {
        for (name, default) in defaults {
            or(rolling, name, default.clone());
        }
    }
}

fn stateful_set(fields: &mut Fields) {
    or(fields, "podManagementPolicy", json!("OrderedReady"));
    if let Some(strategy) = inside(fields, "updateStrategy") {
        if !is_set(strategy, "type") {
            strategy.insert("type".to_owned(), json!("RollingUpdate"));
            or(strategy, "rollingUpdate", json!({}));
        }
        if strategy.get("type") == Some(&json!("RollingUpdate"))
            && let Some(rolling) = strategy.get_mut("rollingUpdate").and_then(Value::as_object_mut)
        {
            or(rolling, "partition", json!(0));
        }
    }
    if let Some(policy) = inside(fields, "persistentVolumeClaimRetentionPolicy") {
        or(policy, "whenDeleted", json!("Retain"));
        or(policy, "whenScaled", json!("Retain"));
    }
    or(fields, "replicas", json!(1));
    or(fields, "revisionHistoryLimit", json!(10));
}

/// Of Jobs only: the template of a CronJob stays as it is written.
fn job(whole: &mut Fields) {
    let labels = whole.get("spec").and_then(|it| it.pointer("/template/metadata/labels")).cloned();
    if let (Some(labels), Some(metadata)) = (labels, inside(whole, "metadata"))
        && metadata.get("labels").and_then(Value::as_object).is_none_or(Map::is_empty)
    {
        metadata.insert("labels".to_owned(), labels);
    }
    let Some(fields) = inside(whole, "spec") else { return };
    if !is_set(fields, "completions") && !is_set(fields, "parallelism") {
        fields.insert("completions".to_owned(), json!(1));
    }
    or(fields, "parallelism", json!(1));
    let limit = if is_set(fields, "backoffLimitPerIndex") { 2_147_483_647 } else { 6 };
    or(fields, "backoffLimit", json!(limit));
    or(fields, "completionMode", json!("NonIndexed"));
    or(fields, "suspend", json!(false));
    let replacement = if is_set(fields, "podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    or(fields, "podReplacementPolicy", json!(replacement));
    or(fields, "manualSelector", json!(false));
}

fn service(fields: &mut Fields) {
    let Some(spec) = inside(fields, "spec") else { return };
    or(spec, "sessionAffinity", json!("None"));
    if spec.get("sessionAffinity") == Some(&json!("None")) {
        spec.remove("sessionAffinityConfig");
    } else if spec
        .get("sessionAffinityConfig")
        .and_then(|it| it.pointer("/clientIP/timeoutSeconds"))
        .is_none()
    {
        spec.insert("sessionAffinityConfig".to_owned(), json!({ "clientIP": { "timeoutSeconds": 10800 } }));
    }
    or(spec, "type", json!("ClusterIP"));
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(port) = port.as_object_mut() else { continue };
        or(port, "protocol", json!("TCP"));
        let number = port.get("port").cloned().unwrap_or_default();
        if port.get("targetPort").is_none_or(|it| it.is_null() || it == &json!(0) || it == "") {
            port.insert("targetPort".to_owned(), number);
        }
    }
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        or(spec, "externalTrafficPolicy", json!("Cluster"));
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer" | "ClusterIP") {
        or(spec, "internalTrafficPolicy", json!("Cluster"));
    }
    if kind == "LoadBalancer" {
        or(spec, "allocateLoadBalancerNodePorts", json!(true));
    }
}

fn namespace(fields: &mut Fields) {
    let name = fields.get("metadata").and_then(|it| it.get("name")).cloned();
    if let (Some(name), Some(metadata)) = (name.filter(|it| it != ""), inside(fields, "metadata"))
        && let Some(labels) = inside(metadata, "labels")
    {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name);
    }
}

/// The texts that a Secret may be written with become its data.
fn write_texts(fields: &mut Fields) {
    use base64::Engine as _;
    let Some(Value::Object(texts)) = fields.remove("stringData") else { return };
    let Some(data) = inside(fields, "data") else { return };
    for (name, text) in texts {
        let encoded = base64::engine::general_purpose::STANDARD.encode(text.as_str().unwrap_or_default());
        data.insert(name, Value::from(encoded));
    }
}

fn definition(fields: &mut Fields) {
    let Some(spec) = inside(fields, "spec") else { return };
    or(spec, "conversion", json!({ "strategy": "None" }));
    let storage = spec.get("versions").and_then(Value::as_array).into_iter().flatten();
    let storage =
        storage.filter(|it| it.get("storage") == Some(&json!(true))).find_map(|it| it.get("name").cloned());
    if let Some(names) = inside(spec, "names") {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        or(names, "singular", json!(kind.to_lowercase()));
        or(names, "listKind", json!(format!("{kind}List")));
    }
    if let (Some(status), Some(version)) = (inside(fields, "status"), storage)
        && status.get("storedVersions").and_then(Value::as_array).is_none_or(Vec::is_empty)
    {
        status.insert("storedVersions".to_owned(), json!([version]));
    }
}
