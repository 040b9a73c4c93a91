//! Diagnostics as commands that GitHub Actions turns into annotations.

use pemdas_core::diagnostic::{Diagnostic, Severity};

use super::whereabouts;
use crate::load::Checked;

/// One line for each problem.
pub(crate) fn blueprints(all: &[Checked]) -> String {
    all.iter().flat_map(|checked| checked.diagnostics.iter().map(|it| line(checked, it))).collect()
}

fn line(checked: &Checked, it: &Diagnostic) -> String {
    let command = match it.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let primary = it.labels.iter().find(|label| label.primary).or(it.labels.first());
    let place = primary.and_then(|label| whereabouts(checked, &label.span));
    let mut properties = Vec::new();
    if let Some((path, positions)) = place {
        properties.push(format!("file={}", property(path)));
        if let Some((start, end)) = positions {
            properties.push(format!("line={},endLine={}", start.line, end.line));
            // Columns are only understood within one line.
            if start.line == end.line {
                properties.push(format!("col={},endColumn={}", start.column, end.column));
            }
        }
    }
    properties.push(format!("title={}", property(&it.code)));
    let mut message = it.message.clone();
    for more in &it.notes {
        message.push_str(&format!("\n{more}"));
    }
    if let Some(hint) = &it.hint {
        message.push_str(&format!("\nhint: {hint}"));
    }
    format!("::{command} {}::{}\n", properties.join(","), data(&message))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
