//! A new key for the seals.

use super::{
    laws::gone,
    sim::{Sim, seal},
    subject::Subject,
    walk::at_every_step,
};
use crate::{
    decide::Mode,
    world::{Fact, Seal},
};

/// The key that takes the place of the first one.
const NEW: [u8; 32] = [8; 32];

/// The operator gets another key at any moment, beside the old one. Nothing changes but seals, when a human asks for it; and when nothing of the old
/// key is left, it can be thrown away.
pub(super) fn a_new_key_replaces_an_older_one(subject: &Subject, _: u64) {
    at_every_step("new key", subject, 400, subject.start(), &|mut sim, _| {
        let both = [NEW.to_vec(), vec![7; 32]];
        with_keys(&mut sim, both.to_vec());
        sim.settle();
        let (before, contents, made) = (sim.uids(), sim.result(), sim.created);
        if let Some(wrong) = wrong(&sim) {
            return Some(wrong);
        }
        sim.world.learn(Fact::Reseals(true));
        sim.settle();
        let left = sim.decision.as_ref().map_or(0, |it| it.older_seals);
        if left > 0 {
            return Some(format!("{left} seals are of the old key: {:?}", sim.waits()));
        }
        with_keys(&mut sim, vec![NEW.to_vec()]);
        sim.settle();
        let same = sim.uids() == before && sim.result() == contents && sim.created == made;
        wrong(&sim)
            .or_else(|| (!same).then(|| "something was made or changed for a seal".to_owned()))
            .or_else(|| gone(&mut sim))
    });
}

/// The operator starts with these keys.
fn with_keys(sim: &mut Sim, keys: Vec<Vec<u8>>) {
    sim.world.seal = Seal::with(keys);
    let is_old = sim.world.seal != seal() && sim.world.seal.has_older();
    if let Some((_, ledger)) = &mut sim.cluster.ledger {
        ledger.older = is_old;
    }
    sim.crash();
    sim.late.clear();
}

fn wrong(sim: &Sim) -> Option<String> {
    let present = sim.decision.as_ref().is_some_and(|it| it.mode == Mode::Present);
    let stuck = || (!present || !sim.is_ready()).then(|| format!("{:?} {:#?}", sim.stalled(), sim.waits()));
    sim.violations.first().cloned().or_else(stuck)
}
