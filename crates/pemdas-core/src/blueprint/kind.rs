//! The kinds a blueprint owns.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ContractRef;
use crate::diagnostic::Span;

/// A kind whose definition is drafted from this blueprint. Its name is its key in the blueprint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnedKind {
    /// The key in the blueprint, or the whole record where the key has no place.
    pub span: Span,
    /// The API group.
    pub group: String,
    /// Whether its objects live in namespaces.
    #[serde(default)]
    pub scope: Scope,
    /// The plural; absent: made from the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plural: Option<String>,
    /// Short names for the command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short_names: Vec<String>,
    /// Its versions, by name.
    pub versions: BTreeMap<String, KindVersion>,
}

/// Whether objects of a kind live in namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Scope {
    /// In a namespace.
    #[default]
    Namespaced,
    /// In the cluster.
    Cluster,
}

/// One version of an owned kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindVersion {
    /// The version as written.
    pub span: Span,
    /// Whether this is the version that is stored. With one version it is that one.
    #[serde(default = "yes")]
    pub stored: bool,
    /// Whether it is served.
    #[serde(default = "yes")]
    pub served: bool,
    /// The contract of `spec`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<ContractRef>,
    /// The contract of the author's part of `status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ContractRef>,
}

fn yes() -> bool {
    true
}
