//! What goes over the wire: requests, responses, and what is wrong with a request.

mod failure;
mod request;

pub use failure::{Cause, Failure};
pub use request::{Method, Request, Response};
