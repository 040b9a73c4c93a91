//! A cluster, what one process sees of it, and what it has in flight; with eyes on every decision and every write.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc, sync::Arc};

use serde_json::{Value, json};

use super::{
    cluster::Cluster,
    controllers,
    lab::{Killed, Lab},
    subject::{Play, Subject},
    tenant::Tenant,
};
use crate::{
    action::Action,
    decide::{Decision, LATE_WRITES, Memo},
    evaluate::Evaluator,
    ledger::{End, Slot},
    program::Program,
    world::{
        Claim, Fact, KindKey, KindView, Lease, LedgerFact, Live, ObjectKey, Owner, Refusal, Seal, Sight,
        World, WriteOutcome, dropped, manager, owner, without,
    },
};

/// The kinds of the abstract world, and whether their controllers report the generation they saw.
pub(super) const KINDS: [(&str, bool); 5] =
    [("App", false), ("Job", false), ("Note", false), ("Server", true), ("Thing", true)];

/// What the eyes of the world watch for, besides what they always do.
pub(super) type Watcher = Rc<dyn Fn(&Sim, &Action) -> Option<String>>;

/// What the claims of the abstract world are sealed with.
pub(super) fn seal() -> Seal {
    Seal::with(vec![vec![7; 32]])
}

/// A claim as this instance would have written it on this object.
pub(super) fn sealed(instance: &str, object: &ObjectKey, claim: Value) -> String {
    let claim: Claim = serde_json::from_value(claim).expect("a claim");
    claim.sealed(instance, &object.kind, &seal())
}

/// What is known of a kind without looking at its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nature {
    /// Whether its controller reports the generation it saw.
    pub observed_generation: bool,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

impl Nature {
    pub(super) fn new(observed_generation: bool) -> Self {
        Self { observed_generation, namespaced: true }
    }
}

/// The kinds of a cluster.
pub type Kinds = BTreeMap<KindKey, Nature>;
/// Whoever answers the questions of a blueprint.
pub type Evaluation = Rc<RefCell<dyn Evaluator>>;

#[derive(Clone)]
pub(super) struct Sim {
    pub(super) programs: Rc<Vec<(Program, Evaluation)>>,
    pub(super) kinds: Rc<Kinds>,
    play: Option<Play>,
    /// The uid of the root.
    pub(super) uid: String,
    pub(super) program: Option<usize>,
    pub(super) cluster: Cluster,
    pub(super) world: World,
    /// What the process remembers of its last decision.
    pub(super) memo: Memo,
    positions: BTreeMap<KindKey, usize>,
    pub(super) flights: Vec<Action>,
    /// What a process that was deposed had sent.
    pub(super) late: Vec<Action>,
    pub(super) evaluator_broken: bool,
    /// Whether the answer to a write shows the object.
    pub(super) telling: bool,
    /// Whether an object was ready since we last wrote to it.
    pub(super) was_ready: BTreeMap<ObjectKey, bool>,
    pub(super) own_writes: BTreeMap<ObjectKey, u64>,
    pub(super) late_landed: bool,
    /// By object: the resourceVersion of a write of the deposed process.
    late_writes: BTreeMap<ObjectKey, u64>,
    /// Until when what it had sent may still arrive.
    late_until: u64,
    completions: BTreeMap<String, u32>,
    pub(super) violations: Vec<String>,
    pub(super) decision: Option<Decision>,
    pub(super) watcher: Option<Watcher>,
    /// Somebody else in the same cluster.
    pub(super) tenant: Tenant,
    /// Objects whose controllers sleep.
    pub(super) asleep: Vec<ObjectKey>,
    pub(super) deleted: Vec<ObjectKey>,
    pub(super) created: usize,
}

impl Sim {
    pub(super) fn new(labs: &[Lab], spec: &Value) -> Self {
        Subject::of_labs("lab", labs, std::slice::from_ref(spec)).start()
    }

