//! Who looks at which kind, and through which watch.
//!
//! An identity that may list a kind in the whole cluster sees it by one watch, which all such identities share: one of them
//! carries it, the others look through it once the API server says that they may list and watch the same. Whoever may
//! not is shown namespaces: the blueprint's own, those that the blueprint names, and those that its instances turn out to
//! need. What is shared is asked again now and then: rights change without a sign.

use std::collections::{BTreeMap, BTreeSet};

use pemdas_core::{
    blueprint::{Blueprint, EVERY_NAMESPACE, NamePart, NameSegment},
    decide::Interests,
    rights::places,
    world::{Fact, KindKey, KindView, Live, ObjectKey, Sight, back_off},
};

use tokio::time::Instant;

use super::{
    Event, Hub, InstanceId,
    blueprints::BlueprintName,
    views::{Purpose, View, ViewId, Views, is_secret},
};
use crate::{
    access::{Access, Permission},
    identity::Identity,
    resource::Resource,
};

/// How many namespaces of a kind one identity is shown, each by a watch; beyond, it needs the right to the whole cluster.
pub(super) const MAX_NAMESPACES: usize = 64;
/// The longest pause before a missing right is asked for again, in milliseconds.
const MAX_PAUSE: u64 = 30_000;

/// What one identity sees of a kind.
pub(super) struct Lookout {
    api_version: String,
    /// Whether nothing but metadata is read of it.
    pub(super) metadata_only: bool,
    /// The blueprints that speak of the kind.
    pub(super) users: BTreeSet<BlueprintName>,
    resource: Option<Resource>,
    /// By namespace; the whole cluster under none.
    places: BTreeMap<Option<String>, Place>,
    /// How often in a row something was refused.
    tries: u32,
    /// When it is asked again.
    again: Option<Instant>,
}

/// How a namespace, or the whole cluster, is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The API server is asked whether somebody else's watch may be shared.
    Asking,
    Watched(ViewId),
    Refused,
}

impl Views {
    pub(super) fn lookout(&self, identity: &Identity, kind: &KindKey) -> Option<&Lookout> {
        self.lookouts.get(kind)?.get(identity)
    }

    fn lookout_mut(&mut self, identity: &Identity, kind: &KindKey) -> Option<&mut Lookout> {
        self.lookouts.get_mut(kind)?.get_mut(identity)
    }

