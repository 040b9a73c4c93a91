//! The API server: a state machine from requests to responses.

mod access;
mod call;
mod change;
mod create;
mod delete;
mod discovery;
mod openapi;
mod patch;
mod proxy;
mod scale;
mod services;
mod shape;

pub use access::Access;
pub(crate) use call::Call;
pub use proxy::Answer;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::{Failure, Method, Request, Response};
use crate::custom;
use crate::kinds::Kinds;
use crate::read::{Form, Watch, shown};
use crate::seed::Seed;
use crate::store::{Key, ResourceId, Store};
use crate::time::Time;

/// The largest body that is read, as of the real server.
const LARGEST_BODY: usize = 3 * 1024 * 1024;

/// The simulated API server.
#[derive(Debug, Clone)]
pub struct Server {
    pub(crate) store: Store,
    pub(crate) kinds: Kinds,
    pub(crate) seed: Seed,
    pub(crate) access: Access,
    pub(crate) answers: Vec<Answer>,
    /// Custom objects that are stored otherwise than they are read: their next write is one even if it changes nothing.
    pub(crate) unsettled: BTreeSet<Key>,
}

/// What the server answers.
#[derive(Debug, Clone)]
pub enum Reply {
    /// A whole response.
    Whole(Response),
    /// A watch: poll it.
    Watch(Box<Watch>),
}

impl Reply {
    /// The whole response; a watch has none.
    #[must_use]
    pub fn whole(self) -> Option<Response> {
        match self {
            Self::Whole(response) => Some(response),
            Self::Watch(_) => None,
        }
    }
}

impl Server {
    /// A server as it is when a cluster has just been made.
    #[must_use]
    pub fn new(seed: u64, now: Time) -> Self {
        let mut server = Self {
            store: Store::new(),
            kinds: Kinds::default(),
            seed: Seed::new(seed),
            access: Access::All,
            answers: Vec::new(),
            unsettled: BTreeSet::new(),
        };
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            server.post(now, "/api/v1/namespaces", &body);
        }
        server
    }

    /// The same, with rules about who may do what.
    #[must_use]
    pub fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// From now on these rules say who may do what.
    pub fn set_access(&mut self, access: Access) {
        self.access = access;
    }

    /// Creates an object as the cluster itself.
    fn post(&mut self, now: Time, path: &str, body: &Value) {
        let request = Request::new(Method::Post, path).json("application/json", body);
        self.handle(now, &request.header("user-agent", "kube-apiserver"));
    }

    /// Answers a request.
    pub fn handle(&mut self, now: Time, request: &Request) -> Reply {
        if request.body.len() > LARGEST_BODY {
            let message = format!("Request entity too large: limit is {LARGEST_BODY}");
            let failure = Failure::injected(413, "RequestEntityTooLarge", &message);
            return Reply::Whole(Response::json(413, failure.status()));
        }
        match self.route(now, request) {
            Ok(reply) => reply,
            Err(failure) => Reply::Whole(Response::json(failure.code(), failure.status())),
        }
    }

    fn route(&mut self, now: Time, request: &Request) -> Result<Reply, Failure> {
        if let Some(response) = self.unnamed(request) {
            return Ok(Reply::Whole(response));
        }
        if let Some(response) = self.review(request)? {
            return Ok(Reply::Whole(response));
        }
        if let Some(response) = self.proxied(now, request)? {
            return Ok(Reply::Whole(response));
        }
        let call = Call::read(&self.kinds, now, request)?;
        self.check_access(&call)?;
        let whole = |status: u16, body: Value| Ok(Reply::Whole(call.response(status, body)));
        match (request.method, call.name.is_empty(), call.subresource.as_str()) {
            (_, false, "scale") => {
                let body = self.scale(&call)?;
                let form = if call.form == Form::Metadata { Form::Metadata } else { Form::Whole };
                whole(200, shown(&call.resource, &body, form, &call.now.text()))
            }
            (Method::Get, false, _) => {
                if request.flag("watch") {
                    return self.watch(&call).map(|watch| Reply::Watch(Box::new(watch)));
                }
                let object = self.get(&call)?;
                whole(200, call.shown(&object))
            }
            (Method::Get, true, "") if request.flag("watch") => {
                self.watch(&call).map(|watch| Reply::Watch(Box::new(watch)))
            }
            (Method::Get, true, "") => {
                let list = self.list(&call)?;
                whole(200, list)
            }
            (Method::Post, true, "") => {
                let (object, warnings) = self.create(&call)?;
                let mut response = call.response(201, call.shown(&object));
                response.warnings = warnings;
                Ok(Reply::Whole(response))
            }
            (Method::Put | Method::Patch, false, _) => {
                let written =
                    if request.method == Method::Put { self.replace(&call)? } else { self.patch(&call)? };
                let status = if written.created { 201 } else { 200 };
                let mut response = call.response(status, call.shown(&written.object));
                response.warnings = written.warnings;
                Ok(Reply::Whole(response))
            }
            (Method::Delete, false, "") => {
                let (status, body) = self.delete(&call)?;
                whole(status, body)
            }
            (Method::Delete, true, "") => {
                let body = self.delete_collection(&call)?;
                whole(200, body)
            }
            _ => Err(Failure::method_not_allowed()),
        }
    }

    /// Everything there is, for whoever looks at the whole cluster.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Which resources there are.
    #[must_use]
    pub fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// Forgets all changes so far: watches that have not seen them end, and have to list again.
    pub fn compact(&mut self) {
        let revision = self.store.revision();
        self.store.compact(revision);
    }

    fn get(&self, call: &Call<'_>) -> Result<Arc<Value>, Failure> {
        if let Some(asked) = call.request.parameter("resourceVersion").and_then(|it| it.parse::<u64>().ok())
            && asked > self.store.revision()
        {
            return Err(Failure::too_large_resource_version(asked, self.store.revision()));
        }
        let found = self.store.get(&call.key()).cloned();
        found.ok_or_else(|| Failure::not_found(&call.resource, &call.name))
    }

    /// Writes an object, unless the request is only tried, and does what follows from it.
    pub(crate) fn commit(&mut self, call: &Call<'_>, object: Value) -> Arc<Value> {
        if call.dry_run {
            return Arc::new(object);
        }
        self.unsettled.remove(&call.key());
        let stored = self.store.put(call.key(), object);
        self.after_write(call, &stored);
        stored
    }

    fn after_write(&mut self, call: &Call<'_>, stored: &Arc<Value>) {
        if !call.resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
            return;
        }
        let text =
            |pointer: &str| stored.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        self.kinds.define(&text("/spec/group"), &text("/spec/names/plural"), custom::versions(stored));
        // The names are free and the kind is served at once; a real server takes some moments for it.
        let established =
            stored.pointer("/status/conditions").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
        if !established {
            let mut object = Value::clone(stored);
            object["status"] = custom::conditions(stored, &call.now.text());
            self.store.put(call.key(), object);
        }
    }

    /// Removes an object for good: what it was last.
    pub(crate) fn forget(&mut self, key: &Key) -> Option<Value> {
        let last = self.store.remove(key)?;
        self.unsettled.remove(key);
        let definitions = ResourceId {
            group: "apiextensions.k8s.io".to_owned(),
            plural: "customresourcedefinitions".to_owned(),
        };
        if key.resource == definitions {
            let text =
                |pointer: &str| last.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
            self.kinds.define(&text("/spec/group"), &text("/spec/names/plural"), Vec::new());
        }
        Some(last)
    }
}
