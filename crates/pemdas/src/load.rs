//! From the files of a blueprint to everything that is known of it: the place where the evaluator, the graphs and
//! the Kubernetes types meet.

use pemdas_core::{
    blueprint::Blueprint,
    diagnostic::{Diagnostic, Severity},
    graph::Graph,
};

use pemdas_nickel::{Limits, Sources, outline};

use crate::input::Given;

/// A blueprint that was looked at.
pub(crate) struct Checked {
    /// What was given.
    pub(crate) given: Given,
    /// The blueprint, as far as it was understood.
    pub(crate) blueprint: Option<Blueprint>,
    /// Its graphs.
    pub(crate) graph: Option<Graph>,
    /// What is wrong with it.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Checked {
    /// How bad the worst problem is.
    pub(crate) fn worst(&self) -> Option<Severity> {
        self.diagnostics.iter().map(|it| it.severity).min()
    }

    /// How many problems are so bad.
    pub(crate) fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|it| it.severity == severity).count()
    }
}

/// Looks at a blueprint.
pub(crate) fn check(mut given: Given) -> Checked {
    let mut diagnostics = std::mem::take(&mut given.diagnostics);
    if given.unreadable {
        return Checked { given, blueprint: None, graph: None, diagnostics };
    }
    let (blueprint, problems) = outline(&given);
    diagnostics.extend(problems);
    let graph = blueprint.as_ref().map(|blueprint| {
        let (graph, problems) = Graph::of(blueprint);
        diagnostics.extend(problems);
        graph
    });
    tidy(&mut diagnostics);
    Checked { given, blueprint, graph, diagnostics }
}

/// In the order of the files; of two that say the same of the same place, one.
fn tidy(diagnostics: &mut Vec<Diagnostic>) {
    let place = |it: &Diagnostic| it.labels.first().map(|label| label.span.clone());
    diagnostics.sort_by(|a, b| (place(a), &a.code, &a.message).cmp(&(place(b), &b.code, &b.message)));
    diagnostics.dedup();
}

/// What the evaluator makes of the files.
fn outline(given: &Given) -> (Option<Blueprint>, Vec<Diagnostic>) {
    let sources = given.files.iter().fold(Sources::new(), |sources, (name, text)| sources.with(name, text));
    let (_, outline) = outline::load(&sources, &Limits::default());
    (outline.blueprint, outline.diagnostics)
}
