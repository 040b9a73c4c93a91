//! Objects with their types, for server-side apply: how values merge, which fields they have, what changed.

mod compare;
mod element;
mod merge;
mod remove;
mod set;
mod types;

pub(crate) use compare::{Comparison, compare, fields_of};
pub(crate) use element::Element;
pub(crate) use merge::merge;
pub(crate) use remove::{remove, with_named_fields};
pub(crate) use set::FieldSet;
pub(crate) use types::{Atom, TypeRef};
