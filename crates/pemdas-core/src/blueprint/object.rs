//! What is known of an object before anything runs: its kind, and how its name is made.

use serde::{Deserialize, Serialize};

use super::Read;
use crate::diagnostic::Span;

/// What a template, an `observe` or an `absent` says of its object's identity, without an instance.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectIdentity {
    /// The API version. Missing on the patch of a state.
    #[serde(default)]
    pub api_version: StaticText,
    /// The kind. Missing on the patch of a state.
    #[serde(default)]
    pub kind: StaticText,
    /// How the namespace is made; missing means the root's.
    #[serde(default)]
    pub namespace: NamePart,
    /// How the name is made.
    #[serde(default)]
    pub name: NamePart,
}

/// A text that has to be known without an instance.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum StaticText {
    /// Not given at all.
    #[default]
    Missing,
    /// Known.
    Known(String),
    /// Depends on something that only an instance has.
    Unknown {
        /// What stood in the way, such as "it reads the.root.spec.kind".
        why: String,
        /// Where that is written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        span: Option<Span>,
    },
}

impl StaticText {
    /// The text, if it is known.
    #[must_use]
    pub fn known(&self) -> Option<&str> {
        match self {
            Self::Known(text) => Some(text),
            Self::Missing | Self::Unknown { .. } => None,
        }
    }
}

/// How a name or a namespace is made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum NamePart {
    /// Not given.
    #[default]
    Missing,
    /// Literal text and inputs side by side: `"%{the.root.metadata.name}-old"`.
    Pattern(Vec<NameSegment>),
    /// Made by a computation from these inputs.
    Computed(Vec<Read>),
}

/// A piece of a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum NameSegment {
    /// Literal text.
    Text(String),
    /// An input of `the`, such as `root`, `metadata`, `name`.
    Input(Read),
}