    /// The views of a kind that an identity looks through.
    pub(super) fn of<'a>(&'a self, identity: &Identity, kind: &KindKey) -> impl Iterator<Item = &'a View> {
        let places = self.lookout(identity, kind).into_iter().flat_map(|it| it.places.values());
        places.filter_map(|it| match it {
            Place::Watched(id) => self.all.get(id),
            Place::Asking | Place::Refused => None,
        })
    }

    /// An object, as an identity sees it.
    pub(super) fn object(&self, identity: &Identity, key: &ObjectKey) -> Option<&std::sync::Arc<Live>> {
        self.of(identity, &key.kind).find_map(|it| it.objects.get(key))
    }

    /// How a kind is served, as far as that is known; and whether an identity reads its metadata only.
    pub(super) fn resource(&self, identity: &Identity, kind: &KindKey) -> Option<(Resource, bool)> {
        let lookout = self.lookout(identity, kind)?;
        Some((lookout.resource.clone()?, lookout.metadata_only))
    }

    /// The kinds that a blueprint looks at.
    pub(super) fn kinds_of(&self, blueprint: &BlueprintName, identity: &Identity) -> Vec<KindKey> {
        let seen = self
            .lookouts
            .iter()
            .filter(|(_, by)| by.get(identity).is_some_and(|it| it.users.contains(blueprint)));
        seen.map(|(kind, _)| kind.clone()).collect()
    }

    /// A watch that somebody else carries and that may be shared.
    fn shared(&self, kind: &KindKey, place: Option<&String>) -> Option<ViewId> {
        let fits = |it: &View| it.kind == *kind && it.namespace.as_ref() == place && !it.is_private();
        self.all.iter().find(|(_, it)| it.purpose == Purpose::Objects && fits(it)).map(|(id, _)| *id)
    }

    /// Renews who uses a view.
    fn recount(&mut self, id: ViewId) {
        let Some(view) = self.all.get_mut(&id) else { return };
        let by = self.lookouts.get(&view.kind);
        let users = view.readers.iter().filter_map(|it| by?.get(it)).flat_map(|it| it.users.iter().cloned());
        view.users = users.collect();
    }

    /// How an identity sees a kind in these places.
    fn sight_of(&self, identity: &Identity, kind: &KindKey, wanted: &BTreeSet<Option<String>>) -> Sight {
        let Some(lookout) = self.lookout(identity, kind) else { return Sight::Unsynced };
        let at = |place: &Option<String>| match lookout.places.get(place) {
            Some(Place::Watched(id)) => self.all.get(id).map_or(Sight::Unsynced, |it| it.sight),
            Some(Place::Refused) => self.sight_of_refused(place.as_deref()),
            Some(Place::Asking) => {
                let shared = self.shared(kind, place.as_ref()).and_then(|it| self.all.get(&it));
                shared.map(|it| it.sight).filter(|it| *it == Sight::NoSuchKind).unwrap_or(Sight::Unsynced)
            }
            None if lookout.places.len() > MAX_NAMESPACES => Sight::Forbidden,
            None => Sight::Unsynced,
        };
        if !lookout.is_narrow() {
            return at(&None);
        }
        let seen: BTreeSet<Sight> = wanted.iter().map(at).collect();
        let first = [Sight::NoSuchKind, Sight::Forbidden, Sight::Unsynced];
        let worst = first.into_iter().find(|it| seen.contains(it));
        // Whoever wants to see nothing of it sees all that it wants, if it may see anything.
        let any = lookout.places.values().any(|it| matches!(it, Place::Watched(_)));
        worst.unwrap_or(if seen.is_empty() && !any { Sight::Forbidden } else { Sight::Synced })
    }

    /// How an identity sees a kind in a namespace; with none, in the whole cluster. Where it does not look it sees nothing.
    pub(super) fn sight_in(&self, identity: &Identity, kind: &KindKey, namespace: Option<&str>) -> Sight {
        let Some(lookout) = self.lookout(identity, kind) else { return Sight::Unsynced };
        let namespace = namespace.filter(|_| lookout.is_narrow()).map(str::to_owned);
        match lookout.places.get(&namespace) {
            Some(Place::Watched(id)) => self.all.get(id).map_or(Sight::Unsynced, |it| it.sight),
            Some(Place::Asking) => Sight::Unsynced,
            Some(Place::Refused) => self.sight_of_refused(namespace.as_deref()),
            None => Sight::Forbidden,
        }
    }

    /// What is seen where nobody lets an identity look. In a namespace that is not there is nothing, and nobody who could be allowed to
    /// see it: what was made there went with the roles.
    fn sight_of_refused(&self, place: Option<&str>) -> Sight {
        let gone = place.is_some_and(|it| self.is_gone(it));
        if gone { Sight::Synced } else { Sight::Forbidden }
    }

    /// Whether a namespace is known not to be there.
    fn is_gone(&self, namespace: &str) -> bool {
        let key = ObjectKey::new(KindKey::new("v1", "Namespace"), String::new(), namespace.to_owned());
        let mut views = self.all.values().filter(|it| it.purpose == Purpose::Namespaces);
        views.any(|it| it.sight == Sight::Synced && !it.objects.contains_key(&key))
    }

    /// How an identity sees a kind wherever it looks.
    pub(super) fn sight_of_all(&self, identity: &Identity, kind: &KindKey) -> Sight {
        let places = self.lookout(identity, kind).into_iter().flat_map(|it| it.places.keys());
        self.sight_of(identity, kind, &places.filter(|it| it.is_some()).cloned().collect())
    }

    /// Whether an identity sees all there is of a kind where it looks.
    pub(super) fn sees_all(&self, identity: &Identity, kind: &KindKey) -> bool {
        matches!(self.sight_of_all(identity, kind), Sight::Synced | Sight::NoSuchKind)
    }

    /// As of when an identity was last told all there is of a kind in these places.
    fn listed_at(&self, identity: &Identity, kind: &KindKey, wanted: &BTreeSet<Option<String>>) -> u64 {
        let Some(lookout) = self.lookout(identity, kind) else { return 0 };
        let at = |place: &Option<String>| match lookout.places.get(place) {
            Some(Place::Watched(id)) => self.all.get(id).map_or(0, |it| it.listed),
            _ => 0,
        };
        // A namespace that does not exist has no list.
        let there = |it: &&Option<String>| !it.as_ref().is_some_and(|it| self.is_gone(it));
        if lookout.is_narrow() { wanted.iter().filter(there).map(at).min().unwrap_or(0) } else { at(&None) }
    }
}

