//! The commands: flags are defined once, here, and help, completions and manual pages come from them.

mod bundle;
mod check;
mod cluster;
mod complete;
mod crds;
mod demo;
mod explain;
mod extras;
mod graph;
mod import;
mod init;
mod orphans;
mod plan;
mod progress;
mod rbac;
mod reseal;
mod run;
mod test;
mod ui;
mod version;

pub(crate) use complete::answered;
pub(crate) use crds::Compared;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::input::{self, Given};
use crate::operate::Workers;
use crate::terminal::{self, Colour};

/// The name by which kubectl finds a plugin.
const PLUGIN: &str = "kubectl-pemdas";

/// Take control of the order of operations: a universal Kubernetes operator.
#[derive(Debug, Parser)]
#[command(name = "pemdas", version, about, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Arguments {
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    color: Colour,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Bundle(bundle::Pack),
    Check(check::Check),
    Crds(crds::Crds),
    Demo(demo::Demo),
    Explain(explain::Explain),
    Graph(graph::Graph),
    Import(import::Import),
    Init(init::Init),
    Orphans(orphans::Orphans),
    Run(run::Run),
    Plan(plan::Plan),
    Test(test::Test),
    Ui(ui::Ui),
    Rbac(rbac::Rbac),
    Reseal(reseal::Reseal),
    Version(version::Version),
    Completions(extras::Completions),
    Man(extras::Man),
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// All is well.
    Clean,
    /// It ran, and there are problems.
    Problems,
    /// It could not run.
    CouldNotRun,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Clean => 0,
            Outcome::Problems => 1,
            Outcome::CouldNotRun => 2,
        })
    }
}

/// Parses the command line and runs the command.
pub(crate) fn run() -> ExitCode {
    let arguments = match parsed() {
        Ok(arguments) => arguments,
        // Help and version are no failure; clap knows which goes where.
        Err(usage) => {
            let _ = usage.print();
            return if usage.use_stderr() { Outcome::CouldNotRun } else { Outcome::Clean }.into();
        }
    };
    let outcome = match arguments.command {
        Command::Bundle(pack) => pack.run(arguments.color),
        Command::Check(check) => check.run(arguments.color),
        Command::Crds(crds) => crds.run(arguments.color),
        Command::Demo(demo) => demo.run(arguments.color),
        Command::Explain(explain) => explain.run(arguments.color),
        Command::Graph(graph) => graph.run(arguments.color),
        Command::Import(import) => import.run(arguments.color),
        Command::Init(init) => init.run(arguments.color),
        Command::Orphans(orphans) => orphans.run(arguments.color),
        Command::Run(run) => run.run(arguments.color),
        Command::Plan(plan) => plan.run(arguments.color),
        Command::Test(test) => test.run(arguments.color),
        Command::Ui(ui) => ui.run(arguments.color),
        Command::Rbac(rbac) => rbac.run(arguments.color),
        Command::Reseal(reseal) => reseal.run(),
        Command::Version(version) => version.run(),
        Command::Completions(completions) => completions.run(),
        Command::Man(man) => man.run(),
    };
    outcome.into()
}

/// The command line. As a plugin of kubectl, which finds it by its name, it is called what people typed.
fn parsed() -> Result<Arguments, clap::Error> {
    let program = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let mut command = Arguments::command();
    if program.file_stem() == Some(std::ffi::OsStr::new(PLUGIN)) {
        command = command.bin_name("kubectl pemdas");
    }
    Arguments::from_arg_matches(&command.try_get_matches()?)
}

/// The blueprint at a path, where only one will do.
fn one_blueprint(path: &Path, hint: &str) -> Result<Given, Outcome> {
    let mut given = input::read(path);
    if given.len() > 1 {
        let names: Vec<_> = given.iter().map(|it| it.title.as_str()).collect();
        let message = format!("{} holds {} blueprints: {}", path.display(), given.len(), names.join(", "));
        return Err(could_not_run(&message, Some(hint)));
    }
    given.pop().ok_or_else(|| could_not_run(&format!("{} holds no blueprint", path.display()), None))
}

/// Says why a command could not run.
fn could_not_run(message: &str, hint: Option<&str>) -> Outcome {
    let hint = hint.map(|hint| format!("\nhint: {hint}\n")).unwrap_or_default();
    terminal::remark(&format!("error: {message}\n{hint}"));
    Outcome::CouldNotRun
}

/// The workers that evaluate blueprints; they are this program, started again.
fn workers(found: std::io::Result<Workers>) -> Result<Workers, Outcome> {
    found.map_err(|why| could_not_run(&format!("this program cannot find itself: {why}"), None))
}
