//! The kinds of a cluster, and the words by which people call them: kinds, plurals, short names, with a group or without.

use http::{Request, header::ACCEPT};
use pemdas_core::{kube_types::Kind, world::KindKey};
use serde_json::Value;

use super::PATIENCE;
use crate::{
    connect::{Connection, Trouble},
    resource::Resource,
};

/// All kinds of all groups in one document: every version of Kubernetes that is still looked after can do that.
const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// A kind as the cluster serves it. Whether its schema has `status.observedGeneration` is only told of built-in ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// How it is served.
    pub resource: Resource,
    /// What it is called for one object.
    pub singular: String,
    /// Its short names.
    pub short: Vec<String>,
    /// Whether its objects can be listed and deleted.
    pub listed: bool,
}

impl Served {
    /// How kubectl is told of the kind: `deployments.apps`.
    #[must_use]
    pub fn word(&self) -> String {
        let Resource { plural, kind, .. } = &self.resource;
        if kind.group.is_empty() { plural.clone() } else { format!("{plural}.{}", kind.group) }
    }

    fn is_called(&self, name: &str) -> bool {
        self.resource.plural == name
            || self.singular == name
            || self.resource.kind.kind.to_lowercase() == name
            || self.short.iter().any(|it| it == name)
    }

    fn version(&self) -> &str {
        self.resource.api_version.rsplit('/').next().unwrap_or_default()
    }
}

/// The kinds of a cluster, in the order in which kubectl looks through them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kinds(Vec<Served>);

impl Kinds {
    pub(super) async fn ask(connection: &Connection) -> Result<Self, Trouble> {
        let mut kinds = Vec::new();
        for path in ["/api", "/apis"] {
            let request = Request::get(path).header(ACCEPT, AGGREGATED).body(Vec::new());
            let request = request.map_err(|error| Trouble::Kubeconfig(error.to_string()))?;
            let asked = connection.client.request::<Value>(request);
            let document = tokio::time::timeout(PATIENCE, asked)
                .await
                .map_err(|_| connection.too_slow(PATIENCE))?
                .map_err(|error| connection.trouble(&error))?;
            kinds.extend(read(&document));
        }
        Ok(Self(kinds))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Served> {
        self.0.iter()
    }

    /// The kind that a word names: `deploy`, `Deployment`, `deployments.apps`, `deployments.v1.apps`.
    #[must_use]
    pub fn find(&self, word: &str) -> Option<&Served> {
        let word = word.to_lowercase();
        if let Some(found) = self.0.iter().find(|it| it.is_called(&word)) {
            return Some(found);
        }
        let (name, rest) = word.split_once('.')?;
        let of_group = |it: &&Served| it.is_called(name) && it.resource.kind.group == rest;
        if let Some(found) = self.0.iter().find(of_group) {
            return Some(found);
        }
        let (version, group) = rest.split_once('.').unwrap_or((rest, ""));
        self.0
            .iter()
            .find(|it| it.is_called(name) && it.version() == version && it.resource.kind.group == group)
    }

    /// A kind by its identity, in the version that the cluster prefers.
    #[must_use]
    pub fn of(&self, kind: &KindKey) -> Option<&Served> {
        self.0.iter().find(|it| it.resource.kind == *kind)
    }
}

/// The kinds of a discovery document. Versions of a group come in the order of preference.
fn read(document: &Value) -> Vec<Served> {
    let list = |value: &Value, field: &str| value[field].as_array().cloned().unwrap_or_default();
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let mut kinds = Vec::new();
    for group in list(document, "items") {
        let group_name = text(&group["metadata"], "name");
        for version in list(&group, "versions") {
            let version_name = text(&version, "version");
            let api_version = if group_name.is_empty() {
                version_name.clone()
            } else {
                format!("{group_name}/{version_name}")
            };
            for found in list(&version, "resources") {
                let kind = text(&found["responseKind"], "kind");
                let short = list(&found, "shortNames");
                let verbs = list(&found, "verbs");
                let parts = list(&found, "subresources");
                kinds.push(Served {
                    resource: Resource {
                        kind: KindKey::new(&api_version, &kind),
                        observed_generation: Kind::find(&api_version, &kind)
                            .is_ok_and(|it| it.observes_generation()),
                        api_version: api_version.clone(),
                        plural: text(&found, "resource"),
                        namespaced: found["scope"] == "Namespaced",
                        has_status: parts.iter().any(|it| it["subresource"] == "status"),
                    },
                    singular: text(&found, "singularResource"),
                    listed: ["list", "delete"].iter().all(|it| verbs.iter().any(|verb| verb == it)),
                    short: short.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                });
            }
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Kinds, read};

    fn kinds() -> Kinds {
        let resource = |name: &str, kind: &str, short: &[&str]| {
            json!({
                "resource": name, "responseKind": { "group": "", "version": "", "kind": kind }, "scope": "Namespaced",
                "singularResource": kind.to_lowercase(), "shortNames": short,
                "subresources": [{ "subresource": "status" }],
            })
        };
        Kinds(read(&json!({ "items": [
            { "metadata": {}, "versions": [{ "version": "v1", "resources": [resource("services", "Service", &["svc"])] }] },
            { "metadata": { "name": "apps" }, "versions": [
                { "version": "v1", "resources": [resource("deployments", "Deployment", &["deploy"])] },
                { "version": "v1beta1", "resources": [resource("deployments", "Deployment", &["deploy"])] },
            ] },
            { "metadata": { "name": "serving.example.com" }, "versions": [
                { "version": "v1", "resources": [resource("services", "Service", &["ksvc"])] }] },
        ] })))
    }

    #[test]
    fn a_kind_is_found_by_every_word_that_kubectl_knows() {
        let kinds = kinds();
        let api = |word: &str| kinds.find(word).map(|it| it.resource.api_version.clone());
        for word in
            ["deploy", "deployment", "Deployment", "deployments", "deployments.apps", "deploy.v1.apps"]
        {
            assert_eq!(api(word).as_deref(), Some("apps/v1"), "{word}");
        }
        assert_eq!(api("deployments.v1beta1.apps").as_deref(), Some("apps/v1beta1"));
        assert_eq!(api("svc").as_deref(), Some("v1"), "the core group comes first");
        assert_eq!(api("services").as_deref(), Some("v1"));
        assert_eq!(api("service.v1").as_deref(), Some("v1"));
        assert_eq!(api("service.serving.example.com").as_deref(), Some("serving.example.com/v1"));
        assert_eq!(api("ksvc").as_deref(), Some("serving.example.com/v1"));
        assert_eq!(api("nothing"), None);
        assert_eq!(api("deployments.other"), None);
        assert_eq!(kinds.find("deploy").map(super::Served::word).as_deref(), Some("deployments.apps"));
    }
}
