//! Both graphs of a blueprint as pictures: one description of what is to be seen, and a drawing of it for each form.

pub(crate) mod dot;
pub(crate) mod json;
mod labels;
mod layout;
pub(crate) mod mermaid;
mod moods;
pub(crate) mod svg;
pub(crate) mod text;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use pemdas_core::{
    blueprint::{Blueprint, Body, Node, RootTarget},
    graph::{AlsoLink, AlsoOrigin, Graph, OWN_ROOT, SequenceReason, Vertex},
};

pub(crate) use moods::{Mood, State};

/// What kind of thing a node is, for its looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Somebody creates it.
    Root,
    /// Pemdas applies it.
    Template,
    /// Somebody else owns it.
    Observe,
    /// It has to be gone.
    Absent,
    /// It is no object.
    Value,
}

impl Role {
    /// How the role is called in output for programs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Template => "template",
            Self::Observe => "observe",
            Self::Absent => "absent",
            Self::Value => "value",
        }
    }
}

/// A node to be drawn.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) role: Role,
    /// The kind of object, or nothing.
    pub(crate) kind: String,
    /// What else is worth seeing: a state, a once, members.
    pub(crate) marks: Vec<String>,
    /// How many steps from the start, if there is an order.
    pub(crate) step: Option<usize>,
    /// Whether only the deletion of a root needs it.
    pub(crate) on_deletion: bool,
    /// What a plan says of it.
    pub(crate) state: Option<State>,
}

impl Item {
    /// The second line below the name. A state is of its object's kind, which stands there.
    pub(crate) fn subtitle(&self) -> String {
        let is_state = self.marks.iter().any(|mark| mark.starts_with("state of "));
        let kind = (!self.kind.is_empty() && !is_state).then(|| self.kind.clone());
        kind.into_iter().chain(self.marks.iter().cloned()).collect::<Vec<_>>().join(" · ")
    }
}

/// An edge of the Also graph to be drawn.
#[derive(Debug, Clone)]
pub(crate) struct Need {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) origin: AlsoOrigin,
    /// The condition, as written.
    pub(crate) when: Option<String>,
    /// What the condition waits for.
    pub(crate) reads: Vec<Wait>,
}

impl Need {
    /// Whether the author wrote it; what only follows from other clauses is not drawn twice.
    pub(crate) fn is_written(&self) -> bool {
        matches!(self.origin, AlsoOrigin::Written | AlsoOrigin::Deleting | AlsoOrigin::OwnRoot)
    }
}

/// An edge of the Sequence graph to be drawn.
#[derive(Debug, Clone)]
pub(crate) struct Wait {
    pub(crate) from: String,
    pub(crate) to: String,
    /// The shape waited for, if it is not `ready`.
    pub(crate) until: Option<String>,
    pub(crate) extract: bool,
    pub(crate) each: bool,
    /// Whether it goes from a state to the last state of the object.
    pub(crate) state: bool,
}

impl Wait {
    /// What stands on the edge.
    pub(crate) fn label(&self) -> String {
        let mut parts: Vec<String> = self.until.clone().into_iter().collect();
        if self.each {
            parts.push("member by member".to_owned());
        }
        parts.join(", ")
    }
}

/// Everything that is to be seen of a blueprint.
#[derive(Debug, Clone)]
pub(crate) struct Picture {
    pub(crate) name: String,
    pub(crate) roots: Vec<String>,
    /// In the order of the source.
    pub(crate) items: Vec<Item>,
    pub(crate) needs: Vec<Need>,
    pub(crate) waits: Vec<Wait>,
    /// The instance whose plan is shown.
    pub(crate) subject: Option<String>,
    /// Which graphs are drawn.
    pub(crate) graphs: Graphs,
}

/// Which graphs are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Graphs {
    #[default]
    Both,
    Also,
    Sequence,
}

