//! What became of scenarios, for programs: JSON with a version, and the XML that CI systems read.

use std::{fmt::Write as _, time::Duration};

use serde_json::{Value, json};

use super::{Played, Script};
use crate::input::position;
use crate::load::Checked;

/// The version of the form.
const VERSION: u32 = 1;

/// A scenario that was played, and how long that took here.
pub(crate) struct Result {
    /// The blueprint's name.
    pub(crate) blueprint: String,
    /// The scenario.
    pub(crate) script: Script,
    /// What became of it.
    pub(crate) played: Played,
    /// How long it took.
    pub(crate) took: Duration,
}

impl Result {
    /// Whether all was as expected.
    pub(crate) fn passed(&self) -> bool {
        self.played.failure.is_none()
    }

    /// Where the step is written that failed, as `file:line:column`.
    fn place(&self, checked: &Checked) -> Option<String> {
        let step = self.played.failure.as_ref()?.step?;
        let span = &self.script.steps.get(step)?.span;
        let text = checked.given.files.get(&span.file)?;
        let at = position(text, span.start);
        let title = checked.given.places.get(&span.file).map_or(&span.file, |it| &it.title);
        Some(format!("{title}:{}:{}", at.line, at.column))
    }

    /// What went wrong, in one sentence.
    pub(crate) fn message(&self) -> Option<String> {
        let failure = self.played.failure.as_ref()?;
        let why = failure.why.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
        Some(format!("{}{why}", failure.message))
    }

    fn timeline(&self) -> Vec<String> {
        let first = super::arena::BEGINS;
        let line = |it: &super::Happening| {
            let at = it.at.0.saturating_sub(first.0);
            format!("{}.{}s {} {}", at / 1_000, at % 1_000 / 100, it.moment.mark, it.moment.text)
        };
        self.played.story.iter().map(line).collect()
    }
}

/// As JSON.
pub(crate) fn json(all: &[(&Checked, Vec<Result>)]) -> String {
    let one = |checked: &Checked, it: &Result| -> Value {
        json!({
            "blueprint": it.blueprint,
            "file": format!("scenarios/{}.ncl", it.script.file),
            "name": it.script.name,
            "passed": it.passed(),
            "seconds": it.took.as_secs_f64(),
            "requests": it.played.entries.len(),
            "place": it.place(checked),
            "message": it.message(),
            "timeline": if it.passed() { Vec::new() } else { it.timeline() },
        })
    };
    let results: Vec<Value> =
        all.iter().flat_map(|(checked, some)| some.iter().map(|it| one(checked, it))).collect();
    let passed = all.iter().flat_map(|it| &it.1).filter(|it| it.passed()).count();
    let summary = json!({ "passed": passed, "failed": results.len() - passed });
    format!("{:#}\n", json!({ "version": VERSION, "scenarios": results, "summary": summary }))
}

/// As the XML of JUnit.
pub(crate) fn junit(all: &[(&Checked, Vec<Result>)]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for (checked, results) in all {
        let name = results.first().map_or(checked.given.title.as_str(), |it| it.blueprint.as_str());
        let failed = results.iter().filter(|it| !it.passed()).count();
        let took: f64 = results.iter().map(|it| it.took.as_secs_f64()).sum();
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" time=\"{took:.3}\">",
            escaped(name),
            results.len()
        );
        for it in results {
            let head = format!(
                "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
                escaped(&format!("{}.{}", it.blueprint, it.script.file)),
                escaped(&it.script.name),
                it.took.as_secs_f64()
            );
            match it.message() {
                None => out.push_str(&format!("{head}/>\n")),
                Some(message) => {
                    let place = it.place(checked).unwrap_or_default();
                    let text = format!("{place}\n{message}\n\n{}\n", it.timeline().join("\n"));
                    let _ = writeln!(
                        out,
                        "{head}>\n      <failure message=\"{}\">{}</failure>\n    </testcase>",
                        escaped(&message),
                        escaped(&text)
                    );
                }
            }
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

/// A text within XML; what XML cannot hold is left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for it in text.chars() {
        match it {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(it),
            it if it.is_control() => {}
            it => out.push(it),
        }
    }
    out
}
