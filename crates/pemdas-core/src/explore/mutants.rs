//! The mutation suite: every sentence of the rules that prevents an accident, left out once, must be noticed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{directed::DIRECTED, properties};
use crate::mutation::{Mutation, with};

type Walks = (&'static str, fn(u64));

/// For what the directed accidents do not notice.
const WALKS: &[Walks] = &[
    ("a_deletion_survives_every_fault", properties::deletion_survives),
    ("a_chain_survives_every_fault", properties::chain_survives),
    ("a_replacement_survives_every_fault", properties::replacement_survives),
    ("a_drain_survives_every_fault", properties::drain_survives),
    ("a_failing_job_survives_every_fault", properties::failing_job_survives),
    ("what_another_tenant_forges_moves_nothing", properties::forgeries_move_nothing),
    ("a_new_key_replaces_an_older_one", properties::keys_are_replaced),
];

/// The table as it was when it was last reviewed.
const REVIEWED: &str = include_str!("snapshots/pemdas_core__explore__mutants__mutations.snap");

/// What stands in the table for a bug that nothing notices.
const NOTHING: &str = "nothing";

/// How the row of a bug begins.
fn begins(mutation: Mutation) -> String {
    format!("| {} ({mutation:?}) | ", mutation.sentence())
}

/// What noticed a bug when the table was last reviewed.
fn reviewed(mutation: Mutation) -> Option<&'static str> {
    let start = begins(mutation);
    REVIEWED.lines().find_map(|it| it.strip_prefix(&start)?.strip_suffix(" |"))
}

/// The first of these that notices a bug.
fn first_to_notice(mutation: Mutation, among: impl Fn(&str) -> bool) -> Option<&'static str> {
    let notices = |run: &dyn Fn()| with(Some(mutation), || catch_unwind(AssertUnwindSafe(run))).is_err();
    let directed = DIRECTED.iter().find(|(name, run)| among(name) && notices(&|| run()));
    let directed = directed.map(|(name, _)| *name);
    let walks = || WALKS.iter().find(|(name, run)| among(name) && notices(&|| run(20)));
    directed.or_else(|| walks().map(|(name, _)| *name))
}

/// What noticed a bug before is played, and everything else only where that notices nothing any more. What nothing noticed is
/// searched for in the deep tier.
#[test]
fn every_deliberate_bug_is_noticed() {
    let silent = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut table = String::from("| sentence left out | noticed by |\n| --- | --- |\n");
    let mut unnoticed = Vec::new();
    for mutation in Mutation::ALL {
        let noticed = match reviewed(*mutation) {
            Some(NOTHING) if !pemdas_tier::is_deep() => None,
            Some(known) => {
                let again = first_to_notice(*mutation, |it| it == known);
                again.or_else(|| first_to_notice(*mutation, |_| true))
            }
            None => first_to_notice(*mutation, |_| true),
        };
        if noticed.is_none() {
            unnoticed.push(*mutation);
        }
        table.push_str(&format!("{}{} |\n", begins(*mutation), noticed.unwrap_or(NOTHING)));
    }
    std::panic::set_hook(silent);
    assert!(Mutation::ALL.len() >= 40);
    insta::assert_snapshot!("mutations", table);
    assert!(unnoticed.len() <= 2, "{unnoticed:?}");
}
