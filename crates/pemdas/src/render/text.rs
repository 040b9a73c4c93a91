//! Diagnostics for people: the source with the places marked, what is wrong, and what to do.

use std::collections::BTreeMap;

use codespan_reporting::{
    diagnostic::{Diagnostic as Report, Label as Mark, LabelStyle, Severity as Level},
    files::SimpleFiles,
    term::{self, Config},
};
use pemdas_core::diagnostic::{Diagnostic, Severity};

use crate::{
    input::{Given, Position, position},
    load::Checked,
    terminal::Style,
};

use super::canvas::Canvas;

/// All blueprints, each with its problems or a line that there are none, and a summary.
pub(crate) fn blueprints(all: &[Checked], colour: bool) -> String {
    let mut out = String::new();
    for checked in all {
        out.push_str(&diagnostics(checked, colour));
        if checked.worst() != Some(Severity::Error) {
            out.push_str(&clean(checked));
        }
    }
    let count = |severity| all.iter().map(|it| it.count(severity)).sum::<usize>();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let counted = [(errors, "error"), (warnings, "warning")];
    let said: Vec<_> =
        counted.iter().filter(|(count, _)| *count > 0).map(|(count, what)| plural(*count, what)).collect();
    if !said.is_empty() {
        out.push_str(&format!("{} in {}\n", said.join(" and "), plural(all.len(), "blueprint")));
    }
    if all
        .iter()
        .flat_map(|it| &it.diagnostics)
        .any(|it| it.severity != Severity::Note && !it.labels.is_empty())
    {
        out.push_str("`pemdas check --explain CODE` says more of each\n");
    }
    out
}

fn clean(checked: &Checked) -> String {
    let (Some(blueprint), Some(graph)) = (&checked.blueprint, &checked.graph) else { return String::new() };
    format!(
        "{}: ok, {} with {} and {}\n",
        checked.given.title,
        plural(blueprint.nodes.len(), "node"),
        plural(graph.also.len(), "Also edge"),
        plural(graph.sequence.len(), "Sequence edge"),
    )
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The problems of one blueprint. Of many warnings of one kind the first are shown, and the others named: they would bury the rest.
pub(crate) fn diagnostics(checked: &Checked, colour: bool) -> String {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut full, mut more): (Vec<Diagnostic>, BTreeMap<&str, Vec<&Diagnostic>>) = Default::default();
    for diagnostic in &checked.diagnostics {
        let count = seen.entry(&diagnostic.code).or_default();
        *count += 1;
        if diagnostic.severity == Severity::Error || *count <= MAX_ALIKE {
            full.push(diagnostic.clone());
        } else {
            more.entry(&diagnostic.code).or_default().push(diagnostic);
        }
    }
    // One more is as short as saying that there is one.
    for (_, only) in more.extract_if(.., |_, it| it.len() == 1) {
        full.extend(only.into_iter().cloned());
    }
    let mut out = shown(&checked.given, &full, colour);
    for (code, alike) in more {
        let lines: Vec<String> = alike.iter().filter_map(|it| line(&checked.given, it)).collect();
        let at = if lines.is_empty() { String::new() } else { format!(", at {}", brief(&lines)) };
        out.push_str(&format!("and {} more of {code}{at}\n", alike.len()));
        out.push_str(&format!("hint: if they are meant, `pemdas check --accept {code}` leaves them out\n\n"));
    }
    out
}

/// The errors of a blueprint, each in a line with its place.
pub(crate) fn short(checked: &Checked) -> Vec<String> {
    let errors = checked.diagnostics.iter().filter(|it| it.severity == Severity::Error);
    let said = |it: &Diagnostic| {
        let at = line(&checked.given, it).map(|at| format!("{at}: ")).unwrap_or_default();
        format!("{at}error {}: {}", it.code, it.message)
    };
    errors.map(said).collect()
}

/// How many warnings of one kind are shown as a whole.
const MAX_ALIKE: usize = 3;
/// How many places of others are named.
const MAX_PLACES: usize = 10;

