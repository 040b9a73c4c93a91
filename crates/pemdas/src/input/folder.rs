//! Blueprints as files: a main file, and whatever it imports from its own directory.

use std::{collections::BTreeSet, fs, io, path::Path};

use pemdas_core::diagnostic::Diagnostic;
use pemdas_nickel::imported_files;

use super::{Given, MAIN, MAX_FOLDER, NO_MAIN, Within, cannot_read, shown};
use crate::input::Place;

/// How many files a blueprint may have on disk; what a ConfigMap holds is checked later.
const MAX_FILES: usize = 1_000;

pub(super) fn directory(folder: &Path) -> Given {
    let main = folder.join(MAIN);
    if main.is_file() {
        return blueprint(shown(folder), folder, &main);
    }
    let title = shown(folder);
    let problem = Diagnostic::error(NO_MAIN, format!("{title} has no file {MAIN}"));
    let other = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let other = other.filter(|path| path.is_file() && path.extension().is_some_and(|it| it == "ncl")).min();
    let hint = match other {
        None => format!("a blueprint begins with {MAIN}"),
        Some(other) => format!(
            "a blueprint begins with {MAIN}; to check a file of another name, give the file: {}",
            shown(&other)
        ),
    };
    Given::unreadable(title, problem.hint(hint))
}

pub(super) fn file(main: &Path) -> Given {
    blueprint(shown(main), parent(main), main)
}

/// The folder that a file is in, as it was named.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The text of a file that was named, and is really in the folder in which it was.
pub(super) fn text_within(path: &Path) -> Result<String, Box<Diagnostic>> {
    needed(&Within::new(parent(path), MAX_FOLDER)?, path)
}

fn needed(within: &Within, path: &Path) -> Result<String, Box<Diagnostic>> {
    let gone = || Box::new(cannot_read(&shown(path), &io::ErrorKind::NotFound.into()));
    within.text(path)?.ok_or_else(gone)
}

/// The main file and what it reaches by imports, read only from below its own directory.
fn blueprint(title: String, folder: &Path, main: &Path) -> Given {
    let mut given = Given { title: title.clone(), ..Given::default() };
    let within = match Within::new(folder, MAX_FOLDER) {
        Ok(within) => within,
        Err(problem) => return Given::unreadable(title, *problem),
    };
    match needed(&within, main) {
        Ok(text) => given.add(MAIN, text, Place::file(shown(main))),
        Err(problem) => return Given::unreadable(title, *problem),
    }
    gather(&mut given, &within, folder, vec![MAIN.to_owned()]);
    given
}

/// Adds files that lie beside a blueprint, by their names within its folder, and what they import.
pub(crate) fn add(given: &mut Given, folder: &Path, names: &[String]) {
    let within = match Within::new(folder, MAX_FOLDER) {
        Ok(within) => within,
        Err(problem) => return given.diagnostics.push(*problem),
    };
    for name in names {
        let path = folder.join(name);
        match needed(&within, &path) {
            Ok(text) => given.add(name, text, Place::file(shown(&path))),
            Err(problem) => given.diagnostics.push(*problem),
        }
    }
    gather(given, &within, folder, names.to_vec());
}

/// Adds whatever these files reach by imports.
fn gather(given: &mut Given, within: &Within, folder: &Path, mut open: Vec<String>) {
    let mut seen: BTreeSet<String> = given.files.keys().cloned().collect();
    while let Some(importer) = open.pop() {
        let targets =
            given.files.get(&importer).map(|text| imported_files(&importer, text)).unwrap_or_default();
        for name in targets {
            if seen.len() >= MAX_FILES || !seen.insert(name.clone()) {
                continue;
            }
            let path = folder.join(&name);
            match within.text(&path) {
                // What is not there is said where it is imported.
                Ok(None) => {}
                Ok(Some(text)) => {
                    given.add(&name, text, Place::file(shown(&path)));
                    open.push(name);
                }
                Err(problem) => given.diagnostics.push(*problem),
            }
        }
    }
}
