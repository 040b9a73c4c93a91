//! The folder of one running cluster. It is locked while its supervisor lives; a folder whose lock is free belongs
//! to a supervisor that was killed, and the next one to start removes it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::node::cgroups;
use crate::error::{Doing, Result};
use crate::say::say;

const PREFIX: &str = "pemdas-testbed-";

/// The folder of this cluster, removed when dropped.
#[derive(Debug)]
pub(crate) struct RunDir {
    path: PathBuf,
    _lock: File,
}

impl RunDir {
    /// Makes the folder, after clearing those of supervisors that were killed.
    pub(crate) fn create() -> Result<Self> {
        let parent = std::env::temp_dir();
        sweep(&parent);
        let path = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(&parent)
            .doing(|| format!("make a folder in {}", parent.display()))?
            .keep();
        // Held before anything else is in it: a sweep that comes in between finds an empty folder of a second's age.
        let lock = lock_file(&path).and_then(|lock| lock.try_lock().map(|()| lock).map_err(Into::into));
        let lock = lock.doing(|| format!("lock {}", path.display()))?;
        fs::create_dir(path.join("logs")).doing(|| format!("make {}", path.join("logs").display()))?;
        Ok(Self { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A name that belongs to this cluster alone, for what the kernel keeps by name.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        if let Err(cause) = fs::remove_dir_all(&self.path) {
            say!("could not remove {}: {cause}", self.path.display());
        }
    }
}

fn lock_file(folder: &Path) -> std::io::Result<File> {
    File::create(folder.join("lock"))
}

/// Removes what supervisors that were killed left behind in `parent`.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.filter_map(std::result::Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        // A folder without its lock file is being made at this moment.
        let Ok(lock) = File::open(entry.path().join("lock")) else { continue };
        if name.starts_with(PREFIX) && lock.try_lock().is_ok() {
            say!("removing {}, left by a test bed that was killed", entry.path().display());
            cgroups::remove(&name);
            if let Err(cause) = fs::remove_dir_all(entry.path()) {
                say!("could not remove {}: {cause}", entry.path().display());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_takes_dead_folders_and_leaves_living_and_foreign_ones() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            (lock_file(&folder).unwrap(), folder)
        };
        let (living_lock, living) = make("pemdas-testbed-living");
        living_lock.try_lock().unwrap();
        let (_unlocked, dead) = make("pemdas-testbed-dead");
        let (_unlocked, foreign) = make("somebody-else");
        sweep(parent.path());
        assert!(living.exists() && foreign.exists());
        assert!(!dead.exists());
    }
}
