//! What the documentation shows is what the commands say, and its blueprints pass `pemdas check`. `PEMDAS_RENEW=1` writes what was seen
//! into the pages, where that is not what they show.
//!
//! A page is played from its beginning to its end, in a folder of its own:
//!
//! | block | what is done |
//! | --- | --- |
//! | any language with `file=PATH` | it is saved there |
//! | `nickel` that is a blueprint | it passes `pemdas check` without a warning, unless it is in a page of a diagnostic |
//! | `yaml` | it is YAML |
//! | `console` | every line that begins with `$ ` is typed; what stands below it is seen |
//! | `console demo=EXAMPLE` | the same, while `pemdas demo EXAMPLE` runs, with its kubeconfig |
//! | `console cluster` | the same on a real control plane: `tests/examples` does that |
//! | `console node` | the same on a real node: `tests/node` does that |
//!
//! A page beside a `main.ncl` is played in its own folder. Fragments in `nickel` blocks are judged by the tests of `pemdas-nickel`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod desk;
mod page;
#[path = "../said/mod.rs"]
mod said;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use desk::Desk;
use page::{Block, blocks, pages_below};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A block of a terminal with what was seen this time, where that is not what the page shows.
fn renewed(shown: &str, seen: &[String]) -> String {
    let parts = said::steps(shown).into_iter().zip(seen).map(|((command, expected), seen)| {
        let seen = if said::fits(&expected, seen) { &expected } else { seen };
        let end = if seen.is_empty() || seen.ends_with('\n') { "" } else { "\n" };
        format!("$ {command}\n{seen}{end}")
    });
    parts.collect()
}

/// Plays a block of a terminal; what was seen after each command.
fn played(desk: &Desk, folder: &Path, block: &Block, text: &str, place: &str) -> Vec<String> {
    let demo = block.named("demo").map(|it| desk.demo(it));
    let steps = said::steps(text);
    assert!(!steps.is_empty(), "{place}: a terminal in which nothing is typed");
    let seen = steps.iter().map(|(command, _)| {
        let (status, seen) = desk.type_in(folder, command, demo.as_ref());
        // 1 is an answer: there is something to do, or something is wrong. More means that it could not run.
        assert!(matches!(status, Some(0 | 1)), "{place}: $ {command}\n{seen}\nended with {status:?}");
        seen
    });
    seen.collect()
}

/// Looks at what a page shows beside terminals: manifests are YAML, and blueprints pass `pemdas check`, unless the page is there to
/// show what does not.
fn look_at(desk: &Desk, block: &Block, inside: &str, place: &str, shows_mistakes: bool) {
    if block.is("yaml") {
        let read: Result<Vec<Value>, _> = serde_saphyr::from_multiple(inside);
        assert!(read.is_ok(), "{place}: {read:?}");
    }
    let file = block.named("file").map_or_else(|| format!("block-{}/main.ncl", block.line), str::to_owned);
    let is_blueprint = block.is("nickel") && inside.contains("| Blueprint");
    if block.named("file").is_some() || is_blueprint {
        desk.save(&file, inside);
    }
    if is_blueprint && !shows_mistakes {
        let (status, seen) =
            desk.type_in(&desk.folder(), &format!("pemdas check --deny-warnings {file}"), None);
        assert_eq!(status, Some(0), "{place}:\n{seen}");
    }
}

/// Plays a page; how it has to read, and how many commands there are.
fn play(path: &Path) -> (String, usize) {
    let page = fs::read_to_string(path).unwrap();
    let desk = Desk::new();
    // A page beside a blueprint speaks of that; others bring what they speak of.
    let beside = path.parent().filter(|it| it.join("main.ncl").is_file());
    let folder = beside.map_or_else(|| desk.folder(), Path::to_path_buf);
    let of_an_example = path.starts_with(root().join("examples"));
    let shows_mistakes = path.starts_with(root().join("docs/diagnostics"));
    let mut changes = Vec::new();
    for block in blocks(&page) {
        let place = format!("{}:{}", path.display(), block.line);
        let inside = &page[block.range.clone()];
        look_at(&desk, &block, inside, &place, shows_mistakes);
        // What examples do on clusters is done by others.
        let elsewhere =
            block.has("cluster") || block.has("node") || (of_an_example && !inside.starts_with("$ pemdas "));
        if block.is("console") && !elsewhere {
            let seen = played(&desk, &folder, &block, inside, &place);
            changes.push((block.range.clone(), renewed(inside, &seen), seen.len()));
        }
    }
    let commands = changes.iter().map(|(.., commands)| commands).sum();
    let mut text = page.clone();
    // From behind, so that places stay what they are.
    for (range, new, _) in changes.into_iter().rev() {
        text.replace_range(range, &new);
    }
    (text, commands)
}

/// Compares a page with what was seen, and renews it if that is asked for.
fn compare(path: &Path, today: &str) -> Result<(), String> {
    let page = fs::read_to_string(path).unwrap();
    if page == today {
        return Ok(());
    }
    if std::env::var_os("PEMDAS_RENEW").is_some() {
        fs::write(path, today).unwrap();
    }
    let lines = page.lines().zip(today.lines()).enumerate();
    let (line, (shown, seen)) = lines.clone().find(|(_, (old, new))| old != new).unwrap_or((0, ("", "")));
    let place = format!("{}:{}", path.display(), line + 1);
    Err(format!(
        "{place} shows\n{shown}\nand what was seen is\n{seen}\nrun this test with PEMDAS_RENEW=1 to renew it"
    ))
}

#[test]
fn what_the_pages_show_is_what_the_commands_say() {
    let pages = Mutex::new(pages_below(&root().join("docs")));
    let (all, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(path) = { pages.lock().unwrap().pop() } {
            let (today, commands) = play(&path);
            all.fetch_add(commands, Ordering::Relaxed);
            wrong.lock().unwrap().extend(compare(&path, &today).err());
        }
    };
    // Most of them wait for something else than a processor.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(work);
        }
    });
    let (all, wrong) = (all.into_inner(), wrong.into_inner().unwrap());
    assert!(all > 40, "the pages show only {all} commands");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn what_the_pages_of_examples_show_is_what_the_commands_say() {
    let mut wrong = Vec::new();
    for entry in fs::read_dir(root().join("examples")).unwrap() {
        let folder = entry.unwrap().path();
        let path = folder.join("README.md");
        let (today, commands) = play(&path);
        assert!(commands > 0, "{} shows no command", path.display());
        wrong.extend(compare(&path, &today).err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn what_still_fits_is_left_as_it_is() {
    let shown = "$ one\na …\n$ two\nold\n";
    assert_eq!(renewed(shown, &["a b\n".to_owned(), "new".to_owned()]), "$ one\na …\n$ two\nnew\n");
}

#[test]
fn a_page_that_shows_something_else_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.md");
    let shows = |seen: &str| format!("```text file=a/b\nx\n```\n\n```console\n$ cat a/b\n{seen}\n```\n");
    fs::write(&path, shows("y")).unwrap();
    let (today, commands) = play(&path);
    assert_eq!((today.as_str(), commands), (shows("x").as_str(), 1));
    assert!(compare(&path, &today).is_err());
}
