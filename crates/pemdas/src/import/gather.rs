//! What is given on the command line: files, folders, standard input.

use std::path::{Path, PathBuf};

use pemdas_core::diagnostic::Diagnostic;
use pemdas_core::import::codes;

use super::{Gathered, yaml};
use crate::input::{self, Place};

/// Reads some files and folders; `-` is standard input.
pub(crate) fn files(paths: &[PathBuf]) -> Gathered {
    let mut gathered = Gathered::default();
    for path in paths {
        if path == Path::new("-") {
            read(path, input::text_or_input(path), &mut gathered);
            continue;
        }
        match input::manifests(path, &is_plain) {
            Err(problem) if problem.code == codes::TEMPLATE => gathered.problems.push(*problem),
            Err(problem) => {
                gathered.problems.push(Diagnostic { code: codes::UNREADABLE.to_owned(), ..*problem });
            }
            Ok(found) if found.is_empty() => {
                let message = format!("{} holds no file that ends in .yaml, .yml or .json", path.display());
                gathered.problems.push(Diagnostic::error(codes::NOTHING, message));
            }
            Ok(found) => found.iter().for_each(|it| read(&it.path, it.text(), &mut gathered)),
        }
    }
    gathered
}

fn read(path: &Path, text: Result<String, Box<Diagnostic>>, gathered: &mut Gathered) {
    let title = if path == Path::new("-") { "<stdin>".to_owned() } else { path.display().to_string() };
    let text = match text {
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

/// What makes manifests of a folder is asked to do so before.
fn is_plain(folder: &Path) -> Result<(), Box<Diagnostic>> {
    let title = folder.display();
    for (name, how) in [
        ("kustomization.yaml", format!("kustomize build {title} | pemdas import -")),
        ("kustomization.yml", format!("kustomize build {title} | pemdas import -")),
        ("Chart.yaml", format!("helm template RELEASE {title} | pemdas import -")),
    ] {
        if folder.join(name).is_file() {
            let what = if name == "Chart.yaml" { "a chart of Helm" } else { "a kustomization" };
            let problem =
                Diagnostic::error(codes::TEMPLATE, format!("{title} is {what}, not what comes out of it"));
            return Err(Box::new(problem.hint(how)));
        }
    }
    Ok(())
}
