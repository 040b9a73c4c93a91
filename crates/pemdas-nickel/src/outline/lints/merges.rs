//! Merges of records in which both sides define the same field: Nickel refuses unequal values unless one gives way.

use std::collections::BTreeMap;

use pemdas_core::diagnostic::{Diagnostic, Span};

use super::super::codes;
use super::super::trees::{At, Trees};
use crate::syntax::Expr;

/// How many fields of one side of a merge are looked at.
const MAX_LEAVES: usize = 2_000;
/// How deep.
const MAX_DEPTH: usize = 24;

/// A field with a value that is no record.
struct Leaf<'a> {
    value: At<'a>,
    name: Option<Span>,
    /// Whether it has a priority of its own.
    gives_way: bool,
}

type Leaves<'a> = BTreeMap<Vec<&'a str>, Leaf<'a>>;

pub(super) fn check(trees: &Trees<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (file, tree, _) in trees.each() {
        for node in &tree.nodes {
            let Expr::Operator { name, operands } = &node.expr else { continue };
            let ("(&)", [left, right]) = (name.as_str(), operands.as_slice()) else { continue };
            let left = leaves_of(trees, At { file, id: *left });
            let right = leaves_of(trees, At { file, id: *right });
            for (path, second) in &right {
                let Some(first) = left.get(path) else { continue };
                found.extend(conflict(trees, path, first, second));
            }
        }
    }
    found
}

fn leaves_of<'a>(trees: &Trees<'a>, at: At<'a>) -> Leaves<'a> {
    let mut leaves = Leaves::new();
    for view in trees.views(at) {
        collect(trees, view, &mut Vec::new(), false, &mut leaves);
    }
    leaves
}

fn collect<'a>(
    trees: &Trees<'a>,
    at: At<'a>,
    path: &mut Vec<&'a str>,
    gives_way: bool,
    leaves: &mut Leaves<'a>,
) {
    let Some(Expr::Record { fields, .. }) = trees.expr(at) else { return };
    for field in fields {
        let depth = path.len();
        let names: Option<Vec<_>> = field.path.iter().map(Option::as_ref).collect();
        let (Some(names), Some(value)) = (names, field.value) else { continue };
        if leaves.len() >= MAX_LEAVES || depth + names.len() > MAX_DEPTH {
            return;
        }
        path.extend(names.iter().map(|name| name.text.as_str()));
        let value = At { file: at.file, id: value };
        let gives_way = gives_way || field.ranked;
        if matches!(trees.expr(value), Some(Expr::Record { .. })) {
            collect(trees, value, path, gives_way, leaves);
        } else {
            let name = names.last().and_then(|name| name.span.clone());
            leaves.insert(path.clone(), Leaf { value, name, gives_way });
        }
        path.truncate(depth);
    }
}

fn conflict(trees: &Trees<'_>, path: &[&str], first: &Leaf<'_>, second: &Leaf<'_>) -> Option<Diagnostic> {
    if first.gives_way || second.gives_way || first.value == second.value {
        return None;
    }
    let (one, other) = (trees.expr(first.value)?, trees.expr(second.value)?);
    let is_plain = |expr: &Expr| {
        matches!(
            expr,
            Expr::Null
                | Expr::Bool(_)
                | Expr::Number(_)
                | Expr::String(_)
                | Expr::Enum { argument: None, .. }
        )
    };
    let is_list = |expr: &Expr| matches!(expr, Expr::Array(_));
    let certain = (is_plain(one) && is_plain(other)) || (is_list(one) && is_list(other));
    let text = |leaf: &Leaf<'_>| trees.span(leaf.value).and_then(|span| trees.text(&span));
    let same_text = first.value.file == second.value.file && text(first) == text(second);
    // Records made elsewhere may well merge.
    let may_be_record =
        |expr: &Expr| !is_plain(expr) && !is_list(expr) && !matches!(expr, Expr::Interpolation(_));
    if one == other || same_text || (may_be_record(one) && may_be_record(other)) {
        return None;
    }
    let field = path.join(".");
    let message = format!("both sides of the merge define `{field}`");
    let diagnostic = if certain {
        Diagnostic::error(codes::MERGE_CONFLICT, message)
    } else {
        Diagnostic::warning(codes::MERGE_CONFLICT, message)
    };
    Some(
        diagnostic
            .at(second.name.clone()?, "defined again")
            .see(first.name.clone()?, "defined here")
            .note("a merge never lets one side win by itself: unequal values are an error")
            .hint(
                "write `| force` on the one that overrides, or `| default` on the one that may be overridden",
            ),
    )
}
