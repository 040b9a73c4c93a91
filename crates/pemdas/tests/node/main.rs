//! Pemdas in a cluster, with nothing simulated: it runs as a pod under its own account, and so do PostgreSQL, the
//! migrations, and what they serve. The pages of the examples are the scripts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

mod bed;
#[path = "../said/mod.rs"]
mod said;
#[path = "../shell/mod.rs"]
mod shell;

use bed::bed;

/// The examples whose pages are played here. The default tier plays the first one.
const PAGES: [&str; 2] = ["foo-service", "postgres"];

#[test]
fn the_pages_of_the_databases_are_true() {
    let Some((_alone, bed)) = bed() else { return };
    let pages = pemdas_tier::size(&PAGES[..1], &PAGES[..]);
    bed.play(pages);
    pemdas_tier::tried(pages.len() as u64, "pages on the node");
}

/// A round has its seed, so that a failure can be looked for again; what the moments hit is up to the machine.
#[test]
#[ignore = "deep tier: kills the operator at random moments"]
fn the_pages_are_true_whenever_pemdas_is_killed() {
    let Some((_alone, bed)) = bed() else { return };
    let kills = bed.killed_at_random(pemdas_tier::seeds(1, 1).start, || bed.play(&PAGES));
    // How often depends on the machine; that it happened at all does not.
    assert!(kills > 0, "it was never killed");
    pemdas_tier::tried(kills.into(), "kills");
}
