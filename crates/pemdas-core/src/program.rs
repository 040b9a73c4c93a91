//! A blueprint made ready to run: the order of its vertices, the chains of its states and onces.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    blueprint::{AlsoEdge, Blueprint, Body, ContractRef, Node, Removal, SequenceEdge},
    graph::{AlsoOrigin, Graph, Vertex},
};

/// A revision of a blueprint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision {
    /// Its name.
    pub name: String,
    /// Its place among the revisions.
    pub ordinal: u64,
}

/// An Also edge with a place in the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) to: String,
    pub(crate) conditional: bool,
    pub(crate) deleting: bool,
    /// Whether it is only there because a state needs its object.
    pub(crate) state: bool,
}

/// A blueprint and one of its roots, ready to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// The blueprint.
    pub blueprint: Blueprint,
    /// The name of the root's node, or [`crate::graph::OWN_ROOT`].
    pub root: String,
    /// The revision.
    pub revision: Revision,
    pub(crate) steps: Vec<Vertex>,
    pub(crate) needs: BTreeMap<String, Vec<Need>>,
    /// By the node that names the object: its states in order, that node itself last.
    pub(crate) states: BTreeMap<String, Vec<String>>,
    /// By node: everything that comes after it.
    pub(crate) after: BTreeMap<String, BTreeSet<String>>,
    /// By node: the nodes directly before it, and those that a condition before it reads, along edges that order the
    /// removal too.
    removed_after: BTreeMap<String, BTreeSet<String>>,
    pub(crate) ordered: bool,
}

impl Program {
    /// Makes a blueprint ready. Nothing if the graph has a circle: such a blueprint has errors and never runs.
    #[must_use]
    pub fn new(blueprint: Blueprint, graph: &Graph, root: &str, revision: Revision) -> Option<Self> {
        let steps = sorted(&blueprint, graph)?;
        let mut needs: BTreeMap<String, Vec<Need>> = BTreeMap::new();
        for link in &graph.also {
            needs.entry(link.from.clone()).or_default().push(Need {
                to: link.to.clone(),
                conditional: link.conditional,
                deleting: link.origin == AlsoOrigin::Deleting,
                state: link.origin == AlsoOrigin::State,
            });
        }
        let after = reachable(graph, &steps);
        let position: BTreeMap<&str, usize> = steps
            .iter()
            .enumerate()
            .filter_map(|(at, it)| match it {
                Vertex::Node(name) => Some((name.as_str(), at)),
                Vertex::Condition { .. } => None,
            })
            .collect();
        let mut states: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, node) in &blueprint.nodes {
            if let Some(object) = &node.state_of {
                states.entry(object.clone()).or_default().push(name.clone());
            }
        }
        for (object, names) in &mut states {
            names.sort_by_key(|name| position.get(name.as_str()).copied());
            names.push(object.clone());
        }
        let removed_after = removed_after(&blueprint, graph);
        let mut program = Self {
            blueprint,
            root: root.to_owned(),
            revision,
            steps,
            needs,
            states,
            after,
            removed_after,
            ordered: false,
        };
        program.ordered = program.wants_order();
        Some(program)
    }

    /// A node by name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.blueprint.nodes.get(name)
    }

    /// The contract of the root's spec, where it is of a kind that the blueprint owns.
    pub(crate) fn contract(&self, api_version: &str) -> Option<&ContractRef> {
        match &self.node(&self.root)?.body {
            Body::Root(root) => self.blueprint.contract(&root.target, api_version),
            _ => None,
        }
    }

    /// The Also edge of a condition.
    pub(crate) fn condition(&self, from: &str, to: &str, deleting: bool) -> Option<&AlsoEdge> {
        let node = self.node(from)?;
        if deleting { node.deleting.get(to) } else { node.also.get(to) }
    }

    /// Whether a node's attempts are remembered: a once, a state, or an object that has states.
    pub(crate) fn remembers(&self, name: &str) -> bool {
        self.states.contains_key(name)
            || self.node(name).is_some_and(|it| it.once.is_some() || it.state_of.is_some())
    }

    /// The states and onces that come after one: what its attempt makes due again.
    pub(crate) fn later(&self, name: &str) -> impl Iterator<Item = &str> {
        self.after.get(name).into_iter().flatten().map(String::as_str).filter(|it| self.remembers(it))
    }

    /// The nodes directly before a node, along edges that order the removal too.
    pub(crate) fn removed_after(&self, name: &str) -> impl Iterator<Item = &String> {
        self.removed_after.get(name).into_iter().flatten()
    }

    /// The node whose object a node has to outlive when it comes before `later`; none where it has no object. A state
    /// stands for its object, unless the object's last state comes later still: then that goes first when all is removed.
    pub(crate) fn origin<'p>(&'p self, later: &str, precursor: &'p str) -> Option<&'p str> {
        let node = self.node(precursor).filter(|it| matches!(it.body, Body::Template(_)))?;
        let object = node.state_of.as_deref().unwrap_or(precursor);
        let goes_first = object == later || self.after.get(later).is_some_and(|it| it.contains(object));
        (!goes_first).then_some(object)
    }

    /// The nodes directly before a node: what its edges name, and its states.
    pub(crate) fn directly_before(&self, name: &str) -> impl Iterator<Item = (&str, Option<&SequenceEdge>)> {
        let written = self.node(name).into_iter().flat_map(|it| &it.before);
        let states = self.states.get(name).into_iter().flatten().filter(move |it| *it != name);
        let written = written.map(|(precursor, edge)| (precursor.as_str(), Some(edge)));
        written.chain(states.map(|it| (it.as_str(), None)))
    }

    /// Whether some order or memory needs a finalizer on the root.
    fn wants_order(&self) -> bool {
        self.blueprint.nodes.iter().any(|(name, node)| {
            (matches!(node.body, Body::Template(_)) && self.has_origin(name))
                || self.remembers(name)
                || !node.deleting.is_empty()
        })
    }

    /// Whether a node comes after another object, directly or through nodes and conditions without one.
    fn has_origin(&self, name: &str) -> bool {
        let (mut open, mut seen) = (vec![name], BTreeSet::new());
        while let Some(at) = open.pop() {
            for precursor in self.removed_after(at).filter(|it| seen.insert(it.as_str())) {
                if self.origin(name, precursor).is_some() {
                    return true;
                }
                open.push(precursor);
            }
        }
        false
    }

    /// Whether the root's deletion has nodes of its own.
    pub(crate) fn has_deletion(&self) -> bool {
        self.node(&self.root).is_some_and(|it| !it.deleting.is_empty())
    }
}

