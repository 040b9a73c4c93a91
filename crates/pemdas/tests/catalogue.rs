//! The index of the catalogue of diagnostics is that of its pages. `PEMDAS_RENEW=1` writes it anew.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

use std::{collections::BTreeMap, fs, path::Path};

/// What the codes of a group are about, by what they begin with.
const GROUPS: &[(&str, &str)] = &[
    ("PM00", "Loading and evaluating"),
    ("PM01", "Both graphs"),
    ("PM02", "The language"),
    ("PM03", "Kubernetes types"),
    ("PM04", "Definitions of kinds"),
    ("PM05", "Plans and revisions"),
    ("PM06", "Imports"),
    ("PM07", "Rights"),
    ("PM08", "Scenarios"),
];

const INTRODUCTION: &str = "\
# Diagnostics

Everything that `pemdas` finds wrong has a code that stays what it is. Behind each is a page that says what it means, shows it, and says how to mend it. `pemdas check --explain
PM0103` prints the page.
";

fn index(folder: &Path) -> String {
    let mut titles = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let code = path.file_stem().unwrap().to_string_lossy().into_owned();
        if code == "README" {
            continue;
        }
        let page = fs::read_to_string(&path).unwrap();
        let heading = page.lines().next().unwrap_or_default();
        let title = heading.strip_prefix(&format!("# {code}: "));
        titles.insert(code.clone(), title.unwrap_or_else(|| panic!("{code} has no title")).to_owned());
    }
    let homeless = titles.keys().find(|it| !GROUPS.iter().any(|(begin, _)| it.starts_with(begin)));
    assert_eq!(homeless, None, "a code of no group");
    let mut text = INTRODUCTION.to_owned();
    for (begin, about) in GROUPS {
        let rows: String = titles
            .iter()
            .filter(|(code, _)| code.starts_with(begin))
            .map(|(code, title)| format!("| [{code}]({code}.md) | {title} |\n"))
            .collect();
        if !rows.is_empty() {
            text.push_str(&format!("\n## {about}\n\n| code | what it says |\n| --- | --- |\n{rows}"));
        }
    }
    text
}

#[test]
fn the_index_is_that_of_the_pages() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/diagnostics");
    let today = index(&folder);
    let place = folder.join("README.md");
    if std::env::var_os("PEMDAS_RENEW").is_some() {
        fs::write(&place, &today).unwrap();
    }
    let shown = fs::read_to_string(&place).unwrap_or_default();
    assert!(shown == today, "the index is out of date: run this test with PEMDAS_RENEW=1");
}
