//! Which tier of the tests runs, and how much each test tries in it.
//!
//! The default tier proves every promise with little volume: `cargo xtask test`. The deep tier repeats the same tests with more
//! seeds, requests and objects: `cargo xtask prove`. The deep tier runs in numbered rounds. Each round tries other seeds, so
//! rounds can run at the same time, and a stopped run goes on with the next round. One variable says which tier runs:
//! `PEMDAS_PROVE`, the number of the round. Without it, the default tier runs.

use std::ops::Range;

/// The variable that names the round of the deep tier.
pub const VARIABLE: &str = "PEMDAS_PROVE";

/// The round of the deep tier, counted from 1. `None` in the default tier.
///
/// # Panics
/// If the variable is set to something else than a round: a typing error must not run the default tier instead.
#[must_use]
#[allow(clippy::panic, reason = "only tests call this")]
pub fn round() -> Option<u64> {
    let text = std::env::var(VARIABLE).ok().filter(|it| !it.is_empty())?;
    match text.parse() {
        Ok(round) if round > 0 => Some(round),
        _ => panic!("{VARIABLE} is `{text}`; it must be the number of a round, from 1 on"),
    }
}

/// Whether the deep tier runs.
#[must_use]
pub fn is_deep() -> bool {
    round().is_some()
}

/// The size of something: one in the default tier, another in each round of the deep tier.
#[must_use]
pub fn size<N>(default: N, deep: N) -> N {
    if is_deep() { deep } else { default }
}

/// The seeds to try: so many from 1 on in the default tier. Each round of the deep tier tries seeds that no other round tries.
#[must_use]
pub fn seeds(default: u64, deep: u64) -> Range<u64> {
    match round() {
        None => 1..default + 1,
        Some(round) => {
            let first = 1 + default + (round - 1) * deep;
            first..first + deep
        }
    }
}

/// Prints how much was tried, for the report of the deep tier.
#[allow(clippy::print_stdout, reason = "the task runner reads this from the output of a test")]
pub fn tried(count: u64, what: &str) {
    println!("tried: {count} {what}");
}
