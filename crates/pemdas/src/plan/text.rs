//! A plan for people.

use std::collections::BTreeMap;

use pemdas_core::decide::Mode;
use pemdas_core::plan::{Assumption, Fate, Plan, Round, Step, Verb};
use serde_json::Value;

use super::{Planned, diff, words};
use crate::terminal::Style;

/// How many fields of an assumption are told.
const MAX_FIELDS: usize = 4;

/// The colour of a write.
fn colour_of(verb: Verb) -> &'static str {
    match verb {
        Verb::Create => "32",
        Verb::Change | Verb::Adopt => "33",
        Verb::Delete | Verb::Release => "31",
    }
}

/// The whole plan; with the diffs of what is written, unless only the summary is wanted.
pub(crate) fn plan(planned: &Planned, diffs: bool, colour: bool) -> String {
    let style = Style { colour };
    let name = planned.checked.blueprint.as_ref().map_or("", |it| it.name.as_str());
    let mut out = format!("{}\n", style.bold(&format!("{name}: {}", planned.instance)));
    out.push_str(&format!("{}\n", summary(planned)));
    let widths = Widths::of(planned);
    for (at, round) in planned.plan.rounds.iter().enumerate() {
        rounds(planned, at, round, &widths, style, &mut out);
    }
    others(planned, &widths, style, &mut out);
    if diffs {
        differences(&planned.plan, style, &mut out);
    }
    notes(planned.notes.iter(), style, &mut out);
    out
}

/// The diffs of all that is written.
pub(super) fn differences(plan: &Plan, style: Style, out: &mut String) {
    for (at, round) in plan.rounds.iter().enumerate() {
        for step in &round.steps {
            difference(at + 1, step, style, out);
        }
    }
}

/// What is good to know, after an empty line.
pub(super) fn notes<'a>(notes: impl Iterator<Item = &'a String>, style: Style, out: &mut String) {
    for (at, note) in notes.enumerate() {
        if at == 0 {
            out.push('\n');
        }
        out.push_str(&format!("{} {note}\n", style.dim("note:")));
    }
}

/// What is done, in one line.
fn summary(planned: &Planned) -> String {
    let mut counts: BTreeMap<Verb, usize> = BTreeMap::new();
    for step in planned.plan.rounds.iter().flat_map(|it| &it.steps) {
        *counts.entry(step.verb).or_default() += 1;
    }
    let mut parts: Vec<String> =
        counts.iter().map(|(verb, count)| format!("{count} to {}", words::verb(*verb))).collect();
    let fates = planned.plan.nodes.values();
    let waiting = fates.clone().filter(|it| it.fate == Fate::Waits).count();
    let stalled = fates.filter(|it| it.fate == Fate::Stalled).count();
    for (count, what) in [(waiting, "waiting"), (stalled, "needing attention")] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    let count = planned.plan.rounds.len();
    let rounds = match count {
        0 if parts.is_empty() && planned.plan.mode != Mode::Present => {
            "nothing to do: there is nothing that Pemdas deletes".to_owned()
        }
        0 if parts.is_empty() => "nothing to do: everything is as the blueprint wants it".to_owned(),
        0 => "nothing to do now".to_owned(),
        1 => "1 round".to_owned(),
        _ => format!("{count} rounds"),
    };
    let cut_off = if planned.plan.cut_off { "; cut off here" } else { "" };
    if parts.is_empty() { rounds } else { format!("{rounds}: {}{cut_off}", parts.join(", ")) }
}

struct Widths {
    node: usize,
    object: usize,
}

impl Widths {
    fn of(planned: &Planned) -> Self {
        let steps = || planned.plan.rounds.iter().flat_map(|it| &it.steps);
        let nodes = planned.plan.nodes.keys().chain(steps().map(|it| &it.slot));
        Self {
            node: nodes.map(|it| words::slot(it).chars().count()).max().unwrap_or(0).min(40),
            object: steps().map(|it| words::object(it).chars().count()).max().unwrap_or(0).min(60),
        }
    }
}

fn rounds(planned: &Planned, at: usize, round: &Round, widths: &Widths, style: Style, out: &mut String) {
    out.push_str(&format!("\n{}\n", style.bold(&format!("Round {}", at + 1))));
    for step in &round.steps {
        let Widths { node, object } = widths;
        let line = format!(
            "  {} {:node$}  {:object$}  {}",
            words::sign(step.verb),
            words::slot(&step.slot),
            words::object(step),
            remark(step)
        );
        out.push_str(&format!("{}\n", style.paint(colour_of(step.verb), line.trim_end())));
        // Why it did not act earlier.
        let waited = planned.plan.nodes.get(&step.slot).filter(|_| at > 0);
        let first = waited.is_some_and(|it| words::rounds(&it.fate).first() == Some(&(at + 1)));
        for reason in waited.filter(|_| first).map(|it| words::reasons(&it.first)).unwrap_or_default() {
            out.push_str(&format!("    {:node$}  {}\n", "", style.dim(&before(&reason))));
        }
    }
    let (plain, special): (Vec<_>, Vec<_>) = round.assumed.iter().partition(|it| it.fields.is_empty());
    let mut names: Vec<String> = plain.iter().map(|it| it.slot.to_string()).collect();
    names.dedup();
    if !names.is_empty() {
        let is = if names.len() == 1 { "is" } else { "are" };
        out.push_str(&format!("  {}\n", style.dim(&format!("then {} {is} ready", names.join(", ")))));
    }
    for assumption in special {
        out.push_str(&format!("  {}\n", style.dim(&assumed(assumption))));
    }
}

