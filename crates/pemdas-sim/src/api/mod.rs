//! What goes over the wire: requests, responses, and what is wrong with a request.

mod failure;
mod request;

pub(crate) use failure::DEFINITION_IS_GOING;
pub use failure::{Cause, Failure};
pub use request::{Method, Request, Response};
