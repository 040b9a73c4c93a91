//! What would happen: `decide` played in rounds over a small model of what writes do.
//!
//! A round is what acts at the same time. After it, every object that was written is taken to become ready: it is given the status that
//! the shapes ask for and nothing else (`assume`), and the next round is what acts then. What needs data that no shape names (the
//! address that a controller will write) is not known here; that branch ends with what it waits for. What others own
//! is taken as it is.
//!
//! The same function serves the command line on files and an operator on what it sees: all that differs is the [`World`] it starts from.
//! Writes of our own books (finalizers, the ledger, the claim on an object) are made without being told: they belong to the step that
//! needs them.

mod assume;
mod kinds;
mod merge;
mod play;
mod public;

#[cfg(test)]
pub(crate) mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::Serialize;
use serde_json::Value;

pub use kinds::{known_kinds, view};

use crate::{
    decide::{Cause, Conditions, Decision, Mode, NodeState, Phase, finalizers, without_members},
    evaluate::Evaluator,
    ledger::Slot,
    program::Program,
    secrets::Secrets,
    world::{FieldSet, Live, OUR_PREFIX, ObjectKey, Owner, World, without},
};

/// How many rounds are played. A blueprint of this depth has other problems.
pub const MAX_ROUNDS: usize = 200;
/// How many passes are made over all rounds together.
pub const MAX_PASSES: usize = 4_000;

/// What is done to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// It is made.
    Create,
    /// It is changed.
    Change,
    /// It is there, is nobody's, and becomes this instance's.
    Adopt,
    /// It is deleted.
    Delete,
    /// It stays, and is nobody's any more.
    Release,
}

/// One write.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// The node that acts.
    pub slot: Slot,
    /// What is done.
    pub verb: Verb,
    /// To which object. The name of a once's object ends in a digest that only the cluster's key can make.
    pub object: ObjectKey,
    /// Whether the object is that of a once.
    pub once: bool,
    /// The state that the object is brought into, where that is not its last.
    pub state: Option<String>,
    /// The object before, without status and what servers and Pemdas write on objects; none if there is none.
    pub before: Option<Value>,
    /// The object after; none if there is none.
    pub after: Option<Value>,
    /// Whether it goes because nothing needs it any more.
    pub unneeded: bool,
}

/// A field that is taken to be set when an object is ready.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assumption {
    /// The node.
    pub slot: Slot,
    /// The object.
    pub object: ObjectKey,
    /// The fields that a shape of the blueprint asks for, with what they are taken to be; that an object is current by
    /// the rules of its kind goes without saying.
    pub fields: Vec<(String, Value)>,
}

/// What acts at the same time.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Round {
    /// The writes, in the order of their nodes.
    pub steps: Vec<Step>,
    /// What is taken to have happened before the next round.
    pub assumed: Vec<Assumption>,
}

/// What becomes of a node, or of a member of one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It is as it shall be.
    Done,
    /// It is applied already, and taken to become ready.
    Becomes,
    /// It writes in these rounds.
    Acts(Vec<usize>),
    /// It writes nothing and is ready in the end: a value, a state that is passed, something observed, a set without members.
    Passes,
    /// It goes in these rounds, because nothing needs it.
    Goes(Vec<usize>),
    /// It waits, for longer than can be foreseen.
    Waits,
    /// A human must look.
    Stalled,
    /// Nothing needs it.
    NotNeeded,
}

/// A node's part in the plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodePlan {
    /// What becomes of it.
    pub fate: Fate,
    /// Why it does not act, or is not ready, at the beginning.
    pub first: Vec<Cause>,
    /// Why it is not ready in the end; empty if it is.
    pub last: Vec<Cause>,
}

/// What would happen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// What the instance is about.
    pub mode: Mode,
    /// The rounds, in their order.
    pub rounds: Vec<Round>,
    /// All nodes that the root may come to need, and what is removed of earlier ones.
    pub nodes: BTreeMap<Slot, NodePlan>,
    /// The conditions of the instance in the end.
    pub conditions: Conditions,
    /// Whether it was cut off at a limit.
    pub cut_off: bool,
}

impl Plan {
    /// Whether nothing would be written.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.rounds.is_empty()
    }

    /// Whether everything that is needed is ready in the end, if all goes well.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let is_ready = |it: &NodePlan| !matches!(it.fate, Fate::Waits | Fate::Stalled) && it.last.is_empty();
        let is_needed = |it: &&NodePlan| !matches!(it.fate, Fate::NotNeeded | Fate::Goes(_));
        !self.cut_off && self.nodes.values().filter(is_needed).all(is_ready)
    }
}

/// An object as the API server keeps it that somebody applies.
#[must_use]
pub fn stored(object: &Value) -> Value {
    merge::applied(&Value::Object(serde_json::Map::new()), object, &FieldSet::new())
}

