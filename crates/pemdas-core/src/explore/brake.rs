//! The brake, at any moment.

use std::rc::Rc;

use super::{
    laws::{as_if_nothing_happened, gone_or_asked},
    sim::Sim,
    subject::Subject,
    walk::at_every_step,
};
use crate::action::Action;

/// A human suspends an instance at any moment, also one that goes: nothing is written but its report until the brake is
/// lifted, and then the end is as if nothing had happened.
pub(super) fn a_brake_stops_every_write_and_nothing_is_lost_by_it(subject: &Subject, _: u64) {
    let end = as_if_nothing_happened(subject);
    at_every_step("brake", subject, 400, subject.start(), &|mut sim, at| {
        sim.watcher = Some(Rc::new(|sim: &Sim, action: &Action| {
            let root = sim.world.root.live.as_ref();
            let held = root.is_some_and(|it| it.annotation("pemdas.dev/suspend") == Some("yes"));
            (held && action.moves_the_cluster()).then(|| format!("suspended, and writes: {action:?}"))
        }));
        let mut going = sim.clone();
        sim.annotate("suspend", "yes");
        if at % 3 == 0 {
            sim.crash();
        }
        sim.settle();
        sim.annotate("suspend", "false");
        sim.settle();
        let first = end(&mut sim).or_else(|| sim.violations.first().cloned());
        first.or_else(|| {
            let root = going.cluster.root.clone();
            going.annotate("suspend", "yes");
            going.cluster.delete(&root);
            going.settle();
            going.annotate("suspend", "false");
            gone_or_asked(&mut going).or_else(|| going.violations.first().cloned())
        })
    });
}
