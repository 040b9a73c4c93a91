//! Which kinds are watched for whom, and what was seen of them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use pemdas_core::world::{Fact, KindKey, KindView, Live, ObjectKey, ROOT_LABEL, Sight};
use tokio::{sync::mpsc, task::AbortHandle};

use super::{Event, Hub, blueprints::BlueprintName};
use crate::{
    identity::Identity,
    ledgers::LEDGER_LABEL,
    resource::{Resource, Unserved},
    watch::{News, Watched, follow},
};

/// How long until a kind that is not served is looked for again.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// The label of ConfigMaps that are blueprints.
pub(crate) const BLUEPRINT_LABEL: &str = "pemdas.dev/blueprint";

/// A view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ViewId(u32);

/// What a view is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// ConfigMaps that are blueprints.
    Blueprints,
    /// Ledgers.
    Ledgers,
    /// Namespaces, for those that are ending.
    Namespaces,
    /// What blueprints speak of.
    Objects,
}

/// One kind, seen by one identity.
pub(super) struct View {
    pub(super) identity: Identity,
    pub(super) purpose: Purpose,
    pub(super) kind: KindKey,
    api_version: String,
    pub(super) resource: Option<Resource>,
    pub(super) sight: Sight,
    pub(super) metadata_only: bool,
    pub(super) objects: HashMap<ObjectKey, Arc<Live>>,
    /// By the name of an instance: what carries its label.
    pub(super) labelled: HashMap<String, BTreeSet<ObjectKey>>,
    /// Blueprints that speak of the kind.
    pub(super) users: BTreeSet<BlueprintName>,
    task: Option<AbortHandle>,
}

impl Drop for View {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl View {
    /// Takes an object in; what was there before.
    fn store(&mut self, live: &Arc<Live>) -> Option<Arc<Live>> {
        let old = self.objects.insert(live.key.clone(), live.clone());
        let label = |live: &Live| live.label(ROOT_LABEL).map(str::to_owned);
        let (was, is) = (old.as_deref().and_then(label), label(live));
        if was != is {
            self.unlabel(was.as_deref(), &live.key);
            if let Some(is) = is {
                self.labelled.entry(is).or_default().insert(live.key.clone());
            }
        }
        old
    }

    fn remove(&mut self, key: &ObjectKey) -> Option<Arc<Live>> {
        let old = self.objects.remove(key)?;
        self.unlabel(old.label(ROOT_LABEL), key);
        Some(old)
    }

    fn unlabel(&mut self, label: Option<&str>, key: &ObjectKey) {
        let Some(label) = label else { return };
        if let Some(keys) = self.labelled.get_mut(label) {
            keys.remove(key);
            if keys.is_empty() {
                self.labelled.remove(label);
            }
        }
    }

    /// How instances see the kind.
    pub(super) fn kind_view(&self, epoch: u64) -> KindView {
        KindView {
            sight: self.sight,
            epoch,
            watermark: 0,
            observed_generation: self.resource.as_ref().is_some_and(|it| it.observed_generation),
            namespaced: self.resource.as_ref().is_some_and(|it| it.namespaced),
        }
    }
}

/// All views.
pub(super) struct Views {
    post: mpsc::Sender<Event>,
    next: u32,
    all: BTreeMap<ViewId, View>,
    by_kind: HashMap<(Identity, KindKey), ViewId>,
}

impl Views {
    pub(super) fn new(post: mpsc::Sender<Event>) -> Self {
        Self { post, next: 0, all: BTreeMap::new(), by_kind: HashMap::new() }
    }

    pub(super) fn get(&self, id: ViewId) -> Option<&View> {
        self.all.get(&id)
    }

    pub(super) fn id_of(&self, identity: &Identity, kind: &KindKey) -> Option<ViewId> {
        self.by_kind.get(&(identity.clone(), kind.clone())).copied()
    }

    /// The view of a kind by an identity.
    pub(super) fn of(&self, identity: &Identity, kind: &KindKey) -> Option<&View> {
        self.get(self.id_of(identity, kind)?)
    }

    /// All views that a blueprint uses.
    pub(super) fn used_by<'a>(&'a self, blueprint: &'a BlueprintName) -> impl Iterator<Item = &'a View> {
        self.all.values().filter(move |it| it.users.contains(blueprint))
    }

    /// The kinds whose first list has not come, in sentences.
    pub(super) fn unlisted(&self) -> Vec<String> {
        let waits = self.all.values().filter(|it| it.sight == Sight::Unsynced);
        waits.map(|it| format!("{} is not listed yet for {}", it.kind, it.identity)).collect()
    }

