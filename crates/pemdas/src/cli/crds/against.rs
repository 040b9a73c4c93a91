//! Drafts beside definitions that exist: in a file, or in a cluster.

use std::path::{Path, PathBuf};

use pemdas_core::crd::against::{self, Given};
use pemdas_core::crd::compatibility::{self, Change, Verdict};
use pemdas_core::crd::{Gap, KindDraft, codes};
use pemdas_core::diagnostic::Diagnostic;
use serde_json::Value;

use crate::cli::cluster::Cluster;
use crate::cli::{Outcome, could_not_run};
use crate::input;

/// What to compare with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Against {
    /// What the cluster has.
    Cluster,
    /// The definitions in a file.
    File(PathBuf),
}

impl From<&str> for Against {
    fn from(said: &str) -> Self {
        if said == "cluster" { Self::Cluster } else { Self::File(said.into()) }
    }
}

/// What was found in comparing a kind with a definition that exists.
pub(crate) struct Compared {
    /// The kind.
    pub(crate) kind: String,
    /// The changes; none if there is no such definition yet.
    pub(crate) changes: Option<Vec<Change>>,
}

/// Definitions that exist.
pub(super) struct Others {
    definitions: Vec<Given>,
    /// Whose they are, for messages.
    whose: &'static str,
}

impl Against {
    /// The definitions that exist, of which those of these names matter.
    pub(super) fn read(&self, cluster: &Cluster, names: &[String]) -> Result<Others, Outcome> {
        match self {
            Self::File(path) => definitions_of(path)
                .map(|definitions| Others { definitions, whose: "in the given CRD" })
                .map_err(|why| could_not_run(&why, None)),
            Self::Cluster => {
                let found = cluster
                    .ask(async |connection| pemdas_kube::crds::live::definitions(&connection, names).await)
                    .map_err(|why| why.told())?;
                let definitions = found.iter().flatten().filter_map(Given::read).collect();
                Ok(Others { definitions, whose: "in the cluster's CRD" })
            }
        }
    }
}

impl Others {
    /// Compares a draft with the definition of its kind.
    pub(super) fn compare(&self, kind: &KindDraft, drafted: &Value) -> (Compared, Vec<Gap>, Vec<Diagnostic>) {
        let mut compared = Compared { kind: kind.kind.clone(), changes: None };
        let both = Given::read(drafted).and_then(|new| {
            let same = |other: &&Given| other.kind == new.kind && other.group == new.group;
            self.definitions.iter().find(same).map(|old| (old, new.clone()))
        });
        let Some((old, new)) = both else { return (compared, Vec::new(), Vec::new()) };
        let changes = compatibility::changes(old, &new);
        let breaking = changes.iter().filter(|change| change.verdict != Verdict::Safe);
        let told = breaking.map(|change| breaks(kind, change)).collect();
        compared.changes = Some(changes);
        let mut gaps = against::gaps(&new, old, self.whose);
        for gap in &mut gaps {
            gap.span = Some(kind.span_of(Some(&gap.version), &gap.path).clone());
        }
        (compared, gaps, told)
    }
}

fn breaks(kind: &KindDraft, change: &Change) -> Diagnostic {
    let place = [change.version.as_deref().unwrap_or_default(), &change.path];
    let place = place.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    Diagnostic::error(codes::BREAKING, format!("{} {place}: {}", kind.kind, change.what))
        .at(kind.span_of(change.version.as_deref(), &change.path).clone(), change.verdict.words())
        .hint("keep this version as it is and add a new one beside it, with conversions both ways")
}

/// The definitions in a file.
fn definitions_of(path: &Path) -> Result<Vec<Given>, String> {
    let text = input::text_of(path).map_err(|problem| problem.message)?;
    let documents =
        input::yaml::values(&text).map_err(|_| format!("{} is neither YAML nor JSON", path.display()))?;
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
