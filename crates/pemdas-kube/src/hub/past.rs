//! Revisions that do not run any more, and what is left of them.
//!
//! *The accidents*: a deletion that began under one revision ends under another, whose final backup is of something else; a
//! blueprint whose ConfigMap was torn away leaves objects that nothing can delete; a process that starts anew does not look at
//! the kinds that only earlier revisions named, and leaves their objects behind.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use pemdas_core::{
    digest::Digest,
    packed::Packed,
    world::{CLAIM_ANNOTATION, Claim, Fact, KindKey, LedgerFact, Live, ObjectKey},
};
use serde_json::{Value, json};

use super::{
    Event, Hub, InstanceId,
    blueprints::{BlueprintName, Loaded, Running},
    instances::Instance,
    reports::BLUEPRINT_FINALIZER,
    rollout,
    views::BLUEPRINT_LABEL,
};
use crate::{
    compile::{Compiled, Compiler},
    identity::Identity,
    revisions::{self, Revisions},
};

/// How many revisions that nothing names are kept, for people.
const HISTORY: usize = 5;
/// How many earlier revisions of a blueprint run at once, for deletions that began with them.
const MAX_PAST: usize = 8;
/// How long until the revisions of a blueprint are looked after first; then twice as long each time.
const TEND_AFTER: Duration = Duration::from_secs(2);
/// The longest pause between two looks.
const TEND_AT_MOST: Duration = Duration::from_secs(300);

/// An earlier revision that a deletion needs.
pub(super) enum Past {
    Reading,
    Runs(Box<Running>),
    /// It is not there any more, or cannot be read.
    Lost,
}

/// The revision that decides for an instance: for a deletion, the one it began with.
pub(super) fn revision_of<'a>(
    blueprints: &'a BTreeMap<BlueprintName, Loaded>,
    instance: &Instance,
) -> Option<&'a Running> {
    let loaded = blueprints.get(&instance.blueprint)?;
    if let Some(Past::Runs(past)) = begun_with(instance).and_then(|it| loaded.past.get(it)) {
        return Some(past);
    }
    let root = &instance.world.root;
    let stays = root.selected && root.live.as_ref().is_some_and(|it| !it.terminating);
    // What is left of a blueprint that is gone stays as it is, until somebody deletes it.
    if loaded.gone && stays && begun_with(instance).is_none() {
        return None;
    }
    rollout::revision_of(blueprints, instance)
}

/// The revision that the deletion of an instance began with.
fn begun_with(instance: &Instance) -> Option<&String> {
    match &instance.world.ledger {
        LedgerFact::Present { .. } if mutant!(DeletionChangesRevision) => None,
        LedgerFact::Present { ledger, .. } => ledger.deleting.as_ref(),
        _ => None,
    }
}

impl Hub {
    /// Whether a deletion waits for the revision that it began with to be read.
    pub(super) fn waits_for_the_past(&mut self, id: InstanceId) -> bool {
        let Some(instance) = self.instances.get(id) else { return false };
        let Some(revision) = begun_with(instance).cloned() else { return false };
        let blueprint = instance.blueprint.clone();
        let Some(loaded) = self.blueprints.get_mut(&blueprint) else { return false };
        if loaded.running.as_ref().is_some_and(|it| it.revision.name == revision) {
            return false;
        }
        match loaded.past.get(&revision) {
            Some(Past::Reading) => return true,
            Some(_) => return false,
            None if loaded.past.len() >= MAX_PAST => {
                self.timers.insert((self.clock.now() + 1_000, id));
                return true;
            }
            None => {}
        }
        tracing::info!(%blueprint, revision, "a deletion began with an earlier revision, which is read");
        loaded.past.insert(revision.clone(), Past::Reading);
        let identity = loaded.identity.clone();
        self.read_past(blueprint, revision, identity);
        true
    }

    fn read_past(&self, name: BlueprintName, revision: String, identity: Identity) {
        let revisions = Revisions::new(self.clients_of_pemdas(), &name.namespace);
        let (readers, post) = (self.readers.clone(), self.post.clone());
        tokio::spawn(async move {
            let mut pause = 1;
            let content = loop {
                match revisions.read(&name.name, &revision).await {
                    Ok(found) => break found.map(|(_, content)| content),
                    Err(revisions::Trouble::Api(error)) if !mutant!(UnreadPastIsLost) => {
                        tracing::warn!(blueprint = %name, %error, "cannot read an earlier revision; trying again");
                        tokio::time::sleep(Duration::from_secs(pause)).await;
                        pause = (pause * 2).min(60);
                    }
                    Err(trouble) => {
                        tracing::warn!(blueprint = %name, %trouble, "an earlier revision cannot be read");
                        break None;
                    }
                }
            };
            let compiled = match content {
                None => None,
                Some(content) => {
                    let read =
                        move |compiler: &dyn Compiler| compiler.compile(&identity, &content.sources).compiled;
                    readers.read(&name.namespace, || true, read).await.flatten()
                }
            };
            let _ended = post.send(Event::Past(name, revision, compiled.map(Box::new))).await;
        });
    }

