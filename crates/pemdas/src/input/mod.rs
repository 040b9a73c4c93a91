//! What is given on the command line: directories, files, manifests, standard input. Everything is read here, and
//! nothing is read further than a blueprint can be large.

mod folder;
mod list;
mod manifest;
mod place;
mod scalar;
mod within;
pub(crate) mod yaml;

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use pemdas_core::diagnostic::Diagnostic;

pub(crate) use folder::add;
pub(crate) use list::{Listed, manifests};
pub(crate) use place::{Place, Position, position};
pub(crate) use within::Within;

/// The code of what cannot be read as a blueprint.
pub(crate) const UNREADABLE: &str = "PM0015";
/// The code of a blueprint without a beginning.
pub(crate) const NO_MAIN: &str = "PM0013";
/// The file that a blueprint begins with.
pub(crate) const MAIN: &str = "main.ncl";
/// The largest file that is read: more than a blueprint may have, so that what is only too large is told so.
const MAX_BYTES: u64 = 8 << 20;
/// How much is read of a folder with a blueprint: what lies beside it counts, too.
pub(crate) const MAX_FOLDER: u64 = 32 << 20;

/// One blueprint that was given.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given {
    /// How to call it in messages.
    pub(crate) title: String,
    /// Its files, by the names they have within it.
    pub(crate) files: BTreeMap<String, String>,
    /// Where people find these files.
    pub(crate) places: BTreeMap<String, Place>,
    /// What went wrong while reading.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Whether there is nothing that could be looked at.
    pub(crate) unreadable: bool,
}

impl Given {
    fn unreadable(title: impl Into<String>, problem: Diagnostic) -> Self {
        Self { title: title.into(), diagnostics: vec![problem], unreadable: true, ..Self::default() }
    }

    fn add(&mut self, name: &str, text: String, place: Place) {
        self.files.insert(name.to_owned(), text);
        self.places.insert(name.to_owned(), place);
    }
}

/// Reads what is at a path; a manifest may hold several blueprints.
pub(crate) fn read(path: &Path) -> Vec<Given> {
    if path == Path::new("-") {
        return standard_input();
    }
    let title = path.display().to_string();
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => return vec![Given::unreadable(title.clone(), cannot_read(&title, &error))],
    };
    if metadata.is_dir() {
        return vec![folder::directory(path)];
    }
    if !metadata.is_file() {
        let problem = Diagnostic::error(UNREADABLE, format!("{title} is neither a file nor a directory"));
        return vec![Given::unreadable(title, problem)];
    }
    match path.extension().and_then(|it| it.to_str()) {
        Some("ncl") => vec![folder::file(path)],
        Some("yaml" | "yml" | "json") => match folder::text_within(path) {
            Ok(text) => manifest::blueprints(&title, &text),
            Err(problem) => vec![Given::unreadable(title, *problem)],
        },
        _ => {
            let problem = Diagnostic::error(UNREADABLE, format!("{title} is no blueprint by its name"))
                .hint("give a directory with a main.ncl, an .ncl file, or a .yaml or .json manifest with a ConfigMap");
            vec![Given::unreadable(title, problem)]
        }
    }
}

/// A manifest or a single file of Nickel, whichever it looks like.
fn standard_input() -> Vec<Given> {
    let title = "<stdin>";
    match bounded(io::stdin().lock(), title) {
        Err(problem) => vec![Given::unreadable(title, *problem)],
        Ok(text) if manifest::looks_like_one(&text) => manifest::blueprints(title, &text),
        Ok(text) => {
            let mut given = Given { title: title.to_owned(), ..Given::default() };
            given.add(MAIN, text, Place::file(title));
            vec![given]
        }
    }
}

fn cannot_read(title: &str, error: &io::Error) -> Diagnostic {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    Diagnostic::error(UNREADABLE, format!("cannot read {title}: {why}"))
}

/// The text of a file, or of standard input for `-`.
pub(crate) fn text_or_input(path: &Path) -> Result<String, Box<Diagnostic>> {
    if path == Path::new("-") { bounded(io::stdin().lock(), "<stdin>") } else { text_of(path) }
}

pub(crate) fn text_of(path: &Path) -> Result<String, Box<Diagnostic>> {
    let title = path.display().to_string();
    let file = File::open(path).map_err(|error| Box::new(cannot_read(&title, &error)))?;
    bounded(file, &title)
}

fn bounded(source: impl Read, title: &str) -> Result<String, Box<Diagnostic>> {
    let mut bytes = Vec::new();
    source
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Box::new(cannot_read(title, &error)))?;
    if bytes.len() as u64 > MAX_BYTES {
        let problem =
            Diagnostic::error(UNREADABLE, format!("{title} is larger than {} MiB", MAX_BYTES >> 20))
                .hint("a blueprint has 4 MiB at most; keep data in ConfigMaps of its own");
        return Err(Box::new(problem));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Box::new(Diagnostic::error(UNREADABLE, format!("{title} is not text: byte {at} is no UTF-8")))
    })
}

/// A path as messages show it: with `/`, and without a leading `./` that nobody typed.
fn shown(path: &Path) -> String {
    let path: PathBuf = path.components().collect();
    path.display().to_string()
}
