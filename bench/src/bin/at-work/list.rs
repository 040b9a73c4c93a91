//! The list: first what an operator at work goes through, then what only its start needs.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "nothing is traced there"))]

use std::collections::BTreeSet;

/// What comes before the second part. The linker passes over it.
const START: &str = "# What only the start needs:";
/// Longer names are of what is instantiated with much: a list with them would be twice as long.
const LONGEST: usize = 300;

/// A part of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Work,
    Start,
}

/// A list with more names in one of its parts, and without those that are nobody's any more. What is at work is not in the
/// other part too; what it says of itself stays on top.
pub(crate) fn with(list: &str, part: Part, names: BTreeSet<&str>, is_there: impl Fn(&str) -> bool) -> String {
    let (first, second) = list.split_once(START).unwrap_or((list, ""));
    let named = |text: &'_ str| {
        let names = text.lines().filter(|it| !it.starts_with('#') && !it.is_empty());
        names.filter(|it| is_there(it)).map(str::to_owned).collect()
    };
    let (mut work, mut start): (BTreeSet<String>, BTreeSet<String>) = (named(first), named(second));
    let of_part = if part == Part::Work { &mut work } else { &mut start };
    of_part.extend(names.into_iter().filter(|it| it.len() <= LONGEST).map(str::to_owned));
    let about = first.lines().filter(|it| it.starts_with('#')).map(str::to_owned);
    let only = start.difference(&work).cloned();
    let lines: Vec<String> =
        about.chain(work.iter().cloned()).chain([START.to_owned()]).chain(only).collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{LONGEST, Part, START, with};

    #[test]
    fn what_is_at_work_comes_first_and_once() {
        let begun = with("# About it.\nb\n", Part::Start, BTreeSet::from(["b", "c", "a"]), |_| true);
        assert_eq!(begun, format!("# About it.\nb\n{START}\na\nc\n"));
        let long = "x".repeat(LONGEST + 1);
        let worked = with(&begun, Part::Work, BTreeSet::from(["c", "d", &*long]), |_| true);
        assert_eq!(worked, format!("# About it.\nb\nc\nd\n{START}\na\n"));
    }

    #[test]
    fn names_that_are_nobodys_any_more_go() {
        let list = format!("# About it.\na\nb\n{START}\nc\nd\n");
        let kept = with(&list, Part::Work, BTreeSet::from(["e"]), |it| !["b", "d"].contains(&it));
        assert_eq!(kept, format!("# About it.\na\ne\n{START}\nc\n"));
    }
}