    /// An earlier revision was read.
    pub(super) fn past_read(
        &mut self,
        name: &BlueprintName,
        revision: String,
        compiled: Option<Box<Compiled>>,
    ) {
        let Some(loaded) = self.blueprints.get(name) else { return };
        if !matches!(loaded.past.get(&revision), Some(Past::Reading)) {
            return;
        }
        let identity = loaded.identity.clone();
        let past = match compiled {
            None => {
                tracing::warn!(blueprint = %name, revision, "the revision that a deletion began with is lost");
                Past::Lost
            }
            Some(compiled) => {
                let ordinal = loaded.running.as_ref().map_or(0, |it| it.revision.ordinal);
                let of = pemdas_core::program::Revision { name: revision.clone(), ordinal };
                let running = self.made_ready(*compiled, of, Vec::new());
                for (kind, need) in crate::needs::kinds(&running.blueprint) {
                    self.watch_kind(name, &identity, &need.api_version, &kind.kind, need.metadata_only);
                }
                Past::Runs(Box::new(running))
            }
        };
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        loaded.past.insert(revision, past);
        for id in self.instances.of_blueprint(name) {
            self.queue.push(name, id);
        }
    }

    /// Earlier revisions that no deletion needs any more end.
    pub(super) fn let_go_of_the_past(&mut self, name: &BlueprintName) {
        let Some(loaded) = self.blueprints.get_mut(name).filter(|it| !it.past.is_empty()) else { return };
        let ids = self.instances.of_blueprint(name);
        let needed: BTreeSet<_> =
            ids.iter().filter_map(|it| begun_with(self.instances.get(*it)?).cloned()).collect();
        loaded.past.retain(|it, _| needed.contains(it));
    }

    /// The ConfigMap of a blueprint is gone. What it made is looked after until it is gone as well: nothing is changed,
    /// and whatever is deleted is removed as it should be.
    pub(super) fn blueprint_gone(&mut self, live: &Live) {
        let name = BlueprintName::new(&live.key.namespace, &live.key.name);
        let Some(loaded) = self.blueprints.get_mut(&name) else { return };
        tracing::info!(blueprint = %name, "a blueprint was deleted");
        if loaded.running.is_none() && !loaded.withheld {
            self.forget(&name);
            return;
        }
        // Its account went first. Without instances nothing is left to be done as it.
        if loaded.withheld && !loaded.report.is_held() {
            self.forget(&name);
            self.prune(&name, BTreeSet::new(), 0);
            return;
        }
        loaded.is_gone();
        for id in self.instances.of_blueprint(&name) {
            if self.instances.get(id).is_some_and(|it| it.world.root.uid == live.uid) {
                self.learn(id, Fact::RootVanished);
            }
            self.learn(id, Fact::Suspended(self.suspension(&name)));
            self.queue.push(&name, id);
        }
        self.owners_changed();
        self.tend_later(&name);
    }

    /// Forgets a blueprint of which nothing is left.
    fn forget(&mut self, name: &BlueprintName) {
        let Some(loaded) = self.blueprints.remove(name) else { return };
        for id in self.instances.of_blueprint(name) {
            self.end(id);
        }
        self.release(name, &BTreeSet::new());
        self.report_soon();
        self.beside.metrics.forget(&name.to_string());
        if !self.blueprints.values().any(|it| it.identity == loaded.identity) {
            self.clients.forget(&loaded.identity);
        }
        self.owners_changed();
    }

