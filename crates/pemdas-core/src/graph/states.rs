//! States of one object: what may have them, and that they stand in an order.

use std::collections::BTreeMap;

use super::{Graph, codes, order};
use crate::{
    blueprint::{Blueprint, Body, Clause, Node, StaticText},
    diagnostic::Diagnostic,
};

pub(super) fn check(blueprint: &Blueprint, graph: &Graph) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let mut states: BTreeMap<&str, Vec<(&str, &Node)>> = BTreeMap::new();
    for (name, node) in &blueprint.nodes {
        let Some(object) = &node.state_of else { continue };
        states.entry(object).or_default().push((name, node));
        let Some(of) = blueprint.nodes.get(object) else { continue };
        problems.extend(bad_target(name, node, object, of));
        problems.extend(other_kind(name, node, object, of));
    }
    for (object, states) in &states {
        problems.extend(unordered(graph, object, states));
    }
    problems
}

fn bad_target(name: &str, node: &Node, object: &str, of: &Node) -> Option<Diagnostic> {
    let why = if name == object {
        "is a state of itself".to_owned()
    } else if !matches!(of.body, Body::Template(_)) {
        format!(
            "is a state of `{object}`, which has `{}`: only what a template makes has states",
            of.body.clause()
        )
    } else if let Some(last) = &of.state_of {
        format!("is a state of `{object}`, which is itself a state of `{last}`")
    } else if of.once.is_some() {
        format!("is a state of `{object}`, which is a `once`: it is made once and not changed")
    } else {
        return None;
    };
    let hint = match &of.state_of {
        Some(last) if name != object => {
            format!("write `state_of = \"{last}\"`, and order the two states by `before`")
        }
        _ => "name the node whose template makes the object".to_owned(),
    };
    Some(
        Diagnostic::error(codes::BAD_STATE, format!("`{name}` {why}"))
            .at(node.span_of(Clause::StateOf).clone(), "")
            .see(of.span.clone(), "this node")
            .hint(hint),
    )
}

/// A patch may repeat the kind of its object, but not change it.
fn other_kind(name: &str, node: &Node, object: &str, of: &Node) -> Vec<Diagnostic> {
    let (Some(patch), Some(whole)) = (node.body.identity(), of.body.identity()) else { return Vec::new() };
    let mut problems = Vec::new();
    for (field, is, wants) in
        [("apiVersion", &patch.api_version, &whole.api_version), ("kind", &patch.kind, &whole.kind)]
    {
        if let (StaticText::Known(is), StaticText::Known(wants)) = (is, wants)
            && is != wants
        {
            problems.push(
                Diagnostic::error(
                    codes::BAD_STATE,
                    format!(
                        "`{name}` is a state of `{object}`, but its `{field}` is \"{is}\", not \"{wants}\""
                    ),
                )
                .at(node.span_of(Clause::Template).clone(), "a patch over the object")
                .see(of.span_of(Clause::Template).clone(), "the object")
                .hint(format!("leave `{field}` out: the template of a state is only what differs")),
            );
        }
    }
    problems
}

/// Two states that may act at once would undo each other.
fn unordered(graph: &Graph, object: &str, states: &[(&str, &Node)]) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for (index, (name, node)) in states.iter().enumerate() {
        let after = order::successors(graph, name);
        for (other, first) in &states[..index] {
            if after.contains(*other) || order::successors(graph, other).contains(*name) {
                continue;
            }
            problems.push(
                Diagnostic::error(
                    codes::UNORDERED_STATES,
                    format!("`{other}` and `{name}` are states of `{object}` and never meet: neither comes after the other"),
                )
                .at(node.span_of(Clause::StateOf).clone(), format!("a state of `{object}`"))
                .see(first.span_of(Clause::StateOf).clone(), format!("another state of `{object}`"))
                .note("an object is in one state at a time: without an order both would be applied at once")
                .hint(format!("write `before = [\"{other}\"]` in `{name}`, or put nodes between them that lead from one to the other")),
            );
        }
    }
    problems
}
