//! Writes the table of the built-in Kubernetes types that `pemdas_core::kube_types` reads.
//!
//! The source is the Go module of the Kubernetes version that the test bed pins: its OpenAPI documents, and for
//! the allowed values of strings (which those files leave out and a running API server shows) the Go file that
//! the server makes its OpenAPI from. The same module gives the same bytes.
//!
//! **Invariant.** For developers and continuous integration only: no crate of the product depends on this one.

mod enums;
mod kinds;
mod schema;
mod source;
mod write;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The files of the table, as text.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    /// A line for each kind.
    pub kinds: String,
    /// A block of fields for each type.
    pub types: String,
    /// A block of descriptions for each type.
    pub docs: String,
    /// Where the blocks of each type are.
    pub index: String,
}

/// The folder, below the root of the workspace, that the table is committed in.
pub const DATA: &str = "crates/pemdas-core/src/kube_types/data";

/// The root of the workspace that this crate belongs to.
#[must_use]
pub fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Makes the table from the pinned version, which Go downloads if it is not in its module cache.
///
/// # Errors
/// When the pin or the module cannot be read, or says something that the table has no form for.
pub fn generate(root: &Path) -> Result<Table> {
    let module = source::locate(root)?;
    let documents = source::documents(&module.dir)?;
    let enums = enums::read(&module.dir)?;
    let schemas = schema::collect(&documents, &enums)?;
    let kinds = kinds::collect(&documents)?;
    write::table(&module.version, &kinds, &schemas)
}

impl Table {
    fn files(&self) -> [(&'static str, &str); 4] {
        [
            ("kinds.txt", &self.kinds),
            ("types.txt", &self.types),
            ("docs.txt", &self.docs),
            ("index.txt", &self.index),
        ]
    }

    /// Writes the files of the table into the workspace.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, root: &Path) -> Result<()> {
        for (name, text) in self.files() {
            let path = root.join(DATA).join(name);
            std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(())
    }

    /// The files of the workspace that are not what this table says, each with the first line that differs.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn differences(&self, root: &Path) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for (name, text) in self.files() {
            let path = root.join(DATA).join(name);
            let committed =
                std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            if committed != text {
                let line = committed.lines().zip(text.lines()).take_while(|(a, b)| a == b).count() + 1;
                found.push(format!("{DATA}/{name} differs from line {line} on"));
            }
        }
        Ok(found)
    }
}
