//! The cache outside the repository in which everything that was built is kept.
//!
//! One process builds at a time (a lock on a file, which the kernel lets go when its holder dies). What is being
//! built lies in `partial` and is moved to its place in one step when it is whole, so that an interrupted build
//! leaves nothing that a later one would take for good.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::command::going_on;
use crate::error::{DISK_FULL, Doing, Error, Result};
use crate::say::say;

/// The cache's folder.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

/// The right to build, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Builder<'a> {
    cache: &'a Cache,
    _lock: File,
}

impl Cache {
    /// The cache of this user: `PEMDAS_CACHE`, else `XDG_CACHE_HOME/pemdas`, else `~/.cache/pemdas`.
    pub fn of_user() -> Result<Self> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = set("PEMDAS_CACHE")
            .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("pemdas")))
            .or_else(|| set("HOME").map(|dir| dir.join(".cache/pemdas")))
            .ok_or_else(|| {
                Error::new("there is no place for the cache: neither PEMDAS_CACHE nor HOME is set")
                    .hint("set PEMDAS_CACHE to a folder with some gigabytes of space")
            })?;
        Self::at(&root)
    }

    /// The cache in a given folder, which is made if it is missing.
    pub fn at(root: &Path) -> Result<Self> {
        let root = std::path::absolute(root).doing(|| format!("find {}", root.display()))?;
        fs::create_dir_all(&root).doing(|| format!("make the cache's folder {}", root.display()))?;
        Ok(Self { root })
    }

    /// The place of a finished piece, whether it is there or not.
    #[must_use]
    pub fn place(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The folder itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Waits until no other process builds, clears what an interrupted build left, and takes the right to build.
    pub(crate) fn lock(&self) -> Result<Builder<'_>> {
        let path = self.root.join("lock");
        let lock = File::create(&path).doing(|| format!("open {}", path.display()))?;
        let mut said = false;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(cause)) => {
                    return Err(cause).doing(|| format!("lock {}", path.display()));
                }
                Err(TryLockError::WouldBlock) if said => {}
                Err(TryLockError::WouldBlock) => {
                    say!("another process is filling the cache {}: waiting for it", self.root.display());
                    said = true;
                }
            }
            // Not a blocking wait: whoever waits here must still notice that it is time to end.
            going_on()?;
            sleep(Duration::from_millis(100));
        }
        let partial = self.root.join("partial");
        if partial.exists() {
            fs::remove_dir_all(&partial).doing(|| format!("clear {}", partial.display()))?;
        }
        fs::create_dir(&partial).doing(|| format!("make {}", partial.display()))?;
        Ok(Builder { cache: self, _lock: lock })
    }

    /// Fails early and clearly where a long build would end in a full disk.
    pub(crate) fn needs_space(&self, mebibytes: u64, what: &str) -> Result<()> {
        let found = free_mebibytes(&self.root)?;
        if found >= mebibytes {
            return Ok(());
        }
        Err(Error::new(format!(
            "{what} needs about {mebibytes} MiB on the disk of {}, which has {found} MiB left",
            self.root.display()
        ))
        .hint(DISK_FULL))
    }
}

fn free_mebibytes(path: &Path) -> Result<u64> {
    let found =
        rustix::fs::statvfs(path).doing(|| format!("ask for the free space at {}", path.display()))?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize) >> 20)
}

impl Builder<'_> {
    /// Makes a piece of the cache: `make` writes it to the path it is given, and only if that succeeds is it moved
    /// to its place.
    pub(crate) fn publish(&self, name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        let place = self.cache.place(name);
        if place.exists() {
            return Ok(place);
        }
        let partial = self.cache.root.join("partial").join(name.replace('/', "-"));
        let made = make(&partial).and_then(|()| {
            if let Some(parent) = place.parent() {
                fs::create_dir_all(parent).doing(|| format!("make {}", parent.display()))?;
            }
            fs::rename(&partial, &place).doing(|| format!("move {} to its place", partial.display()))
        });
        if made.is_err() {
            // The cause is what matters; what stays behind is cleared before the next build.
            let _ = if partial.is_dir() { fs::remove_dir_all(&partial) } else { fs::remove_file(&partial) };
        }
        made.map(|()| place)
    }
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        // Nothing half-built outlives the build; if this fails, the next holder of the lock clears it.
        let _ = fs::remove_dir_all(self.cache.root.join("partial"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(&folder.path().join("cache")).unwrap();
        (folder, cache)
    }

    #[test]
    fn a_failed_build_leaves_nothing() {
        let (folder, cache) = cache();
        let failed = cache.lock().unwrap().publish("bin/x", |path| {
            fs::write(path, "half").unwrap();
            Err(Error::new("interrupted"))
        });
        assert!(failed.unwrap_err().to_string().contains("interrupted"));
        assert!(!cache.place("bin/x").exists());
        assert!(!folder.path().join("cache/partial").exists());
    }

    #[test]
    fn what_a_killed_build_left_is_cleared_and_built_again() {
        let (folder, cache) = cache();
        fs::create_dir_all(folder.path().join("cache/partial")).unwrap();
        fs::write(folder.path().join("cache/partial/bin-x"), "half").unwrap();
        let place = cache.lock().unwrap().publish("bin/x", |path| {
            assert!(!path.exists(), "the half-built piece is still there");
            fs::write(path, "whole").doing(|| "write".into())
        });
        assert_eq!(fs::read_to_string(place.unwrap()).unwrap(), "whole");
    }

    #[test]
    fn a_finished_piece_is_not_built_twice() {
        let (_folder, cache) = cache();
        for _ in 0..2 {
            let builder = cache.lock().unwrap();
            let mut calls = 0;
            builder
                .publish("x", |path| {
                    calls += 1;
                    fs::write(path, "").doing(|| "write".into())
                })
                .unwrap();
            assert!(calls <= 1);
        }
        let again = cache.lock().unwrap().publish("x", |_| Err(Error::new("built twice")));
        assert!(again.is_ok());
    }

    #[test]
    fn too_little_space_is_said_before_the_build() {
        let (_folder, cache) = cache();
        assert!(cache.needs_space(1, "it").is_ok());
        let error = cache.needs_space(u64::MAX, "the build").unwrap_err().to_string();
        assert!(error.contains("the build needs about") && error.contains("PEMDAS_CACHE"), "{error}");
    }

    #[test]
    fn a_second_builder_waits_for_the_first() {
        let (_folder, cache) = cache();
        let first = cache.lock().unwrap();
        let other = cache.clone();
        let (sender, receiver) = std::sync::mpsc::channel();
        let second = std::thread::spawn(move || {
            let builder = other.lock().unwrap();
            sender.send(()).unwrap();
            drop(builder);
        });
        assert!(receiver.recv_timeout(std::time::Duration::from_millis(50)).is_err(), "both hold the lock");
        drop(first);
        receiver.recv().unwrap();
        second.join().unwrap();
    }
}
