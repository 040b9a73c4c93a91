//! A blueprint as data: what an author wrote, with every union brought to one form and every place remembered.
//!
//! Functions and contracts stay in the evaluator. Here they are present by their path in the blueprint, the
//! place they were written at, and the inputs they read: enough to build both graphs and to check them without
//! evaluating anything.

mod clause;
mod edge;
mod fits;
mod function;
mod kind;
mod node;
mod object;
mod plain;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::diagnostic::Span;

pub use clause::{
    Clause, Conflict, First, OnDelete, OnImmutable, Once, Own, Removal, Replace, Report, Superseded,
};
pub use edge::{AlsoEdge, SequenceEdge, WantedShape, WantedShapeForm};
pub use fits::{Fits, FittingField};
pub use function::{ContractRef, Function, Input, RESERVED_INPUTS, Read};
pub use kind::{KindVersion, OwnedKind, Scope};
pub use node::{
    Absent, Body, EVERY_NAMESPACE, Node, Observe, Root, RootTarget, Selector, SelectorOperator, SelectorRule,
    Template,
};
pub use object::{NamePart, NameSegment, ObjectIdentity, StaticText};
pub use plain::Plain;

/// A whole blueprint in its normal form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blueprint {
    /// The author's name for it.
    pub name: String,
    /// The major version of the standard library it is written for.
    pub library: u32,
    /// The whole blueprint in its main file.
    pub span: Span,
    /// The kinds this blueprint owns, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<String, OwnedKind>,
    /// The nodes, by name.
    #[serde(default)]
    pub nodes: BTreeMap<String, Node>,
    /// How a new revision reaches the instances; without it, all at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
    /// The longer texts that are written in its files: they are no secrets, wherever they turn up.
    #[serde(skip)]
    pub texts: BTreeSet<String>,
}

/// How a new revision reaches the instances that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rollout {
    /// How many may be on their way to it at once.
    pub max_in_flight: u32,
    /// Whether nothing further is rolled out while one of them stalls.
    pub pause_on_stalled: bool,
}

impl Rollout {
    /// One after the other, and no further when one stalls: what is left out of the clause, and what holds for a change that no
    /// author made.
    pub const CAREFUL: Self = Self { max_in_flight: 1, pause_on_stalled: true };
}

impl Blueprint {
    /// A blueprint without kinds and nodes.
    #[must_use]
    pub fn new(name: impl Into<String>, library: u32, span: Span) -> Self {
        Self {
            name: name.into(),
            library,
            span,
            kinds: BTreeMap::new(),
            nodes: BTreeMap::new(),
            rollout: None,
            texts: BTreeSet::new(),
        }
    }

    /// The API version and kind of a root; nothing for what is none, or for the blueprint's own ConfigMap.
    #[must_use]
    pub fn kind_of_root(&self, body: &Body) -> Option<(String, String)> {
        let Body::Root(root) = body else { return None };
        match &root.target {
            RootTarget::Owned(kind) => {
                let owned = self.kinds.get(kind)?;
                let stored =
                    owned.versions.iter().find(|(_, it)| it.stored).or(owned.versions.iter().next())?;
                Some((format!("{}/{}", owned.group, stored.0), kind.clone()))
            }
            RootTarget::Foreign { api_version, kind, .. } => Some((api_version.clone(), kind.clone())),
            RootTarget::Blueprint => None,
        }
    }

    /// The contract of the spec of a root, by the version it is written in; of a version that is not known, the stored
    /// one's. Nothing for what this blueprint does not own.
    #[must_use]
    pub fn contract(&self, target: &RootTarget, api_version: &str) -> Option<&ContractRef> {
        let RootTarget::Owned(kind) = target else { return None };
        let versions = &self.kinds.get(kind)?.versions;
        let written = api_version.rsplit('/').next().and_then(|version| versions.get(version));
        written.or_else(|| versions.values().find(|it| it.stored))?.spec.as_ref()
    }
}
