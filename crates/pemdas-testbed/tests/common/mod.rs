//! What the test files of the test bed share.

use std::io::Write;

/// Whether the node level can run here. Where it must (`PEMDAS_NODE=required`, as in CI) its absence is a failure;
/// elsewhere it is said loudly.
pub(crate) fn node_level_can_run() -> bool {
    match pemdas_testbed::supervise::node_is_possible() {
        Ok(()) => true,
        Err(why) if std::env::var_os("PEMDAS_NODE").is_some_and(|value| value == "required") => {
            panic!("the node level must be tested here: {why}")
        }
        Err(why) => {
            // Written directly: what a test prints is shown only when it fails.
            let _ =
                writeln!(std::io::stderr(), "\n*** NOT TESTED: the node level cannot run here. ***\n{why}\n");
            false
        }
    }
}
