//! What the parser refuses.

use pemdas_core::diagnostic::{Diagnostic, Label, Span};

use super::brackets;
use crate::engine::pieces::{Piece, pieces};

/// Says it better; whether it could.
pub(super) fn explain(diagnostic: &mut Diagnostic, text: &str, at: usize) -> bool {
    let all = pieces(text);
    if all.is_empty() && text.lines().all(|it| it.trim().is_empty() || it.trim_start().starts_with('#')) {
        return say(diagnostic, "the file is empty", "`pemdas init` writes a blueprint to begin with");
    }
    if diagnostic.message.starts_with("invalid contract expression") {
        return colon(diagnostic, text, &all, at);
    }
    if diagnostic.message.starts_with("unmatched closing brace")
        || diagnostic.message.starts_with("unexpected end of file")
    {
        return brackets::explain(diagnostic, text, &all, at);
    }
    let Some(here) = all.iter().position(|it| it.end > at) else { return false };
    semicolon(diagnostic, &all, here)
        || comma(diagnostic, text, &all, here)
        || foreign(diagnostic, text, &all, here)
        || brackets::explain(diagnostic, text, &all, at)
}

/// Replaces message and hint.
pub(super) fn say(diagnostic: &mut Diagnostic, message: &str, hint: &str) -> bool {
    message.clone_into(&mut diagnostic.message);
    diagnostic.hint = Some(hint.to_owned());
    true
}

/// The line of a place, counted from 1.
pub(super) fn line(text: &str, at: usize) -> usize {
    text.get(..at).map_or(0, |before| before.matches('\n').count()) + 1
}

/// Moves the place to mend.
fn place(diagnostic: &mut Diagnostic, start: usize, end: usize, message: &str) {
    let Some(file) = diagnostic.labels.first().map(|it| it.span.file.clone()) else { return };
    let number = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
    let span = Span { file, start: number(start), end: number(end) };
    diagnostic.labels = vec![Label { span, message: message.to_owned(), primary: true }];
}

