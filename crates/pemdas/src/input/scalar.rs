//! What a word of YAML without quotes means to kubectl and to the API server.
//!
//! Both read YAML 1.1 as Go's library does: `0400` is an octal number, `yes` is a boolean. Most other parsers read YAML 1.2, where
//! the one is the decimal number 400 and the other a string. A file mode that is read in the wrong way is another file mode.

use pemdas_core::import::Content;
use serde_json::Number;

const TRUE: &[&str] = &["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"];
const FALSE: &[&str] = &["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"];
const NULL: &[&str] = &["", "~", "null", "Null", "NULL"];

/// What the word means; nothing for a number that JSON does not have, which kubectl refuses.
pub(super) fn read(word: &str) -> Option<Content> {
    if NULL.contains(&word) {
        return Some(Content::Null);
    }
    if TRUE.contains(&word) || FALSE.contains(&word) {
        return Some(Content::Bool(TRUE.contains(&word)));
    }
    if is_no_json(word) {
        return None;
    }
    Some(number(word).map_or_else(|| Content::Text(word.to_owned()), Content::Number))
}

/// The name of a field: JSON has strings for names only. Nothing for what kubectl refuses.
pub(super) fn name(word: &str) -> Option<String> {
    match read(word)? {
        // The key that merges another record is the parser's.
        Content::Text(text) => Some(text),
        Content::Bool(it) => Some(it.to_string()),
        Content::Number(it) => Some(match it.as_f64().filter(|_| it.is_f64()) {
            // Go prints such a name with half the precision.
            #[allow(clippy::cast_possible_truncation, reason = "that is what Go does")]
            Some(number) => format!("{}", number as f32),
            None => it.to_string(),
        }),
        Content::Null | Content::List(_) | Content::Record(_) => None,
    }
}

fn is_no_json(word: &str) -> bool {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    [".inf", ".Inf", ".INF"].contains(&unsigned) || [".nan", ".NaN", ".NAN"].contains(&word)
}

fn number(word: &str) -> Option<Number> {
    if !word.starts_with(|it: char| it.is_ascii_digit() || "+-.".contains(it)) {
        return None;
    }
    // Behind a point nothing is taken out.
    let plain = if word.starts_with('.') { word.to_owned() } else { word.replace('_', "") };
    whole(&plain).or_else(|| fraction(&plain))
}

/// A whole number, in the base that its beginning says.
fn whole(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (digits, base) = match unsigned.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => (unsigned.get(2..)?, 16),
        Some("0b") => (unsigned.get(2..)?, 2),
        Some("0o") => (unsigned.get(2..)?, 8),
        Some(_) if unsigned.starts_with('0') => (unsigned.get(1..)?, 8),
        _ => (unsigned, 10),
    };
    if !digits.chars().all(|it| it.is_digit(base)) {
        return None;
    }
    let size = u64::from_str_radix(digits, base).ok()?;
    match text.chars().next() {
        Some('-') => 0_i64.checked_sub_unsigned(size).map(Number::from),
        // Go reads the largest numbers without a sign only.
        Some('+') => i64::try_from(size).ok().map(Number::from),
        _ => Some(Number::from(size)),
    }
}

fn fraction(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (digits, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, Some(exponent)),
        None => (unsigned, None),
    };
    let are_digits = |it: &str| !it.is_empty() && it.chars().all(|it| it.is_ascii_digit());
    let is_mantissa = match digits.split_once('.') {
        Some(("", behind)) => are_digits(behind),
        Some((before, behind)) => are_digits(before) && (behind.is_empty() || are_digits(behind)),
        None => are_digits(digits),
    };
    let is_exponent = |it: &str| are_digits(it.strip_prefix(['+', '-']).unwrap_or(it));
    if !is_mantissa || !exponent.is_none_or(is_exponent) {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    // kubectl makes `2` of the `2.0` of a file before the API server sees it.
    let whole = (value.fract() == 0.0).then(|| format!("{value}").parse::<i64>().ok()).flatten();
    whole.map(Number::from).or_else(|| Number::from_f64(value))
}
