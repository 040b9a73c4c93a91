//! Worlds: what each instance is shown.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use pemdas_core::{
    action::Event as Told,
    decide::{Interests, Memo, Mode},
    digest::Digest,
    world::{Fact, Finalizers, KindKey, LedgerFact, Live, ObjectKey, ROOT_LABEL, World},
};
use serde_json::json;

use super::{
    Event, Hub,
    beside::{Task, reference},
    blueprints::BlueprintName,
    reports::Tally,
    rollout::Seat,
    runway::UnderWay,
    sealing::Sealing,
    views::{Purpose, View, ViewId},
};
use crate::{
    identity::Identity, ledgers, machine::Machine, metrics::InstanceState, report::Place, watch::Unread,
};

/// How many roots that start nothing are remembered of a blueprint.
const MAX_PASSED_OVER: usize = 1_000;
/// How long until it is asked again whether a namespace is ending.
const ASK_FOR_ENDING: Duration = Duration::from_secs(10);

/// An instance, while this process leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(pub(super) u64);

/// A root object and everything that is known for it.
pub(super) struct Instance {
    pub(super) blueprint: BlueprintName,
    /// The name of the root's node.
    pub(super) root: String,
    pub(super) identity: Identity,
    pub(super) world: World,
    pub(super) memo: Memo,
    /// What it was shown besides what carries its label.
    pub(super) shown: Arc<Interests>,
    /// Whether an answer of the evaluator is waited for.
    pub(super) evaluating: bool,
    pub(super) wake: Option<u64>,
    /// Asks whether the namespace is ending, where nobody tells.
    pub(super) asks_for_ending: Option<Task>,
    /// Questions that were asked since it was counted last.
    pub(super) asked: usize,
    /// The passes that were counted.
    pub(super) counted: u64,
    /// Evaluations that had to be stopped, and whether that was told.
    pub(super) stopped: BTreeMap<Digest, bool>,
    /// The Service whose response is followed.
    pub(super) following: Option<(Place, Task)>,
    /// Ready, stalled or neither, as of its last turn.
    pub(super) standing: Option<Standing>,
    /// Since when it is neither ready nor suspended, in milliseconds since 1970.
    pub(super) not_ready_since: Option<u64>,
    /// Whether it was ever judged by all that it has to see.
    pub(super) judged: bool,
    /// How far it was when it had nothing to do, while it is not put to rest yet.
    pub(super) rests: Option<u64>,
    /// Its place on the runway, while it thinks.
    pub(super) place: Option<UnderWay>,
    /// Since when it is on its way: it wrote, and is not done.
    pub(super) moving: Option<u64>,
    /// Where it is on the way to the revision that runs.
    pub(super) seat: Seat,
    /// How far it is with sealing anew what an older key sealed.
    pub(super) sealing: Sealing,
}

/// How an instance is, for those who count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    Ready,
    Reconciling,
    Stalled,
    Removing,
    /// A human said that nothing is written.
    Suspended,
}

impl Standing {
    pub(super) fn counted(self) -> InstanceState {
        match self {
            Self::Ready => InstanceState::ready,
            Self::Reconciling => InstanceState::reconciling,
            Self::Stalled => InstanceState::stalled,
            Self::Removing => InstanceState::deleting,
            Self::Suspended => InstanceState::suspended,
        }
    }

    pub(super) fn of(decision: &pemdas_core::decide::Decision) -> Self {
        if decision.suspended {
            Self::Suspended
        } else if matches!(decision.mode, Mode::Removing | Mode::Deleting) {
            Self::Removing
        } else if decision.conditions.ready {
            Self::Ready
        } else if decision.conditions.stalled.is_empty() {
            Self::Reconciling
        } else {
            Self::Stalled
        }
    }
}

type RootPlace = (BlueprintName, String, ObjectKey);

/// All instances, and who has to hear of what.
#[derive(Default)]
pub(super) struct Instances {
    next: u64,
    /// In boxes: the nodes of a tree have room for eleven each.
    all: BTreeMap<InstanceId, Box<Instance>>,
    by_root: HashMap<RootPlace, InstanceId>,
    by_name: HashMap<String, InstanceId>,
    by_blueprint: BTreeMap<BlueprintName, BTreeSet<InstanceId>>,
    by_namespace: HashMap<String, BTreeSet<InstanceId>>,
    by_object: HashMap<ObjectKey, BTreeSet<InstanceId>>,
    by_kind: HashMap<KindKey, BTreeMap<InstanceId, BTreeSet<Option<String>>>>,
}

