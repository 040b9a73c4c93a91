//! Checks an object, or what is known of one before it is computed, against the type of its kind.

mod node;
mod problem;
mod rules;
mod scalar;
mod walk;

pub(crate) use node::{Entry, Form, Node};
pub(crate) use problem::quoted;
pub use problem::{Finding, Problem};
pub(crate) use walk::{Found, check};

use serde_json::Value;

use super::kind::Kind;
use super::types::Type;

/// At most so many findings are made of one object: more help nobody.
pub const MAX_FINDINGS: usize = 50;

/// What an object is for, and so what may be wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A whole object that is to be applied.
    Apply,
    /// A part of one that is to be merged into another: nothing is missing from it.
    Patch,
    /// An object as the API server gave it: it has what only the server writes.
    Live,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// What is wrong, in the order of the object.
    pub findings: Vec<Finding>,
    /// Whether there was more than [`MAX_FINDINGS`].
    pub truncated: bool,
}

/// Checks an object against its kind.
#[must_use]
pub fn validate(kind: &Kind, object: &Value, purpose: Purpose) -> Checked {
    let Some(body) = kind.body() else { return Checked::default() };
    told(check(object, body, Some(kind), purpose))
}

/// Checks a value against a type that is embedded in others, such as `core/v1/PodTemplateSpec`.
#[must_use]
pub fn validate_type(body: Type, value: &Value, purpose: Purpose) -> Checked {
    told(check(value, body, None, purpose))
}

fn told((found, truncated): (Vec<Found<()>>, bool)) -> Checked {
    Checked { findings: found.into_iter().map(|found| found.finding).collect(), truncated }
}
