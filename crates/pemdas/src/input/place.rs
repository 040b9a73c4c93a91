//! Where a file of a blueprint is found by people: a file of its own, or some lines of a manifest.

/// Where a file of a blueprint stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file on disk.
    pub(crate) path: String,
    /// What to call it in messages; differs from the path within a manifest.
    pub(crate) title: String,
    /// How many lines stand before it, and how far it is indented; none if that is not known.
    pub(crate) offset: Option<(usize, usize)>,
}

/// A position for people: both from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    /// The line.
    pub(crate) line: usize,
    /// The column.
    pub(crate) column: usize,
}

impl Place {
    /// A file of its own.
    pub(crate) fn file(path: impl Into<String>) -> Self {
        let path = path.into();
        Self { title: path.clone(), path, offset: Some((0, 0)) }
    }

    /// The position of a byte of the blueprint's file in the file on disk.
    pub(crate) fn position(&self, text: &str, byte: u32) -> Option<Position> {
        let (lines, indent) = self.offset?;
        let Position { line, column } = position(text, byte);
        Some(Position { line: line + lines, column: column + indent })
    }
}

/// The position of a byte in a text; beyond its end, the end.
pub(crate) fn position(text: &str, byte: u32) -> Position {
    let mut byte = usize::try_from(byte).unwrap_or(usize::MAX).min(text.len());
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    let before = &text[..byte];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Position { line, column }
}
