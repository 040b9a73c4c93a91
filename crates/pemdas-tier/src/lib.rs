//! Which tier of the tests runs, and how much each test tries in it.
//!
//! The default tier proves every promise with little volume: `cargo xtask test`. The deep tier repeats the same tests with more
//! seeds, requests and objects: `cargo xtask prove`. The deep tier runs in numbered rounds. Each round tries other seeds, so
//! rounds can run at the same time, and a stopped run goes on with the next round. One variable says which tier runs:
//! `PEMDAS_PROVE`, the number of the round. Without it, the default tier runs.
//!
//! **Invariant.** Only tests depend on it.

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
    let text = std::env::var(VARIABLE).ok()?;
    match read(&text) {
        Some(round) => round,
        None => panic!("{VARIABLE} is `{text}`; it must be the number of a round, from 1 on"),
    }
}

/// Nothing is the default tier. `None` is a mistake.
fn read(text: &str) -> Option<Option<u64>> {
    if text.is_empty() {
        return Some(None);
    }
    text.parse().ok().filter(|it| *it > 0).map(Some)
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
    seeds_in(round(), default, deep)
}

fn seeds_in(round: Option<u64>, default: u64, deep: u64) -> Range<u64> {
    match round {
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

#[cfg(test)]
mod tests {
    use super::{read, seeds_in};

    #[test]
    fn a_round_is_a_number_from_one_on() {
        assert_eq!(read(""), Some(None));
        assert_eq!(read("3"), Some(Some(3)));
        for wrong in ["0", "-1", "all", "1.5"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn no_seed_is_tried_twice() {
        assert_eq!(seeds_in(None, 20, 100), 1..21);
        assert_eq!(seeds_in(Some(1), 20, 100), 21..121);
        assert_eq!(seeds_in(Some(2), 20, 100), 121..221);
    }
}
