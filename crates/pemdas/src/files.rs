//! Writing files: all of them, or none of them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes texts to files, and makes the folders they are in. What is there stays, unless it is to be written over.
///
/// # Errors
/// Why nothing was written.
pub(crate) fn write(files: &[(PathBuf, String)], over: bool) -> Result<(), String> {
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists() && !over) {
        return Err(format!("{} already exists", path.display()));
    }
    let cannot = |path: &Path, why: &io::Error| format!("cannot write {}: {why}", path.display());
    let mut staged = Staged::default();
    for (path, text) in files {
        staged.add(path, text).map_err(|why| cannot(path, &why))?;
    }
    while let Some((temporary, path)) = staged.ready.pop() {
        if let Err(why) = fs::rename(&temporary, &path) {
            // What cannot be removed has another name than anything that is read.
            let _ = fs::remove_file(&temporary);
            return Err(cannot(&path, &why));
        }
    }
    staged.folders.clear();
    Ok(())
}

/// Files beside those that they are meant for, and folders that were made for them; gone if they are not used.
#[derive(Default)]
struct Staged {
    ready: Vec<(PathBuf, PathBuf)>,
    folders: Vec<PathBuf>,
}

impl Staged {
    fn add(&mut self, path: &Path, text: &str) -> io::Result<()> {
        let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let missing: Vec<PathBuf> =
            folder.ancestors().take_while(|it| !it.exists()).map(Path::to_owned).collect();
        fs::create_dir_all(folder)?;
        self.folders.extend(missing.into_iter().rev().filter(|it| !it.as_os_str().is_empty()));
        let name = path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
        let temporary = path.with_file_name(format!(".{name}.{}", std::process::id()));
        self.ready.push((temporary.clone(), path.to_owned()));
        let mut file = fs::File::create(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        for (temporary, _) in &self.ready {
            let _ = fs::remove_file(temporary);
        }
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::write;
    use std::fs;

    #[test]
    fn all_is_written_or_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |path: &str| folder.path().join(path);
        let file = |path: &str| (at(path), path.to_owned());
        write(&[file("a/b/one"), file("two")], false).expect("written");
        assert_eq!(fs::read_to_string(at("a/b/one")).expect("it is there"), "a/b/one");
        let why = write(&[file("a/three"), file("two")], false).expect_err("it is there");
        assert!(why.ends_with("two already exists"), "{why}");
        assert!(!at("a/three").exists());
        // `two` is no folder: of all the others nothing stays, and no folder that was made for them.
        let why = write(&[file("new/deep/four"), file("two/five")], true).expect_err("no folder");
        assert!(why.contains("cannot write"), "{why}");
        assert!(!at("new").exists());
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
        write(&[(at("two"), "other".to_owned())], true).expect("written over");
        assert_eq!(fs::read_to_string(at("two")).expect("it is there"), "other");
    }
}
