//! What differs from kind to kind in how it is written and deleted.

use serde_json::{Map, Value, json};

use super::defaults::TEMPLATE_GENERATION;

use crate::kinds::{Body, Resource};
use crate::typed::FieldSet;

/// How objects of a resource are written and deleted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strategy<'a>(pub(crate) &'a Resource);

/// Kinds that count generations, beside the custom ones.
const COUNTED: &[&str] = &[
    "customresourcedefinitions.apiextensions.k8s.io",
    "cronjobs.batch",
    "daemonsets.apps",
    "deployments.apps",
    "endpointslices.discovery.k8s.io",
    "flowschemas.flowcontrol.apiserver.k8s.io",
    "ingressclasses.networking.k8s.io",
    "ingresses.networking.k8s.io",
    "jobs.batch",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "networkpolicies.networking.k8s.io",
    "poddisruptionbudgets.policy",
    "pods",
    "podtemplates",
    "priorityclasses.scheduling.k8s.io",
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
    "replicasets.apps",
    "replicationcontrollers",
    "statefulsets.apps",
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
];

/// Kinds of which a PUT creates what is not there.
const CREATED_BY_PUT: &[&str] = &[
    "clusterrolebindings.rbac.authorization.k8s.io",
    "clusterroles.rbac.authorization.k8s.io",
    "endpoints",
    "events",
    "leasecandidates.coordination.k8s.io",
    "leases.coordination.k8s.io",
    "limitranges",
    "rolebindings.rbac.authorization.k8s.io",
    "roles.rbac.authorization.k8s.io",
    "runtimeclasses.node.k8s.io",
    "services",
];

/// Kinds whose updates have to say which version they change, beside the custom ones.
const CONDITIONAL: &[&str] = &[
    "csidrivers.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "customresourcedefinitions.apiextensions.k8s.io",
    "apiservices.apiregistration.k8s.io",
    "leasecandidates.coordination.k8s.io",
    "leases.coordination.k8s.io",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "poddisruptionbudgets.policy",
    "runtimeclasses.node.k8s.io",
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "volumeattachments.storage.k8s.io",
];

/// Kinds whose deleted objects are shown once more.
const SHOWN_WHEN_DELETED: &[&str] = &[
    "namespaces",
    "persistentvolumeclaims",
    "persistentvolumes",
    "pods",
    "podtemplates",
    "resourcequotas",
    "serviceaccounts",
    "services",
];

fn add_finalizer(fields: &mut Map<String, Value>, name: &str) {
    let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.contains(&json!(name))
    {
        finalizers.push(json!(name));
    }
}

