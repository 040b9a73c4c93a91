//! Diagnostics as SARIF 2.1.0, for code scanning services.

use std::collections::BTreeSet;

use pemdas_core::diagnostic::{Diagnostic, Label};
use serde_json::{Value, json};

use super::{name, whereabouts};
use crate::{load::Checked, pages};

/// All problems as one run.
pub(crate) fn blueprints(all: &[Checked]) -> String {
    let codes: BTreeSet<_> = all.iter().flat_map(|it| &it.diagnostics).map(|it| it.code.as_str()).collect();
    let codes: Vec<_> = codes.into_iter().collect();
    let results: Vec<_> = all
        .iter()
        .flat_map(|checked| checked.diagnostics.iter().map(|it| result(checked, it, &codes)))
        .collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "pemdas",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": codes.iter().map(|code| rule(code)).collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{document:#}\n")
}

fn rule(code: &str) -> Value {
    let title = pages::title(code).unwrap_or(code);
    let page = pages::page(code).unwrap_or(title);
    json!({
        "id": code,
        "shortDescription": { "text": title },
        "help": { "text": page, "markdown": page },
    })
}

fn result(checked: &Checked, it: &Diagnostic, codes: &[&str]) -> Value {
    let mut message = it.message.clone();
    for more in it.notes.iter().chain(&it.hint) {
        message.push('\n');
        message.push_str(more);
    }
    let (primary, others): (Vec<_>, Vec<_>) = it.labels.iter().partition(|label| label.primary);
    let mut locations: Vec<_> =
        primary.iter().take(1).filter_map(|label| location(checked, label, None)).collect();
    if locations.is_empty() {
        locations.push(
            json!({ "physicalLocation": { "artifactLocation": { "uri": uri(&checked.given.title) } } }),
        );
    }
    let related: Vec<_> =
        others.iter().enumerate().filter_map(|(id, label)| location(checked, label, Some(id))).collect();
    json!({
        "ruleId": it.code,
        "ruleIndex": codes.iter().position(|code| *code == it.code),
        "level": name(it.severity),
        "message": { "text": message },
        "locations": locations,
        "relatedLocations": related,
    })
}

fn location(checked: &Checked, label: &Label, id: Option<usize>) -> Option<Value> {
    let (path, positions) = whereabouts(checked, &label.span)?;
    let mut physical = json!({ "artifactLocation": { "uri": uri(path) } });
    if let Some((start, end)) = positions {
        physical["region"] = json!({
            "startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column,
        });
    }
    let mut location = json!({ "physicalLocation": physical });
    if let Some(id) = id {
        location["id"] = json!(id);
        location["message"] = json!({ "text": label.message });
    }
    Some(location)
}

/// A relative path as a URI: what is not plain is escaped.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