    /// A cluster with a root and what is around it, and a process that sees all of it.
    pub(super) fn of(subject: &Subject, body: Value) -> Self {
        let mut cluster = Cluster::new(subject.root.clone());
        cluster.create(&subject.root, "user", body);
        for (key, body) in &subject.around {
            cluster.create(key, "others", body.clone());
        }
        let kinds = Rc::new(subject.kinds.clone());
        Self::beside(subject.programs.clone(), kinds, cluster, subject.root.clone(), subject.play.clone())
    }

    /// A process for a root that is in a cluster already.
    pub(super) fn beside(
        programs: Rc<Vec<(Program, Evaluation)>>,
        kinds: Rc<Kinds>,
        mut cluster: Cluster,
        root: ObjectKey,
        play: Option<Play>,
    ) -> Self {
        cluster.root = root.clone();
        let uid = cluster.get(&root).map(|it| it.uid.clone()).expect("a root");
        let mut world = World::new(root, uid.clone());
        world.lease = Lease { held: true, epoch: 1 };
        world.entropy = "dice".to_owned();
        world.seal = seal();
        let mut sim = Self {
            programs,
            kinds,
            play,
            uid,
            program: Some(0),
            cluster,
            world,
            memo: Memo::default(),
            positions: BTreeMap::new(),
            flights: Vec::new(),
            late: Vec::new(),
            evaluator_broken: false,
            telling: true,
            was_ready: BTreeMap::new(),
            own_writes: BTreeMap::new(),
            late_landed: false,
            late_writes: BTreeMap::new(),
            late_until: 0,
            completions: BTreeMap::new(),
            violations: Vec::new(),
            decision: None,
            watcher: None,
            tenant: Tenant::default(),
            asleep: Vec::new(),
            deleted: Vec::new(),
            created: 0,
        };
        sim.relist();
        sim
    }

    /// Whose an object is, as seen from the instance.
    pub(super) fn owner(&self, live: &Live) -> Owner {
        owner(live, &self.uid, &self.world.seal)
    }

    pub(super) fn program(&self) -> Option<&Program> {
        self.program.map(|at| &self.programs[at].0)
    }

    pub(super) fn live(&self, key: &ObjectKey) -> Option<&Arc<Live>> {
        self.cluster.get(key)
    }

    pub(super) fn root(&self) -> Option<&Arc<Live>> {
        self.cluster.get(&self.cluster.root)
    }

    /// Somebody changes the root: its spec, its data, its labels.
    pub(super) fn set_root(&mut self, body: &Value) {
        let root = self.cluster.root.clone();
        let Some(live) = self.cluster.get(&root).cloned() else { return };
        let mut live = (*live).clone();
        for field in ["spec", "data"] {
            if let Some(value) = body.get(field) {
                live.body[field] = value.clone();
            }
        }
        live.body["metadata"]["labels"] = body["metadata"]["labels"].clone();
        if body["metadata"].get("labels").is_none() {
            without(&mut live.body, &["metadata".to_owned(), "labels".to_owned()]);
        }
        live.generation = live.generation.map(|it| it + 1);
        self.cluster.store(live);
    }

    pub(super) fn set_spec(&mut self, spec: &Value) {
        let root = self.cluster.root.clone();
        let Some(live) = self.cluster.get(&root).cloned() else { return };
        let mut live = (*live).clone();
        live.body["spec"] = spec.clone();
        live.generation = live.generation.map(|it| it + 1);
        self.cluster.store(live);
    }

    /// Somebody edits a field of ours.
    pub(super) fn edit_by(&mut self, manager_: &str, key: &ObjectKey) {
        let Some(live) = self.cluster.get(key) else { return };
        let patch = if live.body["spec"].get("v").is_some() {
            json!({ "spec": { "v": "edited" } })
        } else {
            let ours = live.managed.get(&manager(&self.uid)).into_iter().flatten();
            let content = |it: &&crate::path::FieldPath| {
                !matches!(it.parts()[0].as_str(), "apiVersion" | "kind" | "metadata")
            };
            let Some(leaf) = ours.into_iter().find(content) else { return };
            leaf.parts().iter().rev().fold(json!("edited"), |below, part| json!({ part: below }))
        };
        self.cluster.edit(key, manager_, &patch);
    }

