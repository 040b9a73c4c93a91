//! What is wrong when names are taken out of a record that does not have them: `let { Nta, .. } = import "pemdas/v1.ncl"`.

use nickel_lang_core::eval::value::{Container, NickelValue, ValueContentRef};
use nickel_lang_core::position::{PosIdx, PosTable};
use pemdas_core::diagnostic::{Diagnostic, Span};
use pemdas_core::suggest;

use super::Engine;
use crate::codes;

/// How many names are listed where none is near.
const LISTED: usize = 60;

impl Engine {
    /// The names that are not there, one diagnostic each; empty if it failed for another reason.
    pub(super) fn missing_names(
        &self,
        value: &NickelValue,
        pattern: PosIdx,
        table: &PosTable,
    ) -> Vec<Diagnostic> {
        let ValueContentRef::Record(Container::Alloc(data)) = value.content_ref() else { return Vec::new() };
        let known: Vec<&str> = data.fields.keys().map(|name| name.label()).collect();
        let Some(raw) = table.get(pattern).into_opt() else { return Vec::new() };
        let Some(span) = self.files.span(raw) else { return Vec::new() };
        let source = self.ctx.import_resolver.sources.files.source(raw.src_id);
        let text = source.get(raw.start.0 as usize..raw.end.0 as usize).unwrap_or_default();
        let missing = names_of(text).into_iter().filter(|(_, name)| !known.contains(name));
        missing
            .map(|(offset, name)| {
                let start = span.start + u32::try_from(offset).unwrap_or_default();
                let end = start + u32::try_from(name.len()).unwrap_or_default();
                let at = Span { file: span.file.clone(), start, end };
                let message = format!("there is no `{}` to take out of this record", self.bounded(name));
                let told = Diagnostic::error(codes::MISSING_FIELD, message).at(at, "");
                match suggest::closest(name, known.iter().copied()) {
                    Some(near) => told.hint(format!("did you mean `{near}`?")),
                    None => told.hint(format!("there are: {}", listed(&known))),
                }
            })
            .collect()
    }
}

fn listed(names: &[&str]) -> String {
    let mut names = names.to_vec();
    names.sort_unstable();
    let more = if names.len() > LISTED { ", ..." } else { "" };
    names.truncate(LISTED);
    format!("{}{more}", names.join(", "))
}

/// The names that a record pattern wants, and where they stand in it. Those with a default may be missing.
fn names_of(pattern: &str) -> Vec<(usize, &str)> {
    let mut names = Vec::new();
    let mut depth = 0_u32;
    let mut start = 0;
    let mut parts = Vec::new();
    for (at, letter) in pattern.char_indices() {
        match letter {
            '{' | '[' | '(' => {
                depth += 1;
                if depth == 1 {
                    start = at + 1;
                }
            }
            '}' | ']' | ')' => {
                if depth == 1 {
                    parts.push((start, at));
                }
                depth = depth.saturating_sub(1);
            }
            ',' if depth == 1 => {
                parts.push((start, at));
                start = at + 1;
            }
            _ => {}
        }
    }
    for (start, end) in parts {
        let part = pattern.get(start..end).unwrap_or_default();
        let trimmed = part.trim_start();
        let offset = start + (part.len() - trimmed.len());
        let name =
            trimmed.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-' || c == '\'')).next();
        if let Some(name) = name.filter(|name| !name.is_empty())
            && !part.contains('?')
        {
            names.push((offset, name));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::names_of;

    #[test]
    fn names_are_found_where_they_stand() {
        let names = |text| names_of(text).into_iter().map(|(_, name)| name).collect::<Vec<_>>();
        assert_eq!(names("{ Blueprint, Int, .. }"), ["Blueprint", "Int"]);
        assert_eq!(names("{ a = { b, c }, d | Number, e ? 3 }"), ["a", "d"]);
        assert_eq!(names("{\n  A,\n  B,\n  ..\n}"), ["A", "B"]);
        assert_eq!(names_of("{ A, B }")[1], (5, "B"));
    }
}
