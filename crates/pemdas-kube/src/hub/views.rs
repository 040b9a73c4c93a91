//! Watches, and what was seen by them. Who looks through which is in `lookouts`.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use pemdas_core::world::{KindKey, Live, ObjectKey, ROOT_LABEL, Sight};
use tokio::{sync::mpsc, task::AbortHandle};

use super::{
    Event, Hub,
    blueprints::BlueprintName,
    holds::{PERMISSIONS, PERMISSIONS_LABEL},
    lookouts::Lookout,
};
use crate::{
    door::{Door, Shares},
    identity::Identity,
    ledgers::LEDGER_LABEL,
    resource::{Resource, Unserved},
    watch::{News, Unread, Watched, follow},
};

/// How long until a kind that is not served is looked for again.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// How long until it is looked again what there is room for.
const LIST_AGAIN: Duration = Duration::from_secs(30);
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
    /// ServiceAccounts, which say who may act as them.
    Accounts,
    /// Roles, bindings and accounts that belong to a blueprint.
    Permissions,
    /// What blueprints speak of.
    Objects,
}

/// One watch: a kind, in the whole cluster or in one namespace, and what was seen of it.
pub(super) struct View {
    /// Who watches: one of the readers.
    pub(super) carrier: Identity,
    /// Who may see it. Whoever is not the carrier was asked about at the API server.
    pub(super) readers: BTreeSet<Identity>,
    pub(super) purpose: Purpose,
    pub(super) kind: KindKey,
    /// The namespace; none for the whole cluster.
    pub(super) namespace: Option<String>,
    api_version: String,
    pub(super) resource: Option<Resource>,
    pub(super) sight: Sight,
    pub(super) metadata_only: bool,
    pub(super) objects: HashMap<ObjectKey, Arc<Live>>,
    /// By the name of an instance: what carries its label.
    pub(super) labelled: HashMap<String, BTreeSet<ObjectKey>>,
    /// Blueprints of the readers that speak of the kind.
    pub(super) users: BTreeSet<BlueprintName>,
    /// As of when its last list was: what we wrote before and is not in it is gone.
    pub(super) listed: u64,
    /// How often its watch was started: what an earlier one still says does not count.
    starts: u32,
    task: Option<AbortHandle>,
    /// What is kept of each object.
    door: Door,
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
        let label = |live: &Live| live.peek_label(ROOT_LABEL);
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
        self.unlabel(old.peek_label(ROOT_LABEL).as_deref(), key);
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

    /// Whether it shows this namespace.
    pub(super) fn shows(&self, namespace: &str) -> bool {
        self.namespace.as_ref().is_none_or(|it| it == namespace)
    }

    /// Bodies of Secrets are for the eyes of one identity.
    pub(super) fn is_private(&self) -> bool {
        self.purpose != Purpose::Objects || (is_secret(&self.kind) && !self.metadata_only)
    }
}

/// Whether the bodies of a kind are never shared between identities.
pub(super) fn is_secret(kind: &KindKey) -> bool {
    *kind == KindKey::new("v1", "Secret")
}

/// All views, and who looks through them.
pub(super) struct Views {
    post: mpsc::Sender<Event>,
    next: u32,
    pub(super) all: BTreeMap<ViewId, View>,
    pub(super) lookouts: BTreeMap<KindKey, BTreeMap<Identity, Lookout>>,
}

impl Views {
    pub(super) fn new(post: mpsc::Sender<Event>) -> Self {
        Self { post, next: 0, all: BTreeMap::new(), lookouts: BTreeMap::new() }
    }

    pub(super) fn get(&self, id: ViewId) -> Option<&View> {
        self.all.get(&id)
    }

    /// All views that a blueprint uses.
    pub(super) fn used_by<'a>(&'a self, blueprint: &'a BlueprintName) -> impl Iterator<Item = &'a View> {
        self.all.values().filter(move |it| it.users.contains(blueprint))
    }

    /// The kinds whose first list has not come, in sentences.
    pub(super) fn unlisted(&self) -> Vec<String> {
        let waits = self.all.values().filter(|it| it.sight == Sight::Unsynced);
        waits.map(|it| format!("{} is not listed yet for {}", it.kind, it.carrier)).collect()
    }

