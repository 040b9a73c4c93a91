//! The picture of a demonstration on a terminal: every instance as a tree, what happened, and what to try.

use std::{path::PathBuf, time::Duration};

use super::{
    Attempt,
    story::Moment,
    tree,
    watch::{Standing, Watched},
};
use crate::{draw::Picture, explain::State, terminal::Style};

/// How many lines of the story are shown, where there is room.
const STORY: usize = 10;
/// How few of them, where there is not.
const LEAST_STORY: usize = 3;

/// What is shown around the instances.
pub(crate) struct Stage {
    pub(crate) picture: Picture,
    /// The address of the page in a browser.
    pub(crate) page: String,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) speed: f64,
    /// Whether kubectl is installed.
    pub(crate) has_kubectl: bool,
}

/// Where kubectl comes from.
pub(crate) const KUBECTL: &str = "kubectl: https://kubernetes.io/docs/tasks/tools/";
/// How many lines of what is wrong with the files are shown.
const TROUBLE: usize = 4;

/// A line of pieces, each with its colour: cut before it is coloured.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    pieces: Vec<(&'static str, String)>,
    /// Whether it says only that something is as it shall be: left out first, where there is no room.
    pub(super) calm: bool,
}

impl Line {
    pub(super) fn with(mut self, colour: &'static str, text: impl Into<String>) -> Self {
        self.pieces.push((colour, text.into()));
        self
    }

    /// The line, not wider than this: a longer one loses its middle, since what it is about stands first and the point last.
    pub(super) fn cut(&self, width: usize, style: Style) -> String {
        let whole: String = self.pieces.iter().map(|(_, text)| text.as_str()).collect();
        let total = whole.trim_end().chars().count();
        let left = if total > width { width.saturating_sub(1) } else { total };
        let tail = if total > width { left * 2 / 5 } else { 0 };
        let (head, mut at) = (left - tail, 0);
        let mut is_whole = total <= width;
        let mut out = String::new();
        for (colour, text) in &self.pieces {
            let from = at;
            at += text.chars().count();
            let part = |first: usize, end: usize| -> String {
                let skipped = first.saturating_sub(from);
                text.chars().skip(skipped).take(end.saturating_sub(from + skipped)).collect()
            };
            out.push_str(&style.paint(colour, &part(0, head)));
            if !is_whole && head <= at {
                out.push('…');
                is_whole = true;
            }
            if total > width {
                out.push_str(&style.paint(colour, &part(total - tail, total)));
            }
        }
        out.trim_end().to_owned()
    }
}

/// All lines, at most so many as there is room for; only the commands to try are broken so that they fit.
pub(crate) fn lines(stage: &Stage, watched: &Watched<'_>, width: usize, height: usize) -> Vec<Line> {
    let page = Line::default().with("2", "in a browser  ").with("", stage.page.clone());
    let mut top = vec![page, heading(stage, watched)];
    top.extend(trouble(watched));
    top.push(Line::default());
    let bottom = footer(stage, watched, width);
    let room = height.saturating_sub(top.len() + bottom.len());
    let mut middle = instances(stage, watched, room.saturating_sub(LEAST_STORY));
    for (file, object) in &watched.open {
        let kind = object["kind"].as_str().unwrap_or_default();
        middle.push(Line::default().with("2", format!("{file}: the kind {kind} is not served yet")));
    }
    let story = (room.saturating_sub(middle.len())).clamp(LEAST_STORY, STORY + 1);
    let story = story_lines(&watched.story, story.saturating_sub(1));
    let kept = room.saturating_sub(story.len());
    fit(&mut middle, kept);
    top.extend(middle);
    top.extend(story);
    top.extend(bottom);
    top.truncate(height);
    top
}

/// What is worth keeping when it has ended: how it was last, and how it came to that.
pub(crate) fn story(stage: &Stage, watched: &Watched<'_>) -> Vec<Line> {
    let mut lines = vec![heading(stage, watched)];
    lines.extend(trouble(watched));
    lines.push(Line::default());
    lines.extend(instances(stage, watched, usize::MAX));
    lines.extend(story_lines(&watched.story, STORY));
    lines
}