impl Lookout {
    /// Whether it is shown namespaces, not the whole cluster.
    fn is_narrow(&self) -> bool {
        self.places.get(&None) == Some(&Place::Refused)
            && self.resource.as_ref().is_some_and(|it| it.namespaced)
    }
}

impl Hub {
    /// Makes sure that a kind is watched for a blueprint.
    pub(super) fn watch_kind(
        &mut self,
        blueprint: &BlueprintName,
        identity: &Identity,
        api_version: &str,
        kind: &str,
        metadata_only: bool,
    ) {
        let kind = KindKey::new(api_version, kind);
        let by = self.views.lookouts.entry(kind.clone()).or_default();
        let lookout = by.entry(identity.clone()).or_insert_with(|| Lookout {
            api_version: api_version.to_owned(),
            metadata_only,
            users: BTreeSet::new(),
            resource: None,
            places: BTreeMap::new(),
            tries: 0,
            again: None,
        });
        let is_new = lookout.users.insert(blueprint.clone());
        let bodies = lookout.metadata_only && !metadata_only;
        lookout.metadata_only &= metadata_only;
        let places: Vec<_> = lookout.places.iter().map(|(place, how)| (place.clone(), *how)).collect();
        let narrow = lookout.is_narrow();
        if places.is_empty() {
            self.open(identity, &kind, None);
        }
        for (place, how) in places {
            let Place::Watched(id) = how else { continue };
            if bodies {
                self.want_bodies(identity, &kind, place, id);
            }
            self.views.recount(id);
        }
        if narrow && is_new {
            self.open_namespaces(identity, &kind);
        }
    }

    /// Somebody wants bodies of what was seen without: it is listed anew.
    fn want_bodies(&mut self, identity: &Identity, kind: &KindKey, place: Option<String>, id: ViewId) {
        if is_secret(kind) {
            self.close(identity, kind, &place);
            self.open(identity, kind, place);
            return;
        }
        let Some(view) = self.views.all.get_mut(&id).filter(|it| it.metadata_only) else { return };
        view.metadata_only = false;
        self.sight(id, Sight::Unsynced);
        self.follow(id);
    }

    /// Begins to look at a namespace, or at the whole cluster.
    fn open(&mut self, identity: &Identity, kind: &KindKey, place: Option<String>) {
        let Some(lookout) = self.views.lookout(identity, kind) else { return };
        if lookout.places.contains_key(&place) || (place.is_some() && lookout.places.len() > MAX_NAMESPACES) {
            return;
        }
        let secret = is_secret(kind) && !lookout.metadata_only;
        if secret || self.views.shared(kind, place.as_ref()).is_none() {
            self.open_alone(identity, kind, place);
            return;
        }
        if let Some(lookout) = self.views.lookout_mut(identity, kind) {
            lookout.places.insert(place.clone(), Place::Asking);
        }
        // What is not served is not asked about: the one who carries the watch says when it is.
        self.ask_to_share(identity, kind, place);
    }

    fn ask_to_share(&mut self, identity: &Identity, kind: &KindKey, place: Option<String>) {
        let id = self.views.shared(kind, place.as_ref());
        let Some(resource) = id.and_then(|it| self.views.get(it)?.resource.clone()) else { return };
        if let Some(lookout) = self.views.lookout_mut(identity, kind) {
            lookout.resource = Some(resource.clone());
        }
        let (access, post) = (self.beside.access.clone(), self.post.clone());
        let (identity, kind) = (identity.clone(), kind.clone());
        tokio::spawn(async move {
            let may = may_see(&access, &identity, &resource, place.as_deref(), false).await;
            let _ended = post.send(Event::Rechecked(identity, kind, vec![(place, may)])).await;
        });
    }

