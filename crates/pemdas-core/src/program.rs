//! A blueprint made ready to run: the order of its vertices, the chains of its states and onces.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    blueprint::{AlsoEdge, Blueprint, Body, ContractRef, Node, Removal},
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
    /// By node: the nodes with objects that it comes after, directly or through nodes and conditions without one, along
    /// edges that order the removal too.
    pub(crate) origins: BTreeMap<String, BTreeSet<String>>,
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
        let origins = origins(&blueprint, graph, &after);
        let mut program = Self {
            blueprint,
            root: root.to_owned(),
            revision,
            steps,
            needs,
            states,
            after,
            origins,
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

    /// Whether some order or memory needs a finalizer on the root.
    fn wants_order(&self) -> bool {
        let made = |name: &str| self.node(name).is_some_and(|it| matches!(it.body, Body::Template(_)));
        self.blueprint.nodes.iter().any(|(name, node)| {
            (made(name) && self.origins.get(name).is_some_and(|it| !it.is_empty()))
                || self.remembers(name)
                || !node.deleting.is_empty()
        })
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

/// The nodes with objects that each node comes after. A state stands for its object, unless the object's last state
/// comes later still: then it goes first when all is torn down.
fn origins(
    blueprint: &Blueprint,
    graph: &Graph,
    after: &BTreeMap<String, BTreeSet<String>>,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut back: BTreeMap<&Vertex, Vec<&Vertex>> = BTreeMap::new();
    for link in graph.sequence.iter().filter(|it| it.removal == Removal::Reverse) {
        back.entry(&link.to).or_default().push(&link.from);
    }
    let mut all = BTreeMap::new();
    for name in blueprint.nodes.keys() {
        let start = Vertex::Node(name.clone());
        let (mut open, mut seen, mut found) = (vec![&start], BTreeSet::new(), BTreeSet::new());
        while let Some(vertex) = open.pop() {
            for from in back.get(vertex).into_iter().flatten() {
                if !seen.insert(*from) {
                    continue;
                }
                let node = match from {
                    Vertex::Node(precursor) => blueprint.nodes.get(precursor).map(|node| (precursor, node)),
                    Vertex::Condition { .. } => None,
                };
                match node {
                    Some((precursor, node)) if matches!(node.body, Body::Template(_)) => {
                        let object = node.state_of.as_ref().unwrap_or(precursor);
                        let later = after.get(name).is_some_and(|it| it.contains(object));
                        if object != name && !later {
                            found.insert(object.clone());
                        }
                    }
                    _ => open.push(from),
                }
            }
        }
        all.insert(name.clone(), found);
    }
    all
}