/// What is wrong with the files that somebody edits.
fn trouble(watched: &Watched<'_>) -> Vec<Line> {
    let mut lines: Vec<Line> =
        watched.trouble.iter().take(TROUBLE).map(|it| Line::default().with("1;31", it.clone())).collect();
    if !lines.is_empty() {
        lines.push(
            Line::default().with("2", "The operator keeps what ran before. Save the file again to go on."),
        );
    }
    lines
}

/// Every instance as a tree, or as one line where there is no room: those with trouble are the last to lose theirs.
fn instances(stage: &Stage, watched: &Watched<'_>, room: usize) -> Vec<Line> {
    let mut blocks: Vec<(usize, Vec<Line>)> = Vec::new();
    for instance in &watched.instances {
        blocks.push((rank(instance.state), tree::of_instance(&stage.picture, instance)));
    }
    shorten(&mut blocks, room);
    let mut lines = Vec::new();
    let mut before = 0;
    for (_, block) in blocks {
        // Between two that are one line each there is no need for a gap.
        if before > 1 || (before == 1 && block.len() > 1) {
            lines.push(Line::default());
        }
        before = block.len();
        lines.extend(block);
    }
    if before > 0 {
        lines.push(Line::default());
    }
    lines
}

/// Who is worth the room: the most troubled first.
fn rank(state: State) -> usize {
    match state {
        State::Stalled => 0,
        State::Reconciling | State::Deleting | State::Suspended => 1,
        State::Ready => 2,
    }
}

/// Leaves instances only their first line until all fit, but for the first of those with the most trouble.
fn shorten(blocks: &mut [(usize, Vec<Line>)], room: usize) {
    let expanded = blocks.iter().enumerate().min_by_key(|(at, (rank, _))| (*rank, *at)).map(|(at, _)| at);
    let mut order: Vec<usize> = (0..blocks.len()).filter(|at| Some(*at) != expanded).collect();
    order.sort_by_key(|at| std::cmp::Reverse((blocks[*at].0, *at)));
    for at in order {
        let height: usize = blocks.iter().map(|(_, block)| block.len() + 1).sum();
        if height <= room {
            return;
        }
        blocks[at].1.truncate(1);
    }
}

/// Leaves out what does not fit: first what is well, from the end.
fn fit(lines: &mut Vec<Line>, room: usize) {
    if lines.len() <= room {
        return;
    }
    let all = lines.len();
    let kept = room.saturating_sub(1);
    while lines.len() > kept
        && let Some(calm) = lines.iter().rposition(|it| it.calm)
    {
        lines.remove(calm);
    }
    lines.truncate(kept);
    let hidden = all - lines.len();
    lines.push(Line::default().with("2", format!("… {hidden} more lines: the terminal is too low for them")));
}

