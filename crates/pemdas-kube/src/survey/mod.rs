//! A cluster read by a person's command: what is asked for, once. Nothing is written, but for orphans that a person has deleted.
//!
//! The operator watches; whoever explains or plans looks once, with their own rights. What may not be read is told apart from what
//! is not there, because the two mean different things to whoever decides on it.

mod changes;
mod kinds;

use std::{collections::BTreeMap, time::Duration};

use kube::{
    Api,
    api::{DynamicObject, ListParams},
};
use pemdas_core::{
    blueprint::Blueprint,
    crd::install::Policy,
    graph::OWN_ROOT,
    world::{LedgerFact, Live, ONCE_FINALIZER, Seal, WriteOutcome},
};
use serde_json::{Value, json};

pub use kinds::{Kinds, Served};

use crate::{
    call,
    connect::{Connection, Trouble},
    files::{self, Unreadable},
    hub, key,
    ledgers::{self, Place},
    live,
    resource::Resource,
    revisions::Revisions,
};

/// How long one answer may take, with the client's own repetitions.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many objects come with one answer.
const PAGE: u32 = 500;
/// How many objects of a kind are looked at.
pub const MAX_OBJECTS: usize = 50_000;

/// A cluster to look at.
#[derive(Clone)]
pub struct Survey {
    connection: Connection,
}

/// A blueprint as its ConfigMap has it.
#[derive(Debug, Clone)]
pub struct Found {
    /// The namespace of the ConfigMap.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The account that everything is done as.
    pub account: crate::identity::Identity,
    /// The files, or why they cannot be unpacked.
    pub files: Result<BTreeMap<String, String>, Unreadable>,
    /// What the operator tells of it; null if nothing.
    pub told: Value,
    /// The ConfigMap itself.
    pub live: Live,
}

impl Found {
    /// Reads a ConfigMap; nothing if it is no blueprint.
    #[must_use]
    pub fn read(live: Live) -> Option<Self> {
        live.label(hub::BLUEPRINT_LABEL)?;
        let told = live.annotation(hub::STATUS_ANNOTATION).and_then(|it| serde_json::from_str(it).ok());
        Some(Self {
            namespace: live.key.namespace.clone(),
            name: live.key.name.clone(),
            account: hub::live_account(&live, &live.key.namespace),
            files: files::read(&live.body),
            told: told.unwrap_or_default(),
            live,
        })
    }

    /// What names an instance of it on objects.
    #[must_use]
    pub fn instance(&self, root: &str, uid: &str) -> String {
        instance_name(&self.namespace, &self.name, root, uid)
    }

    /// Whether its text has some words; one that cannot be read may have any.
    #[must_use]
    pub fn mentions(&self, words: &str) -> bool {
        self.files.as_ref().map_or(true, |files| files.values().any(|text| text.contains(words)))
    }

    /// Who makes the CRDs of its kinds.
    #[must_use]
    pub fn policy(&self) -> Policy {
        hub::policy(&self.live)
    }

    /// The ConfigMap in messages.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// What names an instance on its objects: of a blueprint in a ConfigMap, of one of its roots, of an object.
#[must_use]
pub fn instance_name(namespace: &str, blueprint: &str, root: &str, uid: &str) -> String {
    hub::instance_name(&hub::BlueprintName::new(namespace, blueprint), root, uid)
}

/// The roots of a blueprint, each with the API version and the kind of its objects; the blueprint's own ConfigMap where that is it.
#[must_use]
pub fn roots(blueprint: &Blueprint) -> Vec<(String, String, String)> {
    let named = blueprint.nodes.iter().filter_map(|(name, node)| {
        let (api_version, kind) = blueprint.kind_of_root(&node.body)?;
        Some((name.clone(), api_version, kind))
    });
    let mut roots: Vec<_> = named.collect();
    let own = |name: &String| (name.clone(), "v1".to_owned(), "ConfigMap".to_owned());
    let is_own = |node: &pemdas_core::blueprint::Node| {
        use pemdas_core::blueprint::{Body, RootTarget};
        matches!(&node.body, Body::Root(root) if root.target == RootTarget::Blueprint)
    };
    roots.extend(blueprint.nodes.iter().filter(|(_, it)| is_own(it)).map(|(name, _)| own(name)));
    if roots.is_empty() {
        roots.push(own(&OWN_ROOT.to_owned()));
    }
    roots
}

impl Survey {
    /// Of a cluster.
    #[must_use]
    pub fn new(connection: Connection) -> Self {
        Self { connection }
    }

    /// The namespace that is meant where none is given.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.connection.namespace
    }

    /// The kinds that the cluster serves.
    ///
    /// # Errors
    /// If it does not answer.
    pub async fn kinds(&self) -> Result<Kinds, Trouble> {
        Kinds::ask(&self.connection).await
    }