    /// One small step, the same each time: what is asked of every single one of them is worth a test.
    pub(super) fn small_step(&mut self, number: usize) {
        match number % 4 {
            0 => {
                self.deliver_all();
            }
            1 => {
                self.decide();
            }
            2 => self.land(0, Fault::None),
            _ => {
                self.control_all();
                self.world.learn(Fact::Now(self.world.now + 1_000));
            }
        }
    }

    pub(super) fn annotate(&mut self, name: &str, value: &str) {
        let root = self.cluster.root.clone();
        self.cluster.edit(
            &root,
            "user",
            &json!({ "metadata": { "annotations": { format!("pemdas.dev/{name}"): value } } }),
        );
    }

    pub(super) fn list(&mut self, of: &KindKey) {
        let epoch = self.world.lease.epoch;
        let Some(Nature { observed_generation, namespaced }) = self.kinds.get(of).copied() else { return };
        let view = KindView {
            sight: Sight::Synced,
            epoch,
            watermark: self.cluster.version,
            observed_generation,
            namespaced,
        };
        if self.cluster.unlistable.contains(of) {
            let view = KindView { sight: Sight::Forbidden, watermark: 0, ..view };
            self.world.learn(Fact::Kind(of.clone(), view));
            return;
        }
        let gone: Vec<_> = self
            .world
            .objects
            .keys()
            .filter(|it| it.kind == *of && !self.cluster.objects.contains_key(it))
            .cloned()
            .collect();
        for key in gone {
            self.world.learn(Fact::Vanished(key, self.cluster.version));
        }
        self.world.learn(Fact::Kind(of.clone(), view));
        let live: Vec<_> = self.cluster.objects.values().filter(|it| it.key.kind == *of).cloned().collect();
        for live in live {
            self.see(live);
        }
        if *of == self.cluster.root.kind && !self.cluster.objects.contains_key(&self.cluster.root) {
            self.world.learn(Fact::RootVanished);
        }
        self.positions.insert(of.clone(), self.cluster.log.get(of).map_or(0, Vec::len));
    }

    fn see(&mut self, live: Arc<Live>) {
        if live.key == self.cluster.root {
            self.world.learn(Fact::Root(live));
        } else {
            self.world.learn(Fact::Seen(live));
        }
    }

    pub(super) fn relist(&mut self) {
        for kind in self.kinds.clone().keys() {
            self.list(kind);
        }
        self.read_ledger();
        self.world.learn(Fact::NamespaceEnding(self.cluster.namespace_ending));
    }

    pub(super) fn pending(&self, of: &KindKey) -> usize {
        let log = self.cluster.log.get(of).map_or(0, Vec::len);
        log - self.positions.get(of).copied().unwrap_or(0)
    }

    /// The next event of a kind's watch.
    pub(super) fn deliver(&mut self, of: &KindKey) -> bool {
        let is_listable = !self.cluster.unlistable.contains(of);
        if !is_listable || self.world.kinds.get(of).is_none_or(|it| it.sight != Sight::Synced) {
            self.list(of);
            return is_listable;
        }
        let at = self.positions.get(of).copied().unwrap_or(0);
        let Some((version, key, live)) = self.cluster.log.get(of).and_then(|log| log.get(at)).cloned() else {
            return false;
        };
        self.positions.insert(of.clone(), at + 1);
        match live {
            Some(live) => self.see(live),
            None if key == self.cluster.root => self.world.learn(Fact::RootVanished),
            None => self.world.learn(Fact::Vanished(key, version)),
        }
        true
    }

    pub(super) fn deliver_all(&mut self) -> bool {
        let mut any = false;
        for kind in self.kinds.clone().keys() {
            while self.deliver(kind) {
                any = true;
            }
        }
        any |= self.read_ledger();
        self.world.learn(Fact::NamespaceEnding(self.cluster.namespace_ending));
        any
    }

