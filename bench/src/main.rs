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

use cluster::Error;
use measure::{Measured, Underway};
use options::Options;
use shape::Shape;
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
                eprintln!("{} {count}, turn {}", shape.name(), turn + 1);
                for (number, result) in runtime.block_on(one_turn(options, *shape, *count, turn))? {
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

/// All operators beside each other, each on its control plane; by their numbers what they cost.
async fn one_turn(
    options: &Options,
    shape: Shape,
    count: usize,
    turn: usize,
) -> Result<Vec<(usize, Measured)>, Error> {
    let mut all = Vec::new();
    for (number, operator) in options.operators.iter().enumerate() {
        all.push((number, Underway::begin(operator, shape).await?));
    }
    if !turn.is_multiple_of(2) {
        all.reverse();
    }
    for batch in 0..options.batches {
        let size = |batch: usize| count * batch / options.batches;
        for (_, underway) in &mut all {
            underway.add(size(batch + 1) - size(batch)).await?;
        }
        all.reverse();
    }
    let mut measured = Vec::new();
    for (number, underway) in all {
        measured.push((number, underway.finish().await?));
    }
    Ok(measured)
}