    /// How a kind is served, with what its schema says; nothing if it is not.
    ///
    /// # Errors
    /// If the cluster does not answer.
    pub async fn resource(&self, api_version: &str, kind: &str) -> Result<Option<Resource>, Trouble> {
        let asked = Resource::find(&self.connection.client, api_version, kind);
        match tokio::time::timeout(PATIENCE, asked).await {
            Err(_) => Err(self.connection.too_slow(PATIENCE)),
            Ok(Ok(resource)) => Ok(Some(resource)),
            Ok(Err(crate::resource::Unserved::Missing(_))) => Ok(None),
            Ok(Err(crate::resource::Unserved::Unanswered(why))) => {
                Err(Trouble::NoAnswer { server: self.connection.server.clone(), why })
            }
        }
    }

    /// An object; nothing if there is none of that name.
    ///
    /// # Errors
    /// If it may not be read, or the cluster does not answer.
    pub async fn object(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Live>, Trouble> {
        if name.is_empty() || !name.chars().all(|it| it.is_ascii_alphanumeric() || ".-_:".contains(it)) {
            return Ok(None);
        }
        let api = self.api(resource, Some(namespace));
        let object = self.asked(api.get_opt(name)).await?;
        Ok(object.and_then(|it| read(resource, &it)))
    }

    /// The objects of a kind, in a namespace or in all, that a selector of labels picks.
    ///
    /// # Errors
    /// If they may not be read, or the cluster does not answer, or there are more than [`MAX_OBJECTS`].
    pub async fn list(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        labels: Option<&str>,
    ) -> Result<Vec<Live>, Trouble> {
        self.pages(resource, namespace, ListParams { label_selector: labels.map(str::to_owned), ..page() })
            .await
    }

    /// The newest Events about an object, newest first.
    ///
    /// # Errors
    /// If they may not be read, or the cluster does not answer.
    pub async fn events(&self, about: &Live, most: usize) -> Result<Vec<Value>, Trouble> {
        let Some(resource) = Resource::built_in("v1", "Event") else { return Ok(Vec::new()) };
        let namespace = if about.key.namespace.is_empty() { "default" } else { &about.key.namespace };
        let fields = format!("involvedObject.uid={}", about.uid);
        let parameters = ListParams { field_selector: Some(fields), ..page() };
        let found = self.pages(&resource, Some(namespace), parameters).await?;
        let when = |it: &Live| {
            let text = |at: &str| it.body.pointer(at).and_then(Value::as_str).map(str::to_owned);
            text("/series/lastObservedTime")
                .or_else(|| text("/lastTimestamp"))
                .or_else(|| text("/eventTime"))
                .or_else(|| text("/metadata/creationTimestamp"))
                .unwrap_or_default()
        };
        let mut told: Vec<_> = found.iter().map(|it| (when(it), it)).collect();
        told.sort_by(|a, b| b.0.cmp(&a.0));
        let told = told.into_iter().take(most).map(|(when, it)| {
            let keep = |field: &str| it.body.get(field).cloned().unwrap_or_default();
            json!({ "when": when, "type": keep("type"), "reason": keep("reason"), "message": keep("message") })
        });
        Ok(told.collect())
    }

    /// The blueprints of the cluster; of one namespace, where the others may not be seen.
    ///
    /// # Errors
    /// If none may be seen, or the cluster does not answer.
    pub async fn blueprints(&self, namespace: &str) -> Result<Vec<Found>, Trouble> {
        let Some(resource) = Resource::built_in("v1", "ConfigMap") else { return Ok(Vec::new()) };
        let labels = Some(hub::BLUEPRINT_LABEL);
        let found = match self.list(&resource, None, labels).await {
            Err(Trouble::Forbidden { .. }) => self.list(&resource, Some(namespace), labels).await,
            other => other,
        };
        Ok(found?.into_iter().filter_map(Found::read).collect())
    }

    /// The blueprint of a ConfigMap; nothing if there is none of that name.
    ///
    /// # Errors
    /// If it may not be read, or the cluster does not answer.
    pub async fn blueprint(&self, namespace: &str, name: &str) -> Result<Option<Found>, Trouble> {
        let Some(resource) = Resource::built_in("v1", "ConfigMap") else { return Ok(None) };
        Ok(self.object(&resource, namespace, name).await?.and_then(Found::read))
    }

    /// The sources of a revision of a blueprint; nothing if it may not be read, or is not kept any more.
    pub async fn revision(&self, found: &Found, name: &str) -> Option<BTreeMap<String, String>> {
        let revisions = Revisions::new(self.connection.client.clone(), &found.namespace);
        let asked = revisions.read(&found.name, name);
        let (_, content) = tokio::time::timeout(PATIENCE, asked).await.ok()?.ok()??;
        Some(content.sources)
    }

    /// The ledger of an instance.
    pub async fn ledger(&self, namespace: &str, instance: &str) -> LedgerFact {
        let place = Place { namespace: namespace.to_owned(), instance: instance.to_owned() };
        ledgers::look(&self.connection.client, &place, &Seal::Unverified).await.unwrap_or(LedgerFact::Unknown)
    }

    /// The key of the operator's digests; nothing if it may not be read, or there is none.
    pub async fn key(&self, namespace: &str) -> Option<Vec<u8>> {
        tokio::time::timeout(PATIENCE, key::look(&self.connection.client, namespace)).await.ok().flatten()
    }

    /// The keys of the operator's seals; where they may not be read, nothing is verified.
    pub async fn seal(&self, namespace: &str) -> Seal {
        let asked = key::look_for_seals(&self.connection.client, namespace);
        tokio::time::timeout(PATIENCE, asked).await.unwrap_or_default()
    }

    /// Deletes an object that is left of an instance, as it was seen: the one thing that is ever written, because a person said so.
    /// Our own finalizer, which holds it for an operator that does not look after it any more, goes first.
    ///
    /// # Errors
    /// In words, if it is another one by now, or may not be deleted.
    pub async fn delete_orphan(&self, resource: &Resource, live: &Live) -> Result<(), String> {
        let client = &self.connection.client;
        let mut version = live.resource_version;
        if live.finalizers.contains(ONCE_FINALIZER) {
            match call::release(client, resource, live, false).await.outcome {
                WriteOutcome::Done(newer) => version = newer,
                other => return not_written(&other),
            }
        }
        if live.terminating {
            return Ok(());
        }
        not_written(&call::delete(client, resource, &live.key, &live.uid, version).await.outcome)
    }

    fn api(&self, resource: &Resource, namespace: Option<&str>) -> Api<DynamicObject> {
        match namespace.filter(|it| resource.namespaced && !it.is_empty()) {
            Some(namespace) => {
                Api::namespaced_with(self.connection.client.clone(), namespace, &resource.api())
            }
            None => Api::all_with(self.connection.client.clone(), &resource.api()),
        }
    }

    async fn pages(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        mut parameters: ListParams,
    ) -> Result<Vec<Live>, Trouble> {
        let api = self.api(resource, namespace);
        let mut found = Vec::new();
        loop {
            let page = self.asked(api.list(&parameters)).await?;
            found.extend(page.items.iter().filter_map(|it| read(resource, it)));
            match page.metadata.continue_.filter(|it| !it.is_empty()) {
                Some(_) if found.len() >= MAX_OBJECTS => {
                    let why = format!("there are more than {MAX_OBJECTS} objects of {}", resource.kind);
                    let server = self.connection.server.clone();
                    return Err(Trouble::Refused { server, code: 413, why });
                }
                Some(next) => parameters = parameters.continue_token(&next),
                None => return Ok(found),
            }
        }
    }

    async fn asked<T>(&self, call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, Trouble> {
        let answer = tokio::time::timeout(PATIENCE, call).await;
        answer.map_err(|_| self.connection.too_slow(PATIENCE))?.map_err(|it| self.connection.trouble(&it))
    }
}

/// Why something was not written, in words.
fn not_written(outcome: &WriteOutcome) -> Result<(), String> {
    match outcome {
        WriteOutcome::Done(_) | WriteOutcome::Deleted(_) => Ok(()),
        WriteOutcome::Refused(why) => Err(why.to_string()),
        WriteOutcome::Lost => Err("the cluster did not answer".to_owned()),
    }
}

fn page() -> ListParams {
    ListParams::default().limit(PAGE)
}

fn read(resource: &Resource, object: &DynamicObject) -> Option<Live> {
    let mut body = serde_json::to_value(object).ok()?;
    // Objects of a list do not say what they are.
    let fields = body.as_object_mut()?;
    fields.insert("apiVersion".to_owned(), json!(resource.api_version));
    fields.insert("kind".to_owned(), json!(resource.kind.kind));
    live::live(&resource.kind, body)
}

#[cfg(test)]
mod tests {
    use super::instance_name;

    #[test]
    fn the_name_of_an_instance_is_the_value_of_a_label_and_nobody_elses() {
        let uid = "21af8cfd-4c4c-4ee5-9360-00f4bd6ae8f8";
        let name = instance_name("shop", "web", "app", uid);
        assert_eq!((name.len(), name.split_once('.').map(|it| it.0)), (63, Some(uid)));
        for (namespace, blueprint, root) in
            [("sho", "pweb", "app"), ("shop", "weba", "pp"), ("shop", "web", "b")]
        {
            assert_ne!(instance_name(namespace, blueprint, root, uid), name);
        }
    }
}
