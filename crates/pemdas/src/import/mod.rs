//! From manifests to a blueprint: files are read here, the core drafts, the draft is written as Nickel, and what was written is
//! evaluated before anybody gets it: it has to give the objects again.

mod comments;
mod gather;
mod helm;
mod into;
mod live;
mod prove;
mod store;
mod yaml;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use pemdas_core::diagnostic::{Diagnostic, Severity};
use pemdas_core::import::{self, Draft, Given as Object, Wishes, codes};

use crate::input::Given;
use crate::load::Checked;
use crate::render;

pub(crate) use gather::files;
pub(crate) use into::{Added, NotAdded, Under, into};
pub(crate) use live::owned;
pub(crate) use store::{Stored, store};

/// What was read: the objects, and the files for messages.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// The objects, in the order of the files.
    pub(crate) objects: Vec<Object>,
    /// The files that were read.
    pub(crate) given: Given,
    /// What is wrong with them.
    pub(crate) problems: Vec<Diagnostic>,
}

/// A blueprint that gives the objects again.
#[derive(Debug)]
pub(crate) struct Imported {
    /// What it says.
    pub(crate) draft: Draft,
    /// The main file.
    pub(crate) source: String,
    /// The instance, as YAML.
    pub(crate) instance: String,
    /// The definitions of kinds that come along, as YAML; empty if there are none.
    pub(crate) definitions: String,
}

/// The file beside a blueprint with the definitions of kinds that it uses and does not own.
pub(crate) const DEFINITIONS: &str = "crds.yaml";

/// That file, if there is one beside a blueprint.
pub(crate) fn definitions_beside(blueprint: &Path) -> Option<PathBuf> {
    let is_file = blueprint.extension().is_some_and(|it| it == "ncl");
    let folder = if is_file { blueprint.parent()? } else { blueprint };
    let file = folder.join(DEFINITIONS);
    (blueprint.exists() && file.is_file()).then_some(file)
}

/// What came of an import.
pub(crate) struct Outcome {
    /// The blueprint, if there is one.
    pub(crate) imported: Option<Imported>,
    /// What is wrong with the input, or is to be known about it.
    pub(crate) of_input: Checked,
    /// What is wrong with the blueprint.
    pub(crate) of_blueprint: Option<Checked>,
}

/// Imports what was gathered.
pub(crate) fn import(gathered: Gathered, wishes: &Wishes) -> Outcome {
    let Gathered { objects, given, mut problems } = gathered;
    let refused = |given, diagnostics| Outcome {
        imported: None,
        of_input: Checked { given, blueprint: None, graph: None, diagnostics },
        of_blueprint: None,
    };
    if problems.iter().any(|it| it.severity == Severity::Error) {
        return refused(given, problems);
    }
    let (draft, more) = import::draft(objects, wishes);
    problems.extend(more);
    let Some(draft) = draft else { return refused(given, problems) };
    let source = pemdas_nickel::print::blueprint(&draft);
    let instance = match serde_saphyr::to_string(&draft.instance()) {
        Ok(text) => text,
        Err(why) => {
            problems.push(Diagnostic::error(
                codes::NOT_THE_SAME,
                format!("the instance cannot be written: {why}"),
            ));
            return refused(given, problems);
        }
    };
    let (of_blueprint, mut lost) = prove::prove(&draft, &source);
    let definitions = match draft.definitions.as_slice() {
        [] => String::new(),
        some => render::crds::definitions_yaml(some),
    };
    lost.extend(prove::definitions(&draft, &definitions));
    if !lost.is_empty() {
        problems.extend(lost);
        return refused(given, problems);
    }
    let of_input = Checked { given, blueprint: None, graph: None, diagnostics: problems };
    Outcome {
        imported: Some(Imported { draft, source, instance, definitions }),
        of_input,
        of_blueprint: Some(of_blueprint),
    }
}
