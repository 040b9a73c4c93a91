//! The checks, in the order in which they fail fastest.

use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::command::{cargo, succeed};
use crate::{site, tools};

/// One check: its name, what it is for, and what it runs.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    run: fn() -> Result<(), String>,
}

/// All of them. Nothing is tested anywhere else.
pub(crate) const ALL: &[Step] = &[
    Step { name: "format", about: "rustfmt finds nothing to change", run: format },
    Step { name: "clippy", about: "no lint is violated, in any target", run: clippy },
    Step { name: "deny", about: "licences, sources and bans of the dependencies", run: deny },
    Step { name: "docs", about: "rustdoc has no complaint", run: docs },
    Step {
        name: "site",
        about: "the documentation as a site, with every page and every link",
        run: site::build,
    },
    Step { name: "testbed", about: "the real cluster's programs are there", run: testbed },
    Step { name: "test", about: "unit, integration and real-cluster tests", run: test },
    Step { name: "doctest", about: "the examples in the documentation", run: doctest },
];

/// Runs the named steps, or all.
pub(crate) fn run(names: &[&str]) -> ExitCode {
    if let Some(unknown) = names.iter().find(|name| ALL.iter().all(|step| step.name != **name)) {
        let known: Vec<&str> = ALL.iter().map(|step| step.name).collect();
        eprintln!("error: there is no step `{unknown}`; the steps are {}", known.join(", "));
        return ExitCode::from(2);
    }
    let all = Instant::now();
    for step in ALL.iter().filter(|step| names.is_empty() || names.contains(&step.name)) {
        println!("==> {}: {}", step.name, step.about);
        let started = Instant::now();
        if let Err(why) = (step.run)() {
            eprintln!(
                "error: the step `{}` failed: {why}\n\nhint: run it alone with `cargo xtask test {0}`",
                step.name
            );
            return ExitCode::FAILURE;
        }
        println!("    {} s", started.elapsed().as_secs());
    }
    println!("==> everything passed in {} s", all.elapsed().as_secs());
    ExitCode::SUCCESS
}

fn format() -> Result<(), String> {
    succeed(&mut cargo(&["fmt", "--all", "--check"]))
}

fn clippy() -> Result<(), String> {
    succeed(&mut cargo(&["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn deny() -> Result<(), String> {
    let program = tools::cargo_deny()?;
    let check = |what: &[&str]| {
        let mut command = Command::new(&program);
        command.args(["--locked", "check", "--hide-inclusion-graph"]).args(what);
        command
    };
    succeed(&mut check(&["bans", "licenses", "sources"]))?;
    // The list of known vulnerabilities lives in a repository of its own, which not every machine can reach.
    let mut fetch = Command::new(&program);
    if fetch.args(["fetch", "db"]).output().is_ok_and(|done| done.status.success()) {
        succeed(&mut check(&["advisories"]))
    } else {
        eprintln!("*** NOT CHECKED: the list of security advisories cannot be fetched here. ***");
        Ok(())
    }
}

fn docs() -> Result<(), String> {
    let mut command = cargo(&["doc", "--locked", "--workspace", "--no-deps", "--document-private-items"]);
    succeed(command.env("RUSTDOCFLAGS", "-D warnings"))
}

fn testbed() -> Result<(), String> {
    let mut arguments = vec!["run", "--locked", "--quiet", "--package=pemdas-testbed", "--", "build"];
    if tools::is_root() {
        arguments.push("--node");
    }
    succeed(&mut cargo(&arguments))
}

fn test() -> Result<(), String> {
    succeed(&mut cargo(&["test", "--locked", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"]))
}

fn doctest() -> Result<(), String> {
    succeed(&mut cargo(&["test", "--locked", "--workspace", "--doc"]))
}
