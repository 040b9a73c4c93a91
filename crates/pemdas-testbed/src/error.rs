//! What went wrong, and what a person can do about it.

use std::fmt;

/// A failure of the test bed. It always says what happened; where a person can mend it, it says how.
#[derive(Debug)]
pub struct Error {
    what: String,
    hint: Option<String>,
}

/// The result of anything the test bed does.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A failure in one sentence.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Says what was being done when something of the system's failed.
pub(crate) trait Doing<T> {
    /// Puts `what` before the cause.
    fn doing(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: fmt::Display> Doing<T> for std::result::Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|cause| {
            let text = format!("cannot {}: {cause}", what());
            let full = text.contains("os error 28") || text.contains("no space left on device");
            let error = Error::new(text);
            if full { error.hint(DISK_FULL) } else { error }
        })
    }
}

/// What to do when a disk is full.
pub(crate) const DISK_FULL: &str = "the disk is full: free some space, or put the cache on another disk with \
     PEMDAS_CACHE=DIR and the clusters' own files with TMPDIR=DIR";
