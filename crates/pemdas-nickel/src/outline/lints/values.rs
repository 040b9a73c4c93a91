//! Comparisons that cannot come out as meant: tags with strings, and the order of strings.

use std::collections::BTreeMap;

use pemdas_core::diagnostic::Diagnostic;

use super::super::codes;
use super::super::scopes::Binding;
use super::super::trees::{At, Trees};
use crate::syntax::{Expr, NodeId, PatternSyntax};

/// What is known of the fields of owned kinds, by their path from the object: whether they are strings.
pub(in crate::outline) type FieldsOfKinds = BTreeMap<Vec<String>, bool>;

const ORDER: [&str; 4] = ["(<)", "(<=)", "(>)", "(>=)"];
/// Fields of every object that are strings.
const STRINGS: [&[&str]; 6] = [
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "uid"],
    &["metadata", "resourceVersion"],
    &["metadata", "creationTimestamp"],
    &["metadata", "deletionTimestamp"],
];

pub(super) fn check(trees: &Trees<'_>, kinds: &FieldsOfKinds) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (file, tree, _) in trees.each() {
        for (id, node) in (0..).zip(&tree.nodes) {
            let at = At { file, id };
            match &node.expr {
                Expr::Operator { name, operands } if name == "(==)" => {
                    found.extend(tag_compared(trees, file, operands));
                }
                Expr::Operator { name, operands } if ORDER.contains(&name.as_str()) => {
                    found.extend(strings_ordered(trees, kinds, at, operands));
                }
                Expr::Call { head, arguments } => {
                    if let (Some(Expr::Match(branches)), [subject]) =
                        (trees.expr(At { file, id: *head }), arguments.as_slice())
                    {
                        let patterns = branches.iter().map(|(pattern, ..)| pattern);
                        found.extend(tag_matched(trees, At { file, id: *subject }, patterns));
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// `the.root.spec.mode == 'Fast`: objects hold no tags.
fn tag_compared(trees: &Trees<'_>, file: &str, operands: &[NodeId]) -> Option<Diagnostic> {
    let [left, right] = operands else { return None };
    for (tag, other) in [(left, right), (right, left)] {
        let tag = At { file, id: *tag };
        let Some(Expr::Enum { tag: name, argument: None }) = trees.expr(tag) else { continue };
        if input_path(trees, At { file, id: *other }).is_some() {
            return Some(
                Diagnostic::warning(
                    codes::TAG_OR_STRING,
                    "this is never equal: objects hold strings, and a tag is none",
                )
                .at(trees.span(tag)?, "a tag")
                .hint(format!("write \"{}\" in double quotes", name.text)),
            );
        }
    }
    None
}

/// `the.root.spec.mode |> match { 'Fast => ... }`.
fn tag_matched<'p>(
    trees: &Trees<'_>,
    subject: At<'_>,
    patterns: impl Iterator<Item = &'p PatternSyntax>,
) -> Option<Diagnostic> {
    input_path(trees, subject)?;
    let mut tags = patterns.filter_map(|pattern| {
        let span = pattern.span.as_ref()?;
        trees.text(span)?.starts_with('\'').then(|| span.clone())
    });
    let first = tags.next()?;
    Some(
        Diagnostic::warning(
            codes::TAG_OR_STRING,
            "this never matches: objects hold strings, and a tag is none",
        )
        .at(first, "a tag")
        .hint("match strings: `\"fast\" => ...`; or turn the string into a tag first: `std.string.to_enum`"),
    )
}

/// `<` compares numbers only.
fn strings_ordered(
    trees: &Trees<'_>,
    kinds: &FieldsOfKinds,
    whole: At<'_>,
    operands: &[NodeId],
) -> Option<Diagnostic> {
    let string = operands.iter().map(|id| At { file: whole.file, id: *id }).find(|operand| {
        match trees.expr(*operand) {
            Some(Expr::String(_) | Expr::Interpolation(_)) => true,
            Some(Expr::Access { .. }) => {
                input_path(trees, *operand).is_some_and(|path| is_string(&path, kinds))
            }
            _ => false,
        }
    })?;
    Some(
        Diagnostic::error(codes::STRING_ORDER, "strings cannot be compared by order like this")
            .at(trees.span(string)?, "a string")
            .hint(
                "use `std.string.compare a b == 'Lesser`, or turn it into a number: `std.string.to_number`",
            ),
    )
}

fn is_string(path: &[String], kinds: &FieldsOfKinds) -> bool {
    let Some(("root", below)) = path.split_first().map(|(first, below)| (first.as_str(), below)) else {
        return false;
    };
    STRINGS.iter().any(|known| below.iter().map(String::as_str).eq(known.iter().copied()))
        || kinds.get(below).copied().unwrap_or_default()
}

/// The fields that an expression reads of a function's argument.
fn input_path(trees: &Trees<'_>, at: At<'_>) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut current = at;
    loop {
        match trees.expr(current)? {
            Expr::Access { inner, field } => {
                names.push(field.text.clone());
                current = At { file: at.file, id: *inner };
            }
            Expr::Var(name) => {
                let binding = trees.scopes(at.file)?.of_var(current.id)?.binding?;
                let Binding::Parameter { whole, .. } = binding else { return None };
                if !whole {
                    names.push(name.clone());
                }
                names.reverse();
                return (!names.is_empty()).then_some(names);
            }
            _ => return None,
        }
    }
}
