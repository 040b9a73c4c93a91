//! Where the result is written.

use std::path::{Path, PathBuf};

use super::Imported;
use crate::{files, input::MAIN};

/// Where a blueprint was written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    /// The main file.
    pub(crate) main: PathBuf,
    /// The instance.
    pub(crate) sample: PathBuf,
}

/// Writes a blueprint to a directory, or to a file of its own with the sample beside it.
///
/// # Errors
/// Why nothing was written.
pub(crate) fn store(imported: &Imported, target: &Path, force: bool) -> Result<Stored, String> {
    let is_file = target.extension().is_some_and(|it| it == "ncl");
    let folder = match (is_file, target.parent().filter(|it| !it.as_os_str().is_empty())) {
        (false, _) => target,
        (true, Some(folder)) => folder,
        (true, None) => Path::new("."),
    };
    let main = if is_file { target.to_owned() } else { folder.join(MAIN) };
    let sample = folder.join("sample").join(format!("{}.yaml", imported.draft.instance));
    let files = [(main.clone(), imported.source.clone()), (sample.clone(), imported.instance.clone())];
    files::write(&files, force)?;
    Ok(Stored { main, sample })
}
