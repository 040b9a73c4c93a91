//! The objects that sequences are about: kinds, and parts to make them of.

use pemdas_sim::Seed;
use serde_json::{Value, json};

/// A kind that sequences use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) api_version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    /// Whether controllers of the cluster change its objects: then it is only tried, never written.
    pub(crate) dry: bool,
}

const fn kind(api_version: &'static str, kind: &'static str, plural: &'static str, dry: bool) -> Kind {
    Kind { api_version, kind, plural, dry }
}

/// The kinds, the ones that show most of the semantics first and most often.
pub(crate) const KINDS: &[Kind] = &[
    kind("v1", "ConfigMap", "configmaps", false),
    kind("conformance.example.com/v1", "Widget", "widgets", false),
    kind("v1", "PodTemplate", "podtemplates", false),
    kind("v1", "Secret", "secrets", false),
    kind("v1", "Service", "services", false),
    kind("coordination.k8s.io/v1", "Lease", "leases", false),
    kind("rbac.authorization.k8s.io/v1", "Role", "roles", false),
    kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", false),
    kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", false),
    kind("apps/v1", "ControllerRevision", "controllerrevisions", false),
    kind("apps/v1", "Deployment", "deployments", true),
    kind("apps/v1", "StatefulSet", "statefulsets", true),
    kind("batch/v1", "Job", "jobs", true),
    kind("batch/v1", "CronJob", "cronjobs", true),
    kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims", true),
];

/// What the object is called that ends a sequence.
pub(crate) const END: &str = "the-end";

impl Kind {
    /// An object that every watch of a sequence sees.
    pub(crate) fn end(&self) -> Value {
        let mut object = match self.kind {
            "PodTemplate" => {
                json!({ "template": { "spec": { "containers": [{ "name": "a", "image": "a" }] } } })
            }
            "Service" => json!({ "spec": { "clusterIP": "None" } }),
            "RoleBinding" => {
                json!({ "roleRef": { "kind": "Role", "name": "a", "apiGroup": "rbac.authorization.k8s.io" } })
            }
            "NetworkPolicy" => json!({ "spec": { "podSelector": {} } }),
            "ControllerRevision" => json!({ "revision": 1, "data": {} }),
            _ => json!({}),
        };
        object["apiVersion"] = json!(self.api_version);
        object["kind"] = json!(self.kind);
        object["metadata"] = json!({ "name": END, "labels": { "app": "x" } });
        object
    }

    /// The kind whose objects a path is about.
    pub(crate) fn at(path: &str) -> Option<Self> {
        KINDS.iter().find(|kind| kind.path("$NS") == path).copied()
    }

    /// The path of its objects in a namespace.
    pub(crate) fn path(&self, namespace: &str) -> String {
        let root = if self.api_version.contains('/') { "apis" } else { "api" };
        format!("/{root}/{}/namespaces/{namespace}/{}", self.api_version, self.plural)
    }
}

fn pick<'a, T>(seed: &mut Seed, list: &'a [T]) -> &'a T {
    &list[usize::try_from(seed.below(list.len() as u64)).unwrap()]
}

fn chance(seed: &mut Seed, percent: u64) -> bool {
    seed.below(100) < percent
}

/// Some of the entries.
fn some(seed: &mut Seed, entries: Value) -> Value {
    let Value::Object(entries) = entries else { return entries };
    Value::Object(entries.into_iter().filter(|_| chance(seed, 55)).collect())
}

fn letter(seed: &mut Seed) -> String {
    (*pick(seed, &["x", "y", "z"])).to_owned()
}