/// Shows a root: to its instance, and to nodes that observe it.
pub fn show_root(world: &mut World, root: Live) {
    play::show_root(world, Some(root));
}

/// Takes off the root that there is a ledger, where nobody can read it: what was remembered is not known, and not lost.
pub fn forget_memory(world: &mut World) {
    let annotation = world.root.memory();
    take_off(world, &annotation);
}

/// Shows the root without an annotation.
fn take_off(world: &mut World, annotation: &str) {
    let Some(root) = &world.root.live else { return };
    let mut root = (**root).clone();
    let mut body = Value::clone(&root.body);
    without(&mut body, &["metadata", "annotations", annotation].map(str::to_owned));
    root.body = body.into();
    show_root(world, root);
}

/// Takes the brake off: a plan says what would be done without it. Whether there was one on the root.
pub fn lift_brake(world: &mut World) -> bool {
    let Some(root) = &world.root.live else { return false };
    let annotation = format!("{OUR_PREFIX}suspend");
    let is_set = root.annotation(&annotation).is_some_and(crate::decide::suspends);
    take_off(world, &annotation);
    is_set
}

/// Puts the finalizers on the root that the objects of its instance stand for, where nothing shows the root as it is.
pub fn hold_root(program: &Program, world: &mut World) {
    let Some(root) = &world.root.live else { return };
    let ours = |it: &&Arc<Live>| matches!(world.owner(it), Owner::Us(_));
    let mut keys: Vec<&ObjectKey> = world.objects.values().filter(ours).map(|it| &it.key).collect();
    // The nodes of a deletion run even if nothing was ever made.
    keys.extend(program.has_deletion().then_some(&root.key));
    let held: Vec<String> = keys.into_iter().flat_map(|key| finalizers(program, &world.root, key)).collect();
    let mut root = (**root).clone();
    root.finalizers.extend(held);
    show_root(world, root);
}

/// Somebody deletes the root. Without a finalizer of anybody it is gone at once.
pub fn delete_root(world: &mut World) {
    world.root.seen_going = true;
    world.root.going_since = Some(world.now);
    if let Some(live) = &world.root.live {
        let mut live = (**live).clone();
        live.terminating = true;
        play::show_root(world, (!live.finalizers.is_empty()).then_some(live));
    }
    world.touch_everything();
}

/// Plays an instance from the world as it is. The world is left as the last round left it. No value of a Secret is told.
pub fn plan(program: Option<&Program>, world: &mut World, evaluator: &mut dyn Evaluator) -> Plan {
    let mut secrets = Secrets::of(world, program.map(|it| &it.blueprint));
    let mut plan = played(program, world, evaluator);
    secrets.learn_of(world);
    public::plan(&secrets, &mut plan);
    plan
}

fn played(program: Option<&Program>, world: &mut World, evaluator: &mut dyn Evaluator) -> Plan {
    let mut play = play::Play::new(program, world, evaluator).with_reports();
    let mut decision = play.settle();
    let first = decision.nodes.clone();
    let mut rounds: Vec<Round> = Vec::new();
    let mut early: Vec<Assumption> = Vec::new();
    let mut becomes: BTreeSet<Slot> = BTreeSet::new();
    loop {
        let steps = play.steps(&decision);
        if steps.is_empty() || rounds.len() >= MAX_ROUNDS {
            let assumed = if steps.is_empty() { play.assume() } else { Vec::new() };
            if assumed.is_empty() {
                break;
            }
            becomes.extend(assumed.iter().map(|it| it.slot.clone()));
            rounds.last_mut().map_or(&mut early, |it| &mut it.assumed).extend(assumed);
        } else {
            play.act(&decision);
            let mut assumed = Vec::new();
            loop {
                play.settle();
                let more = play.assume();
                if more.is_empty() {
                    break;
                }
                assumed.extend(more);
            }
            becomes.extend(assumed.iter().map(|it| it.slot.clone()));
            rounds.push(Round { steps, assumed });
        }
        decision = play.settle();
    }
    let cut_off = play.is_spent() || rounds.len() >= MAX_ROUNDS;
    let mut nodes = fates(program, &rounds, &first, &decision.nodes, &becomes);
    if let Some(program) = program.filter(|_| decision.mode == Mode::Present && !mutant!(EmptyIsUnneeded)) {
        for name in without_members(program, world) {
            // Also where members that it had go: that alone does not say whether the node is still needed.
            let none = NodePlan { fate: Fate::NotNeeded, first: Vec::new(), last: Vec::new() };
            let node = nodes.entry(Slot::new(&name, "")).or_insert(none);
            if node.fate == Fate::NotNeeded {
                node.fate = Fate::Passes;
            }
        }
    }
    Plan { mode: decision.mode, nodes, conditions: decision.conditions.clone(), cut_off, rounds }
}