    fn ledger_fact(&self) -> LedgerFact {
        match &self.cluster.ledger {
            None => LedgerFact::Absent,
            Some((version, ledger)) => {
                let believed = match &self.cluster.forged_ledger {
                    None => Some(ledger.clone()),
                    Some((text, made)) => {
                        let root = &self.world.root;
                        self.world.seal.ledger(&root.key.namespace, &root.instance, text, made)
                    }
                };
                believed.map_or(LedgerFact::Unreadable, |it| LedgerFact::Present {
                    resource_version: *version,
                    ledger: Box::new(it),
                })
            }
        }
    }

    pub(super) fn read_ledger(&mut self) -> bool {
        let fact = self.ledger_fact();
        let changed = self.world.ledger != fact;
        self.world.learn(Fact::Ledger(fact));
        changed
    }

    pub(super) fn decide(&mut self) -> &Decision {
        let decision = match self.program {
            None => self.memo.decide(None, &self.world).clone(),
            Some(at) => {
                let (program, evaluation) = &self.programs[at];
                let (memo, world) = (&mut self.memo, &mut self.world);
                if self.evaluator_broken {
                    memo.decide_with(Some(program), world, &mut Killed).clone()
                } else {
                    memo.decide_with(Some(program), world, &mut *evaluation.borrow_mut()).clone()
                }
            }
        };
        self.watch_memo(&decision);
        for action in &decision.actions {
            self.watch_decision(action, &decision);
        }
        self.watch_ready(&decision);
        for action in &decision.actions {
            if matches!(action, Action::Render(_)) {
                continue;
            }
            self.world.learn(Fact::Sent(Arc::new(action.clone())));
            if !matches!(action, Action::Event(_)) {
                self.flights.push(action.clone());
            }
        }
        self.decision.insert(decision)
    }

    /// Carries out what is in flight, and reports what became of it.
    pub(super) fn land(&mut self, at: usize, fault: Fault) {
        if self.flights.is_empty() {
            return;
        }
        let action = self.flights.remove(at % self.flights.len());
        if let Action::Look { key } = &action {
            let live = self.cluster.get(key).cloned();
            self.world.learn(Fact::Looked(key.clone(), live, self.cluster.version));
            return;
        }
        if let Action::ReadLedgerOf { instance } | Action::ForgetLedgerOf { instance, .. } = &action {
            if !matches!(fault, Fault::Dropped | Fault::Refused(_)) {
                self.cluster.execute(&action, "");
            }
            let old = self.cluster.old_ledger.as_ref().filter(|(of, _, _)| of == instance);
            let fact = old.map_or(LedgerFact::Absent, |(_, version, ledger)| LedgerFact::Present {
                resource_version: *version,
                ledger: Box::new(ledger.clone()),
            });
            self.world.learn(Fact::OldLedger(instance.clone(), fact));
            return;
        }
        if action == Action::ReadLedger {
            let fact = self.ledger_fact();
            self.world.learn(Fact::LedgerRead(fact));
            return;
        }
        let outcome = match fault {
            Fault::Refused(which) => WriteOutcome::Refused(refusal(which)),
            Fault::Dropped => WriteOutcome::Lost,
            Fault::None | Fault::AnswerLost => {
                let outcome = self.execute(&action);
                if fault == Fault::AnswerLost { WriteOutcome::Lost } else { outcome }
            }
        };
        match &action {
            Action::Record { .. } | Action::Forget { .. } => self.world.learn(Fact::LedgerOutcome(outcome)),
            it if it.writes_root() => {
                let outcome = match outcome {
                    // The root is read again by its watch: a lost answer is an answer that comes with it.
                    WriteOutcome::Lost => WriteOutcome::Refused(Refusal::Busy("lost".to_owned())),
                    other => other,
                };
                self.world.learn(Fact::Outcome(self.cluster.root.clone(), action.tried(), outcome));
            }
            other => {
                if let Some(key) = other.written().cloned() {
                    let done = matches!(outcome, WriteOutcome::Done(_));
                    let answered =
                        self.telling && matches!(outcome, WriteOutcome::Done(version) if version % 2 == 0);
                    self.world.learn(Fact::Outcome(key.clone(), action.tried(), outcome));
                    // Some answers show the object, so that both ways of seeing an own write are walked.
                    if let Some(live) = self.cluster.get(&key).filter(|_| answered) {
                        self.world.learn(Fact::Answer(live.clone()));
                    }
                    // What the answer does not have is known of every one.
                    if let (Action::Create { body, .. } | Action::Change { body, .. }, Some(live), true) =
                        (other, self.cluster.get(&key), done)
                    {
                        let fields = dropped(&self.uid, body, live);
                        self.world.learn(Fact::Dropped(key, fields));
                    }
                }
            }
        }
    }

