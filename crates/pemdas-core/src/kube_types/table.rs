//! The table itself: embedded texts, read where they lie, found through an index.
//!
//! Nothing but the index is parsed until it is asked for, and then only the line that was asked for. See
//! `docs/design/kubernetes-types.md` for the format; `cargo kube-types` writes it.

use std::{collections::BTreeMap, sync::LazyLock};

/// A line for each kind: apiVersion, kind, plural, scope, type, verbs, subresources.
const KINDS: &str = include_str!("data/kinds.txt");
/// A block of fields for each type.
const TYPES: &str = include_str!("data/types.txt");
/// A block of descriptions for each type.
const DOCS: &str = include_str!("data/docs.txt");
/// A line for each type, ordered by name: where its blocks are.
const INDEX: &str = include_str!("data/index.txt");

/// The version of Kubernetes that the table was made from, such as `v1.36.3`.
pub(super) fn version() -> &'static str {
    KINDS.lines().next().and_then(|line| line.strip_prefix('#')).unwrap_or_default()
}

/// The lines of all kinds, ordered by apiVersion and kind.
pub(super) fn kind_lines() -> impl Iterator<Item = &'static str> {
    KINDS.lines().skip(1)
}

/// The heading (without `=`) and the body of a type's block of fields.
pub(super) fn type_block(id: &str) -> Option<(&'static str, &'static str)> {
    let entry = index_entry(id)?;
    block(TYPES, entry[0], entry[1])
}

/// The names of all types.
pub(super) fn type_ids() -> impl Iterator<Item = &'static str> {
    INDEX.lines().filter_map(|line| line.split('\t').next())
}

/// The description of a type (`field` is empty) or of one of its fields, as it stands in the table.
pub(super) fn doc_line(id: &str, field: &str) -> Option<&'static str> {
    let entry = index_entry(id)?;
    line_of(block(DOCS, entry[2], entry[3])?.1, field).map(|(_, text)| text)
}

fn block(text: &'static str, start: usize, length: usize) -> Option<(&'static str, &'static str)> {
    text.get(start..start + length)?.strip_prefix('=')?.split_once('\n')
}

/// Where the blocks of the types are: start and length of their fields, start and length of their descriptions.
static PLACES: LazyLock<BTreeMap<&'static str, [usize; 4]>> = LazyLock::new(|| {
    let read = |line: &'static str| {
        let mut words = line.split('\t');
        let name = words.next()?;
        let mut entry = [0; 4];
        for (number, word) in entry.iter_mut().zip(words) {
            *number = word.parse().ok()?;
        }
        Some((name, entry))
    };
    INDEX.lines().filter_map(read).collect()
});

fn index_entry(id: &str) -> Option<[usize; 4]> {
    PLACES.get(id).copied()
}

/// The name at the start of a line, as the table spells it, and what stands behind it and a tab. Lines are ordered by their names.
pub(super) fn line_of(body: &'static str, name: &str) -> Option<(&'static str, &'static str)> {
    let (mut low, mut high) = (0, body.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let start = body.get(low..middle)?.rfind('\n').map_or(low, |found| low + found + 1);
        let end = body.get(start..high)?.find('\n').map_or(high, |found| start + found + 1);
        let (found, facts) = body.get(start..end)?.trim_end_matches('\n').split_once('\t')?;
        match name.cmp(found) {
            std::cmp::Ordering::Equal => return Some((found, facts)),
            std::cmp::Ordering::Less => high = start,
            std::cmp::Ordering::Greater => low = end,
        }
    }
    None
}
