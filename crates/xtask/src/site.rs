//! The site: the pages of the repository as one book, in which every page can be found and every link leads somewhere.
//!
//! Pages link to each other as they lie in the repository, so that they can be read there too. So the book is made from a copy
//! with the same folders, and its table of contents from `docs/SUMMARY.md`.

mod contents;
mod links;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::succeed;
use crate::steps::target;
use crate::tools;

/// What lies in the book beside `docs`: pages, and what they link to.
const BESIDE: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "bench/README.md",
    "charts",
    "deploy",
    "examples",
];

/// Builds the site and looks at it.
pub(crate) fn build() -> Result<(), String> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let site = target().join("site");
    let pages = site.join("pages");
    if site.exists() {
        fs::remove_dir_all(&site).map_err(|cause| format!("cannot clear {}: {cause}", site.display()))?;
    }
    for name in ["docs"].iter().chain(BESIDE) {
        copy(&repository.join(name), &pages.join(name))?;
    }
    fs::rename(pages.join("docs/book.toml"), site.join("book.toml"))
        .map_err(|cause| format!("book.toml: {cause}"))?;
    let summary = read(&pages.join("docs/SUMMARY.md"))?;
    let contents = contents::complete(&summary, &pages)?;
    write(&pages.join("SUMMARY.md"), &contents)?;
    fs::remove_file(pages.join("docs/SUMMARY.md")).map_err(|cause| format!("SUMMARY.md: {cause}"))?;
    contents::everything_is_in(&contents, &pages)?;
    succeed(Command::new(tools::mdbook()?).arg("build").arg(&site))?;
    let html = site.join("html");
    let looked_at = links::check(&html)?;
    println!("    {looked_at} links lead somewhere; the site is in {}", html.display());
    Ok(())
}

/// Copies a file, or a folder with everything in it.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let told = |cause: std::io::Error| format!("cannot copy {}: {cause}", from.display());
    if from.is_dir() {
        fs::create_dir_all(to).map_err(told)?;
        for entry in fs::read_dir(from).map_err(told)? {
            let entry = entry.map_err(told)?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(told)?;
    }
    fs::copy(from, to).map(drop).map_err(told)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|cause| format!("cannot read {}: {cause}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|cause| format!("cannot write {}: {cause}", path.display()))
}

/// The files below a folder that end so, in the order of their names.
fn files_below(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let told = |cause: std::io::Error| format!("cannot read {}: {cause}", folder.display());
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(told)? {
        entries.push(entry.map_err(told)?.path());
    }
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files_below(&path, ending, found)?;
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    Ok(())
}

/// A path without `.` and `..`, as far as it leads; none if it leads out.
fn plain(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn paths_are_made_plain() {
        assert_eq!(super::plain("docs/../examples/./a.md").as_deref(), Some("examples/a.md"));
        assert_eq!(super::plain("../a.md"), None);
    }
}
