//! Comments of YAML, brought to the fields they stand at: above a field or an item, or at the end of its line.

use std::collections::{BTreeMap, VecDeque};

use pemdas_core::import::{Content, Tree};

/// Comments alone on their lines in their order, and those behind something by the line they are on.
#[derive(Default)]
struct Found {
    above: VecDeque<(u32, String)>,
    beside: BTreeMap<usize, String>,
}

/// Gives comments to the trees of a text.
pub(super) fn attach(text: &str, trees: &mut [Tree]) {
    if !text.contains('#') {
        return;
    }
    let mut strings = Vec::new();
    trees.iter().for_each(|it| places(it, &mut strings));
    strings.sort_unstable();
    let starts: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut found = scan(text, &starts, &strings);
    let line_of = |byte: u32| starts.partition_point(|it| *it <= usize::try_from(byte).unwrap_or(usize::MAX));
    for tree in trees {
        take_beside(tree, &mut found, &line_of);
        if let Some(at) = tree.at {
            take_before(at.0, tree, &mut found);
        }
        take_above(tree, &mut found);
    }
}

/// Where strings stand, in which a `#` is no comment.
fn places(tree: &Tree, found: &mut Vec<(u32, u32)>) {
    match &tree.content {
        Content::Text(_) => found.extend(tree.at),
        Content::List(items) => items.iter().for_each(|it| places(it, found)),
        Content::Record(fields) => {
            for field in fields {
                found.extend(field.at);
                places(&field.value, found);
            }
        }
        _ => {}
    }
}

fn scan(text: &str, starts: &[usize], strings: &[(u32, u32)]) -> Found {
    let mut found = Found::default();
    for (number, start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).map_or(text.len(), |it| it - 1);
        let Some(line) = text.get(*start..end) else { continue };
        let begins = |at: usize| line.get(..at).is_some_and(|it| it.is_empty() || it.ends_with([' ', '\t']));
        let in_string = |at: usize| {
            let Ok(byte) = u32::try_from(start + at) else { return true };
            let before = strings.partition_point(|it| it.0 <= byte);
            before.checked_sub(1).and_then(|it| strings.get(it)).is_some_and(|it| byte < it.1)
        };
        let Some(at) = line.match_indices('#').map(|it| it.0).find(|at| begins(*at) && !in_string(*at))
        else {
            continue;
        };
        let said = line.get(at + 1..).unwrap_or_default().trim().to_owned();
        if said.is_empty() {
            continue;
        }
        if line.get(..at).is_some_and(|it| it.trim().is_empty()) {
            found.above.extend(u32::try_from(*start).ok().map(|it| (it, said)));
        } else {
            found.beside.insert(number + 1, said);
        }
    }
    found
}

fn take_beside(tree: &mut Tree, found: &mut Found, line_of: &impl Fn(u32) -> usize) {
    match &mut tree.content {
        Content::List(items) => {
            for item in items {
                if let (false, Some(at)) = (is_open(item), item.at) {
                    item.beside = found.beside.remove(&line_of(at.0));
                }
                take_beside(item, found, line_of);
            }
        }
        Content::Record(fields) => {
            for field in fields {
                if let Some(at) = field.at.filter(|_| !is_flow(&field.value, line_of)) {
                    let said = found.beside.remove(&line_of(at.0));
                    match is_open(&field.value) {
                        true => field.value.above.extend(said),
                        false => field.value.beside = said,
                    }
                }
                take_beside(&mut field.value, found, line_of);
            }
        }
        _ => {}
    }
}

/// Whether something has lines of its own below it.
fn is_open(tree: &Tree) -> bool {
    matches!(tree.content, Content::List(_) | Content::Record(_))
}

/// Whether several fields stand on one line, of which nobody knows which one is meant.
fn is_flow(tree: &Tree, line_of: &impl Fn(u32) -> usize) -> bool {
    let Some(at) = tree.at.filter(|_| is_open(tree)) else { return false };
    tree.fields().first().and_then(|it| it.at).is_some_and(|it| line_of(it.0) == line_of(at.0) && at.0 < it.0)
}

/// What stands before the first field of a record is said of that field, unless the record is an item or a whole document.
fn take_above(tree: &mut Tree, found: &mut Found) {
    match &mut tree.content {
        Content::List(items) => {
            for item in items {
                if let Some(at) = item.at {
                    take_before(at.0, item, found);
                }
                take_above(item, found);
            }
        }
        Content::Record(fields) => {
            for field in fields {
                if let Some(at) = field.at {
                    take_before(at.0, &mut field.value, found);
                }
                take_above(&mut field.value, found);
            }
        }
        _ => {}
    }
}

fn take_before(byte: u32, tree: &mut Tree, found: &mut Found) {
    let mut some = Vec::new();
    while let Some((_, said)) = found.above.pop_front_if(|it| it.0 < byte) {
        some.push(said);
    }
    some.append(&mut tree.above);
    tree.above = some;
}
