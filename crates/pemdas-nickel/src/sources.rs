//! The files of a blueprint, in memory.

use std::collections::BTreeMap;

use pemdas_core::diagnostic::Diagnostic;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::codes;
use crate::library::is_library_file;
use crate::limits::{Limits, Size};
use crate::request::Failure;

/// The name of the file that a blueprint starts with.
pub const MAIN: &str = "main.ncl";

/// The files of a blueprint by their names: relative paths with `/`, such as `main.ncl` or `parts/db.ncl`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sources {
    files: BTreeMap<String, String>,
}

impl Sources {
    /// No file yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A blueprint of one file.
    #[must_use]
    pub fn single(text: impl Into<String>) -> Self {
        Self::new().with(MAIN, text)
    }

    /// Adds a file, or replaces it.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.files.insert(name.into(), text.into());
        self
    }

    /// The files in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// The text of a file.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.files.get(name).map(String::as_str)
    }

    /// How many bytes names and texts have together.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|(name, text)| (name.len() + text.len()) as u64).sum()
    }

    /// A digest of names and texts.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for part in self.files.iter().flat_map(|(name, text)| [name, text]) {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().into()
    }

    /// Whether the set can be a blueprint at all: it has a `main.ncl`, plain names and a bearable size.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn validate(&self, limits: &Limits) -> Result<(), Failure> {
        if self.files.len() as u64 > limits.source_files {
            return Err(Failure::TooLarge { what: Size::Files, limit: limits.source_files });
        }
        if self.bytes() > limits.source_bytes {
            return Err(Failure::TooLarge { what: Size::Sources, limit: limits.source_bytes });
        }
        let mut problems: Vec<Diagnostic> =
            self.files.keys().filter_map(|name| problem_with_name(name)).collect();
        if !self.files.contains_key(MAIN) {
            problems.push(
                Diagnostic::error(codes::NO_MAIN, "the blueprint has no file main.ncl")
                    .hint("a blueprint starts with main.ncl; name the file so, or the key of the ConfigMap"),
            );
        }
        if problems.is_empty() { Ok(()) } else { Err(Failure::Failed { diagnostics: problems }) }
    }
}

/// A name that would not mean the same file everywhere, or that belongs to the library.
fn problem_with_name(name: &str) -> Option<Diagnostic> {
    let plain = !name.is_empty()
        && name.len() <= 255
        && !name.chars().any(|c| c.is_control() || c == '\\')
        && name.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if !plain {
        let shown: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
        return Some(
            Diagnostic::error(codes::SOURCE_NAME, format!("\"{shown}\" cannot name a file of a blueprint"))
                .hint("use a relative path with / and without . or .. in it"),
        );
    }
    // In every directory, a name of the library means the library.
    let shadowed = std::iter::once(name)
        .chain(name.match_indices('/').filter_map(|(slash, _)| name.get(slash + 1..)))
        .find(|tail| is_library_file(tail))?;
    Some(
        Diagnostic::error(codes::SOURCE_NAME, format!("{name} has the name of a file of the library"))
            .hint(format!("{shadowed} comes with Pemdas and is found without a copy: rename or remove it")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes_of(sources: &Sources) -> Vec<String> {
        match sources.validate(&Limits::default()) {
            Ok(()) => Vec::new(),
            Err(failure) => failure.diagnostics().into_iter().map(|diagnostic| diagnostic.code).collect(),
        }
    }

    #[test]
    fn a_blueprint_has_plain_names_and_a_main_file() {
        assert!(codes_of(&Sources::single("{}").with("a/b.ncl", "1")).is_empty());
        assert_eq!(codes_of(&Sources::new().with("a.ncl", "1")), [codes::NO_MAIN]);
        for name in
            ["/a.ncl", "../a.ncl", "a/./b.ncl", "a//b.ncl", "", "a\0b", "a\\b", "pemdas.ncl", "x/pemdas.ncl"]
        {
            assert_eq!(codes_of(&Sources::single("{}").with(name, "1")), [codes::SOURCE_NAME], "{name:?}");
        }
    }

    #[test]
    fn a_blueprint_is_not_larger_than_its_limits() {
        let limits = Limits { source_bytes: 50, source_files: 2, ..Limits::default() };
        let two = Sources::single("{}").with("a.ncl", "1");
        assert_eq!(two.validate(&limits), Ok(()));
        let three = two.clone().with("b.ncl", "1");
        assert_eq!(three.validate(&limits), Err(Failure::TooLarge { what: Size::Files, limit: 2 }));
        let long = two.with("a.ncl", "1".repeat(50));
        assert_eq!(long.validate(&limits), Err(Failure::TooLarge { what: Size::Sources, limit: 50 }));
    }
}