    pub(super) fn add(
        &mut self,
        carrier: &Identity,
        purpose: Purpose,
        api_version: &str,
        kind: KindKey,
        namespace: Option<String>,
    ) -> ViewId {
        let id = ViewId(self.next);
        self.next += 1;
        let view = View {
            carrier: carrier.clone(),
            readers: BTreeSet::from([carrier.clone()]),
            purpose,
            kind,
            namespace,
            api_version: api_version.to_owned(),
            resource: None,
            sight: Sight::Unsynced,
            metadata_only: false,
            objects: HashMap::new(),
            labelled: HashMap::new(),
            users: BTreeSet::new(),
            listed: 0,
            starts: 0,
            task: None,
            door: Door::Open,
        };
        self.all.insert(id, view);
        id
    }
}

impl Hub {
    /// Watches what Pemdas itself needs: where blueprints are looked for in some namespaces, nothing beyond them.
    pub(super) fn watch_own(&mut self) {
        let namespaces = self.views.add(
            &Identity::Pemdas,
            Purpose::Namespaces,
            "v1",
            KindKey::new("v1", "Namespace"),
            None,
        );
        self.find(namespaces);
        let mut places: Vec<_> = self.settings.namespaces.iter().cloned().map(Some).collect();
        if places.is_empty() {
            places.push(None);
        }
        let own = [
            (Purpose::Accounts, "v1", "ServiceAccount"),
            (Purpose::Ledgers, "v1", "Secret"),
            (Purpose::Blueprints, "v1", "ConfigMap"),
        ];
        let permissions = PERMISSIONS.map(|(api_version, kind)| (Purpose::Permissions, api_version, kind));
        for (purpose, api_version, kind) in own.into_iter().chain(permissions) {
            let namespaced = Resource::built_in(api_version, kind).is_some_and(|it| it.namespaced);
            // Whoever looks in some namespaces only may not see what belongs to none.
            for place in places.iter().filter(|it| namespaced || it.is_none()) {
                self.watch_own_in(purpose, api_version, kind, place.clone());
            }
        }
    }

    fn watch_own_in(&mut self, purpose: Purpose, api_version: &str, kind: &str, place: Option<String>) {
        let key = KindKey::new(api_version, kind);
        let id = self.views.add(&Identity::Pemdas, purpose, api_version, key, place);
        if let Some(view) = self.views.all.get_mut(&id) {
            view.door = match purpose {
                Purpose::Accounts => Door::Accounts,
                Purpose::Ledgers => Door::Ledgers(self.settings.keys.seal.clone()),
                Purpose::Blueprints => Door::Blueprints(Shares::new(self.settings.limits)),
                Purpose::Namespaces | Purpose::Permissions | Purpose::Objects => Door::Open,
            };
        }
        self.find(id);
    }

    /// Makes sure that the ledgers of a namespace are watched.
    pub(super) fn watch_ledgers(&mut self, namespace: &str) {
        let watched = self.views.all.values().any(|it| it.purpose == Purpose::Ledgers && it.shows(namespace));
        if !watched {
            self.watch_own_in(Purpose::Ledgers, "v1", "Secret", Some(namespace.to_owned()));
        }
    }