    fn add(&mut self, identity: Identity, purpose: Purpose, api_version: &str, kind: KindKey) -> ViewId {
        let id = ViewId(self.next);
        self.next += 1;
        let view = View {
            identity,
            purpose,
            kind,
            api_version: api_version.to_owned(),
            resource: None,
            sight: Sight::Unsynced,
            metadata_only: false,
            objects: HashMap::new(),
            labelled: HashMap::new(),
            users: BTreeSet::new(),
            task: None,
        };
        self.all.insert(id, view);
        id
    }

    /// Drops what no blueprint speaks of any more.
    pub(super) fn release(&mut self, blueprint: &BlueprintName, still: &BTreeSet<KindKey>) {
        for view in self.all.values_mut().filter(|it| it.purpose == Purpose::Objects) {
            if !still.contains(&view.kind) {
                view.users.remove(blueprint);
            }
        }
        self.all.retain(|_, view| view.purpose != Purpose::Objects || !view.users.is_empty());
        self.by_kind.retain(|_, id| self.all.contains_key(id));
    }
}

impl Hub {
    /// Watches what Pemdas itself needs.
    pub(super) fn watch_own(&mut self) {
        for (purpose, kind) in [
            (Purpose::Namespaces, "Namespace"),
            (Purpose::Ledgers, "Secret"),
            (Purpose::Blueprints, "ConfigMap"),
        ] {
            let kind = KindKey::new("v1", kind);
            let id = self.views.add(Identity::Pemdas, purpose, "v1", kind);
            self.find(id);
        }
    }

    /// Makes sure that a kind is watched for a blueprint.
    pub(super) fn watch_kind(
        &mut self,
        blueprint: &BlueprintName,
        identity: &Identity,
        api_version: &str,
        kind: &str,
        metadata_only: bool,
    ) {
        let key = KindKey::new(api_version, kind);
        let id = match self.views.id_of(identity, &key) {
            Some(id) => id,
            None => {
                let id = self.views.add(identity.clone(), Purpose::Objects, api_version, key.clone());
                self.views.by_kind.insert((identity.clone(), key), id);
                if let Some(view) = self.views.all.get_mut(&id) {
                    view.metadata_only = metadata_only;
                }
                self.find(id);
                id
            }
        };
        let Some(view) = self.views.all.get_mut(&id) else { return };
        view.users.insert(blueprint.clone());
        if view.metadata_only && !metadata_only {
            // Somebody wants the bodies too: it is listed anew.
            view.metadata_only = false;
            view.sight = Sight::Unsynced;
            self.follow(id);
        }
    }

    /// Asks how a kind is served.
    fn find(&mut self, id: ViewId) {
        let Some(view) = self.views.get(id) else { return };
        if let Some(known) = Resource::built_in(&view.api_version, &view.kind.kind) {
            self.found(id, Ok(known));
            return;
        }
        // How kinds are served is no secret, and an account may be unable to ask.
        let client = self.clients.of(&Identity::Pemdas);
        let (api_version, kind) = (view.api_version.clone(), view.kind.kind.clone());
        let post = self.post.clone();
        tokio::spawn(async move {
            let found = Resource::find(&client, &api_version, &kind).await;
            let _ended = post.send(Event::Found(id, found)).await;
        });
    }

