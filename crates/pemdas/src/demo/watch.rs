//! Looking at the cluster of a demonstration: how every instance fares, and what happened since the last look.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::mpsc::{self, Receiver, SyncSender},
    time::{Duration, Instant},
};

use pemdas_core::{blueprint::Blueprint, ledger::Slot, world::KindKey};
use pemdas_kube::survey::roots;
use serde_json::Value;

use super::{
    bed::Bed,
    story::{self, Moment},
    tree,
};
use crate::trial::person::Made;
use crate::{
    explain::{Explainer, Instance, State},
    live::Session,
    operate::Workers,
};

/// How long a state has to last before it is believed: what is seen in passing is not how it ends.
const TO_LAST: Duration = Duration::from_secs(3);
/// How long nothing may happen, while something is waited for, before that is told.
const QUIET: Duration = Duration::from_secs(30);

/// How long between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Looks at all instances whenever something has changed, in a thread of its own: a look takes as long as its questions.
pub(crate) struct Looker(Receiver<(u64, Vec<Instance>)>);

impl Looker {
    /// Begins to look, over a session that is made in the thread. The thread ends when nobody wants to know any more.
    pub(crate) fn start(
        watched: &Watched<'_>,
        session: impl FnOnce() -> Option<Session> + Send + 'static,
        workers: Workers,
    ) -> Self {
        let (tell, seen) = mpsc::sync_channel(1);
        let (host, kinds) = (watched.bed.host(), watched.kinds());
        std::thread::spawn(move || {
            let Some(session) = session() else { return };
            let explainer = Explainer::new(&session, workers);
            let revision = || host.with(|cluster| cluster.server().store().revision());
            look(&explainer, &kinds, revision, &tell);
        });
        Self(seen)
    }
}

fn look(
    explainer: &Explainer<'_>,
    kinds: &BTreeSet<(String, String)>,
    revision: impl Fn() -> u64,
    tell: &SyncSender<(u64, Vec<Instance>)>,
) {
    let mut looked = 0;
    loop {
        let now = revision();
        let of_kind = |(api_version, kind): &(String, String)| {
            explainer.instances(&KindKey::new(api_version, kind)).ok()
        };
        // What is changed while it is looked at may not be found: the next look will see.
        let seen: Option<Vec<Vec<Instance>>> =
            if now == looked { None } else { kinds.iter().map(of_kind).collect() };
        if let Some(seen) = seen {
            looked = now;
            if tell.send((now, seen.into_iter().flatten().collect())).is_err() {
                return;
            }
        }
        std::thread::sleep(PAUSE);
    }
}

/// How it goes with all instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Something is still to come.
    Moving,
    /// All are ready, and nothing is left to be created.
    Ready,
    /// A human must look.
    Stalled,
    /// Nothing happens any more, and not all are ready.
    Quiet,
}

