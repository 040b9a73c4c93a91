//! The edges of both graphs as an author writes them, and the shapes on them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ContractRef, Function, Removal};
use crate::{diagnostic::Span, shape::Shape};

/// An Also edge; the node it leads to is its key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlsoEdge {
    /// The name of the node it leads to, as written (the string in a list, the key in a record).
    pub span: Span,
    /// The condition under which it counts: a function of the root and of the extracts of `before`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Function>,
    /// What the condition reads: Sequence edges from precursors to the condition, by precursor.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub before: BTreeMap<String, SequenceEdge>,
}

impl AlsoEdge {
    /// An edge without a condition.
    #[must_use]
    pub fn new(span: Span) -> Self {
        Self { span, when: None, before: BTreeMap::new() }
    }
}

/// A Sequence edge into the node (or condition) that carries it; the precursor is its key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SequenceEdge {
    /// The name of the precursor, as written (the string in a list, the key in a record).
    pub span: Span,
    /// The shape the precursor must have; absent: its `ready`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<WantedShape>,
    /// From the precursor's live object to values for the successor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extract: Option<Function>,
    /// Whether a member waits for the precursor's member of the same key only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub each: bool,
    /// Which of the two ends is removed first.
    #[serde(default, skip_serializing_if = "Removal::is_default")]
    pub removal: Removal,
}

impl SequenceEdge {
    /// An edge that only orders, and waits for the precursor's `ready`.
    #[must_use]
    pub fn new(span: Span) -> Self {
        Self { span, until: None, extract: None, each: false, removal: Removal::default() }
    }
}

/// A shape in a clause, with its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WantedShape {
    /// The clause's value as written.
    pub span: Span,
    /// How the shape is given.
    pub form: WantedShapeForm,
}

/// The ways a shape is given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum WantedShapeForm {
    /// Data, judged here.
    Native(Shape),
    /// A function of the carrying node's `the` that yields a shape.
    Function(Function),
    /// A contract that only the evaluator can judge.
    Contract(ContractRef),
}
