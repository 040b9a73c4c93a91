//! The two shapes, as the driver sees them.

use kube::api::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

/// The two shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A ConfigMap, a Secret, a Service and a ServiceAccount.
    FanOut,
    /// Five ConfigMaps, each with the uid of the one before.
    Chain,
}

impl Shape {
    pub(crate) fn read(name: &str) -> Option<Self> {
        [Self::FanOut, Self::Chain].into_iter().find(|it| it.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::FanOut => "fan-out",
            Self::Chain => "chain",
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::FanOut => "FanOut",
            Self::Chain => "Chain",
        }
    }

    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::FanOut => "fanouts",
            Self::Chain => "chains",
        }
    }

    pub(crate) fn resource(self) -> ApiResource {
        let kind = GroupVersionKind::gvk("bench.pemdas.dev", "v1", self.kind());
        ApiResource::from_gvk_with_plural(&kind, self.plural())
    }

    /// How many objects are applied for an instance.
    pub(crate) fn children(self) -> usize {
        match self {
            Self::FanOut => 4,
            Self::Chain => 5,
        }
    }

    /// The ConfigMap of an instance that is deleted to see it come back: one that nothing depends on.
    pub(crate) fn drifting(self, instance: &str) -> String {
        match self {
            Self::FanOut => format!("{instance}-config"),
            Self::Chain => format!("{instance}-5"),
        }
    }

    pub(crate) fn instance(self, name: &str) -> Value {
        json!({
            "apiVersion": "bench.pemdas.dev/v1", "kind": self.kind(),
            "metadata": { "name": name }, "spec": { "value": "one" },
        })
    }

    /// The blueprint, for an operator that takes one.
    pub(crate) fn blueprint(self) -> &'static str {
        match self {
            Self::FanOut => include_str!("../blueprints/fan-out/main.ncl"),
            Self::Chain => include_str!("../blueprints/chain/main.ncl"),
        }
    }

    /// The definition, for an operator that wants it installed: with the status and the conditions that its author would have
    /// drawn up from types. What the API server checks and keeps track of at every write depends on it.
    pub(crate) fn definition(self) -> Value {
        let text = |longest: usize| json!({ "type": "string", "maxLength": longest });
        let generation = json!({ "type": "integer", "format": "int64" });
        let condition = json!({
            "type": "object", "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "type": text(316), "reason": text(1024), "message": text(32_768),
                "status": { "type": "string", "enum": ["True", "False", "Unknown"] },
                "lastTransitionTime": { "type": "string", "format": "date-time" },
                "observedGeneration": generation,
            },
        });
        let status = json!({ "type": "object", "properties": {
            "observedGeneration": generation,
            "conditions": {
                "type": "array", "items": condition,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
            },
        } });
        let spec = json!({
            "type": "object", "required": ["value"], "properties": { "value": { "type": "string" } },
        });
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{}.bench.pemdas.dev", self.plural()) },
            "spec": {
                "group": "bench.pemdas.dev", "scope": "Namespaced",
                "names": {
                    "kind": self.kind(), "listKind": format!("{}List", self.kind()),
                    "plural": self.plural(), "singular": self.kind().to_lowercase(),
                },
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                    "schema": { "openAPIV3Schema": {
                        "type": "object", "required": ["spec"], "properties": { "spec": spec, "status": status },
                    } },
                }],
            },
        })
    }
}