impl Strategy<'_> {
    fn is_one_of(&self, list: &[&str]) -> bool {
        let name = self.0.qualified();
        list.contains(&name.as_str())
    }

    fn is_custom(&self) -> bool {
        matches!(self.0.body, Body::Custom(_))
    }

    pub(crate) fn counts_generations(&self) -> bool {
        self.is_custom() || self.is_one_of(COUNTED)
    }

    pub(crate) fn creates_by_put(&self) -> bool {
        self.is_one_of(CREATED_BY_PUT)
    }

    pub(crate) fn needs_version(&self) -> bool {
        self.is_custom() || self.is_one_of(CONDITIONAL)
    }

    pub(crate) fn shows_deleted(&self) -> bool {
        self.is_one_of(SHOWN_WHEN_DELETED) || self.0.group == "resource.k8s.io"
    }

    /// Whether what depends on an object of it is collected.
    pub(crate) fn has_dependents(&self) -> bool {
        !self.is_one_of(&["events", "events.events.k8s.io"])
    }

    /// Fields that a write of this part of an object cannot set.
    pub(crate) fn reset_fields(&self, subresource: &str) -> FieldSet {
        let mut ignored = FieldSet::default();
        match subresource {
            "status" if self.is_custom() => {
                ignored.add(&FieldSet::of_names(&["metadata"]));
                ignored.add(&FieldSet::of_names(&["spec"]));
            }
            "status" => {
                ignored.add(&FieldSet::of_names(&["spec"]));
                if self.is_one_of(&["deployments.apps"]) {
                    ignored.add(&FieldSet::of_names(&["metadata", "labels"]));
                }
            }
            "" if self.0.has_subresource("status") => ignored.add(&FieldSet::of_names(&["status"])),
            _ => {}
        }
        ignored
    }

    /// What an object has when it is created, whatever the request says.
    pub(crate) fn prepare_for_create(&self, object: &mut Value) {
        let Some(fields) = object.as_object_mut() else { return };
        if self.0.has_subresource("status") {
            if self.is_custom() {
                fields.remove("status");
            } else {
                let status = self.first_status(fields.get("status"));
                fields.insert("status".to_owned(), status);
            }
        }
        match self.0.qualified().as_str() {
            "namespaces" => {
                let spec = fields.entry("spec").or_insert_with(|| json!({}));
                let finalizers =
                    spec.get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
                let mut finalizers: Vec<Value> = finalizers;
                if !finalizers.contains(&json!("kubernetes")) {
                    finalizers.push(json!("kubernetes"));
                }
                spec["finalizers"] = Value::Array(finalizers);
            }
            "customresourcedefinitions.apiextensions.k8s.io" => {
                add_finalizer(fields, "customresourcecleanup.apiextensions.k8s.io");
            }
            "persistentvolumeclaims" => add_finalizer(fields, "kubernetes.io/pvc-protection"),
            "persistentvolumes" => add_finalizer(fields, "kubernetes.io/pv-protection"),
            "daemonsets.apps" => {
                let annotations = fields.get_mut("metadata").and_then(|it| it.get_mut("annotations"));
                if let Some(counted) = annotations.and_then(|it| it.get_mut(TEMPLATE_GENERATION)) {
                    *counted = json!("1");
                }
            }
            _ => {}
        }
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            if self.counts_generations() {
                metadata.insert("generation".to_owned(), json!(1));
            } else {
                metadata.remove("generation");
            }
        }
    }

    fn first_status(&self, given: Option<&Value>) -> Value {
        match self.0.qualified().as_str() {
            "namespaces" => json!({ "phase": "Active" }),
            "pods" => json!({ "phase": "Pending", "qosClass": "BestEffort" }),
            "persistentvolumeclaims" | "persistentvolumes" => json!({ "phase": "Pending" }),
            "customresourcedefinitions.apiextensions.k8s.io" => {
                let stored = given.and_then(|it| it.get("storedVersions")).cloned().unwrap_or(json!([]));
                json!({ "storedVersions": stored })
            }
            _ => json!({}),
        }
    }

    /// Takes from the old object what this part of it does not write.
    pub(crate) fn prepare_for_update(&self, subresource: &str, object: &mut Value, old: &Value) {
        let keep = |object: &mut Value, name: &str| {
            if let Some(fields) = object.as_object_mut() {
                match old.get(name) {
                    Some(value) => fields.insert(name.to_owned(), value.clone()),
                    None => fields.remove(name),
                };
            }
        };
        match subresource {
            "status" if self.is_custom() => {
                let status = object.get("status").cloned();
                let managers = object.pointer("/metadata/managedFields").cloned();
                let mut kept = old.clone();
                if let Some(fields) = kept.as_object_mut() {
                    fields.remove("status");
                    fields.extend(status.map(|status| ("status".to_owned(), status)));
                }
                if let Some(metadata) = kept.get_mut("metadata").and_then(Value::as_object_mut) {
                    metadata.remove("managedFields");
                    metadata.extend(managers.map(|it| ("managedFields".to_owned(), it)));
                }
                *object = kept;
            }
            "status" => {
                for name in old.as_object().into_iter().flatten().map(|(name, _)| name) {
                    if !matches!(name.as_str(), "status" | "metadata" | "apiVersion" | "kind") {
                        keep(object, name);
                    }
                }
                if self.is_one_of(&["deployments.apps"]) && old.pointer("/metadata/labels").is_some() {
                    object["metadata"]["labels"] = old["metadata"]["labels"].clone();
                }
            }
            _ if self.0.has_subresource("status") => keep(object, "status"),
            _ => {}
        }
        if self.0.is("", "namespaces") && subresource != "finalize" {
            object["spec"]["finalizers"] = old.pointer("/spec/finalizers").cloned().unwrap_or(json!([]));
        }
    }

    /// Whether a change is one of what the object is meant to be.
    pub(crate) fn changes_generation(&self, object: &Value, old: &Value) -> bool {
        if !self.counts_generations() {
            return false;
        }
        let plain = |object: &Value| {
            let mut fields = object.as_object().cloned().unwrap_or_default();
            fields.remove("metadata");
            if self.0.has_subresource("status") {
                fields.remove("status");
            }
            fields
        };
        let annotations = |object: &Value| object.pointer("/metadata/annotations").cloned();
        let noted = self.is_one_of(&["deployments.apps"]) && annotations(object) != annotations(old);
        noted || plain(object) != plain(old)
    }
}
