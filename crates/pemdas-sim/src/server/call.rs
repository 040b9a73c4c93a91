//! A request, once it is known what it is about.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::{Cause, Failure, Method, Request, Response};
use crate::built_in;
use crate::kinds::{Kinds, Resource};
use crate::manage::Writer;
use crate::read::{Form, Selection, shown};
use crate::store::Key;
use crate::time::Time;

/// A request with what it is about.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) request: &'a Request,
    pub(crate) now: Time,
    pub(crate) resource: Resource,
    pub(crate) namespace: Option<String>,
    /// Empty for all objects.
    pub(crate) name: String,
    /// Empty for the object itself.
    pub(crate) subresource: String,
    pub(crate) form: Form,
    pub(crate) dry_run: bool,
}

impl<'a> Call<'a> {
    /// Finds what a request is about.
    ///
    /// # Errors
    /// If there is nothing at its path, or its options make no sense.
    pub(crate) fn read(kinds: &Kinds, now: Time, request: &'a Request) -> Result<Self, Failure> {
        let parts: Vec<&str> = request.path.split('/').filter(|part| !part.is_empty()).collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return Err(Failure::no_such_path()),
        };
        let find = |plural: &str| kinds.find(group, version, plural).ok_or_else(Failure::no_such_path);
        let (namespace, plural, name, subresource) = match rest {
            // The subresources of a namespace itself.
            ["namespaces", name, sub @ ("status" | "finalize")] => (None, "namespaces", *name, *sub),
            ["namespaces", namespace, plural] => (Some(*namespace), *plural, "", ""),
            ["namespaces", namespace, plural, name] => (Some(*namespace), *plural, *name, ""),
            ["namespaces", namespace, plural, name, sub] => (Some(*namespace), *plural, *name, *sub),
            [plural] => (None, *plural, "", ""),
            [plural, name] => (None, *plural, *name, ""),
            [plural, name, sub] => (None, *plural, *name, *sub),
            _ => return Err(Failure::no_such_path()),
        };
        let resource = find(plural)?;
        let misplaced = (resource.namespaced
            && namespace.is_none()
            && (!name.is_empty() || request.method == Method::Post))
            || (!resource.namespaced && namespace.is_some());
        if !name.is_empty()
            && !subresource.is_empty()
            && resource.definition().is_some()
            && !resource.has_subresource(subresource)
        {
            return Err(Failure::not_found(&resource, name));
        }
        if misplaced || (!subresource.is_empty() && !resource.has_subresource(subresource)) {
            return Err(Failure::no_such_path());
        }
        let call = Self {
            request,
            now,
            resource,
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
            subresource: subresource.to_owned(),
            form: Form::accepted(request.headers.get("accept")),
            dry_run: request.parameter("dryRun") == Some("All"),
        };
        call.check_options()?;
        Ok(call)
    }

    fn check_options(&self) -> Result<(), Failure> {
        let kind = match self.request.method {
            Method::Get => return Ok(()),
            Method::Post => "CreateOptions",
            Method::Put => "UpdateOptions",
            Method::Patch => "PatchOptions",
            // The options of a body stand in place of those of the query.
            Method::Delete if !self.request.body.is_empty() => return Ok(()),
            Method::Delete => "DeleteOptions",
        };
        let mut causes = Vec::new();
        let applies = self.request.method == Method::Patch
            && self.request.content_type() == "application/apply-patch+yaml";
        if self.request.method == Method::Patch && !applies && self.request.parameter("force").is_some() {
            causes.push(Cause::forbidden("force", "may not be specified for non-apply patch"));
        }
        if applies && self.request.parameter("fieldManager").is_none() {
            causes.push(Cause::required("fieldManager", "is required for apply patch"));
        }
        if let Some(other) = self.request.parameter("dryRun").filter(|it| *it != "All") {
            causes.push(Cause::unsupported("dryRun", &json!([other]), &["All"]));
        }
        if let Some(other) = self
            .request
            .parameter("fieldValidation")
            .filter(|it| !matches!(*it, "Ignore" | "Warn" | "Strict"))
        {
            causes.push(Cause::unsupported(
                "fieldValidation",
                &json!(other),
                &["", "Ignore", "Strict", "Warn"],
            ));
        }
        if causes.is_empty() { Ok(()) } else { Err(Failure::invalid("meta.k8s.io", kind, "", &causes)) }
    }

    /// The key of the object it is about.
    pub(crate) fn key(&self) -> Key {
        Key::new(&self.resource.id(), self.namespace.as_deref(), &self.name)
    }

    /// The same about another object.
    pub(crate) fn named(&self, namespace: Option<&str>, name: &str) -> Self {
        Self {
            request: self.request,
            now: self.now,
            resource: self.resource.clone(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
            subresource: self.subresource.clone(),
            form: self.form,
            dry_run: self.dry_run,
        }
    }

    /// Who writes, for the managers of fields.
    pub(crate) fn writer(&self, applies: bool) -> Writer {
        Writer {
            manager: self.request.field_manager().to_owned(),
            applies,
            api_version: self.resource.api_version(),
            subresource: self.subresource.clone(),
        }
    }

    /// What the query selects.
    pub(crate) fn selection(&self) -> Result<Selection, Failure> {
        let named = format!("metadata.name={}", self.name);
        let fields = self.request.parameter("fieldSelector");
        let fields = if self.name.is_empty() { fields } else { Some(named.as_str()) };
        Selection::read(&self.resource, self.request.parameter("labelSelector"), fields)
    }

    /// A stored object in the version that was asked for.
    pub(crate) fn converted(&self, object: &Value) -> Value {
        let mut object = object.clone();
        object["apiVersion"] = Value::from(self.resource.api_version());
        object
    }

    /// An object in the form that was asked for.
    pub(crate) fn shown(&self, object: &Arc<Value>) -> Value {
        shown(&self.resource, &self.converted(object), self.form, &self.now.text())
    }

    /// A response to it.
    pub(crate) fn response(&self, status: u16, body: Value) -> Response {
        Response::json(status, body)
    }

    /// How unknown fields are met.
    pub(crate) fn is_strict(&self) -> bool {
        self.request.parameter("fieldValidation") == Some("Strict")
    }

    /// The body as JSON; YAML is read where it is allowed, and protobuf of built-in kinds.
    ///
    /// # Errors
    /// If it is neither.
    pub(crate) fn body(&self) -> Result<Value, Failure> {
        let bytes = &self.request.body;
        if self.request.content_type() == "application/vnd.kubernetes.protobuf" {
            if self.resource.definition().is_some() {
                return Err(Failure::unsupported_media_type(&["application/json", "application/yaml"]));
            }
            return built_in::from_protobuf(bytes).map_err(Failure::bad_request);
        }
        if let Ok(value) = serde_json::from_slice(bytes) {
            return Ok(value);
        }
        let is_yaml = self.request.content_type().contains("yaml");
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        match serde_saphyr::from_str::<Value>(text) {
            Ok(value) if is_yaml => Ok(value),
            _ if is_yaml => Err(Failure::bad_request("error decoding YAML: it cannot be read")),
            _ => Err(Failure::bad_request(format!(
                "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error",
                self.resource.kind
            ))),
        }
    }
}
