//! One instance on the stage: passes, what they write, and what is assumed in between.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Value, json};

use super::{
    Assumption, MAX_PASSES, Step, Verb, assume,
    merge::{self, applied, without_marks},
};
use crate::{
    action::Action,
    blueprint::{Body, SequenceEdge, WantedShape, WantedShapeForm},
    decide::{Cause, Decision, decide_with},
    evaluate::{Answer, Evaluator, Form, Question},
    ledger::Slot,
    path::FieldPath,
    program::Program,
    shape::Shape,
    world::{
        CLAIM_ANNOTATION, Claim, Fact, LedgerFact, Live, ONCE_FINALIZER, ObjectKey, Owner, ROOT_LABEL,
        Refusal, Refused, World, leaves, manager, without,
    },
};

/// How often one object is taken to have become ready without being written in between.
const MAX_ASSUMED: u32 = 4;

/// How often the status of a root is written that is observed: what follows from it may change it again, and need not end.
const MAX_REPORTS: u32 = 32;

/// The root is so now, also for those who observe it.
pub(super) fn show_root(world: &mut World, root: Option<Live>) {
    let root = root.map(Arc::new);
    match &root {
        Some(live) => drop(world.objects.insert(live.key.clone(), live.clone())),
        None => drop(world.objects.remove(&world.root.key)),
    }
    world.root.live = root;
}

/// Remembers what the functions in shapes' places answered.
struct Listener<'a> {
    evaluator: &'a mut dyn Evaluator,
    /// By path and member.
    shapes: BTreeMap<(Vec<String>, String), Value>,
    wanted: BTreeSet<Vec<String>>,
}

impl Evaluator for Listener<'_> {
    fn evaluate(&mut self, batch: &[Question]) -> Vec<Answer> {
        let answers = self.evaluator.evaluate(batch);
        for (question, answer) in batch.iter().zip(&answers) {
            if let (Form::Whole, Answer::Value(value)) = (question.form, answer)
                && self.wanted.contains(&question.path)
            {
                let member = FieldPath::find(&question.input, &["each", "key"]).and_then(Value::as_str);
                let key = (question.path.clone(), member.unwrap_or_default().to_owned());
                self.shapes.insert(key, value.clone());
            }
        }
        answers
    }
}

pub(super) struct Play<'a> {
    program: Option<&'a Program>,
    world: &'a mut World,
    listener: Listener<'a>,
    version: u64,
    passes: usize,
    assumed: BTreeMap<ObjectKey, u32>,
    /// Seeds that were there before: everything else is not known.
    seeds: BTreeSet<String>,
    /// How often the status of the root may still be written.
    reports: u32,
}

impl<'a> Play<'a> {
    pub(super) fn new(
        program: Option<&'a Program>,
        world: &'a mut World,
        evaluator: &'a mut dyn Evaluator,
    ) -> Self {
        let newest = world.objects.values().map(|it| it.resource_version).max().unwrap_or(0);
        let root = world.root.live.as_ref().map_or(0, |it| it.resource_version);
        let wanted = program.map(shape_functions).unwrap_or_default();
        let seeds = world.ledger_or_empty().seeds.into_values().collect();
        Self {
            program,
            listener: Listener { evaluator, shapes: BTreeMap::new(), wanted },
            version: newest.max(root).saturating_add(1_000),
            passes: 0,
            assumed: BTreeMap::new(),
            seeds,
            reports: 0,
            world,
        }
    }

    /// The same, with the status of the root written where a node observes the root.
    pub(super) fn with_reports(self) -> Self {
        Self { reports: MAX_REPORTS, ..self }
    }

    /// Whether no more passes are made.
    pub(super) fn is_spent(&self) -> bool {
        self.passes >= MAX_PASSES
    }