    /// All blueprints are listed: those that are gone and left something are looked for, once.
    pub(super) fn look_for_remains(&mut self) {
        if self.looked_for_remains || !self.knows_blueprints() {
            return;
        }
        self.looked_for_remains = true;
        let mut places: Vec<_> = self.settings.namespaces.iter().cloned().map(Some).collect();
        if places.is_empty() {
            places.push(None);
        }
        let (client, post) = (self.clients_of_pemdas(), self.post.clone());
        tokio::spawn(async move {
            let mut found = Vec::new();
            for place in places {
                let mut pause = 1;
                let some = loop {
                    match revisions::blueprints(client.clone(), place.as_deref()).await {
                        Ok(some) => break some,
                        Err(error) => {
                            tracing::warn!(%error, "the revisions of blueprints cannot be listed");
                            tokio::time::sleep(Duration::from_secs(pause)).await;
                            pause = (pause * 2).min(60);
                        }
                    }
                };
                found
                    .extend(some.into_iter().map(|((namespace, name), account)| {
                        (BlueprintName::new(&namespace, &name), account)
                    }));
            }
            let _ended = post.send(Event::Remains(found)).await;
        });
    }

    /// Revisions of these blueprints are there: what is left of those that are gone is looked after.
    pub(super) fn remains(&mut self, found: Vec<(BlueprintName, String)>) {
        self.knows_remains = true;
        self.report_soon();
        for (name, account) in found {
            if self.blueprints.contains_key(&name) {
                continue;
            }
            tracing::info!(blueprint = %name, "a blueprint was deleted and has left revisions");
            let account = if account.is_empty() { "default".to_owned() } else { account };
            let identity = Identity::Account { namespace: name.namespace.clone(), name: account };
            self.compilations += 1;
            let number = self.compilations;
            let mut loaded = Loaded::new(identity.clone(), &Arc::new(nothing(&name)));
            loaded.is_gone();
            loaded.number = number;
            self.blueprints.insert(name.clone(), loaded);
            if self.may_act(&name) {
                self.find_last_good(&name, number, &identity, None);
            } else if let Some(loaded) = self.blueprints.get_mut(&name) {
                loaded.withheld = true;
            }
        }
    }

