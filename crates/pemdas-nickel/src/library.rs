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

/// All files of the library. They may import each other by name.
pub const LIBRARY: &[LibraryFile] =
    &[LibraryFile { name: "pemdas.ncl", text: include_str!("../stdlib/pemdas.ncl") }];

/// Whether a name belongs to the library.
#[must_use]
pub fn is_library_file(name: &str) -> bool {
    LIBRARY.iter().any(|file| file.name == name)
}
