//! Blueprints as files: a main file, and whatever it imports from its own directory.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use pemdas_core::diagnostic::Diagnostic;

use super::{Given, MAIN, NO_MAIN, shown, text_of};
use crate::input::Place;

/// How many files of a directory are looked at.
const MAX_FILES: usize = 2_000;
/// How deep.
const MAX_DEPTH: usize = 8;
/// What can be imported.
const IMPORTABLE: [&str; 6] = ["ncl", "json", "yaml", "yml", "toml", "txt"];

pub(super) fn directory(folder: &Path) -> Given {
    let main = folder.join(MAIN);
    if main.is_file() {
        return blueprint(shown(folder), folder, &main);
    }
    let title = shown(folder);
    let problem = Diagnostic::error(NO_MAIN, format!("{title} has no file {MAIN}"));
    let other = walk(folder).into_iter().find(|(name, _)| name.ends_with(".ncl") && !name.contains('/'));
    let hint = match other {
        None => format!("a blueprint begins with {MAIN}"),
        Some((_, other)) => format!(
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

/// The main file, and every file of its directory that it, or one of these, mentions by name. An import names its
/// file literally, so that nothing that is imported is missed; what only lies beside it is not read.
fn blueprint(title: String, folder: &Path, main: &Path) -> Given {
    let mut given = Given { title: title.clone(), ..Given::default() };
    match text_of(main) {
        Ok(text) => given.add(MAIN, text, Place::file(shown(main))),
        Err(problem) => return Given::unreadable(title, *problem),
    }
    let mut candidates = walk(folder);
    candidates.retain(|_, path| path != main);
    candidates.remove(MAIN);
    let mut texts = vec![MAIN.to_owned()];
    while let Some(text) = texts.pop().and_then(|name| given.files.get(&name).cloned()) {
        let mentioned = |name: &str| text.contains(name.rsplit('/').next().unwrap_or(name));
        let found: Vec<String> = candidates.keys().filter(|name| mentioned(name)).cloned().collect();
        for name in found {
            let Some(path) = candidates.remove(&name) else { continue };
            match text_of(&path) {
                Ok(text) => given.add(&name, text, Place::file(shown(&path))),
                // It is only mentioned; if it is imported too, the import says that it is not there.
                Err(problem) if name.ends_with(".ncl") => given.diagnostics.push(*problem),
                Err(_) => continue,
            }
            texts.push(name);
        }
    }
    given
}

/// The importable files of a directory by their relative names. Hidden ones and links are left alone.
fn walk(folder: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let mut open = vec![(folder.to_path_buf(), String::new(), 0)];
    let mut looked_at = 0;
    while let Some((at, prefix, depth)) = open.pop() {
        let mut entries: Vec<_> = fs::read_dir(&at).into_iter().flatten().flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            looked_at += 1;
            if looked_at > MAX_FILES {
                return found;
            }
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            if name.starts_with('.') || name == "target" || name == "node_modules" {
                continue;
            }
            let relative = format!("{prefix}{name}");
            let extension = Path::new(&name).extension().and_then(|it| it.to_str());
            if kind.is_dir() && depth < MAX_DEPTH {
                open.push((entry.path(), format!("{relative}/"), depth + 1));
            } else if kind.is_file() && extension.is_some_and(|it| IMPORTABLE.contains(&it)) {
                found.insert(relative, entry.path());
            }
        }
    }
    found
}
