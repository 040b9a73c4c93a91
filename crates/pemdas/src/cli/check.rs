//! `pemdas check`: everything that can be said of blueprints before they run.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pemdas_core::diagnostic::{Diagnostic, Severity};

use super::{Outcome, could_not_run};
use crate::{
    input,
    load::{self, Checked},
    pages, render,
    terminal::{self, Colour},
};

/// Check blueprints: syntax, types, both graphs, templates, references
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 clean, 1 problems found, 2 something could not be checked.")]
pub(super) struct Check {
    /// Blueprints: a directory with a main.ncl, an .ncl file, a manifest with ConfigMaps, or - for standard input
    #[arg(required_unless_present = "explain", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    /// Count warnings as problems
    #[arg(long)]
    deny_warnings: bool,
    /// Leave out the warnings and notes of a code, such as PM0124: they are meant; may be given several times
    #[arg(long, value_name = "CODE", value_parser = code)]
    accept: Vec<String>,
    /// Explain a diagnostic code, such as PM0103
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
        let mut checked: Vec<Checked> =
            self.paths.iter().flat_map(|path| input::read(path)).map(load::check).collect();
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

/// A code that there is, in whatever case it is written.
fn code(text: &str) -> Result<String, String> {
    let code = text.to_uppercase();
    if pages::page(&code).is_some() {
        return Ok(code);
    }
    let near = pages::nearest(&code).map(|it| format!(": did you mean {it}?"));
    Err(format!("there is no diagnostic code {text}{}", near.unwrap_or_default()))
}

fn explain(code: &str) -> Outcome {
    if let Some(page) = pages::page(code) {
        terminal::say(page);
        return Outcome::Clean;
    }
    let hint = pages::nearest(code).map(|near| format!("did you mean {near}?"));
    let shown = pemdas_core::text::shorten(code);
    could_not_run(&format!("there is no diagnostic code {shown:?}"), hint.as_deref())
}
