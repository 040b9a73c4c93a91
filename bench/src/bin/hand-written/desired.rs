//! What an instance consists of.

use serde_json::{Value, json};

/// The two shapes of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Four children that do not depend on each other.
    FanOut,
    /// Five, of which each uses the uid of the one before.
    Chain,
}

/// The kinds of children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    ConfigMap,
    Secret,
    Service,
    ServiceAccount,
}

impl Shape {
    pub(crate) fn root_kind(self) -> &'static str {
        match self {
            Self::FanOut => "FanOut",
            Self::Chain => "Chain",
        }
    }

    pub(crate) fn root_plural(self) -> &'static str {
        match self {
            Self::FanOut => "fanouts",
            Self::Chain => "chains",
        }
    }

    pub(crate) fn kinds(self) -> &'static [Kind] {
        match self {
            Self::FanOut => &[Kind::ConfigMap, Kind::Secret, Kind::Service, Kind::ServiceAccount],
            Self::Chain => &[Kind::ConfigMap],
        }
    }

    /// The children of an instance, in order.
    pub(crate) fn children(self, root: &str) -> Vec<(Kind, String)> {
        match self {
            Self::FanOut => vec![
                (Kind::ConfigMap, format!("{root}-config")),
                (Kind::Secret, format!("{root}-secret")),
                (Kind::Service, root.to_owned()),
                (Kind::ServiceAccount, root.to_owned()),
            ],
            Self::Chain => (1..=5).map(|it| (Kind::ConfigMap, format!("{root}-{it}"))).collect(),
        }
    }
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
            Self::Service => "Service",
            Self::ServiceAccount => "ServiceAccount",
        }
    }

    /// Whether a list of our own managed fields still has what we apply.
    pub(crate) fn is_covered(self, fields: &Value) -> bool {
        let place = match self {
            Self::ConfigMap | Self::Secret => "/f:data/f:value",
            Self::Service => "/f:spec/f:ports",
            Self::ServiceAccount => "/f:automountServiceAccountToken",
        };
        fields.pointer(place).is_some()
    }

    /// What it holds besides its metadata. `input` is the value of the root, and in a chain the uid of the one before.
    pub(crate) fn content(self, input: &str, root: &str) -> Value {
        match self {
            Self::ConfigMap => json!({ "data": { "value": input } }),
            // The API server wants base64; these values are it already.
            Self::Secret => json!({ "data": { "value": "dmFsdWU=" }, "type": "Opaque" }),
            Self::Service => json!({ "spec": {
                "selector": { "app": root }, "ports": [{ "name": "http", "port": 80, "protocol": "TCP" }],
            } }),
            Self::ServiceAccount => json!({ "automountServiceAccountToken": false }),
        }
    }
}
