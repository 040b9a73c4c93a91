//! How a kind is served: its paths, whether it lives in namespaces, whether it says which generation it saw.

use kube::{Client, api::ApiResource, core::GroupVersionKind};
use pemdas_core::{
    kube_types::{Kind, Scope},
    world::KindKey,
};
use serde_json::Value;

/// A kind as the API server serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The kind.
    pub kind: KindKey,
    /// Group and version.
    pub api_version: String,
    /// The name of the resource in paths.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether each of its objects says in `status.observedGeneration` which generation was observed.
    pub observed_generation: bool,
    /// Whether its status is written apart.
    pub has_status: bool,
}

/// Why a kind cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Unserved {
    /// There is none.
    #[error("there is no kind {0} in the cluster")]
    Missing(KindKey),
    /// The server did not say.
    #[error("the API server was asked for its kinds and did not answer: {0}")]
    Unanswered(String),
}

impl Resource {
    /// A kind of the built-in ones, which needs no question.
    #[must_use]
    pub fn built_in(api_version: &str, kind: &str) -> Option<Self> {
        let known = Kind::find(api_version, kind).ok()?;
        Some(Self {
            kind: KindKey::new(api_version, kind),
            api_version: api_version.to_owned(),
            plural: known.plural.to_owned(),
            namespaced: known.scope == Scope::Namespaced,
            observed_generation: known.observes_generation(),
            has_status: known.has_status_subresource(),
        })
    }

    /// Asks the server, where the kind is no built-in one.
    ///
    /// # Errors
    /// If there is no such kind, or no answer.
    pub async fn find(client: &Client, api_version: &str, kind: &str) -> Result<Self, Unserved> {
        if let Some(known) = Self::built_in(api_version, kind) {
            return Ok(known);
        }
        let key = KindKey::new(api_version, kind);
        let list = if api_version.contains('/') {
            client.list_api_group_resources(api_version).await
        } else {
            client.list_core_api_resources(api_version).await
        };
        let list = match list {
            Ok(list) => list,
            Err(kube::Error::Api(status)) if status.code == 404 => return Err(Unserved::Missing(key)),
            Err(error) => return Err(Unserved::Unanswered(error.to_string())),
        };
        let found = list.resources.iter().find(|it| it.kind == kind && !it.name.contains('/'));
        let Some(found) = found else { return Err(Unserved::Missing(key)) };
        let status = format!("{}/status", found.name);
        Ok(Self {
            observed_generation: observes_generation(client, api_version, kind).await?,
            kind: key,
            api_version: api_version.to_owned(),
            plural: found.name.clone(),
            namespaced: found.namespaced,
            has_status: list.resources.iter().any(|it| it.name == status),
        })
    }

    /// For the client.
    #[must_use]
    pub fn api(&self) -> ApiResource {
        let (group, version) = self.api_version.split_once('/').unwrap_or(("", &self.api_version));
        let kind = GroupVersionKind::gvk(group, version, &self.kind.kind);
        ApiResource::from_gvk_with_plural(&kind, &self.plural)
    }

    /// The path of its objects in a namespace, or of all.
    #[must_use]
    pub fn path(&self, namespace: &str) -> String {
        let root = if self.api_version.contains('/') { "/apis" } else { "/api" };
        if self.namespaced && !namespace.is_empty() {
            format!("{root}/{}/namespaces/{namespace}/{}", self.api_version, self.plural)
        } else {
            format!("{root}/{}/{}", self.api_version, self.plural)
        }
    }
}

/// Whether the schema of a kind has `status.observedGeneration`, from the server's OpenAPI document of its group.
async fn observes_generation(client: &Client, api_version: &str, kind: &str) -> Result<bool, Unserved> {
    let unanswered = |error: &dyn std::fmt::Display| Unserved::Unanswered(error.to_string());
    let path = format!("/openapi/v3/apis/{api_version}");
    let request = http::Request::get(path).body(Vec::new()).map_err(|error| unanswered(&error))?;
    let document: Value = match client.request(request).await {
        Ok(document) => document,
        // A server that publishes none: nothing is known of the schema.
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(false),
        Err(error) => return Err(unanswered(&error)),
    };
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
    let is_it = |schema: &&Value| {
        let kinds = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
        kinds.into_iter().flatten().any(|it| it.get("kind").is_some_and(|it| it == kind))
    };
    let schema = schemas.and_then(|it| it.values().find(is_it));
    Ok(schema.and_then(|it| it.pointer("/properties/status/properties/observedGeneration")).is_some())
}
