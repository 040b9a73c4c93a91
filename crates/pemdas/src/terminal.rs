//! What goes to the terminal. A reader that has gone away (`| head`) is no failure of ours.

use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;

/// Writes to standard output: the product of a command.
pub(crate) fn say(text: &str) {
    let mut out = io::stdout().lock();
    // There is nobody left to tell that there is nobody left to tell.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes to standard error: what is said about the product.
pub(crate) fn remark(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// In any case.
    Always,
    /// In no case.
    Never,
}

impl Colour {
    /// Whether text for standard output is coloured.
    pub(crate) fn on_stdout(self) -> bool {
        self.wanted(io::stdout().is_terminal())
    }

    /// Whether text for standard error is coloured.
    pub(crate) fn on_stderr(self) -> bool {
        self.wanted(io::stderr().is_terminal())
    }

    fn wanted(self, terminal: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                let refused = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|it| it == "dumb");
                terminal && !refused && !dumb
            }
        }
    }
}

/// Text with colour, or without.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    /// Whether there is any.
    pub(crate) colour: bool,
}

impl Style {
    /// In a colour, as terminals number them.
    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() && !code.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }
}
