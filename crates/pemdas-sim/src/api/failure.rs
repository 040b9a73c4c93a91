//! What is wrong with a request, as the API server says it: an object of kind Status.

use serde_json::{Map, Value, json};

use crate::kinds::Resource;

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure(Box<Content>);

#[derive(Debug, Clone, PartialEq)]
struct Content {
    code: u16,
    reason: &'static str,
    message: String,
    details: Map<String, Value>,
}

/// One thing that is wrong with an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The kind of cause, such as `FieldValueInvalid`.
    pub reason: &'static str,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub field: String,
}

impl Cause {
    /// A value that is not allowed.
    #[must_use]
    pub fn invalid(field: &str, value: &Value, why: &str) -> Self {
        let message = format!("Invalid value: {}: {why}", shown(value));
        Self { reason: "FieldValueInvalid", message, field: field.to_owned() }
    }

    /// A value that is missing.
    #[must_use]
    pub fn required(field: &str, why: &str) -> Self {
        let message =
            if why.is_empty() { "Required value".to_owned() } else { format!("Required value: {why}") };
        Self { reason: "FieldValueRequired", message, field: field.to_owned() }
    }

    /// Something that may not be there.
    #[must_use]
    pub fn forbidden(field: &str, why: &str) -> Self {
        Self { reason: "FieldValueForbidden", message: format!("Forbidden: {why}"), field: field.to_owned() }
    }

    /// A value that is none of those allowed.
    #[must_use]
    pub fn unsupported(field: &str, value: &Value, allowed: &[&str]) -> Self {
        let allowed: Vec<String> = allowed.iter().map(|one| format!("{one:?}")).collect();
        let message =
            format!("Unsupported value: {}: supported values: {}", shown(value), allowed.join(", "));
        Self { reason: "FieldValueNotSupported", message, field: field.to_owned() }
    }

    /// A value that stands there twice.
    #[must_use]
    pub fn duplicate(field: &str, value: &Value) -> Self {
        let message = format!("Duplicate value: {}", shown(value));
        Self { reason: "FieldValueDuplicate", message, field: field.to_owned() }
    }

    /// A value of the wrong type.
    #[must_use]
    pub fn mistyped(field: &str, value: &str, why: &str) -> Self {
        let message = format!("Invalid value: {value:?}: {why}");
        Self { reason: "FieldValueTypeInvalid", message, field: field.to_owned() }
    }
}

/// A value as the API server shows it in a message.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

/// Why no object is made of a kind that is going.
pub(crate) const DEFINITION_IS_GOING: &str =
    "create not allowed while custom resource definition is terminating";

impl Failure {
    fn new(code: u16, reason: &'static str, message: String) -> Self {
        Self(Box::new(Content { code, reason, message, details: Map::new() }))
    }

    fn about(mut self, resource: &Resource, name: &str) -> Self {
        let details = &mut self.0.details;
        if !name.is_empty() {
            details.insert("name".to_owned(), Value::from(name));
        }
        if !resource.group.is_empty() {
            details.insert("group".to_owned(), Value::from(resource.group.as_str()));
        }
        details.insert("kind".to_owned(), Value::from(resource.plural.as_str()));
        self
    }

    /// The code of HTTP.
    #[must_use]
    pub fn code(&self) -> u16 {
        self.0.code
    }

