//! Strings in YAML.

/// A string between quotes.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The text of a file below a key of `data`: as a block of lines where it is one, so that people can read it and see differences.
pub(super) fn string(_name: &str, text: &str) -> String {
    let plain = |it: char| {
        it == '\n' || it == '\t' || (!it.is_control() && !"\u{feff}\u{85}\u{2028}\u{2029}".contains(it))
    };
    let begins_well = text.lines().next().is_some_and(|it| !it.is_empty() && !it.starts_with([' ', '\t']));
    // A line of nothing but white space, or white space at an end, is easily lost by whoever edits it.
    let ends_well = text.lines().all(|it| !it.ends_with([' ', '\t']));
    let last = text.ends_with('\n') && !text.ends_with("\n\n");
    if !(text.chars().all(plain) && begins_well && ends_well && last) {
        return quoted(text);
    }
    let lines: Vec<String> =
        text.lines().map(|it| if it.is_empty() { String::new() } else { format!("    {it}") }).collect();
    format!("|\n{}", lines.join("\n"))
}
