//! Memory that is lost: a ledger that somebody deletes, at any moment.

use serde_json::Value;

use super::{sim::Sim, subject::Subject, walk::at_every_step};
use crate::{ledger::Ledger, world::ObjectKey};

/// The ledger is deleted at any moment, while the operator runs and while none does. Nothing runs twice, and no random
/// value becomes another one: the ledger is written again by who still knows it, or a human decides. Nothing is done of
/// what a ledger remembers before the root says that there is one.
pub(super) fn a_ledger_that_is_lost_is_not_taken_for_an_empty_one(subject: &Subject, _: u64) {
    at_every_step("lost ledger", subject, 400, subject.start(), &|sim, _| {
        let (_, had) = sim.cluster.ledger.clone()?;
        while_it_runs(sim.clone()).or_else(|| while_it_is_down(sim, &had))
    });
}

fn while_it_runs(mut sim: Sim) -> Option<String> {
    // What was written and not seen again cannot be known to be gone.
    if sim.world.ledger_write.is_some() || !sim.flights.is_empty() {
        return None;
    }
    sim.cluster.ledger = None;
    sim.settle();
    wrong(&sim).or_else(|| (!sim.is_ready()).then(|| format!("it is not put back: {:?}", sim.stalled())))
}

fn while_it_is_down(mut sim: Sim, had: &Ledger) -> Option<String> {
    let is_marked = sim.root()?.annotation(&sim.world.root.memory()).is_some();
    let before = guarded(&sim, had);
    sim.cluster.ledger = None;
    sim.crash();
    sim.settle();
    if let Some(wrong) = wrong(&sim) {
        return Some(wrong);
    }
    if !is_marked {
        let guarded = before.first().map(|(key, _)| format!("{key} was made before the root says so"));
        return guarded.or_else(|| (!sim.is_ready()).then(|| format!("{:?}", sim.stalled())));
    }
    if !sim.stalled().iter().any(|it| it.contains("MemoryLost")) || sim.cluster.ledger.is_some() {
        return Some(format!("it goes on without its memory: {:?}", sim.stalled()));
    }
    if let Some((key, _)) = guarded(&sim, had).iter().find(|it| !before.contains(it)) {
        return Some(format!("{key} was made or changed without a memory"));
    }
    restored(sim.clone(), had).or_else(|| begun_anew(sim))
}

pub(super) fn restored(mut sim: Sim, had: &Ledger) -> Option<String> {
    sim.cluster.ledger = Some((sim.cluster.next_version(), had.clone()));
    sim.cluster.forged_ledger = None;
    sim.settle();
    let stalled =
        (!sim.is_ready()).then(|| format!("it was restored: {:?} {:#?}", sim.stalled(), sim.waits()));
    wrong(&sim).or(stalled)
}

fn begun_anew(mut sim: Sim) -> Option<String> {
    sim.forget_completions();
    sim.annotate("start-over", "forget-1");
    sim.settle();
    let stalled =
        (!sim.is_ready()).then(|| format!("it begins anew: {:?} {:#?}", sim.stalled(), sim.waits()));
    wrong(&sim).or(stalled).or_else(|| super::laws::gone(&mut sim))
}

pub(super) fn wrong(sim: &Sim) -> Option<String> {
    sim.violations.first().cloned()
}

/// The objects that hang on what is remembered: attempts, and what holds a random value.
pub(super) fn guarded(sim: &Sim, had: &Ledger) -> Vec<(ObjectKey, Value)> {
    let seeds: Vec<_> = had.seeds.values().collect();
    let holds = |text: &str| seeds.iter().any(|it| text.contains(it.as_str()));
    let all = sim.claimed().into_iter();
    all.filter(|(_, live, claim)| claim.attempt.is_some() || holds(&live.body.to_string()))
        .map(|(key, live, _)| (key, live.body["spec"].clone()))
        .collect()
}