    /// Looks after the revisions of a blueprint in a while.
    pub(super) fn tend_later(&mut self, name: &BlueprintName) {
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        if std::mem::replace(&mut loaded.tending, true) {
            return;
        }
        let pause = TEND_AFTER.saturating_mul(1 << loaded.tended.min(10)).min(TEND_AT_MOST);
        loaded.tended = loaded.tended.saturating_add(1);
        let (post, name) = (self.post.clone(), name.clone());
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            let _ended = post.send(Event::Tend(name)).await;
        });
    }

    /// Stops looking at kinds that only revisions without objects name, and has revisions pruned that nothing names.
    pub(super) fn tend(&mut self, name: &BlueprintName) {
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        loaded.tending = false;
        if self.suspension(name).is_some() {
            self.tend_later(name);
            return;
        }
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        let Some(running) = &loaded.running else { return };
        let (gone, identity) = (loaded.gone, loaded.identity.clone());
        let current = running.revision.name.clone();
        let mut still: BTreeSet<KindKey> = crate::needs::kinds(&running.blueprint).into_keys().collect();
        let known: BTreeSet<String> = loaded.revisions.keys().cloned().collect();
        let seen = self.views.kinds_of(name, &identity);
        let sees_all = seen.iter().all(|kind| self.views.sees_all(&identity, kind));
        // Without an instance nothing is done with what may not be seen.
        let is_over = gone && self.has_instances(name) == Some(false);
        if !(sees_all || is_over) || !self.knows_all_ledgers() {
            self.tend_later(name);
            return;
        }
        let named = self.named(name, &known);
        if gone && named.is_empty() && self.instances.of_blueprint(name).is_empty() {
            self.let_go_of_map(name);
            self.forget(name);
            self.prune(name, BTreeSet::new(), 0);
            return;
        }
        let Some(loaded) = self.blueprints.get(name) else { return };
        for revision in named.iter().chain(loaded.past.keys()) {
            let kinds = loaded.revisions.get(revision).into_iter().flatten();
            still.extend(kinds.map(|(api_version, kind)| KindKey::new(api_version, kind)));
        }
        let unused: Vec<_> =
            known.iter().filter(|it| **it != current && !named.contains(*it)).cloned().collect();
        self.release(name, &still);
        let in_use = named.iter().any(|it| *it != current);
        if unused.len() > HISTORY {
            let mut keep = named;
            keep.insert(current);
            self.prune(name, keep, HISTORY);
        }
        if in_use || gone {
            self.tend_later(name);
        }
    }

    /// The revisions that something names: objects, and deletions that began with them.
    fn named(&self, name: &BlueprintName, known: &BTreeSet<String>) -> BTreeSet<String> {
        let mut named = BTreeSet::new();
        for view in self.views.used_by(name) {
            let keys = view.labelled.values().flatten();
            for text in keys.filter_map(|it| view.objects.get(it)?.peek_annotation(CLAIM_ANNOTATION)) {
                let claim: Option<Claim> = serde_json::from_str(&text).ok();
                named.extend(claim.map(|it| it.revision).filter(|it| known.contains(it)));
            }
        }
        for id in self.instances.of_blueprint(name) {
            let at = self.instances.get(id).and_then(|it| it.seat.at());
            named.extend(at.filter(|it| known.contains(*it)).cloned());
        }
        for fact in self.ledgers.values() {
            if let LedgerFact::Present { ledger, .. } = fact {
                named.extend(ledger.deleting.iter().filter(|it| known.contains(*it)).cloned());
            }
        }
        named
    }

    /// A ConfigMap that only lost its label is gone for the watch, and still there. Once nothing is left of the
    /// blueprint, it need not stay.
    fn let_go_of_map(&self, name: &BlueprintName) {
        let api: Api<ConfigMap> = Api::namespaced(self.clients_of_pemdas(), &name.namespace);
        let name = name.clone();
        tokio::spawn(async move {
            let mut pause = 1;
            while let Err(error) = let_go(&api, &name.name).await {
                tracing::warn!(blueprint = %name, %error, "cannot remove the finalizer from the ConfigMap of a blueprint; trying again");
                tokio::time::sleep(Duration::from_secs(pause)).await;
                pause = (pause * 2).min(60);
            }
        });
    }

    fn prune(&mut self, name: &BlueprintName, named: BTreeSet<String>, spare: usize) {
        let revisions = Revisions::new(self.clients_of_pemdas(), &name.namespace);
        let (post, name, turn) = (self.post.clone(), name.clone(), self.turn_to_keep(name));
        tokio::spawn(async move {
            let _alone = turn.lock().await;
            match revisions.prune(&name.name, &named, spare).await {
                Ok(gone) => {
                    let gone = gone.into_iter().map(|it| it.name).collect();
                    let _ended = post.send(Event::Pruned(name, gone)).await;
                }
                Err(error) => {
                    tracing::warn!(blueprint = %name, %error, "old revisions could not be pruned");
                }
            }
        });
    }

    /// Old revisions are gone.
    pub(super) fn pruned(&mut self, name: &BlueprintName, gone: &[String]) {
        tracing::info!(blueprint = %name, count = gone.len(), "old revisions are pruned");
        match self.blueprints.get_mut(name) {
            Some(loaded) => loaded.revisions.retain(|it, _| !gone.contains(it)),
            None => drop(self.keeping.remove(name)),
        }
    }

    /// Whoever keeps and whoever prunes the revisions of a blueprint take turns.
    pub(super) fn turn_to_keep(&mut self, name: &BlueprintName) -> Arc<tokio::sync::Mutex<()>> {
        self.keeping.entry(name.clone()).or_default().clone()
    }
}

/// Takes our finalizer off a ConfigMap that is no blueprint any more. One that has the label again is held, and
/// watched.
async fn let_go(api: &Api<ConfigMap>, name: &str) -> Result<(), kube::Error> {
    let Some(map) = api.get_metadata_opt(name).await? else { return Ok(()) };
    let finalizers = map.metadata.finalizers.unwrap_or_default();
    let held = finalizers.iter().any(|it| it == BLUEPRINT_FINALIZER);
    if !held || map.metadata.labels.unwrap_or_default().contains_key(BLUEPRINT_LABEL) {
        return Ok(());
    }
    let rest: Vec<_> = finalizers.into_iter().filter(|it| it != BLUEPRINT_FINALIZER).collect();
    let (uid, version) = (map.metadata.uid, map.metadata.resource_version);
    let body = json!({ "metadata": { "uid": uid, "resourceVersion": version, "finalizers": rest } });
    match api.patch_metadata(name, &PatchParams::default(), &Patch::Merge(body)).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => other.map(drop),
    }
}

/// A ConfigMap that is not there any more.
fn nothing(name: &BlueprintName) -> Live {
    Live {
        key: ObjectKey::new(KindKey::new("v1", "ConfigMap"), name.namespace.clone(), name.name.clone()),
        uid: String::new(),
        resource_version: 0,
        generation: None,
        terminating: true,
        finalizers: BTreeSet::new(),
        managed: Packed::default(),
        body: json!({}).into(),
    }
}

/// The digest of no sources at all: whatever comes is new.
pub(super) fn no_sources() -> Digest {
    Digest::of(&[], &Value::Null)
}
