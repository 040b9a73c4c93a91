//! Which file of the evaluator is which file of the blueprint, and spans in the author's words.

use std::collections::BTreeMap;

use nickel_lang_core::files::FileId;
use nickel_lang_core::position::{PosIdx, PosTable, RawSpan, TermPos};
use pemdas_core::diagnostic::Span;

/// The directory that all in-memory files seem to be in. No file of a machine can be below it: a file system has no name
/// with a zero byte, so a lookup that misses the in-memory files fails before it reaches the kernel.
pub(crate) const ROOT: &str = "/\0blueprint";

/// Names of the evaluator's files.
#[derive(Debug, Default)]
pub(crate) struct FileTable {
    names: BTreeMap<FileId, String>,
}

impl FileTable {
    pub(crate) fn insert(&mut self, id: FileId, name: impl Into<String>) {
        self.names.insert(id, name.into());
    }

    /// The name of a file of the blueprint or the library; none for the evaluator's own and for generated ones.
    pub(crate) fn name(&self, id: FileId) -> Option<&str> {
        self.names.get(&id).map(String::as_str)
    }

    pub(crate) fn span(&self, raw: RawSpan) -> Option<Span> {
        let name = self.name(raw.src_id)?;
        Some(Span { file: name.to_owned(), start: raw.start.0, end: raw.end.0 })
    }

    pub(crate) fn of_pos(&self, pos: TermPos) -> Option<Span> {
        match pos {
            TermPos::Original(span) | TermPos::Inherited(span) => self.span(span),
            TermPos::None => None,
        }
    }

    pub(crate) fn of_idx(&self, table: &PosTable, idx: PosIdx) -> Option<Span> {
        self.of_pos(table.get(idx))
    }
}