impl Instances {
    pub(super) fn get(&self, id: InstanceId) -> Option<&Instance> {
        self.all.get(&id).map(Box::as_ref)
    }

    pub(super) fn get_mut(&mut self, id: InstanceId) -> Option<&mut Instance> {
        self.all.get_mut(&id).map(Box::as_mut)
    }

    pub(super) fn of_blueprint(&self, blueprint: &BlueprintName) -> Vec<InstanceId> {
        self.by_blueprint.get(blueprint).into_iter().flatten().copied().collect()
    }

    /// How many instances of a blueprint there are; and whether each was looked at.
    pub(super) fn tally(&self, blueprint: &BlueprintName) -> (Tally, bool) {
        let (mut tally, mut judged) = (Tally::default(), true);
        for instance in self.by_blueprint.get(blueprint).into_iter().flatten().filter_map(|it| self.get(*it))
        {
            tally.total += 1;
            tally.ready += usize::from(instance.standing == Some(Standing::Ready));
            tally.stalled += usize::from(instance.standing == Some(Standing::Stalled));
            judged &= instance.judged;
        }
        (tally, judged)
    }

    /// Since when, in seconds since 1970, the instance of a blueprint that is not ready for longest is not.
    pub(super) fn not_ready_since(&self, blueprint: &BlueprintName) -> Option<i64> {
        let ids = self.by_blueprint.get(blueprint).into_iter().flatten();
        let all = ids.filter_map(|it| self.get(*it));
        let since = all.filter_map(|it| it.not_ready_since).min()?;
        i64::try_from(since / 1_000).ok()
    }

    /// Whether a blueprint has instances in a namespace.
    pub(super) fn are_in(&self, blueprint: &BlueprintName, namespace: &str) -> bool {
        let ids = self.by_blueprint.get(blueprint).into_iter().flatten();
        ids.filter_map(|it| self.get(*it)).any(|it| it.world.root.key.namespace == namespace)
    }

    /// Who wants to hear of an object besides the instance whose label it carries.
    fn interested(&self, key: &ObjectKey) -> BTreeSet<InstanceId> {
        let mut found = self.by_object.get(key).cloned().unwrap_or_default();
        for (id, namespaces) in self.by_kind.get(&key.kind).into_iter().flatten() {
            let wanted = |it: &Option<String>| it.as_ref().is_none_or(|it| *it == key.namespace);
            if namespaces.iter().any(wanted) {
                found.insert(*id);
            }
        }
        found
    }

    fn subscribe(&mut self, id: InstanceId, interests: &Interests) {
        for key in &interests.objects {
            self.by_object.entry(key.clone()).or_default().insert(id);
        }
        for (kind, namespace) in &interests.kinds {
            let of_kind = self.by_kind.entry(kind.clone()).or_default();
            of_kind.entry(id).or_default().insert(namespace.clone());
        }
    }

    fn unsubscribe(&mut self, id: InstanceId, interests: &Interests) {
        for key in &interests.objects {
            if let Some(ids) = self.by_object.get_mut(key) {
                ids.remove(&id);
                if ids.is_empty() {
                    self.by_object.remove(key);
                }
            }
        }
        for (kind, namespace) in &interests.kinds {
            if let Some(of_kind) = self.by_kind.get_mut(kind) {
                if let Some(namespaces) = of_kind.get_mut(&id) {
                    namespaces.remove(namespace);
                    if namespaces.is_empty() {
                        of_kind.remove(&id);
                    }
                }
                if of_kind.is_empty() {
                    self.by_kind.remove(kind);
                }
            }
        }
    }

    fn insert(&mut self, instance: Instance) -> InstanceId {
        let id = InstanceId(self.next);
        self.next += 1;
        let root = &instance.world.root;
        let place = (instance.blueprint.clone(), instance.root.clone(), root.key.clone());
        self.by_root.insert(place, id);
        self.by_name.insert(root.instance.clone(), id);
        self.by_blueprint.entry(instance.blueprint.clone()).or_default().insert(id);
        self.by_namespace.entry(root.key.namespace.clone()).or_default().insert(id);
        self.all.insert(id, Box::new(instance));
        id
    }

