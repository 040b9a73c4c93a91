//! What is given on the command line: files, folders, standard input.

use std::fs;
use std::path::{Path, PathBuf};

use pemdas_core::diagnostic::Diagnostic;
use pemdas_core::import::codes;

use super::{Gathered, yaml};
use crate::input::{self, Place};

/// How many files are read.
const MAX_FILES: usize = 2_000;
/// How deep folders are followed.
const MAX_DEPTH: usize = 8;

/// Reads some files and folders; `-` is standard input.
pub(crate) fn files(paths: &[PathBuf]) -> Gathered {
    let mut gathered = Gathered::default();
    for path in paths {
        if path == Path::new("-") {
            read(path, &mut gathered);
            continue;
        }
        let mut found = Vec::new();
        match collect(path, 0, &mut found) {
            Err(problem) => gathered.problems.push(*problem),
            Ok(()) if found.is_empty() => {
                let message = format!("{} holds no file that ends in .yaml, .yml or .json", path.display());
                gathered.problems.push(Diagnostic::error(codes::NOTHING, message));
            }
            Ok(()) => {
                found.sort();
                found.iter().for_each(|it| read(it, &mut gathered));
            }
        }
    }
    gathered
}

fn read(path: &Path, gathered: &mut Gathered) {
    let title = if path == Path::new("-") { "<stdin>".to_owned() } else { path.display().to_string() };
    let text = match input::text_or_input(path) {
        Ok(text) => text,
        Err(problem) => {
            let hint = problem.message.contains("larger than").then(|| {
                "import what belongs together, each into a blueprint of its own; a blueprint has 4 MiB at most".to_owned()
            });
            let problem = Diagnostic { code: codes::UNREADABLE.to_owned(), hint, ..*problem };
            gathered.problems.push(problem);
            return;
        }
    };
    match yaml::objects(&title, &title, &text) {
        Ok(objects) => gathered.objects.extend(objects),
        Err(problem) => gathered.problems.push(*problem),
    }
    gathered.given.places.insert(title.clone(), Place::file(title.clone()));
    gathered.given.files.insert(title, text);
}

fn collect(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Box<Diagnostic>> {
    let title = path.display();
    let problem = |message: String| Box::new(Diagnostic::error(codes::UNREADABLE, message));
    let cannot = |error: std::io::Error| {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file or directory".to_owned(),
            _ => error.to_string(),
        };
        problem(format!("cannot read {title}: {why}"))
    };
    let about = fs::metadata(path).map_err(cannot)?;
    if !about.is_dir() {
        if !about.is_file() {
            return Err(problem(format!("{title} is neither a file nor a directory")));
        }
        files.push(path.to_owned());
        return Ok(());
    }
    if depth >= MAX_DEPTH {
        return Err(problem(format!("{title} is nested more than {MAX_DEPTH} folders deep")));
    }
    for (name, how) in [
        ("kustomization.yaml", format!("kustomize build {title} | pemdas import -")),
        ("kustomization.yml", format!("kustomize build {title} | pemdas import -")),
        ("Chart.yaml", format!("helm template RELEASE {title} | pemdas import -")),
    ] {
        if path.join(name).is_file() {
            let what = if name == "Chart.yaml" { "a chart of Helm" } else { "a kustomization" };
            let problem =
                Diagnostic::error(codes::TEMPLATE, format!("{title} is {what}, not what comes out of it"));
            return Err(Box::new(problem.hint(how)));
        }
    }
    for entry in fs::read_dir(path).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let hidden = path.file_name().is_some_and(|it| it.to_string_lossy().starts_with('.'));
        let wanted = path.extension().is_some_and(|it| it == "yaml" || it == "yml" || it == "json");
        if !hidden && (path.is_dir() || wanted) {
            collect(&path, depth + 1, files)?;
        }
        if files.len() > MAX_FILES {
            return Err(problem(format!("{title} holds more than {MAX_FILES} files")));
        }
    }
    Ok(())
}