fn heading(stage: &Stage, watched: &Watched<'_>) -> Line {
    let (word, colour) = match watched.standing() {
        Standing::Ready => ("all instances are ready", "1;32"),
        Standing::Stalled => ("an instance is stalled and needs attention", "1;31"),
        Standing::Moving if !watched.has_looked() => ("the operator reads the blueprint", "2"),
        Standing::Moving | Standing::Quiet if watched.instances.is_empty() => {
            ("there is no instance", "1;33")
        }
        Standing::Quiet => ("nothing changes any more", "1;33"),
        Standing::Moving => ("reconciling", "1;34"),
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

fn footer(stage: &Stage, watched: &Watched<'_>, width: usize) -> Vec<Line> {
    let get = if stage.has_kubectl { String::new() } else { format!("  {KUBECTL}") };
    let mut lines = vec![
        Line::default().with("1", "In another terminal").with("2", get),
        Line::default().with("", format!("  export KUBECONFIG={}", stage.kubeconfig.display())),
    ];
    let longest = stage.attempts.iter().map(|it| it.run.chars().count()).max().unwrap_or(0);
    for attempt in &stage.attempts {
        let mut parts = broken(&attempt.run, width.saturating_sub(6));
        let last = parts.pop().unwrap_or_default();
        for (at, part) in parts.iter().enumerate() {
            let indent = if at == 0 { "  " } else { "    " };
            lines.push(Line::default().with("", format!("{indent}{part} \\")));
        }
        let indent = if parts.is_empty() { "  " } else { "    " };
        let pad = if parts.is_empty() { longest.min(width.saturating_sub(30)) } else { 0 };
        let note = format!("  # {}", attempt.then);
        let room = width.saturating_sub(indent.len() + last.chars().count().max(pad));
        let line = Line::default().with("", format!("{indent}{last:pad$}"));
        if note.chars().count() <= room {
            lines.push(line.with("2", note));
        } else {
            // A command is to be copied: what it does stands above it, rather than in its place.
            let above = lines.len() - parts.len();
            lines.insert(above, Line::default().with("2", note));
            lines.push(Line::default().with("", format!("{indent}{last}")));
        }
    }
    lines.push(tree::legend());
    let mut keys = Line::default().with("1", "q").with("2", " quit, and the cluster is gone");
    let deleted = watched.deleted();
    if let Some(first) = deleted.first() {
        let name = |at: &str| first.pointer(at).and_then(serde_json::Value::as_str).unwrap_or_default();
        let more = if deleted.len() > 1 { format!(" and {} more", deleted.len() - 1) } else { String::new() };
        let what = format!(" create {} {}{more} again", name("/kind"), name("/metadata/name"));
        keys = keys.with("", "   ").with("1;33", "c").with("33", what);
    }
    lines.push(keys);
    lines
}

/// A command in parts that are not longer than this, where it has spaces: it is to be copied, and must not be cut.
fn broken(command: &str, width: usize) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for word in command.split(' ') {
        match parts.last_mut() {
            Some(part) if part.chars().count() + 1 + word.chars().count() <= width => {
                part.push_str(&format!(" {word}"));
            }
            _ => parts.push(word.to_owned()),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{Line, broken, fit, shorten};
    use crate::terminal::{Style, printable};

    #[test]
    fn what_is_well_is_left_out_first() {
        let line = |text: &str, calm: bool| Line { calm, ..Line::default().with("", text) };
        let mut lines = vec![line("a", false), line("b", true), line("c", true), line("d", false)];
        fit(&mut lines, 4);
        assert_eq!(lines.len(), 4);
        fit(&mut lines, 3);
        let shown: Vec<String> = lines.iter().map(|it| it.cut(20, Style { colour: false })).collect();
        assert_eq!(shown, ["a", "d", "… 2 more lin…or them"]);
        fit(&mut lines, 0);
        assert_eq!(lines.len(), 1);
    }

    #[test]
    fn the_instance_with_trouble_keeps_its_lines() {
        let block = |rank: usize| (rank, vec![Line::default(); 5]);
        let left = |room: usize| {
            let mut blocks = [block(2), block(0), block(1), block(2)];
            shorten(&mut blocks, room);
            blocks.map(|it| it.1.len())
        };
        assert_eq!(left(24), [5, 5, 5, 5]);
        assert_eq!(left(23), [5, 5, 5, 1]);
        assert_eq!(left(17), [1, 5, 5, 1]);
        assert_eq!(left(0), [1, 5, 1, 1]);
    }

    #[test]
    fn a_command_is_broken_at_its_spaces() {
        assert_eq!(broken("kubectl patch shop one", 16), ["kubectl patch", "shop one"]);
        assert_eq!(broken("kubectl", 3), ["kubectl"]);
    }

    #[test]
    fn a_line_is_cut_before_it_is_coloured() {
        let line = Line::default().with("32", "abc").with("", "defgh");
        assert_eq!(line.cut(8, Style { colour: false }), "abcdefgh");
        assert_eq!(line.cut(6, Style { colour: false }), "abc…gh", "the middle is lost");
        assert_eq!(line.cut(4, Style { colour: false }), "ab…h");
        assert_eq!(printable(&line.cut(2, Style { colour: true })), "\u{1b}[32ma\u{1b}[0m…");
        assert_eq!(line.cut(0, Style { colour: false }), "…");
        let padded = Line::default().with("", "abc   ");
        assert_eq!(padded.cut(3, Style { colour: false }), "abc", "spaces at the end take no room");
    }
}
