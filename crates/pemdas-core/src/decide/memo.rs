//! The last decision, and what each step of it read: so that the next one costs what changed.
//!
//! A step (a node or a condition) is taken again when something that it read has changed, when its time has come, or
//! when it acted; otherwise what it found stands. A step that finds the same again changes nothing for those after
//! it. What the steps found together becomes a decision only if one of them found something new. The result is the
//! same as that of a pass over everything, byte for byte: every walk of the explorer compares the two.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{
    Cause, Decision, Mode,
    desired::Kept,
    edges::Taken,
    inventory::Inventory,
    pass::{Found, NodeView, Pass, Questions, idle, root_input, same_input, same_marks},
    reason,
};
use crate::{
    action::Action,
    blueprint::{Body, Function, Input, RootTarget},
    digest::Digest,
    evaluate::{Evaluator, MAX_BATCHES, Question},
    graph::Vertex,
    ledger::Slot,
    program::{Program, Revision},
    truth::Truth,
    world::{Fact, Lease, LedgerFact, Live, Touch, World},
};

/// The last decision of an instance, and what it was made of.
#[derive(Debug, Clone, Default)]
pub struct Memo {
    last: Option<Last>,
    passes: u64,
    steps: u64,
}

#[derive(Debug, Clone)]
struct Last {
    changes: u64,
    program: Option<(Revision, String)>,
    lease: Lease,
    decision: Arc<Decision>,
    /// Of an instance that is present; the end of one is decided anew each time.
    state: Option<Box<State>>,
}

/// What the steps found.
#[derive(Debug, Clone)]
struct State {
    root: Arc<Live>,
    root_input: Arc<Value>,
    admitted: Option<Digest>,
    need: BTreeMap<String, Truth>,
    decided: BTreeMap<Vertex, Truth>,
    nodes: BTreeMap<String, NodeView>,
    inventory: Inventory,
    kept: BTreeMap<Slot, Kept>,
    /// One for each step of the program.
    steps: Vec<Step>,
    /// What the report read beside the nodes.
    report: Vec<Touch>,
    /// Nothing is going on: the report depends on the nodes alone.
    quiet: bool,
    /// The number of the last change that is in here.
    changes: u64,
}

/// One step: what it read, and what it left beside its node.
#[derive(Debug, Clone, Default, PartialEq)]
struct Step {
    reads: Vec<Touch>,
    taken: Vec<Taken>,
    used: Vec<Digest>,
    open: Vec<Question>,
    instance: Vec<Cause>,
    wake: Option<u64>,
    /// It acted or recorded: it is taken again each time.
    restless: bool,
}

impl Memo {
    /// Decides, or gives the last decision where nothing changed since. Facts must have come by
    /// [`World::learn`]: it notes what they are about ([`World::touch_everything`] where they did not).
    pub fn decide(&mut self, program: Option<&Program>, world: &World) -> &Decision {
        self.decide_shared(program, world)
    }

    /// The same, to be kept without copying it.
    pub fn decide_shared(&mut self, program: Option<&Program>, world: &World) -> &Arc<Decision> {
        let of = program.map(|it| (it.revision.clone(), it.root.clone()));
        let known = self.last.take().filter(|it| it.program == of && it.lease == world.lease);
        let awake = known.as_ref().is_some_and(|it| it.decision.wake.is_some_and(|wake| wake <= world.now));
        let last = match known {
            Some(last) if last.changes == world.changes && !awake => last,
            known => {
                let next = known.and_then(|last| self.advance(program, world, last, awake));
                next.unwrap_or_else(|| self.whole(program, world))
            }
        };
        &self.last.insert(last).decision
    }

    /// Decides, answering the questions on the way: each batch holds all that can be asked at that point, and costs
    /// the steps that asked. Writes of a decision that still has questions are not carried out.
    pub fn decide_with(
        &mut self,
        program: Option<&Program>,
        world: &mut World,
        evaluator: &mut dyn Evaluator,
    ) -> &Decision {
        for _ in 0..MAX_BATCHES {
            let batch = self.decide(program, world).questions().to_vec();
            if batch.is_empty() {
                break;
            }
            for (question, answer) in batch.iter().zip(evaluator.evaluate(&batch)) {
                world.learn(Fact::Answered(question.digest, answer));
            }
        }
        if let Some(last) = &self.last {
            world.decided(&last.decision);
        }
        self.decide(program, world)
    }

