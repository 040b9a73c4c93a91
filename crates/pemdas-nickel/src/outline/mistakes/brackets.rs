//! Brackets that stay open, or close nothing.

use pemdas_core::diagnostic::{Diagnostic, Label, Span};

use super::syntax::{line, say};
use crate::engine::pieces::Piece;

/// An opening bracket.
#[derive(Clone, Copy)]
struct Open {
    at: usize,
    closes: &'static str,
    /// How far its line is indented.
    indent: usize,
}

/// Says which bracket it is; whether one was found.
pub(super) fn explain(diagnostic: &mut Diagnostic, text: &str, all: &[Piece<'_>], at: usize) -> bool {
    let mut open: Vec<Open> = Vec::new();
    let mut suspect = None;
    for piece in all.iter().filter(|it| !it.quoted && it.start <= at) {
        match closing(piece.text) {
            Some(closes) => open.push(Open { at: piece.start, closes, indent: indent(text, piece.start) }),
            None if matches!(piece.text, "}" | "]" | ")") => {
                let Some(last) = open.pop() else {
                    return extra(diagnostic, piece.text);
                };
                if last.closes != piece.text {
                    return unclosed(diagnostic, text, last, Some(piece.start));
                }
                // A bracket that closes further left than its opening line begins probably closes an earlier one: another is missing.
                if begins_its_line(text, piece.start)
                    && indent(text, piece.start) < last.indent
                    && suspect.is_none()
                {
                    suspect = Some((last, piece.start));
                }
            }
            None => {}
        }
    }
    if diagnostic.message.starts_with("unmatched closing brace") {
        return extra(diagnostic, "}");
    }
    if !diagnostic.message.starts_with("unexpected end of file") {
        return false;
    }
    match (suspect, open.last()) {
        (Some((bracket, end)), Some(_)) => unclosed(diagnostic, text, bracket, Some(end)),
        (None, Some(last)) => unclosed(diagnostic, text, *last, None),
        _ => false,
    }
}

fn closing(text: &str) -> Option<&'static str> {
    match text {
        "{" | "%{" => Some("}"),
        "[" => Some("]"),
        "(" => Some(")"),
        _ => None,
    }
}

fn indent(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    let line = text.get(before.rfind('\n').map_or(0, |it| it + 1)..).unwrap_or_default();
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

fn begins_its_line(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    before.rsplit('\n').next().is_some_and(|it| it.trim().is_empty())
}

fn extra(diagnostic: &mut Diagnostic, text: &str) -> bool {
    let opens = match text {
        "]" => "[",
        ")" => "(",
        _ => "{",
    };
    say(
        diagnostic,
        &format!("this `{text}` closes nothing"),
        &format!("remove it, or add the `{opens}` that it closes"),
    )
}

/// The bracket that stays open, and where it was to be closed.
fn unclosed(diagnostic: &mut Diagnostic, text: &str, open: Open, end: Option<usize>) -> bool {
    let Some(file) = diagnostic.labels.first().map(|it| it.span.file.clone()) else { return false };
    let sign = text.get(open.at..=open.at).unwrap_or("{").replace('%', "%{");
    let label = |at: usize, message: String, primary: bool| {
        let start = u32::try_from(at).unwrap_or(u32::MAX);
        let span = Span { file: file.clone(), start, end: start.saturating_add(1) };
        Label { span, message, primary }
    };
    let wanted = format!("a `{}` is missing before this", open.closes);
    diagnostic.labels = vec![label(open.at, "opened here".to_owned(), true)];
    diagnostic.labels.extend(end.map(|end| label(end, wanted, false)));
    let before =
        end.map_or_else(|| "at the end".to_owned(), |end| format!("before line {}", line(text, end)));
    let message = format!("the `{sign}` of line {} is not closed", line(text, open.at));
    say(diagnostic, &message, &format!("add `{}` {before}", open.closes))
}