    /// A kind is served: whoever waits to share its watch is asked about now.
    pub(super) fn is_served(&mut self, id: ViewId) {
        let Some(view) = self.views.get(id).filter(|it| it.purpose == Purpose::Objects) else { return };
        let (kind, place, resource) = (view.kind.clone(), view.namespace.clone(), view.resource.clone());
        let (readers, users) = (view.readers.clone(), view.users.clone());
        let mut waiting = Vec::new();
        for (identity, lookout) in self.views.lookouts.get_mut(&kind).into_iter().flatten() {
            if readers.contains(identity) {
                lookout.resource.clone_from(&resource);
            }
            if lookout.places.get(&place) == Some(&Place::Asking) {
                waiting.push(identity.clone());
            }
        }
        for identity in waiting {
            self.ask_to_share(&identity, &kind, place.clone());
        }
        // Now it is known how its permissions are called.
        for blueprint in users {
            self.review(&blueprint);
        }
    }

    /// Looks at a view that already exists.
    fn join(&mut self, identity: &Identity, kind: &KindKey, place: Option<String>, id: ViewId) {
        let Some(view) = self.views.all.get_mut(&id) else { return };
        view.readers.insert(identity.clone());
        let (resource, sight) = (view.resource.clone(), view.sight);
        let mut objects: Vec<_> = view.objects.values().cloned().collect();
        objects.sort_by(|a, b| a.key.cmp(&b.key));
        let Some(lookout) = self.views.lookout_mut(identity, kind) else { return };
        lookout.places.insert(place.clone(), Place::Watched(id));
        lookout.resource = resource;
        let bodies = !lookout.metadata_only;
        let users = lookout.users.clone();
        tracing::debug!(%kind, %identity, namespace = place, "a watch is shared");
        self.views.recount(id);
        if bodies && self.views.get(id).is_some_and(|it| it.metadata_only) {
            self.want_bodies(identity, kind, place, id);
            return;
        }
        if sight == Sight::Synced {
            for live in objects {
                self.object_seen(id, &live, None);
            }
        }
        self.tell_sight(kind, &users);
        self.tell_ready();
        users.iter().for_each(|it| self.begin_passed_over(it));
    }

    /// Looks away; somebody else carries the watch on, or it ends.
    fn close(&mut self, identity: &Identity, kind: &KindKey, place: &Option<String>) {
        let Some(lookout) = self.views.lookout_mut(identity, kind) else { return };
        if let Some(Place::Watched(id)) = lookout.places.remove(place) {
            self.leave(identity, id);
        }
    }

    fn leave(&mut self, identity: &Identity, id: ViewId) {
        let Some(view) = self.views.all.get_mut(&id) else { return };
        view.readers.remove(identity);
        let Some(next) = view.readers.first().cloned() else {
            self.views.all.remove(&id);
            self.tell_ready();
            return;
        };
        if view.carrier == *identity {
            view.carrier = next;
            self.follow(id);
        }
        self.views.recount(id);
    }

    /// Who carries a watch may not any more.
    pub(super) fn carrier_refused(&mut self, id: ViewId) {
        let Some(view) = self.views.get(id) else { return };
        let (identity, kind, place) = (view.carrier.clone(), view.kind.clone(), view.namespace.clone());
        let users = view.users.clone();
        self.leave(&identity, id);
        self.refuse(&identity, &kind, place);
        users.iter().for_each(|it| self.was_forbidden(it));
    }

    fn refuse(&mut self, identity: &Identity, kind: &KindKey, place: Option<String>) {
        let Some(lookout) = self.views.lookout_mut(identity, kind) else { return };
        let whole = place.is_none();
        lookout.places.insert(place, Place::Refused);
        let users = lookout.users.clone();
        if whole && lookout.is_narrow() {
            self.open_namespaces(identity, kind);
        }
        self.tell_sight(kind, &users);
        self.ask_again_later(identity, kind);
        for blueprint in users {
            self.review(&blueprint);
        }
    }

    /// Looks at the namespaces in which the blueprints of an identity have something.
    fn open_namespaces(&mut self, identity: &Identity, kind: &KindKey) {
        let Some(lookout) = self.views.lookout(identity, kind) else { return };
        let places_of =
            |it: &BlueprintName| self.places_of(it, kind).unwrap_or_else(|| self.namespaces_of(it));
        let places: BTreeSet<_> = lookout.users.iter().flat_map(places_of).collect();
        for namespace in places {
            self.open(identity, kind, Some(namespace));
        }
    }

    /// The namespaces that all objects of a kind are in, where a blueprint says so: it is to be seen nowhere else.
    fn places_of(&self, blueprint: &BlueprintName, kind: &KindKey) -> Option<BTreeSet<String>> {
        let running = self.blueprints.get(blueprint)?.running.as_ref()?;
        places(&running.blueprint, kind, &blueprint.namespace)
    }

