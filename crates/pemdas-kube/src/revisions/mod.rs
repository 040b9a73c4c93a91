//! The revisions of a blueprint: its sources as they were, kept as ControllerRevisions beside its ConfigMap.
//!
//! They have no owner: an instance whose blueprint was deleted still needs the revision that it is at. What nothing names
//! any more is pruned by whoever knows that.

mod content;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::{api::apps::v1::ControllerRevision, apimachinery::pkg::runtime::RawExtension};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, ObjectMeta, PostParams, Preconditions},
};
use pemdas_core::digest::Digest;
use serde_json::{Value, json};

use crate::refusal::is_namespace_ending;

pub use content::{Content, MAX_STORED};

/// The label by which the revisions of a blueprint are found.
pub const BLUEPRINT_LABEL: &str = "pemdas.dev/blueprint";
/// The annotation with the blueprint's whole name, which may be too long for a label.
pub const BLUEPRINT_ANNOTATION: &str = "pemdas.dev/blueprint";
/// The annotation with the kinds that the revision speaks of: objects of them may be left.
pub const KINDS_ANNOTATION: &str = "pemdas.dev/kinds";
/// The annotation with the name of the account that the revision ran as.
pub const ACCOUNT_ANNOTATION: &str = "pemdas.dev/service-account";
/// How many are listed with one request.
const PAGE: u32 = 100;
/// How many are looked at in all.
const MAX_REVISIONS: usize = 1_000;
/// How often a race with another writer is run again.
const MAX_RACES: usize = 5;

/// A revision, without its content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision {
    /// Its number: the one that came into force last has the highest.
    pub ordinal: u64,
    /// Its name, which follows from its content.
    pub name: String,
}

/// What is known of a revision without its sources.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// The name of the account it ran as.
    pub account: String,
    /// API version and kind of everything it speaks of.
    pub kinds: BTreeSet<(String, String)>,
}

/// A revision that was kept, and all that there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The one that was kept.
    pub revision: Revision,
    /// By name: every revision of the blueprint, this one included.
    pub all: BTreeMap<String, About>,
}

/// Why a revision could not be kept or had.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// It is too large to be kept.
    #[error(
        "the blueprint takes {size} bytes even when it is compressed, and at most {MAX_STORED} can be kept"
    )]
    TooLarge {
        /// Its size.
        size: usize,
    },
    /// It is there and cannot be used.
    #[error("the revision {name} cannot be used: {why}")]
    Unusable {
        /// Which.
        name: String,
        /// Why.
        why: String,
    },
    /// Somebody else writes all the time.
    #[error("the revisions of {blueprint} are being changed by somebody else")]
    Contended {
        /// Of which blueprint.
        blueprint: String,
    },
    /// Nothing may be written, and it is not kept yet.
    #[error(
        "nothing is written, because {0}, and this revision is not kept yet: the last one that is runs on"
    )]
    Held(String),
    /// The API server does not do it.
    #[error(transparent)]
    Api(#[from] kube::Error),
}

impl Trouble {
    /// Whether the API server has answered that it will not do it, which does not pass by itself.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Api(kube::Error::Api(status)) => {
                (400..500).contains(&status.code) && ![408, 409, 429].contains(&status.code)
            }
            Self::Api(_) | Self::Contended { .. } => false,
            Self::TooLarge { .. } | Self::Unusable { .. } | Self::Held(_) => true,
        }
    }
}

/// The revisions of the blueprints of a namespace.
pub struct Revisions {
    api: Api<ControllerRevision>,
    held: Option<String>,
}

impl std::fmt::Debug for Revisions {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Revisions").finish_non_exhaustive()
    }
}

impl Revisions {
    /// Those of a namespace.
    #[must_use]
    pub fn new(client: Client, namespace: &str) -> Self {
        Self { api: Api::namespaced(client, namespace), held: None }
    }

    /// None is written where there is a reason for that.
    #[must_use]
    pub fn held(self, held: Option<String>) -> Self {
        Self { held, ..self }
    }

