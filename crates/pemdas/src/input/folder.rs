//! Blueprints as files: a main file, and whatever it imports from its own directory.

use std::{collections::BTreeSet, fs, path::Path};

use pemdas_core::diagnostic::Diagnostic;
use pemdas_nickel::imported_files;

use super::{Given, MAIN, NO_MAIN, UNREADABLE, shown, text_of};
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
    let folder = main.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    blueprint(shown(main), folder, main)
}

/// The main file and what it reaches by imports, read only from below its own directory.
fn blueprint(title: String, folder: &Path, main: &Path) -> Given {
    let mut given = Given { title: title.clone(), ..Given::default() };
    match text_of(main) {
        Ok(text) => given.add(MAIN, text, Place::file(shown(main))),
        Err(problem) => return Given::unreadable(title, *problem),
    }
    gather(&mut given, folder, vec![MAIN.to_owned()]);
    given
}

/// Adds files that lie beside a blueprint, by their names within its folder, and what they import.
pub(crate) fn add(given: &mut Given, folder: &Path, names: &[String]) {
    for name in names {
        match text_of(&folder.join(name)) {
            Ok(text) => given.add(name, text, Place::file(shown(&folder.join(name)))),
            Err(problem) => given.diagnostics.push(*problem),
        }
    }
    gather(given, folder, names.to_vec());
}

/// Adds whatever these files reach by imports.
fn gather(given: &mut Given, folder: &Path, mut open: Vec<String>) {
    let Ok(root) = fs::canonicalize(folder) else { return };
    let mut seen: BTreeSet<String> = given.files.keys().cloned().collect();
    while let Some(importer) = open.pop() {
        let targets =
            given.files.get(&importer).map(|text| imported_files(&importer, text)).unwrap_or_default();
        for name in targets {
            if seen.len() >= MAX_FILES || !seen.insert(name.clone()) {
                continue;
            }
            let path = folder.join(&name);
            match lies_below(&root, &path) {
                // What is not there is said where it is imported.
                None => continue,
                Some(false) => given.diagnostics.push(leads_out(&path)),
                Some(true) => match text_of(&path) {
                    Ok(text) => {
                        given.add(&name, text, Place::file(shown(&path)));
                        open.push(name);
                    }
                    Err(problem) => given.diagnostics.push(*problem),
                },
            }
        }
    }
}

/// Whether a file is really below the root, whatever links lead to it; none if there is no such file.
fn lies_below(root: &Path, path: &Path) -> Option<bool> {
    let real = fs::canonicalize(path).ok()?;
    // A pipe or a device would be read for ever.
    fs::metadata(&real).is_ok_and(|kind| kind.is_file()).then(|| real.starts_with(root))
}

fn leads_out(path: &Path) -> Diagnostic {
    Diagnostic::error(UNREADABLE, format!("{} leads out of the blueprint's directory", shown(path)))
        .hint("a blueprint consists of files below the directory of its first file; copy the file there")
}
