//! The checks, in the order in which they fail fastest.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::command::{cargo, succeed};
use crate::groups::GROUPS;
use crate::programs::{self, Program, Selection};
use crate::times::Times;
use crate::{dependencies, lanes, site, tools};

/// One check: its name, what it is for, and what it runs.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    run: fn(&mut Context) -> Result<(), String>,
}

/// What is known while the steps run.
#[derive(Default)]
struct Context {
    times: Times,
    /// Whether all steps run.
    everything: bool,
    /// The tests that are wanted: groups, packages, or programs. All where it is empty.
    only: Vec<String>,
}

/// All of them. Nothing is tested anywhere else.
pub(crate) const ALL: &[Step] = &[
    Step { name: "format", about: "rustfmt finds nothing to change", run: |_| format() },
    Step { name: "clippy", about: "no lint is violated, in any target", run: |_| clippy() },
    Step { name: "deny", about: "licences, sources and bans of the dependencies", run: |_| deny() },
    Step { name: "docs", about: "rustdoc has no complaint", run: |_| docs() },
    Step {
        name: "site",
        about: "the documentation as a site, with every page and every link",
        run: |_| site::build(),
    },
    Step { name: "testbed", about: "the real cluster's programs are there", run: |_| testbed() },
    Step { name: "build", about: "the test programs compile", run: build },
    Step { name: "test", about: "unit, integration and real-cluster tests", run: test },
    Step { name: "doctest", about: "the examples in the documentation", run: |_| doctest() },
];

/// Runs the named steps, or all. `test:NAME` runs some of the tests.
pub(crate) fn run(names: &[&str]) -> ExitCode {
    let mut context = Context { everything: names.is_empty(), ..Context::default() };
    let mut steps = Vec::new();
    for name in names {
        let (step, only) = name.split_once(':').map_or((*name, None), |(step, only)| (step, Some(only)));
        let known = ALL.iter().any(|it| it.name == step);
        if !known || (only.is_some() && step != "test") {
            let known: Vec<&str> = ALL.iter().map(|step| step.name).collect();
            eprintln!("error: there is no step `{name}`; the steps are {}, test:NAME", known.join(", "));
            return ExitCode::from(2);
        }
        context.only.extend(only.map(str::to_owned));
        steps.push(step);
    }
    if let Some(unknown) = context.only.iter().find(|it| packages_of(it).is_none()) {
        let groups: Vec<_> = GROUPS.iter().map(|it| it.name).collect();
        eprintln!(
            "error: there are no tests `{unknown}`\n\nhint: a NAME is a group ({}), a package, or PACKAGE:PROGRAM as in \
             `test:pemdas:operator`",
            groups.join(", ")
        );
        return ExitCode::from(2);
    }
    let all = Instant::now();
    if let Err(why) = dependencies::restore() {
        eprintln!("warning: {why}; the dependencies are compiled again");
    }
    let mut failed = None;
    for step in ALL.iter().filter(|step| steps.is_empty() || steps.contains(&step.name)) {
        println!("==> {}: {}", step.name, step.about);
        let started = Instant::now();
        let result = (step.run)(&mut context);
        let seconds = started.elapsed().as_secs_f64();
        context.times.steps.push((step.name.to_owned(), seconds));
        println!("    {seconds:.0} s");
        if let Err(why) = result {
            failed = Some((step.name, why));
            break;
        }
    }
    finish(&context, failed, all)
}

/// Says where the time went, and how it ended.
fn finish(context: &Context, failed: Option<(&str, String)>, since: Instant) -> ExitCode {
    println!("{}", context.times.report());
    if !context.times.runs.is_empty() {
        println!("{}", context.times.summary());
    }
    if let Some((step, why)) = failed {
        eprintln!("error: the step `{step}` failed: {why}");
        let again = context.times.failed();
        if again.is_empty() {
            eprintln!("\nhint: run it alone with `cargo xtask test {step}`");
        } else {
            eprintln!("\nhint: run what failed alone:\n    {}", again.join("\n    "));
        }
        return ExitCode::FAILURE;
    }
    println!("==> everything passed in {} s", since.elapsed().as_secs());
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
    let mut arguments =
        vec!["run", "--locked", "--quiet", "--package=pemdas-testbed", "--", "build", "--browser"];
    if tools::is_root() {
        arguments.push("--node");
    }
    succeed(&mut cargo(&arguments))
}

/// The packages that a NAME of tests needs.
fn packages_of(name: &str) -> Option<Vec<&str>> {
    let package = name.split_once(':').map_or(name, |(package, _)| package);
    match GROUPS.iter().find(|it| it.name == name) {
        Some(group) => Some(group.packages.to_vec()),
        None => GROUPS.iter().any(|it| it.packages.contains(&package)).then(|| vec![package]),
    }
}

fn is_wanted(program: &Program, only: &[String]) -> bool {
    only.is_empty()
        || only.iter().any(|name| match GROUPS.iter().find(|it| it.name == name) {
            Some(group) => group.has(program),
            None => *name == program.package || *name == program.title(),
        })
}

/// Built on its own, so that the report tells compiling from testing.
fn build(context: &mut Context) -> Result<(), String> {
    programs::build(&selection(&context.only)).map(drop)?;
    // Some of the steps alone compile some of the dependencies.
    if context.everything { dependencies::keep() } else { Ok(()) }
}

/// What has to be built for some tests.
fn selection(only: &[String]) -> Selection<'_> {
    if only.is_empty() {
        return Selection::Everything;
    }
    let mut tests = Vec::new();
    for name in only {
        match GROUPS.iter().find(|it| it.name == name) {
            Some(group) => tests.extend(group.only),
            None => tests.extend(name.split_once(':').map(|(_, program)| program)),
        }
    }
    // Unit tests are built by package: cargo builds those of every package otherwise.
    let unit = |it: &&str| *it == "lib" || it.starts_with("bin");
    let whole = |name: &String| {
        GROUPS.iter().find(|it| it.name == name).map_or(!name.contains(':'), |it| it.only.is_empty())
    };
    if tests.iter().any(unit) || only.iter().any(whole) {
        let mut packages: Vec<&str> = only.iter().filter_map(|it| packages_of(it)).flatten().collect();
        packages.sort_unstable();
        packages.dedup();
        return Selection::Packages(packages);
    }
    Selection::Tests(tests)
}

fn test(context: &mut Context) -> Result<(), String> {
    let built = programs::build(&selection(&context.only))?;
    let wanted: Vec<Program> =
        built.programs.iter().filter(|it| is_wanted(it, &context.only)).cloned().collect();
    if wanted.is_empty() {
        return Err(format!("there is no test program {}", context.only.join(", ")));
    }
    context.times.runs = lanes::run_all(&built, &wanted, &target().join("xtask/logs"))?;
    match context.times.runs.iter().filter(|it| !it.passed).count() {
        0 => Ok(()),
        some => Err(format!("{some} test programs failed")),
    }
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository.join("target"), PathBuf::from)
}

fn doctest() -> Result<(), String> {
    succeed(&mut cargo(&["test", "--locked", "--workspace", "--doc"]))
}