/// What kept a node from acting before this round.
fn before(reason: &str) -> String {
    match reason.strip_prefix("waits for ") {
        Some(rest) => format!("after {rest}"),
        None => format!("first: {reason}"),
    }
}

fn remark(step: &Step) -> String {
    let mut parts = vec![words::verb(step.verb).to_owned()];
    if step.state.is_some() {
        parts.push("a state of the object".to_owned());
    }
    if step.once {
        parts.push("once".to_owned());
    }
    if step.unneeded {
        parts.push("nothing needs it".to_owned());
    }
    parts.join(", ")
}

/// What is taken to follow, in one line.
fn assumed(assumption: &Assumption) -> String {
    let shown = |value: &Value| match value {
        // Of a list of conditions, those that hold.
        Value::Array(items) if items.iter().all(|it| it.get("type").is_some()) => {
            let kinds: Vec<_> = items
                .iter()
                .filter_map(|it| Some(format!("{}={}", it["type"].as_str()?, it["status"].as_str()?)))
                .collect();
            kinds.join(" ")
        }
        other => pemdas_core::text::brief(other),
    };
    let mut fields: Vec<String> =
        assumption.fields.iter().map(|(path, value)| format!("{path} {}", shown(value))).collect();
    let more = fields.len().saturating_sub(MAX_FIELDS);
    fields.truncate(MAX_FIELDS);
    if more > 0 {
        fields.push(format!("{more} more"));
    }
    let fields = if fields.is_empty() { String::new() } else { format!(": {}", fields.join(", ")) };
    format!("then {} is ready{fields}", assumption.slot)
}

fn others(planned: &Planned, widths: &Widths, style: Style, out: &mut String) {
    let mut quiet: Vec<_> = planned
        .plan
        .nodes
        .iter()
        .filter(|(_, it)| !matches!(it.fate, Fate::Acts(_) | Fate::Goes(_)) || !it.last.is_empty())
        .collect();
    quiet.sort_by_key(|(_, it)| rank(&it.fate));
    if quiet.is_empty() {
        return;
    }
    let heading = if planned.plan.rounds.is_empty() { "Nodes" } else { "Besides" };
    out.push_str(&format!("\n{}\n", style.bold(heading)));
    let node = widths.node;
    for (slot, it) in quiet {
        let (sign, code, text) = match it.fate {
            Fate::Done | Fate::Becomes | Fate::Passes => ("=", "2", words::quiet(it)),
            Fate::Waits => ("?", "35", words::quiet(it)),
            Fate::Stalled => ("!", "1;31", words::quiet(it)),
            Fate::NotNeeded => ("·", "2", words::quiet(it)),
            Fate::Acts(_) | Fate::Goes(_) => ("?", "35", "written, and not ready in the end"),
        };
        let reasons = match it.fate {
            Fate::Waits | Fate::Stalled | Fate::Acts(_) | Fate::Goes(_) => words::reasons(&it.last),
            _ => Vec::new(),
        };
        let said = if reasons.is_empty() { text.to_owned() } else { reasons.join("; ") };
        let line = format!("  {sign} {:node$}  {said}", words::slot(slot));
        out.push_str(&format!("{}\n", style.paint(code, &line)));
    }
}

fn rank(fate: &Fate) -> u8 {
    match fate {
        Fate::Stalled => 0,
        Fate::Waits | Fate::Acts(_) | Fate::Goes(_) => 1,
        Fate::Becomes => 2,
        Fate::Passes => 3,
        Fate::Done => 4,
        Fate::NotNeeded => 5,
    }
}

fn difference(round: usize, step: &Step, style: Style, out: &mut String) {
    let lines = diff::unified(step);
    let head = format!("{} {} (round {round})", words::verb(step.verb), words::object(step));
    out.push_str(&format!("\n{}\n", style.bold(&head)));
    // Which lines of an object that is new or gone is no news.
    let whole = step.before.is_none() || step.after.is_none();
    for line in lines.lines().filter(|line| !(whole && line.starts_with("@@"))) {
        let code = match line.chars().next() {
            Some('+') => "32",
            Some('-') => "31",
            Some('@') => "36",
            _ => "",
        };
        let painted = style.paint(code, line);
        out.push_str(&format!("{painted}\n"));
    }
}
