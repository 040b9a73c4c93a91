//! Why something is where it is: the chain of waits to its root cause. The core says it of the cluster as it is now; the status on the
//! object says since when, and what the operator was told when it tried (a refusal is not seen from outside).

mod advice;
mod find;
mod fleet;
pub(crate) mod json;
mod merge;
#[cfg(test)]
mod tests;
pub(crate) mod text;
pub(crate) mod time;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use pemdas_core::{
    decide::{Cause, Mode},
    ledger::{Entry, Slot},
    shape,
    world::ObjectKey,
};
use serde_json::Value;

use crate::draw::Picture;

pub(crate) use find::{Explainer, Listed};
pub(crate) use fleet::Fleet;

/// How deep a chain of waits is told.
const MAX_DEPTH: usize = 32;
/// How many lines a chain of waits has.
const MAX_LINKS: usize = 100;

/// Something that was asked about.
pub(crate) enum Explained {
    /// An instance, perhaps because of one of its objects.
    Instance(Box<Instance>),
    /// A blueprint: what the operator tells of it.
    Blueprint(Box<Blueprint>),
    /// Nothing of Pemdas.
    Nobodys {
        /// The object.
        object: ObjectKey,
        /// Who has to do with its kind.
        notes: Vec<String>,
    },
}

impl Explained {
    /// The object that it is about: of an object of an instance, that object.
    pub(crate) fn about(&self) -> &ObjectKey {
        match self {
            Self::Instance(it) => it.focus.as_ref().map_or(&it.root, |focus| &focus.object),
            Self::Blueprint(it) => &it.object,
            Self::Nobodys { object, .. } => object,
        }
    }
}

/// What the operator tells of a blueprint.
pub(crate) struct Blueprint {
    /// Its ConfigMap.
    pub(crate) object: ObjectKey,
    /// The account that everything is done as.
    pub(crate) account: String,
    /// What is told.
    pub(crate) told: Value,
    /// What a human can do.
    pub(crate) advice: Vec<String>,
}

/// How an instance is, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    Ready,
    Reconciling,
    Stalled,
    Deleting,
    Suspended,
}

impl State {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Reconciling => "Reconciling",
            Self::Stalled => "Stalled",
            Self::Deleting => "Deleting",
            Self::Suspended => "Suspended",
        }
    }
}

/// An instance and why it is where it is.
pub(crate) struct Instance {
    /// The root.
    pub(crate) root: ObjectKey,
    /// How kubectl is told of the root: `-n shop webs.example.com/one`.
    pub(crate) address: String,
    /// The ConfigMap of its blueprint.
    pub(crate) blueprint: String,
    /// The account that everything is done as.
    pub(crate) account: String,
    /// The revision it is at.
    pub(crate) revision: Option<String>,
    /// The revision that runs, where that is another one.
    pub(crate) newer: Option<String>,
    pub(crate) state: State,
    pub(crate) mode: Mode,
    /// Since when it is so.
    pub(crate) since: Option<String>,
    pub(crate) nodes: BTreeMap<Slot, Node>,
    pub(crate) edges: Edges,
    /// Both graphs of the revision that it is at, where that could be read.
    pub(crate) picture: Option<Arc<Picture>>,
    /// By node: the instances that its objects start, and that are not ready.
    pub(crate) beyond: BTreeMap<Slot, Vec<Instance>>,
    /// Why nothing is written for it, where a human said so.
    pub(crate) suspended: Option<String>,
    /// What stands in the way of the whole instance.
    pub(crate) causes: Vec<String>,
    /// The object that was asked about, if it is not the root.
    pub(crate) focus: Option<Focus>,
    /// What people were told of it, newest first.
    pub(crate) events: Vec<Value>,
    pub(crate) advice: Vec<String>,
    pub(crate) notes: Vec<String>,
}

/// A node, or a member of one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Node {
    /// How far it is.
    pub(crate) phase: String,
    /// Why it is not further.
    pub(crate) why: Vec<Why>,
    /// Since when.
    pub(crate) since: Option<String>,
    /// Its objects.
    pub(crate) objects: Vec<ObjectKey>,
    /// What would be written next, by an operator that runs.
    pub(crate) next: Option<String>,
    /// The same as a diff, without values of Secrets.
    pub(crate) diff: Option<String>,
    /// What the ledger has of a state or a once. Its key and its result stay here: they may be made of Secrets.
    pub(crate) tried: Option<Entry>,
}

impl Node {
    pub(crate) fn is_ready(&self) -> bool {
        self.phase == "Ready"
    }
}

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Why {
    /// In words.
    pub(crate) text: String,
    /// The node it waits for.
    pub(crate) on: Option<Slot>,
    /// What is not as it should be, field by field.
    pub(crate) reasons: Vec<shape::Why>,
}

