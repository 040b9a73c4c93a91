//! Which scenarios there are: the files of `scenarios/` beside a blueprint.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use pemdas_core::diagnostic::{Diagnostic, Severity};
use pemdas_nickel::{Sources, outline::hidden_names, written};
use serde_json::Value;

use super::{Bench, Script, measure::Measures, read::scenarios, readers::Readers};
use crate::{
    demo::play::{self, ACCESS},
    import::DEFINITIONS,
    input::{self, Given, MAX_FOLDER, Within},
    load::{self, Checked},
    workers::{self, Pace},
};

/// The folder of scenarios, beside the blueprint.
pub(crate) const FOLDER: &str = "scenarios";

/// A blueprint and its scenarios.
pub(crate) struct Gathered {
    /// What was looked at, with everything that is wrong with it.
    pub(crate) checked: Checked,
    /// Where to play; none if something keeps it from running.
    pub(crate) bench: Option<Bench>,
    /// The scenarios.
    pub(crate) scripts: Vec<Script>,
}

/// What was given leads to no blueprint with scenarios.
#[derive(Debug)]
pub(crate) struct Nothing {
    /// What is wrong.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: String,
}

/// Finds a blueprint and its scenarios: by its folder, or by one file of scenarios.
///
/// # Errors
/// If there are none.
pub(crate) fn gather(path: &Path) -> Result<Gathered, Nothing> {
    let (folder, only) = folder_of(path)?;
    let names = match only {
        Some(name) => vec![name],
        None => files_of(&folder),
    };
    if names.is_empty() {
        let message = format!("{} has no scenarios", folder.display());
        let hint = format!("write one into {FOLDER}/life.ncl; `pemdas test --help` shows how");
        return Err(Nothing { message, hint });
    }
    let mut given = input::read(&folder).into_iter().next().unwrap_or_default();
    let blueprint_files = given.files.clone();
    input::add(&mut given, &folder, &names);
    let all_files = given.files.clone();
    let blueprint = Given { files: blueprint_files.clone(), ..given };
    let mut checked = load::check(blueprint);
    let runs = checked.worst() != Some(Severity::Error);
    let name = checked.blueprint.as_ref().map(|it| it.name.clone());
    checked.given.files = all_files;
    let (Some(name), true) = (name, runs) else {
        return Ok(Gathered { checked, bench: None, scripts: Vec::new() });
    };
    let sources = checked.given.files.iter().fold(Sources::new(), |all, (name, text)| all.with(name, text));
    let evaluator = match workers::evaluator(&sources, Pace::Unhurried) {
        Ok(evaluator) => Arc::new(evaluator),
        Err(failure) => {
            checked.diagnostics.extend(failure.diagnostics());
            return Ok(Gathered { checked, bench: None, scripts: Vec::new() });
        }
    };
    let owned: Vec<String> = checked.blueprint.iter().flat_map(|it| it.kinds.keys().cloned()).collect();
    let mut scripts = Vec::new();
    let mut problems = Vec::new();
    for file in &names {
        let hidden = hidden_names(&*evaluator, &sources, file);
        match written(&*evaluator, file) {
            Ok(written) => {
                let (found, wrong) = scenarios(&written, &owned);
                scripts.extend(found);
                problems.extend(wrong);
            }
            Err(wrong) => problems.extend(wrong),
        }
        // Warnings keep nothing from being played.
        let (errors, warnings): (Vec<_>, Vec<_>) =
            hidden.into_iter().partition(|it| it.severity == Severity::Error);
        problems.extend(errors);
        checked.diagnostics.extend(warnings);
    }
    let bench = match beside(&folder) {
        Ok((beside, account)) if problems.is_empty() => {
            let measures = Arc::new(checked.blueprint.as_ref().map(Measures::of).unwrap_or_default());
            let readers = Readers::default();
            Some(Bench { name, files: blueprint_files, beside, account, evaluator, measures, readers })
        }
        Ok(_) => None,
        Err(problem) => {
            problems.push(*problem);
            None
        }
    };
    checked.diagnostics.extend(problems);
    load::tidy(&mut checked.diagnostics);
    Ok(Gathered { checked, bench, scripts })
}

/// The folder of the blueprint that is meant, and the one file of scenarios if one was given.
fn folder_of(path: &Path) -> Result<(PathBuf, Option<String>), Nothing> {
    let hint = "give the folder of a blueprint, or one of its files of scenarios".to_owned();
    if path.is_dir() {
        return Ok((path.to_owned(), None));
    }
    if !path.is_file() {
        return Err(Nothing { message: format!("{} is not there", path.display()), hint });
    }
    let within = path.parent().filter(|it| it.file_name().is_some_and(|it| it == FOLDER));
    match (within, path.file_name().and_then(|it| it.to_str())) {
        (Some(within), Some(name)) if name.ends_with(".ncl") => {
            let folder = within.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Ok((folder.to_owned(), Some(format!("{FOLDER}/{name}"))))
        }
        (_, Some(input::MAIN)) => {
            let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Ok((folder.to_owned(), None))
        }
        _ => Err(Nothing { message: format!("{} is no file of {FOLDER}/", path.display()), hint }),
    }
}

fn files_of(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join(FOLDER)).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|it| it.file_name().into_string().ok())
        .filter(|it| it.ends_with(".ncl") && !it.starts_with('.'))
        .map(|it| format!("{FOLDER}/{it}"))
        .collect();
    names.sort();
    names
}

/// What stands beside a blueprint and comes before it: its permissions, with its account, and the CRDs of others.
fn beside(folder: &Path) -> Result<(Vec<Value>, Option<String>), Box<Diagnostic>> {
    let within = Within::new(folder, MAX_FOLDER)?;
    let objects_of = |file: &str| match within.text(&folder.join(file))? {
        None => Ok(Vec::new()),
        Some(text) => play::documents(file, &text)
            .map_err(|nothing| Box::new(Diagnostic::error(input::UNREADABLE, nothing.message))),
    };
    let mut objects = objects_of(ACCESS)?;
    let account = objects.iter().find(|it| it["kind"] == "ServiceAccount");
    let account = account.and_then(|it| it["metadata"]["name"].as_str()).map(str::to_owned);
    if account.is_none() {
        objects.insert(0, play::own_account());
    }
    objects.extend(objects_of(DEFINITIONS)?);
    Ok((objects, account))
}