    fn execute(&mut self, action: &Action) -> WriteOutcome {
        let before = action.written().and_then(|key| self.cluster.get(key)).cloned();
        let outcome = self.cluster.execute(action, &manager(&self.uid));
        let Some(key) = action.written() else { return outcome };
        if let WriteOutcome::Refused(_) = outcome {
            return outcome;
        }
        if let Some(before) = &before {
            self.watch_claim(action, before);
            self.watch_tenant(action, before);
        }
        if let WriteOutcome::Done(version) = outcome {
            self.own_writes.insert(key.clone(), version);
        }
        match action {
            Action::Create { body, .. } => {
                self.created += 1;
                self.watch_attempts(body);
                let idle = !self.plays(&key.kind);
                self.was_ready.insert(key.clone(), idle);
            }
            Action::Change { .. } => {
                let spec = |it: Option<&Arc<Live>>| it.and_then(|it| it.body.get("spec").cloned());
                if spec(self.cluster.get(key)) != spec(before.as_ref()) && self.plays(&key.kind) {
                    self.was_ready.insert(key.clone(), false);
                }
            }
            Action::Delete { .. } => self.deleted.push(key.clone()),
            _ => {}
        }
        outcome
    }

    /// A backup of this world is restored: everything is as it was, but the root is another one of the same name.
    pub(super) fn reborn(&self) -> Self {
        let mut cluster = self.cluster.clone();
        let root = cluster.objects.remove(&cluster.root).expect("a root");
        let mut body = Value::clone(&root.body);
        let memory = root.annotation(&self.world.root.memory()).map(str::to_owned);
        for field in ["uid", "finalizers", "generation", "annotations"] {
            without(&mut body, &["metadata".to_owned(), field.to_owned()]);
        }
        if let Some(memory) = memory {
            body["metadata"]["annotations"] = json!({ self.world.root.memory(): memory });
        }
        without(&mut body, &["status".to_owned()]);
        cluster.old_ledger = cluster.ledger.take().map(|(version, it)| (self.uid.clone(), version, it));
        cluster.create(&cluster.root.clone(), "user", body);
        let key = cluster.root.clone();
        let mut sim =
            Self::beside(self.programs.clone(), self.kinds.clone(), cluster, key, self.play.clone());
        sim.program = self.program;
        sim.was_ready.clone_from(&self.was_ready);
        sim
    }

    pub(super) fn old_ledger(&self) -> Option<&crate::ledger::Ledger> {
        self.cluster.old_ledger.as_ref().map(|(_, _, it)| it)
    }

    /// The process ends; another takes the lease. What was sent may still arrive.
    pub(super) fn crash(&mut self) {
        self.late.append(&mut self.flights);
        self.late.truncate(4);
        self.late_until = self.world.now + LATE_WRITES;
        let epoch = self.world.lease.epoch + 1;
        self.world = self.world.after_crash(Lease { held: true, epoch });
        self.memo = Memo::default();
        for (kind, nature) in self.kinds.iter() {
            let view = KindView {
                sight: Sight::Unsynced,
                epoch,
                watermark: 0,
                observed_generation: nature.observed_generation,
                namespaced: nature.namespaced,
            };
            self.world.learn(Fact::Kind(kind.clone(), view));
        }
        self.own_writes.clear();
        let root = self.cluster.root.kind.clone();
        self.list(&root);
        self.read_ledger();
    }

    /// A write of the deposed process arrives.
    pub(super) fn land_late(&mut self, at: usize) {
        if self.world.now >= self.late_until {
            self.late.clear();
        }
        if !self.late.is_empty() {
            let action = self.late.remove(at % self.late.len());
            let own = self.own_writes.clone();
            self.execute(&action);
            self.own_writes = own;
            self.late_landed = true;
            if let Some(key) = action.written() {
                self.late_writes.insert(key.clone(), self.cluster.version);
            }
        }
    }