/// Metadata beside the name.
pub(crate) fn metadata(seed: &mut Seed) -> Value {
    let mut metadata = json!({});
    if chance(seed, 45) {
        let labels = json!({ "app": letter(seed), "tier": letter(seed), "example.com/part": letter(seed) });
        metadata["labels"] = some(seed, labels);
    }
    if chance(seed, 30) {
        let annotations = json!({ "note": letter(seed), "example.com/why": letter(seed) });
        metadata["annotations"] = some(seed, annotations);
    }
    if chance(seed, 12) {
        let all = json!(["example.com/hold", "example.com/keep"]);
        metadata["finalizers"] = if chance(seed, 60) { json!([all[0]]) } else { all };
    }
    if chance(seed, 2) {
        metadata["labels"] = json!({ "bad key!": "x" });
    }
    if chance(seed, 2) {
        metadata["labels"] = json!({ "app": "not a label" });
    }
    metadata
}

/// The fields of an object beside what it is called.
pub(crate) fn content(seed: &mut Seed, kind: &Kind) -> Value {
    match kind.kind {
        "ConfigMap" => {
            let data = json!({ "a": letter(seed), "b": letter(seed), "c.d": letter(seed) });
            let mut content = json!({ "data": some(seed, data) });
            if chance(seed, 10) {
                content["binaryData"] = json!({ "e": "AAEC" });
            }
            if chance(seed, 3) {
                content["immutable"] = json!(chance(seed, 50));
            }
            if chance(seed, 2) {
                content["data"]["bad key"] = json!("x");
            }
            content
        }
        "Secret" => {
            let mut content = json!({});
            if chance(seed, 60) {
                content["data"] = some(seed, json!({ "a": "eA==", "b": "eQ==" }));
            }
            if chance(seed, 40) {
                content["stringData"] = some(seed, json!({ "a": "one", "c": "three", "d": "four!" }));
            }
            if chance(seed, 20) {
                content["type"] = json!(*pick(seed, &["Opaque", "example.com/own"]));
            }
            content
        }
        "Widget" => json!({ "spec": widget(seed) }),
        "PodTemplate" => json!({ "template": pod_template(seed, false) }),
        "Service" => json!({ "spec": service(seed) }),
        "Lease" => {
            let spec = json!({
                "holderIdentity": letter(seed), "leaseDurationSeconds": seed.below(5) + 1,
                "renewTime": "2024-05-06T07:08:09.000000Z", "leaseTransitions": seed.below(3),
            });
            json!({ "spec": some(seed, spec) })
        }
        "Role" => json!({ "rules": [{
            "apiGroups": ["", "apps"], "resources": [*pick(seed, &["pods", "secrets"])], "verbs": ["get", *pick(seed, &["list", "watch"])],
        }] }),
        "RoleBinding" => {
            let mut content =
                json!({ "roleRef": { "kind": "Role", "name": *pick(seed, &["one", "one", "two"]) } });
            if chance(seed, 50) {
                content["roleRef"]["apiGroup"] = json!("rbac.authorization.k8s.io");
            }
            if chance(seed, 70) {
                content["subjects"] = json!([
                    { "kind": "User", "name": letter(seed) }, { "kind": "ServiceAccount", "name": "default", "namespace": "default" },
                ]);
            }
            content
        }
        "NetworkPolicy" => json!({ "spec": {
            "podSelector": { "matchLabels": { "app": letter(seed) } },
            "ingress": [{ "ports": [{ "port": seed.below(3) + 80 }], "from": [{ "podSelector": {} }] }],
        } }),
        "ControllerRevision" => {
            let mut content = json!({ "revision": seed.below(4) + 1 });
            if chance(seed, 60) {
                content["data"] = json!({ "spec": { "some": letter(seed) } });
            }
            content
        }
        _ => workload(seed, kind),
    }
}

