//! The last decision, kept until a fact comes that may change it.
//!
//! A settled instance costs nothing: no evaluation, no pass over its nodes, until something of its world changes or
//! the time comes that the decision itself named.

use super::{Decision, decide};
use crate::{program::Program, world::World};

/// The last decision of an instance.
#[derive(Debug, Clone, Default)]
pub struct Memo {
    last: Option<(u64, Option<String>, Decision)>,
    passes: u64,
}

impl Memo {
    /// Decides, or gives the last decision where nothing changed since. Facts must have come by
    /// [`World::learn`]: it counts them.
    pub fn decide(&mut self, program: Option<&Program>, world: &World) -> &Decision {
        let revision = program.map(|it| it.revision.name.as_str());
        let holds = self.last.as_ref().is_some_and(|(changes, of, decision)| {
            *changes == world.changes
                && of.as_deref() == revision
                && decision.wake.is_none_or(|wake| world.now < wake)
        });
        if !holds {
            self.last = None;
        }
        let passes = &mut self.passes;
        let (_, _, decision) = self.last.get_or_insert_with(|| {
            *passes += 1;
            (world.changes, revision.map(str::to_owned), decide(program, world))
        });
        decision
    }

    /// How many passes were made.
    #[must_use]
    pub fn passes(&self) -> u64 {
        self.passes
    }
}