impl Why {
    fn of(cause: &Cause) -> Self {
        let (on, reasons) = match cause {
            Cause::Waits { on, reasons } => (Some(on.clone()), reasons.clone()),
            Cause::Shape(reasons) => (None, reasons.clone()),
            _ => (None, Vec::new()),
        };
        Self { text: crate::plan::words::why(cause), on, reasons }
    }

    /// From what a status says: the one sentence in which a wait is told names the node first.
    fn told(text: &str) -> Self {
        let on = text.strip_prefix("waits for ").map(|rest| rest.split(": ").next().unwrap_or(rest));
        let on = on.filter(|it| !it.contains(' ')).map(slot);
        Self { text: text.to_owned(), on, reasons: Vec::new() }
    }
}

/// A slot as it is written in sentences: `node` or `node[member]`.
fn slot(text: &str) -> Slot {
    match text.strip_suffix(']').and_then(|it| it.split_once('[')) {
        Some((node, member)) => Slot::new(node, member),
        None => Slot::new(text, ""),
    }
}

/// The object of an instance that was asked about.
pub(crate) struct Focus {
    pub(crate) object: ObjectKey,
    /// The node that made it.
    pub(crate) slot: Slot,
    /// The state it is in, where that is not its last.
    pub(crate) state: Option<String>,
    /// Whether the blueprint still has a node for it.
    pub(crate) needed: bool,
    /// The Also edges from the root to its node.
    pub(crate) path: Vec<String>,
    /// The nodes it came after when it was made.
    pub(crate) after: Vec<String>,
    /// The nodes that come after it.
    pub(crate) before: Vec<String>,
    /// What waits for it now.
    pub(crate) waited_for_by: Vec<Slot>,
}

/// The edges of both graphs between nodes, by where they begin.
#[derive(Debug, Clone, Default)]
pub(crate) struct Edges {
    /// Who needs what.
    pub(crate) also: BTreeMap<String, Vec<String>>,
    /// Who comes before what.
    pub(crate) sequence: BTreeMap<String, Vec<String>>,
    /// The root.
    pub(crate) root: String,
}

/// What an edge of the Sequence graph does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    /// What comes after may go on.
    Open,
    /// What comes after waits for it.
    Closed,
    /// Nobody has come to it yet.
    Ahead,
}

impl Edge {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Ahead => "ahead",
        }
    }
}

/// One line of a chain of waits.
pub(crate) struct Link {
    pub(crate) depth: usize,
    /// The root, where it is of another instance.
    pub(crate) instance: Option<ObjectKey>,
    pub(crate) slot: Slot,
    pub(crate) text: String,
    pub(crate) since: Option<String>,
    /// Whether nothing further is waited for: a root cause.
    pub(crate) last: bool,
}

impl std::fmt::Display for Link {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let apart =
            if self.text.starts_with("waits for ") || self.text.starts_with("is ") { "" } else { ":" };
        if let Some(instance) = &self.instance {
            write!(out, "{instance}: ")?;
        }
        write!(out, "{}{apart} {}", self.slot, self.text)
    }
}

impl Instance {
    /// The chains of waits, each from what nothing else waits for down to its root cause.
    pub(crate) fn chains(&self) -> Vec<Link> {
        let open = |slot: &Slot| self.nodes.get(slot).is_some_and(|it| !it.is_ready());
        let waited: BTreeSet<&Slot> = self
            .nodes
            .iter()
            .filter(|(_, it)| !it.is_ready())
            .flat_map(|(slot, it)| {
                it.why.iter().filter_map(|why| why.on.as_ref()).filter(move |on| *on != slot)
            })
            .collect();
        let tops: Vec<&Slot> = match &self.focus {
            Some(focus) if open(&focus.slot) => vec![&focus.slot],
            Some(focus) if self.nodes.contains_key(&focus.slot) => Vec::new(),
            _ => self.nodes.keys().filter(|it| open(it) && !waited.contains(it)).collect(),
        };
        let mut links = Vec::new();
        let mut told = BTreeSet::new();
        for top in tops {
            self.follow(top, 0, &mut told, &mut links);
        }
        // A circle of waits has no top: it is told from somewhere.
        if links.is_empty()
            && self.focus.is_none()
            && let Some(any) = self.nodes.keys().find(|it| open(it))
        {
            self.follow(any, 0, &mut told, &mut links);
        }
        links
    }

