//! `pemdas crds`: the definitions of a blueprint's kinds, and how they compare with others.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use pemdas_core::crd::against::{self, Given};
use pemdas_core::crd::compatibility::{self, Change, Verdict};
use pemdas_core::crd::{Gap, codes, definition, lints};
use pemdas_core::diagnostic::{Diagnostic, Severity};
use pemdas_nickel::kinds::Drafts;
use serde_json::Value;

use super::{Outcome, could_not_run};
use crate::load::{self, Checked};
use crate::{
    input, render,
    terminal::{self, Colour},
};

/// Draft the CustomResourceDefinitions of a blueprint's kinds from their contracts
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 drafted, 1 errors in the blueprint or a breaking change without a new version, 2 something could not be read."
)]
pub(super) struct Crds {
    /// The blueprint: a directory with a main.ncl, an .ncl file, a manifest with ConfigMaps, or - for standard input
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// The form of the output
    #[arg(short, long, value_enum)]
    output: Option<Format>,
    /// Compare with definitions that exist: which changes are safe, which need a new version, a conversion, a new kind
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Report field by field what only the contract checks, and with --against what only the given definition does
    #[arg(long)]
    gap: bool,
    /// Leave out the advice on the design of the kinds
    #[arg(long)]
    no_advice: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Definitions to apply; reports as text
    Yaml,
    /// For programs
    Json,
}

/// What was found in comparing a kind with a definition that exists.
pub(crate) struct Compared {
    /// The kind.
    pub(crate) kind: String,
    /// The changes.
    pub(crate) changes: Vec<Change>,
}

impl Crds {
    pub(super) fn run(&self, colour: Colour) -> Outcome {
        let others = match self.against.as_deref().map(definitions_of).transpose() {
            Ok(others) => others,
            Err(why) => return could_not_run(&why, None),
        };
        let (mut definitions, mut gaps, mut compared) = (Vec::new(), Vec::new(), Vec::new());
        let mut outcome = Outcome::Clean;
        for given in input::read(&self.path) {
            let (mut checked, mut drafts) = load::check_and_draft(given);
            if !is_understood(&checked) {
                drafts = Drafts::default();
            }
            let drafted: Vec<Value> = drafts.kinds.iter().map(definition).collect();
            gaps.extend(drafts.gaps.iter().cloned());
            if let Some(others) = &others {
                compare(&drafts, &drafted, others, &mut gaps, &mut compared, &mut checked);
            }
            if !self.no_advice {
                checked.diagnostics.extend(advice(&drafts));
            }
            load::tidy(&mut checked.diagnostics);
            outcome = outcome.max(told(&checked, colour));
            definitions.extend(drafted);
        }
        terminal::say(&self.shown(&definitions, &gaps, &compared));
        outcome
    }

    fn shown(&self, definitions: &[Value], gaps: &[Gap], compared: &[Compared]) -> String {
        let json = self.output == Some(Format::Json);
        match (self.gap, self.against.is_some()) {
            (true, _) if json => render::crds::gaps_json(gaps),
            (true, _) => render::crds::gaps_text(gaps),
            (false, true) if json => render::crds::changes_json(compared),
            (false, true) => render::crds::changes_text(compared),
            (false, false) if json => render::crds::definitions_json(definitions),
            (false, false) => render::crds::definitions_yaml(definitions),
        }
    }
}

/// Whether the blueprint is right apart from its definitions, which leave out what is wrong with them.
fn is_understood(checked: &Checked) -> bool {
    let of_definitions = |code: &str| codes::ALL.contains(&code);
    checked.diagnostics.iter().all(|it| it.severity != Severity::Error || of_definitions(&it.code))
}

/// Says what is wrong with a blueprint, and how bad it is.
fn told(checked: &Checked, colour: Colour) -> Outcome {
    if !checked.diagnostics.is_empty() {
        terminal::remark(&render::text::diagnostics(checked, colour.on_stderr()));
    }
    match checked.worst() {
        _ if checked.given.unreadable => Outcome::CouldNotRun,
        Some(Severity::Error) => Outcome::Problems,
        _ => Outcome::Clean,
    }
}

fn advice(drafts: &Drafts) -> Vec<Diagnostic> {
    let none = std::collections::BTreeSet::new();
    drafts
        .kinds
        .iter()
        .flat_map(|kind| lints::advice(kind, drafts.accepted.get(&kind.kind).unwrap_or(&none)))
        .collect()
}

fn compare(
    drafts: &Drafts,
    drafted: &[Value],
    others: &[Given],
    gaps: &mut Vec<Gap>,
    compared: &mut Vec<Compared>,
    checked: &mut Checked,
) {
    for (kind, value) in drafts.kinds.iter().zip(drafted) {
        let Some(new) = Given::read(value) else { continue };
        let Some(old) = others.iter().find(|other| other.kind == new.kind && other.group == new.group) else {
            continue;
        };
        gaps.extend(against::gaps(&new, old));
        let changes = compatibility::changes(old, &new);
        for change in changes.iter().filter(|change| change.verdict != Verdict::Safe) {
            let place = [change.version.as_deref().unwrap_or_default(), &change.path];
            let place = place.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
            checked.diagnostics.push(
                Diagnostic::error(codes::BREAKING, format!("{} {place}: {}", kind.kind, change.what))
                    .at(kind.span.clone(), change.verdict.words())
                    .hint(
                        "keep this version as it is and add a new one beside it, with conversions both ways",
                    ),
            );
        }
        compared.push(Compared { kind: kind.kind.clone(), changes });
    }
}

/// The definitions in a file.
fn definitions_of(path: &Path) -> Result<Vec<Given>, String> {
    let text = input::text_of(path).map_err(|problem| problem.message)?;
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text)
        .map_err(|_| format!("{} is neither YAML nor JSON", path.display()))?;
    let mut found = Vec::new();
    for document in &documents {
        let items = document.get("items").and_then(Value::as_array);
        found.extend(items.into_iter().flatten().chain([document]).filter_map(Given::read));
    }
    if found.is_empty() {
        return Err(format!("{} holds no CustomResourceDefinition", path.display()));
    }
    Ok(found)
}
