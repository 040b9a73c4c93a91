//! What goes to the terminal. A reader that has gone away (`| head`) is no failure of ours.
//!
//! Names, values and lines of source come from blueprints and clusters of others, so whatever a terminal would obey is
//! printed escaped. Our own colours are told apart by a mark that nobody can know who wrote the text.

use std::{
    hash::{BuildHasher as _, RandomState},
    io::{self, IsTerminal, Write},
    sync::OnceLock,
};

use clap::ValueEnum;

/// Writes to standard output what people read.
pub(crate) fn say(text: &str) {
    put(&mut io::stdout().lock(), &printable(text));
}

/// Writes to standard output what programs read: as it is, unless it is a terminal that shows it.
pub(crate) fn hand_over(text: &str) {
    let mut out = io::stdout().lock();
    if out.is_terminal() {
        put(&mut out, &printable(text));
    } else {
        put(&mut out, text);
    }
}

/// Writes to standard error: what is said about the product.
pub(crate) fn remark(text: &str) {
    put(&mut io::stderr().lock(), &printable(text));
}

/// Writes over the last line of standard error, which is a terminal; nothing takes it away.
pub(crate) fn progress(text: &str) {
    put(&mut io::stderr().lock(), &format!("\r\u{1b}[K{}", printable(text)));
}

fn put(out: &mut impl Write, text: &str) {
    // There is nobody left to tell that there is nobody left to tell.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Text as it may be printed: our colours as a terminal understands them, everything else that it would obey escaped.
pub(crate) fn printable(text: &str) -> String {
    text.split(mark()).map(escaped).collect::<Vec<_>>().join("\u{1b}")
}

/// Codes of a terminal as text that [`printable`] knows to be ours.
pub(crate) fn ours(codes: &str) -> String {
    codes.replace('\u{1b}', mark())
}

/// What stands for the escape character of our own codes. It is drawn for each process: no text can hold it.
fn mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| format!("\u{1b}{:016x}", RandomState::new().hash_one(())))
}

/// Control characters, and those that make text run in another direction than it is written, as Nickel writes them.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(it) = rest.next() {
        let layout = match it {
            '\n' | '\t' => true,
            '\r' => rest.peek() == Some(&'\n'),
            _ => false,
        };
        let obeyed = it.is_control() || matches!(it, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if obeyed && !layout {
            out.extend(it.escape_unicode());
        } else {
            out.push(it);
        }
    }
    out
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
    /// In a colour, as terminals number them; it is one when it is printed.
    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() && !code.is_empty() {
            format!("{}{text}{}", ours(&format!("\u{1b}[{code}m")), ours("\u{1b}[0m"))
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

#[cfg(test)]
mod tests {
    use super::{Style, printable};

    #[test]
    fn nothing_that_a_terminal_obeys_is_printed_but_our_own_colours() {
        let theirs = "\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m over\r\u{8}\u{7f}\u{202e}\u{2066}\u{0}";
        let said = printable(&Style { colour: true }.paint("32", theirs));
        let inside = said.strip_prefix("\u{1b}[32m").and_then(|it| it.strip_suffix("\u{1b}[0m"));
        assert_eq!(
            inside,
            Some("\\u{1b}[2J\\u{1b}]0;title\\u{7}\\u{9b}31m over\\u{d}\\u{8}\\u{7f}\\u{202e}\\u{2066}\\u{0}")
        );
        // Lines, columns and letters of all scripts are as they were; so are colours that were not asked for.
        for plain in ["one\ttwo\r\nthree\n", "zwölf ∀x │ עברית 👩‍🔬"] {
            assert_eq!(printable(&Style { colour: false }.paint("32", plain)), plain);
        }
    }
}
