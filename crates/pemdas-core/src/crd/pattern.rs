//! Regular expressions that the evaluator (Rust's `regex`) and the API server (Go's `regexp`) read alike.
//!
//! Both have the syntax of RE2, and differ in what they have added or extended: classes such as `\d` are of all of
//! Unicode in one and of ASCII in the other, classes can be intersected in one only, repetitions are limited in one.

/// The most that all counted repetitions of a pattern may multiply to: the API server's limit.
const MAX_REPEAT: u64 = 1000;

/// Whether a text is a regular expression at all; if not, why.
///
/// # Errors
/// What is wrong with it, in a line.
pub fn is_one(pattern: &str) -> Result<(), String> {
    regex::Regex::new(pattern).map(drop).map_err(|error| {
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default().trim();
        last.strip_prefix("error: ").unwrap_or(last).to_owned()
    })
}

/// How far repetitions go: none, one, one with a question mark after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeated {
    No,
    Once,
    Lazily,
}

/// Why a pattern may mean something else to the API server; none if both read it alike.
#[must_use]
pub fn difference(pattern: &str) -> Option<String> {
    let mut letters = pattern.chars().peekable();
    let mut in_class = false;
    let mut repeats: u64 = 1;
    let mut previous = ' ';
    let mut repeated = Repeated::No;
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        repeated = match (letter, repeated) {
            _ if in_class => Repeated::No,
            ('?', Repeated::Once) => Repeated::Lazily,
            // The end of a repetition that was counted.
            ('}', Repeated::Once) => Repeated::Once,
            ('*' | '+' | '?' | '{', Repeated::No) => Repeated::Once,
            ('*' | '+' | '?' | '{', _) => {
                return Some("a repetition of a repetition is not the same to both".to_owned());
            }
            _ => Repeated::No,
        };
        match letter {
            '\\' => {
                if let Some(escaped) = letters.next()
                    && !is_common_escape(escaped)
                {
                    return Some(format!("`\\{escaped}` is not the same to both"));
                }
                previous = ' ';
                continue;
            }
            '[' if in_class => {
                return Some("a class inside a class is not the same to both".to_owned());
            }
            '[' => {
                in_class = true;
                // A closing bracket that stands first is a letter of the class.
                letters.next_if_eq(&'^');
                if letters.peek() == Some(&']') {
                    return Some("a class that begins with `]` is not the same to both".to_owned());
                }
            }
            ']' => in_class = false,
            '&' | '-' | '~' if in_class && previous == letter => {
                return Some(format!("`{letter}{letter}` in a class is not the same to both"));
            }
            '(' if !in_class && next == Some('?') => {
                letters.next();
                if letters.next() != Some(':') {
                    return Some("flags and named groups are not the same to both".to_owned());
                }
            }
            '{' if !in_class => {
                let counts: String = std::iter::from_fn(|| letters.next_if(|&c| c != '}')).collect();
                let counted = counts.rsplit(',').find_map(|count| count.parse::<u64>().ok());
                match counted {
                    Some(count) if !counts.starts_with(',') => repeats = repeats.saturating_mul(count.max(1)),
                    _ => return Some("this repetition is not the same to both".to_owned()),
                }
                if repeats > MAX_REPEAT {
                    return Some(format!("it repeats more than {MAX_REPEAT} times"));
                }
            }
            _ => {}
        }
        previous = letter;
    }
    None
}

/// Escapes that mean the same to both: punctuation but `<` and `>`, and control letters.
fn is_common_escape(escaped: char) -> bool {
    (escaped.is_ascii_punctuation() && !matches!(escaped, '<' | '>' | '`' | '\''))
        || "Azafnrtv".contains(escaped)
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn the_common_part_of_both_is_known() {
        for good in [
            "^([0-9]+)$",
            "^(a|b)*$",
            r"^[-a-z_.]+\.x{1,5}$",
            "^(?:[^/]+/)?x$",
            r"\[a\]",
            "[a-z0-9-]",
            "a*?b+?c??",
            "(a*)*",
            "[*+?]+",
        ] {
            assert_eq!(difference(good), None, "{good}");
        }
        for bad in [
            r"^\d+$",
            r"\w",
            r"\pL",
            "(?i)a",
            "[a-z&&[^b]]",
            "[a--b]",
            "a{1001}",
            "(a{100}){11}",
            "a{,3}",
            r"\bx",
            "[[:alpha:]]",
            r"\<",
            "(?P<n>a)",
            "[]a]",
            "a**",
            "a+*",
            "a{2}{3}",
            "a*??",
        ] {
            assert!(difference(bad).is_some(), "{bad}");
        }
    }
}
