//! Whose turn it is: namespaces and their blueprints in a circle, and within each its instances in the order they asked.

use std::collections::{BTreeMap, HashSet, VecDeque};

use super::{blueprints::BlueprintName, circle::Circle, instances::InstanceId};

/// Instances that wait for a turn. One bad blueprint delays no other by more than a turn.
#[derive(Default)]
pub(super) struct Queue {
    waiting: BTreeMap<BlueprintName, VecDeque<InstanceId>>,
    circle: Circle,
    known: HashSet<InstanceId>,
}

impl Queue {
    /// Asks for a turn; once until it comes.
    pub(super) fn push(&mut self, blueprint: &BlueprintName, id: InstanceId) {
        if !self.known.insert(id) {
            return;
        }
        let waiting = self.waiting.entry(blueprint.clone()).or_default();
        if waiting.is_empty() {
            self.circle.push(blueprint.clone());
        }
        waiting.push_back(id);
    }

    /// The next turn.
    pub(super) fn pop(&mut self) -> Option<InstanceId> {
        let blueprint = self.circle.pop()?;
        let waiting = self.waiting.get_mut(&blueprint)?;
        let id = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&blueprint);
        } else {
            self.circle.push(blueprint);
        }
        self.known.remove(&id?);
        id
    }

    pub(super) fn is_empty(&self) -> bool {
        self.circle.is_empty()
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{BlueprintName, InstanceId, Queue};

    #[test]
    fn a_crowded_blueprint_delays_no_other() {
        let (crowded, quiet) = (BlueprintName::new("n", "crowded"), BlueprintName::new("n", "quiet"));
        let mut queue = Queue::default();
        for id in 0..100 {
            queue.push(&crowded, InstanceId(id));
            queue.push(&crowded, InstanceId(id));
        }
        queue.push(&quiet, InstanceId(1_000));
        assert_eq!(queue.len(), 101);
        assert_eq!(queue.pop(), Some(InstanceId(0)));
        assert_eq!(queue.pop(), Some(InstanceId(1_000)));
        let rest: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(rest.len(), 99);
        assert!(queue.is_empty());
    }
}
