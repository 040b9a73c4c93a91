//! An instance as a tree of what it needs: each node with how far it is, what it comes after, and what it waits for.

use std::collections::BTreeSet;

use pemdas_core::{graph::AlsoOrigin, ledger::Slot};

use super::{frame::Line, watch::Watched};
use crate::{
    draw::{Item, Need, Picture},
    explain::{Instance, Node, State},
};

/// How a phase looks.
fn look(phase: &str) -> (&'static str, &'static str) {
    match phase {
        "Ready" => ("●", "32"),
        "Progressing" => ("◐", "1;34"),
        "Waiting" => ("○", "33"),
        "Stalled" => ("✗", "1;31"),
        "Removing" => ("−", "31"),
        _ => ("?", "35"),
    }
}

/// What the signs mean, in a line.
pub(super) fn legend() -> Line {
    const WORDS: [(&str, &str); 5] = [
        ("Ready", "ready"),
        ("Progressing", "progressing"),
        ("Waiting", "waiting"),
        ("Stalled", "stalled"),
        ("Removing", "removing"),
    ];
    let mut line = Line::default();
    for (phase, word) in WORDS {
        let (sign, colour) = look(phase);
        line = line.with(colour, sign).with("2", format!(" {word}  "));
    }
    line.with("2", "· not needed")
}

fn state_colour(state: State) -> &'static str {
    match state {
        State::Ready => "1;32",
        State::Reconciling => "1;34",
        State::Stalled => "1;31",
        State::Deleting => "31",
        State::Suspended => "1;33",
    }
}

/// An instance as a tree.
pub(super) fn of_instance(picture: &Picture, instance: &Instance) -> Vec<Line> {
    let (ready, all) = Watched::count(instance);
    let mut lines = vec![
        Line::default()
            .with("1", instance.root.to_string())
            .with("", "  ")
            .with(state_colour(instance.state), instance.state.word())
            .with("2", format!("  {ready} of {all} ready")),
    ];
    lines.extend(instance.causes.iter().map(|it| Line::default().with("1;31", format!("  {it}"))));
    let mut tree =
        Tree { picture, instance, drawn: BTreeSet::from([instance.edges.root.clone()]), rows: Vec::new() };
    let root = instance.edges.root.clone();
    tree.branch(&root, "");
    let known: BTreeSet<&str> = tree.rows.iter().map(|it| it.node.as_str()).collect();
    // What an earlier revision made, and what is drawn beside its object.
    let besides: Vec<String> =
        instance.nodes.keys().map(|it| it.node.clone()).filter(|it| !known.contains(it.as_str())).collect();
    for node in besides.into_iter().collect::<BTreeSet<_>>() {
        tree.node(&node, "   ", "");
    }
    let width = |of: fn(&Row) -> usize| tree.rows.iter().map(of).max().unwrap_or(0);
    let (names, kinds) =
        (width(|it| it.start.chars().count() + it.name.chars().count()), width(|it| it.kind.chars().count()));
    lines.extend(tree.rows.iter().map(|row| row.line(names, kinds)));
    lines
}

struct Row {
    node: String,
    /// What leads to it.
    start: String,
    name: String,
    kind: String,
    phase: String,
    /// What it comes after, and whether that is ready.
    after: Vec<(String, bool)>,
    why: String,
}

impl Row {
    fn line(&self, names: usize, kinds: usize) -> Line {
        let (symbol, colour) = if self.phase.is_empty() { ("·", "2") } else { look(&self.phase) };
        let pad = names.saturating_sub(self.start.chars().count());
        let phase = if self.phase.is_empty() { "not needed" } else { &self.phase };
        let mut line = Line::default()
            .with("2", self.start.clone())
            .with(colour, format!("{symbol} "))
            .with(if self.phase.is_empty() { "2" } else { "" }, format!("{:pad$}  ", self.name))
            .with("2", format!("{:kinds$}  ", self.kind))
            .with(colour, format!("{phase:11}  "));
        if !self.after.is_empty() && !self.phase.is_empty() {
            line = line.with("2", "after ");
            for (at, (name, ready)) in self.after.iter().enumerate() {
                let gap = if at + 1 == self.after.len() { "" } else { ", " };
                let (mark, colour) = if *ready { ("✓", "32") } else { ("…", "33") };
                line = line.with("2", format!("{name} ")).with(colour, mark).with("2", gap);
            }
            line = line.with("", "  ");
        }
        let mut line = line.with(colour, self.why.clone());
        line.calm = matches!(self.phase.as_str(), "Ready" | "");
        line
    }
}