    /// The namespaces that a blueprint is known to have something in.
    pub(super) fn namespaces_of(&self, blueprint: &BlueprintName) -> BTreeSet<String> {
        let mut found = self.settings.namespaces.clone();
        found.insert(blueprint.namespace.clone());
        if let Some(loaded) = self.blueprints.get(blueprint) {
            found.extend(loaded.namespaces.iter().cloned());
            found.extend(loaded.running.iter().flat_map(|it| literal_namespaces(&it.blueprint)));
        }
        found
    }

    /// Makes sure that an instance sees what it is interested in, where its account sees no whole cluster; whether what
    /// it knows of the kinds changed.
    pub(super) fn cover(&mut self, id: InstanceId, new: &Interests) -> bool {
        let Some(instance) = self.instances.get(id) else { return false };
        let (identity, blueprint) = (instance.identity.clone(), instance.blueprint.clone());
        let mut wanted: BTreeSet<(KindKey, Option<String>)> = new.kinds.clone();
        wanted.extend(new.objects.iter().map(|it| (it.kind.clone(), Some(it.namespace.clone()))));
        let mut touched = BTreeSet::new();
        for (kind, namespace) in wanted {
            if !self.views.lookout(&identity, &kind).is_some_and(Lookout::is_narrow) {
                continue;
            }
            touched.insert(kind.clone());
            let Some(namespace) = namespace.filter(|it| !it.is_empty()) else { continue };
            if let Some(loaded) = self.blueprints.get_mut(&blueprint)
                && namespace != blueprint.namespace
                && loaded.namespaces.len() < MAX_NAMESPACES
                && loaded.namespaces.insert(namespace.clone())
            {
                self.report_soon();
            }
            self.open(&identity, &kind, Some(namespace));
        }
        let before = self.instances.get(id).map(|it| it.world.changes);
        for kind in touched {
            self.tell_sight_to(id, &kind);
        }
        self.instances.get(id).map(|it| it.world.changes) != before
    }

    /// How an instance sees a kind.
    pub(super) fn kind_view(&self, id: InstanceId, kind: &KindKey) -> Option<KindView> {
        let instance = self.instances.get(id)?;
        let lookout = self.views.lookout(&instance.identity, kind)?;
        let mut wanted = BTreeSet::new();
        if lookout.is_narrow() {
            let root = &instance.world.root.key.namespace;
            let objects = instance.shown.objects.iter().filter(|it| it.kind == *kind);
            wanted.extend(objects.map(|it| Some(it.namespace.clone())));
            wanted.extend(instance.shown.kinds.iter().filter(|it| it.0 == *kind).map(|it| it.1.clone()));
            if self.places_of(&instance.blueprint, kind).is_none() {
                wanted.extend(Some(root.clone()).filter(|it| !it.is_empty()).map(Some));
            }
            // What an earlier process made for a root that goes may be wherever the blueprint has something.
            let unknown = *instance.shown == Interests::default();
            if unknown && instance.world.root.live.as_ref().is_some_and(|it| it.terminating) {
                wanted.extend(lookout.places.keys().filter(|it| it.is_some()).cloned());
            }
        }
        let resource = lookout.resource.as_ref();
        Some(KindView {
            sight: self.views.sight_of(&instance.identity, kind, &wanted),
            epoch: self.lease.epoch,
            watermark: self.views.listed_at(&instance.identity, kind, &wanted),
            observed_generation: resource.is_some_and(|it| it.observed_generation),
            namespaced: resource.is_some_and(|it| it.namespaced),
        })
    }

    pub(super) fn tell_sight_to(&mut self, id: InstanceId, kind: &KindKey) {
        if let Some(view) = self.kind_view(id, kind) {
            self.learn(id, Fact::Kind(kind.clone(), view));
        }
    }

    /// Tells the instances of blueprints how they see a kind.
    pub(super) fn tell_sight(&mut self, kind: &KindKey, blueprints: &BTreeSet<BlueprintName>) {
        for blueprint in blueprints {
            for instance in self.instances.of_blueprint(blueprint) {
                self.tell_sight_to(instance, kind);
            }
        }
        if blueprints.iter().any(|it| self.contends_for(it, kind)) {
            self.owners_changed();
        }
        // Whether all instances were seen may be known now.
        self.report_soon();
    }

