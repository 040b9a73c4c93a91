//! What diagnostics are drawn on: text as it is, and colours that are known to be ours.

use std::io;

use codespan_reporting::term::termcolor::{Ansi, ColorSpec, WriteColor};

use crate::terminal::{Style, ours};

/// A drawing in memory.
pub(super) struct Canvas {
    drawn: Vec<u8>,
    style: Style,
}

impl Canvas {
    pub(super) fn new(style: Style) -> Self {
        Self { drawn: Vec::new(), style }
    }

    pub(super) fn write(&mut self, text: &str) {
        self.drawn.extend(text.as_bytes());
    }

    /// What was drawn, to be printed.
    pub(super) fn text(self) -> String {
        String::from_utf8_lossy(&self.drawn).into_owned()
    }

    /// Writes the codes of a terminal, if there is colour.
    fn codes(&mut self, write: impl FnOnce(&mut Ansi<Vec<u8>>) -> io::Result<()>) -> io::Result<()> {
        if self.style.colour {
            let mut codes = Ansi::new(Vec::new());
            write(&mut codes)?;
            self.write(&ours(&String::from_utf8_lossy(&codes.into_inner())));
        }
        Ok(())
    }
}

impl io::Write for Canvas {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.drawn.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WriteColor for Canvas {
    fn supports_color(&self) -> bool {
        self.style.colour
    }

    fn set_color(&mut self, spec: &ColorSpec) -> io::Result<()> {
        self.codes(|it| it.set_color(spec))
    }

    fn reset(&mut self) -> io::Result<()> {
        self.codes(WriteColor::reset)
    }
}
