//! Strings and names of fields, so that Nickel reads what was meant.

use pemdas_core::import::Part;

/// Words that are no names of fields unless they are in quotes.
const KEYWORDS: &[&str] = &[
    "Array",
    "Bool",
    "Dyn",
    "Number",
    "String",
    "and",
    "as",
    "default",
    "doc",
    "else",
    "false",
    "forall",
    "force",
    "fun",
    "if",
    "import",
    "in",
    "include",
    "let",
    "match",
    "merge",
    "not_exported",
    "null",
    "optional",
    "or",
    "priority",
    "rec",
    "then",
    "true",
];
/// A string with lines is written as lines from so many on.
const MIN_LINES: usize = 2;

/// The name of a field, in quotes where it needs them.
#[must_use]
pub fn field_name(name: &str) -> String {
    let letters = name.trim_start_matches('_');
    let plain = letters.starts_with(|it: char| it.is_ascii_alphabetic())
        && letters.chars().all(|it| it.is_ascii_alphanumeric() || it == '_' || it == '-')
        && !KEYWORDS.contains(&name);
    if plain { name.to_owned() } else { string(name) }
}

/// A string in quotes.
#[must_use]
pub fn string(text: &str) -> String {
    quoted(&[Part::Literal(text.to_owned())], &|_| String::new())
}

/// A string of several parts in quotes.
pub(super) fn quoted(parts: &[Part], expression: &dyn Fn(&Part) -> String) -> String {
    let mut out = String::from("\"");
    for (index, part) in parts.iter().enumerate() {
        let Part::Literal(text) = part else {
            out.push_str(&format!("%{{{}}}", expression(part)));
            continue;
        };
        let mut letters = text.chars().peekable();
        // A per cent sign before an interpolation would be taken for a part of it.
        let last_is_open = parts.get(index + 1).is_some();
        while let Some(letter) = letters.next() {
            match letter {
                '"' | '\\' => out.extend(['\\', letter]),
                '%' if letters.peek().map_or(last_is_open, |it| *it == '{' || *it == '%') => {
                    out.push_str("\\%");
                }
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                other if is_hidden(other) => out.push_str(&format!("\\u{{{:x}}}", u32::from(other))),
                other => out.push(other),
            }
        }
    }
    out.push('"');
    out
}

/// Letters that nobody would see, or that would turn a line around.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Whether a string is better written as lines, and can be.
pub(super) fn wants_lines(parts: &[Part]) -> bool {
    let whole: String = parts
        .iter()
        .map(|part| match part {
            Part::Literal(text) => text.as_str(),
            _ => "x",
        })
        .collect();
    let lines: Vec<&str> = whole.split('\n').collect();
    if lines.len() < MIN_LINES || (lines.len() == 2 && lines[1].is_empty() && whole.len() < 60) {
        return false;
    }
    let blank = |line: &str| line.chars().all(|it| it == ' ' || it == '\t');
    // The indentation that all lines share is taken away when the string is read.
    let flush = lines.iter().any(|it| !blank(it) && !it.starts_with([' ', '\t']));
    let whole_lines = lines.iter().all(|it| it.is_empty() || !blank(it));
    let plain = !whole.chars().any(|it| it != '\n' && it != '\t' && is_hidden(it));
    // A sign that stands before an interpolation would be taken for a part of it.
    let clear = !parts.iter().any(|it| matches!(it, Part::Literal(text) if text.ends_with('%')));
    flush && whole_lines && plain && clear
}

/// A string as lines, each at a level of indentation.
pub(super) fn lines(parts: &[Part], level: usize, expression: &dyn Fn(&Part) -> String) -> String {
    let signs = "%".repeat(signs(parts));
    let indent = "  ".repeat(level);
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Literal(literal) => text.push_str(literal),
            other => text.push_str(&format!("{signs}{{{}}}", expression(other))),
        }
    }
    let lines: Vec<String> = text
        .split('\n')
        .map(|it| if it.is_empty() { String::new() } else { format!("{indent}{it}") })
        .collect();
    let end = "  ".repeat(level.saturating_sub(1));
    format!("m{signs}\"\n{}\n{end}\"{signs}", lines.join("\n"))
}

/// How many signs the string needs around it so that nothing in it looks like its end or an interpolation.
fn signs(parts: &[Part]) -> usize {
    let mut most = 0;
    for part in parts {
        let Part::Literal(text) = part else { continue };
        let mut run = 0;
        for letter in text.chars() {
            run = if letter == '%' { run + 1 } else { 0 };
            most = most.max(run);
        }
    }
    most + 1
}
