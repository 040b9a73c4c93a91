//! Names and clauses: what a node may be called, and which clauses say something of which kind of node.

use super::codes;
use crate::{
    blueprint::{Blueprint, Body, Clause, Node, RESERVED_INPUTS, RootTarget},
    diagnostic::Diagnostic,
};

/// The longest name of a node: it becomes part of annotations and of what people type.
const MAX_NAME: usize = 63;

pub(super) fn check(blueprint: &Blueprint) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for (name, node) in &blueprint.nodes {
        problems.extend(bad_name(name, node));
        for (clause, span) in &node.clauses {
            if let Some((why, hint)) = misplaced(*clause, node) {
                let problem =
                    Diagnostic::error(codes::MISPLACED_CLAUSE, format!("`{clause}` on `{name}`: {why}"))
                        .at(span.clone(), "says nothing here");
                problems.push(if hint.is_empty() { problem } else { problem.hint(hint) });
            }
        }
        problems.extend(pointless_before(name, node));
        problems.extend(foreign_finalizer(name, node));
        problems.extend(members(blueprint, name, node));
    }
    problems
}

fn bad_name(name: &str, node: &Node) -> Option<Diagnostic> {
    let problem = |message: String| Diagnostic::error(codes::BAD_NAME, message).at(node.span.clone(), "");
    if RESERVED_INPUTS.contains(&name) {
        let inputs = "`root`, `self`, `seed` and `each` are inputs of every function";
        return Some(
            problem(format!("a node cannot be called `{name}`: {inputs}")).hint("give the node another name"),
        );
    }
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if plain && name.len() <= MAX_NAME {
        return None;
    }
    let shown = crate::text::shorten(name);
    Some(problem(format!("a node cannot be called `{shown}`")).hint(format!(
        "a name is letters, digits, `_` and `-`, begins with a letter, and has {MAX_NAME} at most"
    )))
}

/// Why a clause says nothing of a node, and what to do.
fn misplaced(clause: Clause, node: &Node) -> Option<(String, &'static str)> {
    let body = node.body.clause();
    let only = |allowed: &[Clause]| {
        if allowed.contains(&body) {
            return None;
        }
        let names: Vec<_> = allowed.iter().map(|it| format!("`{it}`")).collect();
        Some((format!("it goes with {}, and this node has `{body}`", names.join(" or ")), ""))
    };
    let (template, observe, absent, value) =
        (Clause::Template, Clause::Observe, Clause::Absent, Clause::Value);
    match clause {
        Clause::Root | Clause::Template | Clause::Observe | Clause::Absent | Clause::Value => (clause
            != body)
            .then(|| (format!("this node has `{body}` already"), "a node is one thing: make it two nodes")),
        Clause::Also => None,
        Clause::Before => only(&[template, observe, absent, value]),
        Clause::ForEach => only(&[template, observe, absent, value])
            .or_else(|| of_states(node))
            .or_else(|| selected_members(node)),
        Clause::Status | Clause::Conditions | Clause::Report => {
            only(&[Clause::Root]).or_else(|| foreign_root(node))
        }
        Clause::Deleting => only(&[Clause::Root]),
        Clause::Optional => only(&[observe]).or_else(|| optional_collection(node)),
        Clause::Having => only(&[absent]),
        Clause::Ready => only(&[template, observe]).or_else(|| ready_of_once(node)),
        Clause::Fails => only(&[template, observe]),
        Clause::Observed => only(&[template, observe]),
        Clause::Approve => only(&[template, absent, value]),
        Clause::StateOf => only(&[template]).or_else(|| {
            node.once.is_some().then(|| ("a `once` is no state".to_owned(), "leave out one of the two"))
        }),
        Clause::Once => only(&[template]),
        Clause::Key | Clause::First | Clause::Superseded => only(&[template]).or_else(|| {
            let remembered = node.once.is_some() || node.state_of.is_some();
            (!remembered)
                .then(|| ("it goes with `once` or `state_of`".to_owned(), "add `once`, or leave it out"))
        }),
        Clause::Own | Clause::Conflict | Clause::Replace | Clause::OnDelete | Clause::OnImmutable => {
            only(&[template]).or_else(|| of_states(node))
        }
        Clause::LateName => only(&[template, observe, absent]).or_else(|| of_states(node)),
    }
}

