//! After a new key of the seals: a human asks, by an annotation on a blueprint, that what an older key sealed is sealed anew. A few
//! instances at once, because everything that they made is applied once more.

use pemdas_core::{
    decide::{Decision, suspends},
    world::Fact,
};
use serde_json::{Value, json};

use super::{Hub, InstanceId, blueprints::BlueprintName, instances::Instance};

/// The annotation of a blueprint by which a human asks; its value is a word that is repeated in what is told of it.
pub const RESEAL_ANNOTATION: &str = "pemdas.dev/reseal";
/// How many instances of a blueprint are at it at once.
const AT_ONCE: usize = 4;
/// How many of those that wait for something are told of by name.
const MAX_NAMED: usize = 3;

/// How far an instance is with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sealing {
    /// How much of it an older key sealed, when it decided last; nothing before that.
    older: Option<usize>,
    /// Whether it was told to seal that anew.
    asked: bool,
    /// Whether it has done since what it can do now: what is left waits for something.
    through: bool,
}

impl Sealing {
    fn is_under_way(self) -> bool {
        self.asked && !self.through && self.older != Some(0)
    }

    fn waits_for_its_turn(self) -> bool {
        !self.asked && self.older.is_some_and(|it| it > 0)
    }

    fn is_stuck(self) -> bool {
        self.asked && self.through && self.older.is_some_and(|it| it > 0)
    }

    fn is_done(self) -> bool {
        self.older == Some(0)
    }
}

/// Whose turn it is: places in the list.
fn next(all: &[Sealing]) -> Vec<usize> {
    let under_way = all.iter().filter(|it| it.is_under_way()).count();
    let waiting = all.iter().enumerate().filter(|(_, it)| it.waits_for_its_turn());
    waiting.map(|(at, _)| at).take(AT_ONCE.saturating_sub(under_way)).collect()
}

impl Hub {
    /// The word with which a human asked for it; nothing where nobody does.
    fn reseals(&self, name: &BlueprintName) -> Option<&str> {
        let loaded = self.blueprints.get(name).filter(|it| !it.gone)?;
        loaded.live().annotation(RESEAL_ANNOTATION).filter(|it| suspends(it))
    }

    /// An instance has decided: perhaps others may go on.
    pub(super) fn has_sealed(&mut self, id: InstanceId, decision: &Decision) {
        let Some(instance) = self.instances.get_mut(id) else { return };
        let world = &instance.world;
        let idle = decision.actions.is_empty() && world.writes.is_empty() && world.ledger_write.is_none();
        let sealing = &mut instance.sealing;
        let was = *sealing;
        sealing.older = Some(decision.older_seals);
        sealing.through = sealing.asked && (sealing.through || idle);
        if *sealing != was {
            let name = instance.blueprint.clone();
            self.reseal(&name);
        }
    }

    /// Has whoever is next seal anew what an older key sealed; or nobody any more.
    pub(super) fn reseal(&mut self, name: &BlueprintName) {
        let wanted = self.reseals(name).is_some();
        let ids = self.instances.of_blueprint(name);
        let sealing = |id: &InstanceId| self.instances.get(*id).map(|it| it.sealing).unwrap_or_default();
        let all: Vec<_> = ids.iter().map(sealing).collect();
        let concerned: Vec<_> = if wanted {
            next(&all).into_iter().filter_map(|at| ids.get(at).copied()).collect()
        } else {
            ids.iter().zip(&all).filter(|(_, it)| it.asked).map(|(id, _)| *id).collect()
        };
        for id in concerned {
            if let Some(instance) = self.instances.get_mut(id) {
                instance.sealing = Sealing { asked: wanted, through: false, ..instance.sealing };
            }
            self.learn(id, Fact::Reseals(wanted));
        }
        if wanted || all.iter().any(|it| !it.is_done()) {
            self.report_soon();
        }
    }

    /// How far it is, for people; nothing where nobody asked.
    pub(super) fn sealed(&self, name: &BlueprintName) -> Option<Value> {
        let word = self.reseals(name)?;
        let ids = self.instances.of_blueprint(name);
        let all: Vec<&Instance> = ids.iter().filter_map(|it| self.instances.get(*it)).collect();
        let stuck = || all.iter().filter(|it| it.sealing.is_stuck());
        let named = stuck().take(MAX_NAMED).map(|it| it.world.root.key.to_string());
        Some(json!({
            "asked": word, "olderKeys": self.settings.keys.seal.has_older(),
            "instances": all.len(), "sealed": all.iter().filter(|it| it.sealing.is_done()).count(),
            "stuck": stuck().count(), "named": named.collect::<Vec<_>>(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::{AT_ONCE, Sealing, next};

    fn all(count: usize, it: Sealing) -> Vec<Sealing> {
        vec![it; count]
    }

    #[test]
    fn a_few_instances_are_sealed_at_once() {
        let waits = Sealing { older: Some(3), ..Sealing::default() };
        assert_eq!(next(&all(10, waits)), [0, 1, 2, 3]);
        let mut some = all(2, Sealing { asked: true, ..waits });
        some.extend(all(5, waits));
        assert_eq!(next(&some), [2, 3]);
        let mut most = all(AT_ONCE, Sealing { asked: true, ..waits });
        most.extend(all(5, waits));
        assert!(next(&most).is_empty());
    }

    #[test]
    fn what_waits_for_something_takes_no_place_and_what_is_not_known_is_waited_for() {
        let stuck = Sealing { older: Some(1), asked: true, through: true };
        let mut some = all(AT_ONCE, stuck);
        some.push(Sealing { older: Some(0), ..Sealing::default() });
        some.push(Sealing::default());
        some.push(Sealing { older: Some(1), ..Sealing::default() });
        assert_eq!(next(&some), [AT_ONCE + 2]);
        assert!(!Sealing::default().is_done() && stuck.is_stuck());
    }
}
