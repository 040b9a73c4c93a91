//! Which kinds there are, told to clients.

use std::collections::BTreeMap;

use pemdas_core::kube_types;
use serde_json::{Value, json};

use super::Server;
use crate::api::{Failure, Method, Request, Response};
use crate::kinds::{Body, Resource};

impl Server {
    /// Answers what is about no object: health, version, discovery, OpenAPI.
    pub(crate) fn unnamed(&self, request: &Request) -> Option<Response> {
        if request.method != Method::Get {
            return None;
        }
        let path = request.path.trim_end_matches('/');
        let accept = request.headers.get("accept").map(String::as_str).unwrap_or_default();
        let aggregated = accept.contains("as=APIGroupDiscoveryList");
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let body = match parts.as_slice() {
            ["healthz" | "livez" | "readyz", ..] => {
                return Some(Response {
                    status: 200,
                    content_type: "text/plain",
                    warnings: Vec::new(),
                    body: json!("ok"),
                });
            }
            ["version"] => version(),
            ["openapi", ..] => return Some(self.openapi(path, accept)),
            ["api"] if aggregated => self.aggregated(true),
            ["apis"] if aggregated => self.aggregated(false),
            ["api"] => json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] }),
            ["apis"] => json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": self.groups() }),
            ["apis", group] => match self.groups().into_iter().find(|it| it["name"] == *group) {
                Some(mut found) => {
                    found["kind"] = json!("APIGroup");
                    found["apiVersion"] = json!("v1");
                    found
                }
                None => return Some(missing()),
            },
            ["api", version] => return Some(self.resources("", version)),
            ["apis", group, version] => return Some(self.resources(group, version)),
            [""] => {
                json!({ "paths": ["/api", "/apis", "/healthz", "/openapi/v2", "/openapi/v3", "/version"] })
            }
            _ => return None,
        };
        let mut response = Response::json(200, body);
        if aggregated && matches!(parts.as_slice(), ["api" | "apis"]) {
            response.content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        }
        Some(response)
    }

    /// All groups but the core's, each with its versions, the preferred one first.
    fn groups(&self) -> Vec<Value> {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for resource in self.kinds.all().filter(|it| !it.group.is_empty()) {
            let versions = groups.entry(resource.group).or_default();
            if !versions.contains(&resource.version) {
                versions.push(resource.version);
            }
        }
        let told = groups.into_iter().map(|(group, mut versions)| {
            versions.sort_by_key(|version| priority(version));
            let version = |it: &String| json!({ "groupVersion": format!("{group}/{it}"), "version": it });
            let all: Vec<Value> = versions.iter().map(version).collect();
            json!({ "name": group, "versions": all, "preferredVersion": all.first() })
        });
        told.collect()
    }

    fn resources(&self, group: &str, version: &str) -> Response {
        let all: Vec<Resource> =
            self.kinds.all().filter(|it| it.group == group && it.version == version).collect();
        if all.is_empty() {
            return missing();
        }
        let mut told = Vec::new();
        for resource in &all {
            let (singular, short, categories) = names(resource);
            let mut one = json!({
                "name": resource.plural, "singularName": singular, "namespaced": resource.namespaced,
                "kind": resource.kind, "verbs": verbs(resource),
            });
            if !short.is_empty() {
                one["shortNames"] = json!(short);
            }
            if !categories.is_empty() {
                one["categories"] = json!(categories);
            }
            told.push(one);
            for sub in subresources(resource) {
                let kind = if sub == "scale" { "Scale" } else { resource.kind.as_str() };
                let mut one = json!({
                    "name": format!("{}/{sub}", resource.plural), "singularName": "", "namespaced": resource.namespaced,
                    "kind": kind, "verbs": ["get", "patch", "update"],
                });
                if sub == "scale" {
                    one["group"] = json!("autoscaling");
                    one["version"] = json!("v1");
                }
                told.push(one);
            }
        }
        let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        Response::json(
            200,
            json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": told }),
        )
    }

    /// Everything in one document.
    fn aggregated(&self, core: bool) -> Value {
        let mut groups: BTreeMap<String, BTreeMap<String, Vec<Value>>> = BTreeMap::new();
        for resource in self.kinds.all().filter(|it| it.group.is_empty() == core) {
            let (singular, short, categories) = names(&resource);
            let kind = json!({ "group": resource.group, "version": resource.version, "kind": resource.kind });
            let mut one = json!({
                "resource": resource.plural, "responseKind": kind,
                "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
                "singularResource": singular, "verbs": verbs(&resource),
            });
            if !short.is_empty() {
                one["shortNames"] = json!(short);
            }
            if !categories.is_empty() {
                one["categories"] = json!(categories);
            }
            let subs: Vec<Value> = subresources(&resource)
                .into_iter()
                .map(|sub| {
                    let kind = if sub == "scale" {
                        json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" })
                    } else {
                        kind.clone()
                    };
                    json!({ "subresource": sub, "responseKind": kind, "verbs": ["get", "patch", "update"] })
                })
                .collect();
            if !subs.is_empty() {
                one["subresources"] = json!(subs);
            }
            groups
                .entry(resource.group.clone())
                .or_default()
                .entry(resource.version.clone())
                .or_default()
                .push(one);
        }
        let items: Vec<Value> = groups
            .into_iter()
            .map(|(group, versions)| {
                let mut versions: Vec<(String, Vec<Value>)> = versions.into_iter().collect();
                versions.sort_by_key(|(version, _)| priority(version));
                let versions: Vec<Value> = versions
                    .into_iter()
                    .map(|(version, resources)| json!({ "version": version, "resources": resources, "freshness": "Current" }))
                    .collect();
                let metadata = if group.is_empty() { json!({}) } else { json!({ "name": group }) };
                json!({ "metadata": metadata, "versions": versions })
            })
            .collect();
        json!({ "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items })
    }
}

fn missing() -> Response {
    let failure = Failure::no_such_path();
    Response::json(failure.code(), failure.status())
}

/// Stable versions first, later ones before earlier ones.
fn priority(version: &str) -> (u8, std::cmp::Reverse<String>) {
    let stage = if version.contains("alpha") { 2 } else { u8::from(version.contains("beta")) };
    (stage, std::cmp::Reverse(version.to_owned()))
}

fn version() -> Value {
    let text = kube_types::version();
    let mut numbers = text.trim_start_matches('v').split('.');
    json!({
        "major": numbers.next().unwrap_or_default(), "minor": numbers.next().unwrap_or_default(),
        "gitVersion": text, "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "go1.26", "compiler": "gc", "platform": "linux/amd64",
    })
}

fn verbs(resource: &Resource) -> Vec<String> {
    match &resource.body {
        Body::BuiltIn(kind) => kind.verbs().map(str::to_owned).collect(),
        Body::Custom(_) => {
            ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
                .map(str::to_owned)
                .to_vec()
        }
    }
}

fn subresources(resource: &Resource) -> Vec<String> {
    match &resource.body {
        Body::BuiltIn(kind) => kind.subresources().map(str::to_owned).collect(),
        Body::Custom(definition) => {
            let status = definition.status.then(|| "status".to_owned());
            let scale = definition.scale.as_ref().map(|_| "scale".to_owned());
            status.into_iter().chain(scale).collect()
        }
    }
}

/// The name of one, short names and categories.
fn names(resource: &Resource) -> (String, Vec<String>, Vec<String>) {
    if let Some(definition) = resource.definition() {
        return (definition.singular.clone(), definition.short_names.clone(), definition.categories.clone());
    }
    let short: &[&str] = match resource.plural.as_str() {
        "configmaps" => &["cm"],
        "customresourcedefinitions" => &["crd", "crds"],
        "cronjobs" => &["cj"],
        "daemonsets" => &["ds"],
        "deployments" => &["deploy"],
        "endpoints" => &["ep"],
        "events" => &["ev"],
        "horizontalpodautoscalers" => &["hpa"],
        "ingresses" => &["ing"],
        "namespaces" => &["ns"],
        "networkpolicies" => &["netpol"],
        "nodes" => &["no"],
        "persistentvolumeclaims" => &["pvc"],
        "persistentvolumes" => &["pv"],
        "poddisruptionbudgets" => &["pdb"],
        "pods" => &["po"],
        "replicasets" => &["rs"],
        "replicationcontrollers" => &["rc"],
        "resourcequotas" => &["quota"],
        "serviceaccounts" => &["sa"],
        "services" => &["svc"],
        "statefulsets" => &["sts"],
        "storageclasses" => &["sc"],
        _ => &[],
    };
    let in_all = matches!(
        resource.plural.as_str(),
        "cronjobs"
            | "daemonsets"
            | "deployments"
            | "horizontalpodautoscalers"
            | "jobs"
            | "pods"
            | "replicasets"
            | "replicationcontrollers"
            | "services"
            | "statefulsets"
    );
    let categories = if in_all { vec!["all".to_owned()] } else { Vec::new() };
    (resource.kind.to_lowercase(), short.iter().map(|it| (*it).to_owned()).collect(), categories)
}
