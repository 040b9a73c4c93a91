//! The `pemdas` binary: the only crate of the product that prints, parses flags, or defines output JSON.

mod cli;
mod draw;
mod input;
mod load;
mod pages;
mod render;
mod terminal;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
