//! The steps of a pass: what each read and left, and who has to be asked again when something changes.

use std::collections::BTreeSet;

use super::super::{
    Cause,
    edges::Taken,
    pass::{Pass, Questions},
};
use crate::{action::Action, digest::Digest, evaluate::Question, graph::Vertex, world::Touch};

/// One step: what it read, and what it left beside its node.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Step {
    pub(super) reads: Vec<Touch>,
    pub(super) taken: Vec<Taken>,
    pub(super) used: Vec<Digest>,
    pub(super) open: Vec<Question>,
    pub(super) instance: Vec<Cause>,
    pub(super) wake: Option<u64>,
    /// It acted or recorded: it is taken again each time.
    pub(super) restless: bool,
}

impl Step {
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        self.instance == other.instance
            && self.wake == other.wake
            && self.used == other.used
            && self.open == other.open
    }

    /// What it may have to be taken again for.
    fn heeds(&self) -> impl Iterator<Item = Touch> {
        self.reads.iter().copied().chain(self.taken.iter().map(|it| Touch::found(&it.precursor)))
    }
}

/// One for each step of the program, and where to find those that something concerns.
#[derive(Debug, Clone, Default)]
pub(super) struct Steps {
    all: Vec<Step>,
    heeding: BTreeSet<(Touch, usize)>,
    wakes: BTreeSet<(u64, usize)>,
    restless: BTreeSet<usize>,
    /// Those that left causes or questions.
    loud: BTreeSet<usize>,
}

impl Steps {
    pub(super) fn push(&mut self, step: Step) {
        self.enter(self.all.len(), &step);
        self.all.push(step);
    }

    /// A step was taken again; what it was before.
    pub(super) fn replace(&mut self, at: usize, step: Step) -> Step {
        let old = std::mem::take(&mut self.all[at]);
        if old.reads != step.reads || old.taken != step.taken {
            old.heeds().for_each(|it| {
                self.heeding.remove(&(it, at));
            });
        }
        old.wake.map(|wake| self.wakes.remove(&(wake, at)));
        self.restless.remove(&at);
        self.loud.remove(&at);
        self.enter(at, &step);
        self.all[at] = step;
        old
    }

    fn enter(&mut self, at: usize, step: &Step) {
        self.heeding.extend(step.heeds().map(|it| (it, at)));
        self.wakes.extend(step.wake.map(|wake| (wake, at)));
        if step.restless {
            self.restless.insert(at);
        }
        if !step.instance.is_empty() || !step.open.is_empty() {
            self.loud.insert(at);
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Step> {
        self.all.iter()
    }

    pub(super) fn get(&self, at: usize) -> &Step {
        &self.all[at]
    }

    /// Those that left causes or questions, in order.
    pub(super) fn loud(&self) -> impl Iterator<Item = &Step> {
        self.loud.iter().map(|at| &self.all[*at])
    }

    /// Those that a change may concern.
    pub(super) fn readers(&self, touch: Touch) -> impl Iterator<Item = usize> {
        self.heeding.range((touch, 0)..=(touch, usize::MAX)).map(|(_, at)| *at)
    }

    /// Those that acted, and those whose time has come.
    pub(super) fn due(&self, now: u64) -> BTreeSet<usize> {
        let woken = self.wakes.range(..=(now, usize::MAX)).map(|(_, at)| *at);
        self.restless.iter().copied().chain(woken).collect()
    }

    /// When the first of them has to be taken again.
    pub(super) fn wake(&self) -> Option<u64> {
        self.wakes.first().map(|(wake, _)| *wake)
    }
}

/// Takes a step and keeps apart what it leaves.
pub(super) fn take(pass: &mut Pass<'_>, vertex: &Vertex, actions: &mut Vec<Action>) -> Step {
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
