//! Every Nickel sample of the documentation does what the text says.
//!
//! A block is a whole blueprint (it ends in `| Blueprint`), or an expression with the library's names in scope whose last
//! line may say `# => JSON`; `nickel nodes` and `nickel kinds` are what stands in these records. `wrong=PMnnnn` says which
//! diagnostic it gives; all others give none.

#![allow(clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

mod reading;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pemdas_core::blueprint::Clause;
use pemdas_nickel::{Evaluator as _, InProcess, Limits, Place, Sources, outline};
use serde_json::Value;

struct Block {
    place: String,
    words: Vec<String>,
    text: String,
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    entries
}

fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

fn pages(directory: &str) -> Vec<PathBuf> {
    entries(&reading::workspace(directory)).into_iter().filter(|path| is_page(path)).collect()
}

/// All pages but those of the reference and of the diagnostics.
fn other_pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let mut folders = vec![reading::workspace("docs")];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            if is_page(&path) {
                pages.push(path);
            } else if path.is_dir() && !path.ends_with("docs/language") && !path.ends_with("docs/diagnostics")
            {
                folders.push(path);
            }
        }
    }
    pages
}

fn blocks(page: &PathBuf) -> Vec<Block> {
    let text = std::fs::read_to_string(page).expect("a page");
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => {
                let words: Vec<String> = info.split_whitespace().map(str::to_owned).collect();
                let name = page.file_name().expect("a name").to_string_lossy();
                open = Some(Block { place: format!("{name}:{number}"), words, text: String::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks.into_iter().filter(|block| block.words.first().is_some_and(|word| word == "nickel")).collect()
}

/// All that the library exports.
fn library_names() -> Vec<String> {
    let loaded = InProcess::load(&Sources::single("import \"pemdas/v1.ncl\""), &Limits::default())
        .expect("the library");
    let seen = loaded.look(&Place::root()).expect("a record");
    seen.fields.into_iter().map(|field| field.name).collect()
}

fn run(block: &Block, names: &[String]) {
    let place = &block.place;
    let scope = format!("let {{ {}, .. }} = import \"pemdas/v1.ncl\" in\n", names.join(", "));
    let has = |word: &str| block.words.iter().any(|one| one == word);
    let wrong = block.words.iter().find_map(|word| word.strip_prefix("wrong="));
    let text = &block.text;
    let program = if has("nodes") {
        format!("{scope}{{ name = \"sample\", nodes = {{ {text} }} }} | Blueprint")
    } else if has("kinds") {
        format!("{scope}{{ name = \"sample\", kinds = {{ {text} }}, nodes = {{}} }} | Blueprint")
    } else if text.contains("| Blueprint") {
        text.clone()
    } else {
        assert_eq!(wrong, None, "{place}: an expression gives no diagnostic");
        return evaluate(place, &format!("{scope}{text}"), text);
    };
    let sources = Sources::single(program);
    let (_, outline) = outline::load(&sources, &Limits::default());
    let told = reading::shown(&outline.diagnostics, &sources);
    match wrong {
        None => assert!(outline.diagnostics.is_empty(), "{place}:\n{told}"),
        Some(code) => {
            let codes: BTreeSet<&str> = outline.diagnostics.iter().map(|it| it.code.as_str()).collect();
            assert_eq!(codes, BTreeSet::from([code]), "{place}:\n{told}");
            assert!(outline.diagnostics.iter().all(|it| !it.labels.is_empty()), "{place}: no place:\n{told}");
        }
    }
}

fn evaluate(place: &str, program: &str, text: &str) {
    let loaded = InProcess::load(&Sources::single(program), &Limits::default())
        .unwrap_or_else(|failure| panic!("{place}: {failure:?}"));
    let value = loaded.evaluate(&Place::root()).unwrap_or_else(|failure| panic!("{place}: {failure:?}"));
    if let Some(expected) = text.lines().find_map(|line| line.strip_prefix("# => ")) {
        let expected: Value =
            serde_json::from_str(expected).unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(value, expected, "{place}");
    }
}

#[test]
fn samples_of_the_reference_work() {
    let names = library_names();
    let all: Vec<Block> = pages("docs/language").iter().flat_map(blocks).collect();
    assert!(all.len() > 30, "the reference has samples: {}", all.len());
    all.iter().for_each(|block| run(block, &names));
}

/// What is saved as a file is judged where the pages are played: `crates/pemdas/tests/pages`. Scenarios are played there, or by the
/// tests of their own page.
#[test]
fn samples_of_other_pages_work() {
    let names = library_names();
    let all: Vec<Block> = other_pages()
        .iter()
        .flat_map(blocks)
        .filter(|it| {
            !it.words.iter().any(|word| word.starts_with("file=")) && !it.text.contains("| Scenarios")
        })
        .collect();
    assert!(all.len() > 4, "the pages have samples: {}", all.len());
    all.iter().for_each(|block| run(block, &names));
}

#[test]
fn pages_of_diagnostics_show_what_gives_them_and_what_does_not() {
    let names = library_names();
    for page in pages("docs/diagnostics") {
        let name = page.file_stem().expect("a name").to_string_lossy().into_owned();
        // Those of definitions need more than a blueprint to show, some of them.
        let of_definitions = name.starts_with("PM04") && !blocks(&page).is_empty();
        if !name.starts_with("PM02") && !of_definitions {
            continue;
        }
        let text = std::fs::read_to_string(&page).expect("a page");
        assert!(text.starts_with(&format!("# {name}: ")), "{name}: the title");
        let blocks = blocks(&page);
        if name != "PM0229" {
            let wrong = format!("wrong={name}");
            assert_eq!(blocks.len(), 2, "{name}: one that gives it and one that does not");
            assert!(blocks[0].words.contains(&wrong), "{name}: the first gives it");
        }
        blocks.iter().for_each(|block| run(block, &names));
    }
}

#[test]
fn nothing_of_the_language_is_left_out_of_the_reference() {
    // By those who wrote it: the page that is made from the library leaves nothing out.
    let written = pages("docs/language").into_iter().filter(|page| !page.ends_with("library.md"));
    let reference: String = written.map(|page| std::fs::read_to_string(page).expect("a page")).collect();
    let words: BTreeSet<&str> = reference.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect();
    let clauses = Clause::ALL.iter().map(|clause| clause.name().to_owned());
    let missing: Vec<String> =
        library_names().into_iter().chain(clauses).filter(|name| !words.contains(name.as_str())).collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn every_code_has_a_page() {
    let source = include_str!("../src/outline/codes.rs");
    let codes: Vec<&str> = source.split('"').filter(|part| part.starts_with("PM02")).collect();
    assert!(codes.len() > 10, "{codes:?}");
    for code in codes {
        let page = reading::workspace("docs/diagnostics").join(format!("{code}.md"));
        assert!(page.exists(), "{code} has no page");
    }
}

#[test]
fn what_is_too_large_for_a_blueprint_is_refused() {
    let large = "x".repeat(4 << 20);
    let sources = Sources::single(format!(
        "let {{ Blueprint, .. }} = import \"pemdas/v1.ncl\" in\nlet _unused = \"{large}\" in\n{{ name = \"large\", nodes = {{}} }} | Blueprint"
    ));
    let (_, outline) = outline::load(&sources, &Limits::default());
    let codes: Vec<&str> = outline.diagnostics.iter().map(|it| it.code.as_str()).collect();
    assert_eq!(codes, [outline::codes::TOO_LARGE]);
    assert!(outline.blueprint.is_some(), "everything else is looked at all the same");
}