    /// What is wrong, for a person.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// There is no such object.
    #[must_use]
    pub fn not_found(resource: &Resource, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} {name:?} not found", resource.qualified()))
            .about(resource, name)
    }

    /// There is nothing at this path.
    #[must_use]
    pub fn no_such_path() -> Self {
        let mut failure =
            Self::new(404, "NotFound", "the server could not find the requested resource".to_owned());
        failure.0.details = Map::new();
        failure
    }

    /// There is such an object already.
    #[must_use]
    pub fn already_exists(resource: &Resource, name: &str, deleting: bool) -> Self {
        let heading = if deleting { "object is being deleted: " } else { "" };
        let message = format!("{heading}{} {name:?} already exists", resource.qualified());
        Self::new(409, "AlreadyExists", message).about(resource, name)
    }

    /// The object is not as the request wants it to be.
    #[must_use]
    pub fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", resource.qualified());
        Self::new(409, "Conflict", message).about(resource, name)
    }

    /// The object has changed since it was read.
    #[must_use]
    pub fn modified(resource: &Resource, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// A precondition of a deletion does not hold; here the server names the kind in place of the resource.
    #[must_use]
    pub fn unmet_precondition(resource: &Resource, name: &str, why: &str) -> Self {
        let mut named = resource.clone();
        named.plural.clone_from(&resource.kind);
        Self::conflict(&named, name, why)
    }

    /// Other managers own fields that are applied.
    #[must_use]
    pub fn apply_conflict(message: String, causes: &[Cause]) -> Self {
        let mut failure = Self::new(409, "Conflict", message);
        failure.0.details.insert("causes".to_owned(), listed(causes));
        failure
    }

    /// The request makes no sense.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message.into())
    }

    /// The object is not allowed to be so.
    #[must_use]
    pub fn invalid(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for cause in causes {
            let text = if cause.field.is_empty() || cause.field == "<nil>" {
                format!("<nil>: {}", cause.message)
            } else {
                format!("{}: {}", cause.field, cause.message)
            };
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let all = if texts.len() == 1 { texts.remove(0) } else { format!("[{}]", texts.join(", ")) };
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let mut failure = Self::new(422, "Invalid", format!("{qualified} {name:?} is invalid: {all}"));
        let details = &mut failure.0.details;
        for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
            if !value.is_empty() {
                details.insert(key.to_owned(), Value::from(value));
            }
        }
        details.insert("causes".to_owned(), listed(causes));
        failure
    }

    /// A JSON patch that cannot be applied.
    #[must_use]
    pub fn unprocessable(message: &str) -> Self {
        let text = format!("the server rejected our request due to an error in our request{message}");
        let mut failure = Self::new(422, "Invalid", text);
        failure.0.details = Map::new();
        failure
    }

    /// Nobody may do this.
    #[must_use]
    pub fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let message = if name.is_empty() {
            format!("{} is forbidden: {why}", resource.qualified())
        } else {
            format!("{} {name:?} is forbidden: {why}", resource.qualified())
        };
        Self::new(403, "Forbidden", message).about(resource, name)
    }

    /// Its namespace is being deleted, and takes nothing new.
    #[must_use]
    pub fn namespace_ending(resource: &Resource, name: &str, namespace: &str) -> Self {
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut failure = Self::forbidden(resource, name, &why);
        let message = format!("namespace {namespace} is being terminated");
        let cause =
            json!({ "reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace" });
        failure.0.details.insert("causes".to_owned(), json!([cause]));
        failure
    }

    /// The method does not go with what stands at the path.
    #[must_use]
    pub fn method_not_allowed() -> Self {
        Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource".to_owned(),
        )
    }

    /// The definition of the kind is being deleted: no more objects of it are made.
    #[must_use]
    pub fn definition_is_going() -> Self {
        Self::new(405, "MethodNotAllowed", DEFINITION_IS_GOING.to_owned())
    }

    /// The body is of a type that is not understood.
    #[must_use]
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// What the request asks for has been forgotten.
    #[must_use]
    pub fn expired(message: &str) -> Self {
        Self::new(410, "Expired", message.to_owned())
    }

    /// The store has not come as far as the request asks.
    #[must_use]
    pub fn too_large_resource_version(asked: u64, have: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {have}");
        let mut failure = Self::new(504, "Timeout", message);
        failure.0.details.insert(
            "causes".to_owned(),
            json!([{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }]),
        );
        failure.0.details.insert("retryAfterSeconds".to_owned(), Value::from(1));
        failure
    }

    /// Something the server itself did not expect.
    #[must_use]
    pub fn internal(message: &str) -> Self {
        let mut failure = Self::new(500, "InternalError", format!("Internal error occurred: {message}"));
        failure.0.details.insert("causes".to_owned(), json!([{ "message": message }]));
        failure
    }

    /// An error that the server passes on without a reason.
    #[must_use]
    pub fn plain(message: String) -> Self {
        Self::new(500, "", message)
    }

    /// The same with another code, reason and message, of a fault that is injected.
    #[must_use]
    pub fn injected(code: u16, reason: &'static str, message: &str) -> Self {
        Self::new(code, reason, message.to_owned())
    }

    /// The object that the server answers with.
    #[must_use]
    pub fn status(&self) -> Value {
        let Content { code, reason, message, details } = &*self.0;
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "code": code,
        });
        if !reason.is_empty() {
            status["reason"] = Value::from(*reason);
        }
        if !details.is_empty() || matches!(*reason, "NotFound" | "MethodNotAllowed" | "Invalid") {
            status["details"] = Value::Object(details.clone());
        }
        status
    }
}

fn listed(causes: &[Cause]) -> Value {
    causes
        .iter()
        .map(|cause| {
            let mut one = json!({ "reason": cause.reason, "message": cause.message });
            if !cause.field.is_empty() {
                one["field"] = Value::from(cause.field.as_str());
            }
            one
        })
        .collect()
}