    /// Forgets the last decision: the next one looks at everything.
    pub fn rest(&mut self) {
        self.last = None;
    }

    pub(super) fn into_decision(mut self, program: Option<&Program>, world: &World) -> Decision {
        self.decide(program, world);
        let nothing = || idle(&Cause::Pending(String::new()));
        self.last.map_or_else(nothing, |it| Arc::unwrap_or_clone(it.decision))
    }

    /// How many passes were made, over everything or over what changed.
    #[must_use]
    pub fn passes(&self) -> u64 {
        self.passes
    }

    /// How many steps were taken, in all passes.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// A pass over everything.
    fn whole(&mut self, program: Option<&Program>, world: &World) -> Last {
        self.passes += 1;
        let last = |decision, state| Last {
            changes: world.changes,
            program: program.map(|it| (it.revision.clone(), it.root.clone())),
            lease: world.lease,
            decision: Arc::new(decision),
            state,
        };
        let (program, root) = match case(program, world) {
            Case::Decided(mut decision) => {
                super::hold_root_writes(world, &mut decision);
                return last(*decision, None);
            }
            Case::Present(program, root) => (program, root),
        };
        let mut pass = Pass::new(program, world, root, Mode::Present);
        if !pass.admit() {
            pass.contradictions();
            let mut decision = pass.finish();
            super::hold_root_writes(world, &mut decision);
            return last(decision, None);
        }
        // The report adds it: left here, the step that happens to come first would keep it.
        pass.asked = Questions::default();
        pass.begin_need();
        let mut steps = Vec::with_capacity(program.steps.len());
        let mut actions = Vec::new();
        for vertex in &program.steps {
            steps.push(take(&mut pass, vertex, &mut actions));
        }
        self.steps += steps.len() as u64;
        let (decision, state) = report(pass, steps, actions);
        last(decision, Some(Box::new(state)))
    }

    /// A pass over what changed; nothing if everything has to be looked at.
    fn advance(&mut self, program: Option<&Program>, world: &World, last: Last, awake: bool) -> Option<Last> {
        let Last { program: of, mut decision, state, .. } = last;
        let mut state = *state?;
        let Case::Present(program, root) = case(program, world) else { return None };
        let mut changes = Changes::of(world, &mut state)?;
        if changes.touched.binary_search(&Touch::ROOT).is_ok() {
            changes.root(&mut state, root);
        }
        let mut pass = Pass::empty(program, world, root, Mode::Present, state.root_input.clone());
        pass.admitted = state.admitted;
        if changes.touched.binary_search(&Touch::ROOT_INPUT).is_ok() && !pass.admit() {
            return None;
        }
        pass.asked = Questions::default();
        self.passes += 1;
        pass.need = std::mem::take(&mut state.need);
        pass.decided = std::mem::take(&mut state.decided);
        pass.nodes = std::mem::take(&mut state.nodes);
        pass.inventory = std::mem::take(&mut state.inventory);
        pass.kept = std::mem::take(&mut state.kept);
        let mut steps = std::mem::take(&mut state.steps);
        let mut actions = Vec::new();
        let mut stirred = awake || changes.report(&state);
        for (vertex, step) in program.steps.iter().zip(&mut steps) {
            if !changes.reach(step, world.now, pass.records()) && !changes.flow(&pass, vertex, step) {
                continue;
            }
            self.steps += 1;
            let before = Before::of(vertex, &mut pass);
            let taken = take(&mut pass, vertex, &mut actions);
            stirred |= taken.restless || step.restless || !taken.says_the_same(step);
            *step = taken;
            match before {
                Before::Condition(truth) if pass.decided.get(vertex) != truth.as_ref() => return None,
                Before::Condition(_) => {}
                Before::Node(name, old) => {
                    stirred |= changes.node(program, name, old.as_ref(), pass.nodes.get(name));
                }
            }
        }
        let state = if stirred {
            let (next, state) = report(pass, steps, actions);
            decision = Arc::new(next);
            state
        } else {
            State { report: state.report, ..State::of(pass, steps) }
        };
        let state = Some(Box::new(state));
        Some(Last { changes: world.changes, program: of, lease: world.lease, decision, state })
    }
}

/// What an instance is about, where no pass over the nodes is needed to say it.
enum Case<'a> {
    Present(&'a Program, &'a Arc<Live>),
    Decided(Box<Decision>),
}