    pub(super) fn remove(&mut self, id: InstanceId) {
        let Some(instance) = self.all.remove(&id) else { return };
        self.unsubscribe(id, &instance.shown);
        let root = &instance.world.root;
        let place = (instance.blueprint.clone(), instance.root.clone(), root.key.clone());
        if self.by_root.get(&place) == Some(&id) {
            self.by_root.remove(&place);
        }
        self.by_name.remove(&root.instance);
        if let Some(ids) = self.by_blueprint.get_mut(&instance.blueprint) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_blueprint.remove(&instance.blueprint);
            }
        }
        if let Some(ids) = self.by_namespace.get_mut(&root.key.namespace) {
            ids.remove(&id);
        }
    }
}

/// The name of an instance: the uid of its root, and what tells apart two blueprints with the same root. It is the value of a label,
/// and fills it: a uid has 36 characters.
pub(crate) fn instance_name(blueprint: &BlueprintName, root: &str, uid: &str) -> String {
    let of = Digest::of(&[], &json!([blueprint.namespace, blueprint.name, root])).id();
    format!("{uid}.{of}")
}

impl Hub {
    /// An object of a kind that blueprints speak of.
    pub(super) fn object_seen(&mut self, view: ViewId, live: &Arc<Live>, old: Option<&Live>) {
        self.root_seen(view, live);
        self.object_is_late(live);
        for id in self.hearers(view, live, old) {
            self.learn(id, Fact::Seen(live.clone()));
        }
    }

    /// An object, as the answer to a write told it to an instance that sees as much of it as this watch does.
    pub(super) fn told_by_answer(&self, view: &View, unread: &Unread) -> Option<Arc<Live>> {
        if view.purpose != Purpose::Objects {
            return None;
        }
        let key = &unread.key;
        let roots = view.users.iter().flat_map(|blueprint| {
            let roots = self.blueprints.get(blueprint).map(|it| it.roots_of(&key.kind)).unwrap_or_default();
            roots.into_iter().map(move |root| (blueprint.clone(), root, key.clone()))
        });
        let of_root = roots.filter_map(|it| self.instances.by_root.get(&it).copied());
        let sees_as_much = |it: &&Instance| {
            view.readers.contains(&it.identity)
                && self
                    .views
                    .lookout(&it.identity, &key.kind)
                    .is_some_and(|it| it.metadata_only == view.metadata_only)
        };
        let of_object = self.instances.by_object.get(key).into_iter().flatten().copied();
        of_object
            .chain(of_root)
            .filter_map(|id| self.instances.get(id))
            .filter(sees_as_much)
            .filter_map(|it| {
                it.world.objects.get(key).or_else(|| it.world.root.live.as_ref().filter(|it| it.key == *key))
            })
            .find(|it| unread.is(it))
            .cloned()
    }

    /// Who has to hear of an object: whose label it has or had, and who is interested in it.
    fn hearers(&self, view: ViewId, live: &Live, old: Option<&Live>) -> BTreeSet<InstanceId> {
        let mut ids = self.instances.interested(&live.key);
        let labels = [Some(live), old].into_iter().flatten().filter_map(|it| it.peek_label(ROOT_LABEL));
        ids.extend(labels.filter_map(|it| self.instances.by_name.get(&it)));
        // Nobody hears what only another identity may see.
        let Some(readers) = self.views.get(view).map(|it| &it.readers) else { return ids };
        ids.retain(|id| self.instances.get(*id).is_some_and(|it| readers.contains(&it.identity)));
        ids
    }

    /// What instances know only from the answers to their own writes, and a newer list does not have, is gone: no watch ever saw it.
    pub(super) fn unlisted(&mut self, view: ViewId, version: u64) {
        let Some(seen_by) = self.views.get(view).filter(|it| it.purpose == Purpose::Objects) else { return };
        let mut gone = Vec::new();
        for id in seen_by.users.iter().flat_map(|it| self.instances.of_blueprint(it)) {
            let instance = self.instances.get(id).filter(|it| seen_by.readers.contains(&it.identity));
            let known = instance.into_iter().flat_map(|it| it.world.objects_of(&seen_by.kind));
            let missing =
                known.filter(|it| seen_by.shows(&it.key.namespace) && !seen_by.objects.contains_key(&it.key));
            gone.extend(missing.map(|it| (id, it.key.clone())));
        }
        for (id, key) in gone {
            self.learn(id, Fact::Vanished(key, version));
        }
    }

