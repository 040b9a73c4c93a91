//! From the files of a blueprint to everything that is known of it: the place where the evaluator, the graphs and
//! the Kubernetes types meet.

use pemdas_core::{
    blueprint::Blueprint,
    diagnostic::{Diagnostic, Severity},
    graph::Graph,
};

use pemdas_nickel::kinds::Drafts;
use pemdas_nickel::{Loaded, Renderer, Sources};

use crate::{
    input::Given,
    workers::{self, Evaluation, Pace},
};

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
pub(crate) fn check(given: Given) -> Checked {
    check_and_draft(given).0
}

/// Looks at a blueprint; the definitions of its kinds are drafted as well.
pub(crate) fn check_and_draft(given: Given) -> (Checked, Drafts) {
    let (checked, drafts, _) = load(given);
    (checked, drafts)
}

/// Looks at a blueprint and keeps what answers for its functions.
pub(crate) fn check_and_keep(given: Given) -> (Checked, Option<Renderer<Evaluation>>) {
    let (checked, _, renderer) = load(given);
    (checked, renderer)
}

fn load(mut given: Given) -> (Checked, Drafts, Option<Renderer<Evaluation>>) {
    let mut diagnostics = std::mem::take(&mut given.diagnostics);
    if given.unreadable {
        return (Checked { given, blueprint: None, graph: None, diagnostics }, Drafts::default(), None);
    }
    let sources = given.files.iter().fold(Sources::new(), |sources, (name, text)| sources.with(name, text));
    let Loaded { renderer, blueprint, graph, drafts, diagnostics: problems } =
        workers::load(&sources, Pace::Usual);
    diagnostics.extend(problems);
    tidy(&mut diagnostics);
    (Checked { given, blueprint, graph, diagnostics }, drafts, renderer)
}

/// In the order of the files; of two that say the same of the same place, one.
pub(crate) fn tidy(diagnostics: &mut Vec<Diagnostic>) {
    let place = |it: &Diagnostic| it.labels.first().map(|label| label.span.clone());
    diagnostics.sort_by(|a, b| (place(a), &a.code, &a.message).cmp(&(place(b), &b.code, &b.message)));
    diagnostics.dedup();
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pemdas_core::{diagnostic::Severity, graph::codes};

    use super::{Checked, check};
    use crate::{
        input::{Given, MAIN, Place},
        pages,
    };

    fn checked(source: &str) -> Checked {
        let mut given = Given { title: "page".to_owned(), ..Given::default() };
        given.files.insert(MAIN.to_owned(), source.to_owned());
        given.places.insert(MAIN.to_owned(), Place::file(MAIN));
        check(given)
    }

    /// The blocks of Nickel in a page.
    fn samples(page: &str) -> Vec<&str> {
        page.split("```nickel\n").skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
    }

    #[test]
    fn the_example_of_a_page_gives_its_code_and_the_mended_one_is_clean() {
        for code in codes::ALL {
            let page = pages::page(code).expect("a page");
            let [wrong, mended] = samples(page)[..] else { panic!("{code} wants two samples") };
            let said =
                |it: &Checked| it.diagnostics.iter().map(|it| it.code.clone()).collect::<BTreeSet<_>>();
            assert!(said(&checked(wrong)).contains(code), "{code}: {:#?}", checked(wrong).diagnostics);
            let mended = checked(mended);
            let clean =
                mended.worst().is_none_or(|worst| worst == Severity::Note) && !said(&mended).contains(code);
            assert!(clean, "{code}, mended: {:#?}", mended.diagnostics);
        }
    }
}
