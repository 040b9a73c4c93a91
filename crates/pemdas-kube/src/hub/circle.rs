//! Blueprints that take turns: namespaces in a circle, and within each its blueprints.
//!
//! *The accident*: somebody has a hundred blueprints in a namespace, all of them busy, and the one of somebody else has every
//! hundred-and-first turn.

use std::collections::{BTreeMap, VecDeque};

use super::blueprints::BlueprintName;

/// Blueprints that want something. Each is in it once.
#[derive(Default)]
pub(super) struct Circle {
    namespaces: VecDeque<String>,
    blueprints: BTreeMap<String, VecDeque<BlueprintName>>,
}

impl Circle {
    /// Comes last in its namespace.
    pub(super) fn push(&mut self, blueprint: BlueprintName) {
        let of_namespace = self.blueprints.entry(blueprint.namespace.clone()).or_default();
        if of_namespace.is_empty() {
            self.namespaces.push_back(blueprint.namespace.clone());
        }
        of_namespace.push_back(blueprint);
    }

    /// Whose turn it is: of the next namespace, the next blueprint. It is in the circle no more.
    pub(super) fn pop(&mut self) -> Option<BlueprintName> {
        let namespace = self.namespaces.pop_front()?;
        let of_namespace = self.blueprints.get_mut(&namespace)?;
        let next = of_namespace.pop_front();
        if of_namespace.is_empty() {
            self.blueprints.remove(&namespace);
        } else {
            self.namespaces.push_back(namespace);
        }
        next
    }

    pub(super) fn is_empty(&self) -> bool {
        self.namespaces.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{BlueprintName, Circle};

    #[test]
    fn a_namespace_with_many_blueprints_delays_no_other() {
        let mut circle = Circle::default();
        for name in ["a", "b", "c"] {
            circle.push(BlueprintName::new("crowded", name));
        }
        circle.push(BlueprintName::new("quiet", "one"));
        // Whoever has more to do comes again.
        let mut turns = Vec::new();
        for _ in 0..6 {
            let next = circle.pop().unwrap();
            turns.push(next.to_string());
            circle.push(next);
        }
        assert_eq!(turns, ["crowded/a", "quiet/one", "crowded/b", "quiet/one", "crowded/c", "quiet/one"]);
        (0..4).for_each(|_| assert!(circle.pop().is_some()));
        assert!(circle.is_empty() && circle.pop().is_none());
    }
}
