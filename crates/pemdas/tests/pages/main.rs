//! What the documentation shows is what the commands say, and its blueprints pass `pemdas check`. `PEMDAS_RENEW=1` writes what was seen
//! into the pages, where that is not what they show.
//!
//! A page is played from its beginning to its end, in a folder of its own:
//!
//! | block | what is done |
//! | --- | --- |
//! | any language with `file=PATH` | it is saved there; a blueprint has to pass `pemdas check` without a warning |
//! | `console` | every line that begins with `$ ` is typed; what stands below it is seen |
//! | `console demo=EXAMPLE` | the same, while `pemdas demo EXAMPLE` runs, with its kubeconfig |
//! | `console cluster` | the same on a real control plane: `tests/examples` does that |
//!
//! What stands in `nickel` blocks without a file is judged by the tests of `pemdas-nickel`.
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

/// Plays a page; how it has to read, and how many commands there are.
fn play(path: &Path, folder: Option<&Path>) -> (String, usize) {
    let page = fs::read_to_string(path).unwrap();
    let name = path.display();
    let desk = Desk::new();
    let mut text = page.clone();
    let mut commands = 0;
    // From behind, so that places stay what they are; blocks are played from the beginning.
    let mut changes = Vec::new();
    for block in blocks(&page) {
        let place = format!("{name}:{}", block.line);
        let inside = &page[block.range.clone()];
        if let Some(file) = block.named("file") {
            desk.save(file, inside);
            if block.is("nickel") && inside.contains("| Blueprint") {
                let check = format!("pemdas check --deny-warnings {file}");
                let (status, seen) = desk.type_in(&desk.folder(), &check, None);
                assert_eq!(status, Some(0), "{place}:\n{seen}");
            }
        } else if block.is("console") && !block.has("cluster") {
            // The pages of examples are played on clusters by others, but for what needs none.
            if folder.is_some() && !inside.starts_with("$ pemdas ") {
                continue;
            }
            let folder = folder.map_or_else(|| desk.folder(), Path::to_path_buf);
            let seen = played(&desk, &folder, &block, inside, &place);
            commands += seen.len();
            changes.push((block.range.clone(), renewed(inside, &seen)));
        }
    }
    for (range, new) in changes.into_iter().rev() {
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
            let (today, commands) = play(&path, None);
            all.fetch_add(commands, Ordering::Relaxed);
            wrong.lock().unwrap().extend(compare(&path, &today).err());
        }
    };
    // Most of them wait for something else than a processor.
    std::thread::scope(|scope| {
        [(); 4].map(|()| scope.spawn(work)).into_iter().for_each(|it| it.join().unwrap())
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
        let (today, commands) = play(&path, Some(&folder));
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
    let (today, commands) = play(&path, None);
    assert_eq!((today.as_str(), commands), (shows("x").as_str(), 1));
    assert!(compare(&path, &today).is_err());
}
