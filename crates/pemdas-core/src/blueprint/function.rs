//! What the core knows of the functions and contracts that stay in the evaluator.

use serde::{Deserialize, Serialize};

use super::{Fits, Plain};
use crate::diagnostic::Span;

/// The names under which a function of `the` finds what is no precursor; no node may have one of them.
pub const RESERVED_INPUTS: [&str; 4] = ["root", "self", "seed", "each"];

/// A function of the blueprint: where it is, and what it reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// The fields that lead to it from the blueprint, such as `nodes`, `serving`, `template`.
    pub path: Vec<String>,
    /// The function as written.
    pub span: Span,
    /// What it reads of its argument, in the order of the source; each place of reading is one entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<Read>,
    /// What it puts together, if it does no more than that: then no evaluator has to be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain: Option<Plain>,
}

/// One place where a function reads its argument.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// The fields from the argument on: `the.root.spec.image` is `root`, `spec`, `image`. Empty where the argument
    /// is used whole (given to a helper): then nothing can be said of what is read.
    pub path: Vec<String>,
    /// The whole expression, such as `the.root.spec.image`.
    pub span: Span,
}

/// What the first field of a read of `the` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Input<'a> {
    /// The root object, without its status.
    Root,
    /// The node's own live object, or null.
    Own,
    /// A random string that is fixed at first use.
    Seed,
    /// The key and value of this member.
    Each,
    /// What an edge extracts from a precursor.
    Node(&'a str),
    /// The argument as a whole.
    Whole,
}

impl Read {
    /// What the first field names, for a function of `the`.
    #[must_use]
    pub fn input(&self) -> Input<'_> {
        match self.path.first().map(String::as_str) {
            None => Input::Whole,
            Some("root") => Input::Root,
            Some("self") => Input::Own,
            Some("seed") => Input::Seed,
            Some("each") => Input::Each,
            Some(node) => Input::Node(node),
        }
    }
}

/// A contract of the blueprint, which the evaluator judges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContractRef {
    /// The fields that lead to it from the blueprint.
    pub path: Vec<String>,
    /// The contract as written.
    pub span: Span,
    /// What it asks for, if that can be said without it: then a value that fits needs no evaluator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fits: Option<Fits>,
}