    /// Puts away what is known, as is done with an instance that nothing happens to: at any moment it changes nothing.
    pub(super) fn rest(&mut self) {
        self.memo.rest();
        self.world.rest(&mut |live| Arc::new(live.packed()));
    }

    /// Whether a deposed process wrote to an object and nobody can have seen it yet.
    pub(super) fn unseen_late(&self, key: &ObjectKey) -> bool {
        let seen = self.world.objects.get(key).map_or(0, |it| it.resource_version);
        let watermark = self.world.shown_up_to(key);
        self.late_writes.get(key).is_some_and(|version| seen.max(watermark) < *version)
    }

    /// The controller of an object does its work.
    pub(super) fn control(&mut self, key: &ObjectKey, end: End) {
        let Some(live) = self.cluster.get(key).cloned() else { return };
        if live.terminating || self.asleep.contains(key) || self.tenant.has(&live) {
            return;
        }
        let Some(status) = self.status_of(&live, end) else { return };
        self.cluster.set_status(key, status);
        self.was_ready.insert(key.clone(), true);
        if key.kind.kind == "Job" && end == End::Passed {
            let times = self.completions.entry(key.name.clone()).or_default();
            *times += 1;
            if *times > 1 {
                self.violations.push(format!("{key} completed {times} times"));
            }
        }
    }

    /// What has completed may do so again: a human said so.
    pub(super) fn forget_completions(&mut self) {
        self.completions.clear();
    }

    /// A controller says that its object is not ready for a while.
    pub(super) fn flap(&mut self, key: &ObjectKey) {
        let Some(live) = self.cluster.get(key).cloned() else { return };
        if !live.terminating
            && !self.tenant.has(&live)
            && let Some(status) = self.unready(&live)
        {
            self.cluster.set_status(key, status);
        }
    }

    /// Whether a kind has a controller here; the others are as they are made.
    pub(super) fn plays(&self, kind: &KindKey) -> bool {
        controllers::has(kind) || self.played(kind, &Value::Null).is_some()
    }

    fn played(&self, kind: &KindKey, body: &Value) -> Option<Value> {
        self.play.as_ref().and_then(|play| play(kind, body))
    }

    fn status_of(&self, live: &Live, end: End) -> Option<Value> {
        if controllers::has(&live.key.kind) {
            return controllers::status(live, end);
        }
        if live.key == self.cluster.root || !matches!(self.owner(live), Owner::Us(_)) {
            return None;
        }
        let mut status = self.played(&live.key.kind, &live.body)?;
        status["observedGeneration"] = json!(live.generation);
        Some(status)
    }

    fn unready(&self, live: &Live) -> Option<Value> {
        let ours = matches!(self.owner(live), Owner::Us(_));
        controllers::unready(live).or_else(|| {
            let plays = ours && !controllers::has(&live.key.kind) && self.plays(&live.key.kind);
            plays.then(|| json!({ "observedGeneration": live.generation }))
        })
    }

    pub(super) fn control_all(&mut self) -> bool {
        let before = self.cluster.version;
        let keys: Vec<_> = self.cluster.objects.keys().cloned().collect();
        for key in keys {
            self.control(&key, End::Passed);
        }
        before != self.cluster.version
    }

    /// One round without faults.
    pub(super) fn round(&mut self) {
        self.deliver_all();
        self.decide();
        while !self.flights.is_empty() {
            self.land(0, Fault::None);
        }
        self.deliver_all();
    }

