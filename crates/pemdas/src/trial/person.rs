//! Somebody at a simulated cluster, who creates, changes and deletes what is theirs.

use std::sync::Arc;

use pemdas_box::Host;
use pemdas_sim::{Key, Method, Request, Resource, Response};
use serde_json::{Value, json};

/// What became of something that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Made {
    /// It is so.
    Done,
    /// Its kind is not served yet.
    NotServed,
    /// It was so before.
    Unchanged,
    /// The server does not do it.
    Refused(String),
}

/// Somebody who asks for something.
pub(crate) struct Person {
    host: Host,
    name: &'static str,
}

impl Person {
    /// Somebody of this name.
    pub(crate) fn new(host: Host, name: &'static str) -> Self {
        Self { host, name }
    }

    /// How a kind is served, if it is.
    pub(crate) fn served(&self, api_version: &str, kind: &str) -> Option<Resource> {
        self.host.with(|cluster| cluster.server().kinds().of_kind(api_version, kind))
    }

    /// An object as it is.
    pub(crate) fn object(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Option<Arc<Value>> {
        let resource = self.served(api_version, kind)?;
        let namespace = Some(namespace).filter(|it| !it.is_empty());
        self.host
            .with(|cluster| cluster.server().store().get(&Key::new(&resource.id(), namespace, name)).cloned())
    }

    /// Creates an object, in the namespace `default` where it names none; a namespace that is not there is made.
    #[cfg(test)]
    pub(crate) fn create(&self, object: &Value) -> Made {
        let (path, object) = match self.place(object) {
            Ok(found) => found,
            Err(made) => return made,
        };
        match self.send(Method::Post, &path, "application/json", &object) {
            // A namespace that several files speak of.
            Ok(()) | Err(Response { status: 409, .. }) => Made::Done,
            Err(response) => refused(&response),
        }
    }

    /// Applies an object: what it says is so, whoever said something else.
    pub(crate) fn apply(&self, object: &Value) -> Made {
        let (path, object) = match self.place(object) {
            Ok(found) => found,
            Err(made) => return made,
        };
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let target = format!("{path}/{name}?fieldManager={}&force=true", self.name);
        told(self.send(Method::Patch, &target, "application/apply-patch+yaml", &object))
    }

    /// Applies an object with its status, as the controller of its kind would have written it.
    pub(crate) fn apply_whole(&self, object: &Value) -> Made {
        let made = self.apply(object);
        let (Made::Done, Some(status)) = (&made, object.get("status")) else { return made };
        let (path, placed) = match self.place(object) {
            Ok(found) => found,
            Err(made) => return made,
        };
        let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let resource = self.served(text("/apiVersion"), text("/kind"));
        if resource.is_none_or(|it| !it.has_subresource("status")) {
            return made;
        }
        let name = placed["metadata"]["name"].as_str().unwrap_or_default();
        let target = format!("{path}/{name}/status?fieldManager={}", self.name);
        told(self.send(Method::Patch, &target, "application/merge-patch+json", &json!({ "status": status })))
    }

    /// Changes some fields of an object of this kind, those of its status as the controller of its kind would.
    pub(crate) fn patch(&self, resource: &Resource, path: &str, changes: &Value) -> Made {
        let revision = || self.host.with(|cluster| cluster.server().store().revision());
        let before = revision();
        let mut rest = changes.clone();
        let apart =
            resource.has_subresource("status").then(|| rest.as_object_mut()?.remove("status")).flatten();
        let parts = [(rest, ""), (json!({ "status": apart.clone() }), "/status")];
        let wanted = parts.into_iter().filter(|(part, at)| {
            if at.is_empty() { apart.is_none() || part != &json!({}) } else { apart.is_some() }
        });
        for (part, at) in wanted {
            let target = format!("{path}{at}?fieldManager={}", self.name);
            if let Err(response) = self.send(Method::Patch, &target, "application/merge-patch+json", &part) {
                return refused(&response);
            }
        }
        if revision() == before { Made::Unchanged } else { Made::Done }
    }

    /// Deletes an object. One that is not there is gone already.
    pub(crate) fn delete(&self, path: &str) -> Made {
        match self.send(Method::Delete, path, "application/json", &json!({})) {
            Ok(()) | Err(Response { status: 404, .. }) => Made::Done,
            Err(response) => refused(&response),
        }
    }

    /// Where objects of a kind are, and an object as it is sent there.
    fn place(&self, object: &Value) -> Result<(String, Value), Made> {
        let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let resource = self.served(text("/apiVersion"), text("/kind")).ok_or(Made::NotServed)?;
        let mut object = object.clone();
        let namespace = match text("/metadata/namespace") {
            "" => "default".to_owned(),
            named => named.to_owned(),
        };
        if resource.namespaced {
            self.need_namespace(&namespace);
            object["metadata"]["namespace"] = json!(namespace);
        }
        Ok((path_of(&resource, &namespace), object))
    }

    fn need_namespace(&self, name: &str) {
        if self.object("v1", "Namespace", "", name).is_none() {
            let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            // Whatever is wrong with it is told by what is created in it.
            let _made = self.send(Method::Post, "/api/v1/namespaces", "application/json", &body);
        }
    }

    fn send(&self, method: Method, path: &str, kind: &str, body: &Value) -> Result<(), Response> {
        let request = Request::new(method, path).json(kind, body).header("user-agent", self.name);
        match self.host.with(|cluster| cluster.handle(&request)).whole() {
            Some(response) if response.status < 300 => Ok(()),
            Some(response) => Err(response),
            None => Err(Response::json(400, json!({ "message": "it is no object" }))),
        }
    }
}

/// Where the objects of a kind are.
pub(crate) fn path_of(resource: &Resource, namespace: &str) -> String {
    let root = if resource.group.is_empty() { "api" } else { "apis" };
    let scope = if resource.namespaced { format!("/namespaces/{namespace}") } else { String::new() };
    format!("/{root}/{}{scope}/{}", resource.api_version(), resource.plural)
}

fn told(result: Result<(), Response>) -> Made {
    result.map_or_else(|response| refused(&response), |()| Made::Done)
}

fn refused(response: &Response) -> Made {
    Made::Refused(response.body["message"].as_str().unwrap_or_default().to_owned())
}
