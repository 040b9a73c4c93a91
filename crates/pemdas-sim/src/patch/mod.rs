//! The ways to change an object by a patch, beside server-side apply.

mod json;
mod merge;
mod strategic;

pub(crate) use json::{JsonPatchError, apply_json};
pub(crate) use merge::apply_merge;
pub(crate) use strategic::apply_strategic;
