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
];

fn first_to_notice(mutation: Mutation) -> Option<&'static str> {
    let notices = |run: &dyn Fn()| with(Some(mutation), || catch_unwind(AssertUnwindSafe(run))).is_err();
    let directed = DIRECTED.iter().find(|(_, run)| notices(&|| run())).map(|(name, _)| *name);
    directed.or_else(|| WALKS.iter().find(|(_, run)| notices(&|| run(20))).map(|(name, _)| *name))
}

#[test]
fn every_deliberate_bug_is_noticed() {
    let silent = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut table = String::from("| sentence left out | noticed by |\n| --- | --- |\n");
    let mut unnoticed = Vec::new();
    for mutation in Mutation::ALL {
        let noticed = first_to_notice(*mutation);
        if noticed.is_none() {
            unnoticed.push(*mutation);
        }
        table.push_str(&format!(
            "| {} ({mutation:?}) | {} |\n",
            mutation.sentence(),
            noticed.unwrap_or("nothing")
        ));
    }
    std::panic::set_hook(silent);
    assert!(Mutation::ALL.len() >= 40);
    insta::assert_snapshot!("mutations", table);
    assert!(unnoticed.len() <= 2, "{unnoticed:?}");
}
