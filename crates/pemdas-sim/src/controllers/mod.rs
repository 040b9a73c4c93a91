//! What the controllers of a real cluster do.
//!
//! Some always do the same: collecting garbage, emptying namespaces and definitions that go. Others play workloads, as a
//! [`Scenario`] says: when they are ready, whether they fail.

mod garbage;
mod namespaces;
mod statuses;
mod workloads;

pub(crate) use workloads::Workloads;
pub use workloads::{Behaviour, Outcome, Rule, Scenario};

use serde_json::Value;

use crate::api::{Method, Request, Response};
use crate::server::Server;
use crate::store::Key;
use crate::time::Time;

/// What controllers call themselves.
const AGENT: &str = "kube-controller-manager";

/// A pass of a controller: whether it changed something.
pub(crate) type Pass = fn(&mut Server, Time) -> bool;

/// The controllers that always do the same.
pub(crate) const ALWAYS: &[Pass] = &[garbage::collect, namespaces::settle, namespaces::definitions];

/// The path of an object.
pub(crate) fn path_of(server: &Server, key: &Key) -> Option<String> {
    let resource = server.kinds().any_version(&key.resource)?;
    let root = if resource.group.is_empty() { "api".to_owned() } else { "apis".to_owned() };
    let scope = key.namespace().map(|it| format!("/namespaces/{it}")).unwrap_or_default();
    Some(format!("/{root}/{}{scope}/{}/{}", resource.api_version(), resource.plural, key.name()))
}

/// Sends a request as a controller.
pub(crate) fn send(
    server: &mut Server,
    now: Time,
    method: Method,
    path: &str,
    kind: &str,
    body: &Value,
) -> Option<Response> {
    let request = Request::new(method, path).json(kind, body).header("user-agent", AGENT);
    server.handle(now, &request).whole()
}
