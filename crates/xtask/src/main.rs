//! The door for developers: every check of the project behind one command. No dependencies, so that a fresh clone is
//! quick to begin.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this program speaks to the terminal")]

mod charts;
mod command;
mod dependencies;
mod dist;
mod groups;
mod harness;
mod image;
mod lanes;
mod programs;
mod prove;
mod site;
mod steps;
mod times;
mod tools;

use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask COMMAND

Commands:
  test [STEP...]   Pass every check, or only the named ones
  test test:NAME   Run some of the tests: a group, a package, or PACKAGE:PROGRAM
  image [OPTION..] Make the image of Pemdas as an archive, without Docker; --help lists the options
  dist [OPTION..]  Make everything that a release consists of; --help lists the options
  charts DIR       Import each rendered chart of a folder, and say how far it comes
  prove [OPTION..] Run the deep tier of the tests for some minutes; --help lists the options
  list             List the steps and the groups of tests
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
        ["image", options @ ..] => image::run(options),
        ["dist", options @ ..] => dist::run(options),
        ["charts", folder] => charts::run(folder),
        ["prove", options @ ..] => prove::run(options),
        ["list"] => {
            for step in steps::ALL {
                println!("{:<24} {}", step.name, step.about);
            }
            for group in groups::GROUPS {
                println!("{:<24} {}", format!("test:{}", group.name), group.about);
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
