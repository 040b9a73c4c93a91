//! What is written on edges: shapes in few words, and functions as their authors wrote them.

use std::collections::BTreeMap;

use pemdas_core::{diagnostic::Span, graph::SequenceLink};

/// How many characters a label has at most.
const MAX_LABEL: usize = 44;

/// The shape of an edge: in few words where it is data, as written where it is a function.
pub(super) fn until(link: &SequenceLink, sources: &BTreeMap<String, String>) -> Option<String> {
    let said = link.until.as_ref()?;
    match &link.until_span {
        Some(span) if said.starts_with("a computed") || said.starts_with("a contract") => {
            Some(function(span, sources))
        }
        _ => Some(cut(said)),
    }
}

/// A function as it is written, without its head: `fun the => x` is `x`.
pub(super) fn function(span: &Span, sources: &BTreeMap<String, String>) -> String {
    let range = span.start as usize..span.end as usize;
    let text = sources.get(&span.file).and_then(|text| text.get(range)).unwrap_or("...");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let body = match text.split_once("=>") {
        Some((head, body)) if head.starts_with("fun ") => body.trim(),
        _ => text.trim(),
    };
    let body = body.trim_start_matches('(').trim_end_matches(')');
    let inner = body.strip_prefix('{').and_then(|it| it.strip_suffix('}')).map_or(body, str::trim);
    cut(inner)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_LABEL) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
    }
}
