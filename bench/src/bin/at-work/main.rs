//! Which functions an operator at work goes through, and which only while it starts: the list by which the linker puts them side by side.
//!
//! `at-work LIST PROGRAM ARGUMENTS…` runs a program that has its symbols, lets it start, and adds to the list every function that it enters from then on;
//! `at-work --start LIST PROGRAM ARGUMENTS…` those that it enters before. It is given to `bench` as an operator, and ended as one. A breakpoint stands on
//! every function until it is met for the first time.
#![allow(clippy::print_stderr, reason = "a program for people speaks to the terminal")]

#[cfg(target_arch = "x86_64")]
mod functions;
mod list;
#[cfg(target_arch = "x86_64")]
mod trace;
#[cfg(target_arch = "x86_64")]
mod tracee;

use std::{path::Path, process::ExitCode};

use list::Part;
#[cfg(target_arch = "x86_64")]
use trace::trace;

type Error = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let part = if words.first().is_some_and(|it| it == "--start") { Part::Start } else { Part::Work };
    if part == Part::Start {
        words.remove(0);
    }
    let [list, program, arguments @ ..] = words.as_slice() else {
        eprintln!("at-work [--start] LIST PROGRAM ARGUMENTS…");
        return ExitCode::FAILURE;
    };
    match trace(part, Path::new(list), program, arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn trace(_part: Part, _list: &Path, _program: &str, _arguments: &[String]) -> Result<(), Error> {
    Err("breakpoints are only made for x86_64".into())
}
