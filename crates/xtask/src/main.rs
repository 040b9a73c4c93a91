//! The door for developers: every check of the project behind one command. No dependencies, so that a fresh clone is
//! quick to begin.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this program speaks to the terminal")]

mod command;
mod site;
mod steps;
mod tools;

use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask COMMAND

Commands:
  test [STEP...]   Pass every check, or only the named ones
  list             Say what the steps are
  help             Print this

Environment:
  PEMDAS_NODE=required   Fail where the real node cannot be tested, instead of saying so
  PEMDAS_CACHE=DIR       Where tools and the test bed's programs are kept [default: ~/.cache/pemdas]
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["test", names @ ..] => steps::run(names),
        ["list"] => {
            for step in steps::ALL {
                println!("{:<10} {}", step.name, step.about);
            }
            ExitCode::SUCCESS
        }
        [] | ["help" | "-h" | "--help"] => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        [unknown, ..] => {
            eprintln!("error: there is no command `{unknown}`\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}
