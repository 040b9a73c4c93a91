//! Manifests on the command line: a file, or all below a folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
    rc::Rc,
};

use pemdas_core::diagnostic::Diagnostic;

use super::{UNREADABLE, Within, cannot_read, text_of};

/// How many files of a folder are read.
const MAX_FILES: usize = 2_000;
/// How many entries of folders are looked at.
const MAX_ENTRIES: usize = 100_000;
/// How deep folders are followed.
const MAX_DEPTH: usize = 8;
/// How many bytes all files of a folder may have.
const MAX_TOTAL: u64 = 256 << 20;

/// A file that was named, or found below a folder that was.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub(crate) path: PathBuf,
    within: Option<Rc<Within>>,
}

impl Listed {
    /// A file that was named: it may be a pipe, and a link may lead anywhere.
    pub(crate) fn named(path: &Path) -> Self {
        Self { path: path.to_owned(), within: None }
    }

    pub(crate) fn text(&self) -> Result<String, Box<Diagnostic>> {
        let Some(within) = &self.within else { return text_of(&self.path) };
        let text = within.text(&self.path)?;
        let gone =
            || Box::new(cannot_read(&self.path.display().to_string(), &io::ErrorKind::NotFound.into()));
        text.ok_or_else(gone)
    }
}

/// The files at a path, in their order: itself, or those below it that end as manifests do. `enter` may refuse a folder.
pub(crate) fn manifests(
    path: &Path,
    enter: &dyn Fn(&Path) -> Result<(), Box<Diagnostic>>,
) -> Result<Vec<Listed>, Box<Diagnostic>> {
    let cannot = |why: io::Error| Box::new(cannot_read(&path.display().to_string(), &why));
    if !fs::metadata(path).map_err(cannot)?.is_dir() {
        return Ok(vec![Listed::named(path)]);
    }
    let mut walk =
        Walk { within: Rc::new(Within::new(path, MAX_TOTAL)?), enter, found: Vec::new(), entries: 0 };
    walk.folder(path, 0)?;
    walk.found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(walk.found)
}

struct Walk<'a> {
    within: Rc<Within>,
    enter: &'a dyn Fn(&Path) -> Result<(), Box<Diagnostic>>,
    found: Vec<Listed>,
    entries: usize,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) -> Result<(), Box<Diagnostic>> {
        let title = folder.display();
        let problem = |message: String| Box::new(Diagnostic::error(UNREADABLE, message));
        let cannot = |why: io::Error| Box::new(cannot_read(&title.to_string(), &why));
        if depth >= MAX_DEPTH {
            return Err(problem(format!("{title} is nested more than {MAX_DEPTH} folders deep")));
        }
        (self.enter)(folder)?;
        for entry in fs::read_dir(folder).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(cannot)?);
            self.entries += 1;
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            let wanted = path.extension().is_some_and(|it| it == "yaml" || it == "yml" || it == "json");
            if hidden {
                continue;
            }
            if kind.is_dir() {
                self.folder(&path, depth + 1)?;
            } else if kind.is_symlink() && self.within.has_folder(&path)? {
                // What it leads to is found where it is.
            } else if wanted {
                self.found.push(Listed { path, within: Some(self.within.clone()) });
            }
            if self.found.len() > MAX_FILES || self.entries > MAX_ENTRIES {
                return Err(problem(format!("{title} holds more than {MAX_FILES} files")));
            }
        }
        Ok(())
    }
}
