//! Which files a file imports, for whoever gathers the files of a blueprint. Reading them is the caller's business, and so is where they
//! may lie; what cannot be a file of the blueprint is left for the evaluator to refuse, with the place of the import.

use std::thread;

use crate::engine::{import_paths, name_within};
use crate::library::is_library_file;

/// The names, within the blueprint, of the files that the file `name` imports.
#[must_use]
pub fn imported_files(name: &str, text: &str) -> Vec<String> {
    if !name.ends_with(".ncl") {
        return Vec::new();
    }
    // Called from wherever files are read, on whatever stack there is: as many comments in a row as are allowed need some megabytes.
    let paths = thread::scope(|scope| {
        let lexing = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || import_paths(text));
        lexing.ok().and_then(|thread| thread.join().ok())
    });
    let own = paths.unwrap_or_default().into_iter().filter(|path| !is_library_file(path));
    own.filter_map(|path| name_within(name, &path)).collect()
}

const STACK: usize = 128 << 20;

#[cfg(test)]
mod tests {
    use super::imported_files;

    #[test]
    fn imports_are_relative_to_the_importing_file() {
        let text = "{ a = import \"b.ncl\", c = import \"../d.json\", e = import \"x/./f.txt\" as 'Text }";
        assert_eq!(imported_files("parts/a.ncl", text), ["parts/b.ncl", "d.json", "parts/x/f.txt"]);
    }

    #[test]
    fn the_library_and_what_lies_outside_are_no_files_of_the_blueprint() {
        let text = "[import \"pemdas/v1.ncl\", import \"/etc/passwd\", import \"../up.ncl\"]";
        assert_eq!(imported_files("main.ncl", text), [""; 0]);
    }

    #[test]
    fn many_comments_are_no_danger() {
        let import = |comments: usize| format!("{}import \"a.ncl\"", "#\n".repeat(comments));
        assert_eq!(imported_files("main.ncl", &import(20_000)), ["a.ncl"]);
        assert_eq!(imported_files("main.ncl", &import(2_000_000)), [""; 0], "more than is allowed");
    }

    #[test]
    fn only_programs_import() {
        assert_eq!(imported_files("note.txt", "import \"a.ncl\""), [""; 0]);
        assert_eq!(imported_files("main.ncl", "\"import \\\"a.ncl\\\"\" # import \"b.ncl\""), [""; 0]);
    }
}
