//! A text as the lexer cuts it, for messages about mistakes: which brackets stand open, and in which field a place is.

use nickel_lang_core::parser::lexer::{Lexer, Token};

use super::guard::is_lexable;

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    /// The text of it.
    pub(crate) text: &'a str,
    /// Its first byte.
    pub(crate) start: usize,
    /// The byte after its last.
    pub(crate) end: usize,
    /// Whether it is inside of a string, and no code.
    pub(crate) quoted: bool,
}

/// The pieces of a text, up to the first that the lexer refuses. Comments and spaces are none.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    if !is_lexable(text) {
        return pieces;
    }
    for token in Lexer::new(text) {
        let Ok((start, token, end)) = token else { break };
        let Some(part) = text.get(start..end) else { break };
        let opens = part.starts_with('%') && part.ends_with('{');
        let quoted = !matches!(token, Token::Normal(_)) && !opens && part != "\"";
        pieces.push(Piece { text: part, start, end, quoted });
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn strings_are_told_from_code() {
        let all = pieces("{ a = \"x { %{b} y\" } # }");
        let code: Vec<&str> = all.iter().filter(|it| !it.quoted).map(|it| it.text).collect();
        assert_eq!(code, ["{", "a", "=", "\"", "%{", "b", "}", "\"", "}"]);
        assert!(all.iter().any(|it| it.quoted && it.text.contains('{')));
    }
}
