//! Measures what operators cost on a real control plane, one beside the other.
//!
//! `cargo run --release -p pemdas-bench -- --help` says what it takes.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people speaks to the terminal")]

mod cluster;
mod measure;
mod options;
mod process;
mod shape;
mod table;

use std::process::ExitCode;

use measure::Measured;
use options::Options;
use table::Turns;

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::FAILURE;
        }
    };
    match measured(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measured(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut results = Vec::new();
    for shape in &options.shapes {
        for count in &options.counts {
            let mut measured: Vec<Vec<Measured>> = options.operators.iter().map(|_| Vec::new()).collect();
            for turn in 0..options.turns {
                let mut order: Vec<usize> = (0..options.operators.len()).collect();
                if !turn.is_multiple_of(2) {
                    order.reverse();
                }
                for number in order {
                    let operator = &options.operators[number];
                    eprintln!("{} {count} {}, turn {}", shape.name(), operator.name, turn + 1);
                    let result = runtime.block_on(measure::measure(operator, *shape, *count))?;
                    eprintln!("{}", table::line(&result));
                    measured[number].push(result);
                }
            }
            results.extend(measured.into_iter().filter_map(Turns::of));
        }
    }
    println!("{}", table::markdown(&results));
    let json = serde_json::to_string_pretty(&table::json(&results))?;
    match &options.json {
        Some(file) => std::fs::write(file, json)?,
        None => println!("{json}"),
    }
    Ok(())
}