fn case<'a>(program: Option<&'a Program>, world: &'a World) -> Case<'a> {
    let decided = |decision| Case::Decided(Box::new(decision));
    if !world.lease.held {
        return decided(idle(&Cause::Pending("another process leads".to_owned())));
    }
    let deleting = match &world.ledger {
        LedgerFact::Present { ledger, .. } => ledger.deleting.is_some(),
        _ => false,
    };
    let Some(root) = &world.root.live else {
        if world.root.seen_going || deleting || mutant!(EatStrays) {
            return decided(super::deletion::remove(program, world));
        }
        let text = format!("{} is not there, and was not seen going", world.root.key);
        return decided(idle(&Cause::stalled(reason::STRAY, text)));
    };
    if world.ledger == LedgerFact::Unknown {
        return decided(idle(&Cause::Unknown("the ledger is not read yet".to_owned())));
    }
    if root.terminating || !world.root.selected || deleting {
        return decided(super::deletion::delete(program, world, root));
    }
    if let Some(decision) = super::reclaim::take_over(world, root) {
        return decided(decision);
    }
    match program {
        Some(program) => Case::Present(program, root),
        None => decided(idle(&Cause::stalled(reason::ERROR, "no revision of the blueprint can run"))),
    }
}

/// Takes a step and keeps apart what it leaves.
fn take(pass: &mut Pass<'_>, vertex: &Vertex, actions: &mut Vec<Action>) -> Step {
    let recorded = pass.edits();
    pass.take(vertex);
    let Questions { open, used, wake } = std::mem::take(&mut pass.asked);
    let acted = !pass.actions.is_empty();
    for action in pass.actions.drain(..) {
        if !actions.contains(&action) {
            actions.push(action);
        }
    }
    let reads = pass.facts.take_reads();
    let later = recorded > 0 && reads.binary_search(&Touch::LEDGER).is_ok();
    Step {
        taken: std::mem::take(&mut pass.taken),
        used: used.into_iter().collect(),
        open: open.into_values().collect(),
        instance: std::mem::take(&mut pass.instance),
        wake: [pass.wake.take(), wake].into_iter().flatten().min(),
        restless: acted || pass.edits() > recorded || later,
        reads,
    }
}

/// From what the steps found to a decision.
fn report(mut pass: Pass<'_>, steps: Vec<Step>, actions: Vec<Action>) -> (Decision, State) {
    pass.actions = actions;
    pass.asked.used.extend(pass.admitted);
    pass.contradictions();
    for step in &steps {
        pass.instance.extend(step.instance.iter().cloned());
        pass.asked.used.extend(&step.used);
        pass.asked.open.extend(step.open.iter().map(|it| (it.digest, it.clone())));
        if let Some(wake) = step.wake {
            pass.wake_at(wake);
        }
    }
    pass.remove_unneeded();
    let removes = !pass.removing.is_empty();
    let mut decision = pass.finish();
    let report = pass.facts.take_reads();
    super::hold_root_writes(pass.facts.all(), &mut decision);
    let quiet =
        !removes && pass.told_all && decision.actions.is_empty() && pass.facts.all().writes.is_empty();
    (decision, State { report, quiet, ..State::of(pass, steps) })
}

impl State {
    fn of(pass: Pass<'_>, steps: Vec<Step>) -> Self {
        Self {
            root: pass.root.clone(),
            root_input: pass.root_input(),
            admitted: pass.admitted,
            need: pass.need,
            decided: pass.decided,
            nodes: pass.nodes,
            inventory: pass.inventory,
            kept: pass.kept,
            steps,
            report: Vec::new(),
            quiet: true,
            changes: pass.facts.all().changes,
        }
    }
}

impl Step {
    fn says_the_same(&self, other: &Self) -> bool {
        self.instance == other.instance
            && self.wake == other.wake
            && self.used == other.used
            && self.open == other.open
    }
}

/// What a step had found before it is taken again.
enum Before<'p> {
    Node(&'p str, Option<NodeView>),
    Condition(Option<Truth>),
}

impl<'p> Before<'p> {
    fn of(vertex: &'p Vertex, pass: &mut Pass<'_>) -> Self {
        match vertex {
            Vertex::Node(name) => Self::Node(name, pass.nodes.remove(name)),
            Vertex::Condition { .. } => Self::Condition(pass.decided.get(vertex).copied()),
        }
    }
}

