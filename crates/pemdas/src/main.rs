//! The `pemdas` binary: the only crate of the product that prints, parses flags, or defines output JSON.

mod bundle;
mod cli;
mod demo;
mod draw;
mod explain;
mod files;
mod footprint;
mod import;
mod init;
mod input;
#[cfg(test)]
mod judge;
mod live;
mod load;
mod operate;
mod orphans;
mod pages;
mod plan;
mod render;
mod roles;
mod serve;
mod terminal;
mod trial;
mod ui;
mod workers;

use std::process::ExitCode;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // A worker takes no flags of ours and must not load what they need: it is told apart before they are read.
    if std::env::args_os().nth(1).is_some_and(|it| it == WORKER) {
        return pemdas_nickel::worker_main();
    }
    if cli::answered() {
        return ExitCode::SUCCESS;
    }
    cli::run()
}

/// The hidden command that makes this binary an evaluator of blueprints behind walls.
pub(crate) const WORKER: &str = "worker";
