//! Blueprints from the user's own disk: a directory, a `.ncl` file, or a manifest with ConfigMaps.
//!
//! A blueprint is what its first file reaches by imports. Files are read only below the directory of that file, also when a symbolic link
//! points elsewhere; what is imported and not found here is left for the evaluator to refuse, with the place of the import.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use pemdas_core::diagnostic::Diagnostic;
use serde::Deserialize;

use crate::codes;
use crate::engine::import_paths;
use crate::library::is_library_file;
use crate::limits::{Limits, Size};
use crate::request::Failure;
use crate::sources::{MAIN, Sources};

/// A blueprint that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// What to call it: the path it was read from, with the name of the ConfigMap.
    pub title: String,
    /// Its files.
    pub sources: Sources,
    /// How to show the names of its files to the user: the paths on disk.
    pub shown: BTreeMap<String, String>,
}

/// Reads the blueprints at a path. A manifest may have several.
///
/// # Errors
/// Why it cannot be read as a blueprint.
pub fn read_blueprints(path: &Path, limits: &Limits) -> Result<Vec<Loaded>, Failure> {
    let kind = fs::metadata(path).map_err(|error| unreadable(path, &error.to_string()))?;
    if kind.is_dir() {
        return read_program(path, Path::new(MAIN), limits).map(|loaded| vec![loaded]);
    }
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("ncl") => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let name = path.file_name().map(Path::new).unwrap_or(path);
            read_program(folder.unwrap_or(Path::new(".")), name, limits).map(|loaded| vec![loaded])
        }
        Some("yaml" | "yml" | "json") => read_manifest(path, limits),
        _ => Err(unreadable(
            path,
            "it is neither a directory, nor a .ncl file, nor a manifest in YAML or JSON",
        )),
    }
}

/// A program on disk: its first file and all that it imports.
fn read_program(folder: &Path, first: &Path, limits: &Limits) -> Result<Loaded, Failure> {
    let root = fs::canonicalize(folder).map_err(|error| unreadable(folder, &error.to_string()))?;
    let title = if first == Path::new(MAIN) { folder.to_path_buf() } else { folder.join(first) };
    let mut loaded =
        Loaded { title: title.display().to_string(), sources: Sources::new(), shown: BTreeMap::new() };
    let mut left = limits.source_bytes;
    // Pairs of the name in the blueprint and the path below the folder: they differ only where the first file has a name of its own.
    let mut todo = vec![(MAIN.to_owned(), first.to_path_buf())];
    let mut seen = BTreeSet::from([MAIN.to_owned()]);
    while let Some((name, below)) = todo.pop() {
        let on_disk = folder.join(&below);
        let Some(text) = read_below(&root, &on_disk, left, limits)? else {
            if name == MAIN {
                let hint = "give the .ncl file itself, or name the first file of the blueprint main.ncl";
                let message = format!("{} has no file main.ncl", folder.display());
                return Err(Failure::of(Diagnostic::error(codes::NO_MAIN, message).hint(hint)));
            }
            continue;
        };
        left -= text.len() as u64;
        if loaded.shown.len() as u64 >= limits.source_files {
            return Err(Failure::TooLarge { what: Size::Files, limit: limits.source_files });
        }
        let imports = if name.ends_with(".ncl") { import_paths(&text) } else { Vec::new() };
        for import in imports {
            if let Some(target) = target_of(&name, &import)
                && seen.insert(target.clone())
            {
                todo.push((target.clone(), PathBuf::from(target)));
            }
        }
        loaded.shown.insert(name.clone(), on_disk.display().to_string());
        loaded.sources = std::mem::take(&mut loaded.sources).with(name, text);
    }
    Ok(loaded)
}

/// The name of what a file imports, if it can be a file of the blueprint.
fn target_of(importer: &str, path: &str) -> Option<String> {
    if is_library_file(path) || path.starts_with('/') || path.contains(['\0', '\\']) {
        return None;
    }
    let mut parts: Vec<&str> = importer.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The text of a file that really is below the root; none if there is no such file.
fn read_below(root: &Path, path: &Path, left: u64, limits: &Limits) -> Result<Option<String>, Failure> {
    let real = match fs::canonicalize(path) {
        Ok(real) => real,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(path, &error.to_string())),
    };
    if !real.starts_with(root) {
        let message = format!("{} leads out of the blueprint's directory", path.display());
        let hint = "a blueprint consists of files below the directory of its first file; copy the file there";
        return Err(Failure::of(Diagnostic::error(codes::UNREADABLE, message).hint(hint)));
    }
    // A pipe or a device would be read for ever.
    if !fs::metadata(&real).is_ok_and(|kind| kind.is_file()) {
        return Err(unreadable(path, "it is not a file"));
    }
    read_text(&real, left, limits).map(Some)
}