    /// Passes until nothing but visible writes is left to do: our own books are written on the way.
    pub(super) fn settle(&mut self) -> Decision {
        loop {
            self.passes += 1;
            if self.reports > 0 {
                // Nobody waits here until a status is due.
                self.world.status_made = Some(self.world.changes);
            }
            let decision = decide_with(self.program, self.world, &mut self.listener);
            if self.is_spent() || !decision.questions().is_empty() {
                return decision;
            }
            let books: Vec<&Action> = decision.actions.iter().filter(|it| self.is_bookkeeping(it)).collect();
            if books.is_empty() && !self.refuses(&decision) && !self.reports(&decision) {
                return decision;
            }
            for action in books {
                self.write(action);
            }
        }
    }

    /// The API server refuses an apply that would take fields of others, unless it does so by force.
    fn refuses(&mut self, decision: &Decision) -> bool {
        let manager = manager(&self.world.root.instance);
        let mut refused = Vec::new();
        for action in &decision.actions {
            let Action::Change { key, body, force: false, .. } = action else { continue };
            let Some(live) = self.world.objects.get(key) else { continue };
            let fields = live.conflicts(&manager, body);
            if !fields.is_empty() {
                let refusal = Refusal::FieldConflict(fields);
                refused.push((
                    key.clone(),
                    Refused { tried: action.tried(), refusal, times: 1, at: self.world.now },
                ));
            }
        }
        let any = !refused.is_empty();
        self.world.refused.extend(refused);
        any
    }

    /// Writes the status of the root where a node observes the root: it waits for what stands there.
    fn reports(&mut self, decision: &Decision) -> bool {
        let (Some(status), Some(root)) = (&decision.status, &self.world.root.live) else { return false };
        let observed = decision.interests.objects.contains(&root.key)
            || decision.interests.kinds.iter().any(|(kind, _)| *kind == root.key.kind);
        if !observed || root.body.get("status") == Some(status) {
            return false;
        }
        let Some(left) = self.reports.checked_sub(1) else { return false };
        self.reports = left;
        let mut root = (**root).clone();
        let mut body = Value::clone(&root.body);
        body["status"] = status.clone();
        root.body = body.into();
        root.resource_version = self.next();
        show_root(self.world, Some(root));
        true
    }

    fn is_bookkeeping(&self, action: &Action) -> bool {
        match action {
            Action::Finalize { .. } | Action::Mark { .. } | Action::Record { .. } | Action::Forget { .. } => {
                true
            }
            Action::Release { disown, .. } => !disown,
            Action::Change { key, body, .. } => {
                let Some(live) = self.world.objects.get(key) else { return false };
                let ours = matches!(self.world.owner(live), Owner::Us(_));
                ours && without_marks(&live.body) == without_marks(&self.after(live, body))
            }
            _ => false,
        }
    }

    /// The object after an apply.
    fn after(&self, live: &Live, body: &Value) -> Value {
        let owned = live.owned_alone(&manager(&self.world.root.instance));
        let mut wanted = body.clone();
        // A random string that is not on record was chosen before this object was made: it holds it.
        for seed in self.new_seeds() {
            merge::recall(&mut wanted, &live.body, &seed);
        }
        applied(&live.body, &wanted, &owned)
    }

    /// Random strings that were made up on the way.
    fn new_seeds(&self) -> Vec<String> {
        let all = self.world.ledger_or_empty().seeds.into_values();
        all.filter(|it| !self.seeds.contains(it)).collect()
    }

    /// The writes of a decision that people want to see.
    pub(super) fn steps(&self, decision: &Decision) -> Vec<Step> {
        if !decision.questions().is_empty() || self.is_spent() {
            return Vec::new();
        }
        let mut steps: Vec<Step> =
            decision.actions.iter().filter_map(|action| self.step(action, decision)).collect();
        steps.sort_by(|a, b| (&a.slot, &a.object).cmp(&(&b.slot, &b.object)));
        steps
    }

