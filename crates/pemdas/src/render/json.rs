//! Diagnostics for programs. The form has a version: it grows, and what is there keeps its meaning.

use pemdas_core::diagnostic::{Diagnostic, Severity};
use serde_json::{Value, json};

use super::{name, whereabouts};
use crate::load::Checked;

/// The version of the form.
const VERSION: u32 = 1;

/// All blueprints and a summary.
pub(crate) fn blueprints(all: &[Checked]) -> String {
    let count = |severity| all.iter().map(|it| it.count(severity)).sum::<usize>();
    let document = json!({
        "version": VERSION,
        "blueprints": all.iter().map(blueprint).collect::<Vec<_>>(),
        "summary": {
            "errors": count(Severity::Error),
            "warnings": count(Severity::Warning),
            "notes": count(Severity::Note),
        },
    });
    format!("{document:#}\n")
}

fn blueprint(checked: &Checked) -> Value {
    json!({
        "path": checked.given.title,
        "name": checked.blueprint.as_ref().map(|it| &it.name),
        "readable": !checked.given.unreadable,
        "diagnostics": checked.diagnostics.iter().map(|it| diagnostic(checked, it)).collect::<Vec<_>>(),
    })
}

fn diagnostic(checked: &Checked, it: &Diagnostic) -> Value {
    let labels: Vec<_> = it
        .labels
        .iter()
        .map(|label| {
            let (path, positions) = whereabouts(checked, &label.span).unwrap_or((&label.span.file, None));
            let position = |it: crate::input::Position| json!({ "line": it.line, "column": it.column });
            json!({
                "path": path,
                "file": label.span.file,
                "bytes": [label.span.start, label.span.end],
                "start": positions.map(|(start, _)| position(start)),
                "end": positions.map(|(_, end)| position(end)),
                "primary": label.primary,
                "message": label.message,
            })
        })
        .collect();
    json!({
        "code": it.code,
        "severity": name(it.severity),
        "message": it.message,
        "labels": labels,
        "notes": it.notes,
        "hint": it.hint,
    })
}
