//! The built-in kinds of Kubernetes and the types they are made of, as a table that ships in the binary.
//!
//! It is made from the OpenAPI document of the pinned version (`cargo kube-types`) and answers, without parsing
//! more than what is asked for: which kinds there are and how they are served, which fields they have and of
//! which shape, whether an object or the syntax tree of a template fits them, and what was perhaps meant where it
//! does not. Custom resources are not in it: their schemas are in their CRDs.

mod check;
pub mod format;
mod kind;
pub mod suggest;
mod table;
pub mod template_tree;
mod types;

pub use check::{Checked, Finding, MAX_FINDINGS, Problem, Purpose, validate, validate_type};
pub use kind::{Kind, Scope, UnknownKind};
pub use types::{Field, ListType, Shape, ShapeText, Type};

/// The version of Kubernetes that the table was made from, such as `v1.36.3`.
#[must_use]
pub fn version() -> &'static str {
    table::version()
}
