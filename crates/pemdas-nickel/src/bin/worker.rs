//! A worker and nothing else: what the `pemdas` binary does under its hidden subcommand, for the tests and benchmarks of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    pemdas_nickel::worker_main()
}
