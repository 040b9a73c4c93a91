//! Failures of evaluation in the words of the language: the library's own messages, codes and hints brought to the
//! top, and a place in the author's files even where the evaluator knows none.

use pemdas_core::diagnostic::{Diagnostic, Span};

use super::codes;
use super::mistakes::unbound_name;
use crate::library::is_library_file;
use crate::request::Failure;
use crate::sources::Sources;

/// How a note of the library names the page that explains it.
const EXPLAIN: &str = "pemdas check --explain ";
/// How a note of the library says what to do.
const HINT: &str = "hint: ";
/// The names that a function of `the` sees, for an author who left `the` out.
const INPUTS: [&str; 5] = ["the", "root", "self", "seed", "each"];

/// The diagnostics of a failure that has to do with `place`.
pub(super) fn diagnostics(failure: &Failure, place: &Span) -> Vec<Diagnostic> {
    failure.diagnostics().into_iter().map(|diagnostic| placed(readable(diagnostic), place)).collect()
}

/// The diagnostics of a blueprint that could not be loaded.
pub(super) fn of_loading(failure: &Failure, sources: &Sources) -> Vec<Diagnostic> {
    let mut told: Vec<Diagnostic> = failure.diagnostics().into_iter().map(readable).collect();
    for diagnostic in &mut told {
        missing_the(diagnostic, sources);
    }
    told
}

/// Takes code and hint out of the notes, and drops what speaks of the inside of the library.
fn readable(mut diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.labels.retain(|label| !is_library_file(&label.span.file));
    let mut code = None;
    let mut hint = None;
    diagnostic.notes.retain(|note| {
        if let Some(rest) = note.strip_prefix(EXPLAIN) {
            code = rest.split_whitespace().next().map(str::to_owned);
            return false;
        }
        if let Some(text) = note.strip_prefix(HINT) {
            hint = Some(text.to_owned());
            return false;
        }
        true
    });
    let mut lines = diagnostic.message.lines().map(str::trim);
    let first = lines.next().unwrap_or_default().to_owned();
    let rest = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    if let Some(code) = code {
        diagnostic.code = code;
        diagnostic.notes.retain(|note| !note.starts_with("evaluated to this value"));
        diagnostic.labels.iter_mut().for_each(|label| {
            if label.message == "applied to this expression" {
                label.message.clear();
            }
        });
    }
    if !rest.is_empty() {
        diagnostic.message = rest;
    } else {
        diagnostic.message = first;
    }
    if diagnostic.message.contains("non mergeable terms") {
        code_of_merge(&mut diagnostic);
    }
    if hint.is_some() {
        diagnostic.hint = hint;
    }
    diagnostic
}

fn code_of_merge(diagnostic: &mut Diagnostic) {
    codes::MERGE_CONFLICT.clone_into(&mut diagnostic.code);
    let types = |note: &String| {
        note.starts_with("One value is of type") && note.contains("Record") && note.contains("Array")
    };
    if diagnostic.notes.iter().any(types) {
        "a field is a list here and a record there".clone_into(&mut diagnostic.message);
        diagnostic.hint = Some(
            "choose one form: the edges `before = [\"a\"]` and `before.a = {}` mean the same".to_owned(),
        );
        return;
    }
    "a field has two different values, and neither gives way to the other"
        .clone_into(&mut diagnostic.message);
    diagnostic.hint = Some(
        "write `| default` on the one that may be overridden, or `| force` on the one that overrides"
            .to_owned(),
    );
}

/// Makes sure that the place to mend is one of the author's.
fn placed(mut diagnostic: Diagnostic, place: &Span) -> Diagnostic {
    if diagnostic.labels.is_empty() {
        return diagnostic.at(place.clone(), "");
    }
    if !diagnostic.labels.iter().any(|label| label.primary)
        && let Some(first) = diagnostic.labels.first_mut()
    {
        first.primary = true;
    }
    diagnostic
}

/// An unbound `the` or `root` is most often a clause that should be a function.
fn missing_the(diagnostic: &mut Diagnostic, sources: &Sources) {
    let Some(name) = unbound_name(diagnostic) else { return };
    if !INPUTS.contains(&name.as_str()) {
        return;
    }
    let follows_dot = diagnostic.labels.first().is_some_and(|label| {
        let text = sources.get(&label.span.file).unwrap_or_default();
        text.get(label.span.end as usize..).is_some_and(|rest| rest.starts_with('.'))
    });
    if name == "the" {
        codes::MISSING_THE.clone_into(&mut diagnostic.code);
        "`the` is read outside of a function of it".clone_into(&mut diagnostic.message);
        diagnostic.hint = Some("a clause that reads its inputs is a function: `fun the => ...`".to_owned());
    } else if follows_dot || name == "seed" {
        codes::MISSING_THE.clone_into(&mut diagnostic.code);
        diagnostic.message = format!("`{name}` is not bound here");
        diagnostic.hint = Some(format!("write `the.{name}`, in a function `fun the => ...`"));
    }
}