    pub(super) fn object_gone(&mut self, view: ViewId, key: &ObjectKey, version: u64, old: Option<&Live>) {
        let Some(seen_by) = self.views.get(view) else { return };
        let (readers, users) = (seen_by.readers.clone(), seen_by.users.clone());
        for blueprint in users {
            let Some(loaded) = self.blueprints.get(&blueprint) else { continue };
            for root in loaded.roots_of(&key.kind) {
                if let Some(id) = self.instances.by_root.get(&(blueprint.clone(), root, key.clone())).copied()
                {
                    self.learn(id, Fact::RootVanished);
                }
            }
        }
        let mut ids = self.instances.interested(key);
        ids.extend(
            old.and_then(|it| it.peek_label(ROOT_LABEL)).and_then(|it| self.instances.by_name.get(&it)),
        );
        for id in ids {
            if self.instances.get(id).is_some_and(|it| readers.contains(&it.identity)) {
                self.learn(id, Fact::Vanished(key.clone(), version));
            }
        }
    }

    /// An object that may be a root of some blueprints.
    pub(super) fn root_seen(&mut self, view: ViewId, live: &Arc<Live>) {
        let Some(seen_by) = self.views.get(view) else { return };
        if seen_by.purpose != Purpose::Objects {
            return;
        }
        for blueprint in seen_by.users.clone() {
            let Some(loaded) = self.blueprints.get(&blueprint) else { continue };
            for root in loaded.roots_of(&live.key.kind) {
                self.root_of(&blueprint, &root, live);
            }
        }
    }

    /// A root of a blueprint was seen.
    pub(super) fn root_of(&mut self, blueprint: &BlueprintName, root: &str, live: &Arc<Live>) {
        let place = (blueprint.clone(), root.to_owned(), live.key.clone());
        let mut id = self.instances.by_root.get(&place).copied();
        let selected = self.blueprints.get(blueprint).is_some_and(|it| it.selects(root, live))
            || (mutant!(SelectedForEver) && id.is_some());
        if let Some(known) = id
            && self.instances.get(known).is_some_and(|it| it.world.root.uid != live.uid)
            && !mutant!(SameNameIsSame)
        {
            // Another object under the same name: the instance of the old one ends by itself.
            self.learn(known, Fact::RootVanished);
            id = None;
        }
        let id = match id {
            Some(id) => id,
            None if self.may_begin(blueprint, root, live, selected) => self.begin(blueprint, root, live),
            None => return self.pass_over(blueprint, live, selected),
        };
        self.learn(id, Fact::Selected(selected));
        self.learn(id, Fact::Root(live.clone()));
        if live.terminating {
            self.ask_for_ending(id);
            let identity = self.instances.get(id).map(|it| it.identity.clone());
            for kind in identity.map(|it| self.views.kinds_of(blueprint, &it)).unwrap_or_default() {
                self.tell_sight_to(id, &kind);
            }
        }
    }

    /// Whether an instance begins: not for a blueprint that is going or that does not serve the kind, unless it has begun
    /// before. What it made of a kind that another blueprint serves now it removes when the root goes.
    fn may_begin(&self, blueprint: &BlueprintName, root: &str, live: &Live, selected: bool) -> bool {
        let Some(loaded) = self.blueprints.get(blueprint) else { return false };
        if !self.serves(blueprint, root, &live.key.namespace) {
            let held = Finalizers::of(&instance_name(blueprint, root, &live.uid)).hold(live);
            return live.terminating && held;
        }
        (selected && !loaded.is_going()) || self.has_traces(blueprint, root, live)
    }

    /// A root that starts nothing, for now or for good.
    fn pass_over(&mut self, blueprint: &BlueprintName, live: &Arc<Live>, selected: bool) {
        let Some(loaded) = self.blueprints.get_mut(blueprint) else { return };
        let is_new =
            loaded.passed_over.len() < MAX_PASSED_OVER && loaded.passed_over.insert(live.uid.clone());
        if is_new && selected && loaded.live().terminating && !live.terminating {
            let message = format!("the blueprint {blueprint} is being deleted and starts nothing new");
            let event = Told { about: None, reason: "BlueprintGoing".to_owned(), message, warning: true };
            self.beside.teller.tell(reference(live), event);
        }
    }