fn widget(seed: &mut Seed) -> Value {
    let parts = json!({
        "size": seed.below(4) + 1,
        "replicas": seed.below(4),
        "mode": *pick(seed, &["Fast", "Slow"]),
        "min": seed.below(4), "max": seed.below(4) + 2,
        "ports": [{ "name": letter(seed), "port": seed.below(3) + 80 }, { "name": "fixed", "port": 9 }],
        "tags": [letter(seed), "t"],
        "order": [letter(seed), letter(seed)],
        "limits": { "cpu": letter(seed), "memory": letter(seed) },
        "whole": { "a": letter(seed), "b": 1 },
        "free": { "any": { "thing": [1, letter(seed)] } },
        "either": *pick(seed, &[&json!(1), &json!("50%")]),
        "note": letter(seed),
    });
    let mut spec = some(seed, parts);
    if chance(seed, 4) {
        spec["mode"] = json!("Odd");
    }
    if chance(seed, 3) {
        spec["size"] = json!("big");
    }
    if chance(seed, 3) {
        spec["size"] = json!(99);
    }
    if chance(seed, 3) {
        spec["tags"] = json!(["t", "t"]);
    }
    if chance(seed, 3) {
        spec["ports"] = json!([{ "port": 80 }]);
    }
    if chance(seed, 3) {
        spec["note"] = json!("much too long");
    }
    if chance(seed, 4) {
        spec["unknown"] = json!(letter(seed));
    }
    spec
}

/// A status of a widget.
pub(crate) fn widget_status(seed: &mut Seed) -> Value {
    let parts = json!({
        "phase": letter(seed), "replicas": seed.below(4), "selector": "app=x",
        "conditions": [{ "type": "Ready", "status": *pick(seed, &["True", "False"]) }, { "type": letter(seed), "status": "True" }],
    });
    some(seed, parts)
}

fn container(seed: &mut Seed, name: &str) -> Value {
    let mut one =
        json!({ "name": name, "image": *pick(seed, &["nginx", "nginx:1.25", "host:5000/app:latest"]) });
    if chance(seed, 40) {
        one["ports"] = json!([{ "containerPort": seed.below(3) + 80 }, { "containerPort": 53, "protocol": "UDP", "name": "dns" }]);
    }
    if chance(seed, 40) {
        one["env"] = json!([{ "name": "A", "value": letter(seed) }, { "name": letter(seed), "value": "1" }]);
    }
    if chance(seed, 30) {
        one["resources"] =
            json!({ "limits": { "cpu": *pick(seed, &["1", "500m", "1000m"]), "memory": "1Gi" } });
    }
    if chance(seed, 20) {
        one["livenessProbe"] = json!({ "httpGet": { "port": 80 }, "initialDelaySeconds": seed.below(3) });
    }
    if chance(seed, 20) {
        one["volumeMounts"] = json!([{ "name": "v", "mountPath": "/v" }]);
    }
    if chance(seed, 20) {
        one["command"] = json!(["sh", "-c", letter(seed)]);
    }
    one
}

fn pod_template(seed: &mut Seed, for_job: bool) -> Value {
    let mut containers = vec![container(seed, "main")];
    if chance(seed, 40) {
        containers.push(container(seed, "side"));
    }
    let mut spec = json!({ "containers": containers });
    spec["volumes"] = json!([{ "name": "v" }, { "name": "c", "configMap": { "name": letter(seed) } }]);
    if for_job {
        spec["restartPolicy"] = json!("Never");
    }
    if chance(seed, 20) {
        spec["serviceAccountName"] = json!(letter(seed));
    }
    if chance(seed, 20) {
        spec["hostNetwork"] = json!(false);
    }
    if chance(seed, 15) {
        spec["nodeSelector"] = json!({ "disk": letter(seed) });
    }
    json!({ "metadata": { "labels": { "app": "x" } }, "spec": spec })
}

fn service(seed: &mut Seed) -> Value {
    let mut spec = json!({ "ports": [{ "name": "http", "port": seed.below(3) + 80 }] });
    if chance(seed, 50) {
        spec["ports"]
            .as_array_mut()
            .unwrap()
            .push(json!({ "name": "other", "port": 8080, "targetPort": *pick(seed, &["web", "api"]) }));
    }
    if chance(seed, 60) {
        spec["selector"] = json!({ "app": letter(seed) });
    }
    if chance(seed, 15) {
        spec["clusterIP"] = json!("None");
    }
    if chance(seed, 15) {
        spec["sessionAffinity"] = json!("ClientIP");
    }
    spec
}