    fn step(&self, action: &Action, decision: &Decision) -> Option<Step> {
        let key = action.written()?;
        let live = self.world.objects.get(key);
        let before = live.map(|it| without_marks(&it.body));
        let (verb, body) = match action {
            Action::Create { body, .. } => (Verb::Create, Some(body)),
            Action::Change { body, .. } => {
                let live = live?;
                let ours = matches!(self.world.owner(live), Owner::Us(_));
                (if ours { Verb::Change } else { Verb::Adopt }, Some(body))
            }
            Action::Delete { .. } => (Verb::Delete, None),
            Action::Release { disown: true, .. } => (Verb::Release, None),
            _ => return None,
        };
        if self.is_bookkeeping(action) {
            return None;
        }
        let claim = body.and_then(claim_of).or_else(|| live.and_then(|it| claim_of(&it.body)));
        let keeps_away = body.is_none().then(|| self.kept_away_by(key, decision)).flatten();
        let unneeded = body.is_none() && keeps_away.is_none();
        let state = claim.as_ref().and_then(|it| it.state.clone()).filter(|_| body.is_some());
        let of_claim = claim.as_ref().map(|it| Slot::new(state.as_ref().unwrap_or(&it.node), &it.member));
        let slot = keeps_away.or(of_claim).unwrap_or_else(|| Slot::new("", ""));
        let after = match (verb, body) {
            (Verb::Release, _) => before.clone(),
            (_, Some(body)) => {
                let nothing = || applied(&json!({}), body, &BTreeSet::new());
                let whole = live.map_or_else(nothing, |live| self.after(live, body));
                Some(self.without_seeds(without_marks(&whole)))
            }
            (_, None) => None,
        };
        Some(Step {
            slot,
            verb,
            object: key.clone(),
            once: claim.as_ref().is_some_and(|it| it.attempt.is_some()),
            state,
            before,
            after,
            unneeded,
        })
    }

    /// The `absent` node that wants an object gone.
    fn kept_away_by(&self, key: &ObjectKey, decision: &Decision) -> Option<Slot> {
        let there = Cause::Pending(format!("{key} exists"));
        let absent = |slot: &Slot| {
            self.program
                .and_then(|it| it.node(&slot.node))
                .is_some_and(|it| matches!(it.body, Body::Absent(_)))
        };
        let found = decision.nodes.iter().find(|(slot, state)| absent(slot) && state.causes.contains(&there));
        found.map(|(slot, _)| slot.clone())
    }

    /// Random strings that are only chosen when it really happens.
    fn without_seeds(&self, mut value: Value) -> Value {
        for seed in self.new_seeds() {
            replace(&mut value, &seed);
        }
        value
    }

    /// Carries the visible writes of a decision out.
    pub(super) fn act(&mut self, decision: &Decision) {
        for action in decision.actions.iter().filter(|it| it.written().is_some()) {
            if let Some(key) = action.written() {
                self.assumed.remove(key);
            }
            self.write(action);
        }
    }

    fn next(&mut self) -> u64 {
        self.version += 1;
        self.world.changes += 1;
        self.version
    }

    fn write(&mut self, action: &Action) {
        let version = self.next();
        match action {
            Action::Create { key, body } => {
                let uid = format!("planned-{version}");
                let live = Live {
                    key: key.clone(),
                    uid,
                    resource_version: version,
                    generation: None,
                    terminating: false,
                    finalizers: finalizers(body),
                    managed: crate::packed::Packed::default(),
                    body: json!({}).into(),
                };
                self.store(live, applied(&json!({}), body, &BTreeSet::new()), body);
            }
            Action::Change { key, body, .. } => {
                let Some(live) = self.world.objects.get(key).cloned() else { return };
                let after = self.after(&live, body);
                let mut live = (*live).clone();
                live.resource_version = version;
                self.store(live, after, body);
            }
            Action::Delete { key, .. } => {
                self.world.objects.remove(key);
            }
            Action::Release { key, disown, .. } => {
                let Some(live) = self.world.objects.get(key).cloned() else { return };
                let mut live = (*live).clone();
                live.resource_version = version;
                live.finalizers.remove(ONCE_FINALIZER);
                if *disown {
                    let at = |parts: [&str; 3]| parts.map(str::to_owned);
                    without(&mut live.body, &at(["metadata", "labels", ROOT_LABEL]));
                    without(&mut live.body, &at(["metadata", "annotations", CLAIM_ANNOTATION]));
                }
                self.world.objects.insert(key.clone(), Arc::new(live));
            }
            // Whoever plans has no key, and knows of no older one.
            Action::Seal { .. } => {}
            Action::Finalize { finalizers, .. } => self.finalize(version, finalizers),
            Action::Mark { annotation, memory, .. } => self.mark(version, annotation, memory.as_deref()),
            Action::Record { ledger, .. } => {
                self.world.ledger = LedgerFact::Present { resource_version: version, ledger: ledger.clone() };
            }
            Action::Forget { .. } => self.world.ledger = LedgerFact::Absent,
            // Offline there is no earlier root's ledger.
            Action::ReadLedgerOf { instance } | Action::ForgetLedgerOf { instance, .. } => {
                self.world.learn(Fact::OldLedger(instance.clone(), LedgerFact::Absent));
            }
            Action::Render(_)
            | Action::Look { .. }
            | Action::ReadLedger
            | Action::Status { .. }
            | Action::Event(_) => {}
        }
    }

