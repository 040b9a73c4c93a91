//! The Also graph: what is reached, what is needed in any case, and what is needed whenever something else is.

use std::collections::{BTreeMap, BTreeSet};

use super::{AlsoLink, AlsoOrigin, Graph, OWN_ROOT, codes};
use crate::suggest;
use crate::{
    blueprint::{Blueprint, Body, SequenceEdge},
    diagnostic::Diagnostic,
};

/// What is reached from some nodes along the edges that the filter lets through, the nodes themselves included.
pub(super) fn closure<'a>(
    graph: &'a Graph,
    from: impl IntoIterator<Item = &'a str>,
    takes: impl Fn(&AlsoLink) -> bool,
) -> BTreeSet<&'a str> {
    let mut successors: BTreeMap<&str, Vec<&AlsoLink>> = BTreeMap::new();
    for link in &graph.also {
        successors.entry(&link.from).or_default().push(link);
    }
    let mut reached: BTreeSet<&str> = from.into_iter().collect();
    let mut open: Vec<&str> = reached.iter().copied().collect();
    while let Some(name) = open.pop() {
        for link in successors.get(name).into_iter().flatten() {
            if takes(link) && reached.insert(&link.to) {
                open.push(&link.to);
            }
        }
    }
    reached
}

/// A root in one of its two modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instance<'a> {
    /// The root.
    pub(super) root: &'a str,
    /// Whether the edges of its deletion count too.
    pub(super) deleting: bool,
}

impl Instance<'_> {
    fn takes(self, link: &AlsoLink) -> bool {
        self.deleting || link.origin != AlsoOrigin::Deleting
    }
}

/// Every root, present and going.
pub(super) fn instances(graph: &Graph) -> impl Iterator<Item = Instance<'_>> {
    graph.roots.iter().flat_map(|root| [false, true].map(|deleting| Instance { root, deleting }))
}

/// What an instance may need.
pub(super) fn may_need<'a>(graph: &'a Graph, instance: Instance<'a>) -> BTreeSet<&'a str> {
    closure(graph, [instance.root], |link| instance.takes(link))
}

/// What an instance needs whatever its conditions say.
pub(super) fn must_need<'a>(graph: &'a Graph, instance: Instance<'a>) -> BTreeSet<&'a str> {
    closure(graph, [instance.root], |link| instance.takes(link) && !link.conditional)
}

/// What every present instance that may need it needs in any case: no condition matters to it.
pub(super) fn always_needed(graph: &Graph) -> BTreeSet<String> {
    let mut sometimes = BTreeSet::new();
    let mut ever = BTreeSet::new();
    for root in &graph.roots {
        // A node of the deletion is judged with the edges of the deletion, any other without.
        let present = Instance { root, deleting: false };
        let (may, must) = (may_need(graph, present), must_need(graph, present));
        let going = Instance { root, deleting: true };
        let must_going = must_need(graph, going);
        for name in may_need(graph, going) {
            ever.insert(name.to_owned());
            let must = if may.contains(name) { &must } else { &must_going };
            if !must.contains(name) {
                sometimes.insert(name.to_owned());
            }
        }
    }
    ever.difference(&sometimes).cloned().collect()
}

/// Whether an instance that needs `name` needs `other` too, whatever its conditions say.
///
/// It does if every way from the root to `name` passes something that needs `other` in any case; a condition that
/// reads a node is only true if that node is needed.
pub(super) fn implies(graph: &Graph, instance: Instance<'_>, name: &str, other: &str) -> bool {
    let mut needing = BTreeSet::from([other]);
    loop {
        let before = needing.len();
        for link in graph.also.iter().filter(|link| instance.takes(link) && !link.conditional) {
            if needing.contains(link.to.as_str()) {
                needing.insert(&link.from);
            }
        }
        if needing.len() == before {
            break;
        }
    }
    if needing.contains(instance.root) || needing.contains(name) {
        return true;
    }
    let reached = closure(graph, [instance.root], |link| {
        let proves = |it: &String| needing.contains(it.as_str());
        instance.takes(link) && !proves(&link.to) && !(link.conditional && link.reads.iter().any(proves))
    });
    !reached.contains(name)
}

