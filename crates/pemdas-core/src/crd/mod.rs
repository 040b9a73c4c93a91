//! CustomResourceDefinitions drafted from contracts: the model of a schema, what is written into a CRD, what
//! only one of contract and Kubernetes checks, and whether a new draft may follow an old one.
//!
//! A draft is the strictest definition that refuses nothing which the contract accepts. What cannot be said in it is
//! left out and reported as a [`Gap`]; it is never made into something that the API server would refuse to install.

pub mod against;
pub mod cel;
pub mod codes;
pub mod compatibility;
mod definition;
pub mod difference;
mod embedded;
mod gap;
pub mod install;
mod json;
pub mod lints;
mod merge;
pub mod pattern;
mod presentation;
mod rule;
mod samples;
mod schema;
mod status;
mod structural;
mod validate;

pub use definition::{KindDraft, VersionDraft, definition, plural_of};
pub use embedded::{Leaves, MergeKey, embedded, merge_keys};
pub use gap::{Gap, Side};
pub use json::{KEYWORDS, from_json, to_json};
pub use merge::meet;
pub use presentation::{Column, Scale};
pub use rule::{CelRule, Reason, Relation, Wanted};
pub use samples::samples;
pub use schema::{Field, ListType, Record, Schema, Type};
pub use status::{AUTHOR_MAY_NOT_USE, STATUS_VERSION, with_own_part};
pub use structural::{LeftOutKeyword, structural};
pub use validate::refusal;
