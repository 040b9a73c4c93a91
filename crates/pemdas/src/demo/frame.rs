//! The picture of a demonstration on a terminal: every instance as a tree of what it needs, each node with how far it is, what it
//! comes after and what it waits for; what happened; and what to try.

use std::{collections::BTreeSet, path::Path, time::Duration};

use pemdas_core::{graph::AlsoOrigin, ledger::Slot};

use super::{
    Attempt,
    story::Moment,
    watch::{Standing, Watched},
};
use crate::{
    draw::{Need, Picture},
    explain::{Instance, Node, State},
    terminal::Style,
};

/// How many lines of the story are shown, where there is room.
const STORY: usize = 10;
/// How few of them, where there is not.
const LEAST_STORY: usize = 3;

/// What does not change while it is shown.
pub(crate) struct Stage<'a> {
    pub(crate) picture: &'a Picture,
    pub(crate) kubeconfig: &'a Path,
    pub(crate) attempts: &'a [Attempt],
    pub(crate) speed: f64,
}

/// A line of pieces, each with its colour: cut before it is coloured.
#[derive(Debug, Clone, Default)]
pub(super) struct Line(Vec<(&'static str, String)>);

impl Line {
    pub(super) fn with(mut self, colour: &'static str, text: impl Into<String>) -> Self {
        self.0.push((colour, text.into()));
        self
    }

    /// The line, not wider than this.
    pub(super) fn cut(&self, width: usize, style: Style) -> String {
        let total: usize = self.0.iter().map(|(_, text)| text.chars().count()).sum();
        let mut left = if total > width { width.saturating_sub(1) } else { width };
        let mut out = String::new();
        for (colour, text) in &self.0 {
            let piece: String = text.chars().take(left).collect();
            left -= piece.chars().count();
            out.push_str(&style.paint(colour, &piece));
        }
        if total > width {
            out.push('…');
        }
        out.trim_end().to_owned()
    }
}

/// How a phase looks.
pub(super) fn look(phase: &str) -> (&'static str, &'static str) {
    match phase {
        "Ready" => ("●", "32"),
        "Progressing" => ("◐", "1;34"),
        "Waiting" => ("○", "33"),
        "Stalled" => ("✗", "1;31"),
        "Removing" => ("−", "31"),
        _ => ("?", "35"),
    }
}

fn state_colour(state: State) -> &'static str {
    match state {
        State::Ready => "1;32",
        State::Reconciling => "1;34",
        State::Stalled => "1;31",
        State::Deleting => "31",
    }
}

/// All lines, at most so many as there is room for.
pub(crate) fn lines(stage: &Stage<'_>, watched: &Watched<'_>, height: usize) -> Vec<Line> {
    let mut top = vec![heading(stage, watched), Line::default()];
    let mut middle = Vec::new();
    for instance in &watched.instances {
        middle.extend(of_instance(stage.picture, instance));
        middle.push(Line::default());
    }
    for (file, object) in &watched.open {
        let kind = object["kind"].as_str().unwrap_or_default();
        middle.push(Line::default().with("2", format!("{file}: the kind {kind} is not served yet")));
    }
    let bottom = footer(stage);
    let room = height.saturating_sub(top.len() + bottom.len());
    let story = (room.saturating_sub(middle.len())).clamp(LEAST_STORY, STORY + 1);
    let story = story_lines(&watched.story, story.saturating_sub(1));
    let kept = room.saturating_sub(story.len());
    if middle.len() > kept {
        let hidden = middle.len() - kept.saturating_sub(1);
        middle.truncate(kept.saturating_sub(1));
        middle.push(
            Line::default().with("2", format!("… {hidden} more lines: the terminal is too low for them")),
        );
    }
    top.extend(middle);
    top.extend(story);
    top.extend(bottom);
    top.truncate(height);
    top
}

fn heading(stage: &Stage<'_>, watched: &Watched<'_>) -> Line {
    let (word, colour) = match watched.standing() {
        Standing::Ready => ("all is ready", "1;32"),
        Standing::Stalled => ("a human must look", "1;31"),
        Standing::Moving if !watched.has_looked() => ("the operator reads the blueprint", "2"),
        Standing::Moving | Standing::Quiet if watched.instances.is_empty() => {
            ("there is no instance", "1;33")
        }
        Standing::Quiet => ("nothing moves any more", "1;33"),
        Standing::Moving => ("it moves", "1;34"),
    };
    let pace =
        if (stage.speed - 1.0).abs() < f64::EPSILON { String::new() } else { format!(", {}×", stage.speed) };
    Line::default()
        .with("1", format!("pemdas demo {}", stage.picture.name))
        .with("2", format!("  {}s on a simulated cluster{pace}  ", watched.elapsed().as_secs()))
        .with(colour, word)
}

fn story_lines(story: &[(Duration, Moment)], most: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for (when, moment) in story.iter().skip(story.len().saturating_sub(most)) {
        let colour = match moment.mark {
            '+' => "32",
            '-' => "31",
            '~' => "33",
            _ => "36",
        };
        let line = Line::default().with("2", format!("{:>6.1}s ", when.as_secs_f64()));
        lines.push(line.with(colour, format!("{} ", moment.mark)).with("", moment.text.clone()));
    }
    lines.push(Line::default());
    lines
}

fn footer(stage: &Stage<'_>) -> Vec<Line> {
    let mut lines = vec![
        Line::default().with("1", "In another terminal"),
        Line::default().with("", format!("  export KUBECONFIG={}", stage.kubeconfig.display())),
    ];
    let width = stage.attempts.iter().map(|it| it.run.chars().count()).max().unwrap_or(0);
    for attempt in stage.attempts {
        let line = Line::default().with("", format!("  {:width$}", attempt.run));
        lines.push(line.with("2", format!("  # {}", attempt.then)));
    }
    lines.push(Line::default().with("2", "Ctrl-C ends it, and everything is gone."));
    lines
}

/// An instance as a tree.
fn of_instance(picture: &Picture, instance: &Instance) -> Vec<Line> {
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
        line.with(colour, self.why.clone())
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
        let kind = self.picture.item(node).map(crate::draw::Item::subtitle).unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use super::Line;
    use crate::terminal::Style;

    #[test]
    fn a_line_is_cut_before_it_is_coloured() {
        let line = Line::default().with("32", "abc").with("", "defgh");
        assert_eq!(line.cut(8, Style { colour: false }), "abcdefgh");
        assert_eq!(line.cut(5, Style { colour: false }), "abcd…");
        assert_eq!(line.cut(2, Style { colour: true }), "\u{1b}[32ma\u{1b}[0m…");
        assert_eq!(line.cut(0, Style { colour: false }), "…");
    }
}
