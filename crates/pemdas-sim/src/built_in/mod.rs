//! Objects of the built-in kinds: how Go writes them, what the server fills in, and what it refuses.

mod decode;
mod defaults;
mod encode;
mod images;
mod protobuf;
mod strategy;
mod validate;

pub(crate) use decode::decode;
pub(crate) use defaults::{TEMPLATE_GENERATION, fill};
pub(crate) use encode::{encode, zero};
pub(crate) use protobuf::from_protobuf;
pub(crate) use strategy::Strategy;
pub(crate) use validate::{validate, validate_update};
