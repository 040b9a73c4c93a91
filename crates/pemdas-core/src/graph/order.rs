//! The Sequence graph: an order of the nodes, or the circles that leave none.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Graph, SequenceLink, SequenceReason, Vertex, codes};
use crate::{
    blueprint::Blueprint,
    diagnostic::{Diagnostic, Span},
};

/// How many circles are reported: each may hide others, and an author mends a few at a time.
const MAX_CYCLES: usize = 10;

/// The nodes in order, each with its distance from the start, and the circles.
pub(super) fn order(blueprint: &Blueprint, graph: &Graph) -> (Vec<(String, usize)>, Vec<Diagnostic>) {
    let edges = Edges::of(blueprint, graph);
    let (order, stuck) = edges.sorted();
    let cycles = edges.cycles(stuck).iter().map(|cycle| report(blueprint, cycle)).collect();
    let nodes = order.into_iter().filter_map(|(vertex, depth)| match vertex {
        Vertex::Node(name) => Some((name.clone(), depth)),
        Vertex::Condition { .. } => None,
    });
    (nodes.collect(), cycles)
}

/// The nodes that come after a node, however many nodes lie between.
pub(super) fn successors(graph: &Graph, name: &str) -> BTreeSet<String> {
    let mut after: BTreeMap<&Vertex, Vec<&Vertex>> = BTreeMap::new();
    for link in &graph.sequence {
        after.entry(&link.from).or_default().push(&link.to);
    }
    let start = Vertex::Node(name.to_owned());
    let mut reached = BTreeSet::new();
    let mut open = vec![&start];
    while let Some(vertex) = open.pop() {
        for next in after.get(vertex).into_iter().flatten() {
            if reached.insert(*next) {
                open.push(next);
            }
        }
    }
    let nodes = reached.into_iter().filter_map(|vertex| match vertex {
        Vertex::Node(name) => Some(name.clone()),
        Vertex::Condition { .. } => None,
    });
    nodes.collect()
}

/// The edges by their two ends. Of several between the same two, the first.
struct Edges<'a> {
    vertices: BTreeSet<Vertex>,
    after: BTreeMap<Vertex, BTreeMap<Vertex, &'a SequenceLink>>,
}

impl<'a> Edges<'a> {
    fn of(blueprint: &Blueprint, graph: &'a Graph) -> Self {
        let mut vertices: BTreeSet<_> =
            blueprint.nodes.keys().map(|name| Vertex::Node(name.clone())).collect();
        let mut after: BTreeMap<Vertex, BTreeMap<Vertex, &SequenceLink>> = BTreeMap::new();
        for link in &graph.sequence {
            vertices.extend([link.from.clone(), link.to.clone()]);
            after.entry(link.from.clone()).or_default().entry(link.to.clone()).or_insert(link);
        }
        Self { vertices, after }
    }

    fn next(&self, vertex: &Vertex) -> impl Iterator<Item = (&Vertex, &'a SequenceLink)> {
        self.after.get(vertex).into_iter().flatten().map(|(to, link)| (to, *link))
    }

    /// Always the smallest of what has no open precursor: one blueprint, one order. And what is never free.
    fn sorted(&self) -> (Vec<(&Vertex, usize)>, BTreeSet<&Vertex>) {
        let mut waiting: BTreeMap<&Vertex, usize> = self.vertices.iter().map(|it| (it, 0)).collect();
        for to in self.after.values().flat_map(BTreeMap::keys) {
            *waiting.entry(to).or_default() += 1;
        }
        let mut depths: BTreeMap<&Vertex, usize> = BTreeMap::new();
        let mut free: BTreeSet<(usize, &Vertex)> =
            waiting.iter().filter(|(_, count)| **count == 0).map(|(vertex, _)| (0, *vertex)).collect();
        let mut order = Vec::new();
        while let Some((depth, vertex)) = free.pop_first() {
            waiting.remove(vertex);
            order.push((vertex, depth));
            // A condition takes no step of its own: it is judged in the round that opens it.
            let step = usize::from(matches!(vertex, Vertex::Node(_)));
            for (to, _) in self.next(vertex) {
                let reached = depths.entry(to).or_default();
                *reached = (*reached).max(depth + step);
                if let Some(count) = waiting.get_mut(to) {
                    *count -= 1;
                    if *count == 0 {
                        free.insert((*reached, to));
                    }
                }
            }
        }
        (order, waiting.into_keys().collect())
    }

    /// Shortest circles, no two with a common vertex.
    fn cycles(&self, mut stuck: BTreeSet<&Vertex>) -> Vec<Vec<&'a SequenceLink>> {
        let mut cycles = Vec::new();
        let candidates: Vec<_> = stuck.iter().copied().collect();
        for start in candidates {
            if cycles.len() == MAX_CYCLES {
                break;
            }
            if !stuck.contains(start) {
                continue;
            }
            if let Some(cycle) = self.shortest_cycle(start, &stuck) {
                for link in &cycle {
                    stuck.remove(&link.from);
                }
                cycles.push(cycle);
            }
        }
        cycles
    }

    /// Breadth first from a vertex back to it, over what is stuck.
    fn shortest_cycle(&self, start: &Vertex, stuck: &BTreeSet<&Vertex>) -> Option<Vec<&'a SequenceLink>> {
        let mut came_by: BTreeMap<&Vertex, &'a SequenceLink> = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(vertex) = queue.pop_front() {
            for (to, link) in self.next(vertex).filter(|(to, _)| stuck.contains(to)) {
                if to == start {
                    let mut cycle = vec![link];
                    let mut at = &link.from;
                    while at != start {
                        let link = *came_by.get(at)?;
                        cycle.push(link);
                        at = &link.from;
                    }
                    cycle.reverse();
                    return Some(cycle);
                }
                if !came_by.contains_key(to) {
                    came_by.insert(to, link);
                    queue.push_back(to);
                }
            }
        }
        None
    }
}

fn report(blueprint: &Blueprint, cycle: &[&SequenceLink]) -> Diagnostic {
    let mut path: Vec<_> = cycle.iter().map(|link| link.from.to_string()).collect();
    path.extend(cycle.first().map(|link| link.from.to_string()));
    let message = match cycle {
        [own] => format!("`{}` waits for itself", own.from),
        _ => format!("these wait for each other: {}", path.join(" -> ")),
    };
    let mut problem = Diagnostic::error(codes::SEQUENCE_CYCLE, message);
    for (index, link) in cycle.iter().enumerate() {
        let said = match link.reason {
            SequenceReason::Before => format!("`{}` comes after `{}`", link.to, link.from),
            SequenceReason::Read => format!("{} is decided after `{}`", link.to, link.from),
            SequenceReason::Gate => format!("`{}` comes after the condition on this edge", link.to),
            SequenceReason::State => {
                format!("`{}` is the last state, so it comes after `{}`", link.to, link.from)
            }
        };
        let span = Span::clone(&link.span);
        problem = if index == 0 { problem.at(span, said) } else { problem.see(span, said) };
    }
    if cycle.iter().any(|link| link.reason == SequenceReason::Gate) {
        problem = problem.note(
            "what is needed only if a condition holds waits until the condition is known, and so does whatever comes after it",
        );
    }
    let in_cycle =
        |vertex: &Vertex| matches!(vertex, Vertex::Node(name) if blueprint.nodes.contains_key(name));
    let hint = if cycle.iter().all(|link| in_cycle(&link.from) && link.reason == SequenceReason::Before) {
        "drop one of these edges; what is only needed together belongs into `also`, which may be circular"
    } else {
        "drop one of these edges"
    };
    problem.hint(hint)
}
