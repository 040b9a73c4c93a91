//! `pemdas graph`: both graphs of a blueprint, drawn.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pemdas_core::diagnostic::Severity;

use super::{
    Outcome, one_blueprint,
    plan::{self, Of},
};
use crate::{
    draw::{self, Graphs, Picture},
    load, render,
    terminal::{self, Colour},
};

/// Draw both graphs of a blueprint: what needs what, and what comes after what
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 drawn, 1 the blueprint has errors (on standard error), 2 it cannot be read, or the instance has no plan."
)]
pub(super) struct Graph {
    /// The blueprint: a directory with a main.ncl, an .ncl file, a manifest with a ConfigMap, or - for standard input
    #[arg(value_name = "PATH", default_value = ".")]
    path: PathBuf,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    /// Only the Also graph: what needs what
    #[arg(long, conflicts_with = "sequence")]
    also: bool,
    /// Only the Sequence graph: what comes after what
    #[arg(long)]
    sequence: bool,
    #[command(flatten)]
    of: Of,
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
        if self.of.instance.is_some() || self.of.observed.is_some() {
            return self.run_of_instance(colour);
        }
        let given = match one_blueprint(&self.path, "keep the one to draw in a file of its own") {
            Ok(given) => given,
            Err(outcome) => return outcome,
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
        self.draw(picture, colour);
        if troubled { Outcome::Problems } else { Outcome::Clean }
    }

    /// Draws one instance in the colours of its plan.
    fn run_of_instance(&self, colour: Colour) -> Outcome {
        let planned = match plan::planned(&self.path, &self.of, false, colour) {
            Ok(planned) => planned,
            Err(outcome) => return outcome,
        };
        let (Some(blueprint), Some(graph)) = (&planned.checked.blueprint, &planned.checked.graph) else {
            return Outcome::CouldNotRun;
        };
        let picture = Picture::of(blueprint, graph, &planned.checked.given.files).of_plan(&planned);
        self.draw(picture, colour);
        Outcome::Clean
    }

    fn graphs(&self) -> Graphs {
        match (self.also, self.sequence) {
            (true, _) => Graphs::Also,
            (_, true) => Graphs::Sequence,
            _ => Graphs::Both,
        }
    }

    fn draw(&self, picture: Picture, colour: Colour) {
        let picture = &picture.only(self.graphs());
        match self.output {
            Format::Text => terminal::say(&draw::text::picture(picture, colour.on_stdout())),
            Format::Dot => terminal::hand_over(&draw::dot::picture(picture)),
            Format::Mermaid => terminal::hand_over(&draw::mermaid::picture(picture)),
            Format::Svg => terminal::hand_over(&draw::svg::picture(picture)),
            Format::Json => terminal::hand_over(&draw::json::picture(picture)),
        }
    }
}
