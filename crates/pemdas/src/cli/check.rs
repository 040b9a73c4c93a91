//! `pemdas check`: everything that can be said of blueprints before they run.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pemdas_core::diagnostic::{Diagnostic, Severity};

use super::{Outcome, could_not_run, progress::Still};
use crate::{
    input,
    load::{self, Checked},
    pages, render,
    terminal::{self, Colour},
};

/// Check blueprints: syntax, types, both graphs, templates, references
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 clean, 1 problems found, 2 something could not be checked.",
    after_long_help = "\
Examples:
  pemdas check                         the blueprint in this folder
  pemdas check blueprints/*            several
  pemdas check -o sarif > check.sarif  for code scanning in CI
  pemdas check --explain PM0104        what a code means, and how to fix it; 104 is enough

Exit status: 0 clean, 1 problems found, 2 something could not be checked."
)]
pub(super) struct Check {
    /// Blueprints: a directory with a main.ncl, an .ncl file, a manifest with ConfigMaps, or - for standard input
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    /// Count warnings as problems
    #[arg(long)]
    deny_warnings: bool,
    /// Leave out the warnings and notes of a code, such as PM0124; may be given several times
    #[arg(long, value_name = "CODE", value_parser = code)]
    accept: Vec<String>,
    /// Print what a diagnostic code means, such as PM0103 or 103
    #[arg(long, value_name = "CODE", conflicts_with = "paths")]
    explain: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
    /// For code scanning services
    Sarif,
    /// Annotations for GitHub Actions
    Github,
}

impl Check {
    pub(super) fn run(&self, colour: Colour) -> Outcome {
        if let Some(code) = &self.explain {
            return explain(code);
        }
        let still = Still::says("checking", colour);
        let mut checked: Vec<Checked> =
            self.paths.iter().flat_map(|path| input::read(path)).map(load::check).collect();
        drop(still);
        let is_accepted = |it: &Diagnostic| it.severity != Severity::Error && self.accept.contains(&it.code);
        checked.iter_mut().for_each(|it| it.diagnostics.retain(|it| !is_accepted(it)));
        match self.output {
            Format::Text => terminal::say(&render::text::blueprints(&checked, colour.on_stdout())),
            Format::Json => terminal::hand_over(&render::json::blueprints(&checked)),
            Format::Sarif => terminal::hand_over(&render::sarif::blueprints(&checked)),
            // It becomes part of a log that people read.
            Format::Github => terminal::say(&render::github::blueprints(&checked)),
        }
        let outcome = |it: &Checked| match it.worst() {
            _ if it.given.unreadable => Outcome::CouldNotRun,
            Some(Severity::Error) => Outcome::Problems,
            Some(Severity::Warning) if self.deny_warnings => Outcome::Problems,
            _ => Outcome::Clean,
        };
        checked.iter().map(outcome).max().unwrap_or(Outcome::Clean)
    }
}

/// An existing code, however it is written.
fn code(text: &str) -> Result<String, String> {
    let code = pages::code(text);
    if pages::page(&code).is_some() {
        return Ok(code);
    }
    let near = pages::nearest(&code).map(|it| format!(": did you mean {it}?"));
    Err(format!("there is no diagnostic code {text}{}", near.unwrap_or_default()))
}

/// Prints the page of a code.
pub(super) fn explain(code: &str) -> Outcome {
    if let Some(page) = pages::page(code) {
        terminal::say(page);
        return Outcome::Clean;
    }
    let near = pages::nearest(code).map(|near| format!("did you mean {near}?"));
    let hint = near.unwrap_or_else(|| "docs/diagnostics lists all codes".to_owned());
    let shown = pemdas_core::text::shorten(code);
    could_not_run(&format!("there is no diagnostic code {shown:?}"), Some(&hint))
}
