//! `pemdas crds`: the definitions of a blueprint's kinds, and how they compare with others.

mod against;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pemdas_core::crd::{Gap, codes, definition, lints};
use pemdas_core::diagnostic::{Diagnostic, Severity};
use pemdas_nickel::kinds::Drafts;
use serde_json::Value;

use super::Outcome;
use super::cluster::Cluster;
use crate::load::{self, Checked};
use crate::{
    input, render,
    terminal::{self, Colour},
};
pub(crate) use against::Compared;
use against::{Against, Others};

/// Print the CRDs of a blueprint's kinds, drafted from their contracts
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 drafted, 1 errors in the blueprint or a breaking change without a new version, 2 something cannot be read."
)]
pub(super) struct Crds {
    /// The blueprint: a directory with a main.ncl, an .ncl file, a manifest with ConfigMaps, or - for standard input
    #[arg(value_name = "PATH", default_value = ".")]
    path: PathBuf,
    /// The form of the output
    #[arg(short, long, value_enum)]
    output: Option<Format>,
    /// Compare with existing CRDs: which changes are safe, and which need a new version, a conversion or a new kind. `cluster`
    /// means the CRDs of the cluster (a file of that name is ./cluster)
    #[arg(long, value_name = "FILE|cluster", value_parser = |said: &str| Ok::<_, String>(Against::from(said)))]
    against: Option<Against>,
    /// Report field by field what only the contract checks, and with --against, what only the given CRD checks
    #[arg(long)]
    gap: bool,
    /// Leave out the advice on the design of the kinds
    #[arg(long)]
    no_advice: bool,
    #[command(flatten)]
    cluster: Cluster,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// CRDs to apply; reports as text
    Yaml,
    /// For programs
    Json,
    /// One TYPE/NAME a line, as kubectl prints and reads it; reports as text
    Name,
}

/// A blueprint and what its kinds become.
struct Drafted {
    checked: Checked,
    drafts: Drafts,
    definitions: Vec<Value>,
    understood: bool,
}

/// All that is found, to be shown in one of the forms.
#[derive(Default)]
struct Found {
    definitions: Vec<Value>,
    gaps: Vec<Gap>,
    compared: Vec<Compared>,
    /// Whether there is a blueprint to report on.
    understood: bool,
}

impl Crds {
    pub(super) fn run(&self, colour: Colour) -> Outcome {
        let drafted: Vec<Drafted> = input::read(&self.path).into_iter().map(Drafted::of).collect();
        let others = match self.others(&drafted) {
            Ok(others) => others,
            Err(outcome) => return outcome,
        };
        let mut found = Found::default();
        let mut outcome = Outcome::Clean;
        for mut one in drafted {
            found.understood |= one.understood;
            found.gaps.append(&mut one.drafts.gaps);
            if let Some(others) = &others {
                for (kind, value) in one.drafts.kinds.iter().zip(&one.definitions) {
                    let (compared, gaps, told) = others.compare(kind, value);
                    found.compared.push(compared);
                    found.gaps.extend(gaps);
                    one.checked.diagnostics.extend(told);
                }
            }
            if !self.no_advice {
                one.checked.diagnostics.extend(advice(&one.drafts));
            }
            load::tidy(&mut one.checked.diagnostics);
            outcome = outcome.max(told(&one.checked, colour));
            found.definitions.append(&mut one.definitions);
        }
        let for_people = self.output != Some(Format::Json) && (self.gap || self.against.is_some());
        let say = if for_people { terminal::say } else { terminal::hand_over };
        say(&self.shown(&found));
        outcome
    }

    /// The definitions to compare with, if that is asked for.
    fn others(&self, drafted: &[Drafted]) -> Result<Option<Others>, Outcome> {
        let name = |definition: &Value| {
            definition.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned)
        };
        let names: Vec<String> = drafted.iter().flat_map(|one| &one.definitions).filter_map(name).collect();
        self.against.as_ref().map(|against| against.read(&self.cluster, &names)).transpose()
    }

    fn shown(&self, found: &Found) -> String {
        let Found { definitions, gaps, compared, understood } = found;
        let json = self.output == Some(Format::Json);
        match (self.gap, self.against.is_some()) {
            (true, _) if json => render::crds::gaps_json(gaps),
            // "Nothing" would be said of something that could not be read.
            (true, _) if !understood => String::new(),
            (true, _) => render::crds::gaps_text(gaps),
            (false, true) if json => render::crds::changes_json(compared),
            (false, true) => render::crds::changes_text(compared),
            (false, false) if json => render::crds::definitions_json(definitions),
            (false, false) if self.output == Some(Format::Name) => render::names(definitions),
            (false, false) => render::crds::definitions_yaml(definitions),
        }
    }
}

impl Drafted {
    fn of(given: input::Given) -> Self {
        let (checked, mut drafts) = load::check_and_draft(given);
        let understood = is_understood(&checked);
        if !understood {
            drafts = Drafts::default();
        }
        let definitions = drafts.kinds.iter().map(definition).collect();
        Self { checked, drafts, definitions, understood }
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