    /// Keeps a revision as the newest one. The same content again is the same revision, with a new number if another one
    /// came into force in between.
    ///
    /// # Errors
    /// If it is too large, or the API server does not take it.
    pub async fn store(&self, blueprint: &str, content: &Content) -> Result<Revision, Trouble> {
        Ok(self.keep(blueprint, content, &About::default()).await?.revision)
    }

    /// The same, with what is to be known of it without its sources.
    ///
    /// # Errors
    /// If it is too large, or the API server does not take it.
    pub async fn keep(&self, blueprint: &str, content: &Content, about: &About) -> Result<Kept, Trouble> {
        let data = content.stored()?;
        let name = name(blueprint, content);
        for _ in 0..MAX_RACES {
            let there = self.objects(blueprint).await?;
            let newest = there.iter().map(ordinal).max().unwrap_or_default();
            let mut all: BTreeMap<_, _> = there.iter().map(|it| (revision(it).name, about_of(it))).collect();
            let known = there.into_iter().find(|it| it.metadata.name.as_ref() == Some(&name));
            let parameters = PostParams::default();
            let is_newest = known.as_ref().is_some_and(|it| ordinal(it) == newest && about_of(it) == *about);
            if let Some(why) = self.held.as_ref().filter(|_| !is_newest) {
                return Err(Trouble::Held(why.clone()));
            }
            let written = match known {
                Some(it) if ordinal(&it) == newest && about_of(&it) == *about => {
                    return Ok(Kept { revision: Revision { ordinal: newest, name }, all });
                }
                Some(mut it) => {
                    if ordinal(&it) != newest && !mutant!(OldNumberStays) {
                        it.revision = number(newest + 1);
                    }
                    it.metadata.annotations = Some(annotations(blueprint, about));
                    self.api.replace(&name, &parameters, &it).await
                }
                None => {
                    let body = object(blueprint, &name, newest + 1, &data, about);
                    self.api.create(&parameters, &body).await
                }
            };
            match written {
                Ok(it) => {
                    all.insert(name.clone(), about.clone());
                    return Ok(Kept { revision: Revision { ordinal: ordinal(&it), name }, all });
                }
                // A namespace that ends takes nothing new, and has lost what was kept. What is left to do is to remove what was made.
                Err(kube::Error::Api(status)) if is_namespace_ending(&status) => {
                    return Ok(Kept { revision: Revision { ordinal: newest + 1, name }, all });
                }
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
                Err(_) if mutant!(UnkeptRuns) => {
                    return Ok(Kept { revision: Revision { ordinal: newest + 1, name }, all });
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(Trouble::Contended { blueprint: blueprint.to_owned() })
    }

    /// Whether the last revision besides this one was rendered by another library. Then nobody knows what is the same.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub async fn is_of_another_library(&self, blueprint: &str, content: &Content) -> Result<bool, Trouble> {
        let own = name(blueprint, content);
        let there = self.objects(blueprint).await?;
        let others = there.iter().filter(|it| it.metadata.name.as_ref() != Some(&own));
        let Some(last) = others.max_by_key(|it| ordinal(it)) else { return Ok(false) };
        let data = last.data.as_ref().map_or(&Value::Null, |it| &it.0);
        Ok(Content::read(data).is_ok_and(|it| it.library != content.library))
    }

    /// The revisions of a blueprint, the oldest first.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub async fn list(&self, blueprint: &str) -> Result<Vec<Revision>, Trouble> {
        let there = self.objects(blueprint).await?;
        let mut revisions: Vec<Revision> = there.iter().map(revision).collect();
        revisions.sort();
        Ok(revisions)
    }

    /// The revisions of a blueprint with what is known of them without their content, the oldest first.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub async fn known(&self, blueprint: &str) -> Result<Vec<(Revision, About)>, Trouble> {
        let there = self.objects(blueprint).await?;
        let mut known: Vec<_> = there.iter().map(|it| (revision(it), about_of(it))).collect();
        known.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(known)
    }

