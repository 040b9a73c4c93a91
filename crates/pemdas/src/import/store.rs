//! Writing the result: all of it, or none of it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::Imported;
use crate::input::MAIN;

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
    for path in [&main, &sample] {
        if path.exists() && !force {
            return Err(format!("{} is there already", path.display()));
        }
    }
    let cannot = |path: &Path, why: &io::Error| format!("cannot write {}: {why}", path.display());
    if let Some(folder) = sample.parent() {
        fs::create_dir_all(folder).map_err(|why| cannot(folder, &why))?;
    }
    let files = [(&sample, &imported.instance), (&main, &imported.source)];
    let mut ready: Vec<(PathBuf, &Path)> = Vec::new();
    for (path, text) in files {
        match beside(path, text) {
            Ok(temporary) => ready.push((temporary, path)),
            Err(why) => {
                discard(&ready);
                return Err(cannot(path, &why));
            }
        }
    }
    for (temporary, path) in &ready {
        if let Err(why) = fs::rename(temporary, path) {
            discard(&ready);
            return Err(cannot(path, &why));
        }
    }
    Ok(Stored { main, sample })
}

/// The text in a file beside the one it is meant for.
fn beside(path: &Path, text: &str) -> io::Result<PathBuf> {
    let name = path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let temporary = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let mut file = fs::File::create(&temporary)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if let Err(why) = written {
        let _ = fs::remove_file(&temporary);
        return Err(why);
    }
    Ok(temporary)
}

fn discard(ready: &[(PathBuf, &Path)]) {
    for (temporary, _) in ready {
        // What cannot be removed has another name than anything that is read.
        let _ = fs::remove_file(temporary);
    }
}
