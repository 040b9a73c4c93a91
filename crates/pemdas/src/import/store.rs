//! Where the result is written.

use std::path::{Path, PathBuf};

use super::{DEFINITIONS, Imported};
use crate::{files, input::MAIN};

/// Where a blueprint was written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    /// The main file.
    pub(crate) main: PathBuf,
    /// The instance.
    pub(crate) sample: PathBuf,
    /// The definitions of kinds, if there are any.
    pub(crate) definitions: Option<PathBuf>,
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
    let mut files =
        vec![(main.clone(), imported.source.clone()), (sample.clone(), imported.instance.clone())];
    let definitions = folder.join(DEFINITIONS);
    let has_some = !imported.definitions.is_empty();
    files.extend(has_some.then(|| (definitions.clone(), imported.definitions.clone())));
    files::write(&files, force)?;
    Ok(Stored { main, sample, definitions: has_some.then_some(definitions) })
}
