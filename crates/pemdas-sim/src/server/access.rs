//! Who may do what, and the reviews that ask.

use serde_json::{Value, json};

use super::{Call, Server};
use crate::api::{Failure, Method, Request, Response};

/// Who may do what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Access {
    /// Everybody may do everything.
    #[default]
    All,
    /// Users may do what is granted, and those that are named nowhere everything: they are the cluster's own.
    Granted(Vec<Grant>),
}

/// What a user may do. `*` stands for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The user.
    pub user: String,
    /// In which namespace; empty for the whole cluster.
    pub namespace: String,
    /// Verbs.
    pub verbs: Vec<String>,
    /// The group of the resources.
    pub group: String,
    /// Resources, with subresources as `pods/log`.
    pub resources: Vec<String>,
}

/// A question about access.
struct Question<'a> {
    user: &'a str,
    verb: &'a str,
    group: &'a str,
    resource: String,
    namespace: &'a str,
}

impl Access {
    fn allows(&self, question: &Question<'_>) -> bool {
        let Self::Granted(grants) = self else { return true };
        let named = grants.iter().any(|grant| grant.user == question.user);
        let fits = |list: &[String], one: &str| list.iter().any(|it| it == "*" || it == one);
        !named
            || grants.iter().any(|grant| {
                grant.user == question.user
                    && (grant.namespace.is_empty() || grant.namespace == question.namespace)
                    && (grant.group == "*" || grant.group == question.group)
                    && fits(&grant.verbs, question.verb)
                    && fits(&grant.resources, &question.resource)
            })
    }
}

/// Who a request is from: whom it stands for, if it does.
fn user(request: &Request) -> &str {
    request.headers.get("impersonate-user").map_or("admin", String::as_str)
}

impl Server {
    /// Whether whoever asks may do this.
    ///
    /// # Errors
    /// If not.
    pub(crate) fn check_access(&self, call: &Call<'_>) -> Result<(), Failure> {
        let verb = match (call.request.method, call.name.is_empty()) {
            (Method::Get, _) if call.request.flag("watch") => "watch",
            (Method::Get, true) => "list",
            (Method::Get, false) => "get",
            (Method::Post, _) => "create",
            (Method::Put, _) => "update",
            (Method::Patch, _) => "patch",
            (Method::Delete, true) => "deletecollection",
            (Method::Delete, false) => "delete",
        };
        let resource = if call.subresource.is_empty() {
            call.resource.plural.clone()
        } else {
            format!("{}/{}", call.resource.plural, call.subresource)
        };
        let namespace = call.namespace.as_deref().unwrap_or_default();
        let user = user(call.request);
        let question = Question { user, verb, group: &call.resource.group, resource, namespace };
        if self.access.allows(&question) {
            return Ok(());
        }
        let place = if namespace.is_empty() {
            "at the cluster scope".to_owned()
        } else {
            format!("in the namespace {namespace:?}")
        };
        let why = format!(
            "User {user:?} cannot {verb} resource {:?} in API group {:?} {place}",
            question.resource, call.resource.group
        );
        Err(Failure::forbidden(&call.resource, &call.name, &why))
    }

    /// Answers a review, if the request is one.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn review(&self, request: &Request) -> Result<Option<Response>, Failure> {
        let Some(kind) = request.path.strip_prefix("/apis/authorization.k8s.io/v1/") else { return Ok(None) };
        let kind = kind.rsplit('/').next().unwrap_or_default();
        if request.method != Method::Post || !kind.ends_with("reviews") {
            return Ok(None);
        }
        let mut body: Value = serde_json::from_slice(&request.body)
            .map_err(|error| Failure::bad_request(format!("the review cannot be read: {error}")))?;
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        if kind == "selfsubjectrulesreviews" {
            let rule = json!({ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] });
            body["status"] = json!({ "resourceRules": [rule], "nonResourceRules": [], "incomplete": false });
        } else {
            let asked = if kind == "selfsubjectaccessreviews" { user(request) } else { text("/spec/user") };
            let sub = text("/spec/resourceAttributes/subresource");
            let plural = text("/spec/resourceAttributes/resource");
            let question = Question {
                user: asked,
                verb: text("/spec/resourceAttributes/verb"),
                group: text("/spec/resourceAttributes/group"),
                resource: if sub.is_empty() { plural.to_owned() } else { format!("{plural}/{sub}") },
                namespace: text("/spec/resourceAttributes/namespace"),
            };
            body["status"] = json!({ "allowed": self.access.allows(&question) });
        }
        let kind = match kind {
            "selfsubjectaccessreviews" => "SelfSubjectAccessReview",
            "localsubjectaccessreviews" => "LocalSubjectAccessReview",
            "selfsubjectrulesreviews" => "SelfSubjectRulesReview",
            _ => "SubjectAccessReview",
        };
        body["kind"] = json!(kind);
        body["apiVersion"] = json!("authorization.k8s.io/v1");
        body["metadata"] = json!({});
        Ok(Some(Response::json(201, body)))
    }
}
