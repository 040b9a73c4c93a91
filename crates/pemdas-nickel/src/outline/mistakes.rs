//! What an author probably meant, where the evaluator only says what it cannot read: a comma that is missing, `:` where Nickel has
//! `=`, a string of YAML or of another template language, a bracket that stays open.

mod brackets;
mod names;
mod syntax;

use pemdas_core::diagnostic::Diagnostic;

pub(super) use names::unbound_name;

use crate::codes;
use crate::sources::Sources;

fn same_place(one: &Diagnostic, other: &Diagnostic) -> bool {
    let place = |it: &Diagnostic| it.labels.first().map(|it| it.span.clone());
    place(one) == place(other)
}

/// Says it better, where it can be said better.
pub(super) fn explain(diagnostics: &mut Vec<Diagnostic>, sources: &Sources) {
    let mut understood = Vec::new();
    for diagnostic in diagnostics.iter_mut() {
        let Some(span) = diagnostic.labels.first().map(|it| it.span.clone()) else { continue };
        let text = sources.get(&span.file).unwrap_or_default();
        let (start, end) = (span.start as usize, span.end as usize);
        match diagnostic.code.as_str() {
            codes::SYNTAX => {
                if syntax::explain(diagnostic, text, start) {
                    understood.push((span.file, start));
                }
            }
            codes::TYPES => names::unbound(diagnostic, text, start, end),
            codes::IMPORT => names::import(diagnostic, sources),
            codes::RECURSION => names::recursion(diagnostic, text, start, end),
            codes::CONTRACT => names::field(diagnostic, text, start),
            super::codes::UNKNOWN_CLAUSE => names::clause(diagnostic),
            _ => names::string(diagnostic, text, start, end),
        }
    }
    // The lint knows better what is wrong with a field that is defined by itself.
    let itself: Vec<_> =
        diagnostics.iter().filter(|it| it.code == super::codes::SELF_REFERENCE).cloned().collect();
    diagnostics.retain(|it| it.code != codes::RECURSION || itself.iter().all(|other| !same_place(it, other)));
    // Where the parser goes on behind a mistake that is understood, it mostly stumbles over the same again.
    diagnostics.retain(|it| {
        let Some(label) = it.labels.first().filter(|_| it.code == codes::SYNTAX) else { return true };
        let at = (label.span.file.as_str(), label.span.start as usize);
        let is_first = |(file, start): &(String, usize)| file != at.0 || *start >= at.1;
        it.hint.is_some() || understood.iter().all(is_first)
    });
}
