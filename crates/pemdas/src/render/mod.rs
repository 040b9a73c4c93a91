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