    fn follow(&self, slot: &Slot, depth: usize, told: &mut BTreeSet<Slot>, links: &mut Vec<Link>) {
        let Some(node) = self.nodes.get(slot) else { return };
        if depth > MAX_DEPTH || links.len() >= MAX_LINKS {
            return;
        }
        let first_time = told.insert(slot.clone());
        let silent =
            [Why { text: format!("is {}", node.phase.to_lowercase()), on: None, reasons: Vec::new() }];
        let why = if node.why.is_empty() { &silent[..] } else { &node.why[..] };
        for why in why {
            let next = why.on.as_ref().filter(|on| self.nodes.get(*on).is_some_and(|it| !it.is_ready()));
            let beyond =
                if next.is_none() && first_time { self.links_beyond(slot, depth + 1) } else { Vec::new() };
            links.push(Link {
                depth,
                instance: None,
                slot: slot.clone(),
                text: self.without_what_follows(why),
                since: node.since.clone(),
                last: next.is_none() && beyond.is_empty(),
            });
            links.extend(beyond);
            if let Some(next) = next.filter(|next| first_time && *next != slot) {
                self.follow(next, depth + 1, told, links);
            }
        }
    }

    /// The chains of the instances that a node's objects start.
    fn links_beyond(&self, slot: &Slot, depth: usize) -> Vec<Link> {
        let mut links = Vec::new();
        for other in self.beyond.get(slot).into_iter().flatten() {
            for cause in &other.causes {
                let slot = Slot::new(&other.root.kind.kind, "");
                let instance = Some(other.root.clone());
                links.push(Link {
                    depth,
                    instance,
                    slot,
                    text: cause.clone(),
                    since: other.since.clone(),
                    last: true,
                });
            }
            links.extend(other.chains().into_iter().map(|link| Link {
                depth: depth + link.depth,
                instance: link.instance.or_else(|| Some(other.root.clone())),
                ..link
            }));
        }
        links.truncate(MAX_LINKS);
        links
    }

    /// The nodes that its root may come to need, and the root.
    pub(crate) fn reachable(&self) -> BTreeSet<&str> {
        let mut reached = BTreeSet::from([self.edges.root.as_str()]);
        let mut open = vec![self.edges.root.as_str()];
        while let Some(at) = open.pop() {
            let needs = self.edges.also.get(at).into_iter().flatten();
            open.extend(needs.map(String::as_str).filter(|it| reached.insert(it)));
        }
        reached
    }

    /// What an edge of the Sequence graph does now.
    pub(crate) fn edge(&self, from: &str, to: &str) -> Edge {
        let of = |node: &str| -> Vec<&Node> {
            self.nodes.iter().filter(|(slot, _)| slot.node == node).map(|(_, it)| it).collect()
        };
        let waits = |it: &Node| it.why.iter().any(|why| why.on.as_ref().is_some_and(|on| on.node == from));
        let (from, to) = (of(from), of(to));
        if to.iter().any(|it| !it.is_ready() && waits(it)) {
            return Edge::Closed;
        }
        let is_through = !to.is_empty() && to.iter().all(|it| it.is_ready() || it.phase == "Progressing");
        let is_ready = !from.is_empty() && from.iter().all(|it| it.is_ready());
        if is_through || is_ready { Edge::Open } else { Edge::Ahead }
    }

    /// A wait, without the reasons that the next link of its chain gives.
    fn without_what_follows(&self, why: &Why) -> String {
        let next = why.on.as_ref().and_then(|on| self.nodes.get(on)).filter(|it| !it.is_ready());
        match (why.text.split_once(": "), next) {
            (Some((wait, reasons)), Some(next)) if next.why.iter().any(|it| it.text == reasons) => {
                wait.to_owned()
            }
            _ => why.text.clone(),
        }
    }

    /// The Also edges from the root to a node.
    fn path_to(&self, node: &str) -> Vec<String> {
        let mut from: BTreeMap<&str, &str> = BTreeMap::new();
        let mut open = vec![self.edges.root.as_str()];
        while let Some(at) = open.pop() {
            for to in self.edges.also.get(at).into_iter().flatten() {
                if to != &self.edges.root && !from.contains_key(to.as_str()) {
                    from.insert(to, at);
                    open.insert(0, to);
                }
            }
        }
        let mut path = vec![node.to_owned()];
        while let Some(before) = path.last().and_then(|it| from.get(it.as_str())) {
            path.push((*before).to_owned());
        }
        path.reverse();
        if path.len() > 1 { path } else { Vec::new() }
    }

    /// The nodes that wait for one.
    fn waiting_for(&self, on: &Slot) -> Vec<Slot> {
        let waits = |it: &Node| {
            it.why
                .iter()
                .filter_map(|it| it.on.as_ref())
                .any(|it| it == on || (it.node == on.node && it.member.is_empty()))
        };
        self.nodes
            .iter()
            .filter(|(slot, it)| *slot != on && waits(it))
            .map(|(slot, _)| slot.clone())
            .collect()
    }
}