    /// A namespace came or went, or all are known: what may not be seen there is seen differently.
    pub(super) fn namespace_moved(&mut self, namespace: Option<&str>) {
        let fits = |place: &Option<String>| match namespace {
            Some(name) => place.as_deref() == Some(name),
            None => place.is_some(),
        };
        let mut told = Vec::new();
        for (kind, by) in &self.views.lookouts {
            let blind =
                |it: &&Lookout| it.places.iter().any(|(place, how)| *how == Place::Refused && fits(place));
            told.extend(by.values().filter(blind).map(|it| (kind.clone(), it.users.clone())));
        }
        for (kind, users) in told {
            self.tell_sight(&kind, &users);
        }
    }

    /// Drops what a blueprint does not speak of any more.
    pub(super) fn release(&mut self, blueprint: &BlueprintName, still: &BTreeSet<KindKey>) {
        let mut ended = Vec::new();
        let mut touched = BTreeSet::new();
        for (kind, by) in &mut self.views.lookouts {
            for (identity, lookout) in by.iter_mut().filter(|_| !still.contains(kind)) {
                if !lookout.users.remove(blueprint) {
                    continue;
                }
                if lookout.users.is_empty() {
                    ended.push((identity.clone(), kind.clone()));
                }
                touched.extend(lookout.places.values().filter_map(|it| match it {
                    Place::Watched(id) => Some(*id),
                    Place::Asking | Place::Refused => None,
                }));
            }
        }
        for (identity, kind) in ended {
            let Some(by) = self.views.lookouts.get_mut(&kind) else { continue };
            let places = by.remove(&identity).map(|it| it.places).unwrap_or_default();
            if by.is_empty() {
                self.views.lookouts.remove(&kind);
            }
            for place in places.into_values() {
                if let Place::Watched(id) = place {
                    self.leave(&identity, id);
                }
            }
        }
        touched.into_iter().for_each(|id| self.views.recount(id));
        self.tell_ready();
    }

