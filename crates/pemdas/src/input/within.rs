//! A folder that was given, and what may be read of it: files that are really below it.
//!
//! Folders are checked and planned that strangers wrote, and what is read is printed. A link in one may lead to whatever the reader
//! may read, so a file is first found, without opening it; then it is seen where it really is and what it is; then that very file is
//! opened. Nobody who changes links meanwhile is faster, and no pipe or device is ever opened.

use std::{
    cell::Cell,
    fs::{self, File},
    io,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
};

use pemdas_core::diagnostic::Diagnostic;
use rustix::fs::{Mode, OFlags, open};

use super::{MAX_BYTES, UNREADABLE, bounded, cannot_read, shown};

/// A folder of files, all of which together may have so many bytes.
#[derive(Debug)]
pub(crate) struct Within {
    /// Where it really is.
    root: PathBuf,
    /// How it was called.
    title: String,
    most: u64,
    left: Cell<u64>,
}

impl Within {
    /// A folder that was named. That it is a link itself is the wish of whoever named it.
    pub(crate) fn new(folder: &Path, most: u64) -> Result<Self, Box<Diagnostic>> {
        let title = shown(folder);
        let root = fs::canonicalize(folder).map_err(|why| Box::new(cannot_read(&title, &why)))?;
        Ok(Self { root, title, most, left: Cell::new(most) })
    }

    /// The text of a file below; none if there is no such file.
    pub(crate) fn text(&self, path: &Path) -> Result<Option<String>, Box<Diagnostic>> {
        let title = shown(path);
        let cannot = |why: &io::Error| Box::new(cannot_read(&title, why));
        let Some(file) = self.found(path)? else { return Ok(None) };
        if !file.metadata().map_err(|why| cannot(&why))?.is_file() {
            let problem = Diagnostic::error(UNREADABLE, format!("{title} is not a file"));
            return Err(Box::new(problem));
        }
        let file = File::open(at(&file)).map_err(|why| cannot(&why))?;
        let left = self.left.get();
        if left < MAX_BYTES && file.metadata().is_ok_and(|it| it.len() > left) {
            let most = self.most >> 20;
            let message = format!("the files of {} are larger than {most} MiB together", self.title);
            return Err(Box::new(Diagnostic::error(UNREADABLE, message)));
        }
        let text = bounded(file, &title)?;
        self.left.set(left.saturating_sub(text.len() as u64));
        Ok(Some(text))
    }

    /// Whether there is a folder below; an error if a link leads out of this one.
    pub(crate) fn has_folder(&self, path: &Path) -> Result<bool, Box<Diagnostic>> {
        let found = self.found(path)?;
        Ok(found.is_some_and(|it| it.metadata().is_ok_and(|it| it.is_dir())))
    }

    /// What is below at a path, found but not opened; none if there is nothing.
    fn found(&self, path: &Path) -> Result<Option<File>, Box<Diagnostic>> {
        let title = shown(path);
        let cannot = |why: &io::Error| Box::new(cannot_read(&title, why));
        let found: File = match open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Ok(found) => found.into(),
            Err(why) if why == rustix::io::Errno::NOENT || why == rustix::io::Errno::NOTDIR => {
                return Ok(None);
            }
            Err(why) => return Err(cannot(&why.into())),
        };
        let real = fs::read_link(at(&found)).map_err(|why| cannot(&why))?;
        if !real.starts_with(&self.root) {
            let problem =
                Diagnostic::error(UNREADABLE, format!("{title} leads out of the directory {}", self.title));
            return Err(Box::new(problem.hint("only what is really below it is read; copy the file there")));
        }
        Ok(Some(found))
    }
}

/// The file that was found itself, whatever its path leads to now.
fn at(found: &File) -> String {
    format!("/proc/self/fd/{}", found.as_raw_fd())
}
