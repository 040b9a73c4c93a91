//! A cluster, what one process sees of it, and what it has in flight; with eyes on every decision and every write.

use std::{collections::BTreeMap, rc::Rc, sync::Arc};

use serde_json::{Value, json};

use super::{
    cluster::Cluster,
    lab::{Closures, Lab, key, kind},
};
use crate::{
    action::Action,
    blueprint::Body,
    decide::{Decision, Mode, decide, decide_with},
    ledger::{End, Slot},
    program::Program,
    world::{
        CLAIM_ANNOTATION, Claim, Fact, KindKey, KindView, Lease, LedgerFact, Live, ObjectKey, Owner, Refusal,
        Sight, World, WriteOutcome, manager, owner,
    },
};

/// The kinds of the abstract world, and whether their controllers report the generation they saw.
pub(super) const KINDS: [(&str, bool); 5] =
    [("App", false), ("Job", false), ("Note", false), ("Server", true), ("Thing", true)];

/// What the eyes of the world watch for, besides what they always do.
pub(super) type Watcher = Rc<dyn Fn(&Sim, &Action) -> Option<String>>;

#[derive(Clone)]
pub(super) struct Sim {
    pub(super) programs: Rc<Vec<(Program, Closures)>>,
    pub(super) program: Option<usize>,
    pub(super) cluster: Cluster,
    pub(super) world: World,
    positions: BTreeMap<KindKey, usize>,
    pub(super) flights: Vec<Action>,
    /// What a process that was deposed had sent.
    pub(super) late: Vec<Action>,
    pub(super) evaluator_broken: bool,
    /// Whether the answer to a write shows the object.
    pub(super) telling: bool,
    /// Whether an object was ready since we last wrote to it.
    pub(super) was_ready: BTreeMap<ObjectKey, bool>,
    own_writes: BTreeMap<ObjectKey, u64>,
    late_landed: bool,
    completions: BTreeMap<String, u32>,
    pub(super) violations: Vec<String>,
    pub(super) decision: Option<Decision>,
    pub(super) watcher: Option<Watcher>,
    /// Objects whose controllers sleep.
    pub(super) asleep: Vec<ObjectKey>,
    pub(super) deleted: Vec<ObjectKey>,
    pub(super) created: usize,
}