    pub(super) fn found(&mut self, id: ViewId, found: Result<Resource, Unserved>) {
        let Some(view) = self.views.all.get_mut(&id) else { return };
        match found {
            Ok(resource) => {
                view.resource = Some(resource);
                self.follow(id);
            }
            Err(why) => {
                if matches!(why, Unserved::Missing(_)) {
                    self.sight(id, Sight::NoSuchKind);
                } else {
                    tracing::warn!(%why, "a kind could not be looked up");
                }
                let post = self.post.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(LOOK_AGAIN).await;
                    let _ended = post.send(Event::LookAgain(id)).await;
                });
            }
        }
    }

    pub(super) fn look_again(&mut self, id: ViewId) {
        self.find(id);
    }

    /// Starts the watch of a view, or starts it anew.
    fn follow(&mut self, id: ViewId) {
        let Some(view) = self.views.all.get_mut(&id) else { return };
        let Some(resource) = view.resource.clone() else { return };
        let labels = match view.purpose {
            Purpose::Blueprints => Some(BLUEPRINT_LABEL.to_owned()),
            Purpose::Ledgers => Some(LEDGER_LABEL.to_owned()),
            Purpose::Namespaces | Purpose::Objects => None,
        };
        let metadata_only = view.metadata_only || view.purpose == Purpose::Namespaces;
        let watched = Watched { resource, namespace: None, labels, metadata_only };
        let client = self.clients.of(&view.identity.clone());
        let (sender, mut receiver) = mpsc::channel(16);
        let post = self.views.post.clone();
        let task = tokio::spawn(async move {
            let forward = async {
                while let Some(news) = receiver.recv().await {
                    if post.send(Event::Told(id, news)).await.is_err() {
                        return;
                    }
                }
            };
            tokio::join!(follow(client, watched, sender), forward);
        });
        if let Some(old) = view.task.replace(task.abort_handle()) {
            old.abort();
        }
    }

    /// How a kind can be seen changed: everybody who uses it has to know.
    fn sight(&mut self, id: ViewId, sight: Sight) {
        let epoch = self.lease.epoch;
        let Some(view) = self.views.all.get_mut(&id) else { return };
        if view.purpose != Purpose::Objects {
            view.sight = sight;
            self.tell_ready();
            return;
        }
        tracing::debug!(kind = %view.kind, ?sight, "a kind is seen differently");
        view.sight = sight;
        let fact = Fact::Kind(view.kind.clone(), view.kind_view(epoch));
        let users: Vec<_> = view.users.iter().cloned().collect();
        self.tell_ready();
        for blueprint in users {
            for instance in self.instances.of_blueprint(&blueprint) {
                self.learn(instance, fact.clone());
            }
        }
    }

    pub(super) fn told(&mut self, id: ViewId, news: News) {
        let Some(view) = self.views.all.get_mut(&id) else { return };
        match news {
            News::Listed(list) => {
                let newest = list.iter().map(|it| it.resource_version).max().unwrap_or(0);
                let keys: BTreeSet<_> = list.iter().map(|it| it.key.clone()).collect();
                let gone: Vec<_> = view.objects.keys().filter(|it| !keys.contains(*it)).cloned().collect();
                for key in gone {
                    let version = self.version_of(id, &key).max(newest);
                    self.gone(id, &key, version);
                }
                for live in list {
                    self.seen(id, live);
                }
                self.sight(id, Sight::Synced);
                self.listed(id);
            }
            News::Seen(live) => self.seen(id, live),
            News::Gone(key, version) => self.gone(id, &key, version),
            News::Forbidden(why) => {
                tracing::warn!(kind = %view.kind, identity = %view.identity, why, "a kind may not be watched");
                self.sight(id, Sight::Forbidden);
            }
            News::Unserved => {
                self.sight(id, Sight::NoSuchKind);
                let Some(view) = self.views.all.get_mut(&id) else { return };
                if let Some(task) = view.task.take() {
                    task.abort();
                }
                self.found(id, Err(Unserved::Missing(self.views.all[&id].kind.clone())));
            }
            News::Failed(why) => {
                tracing::debug!(kind = %view.kind, why, "a watch broke and is taken up again");
            }
        }
    }

    fn version_of(&self, id: ViewId, key: &ObjectKey) -> u64 {
        self.views.get(id).and_then(|it| it.objects.get(key)).map_or(0, |it| it.resource_version)
    }

    fn seen(&mut self, id: ViewId, live: Live) {
        let Some(view) = self.views.all.get_mut(&id) else { return };
        let live = Arc::new(live);
        let old = view.store(&live);
        match view.purpose {
            Purpose::Blueprints => self.blueprint_seen(&live),
            Purpose::Ledgers => self.ledger_seen(&live),
            Purpose::Namespaces => self.namespace_seen(&live),
            Purpose::Objects => self.object_seen(id, &live, old.as_deref()),
        }
    }

    fn gone(&mut self, id: ViewId, key: &ObjectKey, version: u64) {
        let Some(view) = self.views.all.get_mut(&id) else { return };
        let old = view.remove(key);
        match (view.purpose, old) {
            (Purpose::Blueprints, Some(old)) => self.blueprint_gone(&old),
            (Purpose::Ledgers, Some(old)) => self.ledger_gone(&old),
            (Purpose::Namespaces, _) => {}
            (_, old) => self.object_gone(id, key, version, old.as_deref()),
        }
    }

    /// A list is complete.
    fn listed(&mut self, id: ViewId) {
        let Some(purpose) = self.views.get(id).map(|it| it.purpose) else { return };
        if purpose == Purpose::Ledgers {
            self.ledgers_listed();
        }
    }

    /// Whether the ledgers are listed: before, nobody knows whether there is one.
    pub(super) fn knows_ledgers(&self) -> bool {
        self.views.all.values().any(|it| it.purpose == Purpose::Ledgers && it.sight == Sight::Synced)
    }

    /// The namespaces that are ending.
    pub(super) fn is_ending(&self, namespace: &str) -> bool {
        self.views
            .all
            .values()
            .filter(|it| it.purpose == Purpose::Namespaces)
            .flat_map(|it| it.objects.values())
            .any(|it| it.terminating && it.key.name == namespace)
    }
}
