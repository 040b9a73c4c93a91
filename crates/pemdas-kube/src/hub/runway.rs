//! Who may write now. An API server serves so many writes at a time; more of them only wait there instead of here.
//!
//! *The accident*: two hundred instances that all begin at once and each get every fifth write are all done at the very end, and
//! say so meanwhile once a second. So who has begun goes on first: an instance that waits decides anew when its time comes, on
//! what is known then. Namespaces and their blueprints wait in a circle, so that a crowded one delays no other.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use pemdas_core::{action::Action, decide::Decision};

use super::{Hub, InstanceId, blueprints::BlueprintName, circle::Circle, instances::Standing};

/// Writes under way, before an instance that wants to write has to wait.
const MAX_MOVING: usize = 16;
/// When a status that will not last is thought of again while others wait, in milliseconds.
const LATER: u64 = 1_000;

/// Instances that want to write.
#[derive(Default)]
pub(super) struct Runway {
    /// Since when they are on their way.
    waiting: BTreeMap<BlueprintName, BTreeSet<(u64, InstanceId)>>,
    circle: Circle,
    /// Every write under way holds one.
    under_way: Arc<()>,
}

/// What an instance may do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permit {
    All,
    WithoutStatus,
    Wait,
}

impl Permit {
    pub(super) fn allows(self, action: &Action) -> bool {
        match self {
            Self::All => true,
            Self::WithoutStatus => !matches!(action, Action::Status { .. }),
            Self::Wait => false,
        }
    }
}

/// A write that is under way until this is dropped.
pub(super) struct UnderWay(#[expect(dead_code, reason = "it is held")] Arc<()>);

impl Runway {
    /// A write begins.
    pub(super) fn flight(&self) -> UnderWay {
        UnderWay(self.under_way.clone())
    }

    fn is_full(&self) -> bool {
        Arc::strong_count(&self.under_way) > MAX_MOVING
    }

    /// Whether somebody who wants to write has to wait.
    fn is_busy(&self) -> bool {
        self.is_full() || !self.circle.is_empty()
    }

    fn push(&mut self, blueprint: &BlueprintName, since: u64, id: InstanceId) {
        let waiting = self.waiting.entry(blueprint.clone()).or_default();
        if waiting.is_empty() {
            self.circle.push(blueprint.clone());
        }
        waiting.insert((since, id));
    }

    /// The next, if there is room: of the next blueprint the instance that is on its way for the longest time.
    fn pop(&mut self) -> Option<InstanceId> {
        if self.is_full() {
            return None;
        }
        let blueprint = self.circle.pop()?;
        let waiting = self.waiting.get_mut(&blueprint)?;
        let next = waiting.pop_first();
        if waiting.is_empty() {
            self.waiting.remove(&blueprint);
        } else {
            self.circle.push(blueprint);
        }
        next.map(|(_, id)| id)
    }
}

impl Hub {
    /// Whether an instance may carry out what it decided; if not, it gets another turn when it may.
    pub(super) fn may_write(&mut self, id: InstanceId, decision: &Decision, placed: bool) -> Permit {
        let (now, cleared) = (self.clock.now(), placed || self.cleared == Some(id));
        let Some(instance) = self.instances.get_mut(id) else { return Permit::Wait };
        let writes = |it: &Action| !matches!(it, Action::Event(_) | Action::Render(_) | Action::Look { .. });
        if !decision.actions.iter().any(writes) {
            if instance.world.writes.is_empty() {
                instance.moving = None;
            }
            return Permit::All;
        }
        let since = *instance.moving.get_or_insert(now);
        let busy = self.runway.is_busy();
        // What will not last is not told while there is something to do.
        let passing = busy && Standing::of(decision) == Standing::Reconciling;
        let permit = if passing { Permit::WithoutStatus } else { Permit::All };
        if decision.actions.iter().any(|it| !permit.allows(it)) {
            self.timers.insert((now + LATER, id));
        }
        if cleared || !busy || !decision.actions.iter().any(|it| writes(it) && permit.allows(it)) {
            return permit;
        }
        self.runway.push(&instance.blueprint, since, id);
        Permit::Wait
    }

    /// Whether an instance that has not decided anything yet has to wait: what it would think now, it thinks better when it can act.
    pub(super) fn waits_to_begin(&mut self, id: InstanceId) -> bool {
        let (now, busy) = (self.clock.now(), self.runway.is_busy());
        let Some(instance) = self.instances.get_mut(id) else { return false };
        if !busy || self.cleared == Some(id) || instance.standing.is_some() || instance.asked > 0 {
            return false;
        }
        let since = *instance.moving.get_or_insert(now);
        self.runway.push(&instance.blueprint, since, id);
        true
    }

    /// An instance whose turn it is has something evaluated first: its place is not given to others meanwhile.
    pub(super) fn holds_its_place(&mut self, id: InstanceId) {
        if self.cleared == Some(id)
            && let Some(instance) = self.instances.get_mut(id)
        {
            instance.place = Some(self.runway.flight());
        }
    }

    /// Takes its place from an instance.
    pub(super) fn leaves_its_place(&mut self, id: InstanceId) -> Option<UnderWay> {
        self.instances.get_mut(id)?.place.take()
    }

    /// Gives turns to those who wait, as far as there is room.
    pub(super) fn clear_runway(&mut self) {
        while let Some(id) = self.runway.pop() {
            self.cleared = Some(id);
            self.turn(id);
            self.cleared = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BlueprintName, InstanceId, MAX_MOVING, Runway};

    #[test]
    fn who_has_begun_goes_on_first_and_blueprints_take_turns() {
        let (crowded, quiet) = (BlueprintName::new("n", "crowded"), BlueprintName::new("n", "quiet"));
        let mut runway = Runway::default();
        for (since, id) in [(5, 1), (3, 2), (4, 3)] {
            runway.push(&crowded, since, InstanceId(id));
        }
        runway.push(&quiet, 9, InstanceId(4));
        let order: Vec<_> = std::iter::from_fn(|| runway.pop()).collect();
        assert_eq!(order, [2, 4, 3, 1].map(InstanceId));
    }

    #[test]
    fn nobody_goes_while_as_many_are_under_way_as_may_be() {
        let mut runway = Runway::default();
        runway.push(&BlueprintName::new("n", "a"), 1, InstanceId(1));
        let mut flights: Vec<_> = (0..MAX_MOVING).map(|_| runway.flight()).collect();
        assert_eq!(runway.pop(), None);
        flights.pop();
        assert_eq!(runway.pop(), Some(InstanceId(1)));
    }
}
