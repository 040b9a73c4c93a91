//! The library that ships in the binary: ordinary Nickel files, importable by name from every file of a blueprint.
//!
//! This list is the one place that knows which files there are. A blueprint may not have a file of such a name.

/// A file of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LibraryFile {
    /// The name to import it by, such as `pemdas.ncl`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! library {
    ($($name:literal,)*) => {
        /// All files of the library. They import each other by relative name.
        pub const LIBRARY: &[LibraryFile] =
            &[$(LibraryFile { name: $name, text: include_str!(concat!("../stdlib/", $name)) },)*];
    };
}

library! {
    "pemdas.ncl",
    "pemdas/test/v1.ncl",
    "pemdas/v1.ncl",
    "pemdas/v1/clauses.ncl",
    "pemdas/v1/helpers.ncl",
    "pemdas/v1/presentation.ncl",
    "pemdas/v1/relations.ncl",
    "pemdas/v1/rules.ncl",
    "pemdas/v1/shapes.ncl",
    "pemdas/v1/tools.ncl",
    "pemdas/v1/values.ncl",
}

/// Whether a name belongs to the library, or is one of the contracts of Kubernetes' types that are made on demand.
#[must_use]
pub fn is_library_file(name: &str) -> bool {
    LIBRARY.iter().any(|file| file.name == name) || crate::kube_contracts::is_file(name)
}
