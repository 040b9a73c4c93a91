//! What became of scenarios, for people.

use std::time::Duration;

use pemdas_core::{diagnostic::Diagnostic, shape::Shape};
use pemdas_sim::Time;
use serde_json::Value;

use super::{
    Happening,
    arena::BEGINS,
    explore::{Explored, Found},
    report::Result,
    script::What,
};
use crate::{load::Checked, render, terminal::Style};

/// The code of what a scenario expects and is not so.
pub(crate) const NOT_SO: &str = "PM0810";
/// How long the digest is that names of runs end in.
const DIGEST: usize = 10;
/// How many of the last things that happened are shown.
const MAX_HAPPENINGS: usize = 60;

/// One line for a scenario that was played.
pub(crate) fn line(result: &Result, style: Style) -> String {
    let (mark, colour) = if result.passed() { ("ok  ", "32") } else { ("FAIL", "31") };
    let about = format!(
        "({}, {} of the cluster's time)",
        took(result.took),
        minutes(result.played.simulated / 1_000)
    );
    format!("  {} {}  {}\n", style.paint(colour, mark), result.script.title(), style.dim(&about))
}

/// What went wrong with a scenario: where, why, and what happened until then.
pub(crate) fn failure(checked: &Checked, result: &Result, style: Style) -> String {
    let Some(failure) = &result.played.failure else { return String::new() };
    let title = format!("{} {}", result.blueprint, result.script.title());
    let mut out = format!("{}\n", style.bold(&title));
    let mut told = Diagnostic::error(NOT_SO, failure.message.clone());
    if let Some((number, step)) = failure.step.and_then(|it| Some((it, result.script.steps.get(it)?))) {
        told = told.at(step.span.clone(), format!("step {}", number + 1));
    }
    told.hint = failure.step.and_then(|it| hint(&result.script.steps.get(it)?.what, &result.played.story));
    out.push_str(&render::text::shown(&checked.given, &[told], style.colour));
    if let Some(why) = failure.why.as_ref().filter(|it| !it.why.is_empty()) {
        for it in &why.why {
            let path = it.path.to_string();
            let path = if path.is_empty() { String::new() } else { format!("{path}: ") };
            out.push_str(&style.paint("31", &format!("  - {path}{}\n", it.wants)));
            out.push_str(&style.paint("32", &format!("  + {path}{}\n", it.is)));
        }
        let left_out =
            if why.left_out > 0 { format!("  and {} more\n", why.left_out) } else { String::new() };
        out.push_str(&format!("{left_out}  {}\n\n", style.dim("(- expected, + found)")));
    }
    out.push_str(&timeline(&result.played.story, style));
    out.push('\n');
    out
}

/// What to write where a step names an object of a run-once node without the digest that its name ends in.
fn hint(what: &What, story: &[Happening]) -> Option<String> {
    let facts = match what {
        What::Eventually(fact, _) | What::Now(fact) | What::Never(fact) => vec![fact],
        What::Order(first, before) => vec![&**first, &**before],
        _ => Vec::new(),
    };
    let created = |kind: &str| -> Vec<&str> {
        let texts = story.iter().filter(|it| it.moment.mark == '+').map(|it| it.moment.text.as_str());
        let paths = texts.filter_map(|it| it.strip_prefix(kind)?.strip_prefix(' ')?.split(' ').next());
        paths.map(|it| it.rsplit('/').next().unwrap_or(it)).collect()
    };
    facts.into_iter().find_map(|fact| {
        let Some(Shape::Equals(Value::String(name))) = &fact.name else { return None };
        let names = created(&fact.kind);
        let is_digest = |it: &str| it.len() == DIGEST && it.chars().all(|it| it.is_ascii_hexdigit());
        let runs = |it: &&&str| {
            it.strip_prefix(name.as_str()).and_then(|it| it.strip_prefix('-')).is_some_and(is_digest)
        };
        let found = names.iter().find(runs).filter(|_| !names.contains(&name.as_str()))?;
        Some(format!(
            "there was {} {found}: each run has a name of its own. Write `name = matches \"^{name}-\"`",
            fact.kind
        ))
    })
}

/// What happened, the last of it.
pub(crate) fn timeline(story: &[Happening], style: Style) -> String {
    let mut out = format!("  {}\n", style.bold("what happened"));
    let left_out = story.len().saturating_sub(MAX_HAPPENINGS);
    if left_out > 0 {
        out.push_str(&format!("  {}\n", style.dim(&format!("{left_out} more before"))));
    }
    for it in story.iter().skip(left_out) {
        let colour = match it.moment.mark {
            '+' => "32",
            '-' => "31",
            '!' => "33",
            '>' => "1",
            _ => "",
        };
        let text = format!("{} {}", it.moment.mark, it.moment.text);
        out.push_str(&format!("  {} {}\n", style.dim(&since(it.at)), style.paint(colour, &text)));
    }
    out
}

/// How all of them went.
pub(crate) fn summary(
    passed: usize,
    failed: usize,
    filtered: usize,
    spent: Duration,
    style: Style,
) -> String {
    let counted = |count: usize, what: &str, colour: &str| {
        (count > 0).then(|| style.paint(colour, &format!("{count} {what}")))
    };
    let all =
        [counted(passed, "passed", "32"), counted(failed, "failed", "31"), counted(filtered, "left out", "")];
    let said: Vec<String> = all.into_iter().flatten().collect();
    let said = if said.is_empty() { "no scenario".to_owned() } else { said.join(", ") };
    format!("{said} in {}\n", took(spent))
}

/// One line for a scenario that was explored.
pub(crate) fn explored_line(title: &str, explored: &Explored, style: Style) -> String {
    let (mark, colour) = if explored.found.is_empty() { ("ok  ", "32") } else { ("FAIL", "31") };
    let pace = per_second(explored.runs, explored.took);
    let about =
        format!("({} runs, {} of them twice, {pace} a second and core)", explored.runs, explored.twice);
    format!("  {} {title}  {}\n", style.paint(colour, mark), style.dim(&about))
}

/// How many in a second on each core: every core plays runs of its own.
pub(crate) fn per_second(runs: usize, spent: Duration) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    #[expect(clippy::cast_precision_loss, reason = "nobody runs so many")]
    let pace = runs as f64 / spent.as_secs_f64().max(0.001) / cores as f64;
    if pace < 10.0 { format!("{pace:.1}") } else { format!("{pace:.0}") }
}

/// A run that went wrong: what was done to it, what came of it, and how to see it again.
pub(crate) fn found(title: &str, found: &Found, replay: &str, style: Style) -> String {
    let mut out = format!("{}\n", style.bold(title));
    out.push_str(&format!("{}: {}\n", style.paint("1;31", "error"), found.message));
    for ((number, fault), request) in found.faults.iter().zip(&found.requests) {
        out.push_str(&format!("  request {number}, {fault}: {}\n", style.dim(request)));
    }
    out.push_str(&format!("  to see it again: {}\n\n", style.bold(replay)));
    out.push_str(&timeline(&found.played.story, style));
    out.push('\n');
    out
}

fn since(at: Time) -> String {
    let millis = at.0.saturating_sub(BEGINS.0);
    format!("{:>6}.{}s", millis / 1_000, millis % 1_000 / 100)
}

/// A duration for people.
pub(crate) fn took(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}

fn minutes(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3_600),
    }
}
