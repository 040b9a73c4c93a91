//! Names, labels and ports. Each check says what the value must be.

/// What a value must be, when it is not.
type Checked = Result<(), &'static str>;

const LABEL_LENGTH: usize = 63;
const SUBDOMAIN_LENGTH: usize = 253;
const DNS_LABEL: &str = "it must be a DNS label: at most 63 lower-case letters, digits and -, beginning and ending with a letter or digit";
const DNS_1035_LABEL: &str = "it must be a DNS label that begins with a letter: at most 63 lower-case letters, digits and -, not ending with -";
const SUBDOMAIN: &str = "it must be a DNS name: at most 253 lower-case letters, digits, - and ., each part beginning and ending with a letter or digit";
const LABEL_KEY: &str = "a key is an optional DNS name and /, then at most 63 letters, digits, -, _ and ., beginning and ending with a letter or digit";
const LABEL_VALUE: &str = "a label is empty, or at most 63 letters, digits, -, _ and ., beginning and ending with a letter or digit";
const PATH_SEGMENT: &str = "it must not be empty, . or .., and must not contain / or %";
const PORT: &str = "a port is a whole number from 1 to 65535";
const PORT_NAME: &str = "the name of a port is at most 15 lower-case letters, digits and -, with a letter in it, no -- and no - at an end";

fn checked(good: bool, wanted: &'static str) -> Checked {
    if good { Ok(()) } else { Err(wanted) }
}

fn lower_or_digit(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Not empty, of such bytes, its first and last byte of the stricter ones.
fn word(text: &str, inner: impl Fn(u8) -> bool, edge: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().copied().is_some_and(&edge)
        && bytes.last().copied().is_some_and(&edge)
        && bytes.iter().copied().all(inner)
}

fn dns_word(text: &str) -> bool {
    word(text, |byte| lower_or_digit(byte) || byte == b'-', lower_or_digit)
}

/// A DNS label (RFC 1123), such as the name of a Namespace.
///
/// # Errors
/// What it must be.
pub fn dns_label(text: &str) -> Checked {
    checked(text.len() <= LABEL_LENGTH && dns_word(text), DNS_LABEL)
}

/// A DNS label that begins with a letter (RFC 1035), such as the name of a Service.
///
/// # Errors
/// What it must be.
pub fn dns_1035_label(text: &str) -> Checked {
    let letter = text.starts_with(|c: char| c.is_ascii_lowercase());
    checked(letter && text.len() <= LABEL_LENGTH && dns_word(text), DNS_1035_LABEL)
}

/// A DNS subdomain (RFC 1123): what the names of most objects are.
///
/// # Errors
/// What it must be.
pub fn dns_subdomain(text: &str) -> Checked {
    checked(text.len() <= SUBDOMAIN_LENGTH && text.split('.').all(dns_word), SUBDOMAIN)
}

/// What can be one part of a path: the names of roles and their bindings.
///
/// # Errors
/// What it must be.
pub fn path_segment(text: &str) -> Checked {
    let bad = matches!(text, "" | "." | "..") || text.contains(['/', '%']);
    checked(!bad, PATH_SEGMENT)
}

fn label_word(text: &str) -> bool {
    let edge = |byte: u8| byte.is_ascii_alphanumeric();
    text.len() <= LABEL_LENGTH && word(text, |byte| edge(byte) || matches!(byte, b'-' | b'_' | b'.'), edge)
}

/// The key of a label, with its optional prefix.
///
/// # Errors
/// What it must be.
pub fn label_key(text: &str) -> Checked {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    checked(prefix.is_none_or(|prefix| dns_subdomain(prefix).is_ok()) && label_word(name), LABEL_KEY)
}

/// The key of an annotation: as that of a label, in any case of letters.
///
/// # Errors
/// What it must be.
pub fn annotation_key(text: &str) -> Checked {
    label_key(&text.to_ascii_lowercase())
}

/// The value of a label.
///
/// # Errors
/// What it must be.
pub fn label_value(text: &str) -> Checked {
    checked(text.is_empty() || label_word(text), LABEL_VALUE)
}

/// The number of a port.
///
/// # Errors
/// What it must be.
pub fn port(number: i64) -> Checked {
    checked((1..=65535).contains(&number), PORT)
}

/// The name of a port.
///
/// # Errors
/// What it must be.
pub fn port_name(text: &str) -> Checked {
    let good = text.len() <= 15
        && dns_word(text)
        && !text.contains("--")
        && text.bytes().any(|byte| byte.is_ascii_lowercase());
    checked(good, PORT_NAME)
}