    /// Asks how a kind is served.
    pub(super) fn find(&mut self, id: ViewId) {
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
                self.is_served(id);
            }
            Err(why) => {
                if matches!(why, Unserved::Missing(_)) {
                    self.sight(id, Sight::NoSuchKind);
                } else {
                    tracing::warn!(%why, "a kind could not be looked up");
                }
                if mutant!(UnservedForEver) {
                    return;
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
    pub(super) fn follow(&mut self, id: ViewId) {
        let Some(view) = self.views.all.get_mut(&id) else { return };
        let Some(resource) = view.resource.clone() else { return };
        let labels = match view.purpose {
            Purpose::Blueprints => Some(BLUEPRINT_LABEL.to_owned()),
            Purpose::Ledgers => Some(LEDGER_LABEL.to_owned()),
            Purpose::Permissions => Some(PERMISSIONS_LABEL.to_owned()),
            Purpose::Namespaces | Purpose::Accounts | Purpose::Objects => None,
        };
        let metadata_only = view.metadata_only
            || matches!(view.purpose, Purpose::Namespaces | Purpose::Accounts | Purpose::Permissions);
        let watched = Watched {
            resource,
            namespace: view.namespace.clone(),
            labels,
            metadata_only,
            door: view.door.clone(),
        };
        let client = self.clients.of(&view.carrier);
        view.starts += 1;
        let start = view.starts;
        let (sender, mut receiver) = mpsc::channel(16);
        let post = self.views.post.clone();
        let task = tokio::spawn(async move {
            let forward = async {
                while let Some(news) = receiver.recv().await {
                    if post.send(Event::Told(id, start, news)).await.is_err() {
                        return;
                    }
                }
            };
            tokio::join!(follow(client, watched, sender), forward);
        });
        if let Some(old) = view.task.replace(task.abort_handle()) {
            old.abort();
        }
        if mutant!(SyncedAtOnce) {
            self.sight(id, Sight::Synced);
            self.listed(id);
        }
    }

    /// Somebody who was refused at the door may come in now: a little later, everything is listed again.
    fn look_for_room(&self, id: ViewId) {
        if self.views.get(id).is_none_or(|it| !it.door.has_room_again()) {
            return;
        }
        let post = self.post.clone();
        tokio::spawn(async move {
            tokio::time::sleep(LIST_AGAIN).await;
            let _ended = post.send(Event::LookAgain(id)).await;
        });
    }

    /// How a kind can be seen changed: everybody who uses it has to know.
    pub(super) fn sight(&mut self, id: ViewId, sight: Sight) {
        let Some(view) = self.views.all.get_mut(&id) else { return };
        view.sight = sight;
        if view.purpose == Purpose::Objects {
            tracing::debug!(kind = %view.kind, namespace = view.namespace, ?sight, "the permission to see a kind has changed");
            let (kind, users) = (view.kind.clone(), view.users.clone());
            self.tell_sight(&kind, &users);
        } else {
            self.report_soon();
        }
        self.tell_ready();
    }

    pub(super) fn told(&mut self, id: ViewId, start: u32, news: News) {
        let Some(view) = self.views.all.get_mut(&id).filter(|it| it.starts == start) else { return };
        match news {
            News::Listed(list, version) => {
                let newest = || list.iter().map(|it| it.resource_version).max().unwrap_or(0);
                let version = if mutant!(ListsWithoutVersion) { newest() } else { version };
                view.listed = version;
                let keys: BTreeSet<_> = list.iter().map(|it| it.key.clone()).collect();
                let mut gone: Vec<_> =
                    view.objects.keys().filter(|it| !keys.contains(*it)).cloned().collect();
                gone.sort();
                if mutant!(ListsOnlyAdd) {
                    gone.clear();
                }
                for key in gone {
                    self.gone(id, &key, version);
                }
                for live in list {
                    self.seen(id, &Arc::new(live));
                }
                if !mutant!(AnswersOutliveLists) {
                    self.unlisted(id, version);
                }
                self.sight(id, Sight::Synced);
                self.listed(id);
            }
            News::Seen(unread) => {
                if let Some(live) = self.heard(id, &unread) {
                    self.seen(id, &live);
                }
            }
            News::Gone(key, version) => self.gone(id, &key, version),
            News::Forbidden(why) => {
                tracing::warn!(kind = %view.kind, identity = %view.carrier, why, "a kind may not be watched");
                if view.purpose == Purpose::Objects {
                    self.carrier_refused(id);
                } else {
                    let accounts = view.purpose == Purpose::Accounts;
                    self.sight(id, Sight::Forbidden);
                    if accounts {
                        self.accounts_listed();
                    }
                }
            }
            News::Unserved => {
                self.sight(id, Sight::NoSuchKind);
                let Some(view) = self.views.all.get_mut(&id) else { return };
                if let Some(task) = view.task.take() {
                    task.abort();
                }
                self.found(id, Err(Unserved::Missing(self.views.all[&id].kind.clone())));
            }
            News::Outdated => {
                tracing::debug!(kind = %view.kind, "the schema of a kind may have changed; listing it again");
                self.find(id);
            }
            News::Failed(why) => {
                tracing::debug!(kind = %view.kind, why, "a watch broke; watching again");
            }
        }
    }

    /// The object that a watch tells of; read only if nobody knows it in this version from the answer to a write.
    fn heard(&self, id: ViewId, unread: &Unread) -> Option<Arc<Live>> {
        let view = self.views.get(id)?;
        let known = view.objects.get(&unread.key).cloned().filter(|it| unread.is(it));
        if let Some(known) = known.or_else(|| self.told_by_answer(view, unread)) {
            return Some(known);
        }
        let read = unread.read(view.resource.as_ref()?);
        if read.is_none() {
            tracing::warn!(kind = %view.kind, name = unread.key.name, "an object cannot be read");
        }
        read.map(|it| Arc::new(view.door.admit(it)))
    }

    fn seen(&mut self, id: ViewId, live: &Arc<Live>) {
        let Some(view) = self.views.all.get_mut(&id) else { return };
        let old = view.store(live);
        match view.purpose {
            Purpose::Blueprints => {
                self.blueprint_seen(live);
                self.look_for_room(id);
            }
            Purpose::Ledgers => self.ledger_seen(live),
            Purpose::Namespaces => {
                self.namespace_seen(live);
                if old.is_none() {
                    self.namespace_moved(Some(&live.key.name));
                }
            }
            Purpose::Accounts => self.account_seen(live, old.as_deref()),
            Purpose::Permissions => self.report_soon(),
            Purpose::Objects => self.object_seen(id, live, old.as_deref()),
        }
    }

    fn gone(&mut self, id: ViewId, key: &ObjectKey, version: u64) {
        let Some(view) = self.views.all.get_mut(&id) else { return };
        let old = view.remove(key);
        view.door.gone(key);
        match (view.purpose, old) {
            (Purpose::Blueprints, Some(old)) => {
                self.blueprint_gone(&old);
                self.look_for_room(id);
            }
            (Purpose::Ledgers, Some(old)) => self.ledger_gone(&old),
            (Purpose::Namespaces, _) => self.namespace_moved(Some(&key.name)),
            (Purpose::Permissions, _) => {}
            (Purpose::Accounts, old) => old.iter().for_each(|it| self.account_gone(it)),
            (_, old) => self.object_gone(id, key, version, old.as_deref()),
        }
    }

    /// A list is complete.
    fn listed(&mut self, id: ViewId) {
        let Some(view) = self.views.get(id) else { return };
        let users = view.users.clone();
        match view.purpose {
            Purpose::Ledgers => self.ledgers_listed(),
            Purpose::Blueprints => self.look_for_remains(),
            Purpose::Accounts => self.accounts_listed(),
            Purpose::Namespaces => self.namespace_moved(None),
            Purpose::Permissions => {}
            // What was passed over while nothing was known of its objects is looked at again.
            Purpose::Objects => users.iter().for_each(|it| self.begin_passed_over(it)),
        }
    }

    /// Whether the ledgers of a namespace are listed: before, nobody knows whether there is one.
    pub(super) fn knows_ledgers(&self, namespace: &str) -> bool {
        let mut ledgers = self.views.all.values().filter(|it| it.purpose == Purpose::Ledgers);
        ledgers.any(|it| it.shows(namespace) && it.sight == Sight::Synced)
    }

    /// How the ServiceAccounts of a namespace are seen, and one of them.
    pub(super) fn account(&self, namespace: &str, name: &str) -> (Sight, Option<&Arc<Live>>) {
        let key = ObjectKey::new(KindKey::new("v1", "ServiceAccount"), namespace.to_owned(), name.to_owned());
        let mut views = self.views.all.values();
        let view = views.find(|it| it.purpose == Purpose::Accounts && it.shows(namespace));
        view.map_or((Sight::Unsynced, None), |it| (it.sight, it.objects.get(&key)))
    }

    /// Whether all ledgers are listed.
    pub(super) fn knows_all_ledgers(&self) -> bool {
        let mut ledgers = self.views.all.values().filter(|it| it.purpose == Purpose::Ledgers);
        ledgers.all(|it| it.sight == Sight::Synced)
    }

    /// Whether all blueprints that there are were seen.
    pub(super) fn knows_blueprints(&self) -> bool {
        let mut views = self.views.all.values().filter(|it| it.purpose == Purpose::Blueprints);
        views.all(|it| it.sight == Sight::Synced)
    }

    /// Whether nobody says when a namespace is ending.
    pub(super) fn is_blind_to_namespaces(&self) -> bool {
        let mut views = self.views.all.values();
        views.any(|it| it.purpose == Purpose::Namespaces && it.sight == Sight::Forbidden)
    }

    /// The namespaces that are ending.
    pub(super) fn is_ending(&self, namespace: &str) -> bool {
        self.views
            .all
            .values()
            .filter(|it| it.purpose == Purpose::Namespaces)
            .flat_map(|it| it.objects.values())
            .any(|it| it.terminating && it.key.name == namespace && !mutant!(EndingUnseen))
    }
}