/// The line that a problem is at.
fn line(given: &Given, diagnostic: &Diagnostic) -> Option<String> {
    let span = &diagnostic.labels.first()?.span;
    let text = given.files.get(&span.file)?;
    let title = given.places.get(&span.file).map_or(&span.file, |place| &place.title);
    Some(format!("{title}:{}", position(text, span.start).line))
}

fn brief(lines: &[String]) -> String {
    let more = if lines.len() > MAX_PLACES { ", ..." } else { "" };
    format!("{}{more}", lines.iter().take(MAX_PLACES).cloned().collect::<Vec<_>>().join(", "))
}

/// Problems with what was given.
pub(crate) fn shown(given: &Given, diagnostics: &[Diagnostic], colour: bool) -> String {
    let mut files = SimpleFiles::new();
    let mut ids = BTreeMap::new();
    for (name, text) in &given.files {
        let title = given.places.get(name).map_or(name, |place| &place.title);
        ids.insert(name.as_str(), files.add(title.clone(), text.as_str()));
    }
    let style = Style { colour };
    let mut canvas = Canvas::new(style);
    for diagnostic in diagnostics {
        let report = report(diagnostic, &ids, given);
        // A label beyond the end of its file cannot be drawn; the sentence is worth more than the picture.
        if term::emit_to_write_style(&mut canvas, &config(), &files, &report).is_err() {
            let bare = report.with_labels(Vec::new());
            let _ = term::emit_to_write_style(&mut canvas, &config(), &files, &bare);
        }
        if let Some(hint) = &diagnostic.hint {
            canvas.write(&format!("{}: {hint}\n\n", style.paint("1;36", "hint")));
        }
    }
    canvas.text()
}

/// The length of a line in which a mark would not be found any more.
const LONG_LINE: usize = 500;

fn config() -> Config {
    Config::default()
}

fn report(diagnostic: &Diagnostic, ids: &BTreeMap<&str, usize>, given: &Given) -> Report<usize> {
    let level = match diagnostic.severity {
        Severity::Error => Level::Error,
        Severity::Warning => Level::Warning,
        Severity::Note => Level::Note,
    };
    let mut notes = Vec::new();
    let mut marks = Vec::new();
    for label in &diagnostic.labels {
        let (Some(id), Some(text)) = (ids.get(label.span.file.as_str()), given.files.get(&label.span.file))
        else {
            // A place in the library, which people do not have as a file.
            notes.push(format!("in {}: {}", label.span.file, label.message));
            continue;
        };
        if let Some(near) = of_long_line(text, clamp(text, label.span.start)) {
            let title = given.places.get(&label.span.file).map_or(&label.span.file, |place| &place.title);
            let Position { line, column } = position(text, label.span.start);
            notes.push(
                format!("{title}:{line}:{column}, near {near} {}", label.message).trim_end().to_owned(),
            );
            continue;
        }
        let style = if label.primary { LabelStyle::Primary } else { LabelStyle::Secondary };
        let range = clamp(text, label.span.start)..clamp(text, label.span.end.max(label.span.start));
        marks.push(Mark::new(style, *id, range).with_message(label.message.clone()));
    }
    notes.extend(diagnostic.notes.iter().cloned());
    Report::new(level)
        .with_code(diagnostic.code.clone())
        .with_message(diagnostic.message.clone())
        .with_labels(marks)
        .with_notes(notes)
}

/// What stands around a byte, if its line is too long to be shown: all of it may be one.
fn of_long_line(text: &str, byte: usize) -> Option<String> {
    let (before, behind) = text.split_at(byte);
    let before = before.rsplit('\n').next().unwrap_or_default();
    let behind = behind.split('\n').next().unwrap_or_default();
    if before.len() + behind.len() <= LONG_LINE {
        return None;
    }
    let mut near: Vec<char> = before.chars().rev().take(30).collect();
    near.reverse();
    Some(near.into_iter().chain(behind.chars().take(30)).collect())
}

fn clamp(text: &str, byte: u32) -> usize {
    let mut byte = usize::try_from(byte).unwrap_or(usize::MAX).min(text.len());
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    byte
}