impl Picture {
    /// Describes the picture of a blueprint.
    pub(crate) fn of(blueprint: &Blueprint, graph: &Graph, sources: &BTreeMap<String, String>) -> Self {
        let steps: BTreeMap<&str, usize> =
            graph.order.iter().map(|(name, step)| (name.as_str(), *step)).collect();
        let present = present(graph);
        let mut items: Vec<Item> = Vec::new();
        if graph.roots == [OWN_ROOT] {
            items.push(Item {
                name: OWN_ROOT.to_owned(),
                role: Role::Root,
                kind: "its ConfigMap".to_owned(),
                marks: Vec::new(),
                step: Some(0),
                on_deletion: false,
                state: None,
            });
        }
        let mut nodes: Vec<_> = blueprint.nodes.iter().collect();
        nodes.sort_by_key(|(_, node)| (&node.span.file, node.span.start));
        for (name, node) in nodes {
            items.push(Item {
                name: name.clone(),
                role: role(node),
                kind: kind(blueprint, node),
                marks: marks(node),
                step: steps.get(name.as_str()).copied(),
                on_deletion: !present.contains(name.as_str()),
                state: None,
            });
        }
        let waits = |reason: SequenceReason| {
            graph.sequence.iter().filter(move |link| link.reason == reason).filter_map(move |link| {
                let (Vertex::Node(from), Vertex::Node(to)) = (&link.from, &link.to) else { return None };
                Some(Wait {
                    from: from.clone(),
                    to: to.clone(),
                    until: labels::until(link, sources),
                    extract: link.extract,
                    each: link.each,
                    state: reason == SequenceReason::State,
                })
            })
        };
        // Everything in the order of the source: it is the one that its author has in mind.
        let place = |name: &str| items.iter().position(|item| item.name == name);
        let mut roots = graph.roots.clone();
        roots.sort_by_key(|root| place(root));
        let mut needs: Vec<_> = graph.also.iter().map(|link| need(blueprint, graph, link, sources)).collect();
        needs.sort_by_key(|need| (place(&need.from), need.origin == AlsoOrigin::Deleting, place(&need.to)));
        let mut waits: Vec<_> = waits(SequenceReason::Before).chain(waits(SequenceReason::State)).collect();
        waits.sort_by_key(|wait| (place(&wait.to), place(&wait.from), wait.state));
        // Who writes the order of a state and its object out says nothing twice.
        waits.dedup_by(|next, kept| next.state && next.from == kept.from && next.to == kept.to);
        waits.sort_by_key(|wait| (place(&wait.to), wait.state, place(&wait.from)));
        let graphs = Graphs::Both;
        Self { name: blueprint.name.clone(), roots, needs, waits, items, subject: None, graphs }
    }

    /// The same with the edges of these graphs only.
    pub(crate) fn only(mut self, graphs: Graphs) -> Self {
        self.graphs = graphs;
        match graphs {
            Graphs::Both => {}
            Graphs::Also => {
                self.waits.clear();
                self.needs.iter_mut().for_each(|it| it.reads.clear());
            }
            Graphs::Sequence => self.needs.clear(),
        }
        self
    }

    /// The node of a name.
    pub(crate) fn item(&self, name: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.name == name)
    }
}

/// What the presence of a root may need.
fn present(graph: &Graph) -> BTreeSet<&str> {
    let mut reached: BTreeSet<&str> = graph.roots.iter().map(String::as_str).collect();
    loop {
        let before = reached.len();
        for link in graph.also.iter().filter(|link| link.origin != AlsoOrigin::Deleting) {
            if reached.contains(link.from.as_str()) {
                reached.insert(&link.to);
            }
        }
        if reached.len() == before {
            return reached;
        }
    }
}

fn role(node: &Node) -> Role {
    match node.body {
        Body::Root(_) => Role::Root,
        Body::Template(_) => Role::Template,
        Body::Observe(_) => Role::Observe,
        Body::Absent(_) => Role::Absent,
        Body::Value(_) => Role::Value,
    }
}

fn kind(blueprint: &Blueprint, node: &Node) -> String {
    let object = node.state_of.as_ref().and_then(|object| blueprint.nodes.get(object)).unwrap_or(node);
    let known = object.body.identity().and_then(|it| it.kind.known()).unwrap_or_default();
    match &node.body {
        Body::Root(root) => match &root.target {
            RootTarget::Owned(kind) | RootTarget::Foreign { kind, .. } => kind.clone(),
            RootTarget::Blueprint => "its ConfigMap".to_owned(),
        },
        Body::Observe(observe) if observe.by_selector => format!("each {known}"),
        Body::Absent(_) => format!("no {known}"),
        Body::Template(_) | Body::Observe(_) => known.to_owned(),
        Body::Value(_) => String::new(),
    }
}

fn marks(node: &Node) -> Vec<String> {
    let mut marks = Vec::new();
    if let Some(object) = &node.state_of {
        marks.push(format!("state of {object}"));
    }
    if node.once.is_some() {
        marks.push("once".to_owned());
    }
    if node.for_each.is_some() {
        marks.push("for each".to_owned());
    }
    if node.approve {
        marks.push("approved by hand".to_owned());
    }
    if matches!(&node.body, Body::Observe(observe) if observe.optional) {
        marks.push("optional".to_owned());
    }
    marks
}

fn need(blueprint: &Blueprint, graph: &Graph, link: &AlsoLink, sources: &BTreeMap<String, String>) -> Need {
    let deleting = link.origin == AlsoOrigin::Deleting;
    let edge = blueprint.nodes.get(&link.from).and_then(|node| {
        let edges = if deleting { &node.deleting } else { &node.also };
        edges.get(&link.to)
    });
    let when = edge.and_then(|edge| edge.when.as_ref()).filter(|_| link.conditional);
    let condition = Vertex::Condition { from: link.from.clone(), to: link.to.clone(), deleting };
    let read = graph.sequence.iter().filter(|it| it.reason == SequenceReason::Read && it.to == condition);
    Need {
        from: link.from.clone(),
        to: link.to.clone(),
        origin: link.origin,
        when: when.map(|when| labels::function(&when.span, sources)),
        reads: read
            .filter_map(|it| {
                let Vertex::Node(from) = &it.from else { return None };
                Some(Wait {
                    from: from.clone(),
                    to: link.to.clone(),
                    until: labels::until(it, sources),
                    extract: it.extract,
                    each: false,
                    state: false,
                })
            })
            .collect(),
    }
}
