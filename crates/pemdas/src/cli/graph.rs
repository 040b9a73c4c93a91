//! `pemdas graph`: both graphs of a blueprint, drawn.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pemdas_core::diagnostic::Severity;

use super::{Outcome, could_not_run};
use crate::{
    draw::{self, Picture},
    input, load, render,
    terminal::{self, Colour},
};

/// Draw both graphs of a blueprint: what is needed, and what comes after what
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 drawn, 1 drawn or not, with errors in the blueprint (on standard error), 2 it could not be read."
)]
pub(super) struct Graph {
    /// The blueprint: a directory with a main.ncl, an .ncl file, a manifest with a ConfigMap, or - for standard input
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Format {
    /// For the terminal
    #[default]
    Text,
    /// For Graphviz
    Dot,
    /// For Markdown
    Mermaid,
    /// A picture
    Svg,
    /// For programs
    Json,
}

impl Graph {
    pub(super) fn run(&self, colour: Colour) -> Outcome {
        let mut given = input::read(&self.path);
        if given.len() > 1 {
            let names: Vec<_> = given.iter().map(|it| it.title.as_str()).collect();
            let message =
                format!("{} holds {} blueprints: {}", self.path.display(), given.len(), names.join(", "));
            return could_not_run(&message, Some("keep the one to draw in a file of its own"));
        }
        let Some(given) = given.pop() else {
            return could_not_run(&format!("{} holds no blueprint", self.path.display()), None);
        };
        let checked = load::check(given);
        let troubled = checked.worst() == Some(Severity::Error);
        if troubled {
            terminal::remark(&render::text::diagnostics(&checked, colour.on_stderr()));
        }
        let (Some(blueprint), Some(graph)) = (&checked.blueprint, &checked.graph) else {
            return if checked.given.unreadable { Outcome::CouldNotRun } else { Outcome::Problems };
        };
        let picture = Picture::of(blueprint, graph, &checked.given.files);
        terminal::say(&match self.output {
            Format::Text => draw::text::picture(&picture, colour.on_stdout()),
            Format::Dot => draw::dot::picture(&picture),
            Format::Mermaid => draw::mermaid::picture(&picture),
            Format::Svg => draw::svg::picture(&picture),
            Format::Json => draw::json::picture(&picture),
        });
        if troubled { Outcome::Problems } else { Outcome::Clean }
    }
}