    /// Stores an object that we wrote. A spec that changed is a new generation.
    fn store(&mut self, mut live: Live, mut after: Value, wanted: &Value) {
        let changed = live.body.get("spec") != after.get("spec");
        let counts = self.world.kinds.get(&live.key.kind).is_some_and(|it| it.observed_generation);
        if changed && (counts || live.generation.is_some()) {
            live.generation = Some(live.generation.unwrap_or(0) + 1);
        }
        if let (Some(generation), Some(metadata)) =
            (live.generation, after.get_mut("metadata").and_then(Value::as_object_mut))
        {
            metadata.insert("generation".to_owned(), json!(generation));
        }
        live.body = after.into();
        live.managed.insert(manager(&self.world.root.instance), leaves(wanted).into_iter().collect());
        self.world.objects.insert(live.key.clone(), Arc::new(live));
    }

    fn finalize(&mut self, version: u64, finalizers: &BTreeSet<String>) {
        let Some(root) = self.world.root.live.clone() else { return };
        let mut root = (*root).clone();
        root.resource_version = version;
        root.finalizers.clone_from(finalizers);
        let ends = root.terminating && root.finalizers.is_empty();
        self.world.root.seen_going |= root.terminating;
        show_root(self.world, (!ends).then_some(root));
    }

    fn mark(&mut self, version: u64, annotation: &str, memory: Option<&str>) {
        let Some(root) = self.world.root.live.clone() else { return };
        let mut root = (*root).clone();
        root.resource_version = version;
        let mut body = Value::clone(&root.body);
        match memory {
            Some(memory) => body["metadata"]["annotations"][annotation] = json!(memory),
            None => without(&mut body, &["metadata", "annotations", annotation].map(str::to_owned)),
        }
        root.body = body.into();
        show_root(self.world, Some(root));
    }

    /// Takes every object of ours to become ready that is not. Says what was assumed.
    pub(super) fn assume(&mut self) -> Vec<Assumption> {
        let Some(program) = self.program.filter(|_| !self.is_spent()) else { return Vec::new() };
        let mut told = Vec::new();
        let all: Vec<Arc<Live>> = self.world.objects.values().cloned().collect();
        for live in all {
            let Owner::Us(claim) = self.world.owner(&live) else { continue };
            let often = self.assumed.get(&live.key).copied().unwrap_or(0);
            if live.terminating || often >= MAX_ASSUMED {
                continue;
            }
            let mut body = live.body.clone();
            let observed = FieldPath::find(&body, &["status", "observedGeneration"]).and_then(Value::as_i64);
            let reports = self.world.kinds.get(&live.key.kind).is_some_and(|it| it.observed_generation);
            let counts = reports || observed.is_some();
            let behind = counts && live.generation.is_some_and(|it| observed.is_none_or(|seen| seen < it));
            if behind || crate::health::of(&body).state != crate::health::HealthState::Current {
                assume::healthy(&mut body, counts);
            }
            let current = body.clone();
            for shape in self.shapes(program, &claim) {
                assume::satisfy(&mut body, &shape);
            }
            if body == live.body {
                continue;
            }
            self.assumed.insert(live.key.clone(), often + 1);
            let fields = changed(&current, &body);
            let node = claim.state.as_ref().unwrap_or(&claim.node);
            let slot = Slot::new(node, &claim.member);
            told.push(Assumption { slot, object: live.key.clone(), fields });
            let mut live = (*live).clone();
            live.resource_version = self.next();
            live.body = body;
            self.world.objects.insert(live.key.clone(), Arc::new(live));
        }
        told
    }

