//! Texts for people, bounded: a value of an object may be megabytes, a sentence about it may not.

use serde_json::Value;

/// How many characters of a value a message shows.
pub const MAX_SHOWN: usize = 60;

/// A value in a few characters: JSON, cut off where it is long.
#[must_use]
pub fn brief(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{:?}", shorten(text)),
        Value::Array(items) if !items.is_empty() => format!("a list of {}", items.len()),
        Value::Object(fields) if !fields.is_empty() => {
            let mut names: Vec<_> = fields.keys().take(4).map(|name| shorten(name)).collect();
            if fields.len() > names.len() {
                names.push("...".to_owned());
            }
            format!("a record {{{}}}", names.join(", "))
        }
        other => shorten(&other.to_string()),
    }
}

/// A text cut off after [`MAX_SHOWN`] characters.
#[must_use]
pub fn shorten(text: &str) -> String {
    shorten_to(text, MAX_SHOWN)
}

/// A text of at most so many characters, and dots where something was left out.
#[must_use]
pub fn shorten_to(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}