impl Sim {
    pub(super) fn new(labs: &[Lab], spec: &Value) -> Self {
        let programs = labs
            .iter()
            .enumerate()
            .map(|(at, lab)| {
                let functions = Rc::new(lab.functions.clone());
                (lab.program(at as u64 + 1), Closures { functions, broken: false, batches: 0 })
            })
            .collect();
        let root = key("App", "a");
        let mut cluster = Cluster::new(root.clone());
        cluster.create(
            &root,
            "user",
            json!({ "apiVersion": "example.com/v1", "kind": "App", "metadata": { "name": "a", "namespace": "n" }, "spec": spec }),
        );
        let mut world = World::new(root, "u1");
        world.lease = Lease { held: true, epoch: 1 };
        world.entropy = "dice".to_owned();
        let mut sim = Self {
            programs: Rc::new(programs),
            program: Some(0),
            cluster,
            world,
            positions: BTreeMap::new(),
            flights: Vec::new(),
            late: Vec::new(),
            evaluator_broken: false,
            telling: true,
            was_ready: BTreeMap::new(),
            own_writes: BTreeMap::new(),
            late_landed: false,
            completions: BTreeMap::new(),
            violations: Vec::new(),
            decision: None,
            watcher: None,
            asleep: Vec::new(),
            deleted: Vec::new(),
            created: 0,
        };
        sim.relist();
        sim
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

    pub(super) fn set_spec(&mut self, spec: &Value) {
        let root = self.cluster.root.clone();
        let Some(live) = self.cluster.get(&root).cloned() else { return };
        let mut live = (*live).clone();
        live.body["spec"] = spec.clone();
        live.generation = live.generation.map(|it| it + 1);
        self.cluster.store(live);
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
        let observed_generation = KINDS.iter().any(|(name, observed)| *observed && kind(name) == *of);
        let view = KindView {
            sight: Sight::Synced,
            epoch,
            watermark: self.cluster.version,
            observed_generation,
            namespaced: true,
        };
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
        for (name, _) in KINDS {
            self.list(&kind(name));
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
        if self.world.kinds.get(of).is_none_or(|it| it.sight != Sight::Synced) {
            self.list(of);
            return true;
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
        for (name, _) in KINDS {
            while self.deliver(&kind(name)) {
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
                LedgerFact::Present { resource_version: *version, ledger: Box::new(ledger.clone()) }
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
            None => decide(None, &self.world),
            Some(at) => {
                let (program, closures) = &self.programs[at];
                let mut closures = Closures { broken: self.evaluator_broken, ..closures.clone() };
                decide_with(Some(program), &mut self.world, &mut closures)
            }
        };
        for action in &decision.actions {
            self.watch_decision(action, decision.mode);
        }
        self.watch_ready(&decision);
        for action in &decision.actions {
            if matches!(action, Action::Render(_)) {
                continue;
            }
            self.world.learn(Fact::Sent(Box::new(action.clone())));
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
            if *key == self.cluster.root {
                self.world.writes.remove(key);
                if let Some(live) = live {
                    self.world.learn(Fact::Root(live));
                }
            } else {
                self.world.learn(Fact::Looked(key.clone(), live, self.cluster.version));
            }
            return;
        }
        if action == Action::ReadLedger {
            let fact = self.ledger_fact();
            self.world.learn(Fact::LedgerRead(fact));
            return;
        }
        let outcome = match fault {
            Fault::Refused => WriteOutcome::Refused(Refusal::Denied("a quota".to_owned())),
            Fault::Dropped => WriteOutcome::Lost,
            Fault::None | Fault::AnswerLost => {
                let outcome = self.execute(&action);
                if fault == Fault::AnswerLost { WriteOutcome::Lost } else { outcome }
            }
        };
        match &action {
            Action::Record { .. } | Action::Forget { .. } => self.world.learn(Fact::LedgerOutcome(outcome)),
            Action::Status { .. } | Action::Finalize { .. } => {
                let outcome = match outcome {
                    // The root is read again by its watch: a lost answer is an answer that comes with it.
                    WriteOutcome::Lost => WriteOutcome::Refused(Refusal::Busy("lost".to_owned())),
                    other => other,
                };
                self.world.learn(Fact::Outcome(self.cluster.root.clone(), action.tried(), outcome));
            }
            other => {
                if let Some(key) = other.written().cloned() {
                    let answered =
                        self.telling && matches!(outcome, WriteOutcome::Done(version) if version % 2 == 0);
                    self.world.learn(Fact::Outcome(key.clone(), action.tried(), outcome));
                    // Some answers show the object, so that both ways of seeing an own write are walked.
                    if let Some(live) = self.cluster.get(&key).filter(|_| answered) {
                        self.world.learn(Fact::Answer(live.clone()));
                    }
                }
            }
        }
    }

    fn execute(&mut self, action: &Action) -> WriteOutcome {
        let before = action.written().and_then(|key| self.cluster.get(key)).cloned();
        let outcome = self.cluster.execute(action, &manager("u1"));
        let Some(key) = action.written() else { return outcome };
        if let WriteOutcome::Refused(_) = outcome {
            return outcome;
        }
        if let Some(before) = &before {
            self.watch_claim(action, before);
        }
        if let WriteOutcome::Done(version) = outcome {
            self.own_writes.insert(key.clone(), version);
        }
        match action {
            Action::Create { .. } => {
                self.created += 1;
                self.was_ready.insert(key.clone(), key.kind == kind("Note"));
            }
            Action::Change { .. } => {
                let spec = |it: Option<&Arc<Live>>| it.and_then(|it| it.body.get("spec").cloned());
                if spec(self.cluster.get(key)) != spec(before.as_ref()) && key.kind != kind("Note") {
                    self.was_ready.insert(key.clone(), false);
                }
            }
            Action::Delete { .. } => self.deleted.push(key.clone()),
            _ => {}
        }
        outcome
    }

    /// The process ends; another takes the lease. What was sent may still arrive.
    pub(super) fn crash(&mut self) {
        self.late.append(&mut self.flights);
        self.late.truncate(4);
        let epoch = self.world.lease.epoch + 1;
        self.world = self.world.after_crash(Lease { held: true, epoch });
        for (name, _) in KINDS {
            let view = KindView {
                sight: Sight::Unsynced,
                epoch,
                watermark: 0,
                observed_generation: false,
                namespaced: true,
            };
            self.world.learn(Fact::Kind(kind(name), view));
        }
        self.own_writes.clear();
        self.list(&kind("App"));
        self.read_ledger();
    }

    /// A write of the deposed process arrives.
    pub(super) fn land_late(&mut self, at: usize) {
        if !self.late.is_empty() {
            let action = self.late.remove(at % self.late.len());
            let own = self.own_writes.clone();
            self.execute(&action);
            self.own_writes = own;
            self.late_landed = true;
        }
    }

    /// The controller of an object does its work.
    pub(super) fn control(&mut self, key: &ObjectKey, end: End) {
        let Some(live) = self.cluster.get(key).cloned() else { return };
        if live.terminating || self.asleep.contains(key) {
            return;
        }
        let generation = live.generation;
        let condition = |name: &str| json!([{ "type": name, "status": "True" }]);
        match key.kind.kind.as_str() {
            "Thing" => {
                let mut status =
                    json!({ "observedGeneration": generation, "conditions": condition("Ready") });
                status["v"] = live.body["spec"]["v"].clone();
                self.cluster.set_status(key, status);
                self.was_ready.insert(key.clone(), true);
            }
            "Server" => {
                let replicas = live.body["spec"]["replicas"].clone();
                let status = json!({ "observedGeneration": generation, "replicas": replicas, "conditions": condition("Ready") });
                self.cluster.set_status(key, status);
                self.was_ready.insert(key.clone(), true);
            }
            "Job" if live.body.get("status").is_none() => {
                let word = if end == End::Failed { "Failed" } else { "Complete" };
                self.cluster.set_status(key, json!({ "conditions": condition(word) }));
                if end == End::Passed {
                    let times = self.completions.entry(key.name.clone()).or_default();
                    *times += 1;
                    if *times > 1 {
                        self.violations.push(format!("{key} completed {times} times"));
                    }
                }
            }
            _ => {}
        }
    }

    /// A controller says that its object is not ready for a while.
    pub(super) fn flap(&mut self, key: &ObjectKey) {
        let Some(live) = self.cluster.get(key).cloned() else { return };
        if matches!(key.kind.kind.as_str(), "Thing" | "Server") && !live.terminating {
            let mut status = live.body.get("status").cloned().unwrap_or_default();
            status["conditions"] = json!([{ "type": "Ready", "status": "False" }]);
            self.cluster.set_status(key, status);
        }
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
        for (name, _) in KINDS {
            self.list(&kind(name));
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
            if let Owner::Us(claim) = owner(live, "u1")
                && claim.attempt.is_none()
            {
                result.insert(
                    live.key.to_string(),
                    json!([live.body["spec"], claim.node, claim.state, claim.after]),
                );
            }
        }
        result
    }

    pub(super) fn claimed(&self) -> Vec<(ObjectKey, Arc<Live>, Claim)> {
        let ours = self.cluster.objects.values().filter_map(|live| match owner(live, "u1") {
            Owner::Us(claim) => Some((live.key.clone(), live.clone(), *claim)),
            _ => None,
        });
        ours.collect()
    }

    // ---- the eyes

    fn watch_decision(&mut self, action: &Action, mode: Mode) {
        if let Some(watcher) = self.watcher.clone()
            && let Some(violation) = watcher(self, action)
        {
            self.violations.push(violation);
        }
        let Some(key) = action.written().cloned() else { return };
        // Nothing acts on a view older than its own last write.
        let seen = self.world.objects.get(&key).map_or(0, |it| it.resource_version);
        let watermark = self.world.kinds.get(&key.kind).map_or(0, |it| it.watermark);
        if let Some(own) = self.own_writes.get(&key)
            && seen.max(watermark).max(self.world.looked.get(&key).copied().unwrap_or(0)) < *own
        {
            self.violations.push(format!("{key} is written on a view older than our own last write"));
        }
        match action {
            Action::Create { body, .. } | Action::Change { body, .. } if mode == Mode::Present => {
                self.watch_order(&key, body);
            }
            Action::Delete { .. } => self.watch_use(&key),
            _ => {}
        }
    }

    /// No Sequence edge is violated: what x comes after was ready with the same version, since it was last written.
    fn watch_order(&mut self, key: &ObjectKey, body: &Value) {
        let claim: Option<Claim> = body["metadata"]["annotations"][CLAIM_ANNOTATION]
            .as_str()
            .and_then(|text| serde_json::from_str(text).ok());
        let (Some(claim), Some(program)) = (claim, self.program()) else { return };
        let last = self.world.objects.get(key).and_then(|live| match owner(live, "u1") {
            Owner::Us(claim) => Some(claim.applied),
            _ => None,
        });
        let repair = last.or(self.world.vanished.get(key).copied()) == Some(claim.applied);
        if repair || self.late_landed || claim.state.is_some() {
            return;
        }
        let Some(node) = program.node(&claim.node) else { return };
        let mut found = Vec::new();
        for (precursor, edge) in &node.before {
            let Some(p) = program.node(precursor) else { continue };
            let plain = matches!(p.body, Body::Template(_)) && p.state_of.is_none() && p.once.is_none();
            if !plain || edge.until.is_some() || program.states.contains_key(precursor) {
                continue;
            }
            let v = &body["spec"]["v"];
            let made: Vec<_> = self
                .claimed()
                .into_iter()
                .filter(|(_, _, it)| it.node == *precursor && (!edge.each || it.member == claim.member))
                .filter(|(_, live, _)| {
                    live.body["spec"]["v"] == *v
                        && p.body.identity().is_some_and(|it| it.kind.known() == Some(&live.key.kind.kind))
                })
                .collect();
            let ready = made.iter().all(|(key, _, _)| self.was_ready.get(key) == Some(&true));
            let conditional =
                program.needs.values().flatten().any(|it| it.to == *precursor && it.conditional);
            let gone = self.deleted_by_others(precursor);
            if !ready || (made.is_empty() && !conditional && p.for_each.is_none() && !gone) {
                found.push(format!("{key} is written with v={v} before {precursor} was ready with it"));
            }
        }
        self.violations.append(&mut found);
    }

    /// Whether an object that the view still shows was deleted by somebody: then the view, not the rule, is old.
    fn deleted_by_others(&self, node: &str) -> bool {
        self.world.objects.values().any(|live| match owner(live, "u1") {
            Owner::Us(claim) => {
                let real = self.cluster.get(&live.key);
                claim.node == node
                    && real.is_none_or(|it| {
                        it.uid != live.uid || it.terminating || it.body["spec"] != live.body["spec"]
                    })
            }
            _ => false,
        })
    }

    /// Nothing in use is removed: by name, as the objects themselves say what they use.
    fn watch_use(&mut self, key: &ObjectKey) {
        let exempt = self.program().is_some_and(|program| {
            program.blueprint.nodes.values().any(|it| it.replace == crate::blueprint::Replace::Before)
                || program
                    .blueprint
                    .nodes
                    .values()
                    .any(|it| it.on_immutable == crate::blueprint::OnImmutable::Recreate)
        });
        if exempt || self.late_landed {
            return;
        }
        let name = format!("{}/{}", key.kind.kind, key.name);
        let users: Vec<_> = self
            .claimed()
            .into_iter()
            .filter(|(other, live, claim)| {
                let uses =
                    live.body["spec"]["uses"].as_array().is_some_and(|it| it.iter().any(|it| *it == name));
                uses && other != key && claim.attempt.is_none()
            })
            .map(|(other, _, _)| other.to_string())
            .collect();
        if !users.is_empty() {
            self.violations.push(format!("{key} is deleted while {} uses it", users.join(", ")));
        }
    }

    /// What is not claimed by the instance is never written or deleted.
    fn watch_claim(&mut self, action: &Action, before: &Live) {
        let ours = matches!(owner(before, "u1"), Owner::Us(_));
        let program = self.program();
        let adopts = program
            .is_some_and(|it| it.blueprint.nodes.values().any(|it| it.own == crate::blueprint::Own::Adopt));
        let absent = program
            .is_some_and(|it| it.blueprint.nodes.values().any(|it| matches!(it.body, Body::Absent(_))));
        let claimed_by_another = matches!(owner(before, "u1"), Owner::Another { .. });
        let reclaims = self.root().is_some_and(|it| it.annotation("pemdas.dev/reclaim").is_some());
        let allowed = ours || (!claimed_by_another && (adopts || absent)) || reclaims;
        if !allowed {
            self.violations.push(format!("{} is written by {action:?} and is not ours", before.key));
        }
    }

    /// Ready is never true while a needed node is not of its ready shape at the current generation.
    fn watch_ready(&mut self, decision: &Decision) {
        if !decision.conditions.ready {
            return;
        }
        if decision.actions.iter().any(Action::moves_the_cluster) {
            self.violations.push("ready, and still acting".to_owned());
        }
        let Some(program) = self.program() else { return };
        let Some(root) = &self.world.root.live else { return };
        let v = root.body["spec"]["v"].clone();
        let mut found = Vec::new();
        for live in self.world.objects.values() {
            let Owner::Us(claim) = owner(live, "u1") else { continue };
            if claim.attempt.is_some() {
                continue;
            }
            let Some(node) = program.node(&claim.node) else {
                found.push(format!("ready, and {} is still there", live.key));
                continue;
            };
            let counts = KINDS.iter().any(|(name, it)| *it && kind(name) == live.key.kind) && node.observed;
            let observed = live.body["status"]["observedGeneration"].as_i64();
            let health = crate::health::of(&live.body).state == crate::health::HealthState::Current;
            let fresh = !counts || observed == live.generation;
            if !health
                || !fresh
                || live.terminating
                || (live.body["spec"]["v"] != v && !live.body["spec"]["v"].is_null())
            {
                found.push(format!("ready, and {} is not", live.key));
            }
        }
        for (name, node) in &program.blueprint.nodes {
            let plain = matches!(node.body, Body::Template(_))
                && node.state_of.is_none()
                && node.once.is_none()
                && node.for_each.is_none();
            let always = program
                .needs
                .get("app")
                .into_iter()
                .flatten()
                .any(|it| it.to == *name && !it.conditional && !it.deleting);
            let there = self
                .world
                .objects
                .values()
                .any(|live| matches!(owner(live, "u1"), Owner::Us(it) if it.node == *name));
            if plain && always && !there {
                found.push(format!("ready, and {name} is missing"));
            }
        }
        self.violations.append(&mut found);
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
    Refused,
}
