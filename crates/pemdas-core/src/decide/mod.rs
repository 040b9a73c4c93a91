//! `decide`: from facts to actions, conditions and the time to look again. Pure: same input, same bytes.
//!
//! One pass goes through the nodes in the order of the Sequence graph; each rule stands in a module of its own:
//!
//! | module | rule |
//! | --- | --- |
//! | `admission` | before all: the contract of the root's kind |
//! | `need` | 1: what is needed, and what is kept because that is not known |
//! | `inputs` | 2: what a template sees |
//! | `settled` | 3: caught up, settled, ready; 10: failed |
//! | `edges` | 4: when an edge is open |
//! | `node`, `converge` | 5, 6, 11: who may act, what a closed edge holds, whose an object is |
//! | `reclaim` | 11: what a dead root left |
//! | `removal` | 7: what goes, and in which order |
//! | `deletion`, `given_up` | 8: the end of an instance |
//! | `remembered`, `memory`, `states` | 9: what is remembered, states and onces |
//! | `report` | 12: the conditions, the status, the events |
//! | `reseal` | after all: what an older key sealed |
//! | `suspended` | after all: the brake |

mod admission;
mod converge;
mod deletion;
mod desired;
mod edges;
mod facts;
mod given_up;
mod inputs;
mod inventory;
mod memo;
mod memory;
mod need;
mod node;
mod pass;
mod reclaim;
mod remembered;
mod removal;
mod report;
mod reseal;
mod settled;
mod states;
mod status;
mod suspended;
mod tally;
mod why;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::Serialize;
use serde_json::Value;

use crate::{
    action::Action,
    digest::Digest,
    evaluate::Evaluator,
    ledger::Slot,
    program::Program,
    truth::Truth,
    world::{KindKey, ObjectKey, World},
};

pub(crate) use converge::finalizers;
pub use memo::Memo;
pub use node::MAX_MEMBERS;
pub(crate) use report::{FORGED, PRUNED, REPORT};
pub(crate) use status::STATUS_PRUNED;
pub use suspended::is_set as suspends;
pub use why::{Cause, MAX_CAUSES, MAX_CHAIN, NodeState, Phase, chain, reason};

/// How long a write of a process that lost the lease may be on its way, in milliseconds: an API server gives up on a
/// request after a minute. Kubernetes has no fencing; where a precondition cannot refuse such a write, it is waited for.
pub const LATE_WRITES: u64 = 60_000;

/// What an instance is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Mode {
    /// The root is there: its target state is reached.
    Present,
    /// The root goes: the nodes of its deletion run, the rest is frozen.
    Deleting,
    /// Everything is removed.
    Removing,
    /// Nothing is done: no lease, or the root is missing and was not seen going.
    Idle,
}

/// The conditions of an instance, in the sense of kstatus.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Conditions {
    /// Everything that is needed is ready, nothing is unknown, nothing is to be removed.
    pub ready: bool,
    /// Work is going on.
    pub reconciling: bool,
    /// A human must look: what is to be said, by node.
    pub stalled: Vec<String>,
}

/// What an instance has to see to decide, besides what carries its label.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interests {
    /// Objects by name: those its nodes make, observe or keep away.
    pub objects: BTreeSet<ObjectKey>,
    /// All objects of a kind, in one namespace or in all.
    pub kinds: BTreeSet<(KindKey, Option<String>)>,
}

/// What `decide` says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// What the instance is about.
    pub mode: Mode,
    /// What to do.
    pub actions: Vec<Action>,
    /// The conditions.
    pub conditions: Conditions,
    /// Where every node is, and why.
    pub nodes: BTreeMap<Slot, NodeState>,
    /// The status as it should be; nothing for a root that is not ours.
    pub status: Option<Value>,
    /// Whether that is another one than the root has.
    #[serde(skip)]
    pub status_differs: bool,
    /// When to decide again even if nothing happens.
    pub wake: Option<u64>,
    /// What it has to see: a decision that names something that was not shown to it yet is not to be acted on.
    #[serde(skip)]
    pub interests: Arc<Interests>,
    /// The answers that were used, and by how many steps: what may not be forgotten.
    #[serde(skip)]
    pub used: BTreeMap<Digest, u32>,
    /// Whether there are objects with our label, and no claim that Pemdas wrote.
    #[serde(skip)]
    pub ignores: bool,
    /// Whether its writes wait because a human said so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
    /// How many of its claims, notes and ledgers an older key sealed than the one that seals now.
    #[serde(skip)]
    pub older_seals: usize,
}

impl Decision {
    /// The questions it asks.
    #[must_use]
    pub fn questions(&self) -> &[crate::evaluate::Question] {
        self.actions
            .iter()
            .find_map(|action| match action {
                Action::Render(batch) => Some(batch.as_slice()),
                _ => None,
            })
            .unwrap_or_default()
    }
}

/// Decides. Without a program (broken or gone) an instance can still be removed, and nothing else.
#[must_use]
pub fn decide(program: Option<&Program>, world: &World) -> Decision {
    Memo::default().into_decision(program, world)
}

/// The nodes that are needed and have no members: a selector that picks nothing, an empty `for_each`. A decision says
/// nothing of them, since there is nothing to do for them.
pub(crate) fn without_members(program: &Program, world: &World) -> BTreeSet<String> {
    let Some(root) = &world.root.live else { return BTreeSet::new() };
    let mut pass = pass::Pass::new(program, world, root, Mode::Present);
    if !pass.admit() {
        return BTreeSet::new();
    }
    pass.walk();
    let empty = pass.nodes.iter().filter(|(_, it)| {
        it.need == Truth::True && it.collection && it.members_known && it.members.is_empty()
    });
    empty.map(|(name, _)| name.clone()).collect()
}

/// What may not be written now waits: all of it where a human said so, and a write to the root that was refused as any
/// other does.
fn hold_writes(world: &World, decision: &mut Decision) {
    if suspended::why(world).is_some() {
        suspended::hold(&mut decision.actions);
        decision.suspended = true;
    }
    hold_root_writes(world, decision);
}

/// A write to the root that was refused waits as any other does.
fn hold_root_writes(world: &World, decision: &mut Decision) {
    let Some(refused) = world.refused.get(&world.root.key).filter(|it| it.again() > world.now) else {
        return;
    };
    let held = |it: &Action| it.writes_root() && it.tried() == refused.tried && !mutant!(RootAtOnce);
    if decision.actions.iter().any(held) {
        decision.actions.retain(|it| !held(it));
        decision.wake = Some(decision.wake.map_or(refused.again(), |it| it.min(refused.again())));
    }
}

/// Decides, answering the questions on the way: each batch holds all that can be asked at that point. Writes of a
/// decision that still has questions are not carried out.
pub fn decide_with(program: Option<&Program>, world: &mut World, evaluator: &mut dyn Evaluator) -> Decision {
    let mut memo = Memo::default();
    memo.decide_with(program, world, evaluator);
    memo.into_decision(program, world)
}
