//! Diagnostics for people and programs.

mod canvas;
pub(crate) mod crds;
pub(crate) mod github;
pub(crate) mod json;
pub(crate) mod sarif;
pub(crate) mod text;

#[cfg(test)]
mod tests;

use pemdas_core::diagnostic::{Severity, Span};
use serde_json::Value;

use crate::{input::Position, load::Checked};

/// The places of a span in the file on disk; without positions where these are not known.
pub(crate) fn whereabouts<'a>(
    checked: &'a Checked,
    span: &Span,
) -> Option<(&'a str, Option<(Position, Position)>)> {
    let place = checked.given.places.get(&span.file)?;
    let text = checked.given.files.get(&span.file)?;
    let both = place.position(text, span.start).zip(place.position(text, span.end));
    Some((&place.path, both))
}

/// How a severity is called.
pub(crate) fn name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// Objects as kubectl names them: `deployment.apps/web`, each in a line of its own.
pub(crate) fn names(objects: &[Value]) -> String {
    let line = |it: &Value| {
        let text = |at: &str| it.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
        object_name(text("/kind"), group, text("/metadata/name"))
    };
    objects.iter().map(line).collect()
}

/// One such line.
pub(crate) fn object_name(kind: &str, group: &str, name: &str) -> String {
    let dot = if group.is_empty() { "" } else { "." };
    format!("{}{dot}{group}/{name}\n", kind.to_lowercase())
}
