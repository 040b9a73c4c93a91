//! What the tests of the language share.

use std::path::{Path, PathBuf};

use pemdas_core::diagnostic::Diagnostic;
use pemdas_nickel::{Evaluator as _, InProcess, Limits, Place, Sources};
use serde_json::Value;

/// A directory of the workspace.
#[allow(dead_code, reason = "not every test file reads directories")]
pub(crate) fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The Nickel files of a directory, as a blueprint.
#[allow(dead_code, reason = "not every test file reads directories")]
pub(crate) fn sources_of(directory: &Path) -> Sources {
    let mut sources = Sources::new();
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "ncl") {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            sources = sources.with(name, std::fs::read_to_string(&path).expect("a text"));
        }
    }
    sources
}

/// A YAML file as data, read by the evaluator.
#[allow(dead_code, reason = "not every test file reads YAML")]
pub(crate) fn yaml(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let sources = Sources::single("import \"data.yaml\"").with("data.yaml", text);
    let loaded = InProcess::load(&sources, &Limits::default())
        .unwrap_or_else(|failure| panic!("{}: {failure:?}", path.display()));
    loaded.evaluate(&Place::root()).unwrap_or_else(|failure| panic!("{}: {failure:?}", path.display()))
}

/// Diagnostics as a person would want to read them in a failed test.
#[allow(dead_code, reason = "not every test file shows diagnostics")]
pub(crate) fn shown(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let mut text = String::new();
    for diagnostic in diagnostics {
        text.push_str(&format!("{:?} {}: {}\n", diagnostic.severity, diagnostic.code, diagnostic.message));
        for label in &diagnostic.labels {
            let file = sources.get(&label.span.file).unwrap_or_default();
            let line = file.get(..label.span.start as usize).map_or(0, |before| before.lines().count());
            let code = file.get(label.span.start as usize..label.span.end as usize).unwrap_or_default();
            text.push_str(&format!("    {}:{line} `{code}` {}\n", label.span.file, label.message));
        }
        for note in &diagnostic.notes {
            text.push_str(&format!("    note: {note}\n"));
        }
        if let Some(hint) = &diagnostic.hint {
            text.push_str(&format!("    hint: {hint}\n"));
        }
    }
    text
}