struct Tree<'a> {
    picture: &'a Picture,
    instance: &'a Instance,
    drawn: BTreeSet<String>,
    rows: Vec<Row>,
}

impl Tree<'_> {
    fn branch(&mut self, from: &str, indent: &str) {
        let mut needs: Vec<&Need> =
            self.picture.needs.iter().filter(|it| it.from == from && it.is_written()).collect();
        needs.dedup_by_key(|need| need.to.clone());
        // What only a deletion needs is shown when there is one.
        let going = self.instance.state == State::Deleting;
        let has = |node: &str| self.instance.nodes.keys().any(|it| it.node == node);
        needs.retain(|need| need.origin != AlsoOrigin::Deleting || going || has(&need.to));
        needs.retain(|need| !self.drawn.contains(&need.to));
        let targets: Vec<String> = needs.iter().map(|it| it.to.clone()).collect();
        for (at, to) in targets.iter().enumerate() {
            let (fork, below) =
                if at + 1 == targets.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            if self.drawn.insert(to.clone()) {
                self.node(to, &format!("{indent}{fork}"), &format!("{indent}{below}"));
                self.branch(to, &format!("{indent}{below}"));
            }
        }
    }

    /// A node, or each of its members.
    fn node(&mut self, node: &str, start: &str, below: &str) {
        let kind = self.picture.item(node).map(Item::subtitle).unwrap_or_default();
        let slots: Vec<(&Slot, &Node)> =
            self.instance.nodes.iter().filter(|(it, _)| it.node == node).collect();
        let row = |start: &str, name: String, found: Option<(&Slot, &Node)>| Row {
            node: node.to_owned(),
            start: start.to_owned(),
            name,
            kind: kind.clone(),
            phase: found.map(|it| it.1.phase.clone()).unwrap_or_default(),
            after: found.map(|(slot, _)| self.after(slot)).unwrap_or_default(),
            why: found.map(|it| reason(it.1)).unwrap_or_default(),
        };
        let rows: Vec<Row> = if slots.is_empty() {
            vec![row(start, node.to_owned(), None)]
        } else {
            let of_slot = |(at, it): (usize, &(&Slot, &Node))| {
                let below = if below.is_empty() { start } else { below };
                row(if at == 0 { start } else { below }, it.0.to_string(), Some(*it))
            };
            slots.iter().enumerate().map(of_slot).collect()
        };
        self.rows.extend(rows);
    }

    /// What a node comes after. A member comes after the member of its own name, where the edge says so.
    fn after(&self, slot: &Slot) -> Vec<(String, bool)> {
        let waits = self.picture.waits.iter().filter(|it| it.to == slot.node);
        let after = waits.filter_map(|wait| {
            let mut of = self.instance.nodes.iter().filter(|(it, _)| {
                it.node == wait.from && (!wait.each || it.member.is_empty() || it.member == slot.member)
            });
            let first = of.next()?;
            let ready = first.1.is_ready() && of.all(|(_, it)| it.is_ready());
            Some((wait.from.clone(), ready))
        });
        after.collect()
    }
}

/// Why a node is not further, where its edges do not say so already.
pub(super) fn reason(node: &Node) -> String {
    if node.is_ready() {
        return String::new();
    }
    let own = node.why.iter().find(|it| it.on.is_none()).or(node.why.first());
    own.map(|it| it.text.clone()).unwrap_or_default()
}
