//! The proxy of Services. No process runs here: what one would answer, a scenario says, and it is answered only while a
//! workload that the Service selects is ready.

use serde_json::{Value, json};

use super::{Call, Server};
use crate::api::{Failure, Method, Request, Response};
use crate::meta;
use crate::read::Form;
use crate::store::{Key, ResourceId};
use crate::time::Time;

/// What some Services answer. What is not said is not asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// In this namespace.
    pub namespace: Option<String>,
    /// Of this name.
    pub name: Option<String>,
    /// With this label.
    pub label: Option<(String, String)>,
    /// At this path, such as `/report.json`.
    pub path: String,
    /// The response: a text, or anything else as JSON. `$(NAME)` in its texts stands for a variable of the environment of
    /// the container behind the Service, as in the arguments of a container.
    pub body: Value,
}

impl Answer {
    fn is_of(&self, service: &Value) -> bool {
        let label = |name: &str| service.pointer("/metadata/labels").and_then(|it| it.get(name));
        self.namespace.as_deref().is_none_or(|it| it == meta::text(service, "namespace"))
            && self.name.as_deref().is_none_or(|it| it == meta::text(service, "name"))
            && self.label.as_ref().is_none_or(|(name, value)| label(name).is_some_and(|it| it == value))
    }
}

/// What stands behind Services: with pods that are ready, or as one.
const BEHIND: &[(&str, &str)] =
    &[("apps", "deployments"), ("apps", "statefulsets"), ("apps", "daemonsets"), ("apps", "replicasets")];

impl Server {
    /// Says what Services answer from now on.
    pub(crate) fn set_answers(&mut self, answers: Vec<Answer>) {
        self.answers = answers;
    }

    /// Answers for a Service, if the request is for one.
    ///
    /// # Errors
    /// As the proxy of the real server: there is no such Service, nothing behind it, or nobody who answers.
    pub(crate) fn proxied(&self, now: Time, request: &Request) -> Result<Option<Response>, Failure> {
        let Some(rest) = request.path.strip_prefix("/api/v1/namespaces/") else { return Ok(None) };
        let mut parts = rest.splitn(5, '/');
        let (Some(namespace), Some("services"), Some(target), Some("proxy")) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Ok(None);
        };
        let path = format!("/{}", parts.next().unwrap_or_default());
        let (name, port) = addressed(target);
        let resource = self.kinds.find("", "v1", "services").ok_or_else(Failure::no_such_path)?;
        let call = Call {
            request,
            now,
            resource,
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
            subresource: "proxy".to_owned(),
            form: Form::accepted(None),
            dry_run: false,
        };
        self.check_access(&call)?;
        let service = self.get(&call)?;
        if !has_port(&service, port) {
            return Err(unavailable(&format!("no service port {port:?} found for service {name:?}")));
        }
        let template = self
            .behind(namespace, &service)
            .ok_or_else(|| unavailable(&format!("no endpoints available for service {name:?}")))?;
        let mut answers = self.answers.iter().filter(|it| it.is_of(&service)).peekable();
        if answers.peek().is_none() {
            return Err(unavailable("error trying to reach service: connect: connection refused"));
        }
        let Some(answer) = answers.find(|it| it.path == path && request.method == Method::Get) else {
            return Ok(Some(text(404, "404 page not found\n")));
        };
        Ok(Some(match filled(&answer.body, &environment(&template)) {
            Value::String(said) => text(200, &said),
            said => Response::json(200, said),
        }))
    }

    /// The pod template of a workload that a Service selects and that is ready.
    fn behind(&self, namespace: &str, service: &Value) -> Option<Value> {
        let selector = service.pointer("/spec/selector")?.as_object().filter(|it| !it.is_empty())?;
        let selected = |template: &Value| {
            let labels = template.pointer("/metadata/labels");
            selector.iter().all(|(name, value)| labels.and_then(|it| it.get(name)) == Some(value))
        };
        let id =
            |group: &str, plural: &str| ResourceId { group: group.to_owned(), plural: plural.to_owned() };
        let workloads = BEHIND.iter().flat_map(|(group, plural)| {
            self.store.list(&id(group, plural), Some(namespace), None).filter_map(|(_, it): (&Key, _)| {
                let up = |field: &str| it.pointer(field).and_then(Value::as_i64).unwrap_or(0) > 0;
                let ready = up("/status/readyReplicas") || up("/status/numberReady");
                it.pointer("/spec/template").filter(|_| ready).cloned()
            })
        });
        let pods = self.store.list(&id("", "pods"), Some(namespace), None).filter_map(|(_, it)| {
            let conditions = it.pointer("/status/conditions").and_then(Value::as_array);
            let is_ready = |it: &Value| it["type"] == "Ready" && it["status"] == "True";
            conditions.is_some_and(|all| all.iter().any(is_ready)).then(|| Value::clone(it))
        });
        workloads.chain(pods).find(selected)
    }
}

/// The name and the port of `scheme:name:port`, of which only the name has to be there.
fn addressed(target: &str) -> (&str, &str) {
    let parts: Vec<&str> = target.split(':').collect();
    match parts.as_slice() {
        [_, name, port] | [name, port] => (name, port),
        _ => (target, ""),
    }
}

/// A port by its number or name; without one the first is meant.
fn has_port(service: &Value, asked: &str) -> bool {
    let ports = service.pointer("/spec/ports").and_then(Value::as_array);
    ports.into_iter().flatten().any(|port| {
        let number = port["port"].as_i64().unwrap_or(0).to_string();
        asked.is_empty() || number == asked || port["name"] == asked
    })
}

fn unavailable(message: &str) -> Failure {
    Failure::injected(503, "ServiceUnavailable", message)
}

fn text(status: u16, said: &str) -> Response {
    Response { status, content_type: "text/plain", warnings: Vec::new(), body: json!(said) }
}

/// The variables of the first container whose values are written out.
fn environment(template: &Value) -> Vec<(String, String)> {
    let list = template.pointer("/spec/containers/0/env").and_then(Value::as_array);
    let pair = |it: &Value| Some((it["name"].as_str()?.to_owned(), it["value"].as_str()?.to_owned()));
    list.into_iter().flatten().filter_map(pair).collect()
}

/// A body with its variables filled in; what is not known stays as it is written, as in a container.
fn filled(body: &Value, variables: &[(String, String)]) -> Value {
    match body {
        Value::String(text) => variables
            .iter()
            .fold(text.clone(), |text, (name, value)| text.replace(&format!("$({name})"), value))
            .into(),
        Value::Array(items) => items.iter().map(|it| filled(it, variables)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, it)| (name.clone(), filled(it, variables))).collect()
        }
        other => other.clone(),
    }
}