pub(super) fn check(blueprint: &Blueprint, graph: &Graph) -> Vec<Diagnostic> {
    let mut problems = unreachable(blueprint, graph);
    for (name, node) in &blueprint.nodes {
        for (precursor, edge) in &node.before {
            problems.extend(perhaps_missing(blueprint, graph, name, precursor, edge));
        }
        for (to, also) in node.also.iter().chain(&node.deleting) {
            for (precursor, edge) in &also.before {
                let about = format!("whether `{name}` needs `{to}`");
                problems.extend(never_needed_by_condition(blueprint, graph, name, &about, precursor, edge));
            }
        }
    }
    problems
}

fn unreachable(blueprint: &Blueprint, graph: &Graph) -> Vec<Diagnostic> {
    let reached: BTreeSet<_> = instances(graph).flat_map(|instance| may_need(graph, instance)).collect();
    let lost = blueprint.nodes.iter().filter(|(name, _)| !reached.contains(name.as_str()));
    lost.map(|(name, node)| {
        let roots: Vec<_> = graph.roots.iter().filter(|it| *it != OWN_ROOT).collect();
        let (message, hint) = if roots.is_empty() {
            (
                format!("nothing needs `{name}`: it is only needed by nodes that need each other"),
                "take it out of the circle of `also`, or give the blueprint a root".to_owned(),
            )
        } else {
            (
                format!("no root leads to `{name}`, so it would never be {}", done_to(&node.body)),
                format!("add it to the `also` of {}, or of a node that these need", suggest::quoted(&roots)),
            )
        };
        Diagnostic::error(codes::UNREACHABLE_NODE, message).at(node.span.clone(), "never needed").hint(hint)
    })
    .collect()
}

/// What happens to a node of a kind that is needed.
fn done_to(body: &Body) -> &'static str {
    match body {
        Body::Root(_) | Body::Template(_) => "made",
        Body::Observe(_) => "read",
        Body::Absent(_) => "deleted",
        Body::Value(_) => "computed",
    }
}

/// An extract from a node that is not needed whenever its reader is would wait for ever.
fn perhaps_missing(
    blueprint: &Blueprint,
    graph: &Graph,
    name: &str,
    precursor: &str,
    edge: &SequenceEdge,
) -> Option<Diagnostic> {
    let extract = edge.extract.as_ref()?;
    let read = blueprint.nodes.get(precursor)?;
    let instance = instances(graph).find(|instance| {
        let present = Instance { deleting: false, ..*instance };
        // A node of the present is judged in the present: the deletion only adds to what is needed.
        let counts = !instance.deleting || !may_need(graph, present).contains(name);
        counts && may_need(graph, *instance).contains(name) && !implies(graph, *instance, name, precursor)
    })?;
    let whose = if instance.root == OWN_ROOT { String::new() } else { format!(" for `{}`", instance.root) };
    let mut problem = Diagnostic::error(
        codes::MAY_NOT_BE_NEEDED,
        format!("`{name}` extracts from `{precursor}`, which may not be needed when `{name}` is{whose}"),
    )
    .at(extract.span.clone(), format!("reads `{precursor}`"))
    .see(read.span.clone(), "may not be there");
    let ways = graph.also.iter().filter(|link| link.to == precursor && instance.takes(link));
    for link in ways.take(3) {
        let how = if link.conditional { "needed only if its condition holds" } else { "needed from here" };
        problem = problem.see(link.span.clone(), how);
    }
    let hint = if matches!(read.body, Body::Root(_)) {
        format!("`{name}` belongs to another root: use a node of its own for each root")
    } else {
        format!("add `{precursor}` to the `also` of `{name}`, or need `{name}` only from `{precursor}`")
    };
    Some(problem.hint(hint))
}

/// A condition that reads a node which is never needed is always false.
fn never_needed_by_condition(
    blueprint: &Blueprint,
    graph: &Graph,
    name: &str,
    about: &str,
    precursor: &str,
    edge: &SequenceEdge,
) -> Option<Diagnostic> {
    let read = blueprint.nodes.get(precursor)?;
    edge.extract.as_ref()?;
    let reads_it = |instance: Instance<'_>| {
        let needed = may_need(graph, instance);
        needed.contains(name) && needed.contains(precursor)
    };
    let ever = instances(graph).any(|instance| may_need(graph, instance).contains(name));
    if !ever || instances(graph).any(reads_it) {
        return None;
    }
    Some(
        Diagnostic::error(
            codes::MAY_NOT_BE_NEEDED,
            format!(
                "{about} depends on `{precursor}`, which no instance with `{name}` needs: it is always false"
            ),
        )
        .at(edge.span.clone(), "never needed here")
        .see(read.span.clone(), "this node")
        .hint(format!("add `{precursor}` to the `also` of `{name}`")),
    )
}