    /// Without faults until nothing moves; whether it came to rest.
    pub(super) fn settle(&mut self) -> bool {
        self.evaluator_broken = false;
        while !self.flights.is_empty() {
            self.land(0, Fault::None);
        }
        self.late.clear();
        self.hands_off();
        self.tenant_makes_room();
        for kind in self.kinds.clone().keys() {
            self.list(kind);
        }
        let mut quiet = 0;
        for _ in 0..400 {
            let version = self.cluster.version;
            self.round();
            let worked = self.control_all();
            let wake = self.decision.as_ref().and_then(|it| it.wake);
            if version == self.cluster.version && !worked {
                quiet += 1;
                let next = wake.unwrap_or(self.world.now + 1_000).max(self.world.now + 1_000);
                self.world.learn(Fact::Now(next));
            } else {
                quiet = 0;
                self.world.learn(Fact::Now(self.world.now + 1_000));
            }
            if quiet > 3 {
                return true;
            }
        }
        false
    }

    /// Whoever edited by hand lets go of the fields.
    fn hands_off(&mut self) {
        let held: Vec<_> =
            self.cluster.objects.values().filter(|it| it.managed.contains_key("hand")).cloned().collect();
        for live in held {
            let mut live = (*live).clone();
            live.managed.remove("hand");
            self.cluster.store(live);
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.decision.as_ref().is_some_and(|it| it.conditions.ready)
    }

    pub(super) fn stalled(&self) -> Vec<String> {
        self.decision.as_ref().map(|it| it.conditions.stalled.clone()).unwrap_or_default()
    }

    /// What is claimed by the instance, without what differs from run to run; once-objects are left out.
    pub(super) fn result(&self) -> BTreeMap<String, Value> {
        let mut result = BTreeMap::new();
        for live in self.cluster.objects.values() {
            if let Owner::Us(claim) = self.owner(live)
                && claim.attempt.is_none()
            {
                let mut content = live.body.clone();
                for part in ["metadata", "status"] {
                    without(&mut content, &[part.to_owned()]);
                }
                result.insert(live.key.to_string(), json!([content, claim.node, claim.state, claim.after]));
            }
        }
        result
    }

    pub(super) fn claimed(&self) -> Vec<(ObjectKey, Arc<Live>, Claim)> {
        let ours = self.cluster.objects.values().filter_map(|live| match self.owner(live) {
            Owner::Us(claim) => Some((live.key.clone(), live.clone(), *claim)),
            _ => None,
        });
        ours.collect()
    }

    /// What every node waits for.
    pub(super) fn waits(&self) -> Vec<String> {
        let nodes = self.decision.iter().flat_map(|it| &it.nodes);
        nodes
            .filter(|(_, it)| it.phase != crate::decide::Phase::Ready)
            .map(|(slot, it)| {
                let causes: Vec<_> = it.causes.iter().map(ToString::to_string).collect();
                format!("{slot}: {:?} {}", it.phase, causes.join("; "))
            })
            .collect()
    }

    /// The objects that stand for themselves, with their uids: once-objects come and go.
    pub(super) fn uids(&self) -> BTreeMap<ObjectKey, String> {
        let kept = self.claimed().into_iter().filter(|(_, _, it)| it.attempt.is_none());
        kept.map(|(key, live, _)| (key, live.uid.clone())).collect()
    }

    pub(super) fn late_write_landed(&self) -> bool {
        self.late_landed
    }

    pub(super) fn entry(&self, node: &str) -> Option<&crate::ledger::Entry> {
        self.cluster.ledger.as_ref()?.1.entries.get(&Slot::new(node, ""))
    }
}

/// What goes wrong with a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    None,
    AnswerLost,
    Dropped,
    /// One of the kinds of refusal.
    Refused(u8),
}

/// How many kinds of refusal there are.
pub(super) const REFUSALS: u8 = 11;

/// A refusal, whatever the cluster would say.
fn refusal(which: u8) -> Refusal {
    let text = || "whatever".to_owned();
    match which % REFUSALS {
        1 => Refusal::Forbidden(text()),
        2 => Refusal::NoNamespace(text()),
        3 => Refusal::Busy(text()),
        4 => Refusal::Invalid(text()),
        5 => Refusal::Immutable(text()),
        6 => Refusal::FieldConflict(vec![("somebody".to_owned(), "spec.v".to_owned())]),
        7 => Refusal::Changed,
        8 => Refusal::Gone,
        9 => Refusal::Exists,
        10 => Refusal::UnknownField(text()),
        _ => Refusal::Denied(text()),
    }
}
