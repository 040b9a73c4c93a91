//! The `pemdas` binary: the only crate of the product that prints, parses flags, or defines output JSON.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this crate speaks to the terminal")]

use clap::Parser;

/// Take control of the order of operations: a universal Kubernetes operator.
#[derive(Debug, Parser)]
#[command(name = "pemdas", version, about, arg_required_else_help = true)]
struct Arguments {}

fn main() {
    Arguments::parse();
}
