//! Who may do what, and the reviews that ask.

use serde_json::{Value, json};

use super::{Call, Server};
use crate::api::{Failure, Method, Request, Response};
use crate::store::{Key, ResourceId};

/// Who may do what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Access {
    /// Everybody may do everything.
    #[default]
    All,
    /// Whoever is impersonated may do what roles and bindings say. Everybody else is the cluster's own, and may do everything.
    /// Roles that others are aggregated into are as they were written, and who may write roles may write any.
    Roles,
}

/// The group that everybody is in whom the server knows.
const KNOWN: &str = "system:authenticated";
const RBAC: &str = "rbac.authorization.k8s.io";

/// A question about access.
struct Question<'a> {
    user: &'a str,
    groups: Vec<String>,
    verb: &'a str,
    group: &'a str,
    resource: &'a str,
    subresource: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl Question<'_> {
    /// The resource with its subresource, as rules name it.
    fn whole(&self) -> String {
        if self.subresource.is_empty() {
            self.resource.to_owned()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        }
    }

    /// Whether a subject of a binding is whoever asks.
    fn is_by(&self, subject: &Value) -> bool {
        let text = |field: &str| subject[field].as_str().unwrap_or_default();
        match text("kind") {
            "User" => text("name") == self.user,
            "Group" => self.groups.iter().any(|it| it == text("name")),
            "ServiceAccount" => {
                self.user == format!("system:serviceaccount:{}:{}", text("namespace"), text("name"))
            }
            _ => false,
        }
    }

    /// Whether a rule grants it.
    fn is_granted(&self, rule: &Value) -> bool {
        let any = |field: &str, fits: &dyn Fn(&str) -> bool| {
            rule[field]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .any(|it| it == "*" || fits(it))
        };
        let (whole, sub) = (self.whole(), format!("*/{}", self.subresource));
        let named = rule["resourceNames"].as_array().is_none_or(Vec::is_empty);
        any("verbs", &|it| it == self.verb)
            && any("apiGroups", &|it| it == self.group)
            && any("resources", &|it| it == whole || (!self.subresource.is_empty() && it == sub))
            && (named || any("resourceNames", &|it| it == self.name && !it.is_empty()))
    }
}

/// The groups of a user who is impersonated without naming any.
fn groups(user: &str) -> Vec<String> {
    let mut groups = vec![KNOWN.to_owned()];
    if let Some((namespace, _)) =
        user.strip_prefix("system:serviceaccount:").and_then(|it| it.split_once(':'))
    {
        groups.push("system:serviceaccounts".to_owned());
        groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    groups
}

/// Whom a request stands for, if for somebody else.
fn impersonated(request: &Request) -> Option<&str> {
    request.headers.get("impersonate-user").map(String::as_str)
}

impl Server {
    /// Whether roles and bindings, as they are stored, grant it.
    fn allows(&self, question: &Question<'_>) -> bool {
        if self.access == Access::All {
            return true;
        }
        let resource = |plural: &str| ResourceId { group: RBAC.to_owned(), plural: plural.to_owned() };
        let wide = self.store.list(&resource("clusterrolebindings"), None, None);
        let here = Some(question.namespace).filter(|it| !it.is_empty());
        let near = here.map(|it| self.store.list(&resource("rolebindings"), Some(it), None));
        let bindings = wide.chain(near.into_iter().flatten());
        bindings
            .filter(|(_, it)| it["subjects"].as_array().into_iter().flatten().any(|it| question.is_by(it)))
            .any(|(key, binding)| {
                let role = |field: &str| binding["roleRef"][field].as_str().unwrap_or_default();
                let key = match role("kind") {
                    "Role" => Key::new(&resource("roles"), key.namespace(), role("name")),
                    _ => Key::new(&resource("clusterroles"), None, role("name")),
                };
                let role = self.store.get(&key);
                role.is_some_and(|it| {
                    it["rules"].as_array().into_iter().flatten().any(|it| question.is_granted(it))
                })
            })
    }

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
        let namespace = call.namespace.as_deref().unwrap_or_default();
        let Some(user) = impersonated(call.request) else { return Ok(()) };
        let question = Question {
            user,
            groups: groups(user),
            verb,
            group: &call.resource.group,
            resource: &call.resource.plural,
            subresource: &call.subresource,
            namespace,
            name: &call.name,
        };
        if self.allows(&question) {
            return Ok(());
        }
        let place = if namespace.is_empty() {
            "at the cluster scope".to_owned()
        } else {
            format!("in the namespace {namespace:?}")
        };
        let why = format!(
            "User {user:?} cannot {verb} resource {:?} in API group {:?} {place}",
            question.whole(),
            call.resource.group
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
            let own = kind == "selfsubjectaccessreviews";
            let asked = if own { impersonated(request) } else { Some(text("/spec/user")) };
            let named = body["spec"]["groups"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let of = |field: &str| text(&format!("/spec/resourceAttributes/{field}"));
            let allowed = asked.is_none_or(|user| {
                let groups = if own { groups(user) } else { named.map(str::to_owned).collect() };
                self.allows(&Question {
                    user,
                    groups,
                    verb: of("verb"),
                    group: of("group"),
                    resource: of("resource"),
                    subresource: of("subresource"),
                    namespace: of("namespace"),
                    name: of("name"),
                })
            });
            body["status"] = json!({ "allowed": allowed });
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