/// `kind: "X"`.
fn colon(diagnostic: &mut Diagnostic, text: &str, all: &[Piece<'_>], at: usize) -> bool {
    let Some(here) = all.iter().position(|it| it.start >= at) else { return false };
    let Some([name, sign]) = here.checked_sub(2).and_then(|from| all.get(from..here)) else { return false };
    if sign.text != ":" {
        return false;
    }
    let end = diagnostic.labels.first().map_or(at, |it| it.span.end as usize);
    let value = text.get(at..end).filter(|it| it.len() <= 40 && !it.contains('\n')).unwrap_or("...");
    let hint = format!("write `{} = {value}`; a `:` declares a type", name.text);
    diagnostic.notes.clear();
    place(diagnostic, sign.start, sign.end, "");
    say(diagnostic, "a field is set with `=`, not with `:`", &hint)
}

/// The first piece of the path `a.b."c"` that ends before a piece.
fn path_before(all: &[Piece<'_>], end: usize) -> usize {
    let is_sign = |at: usize, text: &str| all.get(at).is_some_and(|it| !it.quoted && it.text == text);
    let mut from = end;
    loop {
        // A name, or a string of quotes and what is between them.
        let mut start = from;
        if start > 0 && is_sign(start - 1, "\"") {
            start -= 1;
            while start > 0 && all[start - 1].quoted {
                start -= 1;
            }
            if start == 0 || !is_sign(start - 1, "\"") {
                return from;
            }
            start -= 1;
        } else if start > 0 && is_word(&all[start - 1]) {
            start -= 1;
        } else {
            return from;
        }
        from = start;
        if from > 0 && is_sign(from - 1, ".") {
            from -= 1;
        } else {
            return from;
        }
    }
}

fn is_word(piece: &Piece<'_>) -> bool {
    !piece.quoted && piece.text.starts_with(|it: char| it.is_ascii_alphanumeric() || it == '_')
}

/// Whether a value may end with this.
fn ends_a_value(piece: &Piece<'_>) -> bool {
    const GO_ON: [&str; 9] = ["in", "then", "else", "fun", "let", "if", "import", "match", "rec"];
    (is_word(piece) && !GO_ON.contains(&piece.text))
        || matches!(piece.text, "\"" | "}" | "]" | ")")
        || piece.quoted
}

/// `a = 1; b = 2`
fn semicolon(diagnostic: &mut Diagnostic, all: &[Piece<'_>], here: usize) -> bool {
    let from = path_before(all, here);
    let signs = [Some(here), from.checked_sub(1)];
    let found =
        signs.into_iter().flatten().filter_map(|at| all.get(at)).find(|it| !it.quoted && it.text == ";");
    let Some(sign) = found else { return false };
    place(diagnostic, sign.start, sign.end, "");
    say(diagnostic, "fields are separated by `,`, not by `;`", "write `,` here")
}

/// A field, or an element, that begins a line while the one before it has not ended.
fn comma(diagnostic: &mut Diagnostic, text: &str, all: &[Piece<'_>], here: usize) -> bool {
    if !matches!(all[here].text, "=" | "." | "|" | "{" | "\"") && !is_word(&all[here]) {
        return false;
    }
    let from = if matches!(all[here].text, "=" | "." | "|") { path_before(all, here) } else { here };
    let Some(before) = from.checked_sub(1).and_then(|it| all.get(it)) else { return false };
    let Some(first) = all.get(from).filter(|_| from <= here) else { return false };
    let (last, next) = (line(text, before.end.saturating_sub(1)), line(text, first.start));
    if last >= next || !ends_a_value(before) {
        return false;
    }
    place(diagnostic, before.end.saturating_sub(1), before.end, "a `,` is missing behind this");
    let hint = "every field of a record and every element of a list ends in `,`";
    say(diagnostic, &format!("expected `,` after line {last}"), hint)
}

/// What other languages have, and Nickel writes in another way.
fn foreign(diagnostic: &mut Diagnostic, text: &str, all: &[Piece<'_>], here: usize) -> bool {
    let rest = text.get(all[here].start..).unwrap_or_default();
    let begins = text.get(..all[here].start).and_then(|it| it.rsplit('\n').next()).unwrap_or_default();
    let (message, hint) = if rest.starts_with("//") || rest.starts_with("/*") {
        ("a comment begins with `#`", "write `#`")
    } else if all[here].text == "=>" {
        ("a function begins with `fun`", "write `fun the => ...`")
    } else if rest.starts_with("${") {
        ("a value goes into a string as `%{...}`", "write \"%{name}\"")
    } else if rest.starts_with('?') {
        ("Nickel has no `? :`", "write `if CONDITION then VALUE else OTHER`")
    } else if begins.trim_start().starts_with("- ") {
        ("a list is written in brackets, not with `-`", "write `[{ name = \"one\" }, { name = \"two\" }]`")
    } else if is_open_if(all, here) {
        ("an `if` needs an `else`", "write `if CONDITION then VALUE else OTHER`")
    } else if rest.starts_with('/') && is_key(rest) {
        ("a name with `/` or a space stands in quotes", "write `\"app.kubernetes.io/name\" = ...`")
    } else {
        return false;
    };
    say(diagnostic, message, hint)
}

/// Whether what follows a `/` is the rest of a name, and a value comes then.
fn is_key(rest: &str) -> bool {
    let name = |it: char| it.is_ascii_alphanumeric() || matches!(it, '/' | '-' | '_' | '.');
    rest.trim_start_matches(name).trim_start().starts_with('=')
}

/// Whether an `if` stands open here that has a `then`, and no `else`.
fn is_open_if(all: &[Piece<'_>], here: usize) -> bool {
    if !matches!(all[here].text, "," | "}" | "]" | ")" | "in") {
        return false;
    }
    let mut depth = 0_i64;
    let mut has_then = false;
    for piece in all[..here].iter().rev().filter(|it| !it.quoted) {
        match piece.text {
            "}" | "]" | ")" => depth += 1,
            "{" | "[" | "(" | "%{" if depth == 0 => return false,
            "{" | "[" | "(" | "%{" => depth -= 1,
            "else" | "," if depth == 0 => return false,
            "then" if depth == 0 => has_then = true,
            "if" if depth == 0 => return has_then,
            _ => {}
        }
    }
    false
}
