//! The properties over blueprints made by hand and by chance, one test each.

use super::{
    lab::Lab,
    laws::{both, gone},
    sim::Sim,
    subject::Subject,
    walk::{Faults, explore},
    zoo::{chain, diamond, drain, job, renamed, replaced, versions, watch_drain},
};

fn of(name: &str, lab: Lab) -> Subject {
    Subject::of_labs(name, &[lab], &versions())
}

fn survives(name: &str, lab: Lab, faults: Faults, walks: (u64, usize), prepare: impl Fn(&mut Sim)) {
    let subject = of(name, lab);
    explore("survives", &subject, faults, walks, prepare, &both(&subject));
}

pub(super) fn chain_survives(walks: u64) {
    survives("chain", chain(), Faults::ALL, (walks, 60), |_| {});
}

pub(super) fn replacement_survives(walks: u64) {
    survives("replace", replaced(), Faults::ALL, (walks, 80), |_| {});
}

pub(super) fn revisions_survive(walks: u64) {
    let subject = Subject::of_labs("revisions", &[chain(), renamed(), diamond()], &versions());
    let faults = Faults { revisions: 3, ..Faults::ALL };
    explore("survives", &subject, faults, (walks, 90), |_| {}, &both(&subject));
}

pub(super) fn drain_survives(walks: u64) {
    survives("drain", drain(), Faults { hands: false, ..Faults::ALL }, (walks, 100), watch_drain);
}

pub(super) fn failing_job_survives(walks: u64) {
    super::laws::each_attempt_completes_at_most_once(&of("job", job()), walks);
}

pub(super) fn deletion_survives(walks: u64) {
    let faults = Faults { deletion: true, ..Faults::ALL };
    explore("deletion", &of("diamond", diamond()), faults, (walks, 80), |_| {}, &gone);
}

pub(super) fn forgeries_move_nothing(walks: u64) {
    super::tenant::a_forged_ledger_is_not_believed(&of("job", job()), walks);
    super::tenant::what_another_tenant_forges_moves_nothing(&of("chain", chain()), walks);
}

pub(super) fn keys_are_replaced(walks: u64) {
    super::rotation::a_new_key_replaces_an_older_one(&of("job", job()), walks);
}

#[cfg(test)]
mod tests {
    use crate::explore::{laws::LAWS, zoo};

    /// How many graphs are made by chance, beside those by hand: in the default tier, and in a round of the deep one.
    const GRAPHS: (u64, u64) = (2, 24);
    /// How many walks there are over each, in the default tier.
    const WALKS: u64 = 2;

    macro_rules! over_generated_graphs {
        ($($law:ident,)*) => {
            $(#[test]
            fn $law() {
                let (_, law) = LAWS.iter().find(|(name, _)| *name == stringify!($law)).expect("a law");
                for subject in zoo::all(pemdas_tier::seeds(GRAPHS.0, GRAPHS.1)) {
                    law(&subject, WALKS);
                }
            })*
        };
    }
    crate::each_law!(over_generated_graphs);

    #[test]
    fn revisions_survive_every_fault() {
        super::revisions_survive(10);
    }

    /// Every write of a drain is watched for its order.
    #[test]
    fn a_drain_survives_every_fault() {
        super::drain_survives(10);
    }

    #[test]
    fn a_chain_survives_every_fault() {
        super::chain_survives(10);
    }
}