fn read_text(path: &Path, left: u64, limits: &Limits) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(left + 1).read_to_end(&mut bytes));
    read.map_err(|error| unreadable(path, &error.to_string()))?;
    if bytes.len() as u64 > left {
        return Err(Failure::TooLarge { what: Size::Sources, limit: limits.source_bytes });
    }
    String::from_utf8(bytes).map_err(|_| unreadable(path, "it is not text in UTF-8"))
}

/// As much of a Kubernetes object as is needed to find blueprints in it.
#[derive(Debug, Deserialize)]
struct Manifest {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    data: Option<BTreeMap<String, serde_json::Value>>,
    #[serde(default)]
    items: Vec<Manifest>,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
}

/// The ConfigMaps of a manifest that have a `main.ncl`.
fn read_manifest(path: &Path, limits: &Limits) -> Result<Vec<Loaded>, Failure> {
    // As YAML, with what quoting and indentation add; several ConfigMaps may be in one file.
    let most = limits.source_bytes.saturating_mul(8);
    let text = read_text(path, most, limits)?;
    let documents: Vec<Option<Manifest>> = serde_saphyr::from_multiple(&text).map_err(|error| {
        unreadable(path, &format!("it is no Kubernetes manifest: {}", first_line(&error)))
    })?;
    let found: Vec<Loaded> = documents
        .into_iter()
        .flatten()
        .flat_map(|document| if document.kind.ends_with("List") { document.items } else { vec![document] })
        .filter_map(|manifest| from_config_map(path, manifest))
        .collect();
    if found.is_empty() {
        return Err(unreadable(path, "it has no ConfigMap with the key main.ncl"));
    }
    for loaded in &found {
        loaded.sources.validate(limits)?;
    }
    Ok(found)
}

fn from_config_map(path: &Path, manifest: Manifest) -> Option<Loaded> {
    let data = manifest.data.filter(|data| manifest.kind == "ConfigMap" && data.contains_key(MAIN))?;
    let title = format!("{}#{}", path.display(), manifest.metadata.name);
    let mut loaded = Loaded { title: title.clone(), sources: Sources::new(), shown: BTreeMap::new() };
    for (name, value) in data {
        // The API server takes strings only; what is none would not be there either.
        if let serde_json::Value::String(text) = value {
            loaded.shown.insert(name.clone(), format!("{title}/{name}"));
            loaded.sources = std::mem::take(&mut loaded.sources).with(name, text);
        }
    }
    Some(loaded)
}

fn first_line(error: &impl ToString) -> String {
    error.to_string().lines().next().unwrap_or_default().chars().take(300).collect()
}

