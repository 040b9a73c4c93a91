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

/// The names that a blueprint gets of `pemdas/v1.ncl`: the fields that its parts end with.
pub(crate) fn exports() -> Vec<&'static str> {
    const PARTS: [&str; 4] = ["values", "relations", "shapes", "helpers"];
    let parts =
        PARTS.iter().filter_map(|part| LIBRARY.iter().find(|it| it.name == format!("pemdas/v1/{part}.ncl")));
    let last = parts.filter_map(|it| it.text.rsplit_once("\n{\n")).flat_map(|(_, fields)| fields.lines());
    let own = |line: &'static str| {
        let field = line.strip_prefix("  ")?;
        let field = field.strip_prefix("include ").unwrap_or(field);
        let end = field.find([' ', ',']).unwrap_or(field.len());
        let name = field.get(..end)?;
        name.starts_with(|it: char| it.is_ascii_alphabetic()).then_some(name)
    };
    last.filter_map(own).chain(["Blueprint", "Node", "Kind"]).collect()
}

#[cfg(test)]
mod tests {
    use super::exports;

    #[test]
    fn what_is_exported_is_known_by_name() {
        let all = exports();
        for name in ["Blueprint", "Int", "Port", "Where", "Ready", "Absent", "at", "base64_decode"] {
            assert!(all.contains(&name), "{name}: {all:?}");
        }
        let page = include_str!("../../../docs/language/library.md");
        let own = ["Blueprint", "Node", "Kind"];
        let listed = |it: &&&str| own.contains(*it) || page.contains(&format!("`{it}`"));
        let unknown: Vec<_> = all.iter().filter(|it| !listed(it)).collect();
        assert!(unknown.is_empty(), "{unknown:?} are in no list of exports");
    }
}