/// What is looked at.
pub(crate) struct Watched<'a> {
    bed: &'a Bed,
    blueprint: Blueprint,
    /// What is wrong with the files that somebody edits, a line each.
    pub(crate) trouble: Vec<String>,
    /// What is still to be created, with the file it is from.
    pub(crate) open: Vec<(String, Value)>,
    /// All that was to be created, with the file it is from.
    samples: Vec<(String, Value)>,
    /// The instances, as they were seen last.
    pub(crate) instances: Vec<Instance>,
    /// What happened, oldest first.
    pub(crate) story: Vec<(Duration, Moment)>,
    begun: Instant,
    told: u64,
    looked: u64,
    changed: Instant,
    stalled: Option<Instant>,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(bed: &'a Bed, blueprint: Blueprint, open: Vec<(String, Value)>) -> Self {
        let now = Instant::now();
        Self {
            bed,
            blueprint,
            trouble: Vec::new(),
            samples: open.clone(),
            open,
            instances: Vec::new(),
            story: Vec::new(),
            begun: now,
            told: 0,
            looked: 0,
            changed: now,
            stalled: None,
        }
    }

    /// How long it goes already.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Whether the instances were looked at already.
    pub(crate) fn has_looked(&self) -> bool {
        self.looked > 0
    }

    /// The kinds that instances are of: with their API versions.
    fn kinds(&self) -> BTreeSet<(String, String)> {
        roots(&self.blueprint).into_iter().map(|(_, api_version, kind)| (api_version, kind)).collect()
    }

    /// Whether the cluster knows all kinds that instances are of: the operator defines them when it runs the blueprint.
    pub(crate) fn is_served(&self) -> bool {
        self.kinds().iter().all(|(api_version, kind)| self.bed.served(api_version, kind).is_some())
    }

    /// Creates what can be created by now, in its order.
    ///
    /// # Errors
    /// Which object is refused, and why.
    pub(crate) fn create(&mut self) -> Result<(), String> {
        while let Some((file, object)) = self.open.first() {
            match self.bed.apply(object) {
                Made::Done | Made::Unchanged => self.open.remove(0),
                Made::NotServed => return Ok(()),
                Made::Refused(why) => return Err(format!("{file} is refused: {why}")),
            };
        }
        Ok(())
    }

    /// Applies what somebody edited: the objects that are not as they were applied last. What is refused is trouble, and no end.
    pub(crate) fn edited(&mut self, objects: Vec<(String, Value)>) {
        for (file, object) in objects {
            let same = |it: &(String, Value)| is_same(&it.1, &object);
            if let Some(known) = self.samples.iter_mut().find(|it| same(it)) {
                if known.1 == object {
                    continue;
                }
                known.1.clone_from(&object);
            } else {
                self.samples.push((file.clone(), object.clone()));
            }
            self.open.retain(|it| !same(it));
            match self.bed.apply(&object) {
                Made::Done | Made::Unchanged => {}
                Made::NotServed => self.open.push((file, object)),
                Made::Refused(why) => self.trouble.push(format!("{file} is refused: {why}")),
            }
        }
        self.changed = Instant::now();
    }

    /// The blueprint as it is now; whether instances are of other kinds.
    pub(crate) fn take_blueprint(&mut self, blueprint: Blueprint) -> bool {
        let before = self.kinds();
        self.blueprint = blueprint;
        self.kinds() != before
    }

    /// The samples of instances that somebody deleted.
    pub(crate) fn deleted(&self) -> Vec<&Value> {
        let kinds = self.kinds();
        let of_instance = |object: &Value| {
            let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
            kinds.contains(&(text("apiVersion"), text("kind")))
        };
        let is_open = |object: &Value| self.open.iter().any(|(_, it)| is_same(it, object));
        let samples = self.samples.iter().map(|(_, it)| it);
        samples.filter(|it| of_instance(it) && !is_open(it) && !self.bed.has(it)).collect()
    }

    /// Creates what was deleted again.
    pub(crate) fn again(&mut self) {
        let deleted: Vec<Value> = self.deleted().into_iter().cloned().collect();
        self.open.extend(self.samples.iter().filter(|(_, it)| deleted.contains(it)).cloned());
        self.changed = Instant::now();
    }

    /// What happened since the last time, told once.
    pub(crate) fn listen(&mut self) -> usize {
        let changes = self.bed.with(|cluster| {
            let store = cluster.server().store();
            (store.revision(), store.since(self.told).map(<[_]>::to_vec).unwrap_or_default())
        });
        let kinds = self.kinds();
        let is_root = |object: &Value| {
            let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
            let own = self.blueprint.kinds.contains_key(&text("kind"));
            let known = || self.is_instance(object) || self.samples.iter().any(|it| is_same(&it.1, object));
            kinds.contains(&(text("apiVersion"), text("kind"))) && (own || known())
        };
        let moments: Vec<Moment> = changes.1.iter().filter_map(|it| story::told(it, is_root)).collect();
        if changes.0 != self.told {
            self.changed = Instant::now();
        }
        self.told = changes.0;
        let now = self.elapsed();
        let heard = moments.len();
        self.story.extend(moments.into_iter().map(|it| (now, it)));
        heard
    }

    fn is_instance(&self, object: &Value) -> bool {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        self.instances.iter().any(|it| {
            object["kind"] == it.root.kind.kind.as_str()
                && text("name") == it.root.name
                && text("namespace") == it.root.namespace
        })
    }

    /// Takes what was seen last, if there is something new.
    pub(crate) fn take(&mut self, looker: &Looker) {
        for (revision, seen) in looker.0.try_iter() {
            self.looked = revision;
            self.instances = seen;
        }
        let stalled = self.instances.iter().any(|it| it.state == State::Stalled);
        self.stalled = stalled.then(|| self.stalled.unwrap_or_else(Instant::now));
    }

    /// How it goes.
    pub(crate) fn standing(&self) -> Standing {
        let ready = !self.instances.is_empty() && self.instances.iter().all(|it| self.is_ready(it));
        if ready && self.open.is_empty() && self.looked == self.told {
            Standing::Ready
        } else if self.stalled.is_some_and(|since| since.elapsed() >= TO_LAST) {
            Standing::Stalled
        } else if self.changed.elapsed() >= QUIET && self.bed.with(|it| it.next_event()).is_none() {
            Standing::Quiet
        } else {
            Standing::Moving
        }
    }

    /// Whether an instance is ready by what is seen, and by what the operator says where it can say so.
    fn is_ready(&self, instance: &Instance) -> bool {
        let owned = self.blueprint.kinds.get(&instance.root.kind.kind);
        let says_so = |(api_version, kind): &(String, String)| {
            let object =
                (*kind == instance.root.kind.kind).then(|| self.bed.object(api_version, &instance.root));
            let conditions = object.flatten().and_then(|it| it.pointer("/status/conditions").cloned());
            let list = conditions.as_ref().and_then(Value::as_array);
            list.is_some_and(|all| all.iter().any(|it| it["type"] == "Ready" && it["status"] == "True"))
        };
        instance.state == State::Ready && (owned.is_none() || self.kinds().iter().any(says_so))
    }

    /// What is not ready yet, each in a line with the reason.
    pub(crate) fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        for (file, object) in &self.open {
            let (kind, name) = (&object["kind"], &object["metadata"]["name"]);
            let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
            missing.push(format!("{} {} of {file}: nobody serves its kind", text(kind), text(name)));
        }
        if self.instances.is_empty() && self.open.is_empty() {
            missing
                .push("there is no instance: nothing that was created is a root of the blueprint".to_owned());
        }
        for instance in &self.instances {
            let nodes = instance.nodes.iter().filter(|(_, it)| !it.is_ready() && !it.phase.is_empty());
            let before = missing.len();
            for (slot, node) in nodes {
                let why = match tree::reason(node) {
                    why if why.is_empty() => String::new(),
                    why => format!(": {why}"),
                };
                missing.push(format!("{} {slot} is {}{why}", instance.root, node.phase));
            }
            if missing.len() == before && !self.is_ready(instance) {
                missing.push(format!("{} is {}", instance.root, instance.state.word()));
            }
        }
        missing
    }

    /// How many of the nodes of an instance are ready, and how many there are.
    pub(crate) fn count(instance: &Instance) -> (usize, usize) {
        let nodes: &BTreeMap<Slot, _> = &instance.nodes;
        (nodes.values().filter(|it| it.is_ready()).count(), nodes.len())
    }
}

/// Whether two are the same object: what they say of it may differ.
fn is_same(one: &Value, other: &Value) -> bool {
    let same = |at: &str| one.pointer(at) == other.pointer(at);
    let namespace = |it: &Value| it["metadata"]["namespace"].as_str().unwrap_or("default").to_owned();
    same("/kind") && same("/metadata/name") && namespace(one) == namespace(other)
}
