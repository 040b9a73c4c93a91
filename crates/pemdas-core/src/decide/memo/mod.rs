//! The last decision, and what each step of it read: so that the next one costs what changed.
//!
//! A step (a node or a condition) is taken again when something that it read has changed, when its time has come, or
//! when it acted; otherwise what it found stands. A step that finds the same again changes nothing for those after
//! it. What the steps found together becomes a decision only if one of them found something new. The result is the
//! same as that of a pass over everything, byte for byte: every walk of the explorer compares the two.

mod changes;
mod steps;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use self::{
    changes::{Before, Changes},
    steps::{Steps, take},
};
use super::{
    Cause, Decision, Mode,
    desired::Kept,
    inventory::Inventory,
    pass::{NodeView, Pass, Questions, idle},
    reason, suspended,
    tally::Tally,
};
use crate::{
    action::Action,
    digest::Digest,
    evaluate::{Evaluator, MAX_BATCHES},
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
    steps: Steps,
    /// What all nodes are together; the states and the answers are in the decision.
    tally: Tally,
    /// What the report read beside the nodes.
    report: Vec<Touch>,
    /// Nothing is going on: the report depends on the nodes alone.
    quiet: bool,
    /// The number of the last change that is in here.
    changes: u64,
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
        let known =
            self.last.take().filter(|it| it.program == of && it.lease == world.lease && !at_length!());
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
                super::hold_writes(world, &mut decision);
                return last(*decision, None);
            }
            Case::Present(program, root) => (program, root),
        };
        let mut pass = Pass::new(program, world, root, Mode::Present);
        if !pass.admit() {
            pass.contradictions();
            let mut decision = pass.finish();
            super::hold_writes(world, &mut decision);
            return last(decision, None);
        }
        // The report adds it: left here, the step that happens to come first would keep it.
        pass.asked = Questions::default();
        pass.begin_need();
        let mut steps = Steps::default();
        let mut actions = Vec::new();
        for vertex in &program.steps {
            steps.push(take(&mut pass, vertex, &mut actions));
            self.steps += 1;
            while let Some(condition) = pass.early.pop_first() {
                let Some(at) = program.steps.iter().position(|it| *it == condition) else { continue };
                steps.replace(at, take(&mut pass, &condition, &mut actions));
                self.steps += 1;
            }
        }
        let mut tally = Tally::of(program, &pass.nodes, &pass.inventory);
        steps.all().for_each(|it| tally.uses(&it.used));
        let (decision, state) = report(pass, steps, tally, actions);
        last(decision, Some(Box::new(state)))
    }

    /// A pass over what changed; nothing if everything has to be looked at.
    fn advance(&mut self, program: Option<&Program>, world: &World, last: Last, awake: bool) -> Option<Last> {
        let Last { program: of, mut decision, state, .. } = last;
        let mut state = *state?;
        let Case::Present(program, root) = case(program, world) else { return None };
        let mut changes = Changes::of(world, &mut state)?;
        if changes.has(Touch::ROOT) {
            changes.root(&mut state, root);
        }
        let mut pass = Pass::empty(program, world, root, Mode::Present, state.root_input.clone());
        pass.admitted = state.admitted;
        if changes.has(Touch::ROOT_INPUT) && !pass.admit() {
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
        let mut tally = std::mem::take(&mut state.tally);
        let mut actions = Vec::new();
        let mut stirred = awake || changes.report(&state);
        let mut again = steps.due(world.now);
        changes.new_readers(&steps, None, &mut again);
        // What looks different now, as it was.
        let (mut nodes, mut used) = (Vec::new(), Vec::new());
        while let Some(at) = again.pop_first() {
            let (vertex, step) = (&program.steps[at], steps.get(at));
            let records = pass.records();
            if !changes.reach(step, world.now, records) && !changes.flow(&pass, vertex, step) {
                continue;
            }
            self.steps += 1;
            let before = Before::of(vertex, &mut pass);
            let taken = take(&mut pass, vertex, &mut actions);
            stirred |= taken.restless || step.restless || !taken.says_the_same(step);
            used.push((at, steps.replace(at, taken)));
            match before {
                Before::Condition(truth) if pass.decided.get(vertex) != truth.as_ref() => return None,
                Before::Condition(_) => {}
                Before::Node(name, old) => {
                    stirred |= changes.node(program, name, old.as_ref(), pass.nodes.get(name));
                    nodes.push((name, old));
                }
            }
            if pass.records() && !records {
                again.extend(steps.readers(Touch::LEDGER).filter(|it| *it > at));
            }
            changes.new_readers(&steps, Some(at), &mut again);
        }
        let state = if stirred {
            // Nobody else has it, as a rule: then nothing is copied.
            let last = Arc::unwrap_or_clone(decision);
            (tally.states, tally.used) = (last.nodes, last.used);
            tally.begin();
            for (at, old) in used {
                tally.uses_no_more(&old.used);
                tally.uses(&steps.get(at).used);
            }
            changes.count(&mut tally, &pass, &nodes);
            let (next, state) = report(pass, steps, tally, actions);
            decision = Arc::new(next);
            state
        } else {
            State { report: state.report, ..State::of(pass, steps, tally) }
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
        let goes = world.root.seen_going || deleting;
        if let Some(why) = suspended::why(world).filter(|_| goes) {
            return decided(suspended::removal(world, &why));
        }
        if goes || mutant!(EatStrays) {
            return decided(super::deletion::remove(program, world));
        }
        let text = format!("{} is not there, and was not seen going", world.root.key);
        return decided(idle(&Cause::stalled(reason::STRAY, text)));
    };
    if world.ledger == LedgerFact::Unknown {
        return decided(idle(&Cause::Unknown("the ledger is not read yet".to_owned())));
    }
    let goes = root.terminating || !world.root.selected || deleting;
    if let Some(why) = suspended::why(world).filter(|_| goes) {
        return decided(suspended::removal(world, &why));
    }
    if goes {
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

/// From what the steps found to a decision.
fn report(mut pass: Pass<'_>, steps: Steps, mut tally: Tally, actions: Vec<Action>) -> (Decision, State) {
    pass.actions = actions;
    pass.asked.used.extend(pass.admitted);
    pass.contradictions();
    for step in steps.loud() {
        pass.instance.extend(step.instance.iter().cloned());
        pass.asked.open.extend(step.open.iter().map(|it| (it.digest, it.clone())));
    }
    steps.wake().into_iter().for_each(|it| pass.wake_at(it));
    pass.remove_unneeded(&tally);
    let removes = !pass.removing.is_empty();
    let mut decision = pass.conclude(&mut tally);
    let report = pass.facts.take_reads();
    super::hold_writes(pass.facts.all(), &mut decision);
    let quiet =
        !removes && pass.told_all && decision.actions.is_empty() && pass.facts.all().writes.is_empty();
    (decision, State { report, quiet, ..State::of(pass, steps, tally) })
}

impl State {
    fn of(pass: Pass<'_>, steps: Steps, tally: Tally) -> Self {
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
            tally,
            report: Vec::new(),
            quiet: true,
            changes: pass.facts.all().changes,
        }
    }
}