fn sorted(blueprint: &Blueprint, graph: &Graph) -> Option<Vec<Vertex>> {
    let mut waiting: BTreeMap<Vertex, usize> =
        blueprint.nodes.keys().map(|name| (Vertex::Node(name.clone()), 0)).collect();
    for link in &graph.also {
        if link.conditional {
            let deleting = link.origin == AlsoOrigin::Deleting;
            let condition = Vertex::Condition { from: link.from.clone(), to: link.to.clone(), deleting };
            waiting.insert(condition, 0);
        }
    }
    let mut next: BTreeMap<&Vertex, Vec<&Vertex>> = BTreeMap::new();
    for link in &graph.sequence {
        waiting.entry(link.from.clone()).or_default();
        *waiting.entry(link.to.clone()).or_default() += 1;
        next.entry(&link.from).or_default().push(&link.to);
    }
    let total = waiting.len();
    let mut free: BTreeSet<Vertex> =
        waiting.iter().filter(|(_, count)| **count == 0).map(|(it, _)| it.clone()).collect();
    let mut steps = Vec::with_capacity(total);
    while let Some(vertex) = free.pop_first() {
        for to in next.get(&vertex).into_iter().flatten() {
            if let Some(count) = waiting.get_mut(*to) {
                *count -= 1;
                if *count == 0 {
                    free.insert((*to).clone());
                }
            }
        }
        steps.push(vertex);
    }
    (steps.len() == total).then_some(steps)
}

/// What comes after each node, through nodes and conditions alike.
fn reachable(graph: &Graph, steps: &[Vertex]) -> BTreeMap<String, BTreeSet<String>> {
    let mut next: BTreeMap<&Vertex, Vec<&Vertex>> = BTreeMap::new();
    for link in &graph.sequence {
        next.entry(&link.from).or_default().push(&link.to);
    }
    let mut all: BTreeMap<&Vertex, BTreeSet<&str>> = BTreeMap::new();
    for vertex in steps.iter().rev() {
        let mut reached = BTreeSet::new();
        for to in next.get(vertex).into_iter().flatten() {
            if let Vertex::Node(name) = to {
                reached.insert(name.as_str());
            }
            reached.extend(all.get(to).into_iter().flatten().copied());
        }
        all.insert(vertex, reached);
    }
    let nodes = all.into_iter().filter_map(|(vertex, reached)| match vertex {
        Vertex::Node(name) => Some((name.clone(), reached.into_iter().map(str::to_owned).collect())),
        Vertex::Condition { .. } => None,
    });
    nodes.collect()
}

/// The nodes directly before each node, along edges that order the removal too; conditions between them are gone through.
fn removed_after(blueprint: &Blueprint, graph: &Graph) -> BTreeMap<String, BTreeSet<String>> {
    let mut back: BTreeMap<&Vertex, Vec<&Vertex>> = BTreeMap::new();
    for link in graph.sequence.iter().filter(|it| it.removal == Removal::Reverse) {
        back.entry(&link.to).or_default().push(&link.from);
    }
    let mut all = BTreeMap::new();
    for name in blueprint.nodes.keys() {
        let start = Vertex::Node(name.clone());
        let (mut open, mut seen, mut found) = (vec![&start], BTreeSet::new(), BTreeSet::new());
        while let Some(vertex) = open.pop() {
            for from in back.get(vertex).into_iter().flatten().filter(|it| seen.insert(**it)) {
                match from {
                    Vertex::Node(precursor) => {
                        found.insert(precursor.clone());
                    }
                    Vertex::Condition { .. } => open.push(from),
                }
            }
        }
        all.insert(name.clone(), found);
    }
    all
}