/// Where an instance stands, and what would be written next. Our own books are written on the way, as in a plan, so that what differs
/// only in them (whoever looks has no key of the digests) is not taken for work.
pub fn standing(
    program: Option<&Program>,
    world: &mut World,
    evaluator: &mut dyn Evaluator,
) -> (Decision, Vec<Step>) {
    let mut secrets = Secrets::of(world, program.map(|it| &it.blueprint));
    let mut play = play::Play::new(program, world, evaluator);
    let mut decision = play.settle();
    let mut steps = play.steps(&decision);
    secrets.learn_of(world);
    public::decision(&secrets, &mut decision);
    public::steps(&secrets, &mut steps);
    (decision, steps)
}

/// What this root may come to need; other roots' nodes are none of its business.
fn reachable(program: &Program) -> BTreeSet<&str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![program.root.as_str()];
    while let Some(name) = open.pop() {
        for need in program.needs.get(name).into_iter().flatten() {
            if reached.insert(need.to.as_str()) {
                open.push(&need.to);
            }
        }
    }
    reached.remove(program.root.as_str());
    reached
}

fn fates(
    program: Option<&Program>,
    rounds: &[Round],
    first: &BTreeMap<Slot, NodeState>,
    last: &BTreeMap<Slot, NodeState>,
    becomes: &BTreeSet<Slot>,
) -> BTreeMap<Slot, NodePlan> {
    let mut acts: BTreeMap<&Slot, (Vec<usize>, bool)> = BTreeMap::new();
    for (at, round) in rounds.iter().enumerate() {
        for step in &round.steps {
            let entry = acts.entry(&step.slot).or_insert_with(|| (Vec::new(), true));
            if entry.0.last() != Some(&(at + 1)) {
                entry.0.push(at + 1);
            }
            entry.1 &= step.unneeded;
        }
    }
    let mut slots: BTreeSet<Slot> = first.keys().chain(last.keys()).cloned().collect();
    slots.extend(acts.keys().map(|it| (*it).clone()));
    // Where the members were not known at first, what was said of the node is said of them.
    let with_members: BTreeSet<String> =
        slots.iter().filter(|it| !it.member.is_empty()).map(|it| it.node.clone()).collect();
    // What was on its way out at first is told where it goes.
    let gone = |it: &Slot| first.get(it).is_some_and(|it| it.phase == Phase::Removing);
    slots.retain(|it| {
        let stands_alone = !it.member.is_empty() || !with_members.contains(&it.node);
        last.contains_key(it) || acts.contains_key(it) || (stands_alone && !gone(it))
    });
    let mentioned: BTreeSet<String> = slots.iter().map(|it| it.node.clone()).collect();
    let reachable = program.map(reachable).unwrap_or_default();
    slots.extend(reachable.iter().filter(|it| !mentioned.contains(**it)).map(|it| Slot::new(it, "")));
    let causes = |states: &BTreeMap<Slot, NodeState>, slot: &Slot| {
        let all = Slot::new(&slot.node, "");
        states.get(slot).or_else(|| states.get(&all)).map(|it| it.causes.clone()).unwrap_or_default()
    };
    // What only a human can end is not merely unknown.
    let stalled = |slot: &Slot| {
        last.get(slot).is_some_and(|it| it.causes.iter().any(|it| matches!(it, Cause::Stalled { .. })))
    };
    let fate = |slot: &Slot| {
        let end = last.get(slot).map(|it| it.phase);
        let written = acts.get(slot).cloned();
        match (end, written) {
            _ if stalled(slot) => Fate::Stalled,
            (Some(Phase::Stalled), _) => Fate::Stalled,
            (Some(Phase::Waiting | Phase::Unknown | Phase::Progressing), None) => Fate::Waits,
            // Where only something that it made earlier goes, it stays what it is.
            (Some(Phase::Ready), Some((rounds, true))) => Fate::Acts(rounds),
            (_, Some((rounds, true))) => Fate::Goes(rounds),
            (_, Some((rounds, false))) => Fate::Acts(rounds),
            (Some(Phase::Removing), None) => Fate::Waits,
            (Some(Phase::Ready), None) => match first.get(slot).map(|it| it.phase) {
                Some(Phase::Ready) => Fate::Done,
                _ if becomes.contains(slot) => Fate::Becomes,
                _ => Fate::Passes,
            },
            (None, None) => Fate::NotNeeded,
        }
    };
    slots
        .into_iter()
        .map(|slot| {
            let plan = NodePlan { fate: fate(&slot), first: causes(first, &slot), last: causes(last, &slot) };
            (slot, plan)
        })
        .collect()
}
