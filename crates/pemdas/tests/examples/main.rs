//! The examples of the repository on a real control plane, as their pages say: created, changed, drifted from, deleted. What
//! needs pods that really run is in the tests of the node.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

mod bed;
#[path = "../operator/own.rs"]
mod own;
#[path = "../pages/page.rs"]
mod page;
#[path = "../said/mod.rs"]
mod said;
#[path = "../shell/mod.rs"]
mod shell;

use bed::Bed;

/// The examples whose pages are played here.
const PAGES: [&str; 5] = ["web-app", "redis-cache", "blue-green", "namespace-defaults", "on-secret"];

#[test]
fn the_pages_of_the_examples_are_true() {
    let bed = Bed::new();
    bed.play(&PAGES);
    bed.read();
    bed.writes_only_its_own();
}

/// A round has its seed, so that a failure can be looked for again; what the moments hit is up to the machine.
#[test]
#[ignore = "deep tier: kills the operator at random moments"]
fn the_pages_are_true_whenever_the_operator_is_killed() {
    let bed = Bed::new();
    let kills = bed.killed_at_random(pemdas_tier::seeds(1, 1).start, || bed.play(&PAGES));
    assert!(kills > 5, "it was killed only {kills} times");
    pemdas_tier::tried(kills as u64, "kills");
}
