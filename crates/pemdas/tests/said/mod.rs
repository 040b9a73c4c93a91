//! What a page shows of a terminal: what is typed, and what is seen then. `…` stands for anything within a line, and a line of
//! nothing else for any lines.

/// The commands of a block, each with what is seen after it. A line that ends in `\` goes on in the next.
pub(crate) fn steps(block: &str) -> Vec<(String, String)> {
    let mut steps: Vec<(String, String)> = Vec::new();
    let mut unfinished = false;
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push((command.to_owned(), String::new()));
            unfinished = command.ends_with('\\');
        } else if let (true, Some((command, _))) = (unfinished, steps.last_mut()) {
            command.push('\n');
            command.push_str(line);
            unfinished = line.ends_with('\\');
        } else if let Some((_, seen)) = steps.last_mut() {
            seen.push_str(line);
            seen.push('\n');
        }
    }
    steps
}

/// Whether what was said is what a page shows.
pub(crate) fn fits(expected: &str, said: &str) -> bool {
    let expected: Vec<_> = expected.lines().map(str::trim_end).collect();
    let said: Vec<_> = said.lines().map(str::trim_end).collect();
    lines_fit(&expected, &said)
}

fn lines_fit(expected: &[&str], said: &[&str]) -> bool {
    match (expected.split_first(), said.split_first()) {
        (None, None) => true,
        (Some((&"…", rest)), _) => (0..=said.len()).any(|skipped| lines_fit(rest, &said[skipped..])),
        (Some((line, rest)), Some((first, others))) => line_fits(line, first) && lines_fit(rest, others),
        _ => false,
    }
}

fn line_fits(expected: &str, said: &str) -> bool {
    let mut parts = expected.split('…');
    let Some(mut rest) = parts.next().and_then(|first| said.strip_prefix(first)) else { return false };
    let mut open = false;
    for part in parts {
        let Some(at) = (if part.is_empty() { Some(rest.len()) } else { rest.find(part) }) else {
            return false;
        };
        rest = &rest[at + part.len()..];
        open = part.is_empty();
    }
    open || rest.is_empty()
}

#[test]
fn what_a_page_shows_is_read_as_it_is_meant() {
    let found = steps("$ one \\\n  two\nseen\n$ three\n");
    assert_eq!(found[0], ("one \\\n  two".to_owned(), "seen\n".to_owned()));
    assert_eq!(found[1], ("three".to_owned(), String::new()));
    assert_eq!(found.len(), 2);
    assert!(fits("a … c\n", "a b c\n") && fits("a …", "a b") && fits("…\nc", "a\nb\nc"));
    assert!(!fits("a … c\n", "a b d\n") && !fits("a", "a\nb") && !fits("a\nb", "a") && !fits("a …c", "b …c"));
}