/// What belongs to the object cannot differ from state to state.
fn of_states(node: &Node) -> Option<(String, &'static str)> {
    let object = node.state_of.as_ref()?;
    Some((format!("it belongs to the object, and the object's node is `{object}`"), "write it there"))
}

fn foreign_root(node: &Node) -> Option<(String, &'static str)> {
    let Body::Root(root) = &node.body else { return None };
    match root.target {
        RootTarget::Owned(_) => None,
        RootTarget::Foreign { .. } | RootTarget::Blueprint => Some((
            "only a root of an owned kind has a status that we may write".to_owned(),
            "what happens with a foreign root is reported by Events and `pemdas explain`",
        )),
    }
}

fn selected_members(node: &Node) -> Option<(String, &'static str)> {
    match &node.body {
        Body::Observe(observe) if observe.by_selector => Some((
            "a selector picks its members itself".to_owned(),
            "leave `for_each` out; or observe the object of each member by its name",
        )),
        _ => None,
    }
}

fn optional_collection(node: &Node) -> Option<(String, &'static str)> {
    match &node.body {
        Body::Observe(observe) if observe.by_selector => Some((
            "a selector that picks nothing gives an empty record".to_owned(),
            "leave `optional` out, and judge the record",
        )),
        _ => None,
    }
}

fn ready_of_once(node: &Node) -> Option<(String, &'static str)> {
    node.once.as_ref()?;
    Some(("a `once` is ready when it is done".to_owned(), "write it as `once.done`"))
}

/// A `before` of an Also edge is what its condition reads; without a condition nobody reads it.
fn pointless_before(name: &str, node: &Node) -> Vec<Diagnostic> {
    let edges = node.also.iter().chain(&node.deleting);
    edges
        .filter(|(_, edge)| edge.when.is_none())
        .filter_map(|(to, edge)| {
            let (_, read) = edge.before.first_key_value()?;
            Some(
                Diagnostic::error(
                    codes::MISPLACED_CLAUSE,
                    format!(
                        "the edge from `{name}` to `{to}` has a `before` and no `when` that would read it"
                    ),
                )
                .at(read.span.clone(), "says nothing here")
                .hint(format!("an order belongs into the `before` of `{to}`; a condition is a `when`")),
            )
        })
        .collect()
}

fn foreign_finalizer(name: &str, node: &Node) -> Option<Diagnostic> {
    let Body::Root(root) = &node.body else { return None };
    let RootTarget::Foreign { kind, .. } = &root.target else { return None };
    if node.deleting.is_empty() {
        return None;
    }
    Some(
        Diagnostic::remark(
            codes::FOREIGN_FINALIZER,
            format!(
                "`deleting` on `{name}` puts a finalizer of ours on {kind} objects that somebody else owns"
            ),
        )
        .at(node.span_of(Clause::Deleting).clone(), "needs a finalizer")
        .note("their deletion waits until these nodes are done"),
    )
}

/// `each` goes from member to member: both ends need members.
fn members(blueprint: &Blueprint, name: &str, node: &Node) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for (precursor, edge) in node.before.iter().filter(|(_, edge)| edge.each) {
        let Some(from) = blueprint.nodes.get(precursor) else { continue };
        let collection = matches!(&from.body, Body::Observe(observe) if observe.by_selector);
        let without = if node.for_each.is_none() {
            name
        } else if from.for_each.is_none() && !collection {
            precursor
        } else {
            continue;
        };
        problems.push(
            Diagnostic::error(
                codes::NO_MEMBERS,
                format!("the edge from `{precursor}` to `{name}` goes member by member, but `{without}` has no members"),
            )
            .at(edge.span.clone(), "`each = true` here")
            .hint(format!("give `{without}` a `for_each`, or leave `each` out: then the edge waits for all members")),
        );
    }
    problems
}