    /// A revision with its content; nothing if it is not there.
    ///
    /// # Errors
    /// If it cannot be read, or is not what its name says.
    pub async fn read(&self, blueprint: &str, name: &str) -> Result<Option<(Revision, Content)>, Trouble> {
        let Some(found) = self.api.get_opt(name).await? else { return Ok(None) };
        let unusable = |why: &str| Trouble::Unusable { name: name.to_owned(), why: why.to_owned() };
        let data = found.data.as_ref().map_or(&Value::Null, |it| &it.0);
        let content = Content::read(data).map_err(|why| unusable(&why))?;
        if self::name(blueprint, &content) != name {
            return Err(unusable("its content is not the one that it is named after"));
        }
        Ok(Some((revision(&found), content)))
    }

    /// Deletes the revisions that nothing names, but for the newest `spare` of them. None that is newer than all that are
    /// named goes: it was stored after the names were collected. With no names, all go.
    ///
    /// # Errors
    /// If they cannot be listed or deleted.
    pub async fn prune(
        &self,
        blueprint: &str,
        named: &BTreeSet<String>,
        spare: usize,
    ) -> Result<Vec<Revision>, Trouble> {
        let mut there = self.objects(blueprint).await?;
        there.sort_by_key(|it| std::cmp::Reverse(ordinal(it)));
        let mut spared = 0;
        let newest_named = there
            .iter()
            .filter(|it| it.metadata.name.as_ref().is_some_and(|name| named.contains(name)))
            .map(ordinal)
            .max();
        let mut pruned = Vec::new();
        for object in &there {
            let revision = revision(object);
            let is_newer = match newest_named {
                Some(newest) => revision.ordinal > newest,
                // They are named, and not here: nothing can be said of what is.
                None => !named.is_empty(),
            };
            if is_newer || named.contains(&revision.name) {
                continue;
            }
            if spared < spare {
                spared += 1;
                continue;
            }
            let preconditions = Preconditions {
                uid: object.metadata.uid.clone(),
                resource_version: object.metadata.resource_version.clone(),
            };
            let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
            match self.api.delete(&revision.name, &parameters).await {
                Ok(_) => pruned.push(revision),
                // Gone, or in force once more.
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(pruned)
    }

    async fn objects(&self, blueprint: &str) -> Result<Vec<ControllerRevision>, Trouble> {
        let mut parameters =
            ListParams::default().labels(&format!("{BLUEPRINT_LABEL}={}", label(blueprint))).limit(PAGE);
        let mut found = Vec::new();
        loop {
            let page = self.api.list(&parameters).await?;
            found.extend(page.items.into_iter().filter(|it| {
                let annotations = it.metadata.annotations.as_ref();
                annotations.and_then(|it| it.get(BLUEPRINT_ANNOTATION)).is_some_and(|it| it == blueprint)
            }));
            match page.metadata.continue_.filter(|it| !it.is_empty()) {
                Some(next) if found.len() < MAX_REVISIONS => parameters = parameters.continue_token(&next),
                _ => return Ok(found),
            }
        }
    }
}

fn revision(object: &ControllerRevision) -> Revision {
    Revision { ordinal: ordinal(object), name: object.metadata.name.clone().unwrap_or_default() }
}

fn ordinal(object: &ControllerRevision) -> u64 {
    u64::try_from(object.revision).unwrap_or_default()
}

fn number(ordinal: u64) -> i64 {
    i64::try_from(ordinal).unwrap_or(i64::MAX)
}

/// The name of a revision: from the blueprint and its content, nothing else.
fn name(blueprint: &str, content: &Content) -> String {
    let digest = Digest::of(&[], &json!([blueprint, content.plain()]));
    let start: String = blueprint.chars().take(200).collect();
    format!("{}-{digest}", start.trim_end_matches(['.', '-']))
}

/// A value for a label that stands for a blueprint.
fn label(blueprint: &str) -> String {
    if blueprint.len() <= 63 {
        return blueprint.to_owned();
    }
    let start: String = blueprint.chars().take(36).collect();
    format!("{}-{}", start.trim_end_matches(['.', '-']), Digest::of(&[], &json!(blueprint)).id())
}

/// The blueprints of which there are revisions, each with the name of the account of one of them: in a namespace, or in
/// all.
///
/// # Errors
/// If they cannot be listed.
pub async fn blueprints(
    client: Client,
    namespace: Option<&str>,
) -> Result<BTreeMap<(String, String), String>, Trouble> {
    let api: Api<ControllerRevision> = match namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    };
    let mut parameters = ListParams::default().labels(BLUEPRINT_LABEL).limit(PAGE * 5);
    let mut found = BTreeMap::new();
    loop {
        let page = api.list_metadata(&parameters).await?;
        for it in page.items {
            let note = |name: &str| it.metadata.annotations.as_ref()?.get(name).cloned();
            let Some(blueprint) = note(BLUEPRINT_ANNOTATION) else { continue };
            let place = (it.metadata.namespace.clone().unwrap_or_default(), blueprint);
            found.insert(place, note(ACCOUNT_ANNOTATION).unwrap_or_default());
        }
        match page.metadata.continue_.filter(|it| !it.is_empty()) {
            Some(next) => parameters = parameters.continue_token(&next),
            None => return Ok(found),
        }
    }
}

fn annotations(blueprint: &str, about: &About) -> BTreeMap<String, String> {
    let mut annotations = BTreeMap::from([(BLUEPRINT_ANNOTATION.to_owned(), blueprint.to_owned())]);
    if !about.account.is_empty() {
        annotations.insert(ACCOUNT_ANNOTATION.to_owned(), about.account.clone());
        annotations.insert(KINDS_ANNOTATION.to_owned(), json!(about.kinds).to_string());
    }
    annotations
}

fn about_of(object: &ControllerRevision) -> About {
    let note = |name: &str| object.metadata.annotations.as_ref()?.get(name).cloned();
    let kinds = note(KINDS_ANNOTATION).and_then(|it| serde_json::from_str(&it).ok());
    About { account: note(ACCOUNT_ANNOTATION).unwrap_or_default(), kinds: kinds.unwrap_or_default() }
}

fn object(blueprint: &str, name: &str, ordinal: u64, data: &Value, about: &About) -> ControllerRevision {
    ControllerRevision {
        data: Some(RawExtension(data.clone())),
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some([(BLUEPRINT_LABEL.to_owned(), label(blueprint))].into()),
            annotations: Some(annotations(blueprint, about)),
            ..ObjectMeta::default()
        },
        revision: number(ordinal),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::{Content, Trouble, label, name};

    #[test]
    fn what_may_pass_by_itself_is_no_refusal() {
        let answered = |code| Trouble::Api(kube::Error::Api(Status { code, ..Status::default() }.boxed()));
        for code in [403, 413, 422] {
            assert!(answered(code).is_refusal(), "{code}");
        }
        for code in [408, 409, 429, 500, 503] {
            assert!(!answered(code).is_refusal(), "{code}");
        }
        assert!(!Trouble::Contended { blueprint: String::new() }.is_refusal());
        assert!(Trouble::TooLarge { size: 1 }.is_refusal());
    }

    #[test]
    fn long_names_of_blueprints_are_told_apart() {
        let (one, two) = (format!("{}.one", "a".repeat(240)), format!("{}.two", "a".repeat(240)));
        assert_eq!(label("foo"), "foo");
        assert!(label(&one).len() <= 63);
        assert_ne!(label(&one), label(&two));
        let content = Content { library: "1".to_owned(), sources: [].into() };
        assert!(name(&one, &content).len() <= 253);
        assert_ne!(name(&one, &content), name(&two, &content));
    }
}
