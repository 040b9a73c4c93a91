//! The table itself: three embedded texts, looked up by binary search where they lie.
//!
//! Nothing is parsed until it is asked for, and then only the block or line that was asked for. See
//! `docs/design/kubernetes-types.md` for the format; `cargo kube-types` writes it.

/// A line for each kind: apiVersion, kind, plural, scope, type, verbs, subresources.
const KINDS: &str = include_str!("data/kinds.txt");
/// A block of fields for each type.
const TYPES: &str = include_str!("data/types.txt");
/// A block of descriptions for each type.
const DOCS: &str = include_str!("data/docs.txt");

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
    block(TYPES, id)
}

/// The names of all types.
pub(super) fn type_ids() -> impl Iterator<Item = &'static str> {
    TYPES.lines().filter_map(|line| line.strip_prefix('=')).map(first_word)
}

/// The description of a type (`field` is empty) or of one of its fields, as it stands in the table.
pub(super) fn doc_line(id: &str, field: &str) -> Option<&'static str> {
    line_of(block(DOCS, id)?.1, field).map(|(_, text)| text)
}

/// The name at the start of a line, as the table spells it, and what stands behind it and a tab.
pub(super) fn line_of(body: &'static str, name: &str) -> Option<(&'static str, &'static str)> {
    if name.contains('\t') {
        return None;
    }
    body.lines().find_map(|line| {
        let facts = line.strip_prefix(name)?.strip_prefix('\t')?;
        Some((line.get(..name.len())?, facts))
    })
}

fn first_word(heading: &'static str) -> &'static str {
    heading.split('\t').next().unwrap_or_default()
}

/// Finds the block of a name among blocks that are ordered by name and begin with `=name` on a line of its own.
fn block(text: &'static str, name: &str) -> Option<(&'static str, &'static str)> {
    let (mut low, mut high) = (0, text.len());
    while low < high {
        let middle = low + (high - low) / 2;
        // The last block that begins at or before the middle; the first of the range begins at `low`.
        let start = start_before(text, low, middle);
        let end = text.get(start + 1..high)?.find("\n=").map_or(high, |found| start + 1 + found + 1);
        let (heading, body) = text.get(start + 1..end)?.split_once('\n')?;
        match name.cmp(first_word(heading)) {
            std::cmp::Ordering::Equal => return Some((heading, body)),
            std::cmp::Ordering::Less => high = start,
            std::cmp::Ordering::Greater => low = end,
        }
    }
    None
}

fn start_before(text: &str, low: usize, middle: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = middle;
    while at > low {
        if bytes.get(at) == Some(&b'=') && bytes.get(at - 1) == Some(&b'\n') {
            return at;
        }
        at -= 1;
    }
    low
}