    /// What is waited for on an object: the ready shape of its node, the end of its once, the shapes of edges.
    fn shapes(&self, program: &Program, claim: &Claim) -> Vec<Shape> {
        let name = claim.state.as_deref().unwrap_or(&claim.node);
        let Some(node) = program.node(name) else { return Vec::new() };
        let mut wanted: Vec<&WantedShape> = Vec::new();
        let mut shapes = Vec::new();
        match &node.once {
            Some(once) => match &once.done {
                Some(done) => wanted.push(done),
                None => shapes.push(Shape::Complete),
            },
            None => wanted.extend(&node.ready),
        }
        wanted
            .extend(edges(program).filter(|(from, _)| *from == name).filter_map(|(_, it)| it.until.as_ref()));
        for shape in wanted {
            match &shape.form {
                WantedShapeForm::Native(shape) => shapes.push(shape.clone()),
                WantedShapeForm::Contract(_) => {}
                WantedShapeForm::Function(function) => {
                    let of =
                        |member: &str| self.listener.shapes.get(&(function.path.clone(), member.to_owned()));
                    let found = of(&claim.member).or_else(|| of(""));
                    shapes.extend(found.and_then(|it| Shape::from_value(it).ok()));
                }
            }
        }
        // That something fails or goes is not what is planned.
        shapes.retain(|it| !matches!(it, Shape::Failed | Shape::Finished | Shape::Absent));
        shapes
    }
}

/// All edges with their precursor, those of conditions included.
fn edges(program: &Program) -> impl Iterator<Item = (&str, &SequenceEdge)> {
    program.blueprint.nodes.values().flat_map(|node| {
        let conditions = node.also.values().chain(node.deleting.values()).flat_map(|it| &it.before);
        node.before.iter().chain(conditions).map(|(from, edge)| (from.as_str(), edge))
    })
}

/// The paths of the functions that stand in a shape's place.
fn shape_functions(program: &Program) -> BTreeSet<Vec<String>> {
    let function = |shape: &WantedShape| match &shape.form {
        WantedShapeForm::Function(function) => Some(function.path.clone()),
        _ => None,
    };
    let nodes = program.blueprint.nodes.values();
    let own = nodes.flat_map(|node| {
        let done = node.once.as_ref().and_then(|it| it.done.as_ref());
        node.ready.iter().chain(done)
    });
    own.chain(edges(program).filter_map(|(_, it)| it.until.as_ref())).filter_map(function).collect()
}

fn claim_of(body: &Value) -> Option<Claim> {
    let text = FieldPath::find(body, &["metadata", "annotations", CLAIM_ANNOTATION])?.as_str()?;
    serde_json::from_str(text).ok()
}

fn finalizers(body: &Value) -> BTreeSet<String> {
    let list = FieldPath::find(body, &["metadata", "finalizers"]).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn replace(value: &mut Value, seed: &str) {
    match value {
        Value::String(text) if text.contains(seed) => *text = text.replace(seed, "<random>"),
        Value::String(text) if *text == merge::base64(seed.as_bytes()) => "<random>".clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, seed)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace(field, seed)),
        _ => {}
    }
}

/// The fields that are other, or new, in the second.
fn changed(before: &Value, after: &Value) -> Vec<(String, Value)> {
    leaves(after)
        .into_iter()
        .filter_map(|path| {
            let find =
                |value: &Value| path.parts().iter().try_fold(value.clone(), |it, part| it.get(part).cloned());
            let value = find(after)?;
            (find(before).as_ref() != Some(&value)).then(|| (path.to_string(), value))
        })
        .collect()
}
