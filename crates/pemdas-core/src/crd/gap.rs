//! What only one of contract and Kubernetes checks.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Span;

/// Who checks it alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Kubernetes accepts what the contract refuses.
    OnlyContract,
    /// Kubernetes refuses what the contract accepts.
    OnlyKubernetes,
}

/// One thing that only one of them checks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Gap {
    /// The kind.
    pub kind: String,
    /// Its version.
    pub version: String,
    /// The field, such as `spec.hosts[].name`.
    pub path: String,
    /// Who checks it.
    pub side: Side,
    /// What is checked.
    pub what: String,
    /// Where the contract is written, if it is the contract that checks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
}
