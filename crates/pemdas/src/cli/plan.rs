//! `pemdas plan`: what would happen to an instance, without a cluster.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::{Outcome, could_not_run, one_blueprint};
use crate::{
    plan::{self, observed::Files},
    render,
    terminal::{self, Colour},
};

/// Show what would happen to an instance: the rounds, what acts in each, what waits for what, and a diff
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 nothing to do, 1 something would be done, 2 no plan could be made.")]
pub(super) struct Plan {
    /// The blueprint: a directory with a main.ncl, an .ncl file, a manifest with a ConfigMap, or - for standard input
    #[arg(value_name = "PATH")]
    path: PathBuf,
    #[command(flatten)]
    of: Of,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    /// Leave out the diffs
    #[arg(long)]
    summary: bool,
}

/// Which instance is planned, and from where.
#[derive(Debug, Args)]
pub(super) struct Of {
    /// The instance: a YAML or JSON file with the object that is the root, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub(super) instance: Option<PathBuf>,
    /// What is in the cluster: a folder of YAML and JSON files, or one; without it, nothing is
    #[arg(long, value_name = "DIR")]
    pub(super) observed: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

impl Plan {
    pub(super) fn run(&self, colour: Colour) -> Outcome {
        let planned = match planned(&self.path, &self.of, colour) {
            Ok(planned) => planned,
            Err(outcome) => return outcome,
        };
        terminal::say(&match self.output {
            Format::Text => plan::text::plan(&planned, !self.summary, colour.on_stdout()),
            Format::Json => plan::json::plan(&planned),
        });
        if planned.plan.is_idle() { Outcome::Clean } else { Outcome::Problems }
    }
}

/// Makes the plan, or says why there is none.
pub(super) fn planned(path: &Path, of: &Of, colour: Colour) -> Result<plan::Planned, Outcome> {
    let input = Path::new("-");
    if path == input && of.instance.as_deref() == Some(input) {
        let message = "the blueprint and the instance cannot both come from standard input";
        return Err(could_not_run(message, None));
    }
    let given = one_blueprint(path, "keep the one to plan with in a file of its own")?;
    let mut observed = Files::new(of.observed.as_deref());
    plan::make(given, of.instance.as_deref(), &mut observed).map_err(|checked| {
        terminal::remark(&render::text::diagnostics(&checked, colour.on_stderr()));
        Outcome::CouldNotRun
    })
}