    /// Asks now and then whether the namespace of a root that goes is ending, where no watch says so.
    fn ask_for_ending(&mut self, id: InstanceId) {
        let blind = self.is_blind_to_namespaces();
        let Some(instance) = self.instances.all.get_mut(&id) else { return };
        let namespace = instance.world.root.key.namespace.clone();
        if !blind || namespace.is_empty() || instance.asks_for_ending.is_some() {
            return;
        }
        let api: kube::Api<k8s_openapi::api::core::v1::Namespace> = kube::Api::all(self.clients.own());
        let post = self.post.clone();
        let task = tokio::spawn(async move {
            loop {
                let found = api.get_opt(&namespace).await;
                let ending =
                    found.is_ok_and(|it| it.is_none_or(|it| it.metadata.deletion_timestamp.is_some()));
                if ending {
                    let _ended = post.send(Event::Ended(id, vec![Fact::NamespaceEnding(true)])).await;
                    return;
                }
                tokio::time::sleep(ASK_FOR_ENDING).await;
            }
        });
        instance.asks_for_ending = Some(Task::of(&task));
    }

    /// Whether a root that is not selected was, once.
    fn has_traces(&self, blueprint: &BlueprintName, root: &str, live: &Live) -> bool {
        if mutant!(TracesForgotten) {
            return false;
        }
        let name = instance_name(blueprint, root, &live.uid);
        let served = live.body.pointer("/status/pemdas").is_some() && self.owns(blueprint, root);
        let held = Finalizers::of(&name).hold(live);
        served || held || self.views.used_by(blueprint).any(|it| it.labelled.contains_key(&name))
    }

    /// Begins an instance: with everything that is known for it already.
    fn begin(&mut self, blueprint: &BlueprintName, root: &str, live: &Arc<Live>) -> InstanceId {
        let identity = self.blueprints.get(blueprint).map_or(Identity::Pemdas, |it| it.identity.clone());
        let mut world = World::new(live.key.clone(), live.uid.clone());
        world.root.instance = instance_name(blueprint, root, &live.uid);
        self.departed.forget(&world.root.instance);
        world.secret.clone_from(&self.settings.keys.digests);
        world.seal.clone_from(&self.settings.keys.seal);
        world.entropy = entropy(&self.settings.machine);
        world.learn(Fact::Now(self.clock.now()));
        world.learn(Fact::Lease(self.lease));
        world.learn(Fact::NamespaceEnding(self.is_ending(&live.key.namespace)));
        world.learn(Fact::Suspended(self.suspension(blueprint)));
        let ledgers = if live.key.namespace.is_empty() { &blueprint.namespace } else { &live.key.namespace };
        self.watch_ledgers(ledgers);
        if self.knows_ledgers(ledgers) {
            let place = ledgers::Place { namespace: ledgers.clone(), instance: world.root.instance.clone() };
            let ledger = self.ledgers.get(&place).cloned().unwrap_or(LedgerFact::Absent);
            world.learn(Fact::Ledger(ledger));
        }
        let readable = self.views.used_by(blueprint).filter(|it| it.readers.contains(&identity));
        for view in readable {
            for key in view.labelled.get(&world.root.instance).into_iter().flatten() {
                if let Some(live) = view.objects.get(key) {
                    world.learn(Fact::Seen(live.clone()));
                }
            }
        }
        let instance = Instance {
            blueprint: blueprint.clone(),
            root: root.to_owned(),
            identity,
            world,
            memo: Memo::default(),
            shown: Arc::default(),
            evaluating: false,
            wake: None,
            asks_for_ending: None,
            asked: 0,
            counted: 0,
            stopped: BTreeMap::new(),
            following: None,
            standing: None,
            not_ready_since: None,
            judged: false,
            rests: None,
            place: None,
            moving: None,
            seat: Seat::default(),
            sealing: Sealing::default(),
        };
        let kinds = self.views.kinds_of(blueprint, &instance.identity);
        let id = self.instances.insert(instance);
        for kind in kinds {
            if let Some(view) = self.kind_view(id, &kind) {
                self.learn(id, Fact::Kind(kind, view));
            }
        }
        self.report_soon();
        self.queue.push(blueprint, id);
        id
    }