    /// Sets a time to ask again for what may change: what is refused, and what is shared.
    fn ask_again_later(&mut self, identity: &Identity, kind: &KindKey) {
        let shared = self.views.of(identity, kind).any(|it| it.carrier != *identity);
        let period = self.settings.recheck;
        let Some(lookout) = self.views.lookout_mut(identity, kind) else { return };
        let watched = lookout.places.values().any(|it| matches!(it, Place::Watched(_)));
        let lacks =
            lookout.places.iter().any(|(place, how)| *how == Place::Refused && (place.is_some() || !watched));
        let narrow = lookout.places.get(&None) == Some(&Place::Refused);
        if !(shared || narrow || lacks) {
            return;
        }
        let pause = if lacks {
            std::time::Duration::from_millis(back_off(lookout.tries).min(MAX_PAUSE)).min(period)
        } else {
            period
        };
        let at = Instant::now() + pause;
        if lookout.again.is_some_and(|it| it <= at) {
            return;
        }
        lookout.again = Some(at);
        lookout.tries = lookout.tries.saturating_add(1);
        let (post, identity, kind) = (self.post.clone(), identity.clone(), kind.clone());
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            let _ended = post.send(Event::Recheck(identity, kind)).await;
        });
    }

    /// Time to ask again what an identity may see of a kind.
    pub(super) fn recheck(&mut self, identity: Identity, kind: KindKey) {
        let shared: BTreeSet<_> = self
            .views
            .of(&identity, &kind)
            .filter(|it| it.carrier != identity)
            .map(|it| it.namespace.clone())
            .collect();
        let Some(lookout) = self.views.lookout_mut(&identity, &kind) else { return };
        lookout.again = None;
        let Some(resource) = lookout.resource.clone() else { return };
        let refused = lookout.places.iter().filter(|(_, how)| **how == Place::Refused);
        let places: BTreeSet<_> = refused.map(|(place, _)| place.clone()).chain(shared).collect();
        let (access, post) = (self.beside.access.clone(), self.post.clone());
        tokio::spawn(async move {
            let mut answers = Vec::new();
            for place in places {
                let may = may_see(&access, &identity, &resource, place.as_deref(), true).await;
                answers.push((place, may));
            }
            let _ended = post.send(Event::Rechecked(identity, kind, answers)).await;
        });
    }

    /// What an identity may see of a kind, as the API server says.
    pub(super) fn rechecked(
        &mut self,
        identity: &Identity,
        kind: &KindKey,
        answers: Vec<(Option<String>, Option<bool>)>,
    ) {
        for (place, may) in answers {
            let how = self.views.lookout(identity, kind).and_then(|it| it.places.get(&place)).copied();
            match (how, may) {
                (Some(Place::Asking), Some(true)) => match self.views.shared(kind, place.as_ref()) {
                    Some(id) => self.join(identity, kind, place, id),
                    // Nobody carries it any more.
                    None => self.reopen(identity, kind, place),
                },
                // A watch of its own finds out as well, and is refused by name.
                (Some(Place::Asking), None) => self.open_alone(identity, kind, place),
                (Some(Place::Asking), Some(false)) => self.refuse(identity, kind, place),
                (Some(Place::Refused), Some(true)) => {
                    // Whoever grants one right grants others too.
                    self.beside.access.forget(identity);
                    if place.is_none() {
                        self.close_namespaces(identity, kind);
                    }
                    self.reopen(identity, kind, place);
                }
                (Some(Place::Watched(id)), Some(false)) => {
                    tracing::warn!(%kind, %identity, namespace = place, "a kind may not be watched any more");
                    self.leave(identity, id);
                    self.refuse(identity, kind, place);
                }
                _ => {}
            }
        }
        self.ask_again_later(identity, kind);
    }

    fn reopen(&mut self, identity: &Identity, kind: &KindKey, place: Option<String>) {
        if let Some(lookout) = self.views.lookout_mut(identity, kind) {
            lookout.places.remove(&place);
            lookout.tries = 0;
        }
        self.open(identity, kind, place);
        let users = self.views.lookout(identity, kind).map(|it| it.users.clone()).unwrap_or_default();
        self.tell_sight(kind, &users);
        users.iter().for_each(|it| self.review(it));
    }

    fn open_alone(&mut self, identity: &Identity, kind: &KindKey, place: Option<String>) {
        let Some(lookout) = self.views.lookout(identity, kind) else { return };
        let (api_version, metadata_only) = (lookout.api_version.clone(), lookout.metadata_only);
        let id = self.views.add(identity, Purpose::Objects, &api_version, kind.clone(), place.clone());
        if let Some(view) = self.views.all.get_mut(&id) {
            view.metadata_only = metadata_only;
        }
        if let Some(lookout) = self.views.lookout_mut(identity, kind) {
            lookout.places.insert(place, Place::Watched(id));
        }
        self.views.recount(id);
        self.find(id);
    }

    fn close_namespaces(&mut self, identity: &Identity, kind: &KindKey) {
        let Some(lookout) = self.views.lookout(identity, kind) else { return };
        let places: Vec<_> = lookout.places.keys().filter(|it| it.is_some()).cloned().collect();
        for place in places {
            self.close(identity, kind, &place);
        }
    }
}

/// Whether an identity may list and watch a kind, in a namespace or in the whole cluster; nothing if that could not be
/// found out.
async fn may_see(
    access: &Access,
    identity: &Identity,
    resource: &Resource,
    namespace: Option<&str>,
    anew: bool,
) -> Option<bool> {
    let permission = |verb: &str| Permission {
        verb: verb.to_owned(),
        group: resource.kind.group.clone(),
        resource: resource.plural.clone(),
        namespace: namespace.map(str::to_owned),
        name: None,
    };
    let wanted = BTreeSet::from([permission("list"), permission("watch")]);
    if anew {
        access.forget_these(identity, &wanted);
    }
    let review = access.review(identity, &wanted).await;
    match (review.missing.is_empty(), review.unknown.is_empty()) {
        (false, _) => Some(false),
        (true, true) => Some(true),
        (true, false) => None,
    }
}

/// The namespaces that a blueprint names by a literal.
fn literal_namespaces(blueprint: &Blueprint) -> BTreeSet<String> {
    let parts = blueprint.nodes.values().filter_map(|it| Some(&it.body.identity()?.namespace));
    let texts = parts.filter_map(|it| match it {
        NamePart::Pattern(segments) => match segments.as_slice() {
            [NameSegment::Text(text)] if !text.is_empty() && text != EVERY_NAMESPACE => Some(text.clone()),
            _ => None,
        },
        NamePart::Missing | NamePart::Computed(_) => None,
    });
    texts.collect()
}