fn workload(seed: &mut Seed, kind: &Kind) -> Value {
    let selector = json!({ "matchLabels": { "app": if chance(seed, 92) { "x" } else { "y" } } });
    let template = pod_template(seed, kind.kind.contains("Job"));
    match kind.kind {
        "Deployment" => {
            let mut spec = json!({ "selector": selector, "template": template });
            if chance(seed, 50) {
                spec["replicas"] = json!(seed.below(4));
            }
            if chance(seed, 25) {
                spec["strategy"] = json!({ "type": "Recreate" });
            } else if chance(seed, 25) {
                spec["strategy"] = json!({ "rollingUpdate": { "maxSurge": 1 } });
            }
            if chance(seed, 20) {
                spec["paused"] = json!(chance(seed, 50));
            }
            json!({ "spec": spec })
        }
        "StatefulSet" => {
            json!({ "spec": { "selector": selector, "template": template, "serviceName": letter(seed) } })
        }
        "Job" => {
            let mut spec = json!({ "template": template });
            if chance(seed, 40) {
                spec["backoffLimit"] = json!(seed.below(3));
            }
            json!({ "spec": spec })
        }
        "CronJob" => {
            json!({ "spec": { "schedule": "* * * * *", "suspend": true, "jobTemplate": { "spec": { "template": template } } } })
        }
        _ => json!({ "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": *pick(seed, &["1Gi", "1024Mi"]) } },
        } }),
    }
}

/// The definition of the kind that shows what definitions can say.
pub(crate) fn definition() -> Value {
    let text = json!({ "type": "string" });
    let spec = json!({
        "type": "object",
        "x-kubernetes-validations": [
            { "rule": "!has(self.min) || !has(self.max) || self.min <= self.max", "message": "min must not exceed max" },
            { "rule": "!has(oldSelf.note) || (has(self.note) && self.note >= oldSelf.note)", "message": "note may only grow" },
        ],
        "properties": {
            "size": { "type": "integer", "minimum": 1, "maximum": 10, "default": 3 },
            "replicas": { "type": "integer" },
            "mode": { "type": "string", "enum": ["Fast", "Slow"], "default": "Fast" },
            "min": { "type": "integer" }, "max": { "type": "integer" },
            "ports": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": { "type": "object", "required": ["name"], "properties": {
                    "name": text, "port": { "type": "integer" }, "protocol": { "type": "string", "default": "TCP" },
                } },
            },
            "tags": { "type": "array", "x-kubernetes-list-type": "set", "items": text },
            "order": { "type": "array", "items": text, "maxItems": 4 },
            "limits": { "type": "object", "additionalProperties": text },
            "whole": { "type": "object", "x-kubernetes-map-type": "atomic", "properties": { "a": text, "b": { "type": "integer" } } },
            "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            "either": { "x-kubernetes-int-or-string": true },
            "note": { "type": "string", "maxLength": 5 },
            "nested": { "type": "object", "default": {}, "properties": { "deep": { "type": "string", "default": "d" } } },
        },
    });
    let status = json!({
        "type": "object",
        "properties": {
            "phase": text, "replicas": { "type": "integer" }, "selector": text,
            "conditions": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                "items": { "type": "object", "required": ["type", "status"], "properties": { "type": text, "status": text } },
            },
        },
    });
    let version = |name: &str, stored: bool| {
        json!({
            "name": name, "served": true, "storage": stored,
            "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec, "status": status } } },
            "subresources": { "status": {}, "scale": {
                "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector",
            } },
            "additionalPrinterColumns": [{ "name": "Size", "type": "integer", "jsonPath": ".spec.size" }],
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.conformance.example.com" },
        "spec": {
            "group": "conformance.example.com", "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"] },
            "versions": [version("v1", true), version("v2", false)],
        },
    })
}
