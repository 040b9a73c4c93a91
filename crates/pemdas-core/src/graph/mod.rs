//! The two graphs of a blueprint, and everything that is checked of them before anything runs.
//!
//! The *Also* graph says what must exist; the *Sequence* graph says what comes after what. Both lie over the same
//! nodes and are independent. A condition on an Also edge is a vertex of the Sequence graph of its own: it comes
//! after what it reads, and whatever is needed only if it holds comes after it.

mod build;
mod clauses;
pub mod codes;
mod identity;
mod need;
mod order;
mod reads;
mod states;
mod waits;

#[cfg(test)]
mod properties;
#[cfg(test)]
pub(crate) mod sketch;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    blueprint::{Blueprint, Removal},
    diagnostic::{Diagnostic, Span},
};

/// The root of a blueprint that has no root node: its own ConfigMap. No node can have this name.
pub const OWN_ROOT: &str = "(blueprint)";
/// How many nodes a blueprint may have.
pub const MAX_NODES: usize = 1_000;
/// How many edges a blueprint may have, of both kinds together.
pub const MAX_EDGES: usize = 10_000;

/// A vertex of the Sequence graph.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vertex {
    /// A node.
    Node(String),
    /// The condition of an Also edge.
    Condition {
        /// The node that has the edge.
        from: String,
        /// The node it leads to.
        to: String,
        /// Whether it is an edge of the root's deletion.
        deleting: bool,
    },
}

impl fmt::Display for Vertex {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(name) => out.write_str(name),
            Self::Condition { from, to, .. } => write!(out, "(whether {from} needs {to})"),
        }
    }
}

/// Where an Also edge comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlsoOrigin {
    /// From an `also`.
    Written,
    /// From a `deleting`.
    Deleting,
    /// From an `extract`: who reads an observed object or a value needs it.
    Extract,
    /// From a `state_of`: who needs a state needs the object.
    State,
    /// From there being no root: the blueprint's own ConfigMap needs what nothing else does.
    OwnRoot,
}

/// An edge of the Also graph: needing `from` means also needing `to`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AlsoLink {
    /// Who needs.
    pub from: String,
    /// What is needed.
    pub to: String,
    /// Where it comes from.
    pub origin: AlsoOrigin,
    /// Whether it has a condition.
    pub conditional: bool,
    /// The nodes whose extracts the condition reads: it is only true if they are needed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// Where it is written.
    pub span: Span,
}

/// Why one vertex comes after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SequenceReason {
    /// A `before` of a node.
    Before,
    /// A `before` of a condition.
    Read,
    /// The node is only needed if the condition holds.
    Gate,
    /// The node is the last state of an object, and this is an earlier one.
    State,
}

/// An edge of the Sequence graph: `to` comes after `from`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SequenceLink {
    /// What comes first.
    pub from: Vertex,
    /// What comes after it.
    pub to: Vertex,
    /// Why.
    pub reason: SequenceReason,
    /// The shape `from` must have, in few words; nothing where it is its `ready`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Where that shape is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_span: Option<Span>,
    /// Whether data flows along it.
    pub extract: bool,
    /// Whether it goes from member to member.
    pub each: bool,
    /// Which of the two ends is removed first.
    #[serde(default, skip_serializing_if = "Removal::is_default")]
    pub removal: Removal,
    /// Where it is written.
    pub span: Span,
}

/// Both graphs of a blueprint.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Graph {
    /// The roots, by name; [`OWN_ROOT`] where there is none.
    pub roots: Vec<String>,
    /// The Also graph.
    pub also: Vec<AlsoLink>,
    /// The Sequence graph.
    pub sequence: Vec<SequenceLink>,
    /// The nodes in an order that the Sequence graph allows, each with how many steps it is from the start; what
    /// is part of a cycle, or comes after one, is left out.
    pub order: Vec<(String, usize)>,
}

impl Graph {
    /// Builds both graphs and checks them: everything that is wrong, not only the first, in the order of the
    /// source.
    #[must_use]
    pub fn of(blueprint: &Blueprint) -> (Self, Vec<Diagnostic>) {
        if let Some(problem) = too_large(blueprint) {
            return (Self::default(), vec![problem]);
        }
        let (mut graph, mut problems) = build::build(blueprint);
        let (order, cycles) = order::order(blueprint, &graph);
        graph.order = order;
        problems.extend(cycles);
        problems.extend(clauses::check(blueprint));
        problems.extend(need::check(blueprint, &graph));
        problems.extend(reads::check(blueprint, &graph));
        problems.extend(identity::check(blueprint, &graph));
        problems.extend(states::check(blueprint, &graph));
        problems.extend(waits::check(blueprint, &graph));
        sort(&mut problems);
        (graph, problems)
    }
}

/// By place, then by code: an author mends from the top of a file to its end.
fn sort(problems: &mut Vec<Diagnostic>) {
    problems.sort_by(|a, b| {
        let key = |it: &Diagnostic| (it.labels.first().map(|label| label.span.clone()), it.code.clone());
        key(a).cmp(&key(b)).then_with(|| a.message.cmp(&b.message))
    });
    problems.dedup();
}

fn too_large(blueprint: &Blueprint) -> Option<Diagnostic> {
    let nodes = blueprint.nodes.len();
    let edges: usize = blueprint
        .nodes
        .values()
        .map(|node| {
            let conditions = node.also.values().chain(node.deleting.values());
            node.also.len()
                + node.deleting.len()
                + node.before.len()
                + conditions.map(|edge| edge.before.len()).sum::<usize>()
        })
        .sum();
    let (count, what, limit) = if nodes > MAX_NODES {
        (nodes, "nodes", MAX_NODES)
    } else if edges > MAX_EDGES {
        (edges, "edges", MAX_EDGES)
    } else {
        return None;
    };
    Some(
        Diagnostic::error(codes::TOO_LARGE, format!("the blueprint has {count} {what}; {limit} are allowed"))
            .at(blueprint.span.clone(), "")
            .hint(
                "use `for_each` for things that are alike, or split the blueprint: small kinds work together",
            ),
    )
}