/// What changed since the last pass, and what follows from it as the steps are taken.
struct Changes {
    /// Sorted.
    touched: Vec<Touch>,
    /// Whether an object came into the inventory, went, or says something else of itself.
    claims: bool,
}

impl Changes {
    fn of(world: &World, state: &mut State) -> Option<Self> {
        let mut changes = Self { touched: Vec::new(), claims: false };
        for (touch, object) in world.journal.since(state.changes)? {
            if touch == Touch::EVERYTHING {
                return None;
            }
            changes.add(touch);
            if let Some(key) = object {
                let (touched, moved) = state.inventory.renew(key, world);
                touched.into_iter().for_each(|it| changes.add(it));
                changes.claims |= moved;
            }
        }
        Some(changes)
    }

    fn add(&mut self, touch: Touch) {
        if let Err(at) = self.touched.binary_search(&touch) {
            self.touched.insert(at, touch);
        }
    }

    fn hits(&self, reads: &[Touch]) -> bool {
        reads.iter().any(|it| self.touched.binary_search(it).is_ok())
    }

    /// The root changed: perhaps only what its templates do not see.
    fn root(&mut self, state: &mut State, root: &Arc<Live>) {
        if !same_input(&state.root.body, &root.body) {
            state.root_input = Arc::new(root_input(&root.body));
            self.add(Touch::ROOT_INPUT);
        }
        if !same_marks(&state.root, root) {
            self.add(Touch::ROOT_MARKS);
        }
    }

    /// Whether a step has to be taken again.
    fn reach(&self, step: &Step, now: u64, recorded: bool) -> bool {
        step.restless
            || step.wake.is_some_and(|wake| wake <= now)
            || (self.hits(&step.reads) && !mutant!(StepsStay))
            || (recorded && step.reads.binary_search(&Touch::LEDGER).is_ok())
    }

    /// Whether a step takes something else from the nodes before it, now that their objects look different.
    fn flow(&self, pass: &Pass<'_>, vertex: &Vertex, step: &Step) -> bool {
        let flows = |taken: &&Taken| self.touched.binary_search(&Touch::found(&taken.precursor)).is_ok();
        let differs = step.taken.iter().filter(flows).any(|it| !pass.takes_the_same(vertex, it));
        pass.facts.take_reads();
        differs
    }

    /// Whether the report has to be made again, whatever the steps find.
    fn report(&self, state: &State) -> bool {
        !state.quiet
            || self.claims
            || self.hits(&[Touch::LEDGER, Touch::ROOT, Touch::REPORT])
            || self.hits(&state.report)
    }

    /// A node was looked at again: what its successors have to know, and whether the report does.
    fn node(
        &mut self,
        program: &Program,
        name: &str,
        old: Option<&NodeView>,
        new: Option<&NodeView>,
    ) -> bool {
        let (Some(old), Some(new)) = (old, new) else {
            self.add(Touch::node(name));
            self.add(Touch::found(name));
            return true;
        };
        if old == new {
            return false;
        }
        if mutant!(FindingsStay) {
            return true;
        }
        self.add(Touch::found(name));
        if old.differs_beside_found(new) {
            self.add(Touch::node(name));
            return true;
        }
        shows_in_status(program, name, old, new)
    }
}

/// Whether the status of the root shows how two views differ in what is found of the objects.
fn shows_in_status(program: &Program, name: &str, old: &NodeView, new: &NodeView) -> bool {
    let Some(root) = program.node(&program.root) else { return false };
    if !matches!(&root.body, Body::Root(it) if matches!(it.target, RootTarget::Owned(_))) {
        return false;
    }
    let differs = |path: &[String]| new.collection || part(old, path) != part(new, path);
    let reads = |function: &Function| {
        function.reads.iter().any(|read| match read.input() {
            Input::Whole => true,
            Input::Node(node) => node == name && differs(&read.path[1..]),
            _ => false,
        })
    };
    let by_default = root.status.is_none() && differs(&["status".to_owned()]);
    by_default || root.status.iter().chain(&root.conditions).any(reads)
}

/// A field of what is found of a node's one object.
fn part<'v>(view: &'v NodeView, path: &[String]) -> Option<&'v Value> {
    match &view.members.get("")?.found {
        Found::Present(live) => path.iter().try_fold(live.value(), |it, part| it.get(part)),
        Found::Absent | Found::Unknown(_) => None,
    }
}
