//! Definitions, gap reports and comparisons, for people and programs.

use std::fmt::Write as _;

use pemdas_core::crd::compatibility::{Change, Verdict};
use pemdas_core::crd::{Gap, Side};
use serde_json::{Value, json};

use crate::cli::Compared;

/// The version of the forms for programs.
const VERSION: u32 = 1;

/// Definitions as they are applied.
pub(crate) fn definitions_yaml(definitions: &[Value]) -> String {
    let documents: Vec<String> = definitions
        .iter()
        .map(|one| serde_saphyr::to_string(one).unwrap_or_else(|_| format!("{one}\n")))
        .collect();
    documents.join("---\n")
}

/// Definitions as one list.
pub(crate) fn definitions_json(definitions: &[Value]) -> String {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": definitions });
    format!("{list:#}\n")
}

/// The gap report for people.
pub(crate) fn gaps_text(gaps: &[Gap]) -> String {
    let mut out = String::new();
    let sides = [
        (
            Side::OnlyContract,
            "Only the contract checks (the API server accepts it, the contract refuses it):",
        ),
        (
            Side::OnlyKubernetes,
            "Only the API server checks (the contract accepts it, the API server refuses it):",
        ),
    ];
    for (side, heading) in sides {
        let _ = writeln!(out, "{heading}");
        let mut none = true;
        for gap in gaps.iter().filter(|gap| gap.side == side) {
            none = false;
            let _ = writeln!(out, "  {} {} {}: {}", gap.kind, gap.version, gap.path, gap.what);
        }
        if none {
            let _ = writeln!(out, "  nothing");
        }
    }
    out
}

/// The gap report for programs.
pub(crate) fn gaps_json(gaps: &[Gap]) -> String {
    format!("{:#}\n", json!({ "version": VERSION, "gaps": gaps }))
}

/// What a new draft changes, for people.
pub(crate) fn changes_text(compared: &[Compared]) -> String {
    let mut out = String::new();
    for one in compared {
        let Some(changes) = &one.changes else {
            let _ = writeln!(out, "{}: new (it has no CRD yet)", one.kind);
            continue;
        };
        let worst = changes.iter().map(|change| change.verdict).max();
        let _ = writeln!(out, "{}: {}", one.kind, worst.map_or("the same", Verdict::words));
        for change in changes {
            let _ = writeln!(out, "  {}: {} ({})", place(change), change.what, change.verdict.words());
        }
    }
    if compared.is_empty() {
        out.push_str("the blueprint has no kinds of its own\n");
    }
    out
}

fn place(change: &Change) -> String {
    let parts = [change.version.as_deref().unwrap_or_default(), &change.path];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// What a new draft changes, for programs.
pub(crate) fn changes_json(compared: &[Compared]) -> String {
    let kinds: Vec<Value> = compared
        .iter()
        .map(|one| {
            let changes: Vec<Value> = one
                .changes
                .iter()
                .flatten()
                .map(|change| {
                    let needs = match change.verdict {
                        Verdict::Safe => "nothing",
                        Verdict::NeedsVersion => "version",
                        Verdict::NeedsConversion => "conversion",
                        Verdict::NeedsKind => "kind",
                    };
                    json!({ "version": change.version, "path": change.path, "what": change.what, "needs": needs })
                })
                .collect();
            json!({ "kind": one.kind, "exists": one.changes.is_some(), "changes": changes })
        })
        .collect();
    format!("{:#}\n", json!({ "version": VERSION, "kinds": kinds }))
}