    /// Shows an instance what its last decision says that it has to see; whether there was anything new.
    pub(super) fn show(&mut self, id: InstanceId, wanted: &Arc<Interests>) -> bool {
        let Some(instance) = self.instances.all.get_mut(&id) else { return false };
        if instance.shown == *wanted {
            return false;
        }
        let new = Interests {
            objects: wanted.objects.difference(&instance.shown.objects).cloned().collect(),
            kinds: wanted.kinds.difference(&instance.shown.kinds).cloned().collect(),
        };
        let old = Interests {
            objects: instance.shown.objects.difference(&wanted.objects).cloned().collect(),
            kinds: instance.shown.kinds.difference(&wanted.kinds).cloned().collect(),
        };
        instance.shown.clone_from(wanted);
        let identity = instance.identity.clone();
        let changes = instance.world.changes;
        for key in &new.objects {
            if let Some(live) = self.views.object(&identity, key) {
                instance.world.learn(Fact::Seen(live.clone()));
            }
        }
        for (kind, namespace) in &new.kinds {
            let here = |it: &&Arc<Live>| namespace.as_ref().is_none_or(|name| it.key.namespace == *name);
            let objects = self.views.of(&identity, kind).flat_map(|it| it.objects.values());
            for live in objects.filter(here) {
                instance.world.learn(Fact::Seen(live.clone()));
            }
        }
        let learnt = instance.world.changes != changes;
        self.instances.subscribe(id, &new);
        self.instances.unsubscribe(id, &old);
        self.cover(id, &new) || learnt
    }

    /// An instance is over, or is to begin anew.
    pub(super) fn end(&mut self, id: InstanceId) {
        let Some(instance) = self.instances.get(id) else { return };
        let (blueprint, standing) = (instance.blueprint.clone(), instance.standing);
        if let Some(at) = instance.wake {
            self.timers.remove(&(at, id));
        }
        self.beside.metrics.moved(&blueprint.to_string(), standing.map(Standing::counted), None);
        self.instances.remove(id);
        self.let_go_of_the_past(&blueprint);
        self.reseal(&blueprint);
        self.report_soon();
    }

    pub(super) fn ledger_seen(&mut self, live: &Live) {
        let Some(place) = ledgers::place(live) else { return };
        let fact = ledgers::read(live, &self.settings.keys.seal);
        self.ledgers.insert(place.clone(), fact.clone());
        if let Some(id) = self.whose_ledger(&place) {
            self.learn(id, Fact::Ledger(fact));
        }
        self.ledger_is_late(live);
    }

    pub(super) fn ledger_gone(&mut self, live: &Live) {
        let Some(place) = ledgers::place(live) else { return };
        self.ledgers.remove(&place);
        if let Some(id) = self.whose_ledger(&place) {
            self.learn(id, Fact::Ledger(LedgerFact::Absent));
        }
    }

    /// The instance whose ledger is in this place: one of its name in another namespace is somebody else's Secret.
    fn whose_ledger(&self, place: &ledgers::Place) -> Option<InstanceId> {
        let id = self.instances.by_name.get(&place.instance).copied()?;
        (self.instances.get(id)?.ledger() == *place).then_some(id)
    }

    /// Now it is known who has no ledger.
    pub(super) fn ledgers_listed(&mut self) {
        let ids: Vec<_> = self.instances.all.keys().copied().collect();
        for id in ids {
            let Some(instance) = self.instances.get(id) else { continue };
            let place = instance.ledger();
            if !self.knows_ledgers(&place.namespace) {
                continue;
            }
            let fact = self.ledgers.get(&place).cloned().unwrap_or(LedgerFact::Absent);
            self.learn(id, Fact::Ledger(fact));
        }
    }

    pub(super) fn namespace_seen(&mut self, live: &Live) {
        let ending = live.terminating && !mutant!(EndingUnseen);
        let ids = self.instances.by_namespace.get(&live.key.name).cloned().unwrap_or_default();
        for id in ids {
            self.learn(id, Fact::NamespaceEnding(ending));
        }
    }
}

impl Instance {
    /// Where its ledger is: beside the root, or beside the blueprint where the root has no namespace.
    pub(super) fn ledger(&self) -> ledgers::Place {
        let root = &self.world.root;
        let beside =
            if root.key.namespace.is_empty() { &self.blueprint.namespace } else { &root.key.namespace };
        ledgers::Place { namespace: beside.clone(), instance: root.instance.clone() }
    }
}

/// A random string: seeds are made from it, and recorded before they are used. Passwords may be made of them.
fn entropy(machine: &Machine) -> String {
    let mut bytes = [0_u8; 32];
    if let Err(error) = machine.fill(&mut bytes) {
        tracing::error!(%error, "the system gives no randomness");
    }
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}