fn unreadable(path: &Path, why: &str) -> Failure {
    Failure::of(Diagnostic::error(codes::UNREADABLE, format!("{} cannot be read: {why}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::{Evaluator as _, InProcess};
    use crate::request::Place;
    use serde_json::json;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn names(loaded: &Loaded) -> Vec<&str> {
        loaded.sources.iter().map(|(name, _)| name).collect()
    }

    fn code(result: Result<Vec<Loaded>, Failure>) -> String {
        result.unwrap_err().diagnostics()[0].code.clone()
    }

    #[test]
    fn a_directory_is_what_its_main_file_reaches() {
        let folder = folder(&[
            ("main.ncl", "{ a = import \"parts/a.ncl\", p = import \"pemdas.ncl\" }"),
            ("parts/a.ncl", "{ d = import \"../data.json\", t = import \"note.txt\" as 'Text }"),
            ("parts/note.txt", "hello"),
            ("data.json", "[1]"),
            ("unrelated.ncl", "this is no Nickel ]"),
        ]);
        let loaded = read_blueprints(folder.path(), &Limits::default()).unwrap();
        assert_eq!(names(&loaded[0]), ["data.json", "main.ncl", "parts/a.ncl", "parts/note.txt"]);
        let evaluator = InProcess::load(&loaded[0].sources, &Limits::default()).unwrap();
        assert_eq!(evaluator.evaluate(&Place::at(["a"])), Ok(json!({ "d": [1], "t": "hello" })));
        assert!(loaded[0].shown["parts/a.ncl"].ends_with("/parts/a.ncl"));
    }

    #[test]
    fn a_file_of_any_name_is_the_first() {
        let folder = folder(&[("web.ncl", "import \"b.ncl\""), ("b.ncl", "1"), ("main.ncl", "]")]);
        let loaded = read_blueprints(&folder.path().join("web.ncl"), &Limits::default()).unwrap();
        assert_eq!(names(&loaded[0]), ["b.ncl", "main.ncl"]);
        assert_eq!(loaded[0].sources.get(MAIN), Some("import \"b.ncl\""));
        assert!(loaded[0].shown[MAIN].ends_with("/web.ncl"));
    }

    #[test]
    fn nothing_outside_of_the_directory_is_read() {
        let outside = folder(&[("secret.ncl", "\"canary\"")]);
        let secret = outside.path().join("secret.ncl");
        let inside = folder(&[("main.ncl", "import \"link.ncl\"")]);
        std::os::unix::fs::symlink(&secret, inside.path().join("link.ncl")).unwrap();
        assert_eq!(code(read_blueprints(inside.path(), &Limits::default())), codes::UNREADABLE);

        let linked = folder(&[("main.ncl", "import \"d/secret.ncl\"")]);
        std::os::unix::fs::symlink(outside.path(), linked.path().join("d")).unwrap();
        assert_eq!(code(read_blueprints(linked.path(), &Limits::default())), codes::UNREADABLE);

        // By path: nothing is read, and the evaluator says where.
        for import in [secret.to_str().unwrap(), "../secret.ncl"] {
            let both =
                folder(&[("in/main.ncl", &format!("import \"{import}\"")), ("secret.ncl", "\"canary\"")]);
            let loaded = read_blueprints(&both.path().join("in"), &Limits::default()).unwrap();
            assert_eq!(names(&loaded[0]), ["main.ncl"]);
            let failure = InProcess::load(&loaded[0].sources, &Limits::default()).unwrap_err();
            assert_eq!(failure.diagnostics()[0].code, codes::IMPORT);
            assert!(!failure.diagnostics()[0].labels.is_empty());
        }
        // A link within the directory is as good as a file.
        let within = folder(&[("main.ncl", "import \"link.ncl\""), ("real.ncl", "1")]);
        std::os::unix::fs::symlink("real.ncl", within.path().join("link.ncl")).unwrap();
        assert!(read_blueprints(within.path(), &Limits::default()).is_ok());
    }

    #[test]
    fn what_is_no_blueprint_says_so() {
        let limits = Limits { source_bytes: 100, source_files: 2, ..Limits::default() };
        let read = |files: &[(&str, &str)], name: &str| {
            let folder = folder(files);
            read_blueprints(&folder.path().join(name), &limits)
        };
        assert_eq!(code(read(&[("a.ncl", "1")], "")), codes::NO_MAIN);
        assert_eq!(code(read(&[], "nowhere.ncl")), codes::UNREADABLE);
        assert_eq!(code(read(&[("a.md", "# A")], "a.md")), codes::UNREADABLE);
        assert_eq!(code(read(&[("main.ncl", &"1".repeat(101))], "")), codes::TOO_LARGE);
        let three = [("main.ncl", "[import \"a.ncl\", import \"b.ncl\"]"), ("a.ncl", "1"), ("b.ncl", "1")];
        assert_eq!(code(read(&three, "")), codes::TOO_LARGE);
        assert_eq!(code(read(&[("a.yaml", "kind: ConfigMap\ndata: {a: b}")], "a.yaml")), codes::UNREADABLE);
        assert_eq!(code(read(&[("a.yaml", "]")], "a.yaml")), codes::UNREADABLE);
        assert_eq!(code(read(&[("main.ncl/x", "1")], "")), codes::UNREADABLE);
        let folder = folder(&[]);
        fs::write(folder.path().join("main.ncl"), [0xff, 0xfe]).unwrap();
        assert_eq!(code(read_blueprints(folder.path(), &limits)), codes::UNREADABLE);
    }

    #[test]
    fn a_manifest_may_have_several_blueprints() {
        let text = r#"
apiVersion: v1
kind: Namespace
metadata: { name: other }
---
---
apiVersion: v1
kind: ConfigMap
metadata: { name: web }
data:
  main.ncl: |
    { a = import "b.ncl" }
  b.ncl: "1"
---
kind: List
items:
- kind: ConfigMap
  metadata: { name: second }
  data: { main.ncl: "{ b = 2 }" }
- kind: ConfigMap
  metadata: { name: third }
  data: { other: "x" }
"#;
        let folder = folder(&[("all.yaml", text)]);
        let loaded = read_blueprints(&folder.path().join("all.yaml"), &Limits::default()).unwrap();
        let titles: Vec<_> = loaded.iter().map(|one| one.title.rsplit('/').next().unwrap()).collect();
        assert_eq!(titles, ["all.yaml#web", "all.yaml#second"]);
        assert_eq!(names(&loaded[0]), ["b.ncl", "main.ncl"]);
        let evaluator = InProcess::load(&loaded[0].sources, &Limits::default()).unwrap();
        assert_eq!(evaluator.evaluate(&Place::root()), Ok(json!({ "a": 1 })));
    }
}
