//! The picture of a demonstration on a terminal: every instance as a tree, what happened, and what to try.

use std::{path::Path, time::Duration};

use super::{
    Attempt,
    story::Moment,
    tree,
    watch::{Standing, Watched},
};
use crate::{draw::Picture, terminal::Style};

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

    /// The line, not wider than this.
    pub(super) fn cut(&self, width: usize, style: Style) -> String {
        let total: usize = self.pieces.iter().map(|(_, text)| text.chars().count()).sum();
        let mut left = if total > width { width.saturating_sub(1) } else { width };
        let mut out = String::new();
        for (colour, text) in &self.pieces {
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

/// All lines, at most so many as there is room for; only the commands to try are broken so that they fit.
pub(crate) fn lines(stage: &Stage<'_>, watched: &Watched<'_>, width: usize, height: usize) -> Vec<Line> {
    let mut top = vec![heading(stage, watched), Line::default()];
    let mut middle = instances(stage, watched);
    for (file, object) in &watched.open {
        let kind = object["kind"].as_str().unwrap_or_default();
        middle.push(Line::default().with("2", format!("{file}: the kind {kind} is not served yet")));
    }
    let bottom = footer(stage, width);
    let room = height.saturating_sub(top.len() + bottom.len());
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
pub(crate) fn story(stage: &Stage<'_>, watched: &Watched<'_>) -> Vec<Line> {
    let mut lines = vec![heading(stage, watched), Line::default()];
    lines.extend(instances(stage, watched));
    lines.extend(story_lines(&watched.story, STORY));
    lines
}

fn instances(stage: &Stage<'_>, watched: &Watched<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    for instance in &watched.instances {
        lines.extend(tree::of_instance(stage.picture, instance));
        lines.push(Line::default());
    }
    lines
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

fn footer(stage: &Stage<'_>, width: usize) -> Vec<Line> {
    let mut lines = vec![
        Line::default().with("1", "In another terminal"),
        Line::default().with("", format!("  export KUBECONFIG={}", stage.kubeconfig.display())),
    ];
    let longest = stage.attempts.iter().map(|it| it.run.chars().count()).max().unwrap_or(0);
    for attempt in stage.attempts {
        let mut parts = broken(&attempt.run, width.saturating_sub(6));
        let last = parts.pop().unwrap_or_default();
        for (at, part) in parts.iter().enumerate() {
            let indent = if at == 0 { "  " } else { "    " };
            lines.push(Line::default().with("", format!("{indent}{part} \\")));
        }
        let indent = if parts.is_empty() { "  " } else { "    " };
        let pad = if parts.is_empty() { longest.min(width.saturating_sub(30)) } else { 0 };
        let line = Line::default().with("", format!("{indent}{last:pad$}"));
        lines.push(line.with("2", format!("  # {}", attempt.then)));
    }
    lines.push(Line::default().with("2", "Ctrl-C ends it, and everything is gone."));
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
    use super::{Line, broken, fit};
    use crate::terminal::{Style, printable};

    #[test]
    fn what_is_well_is_left_out_first() {
        let line = |text: &str, calm: bool| Line { calm, ..Line::default().with("", text) };
        let mut lines = vec![line("a", false), line("b", true), line("c", true), line("d", false)];
        fit(&mut lines, 4);
        assert_eq!(lines.len(), 4);
        fit(&mut lines, 3);
        let shown: Vec<String> = lines.iter().map(|it| it.cut(20, Style { colour: false })).collect();
        assert_eq!(shown, ["a", "d", "… 2 more lines: the…"]);
        fit(&mut lines, 0);
        assert_eq!(lines.len(), 1);
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
        assert_eq!(line.cut(5, Style { colour: false }), "abcd…");
        assert_eq!(printable(&line.cut(2, Style { colour: true })), "\u{1b}[32ma\u{1b}[0m…");
        assert_eq!(line.cut(0, Style { colour: false }), "…");
    }
}
