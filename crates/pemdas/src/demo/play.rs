//! What a demonstration plays: an example of the binary, or a folder of one's own.

use std::{collections::BTreeMap, fs, path::Path};

use pemdas_core::{diagnostic::Diagnostic, rights::consent::BLUEPRINTS_ANNOTATION};
use serde_json::{Value, json};

use super::{
    examples::{EXAMPLES, Source},
    script::{FILE, Script},
};
use crate::import::DEFINITIONS;
use crate::input::{self, Given, MAX_FOLDER, Place, Within};

/// What the blueprint may do.
pub(crate) const ACCESS: &str = "access.yaml";
/// What tests are told that the cluster would say.
const OF_TESTS: &str = "sample/live.yaml";

/// Something to play.
pub(crate) struct Play {
    /// The blueprint.
    pub(crate) given: Given,
    /// What there is besides, each with the file it is from, in the order in which it is created.
    pub(crate) objects: Vec<(String, Value)>,
    /// The account that the blueprint acts as, if it brings one.
    pub(crate) account: Option<String>,
    /// How it is played.
    pub(crate) script: Script,
    /// Whether it is a folder, which somebody may edit.
    pub(crate) is_folder: bool,
}

/// Why there is nothing to play.
#[derive(Debug)]
pub(crate) struct Nothing {
    /// What is wrong.
    pub(crate) message: String,
    /// What can be done about it.
    pub(crate) hint: Option<String>,
}

impl Nothing {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }
}

/// Finds what is meant: the name of an example, or a folder.
///
/// # Errors
/// If there is neither, or its manifests cannot be used. What is wrong with the blueprint itself is told where it is checked.
pub(crate) fn find(name: &str) -> Result<Play, Nothing> {
    let path = Path::new(name);
    let is_path = name.contains(['/', '\\']) || name.starts_with('.');
    if let Some(example) = EXAMPLES.iter().find(|it| it.name == name).filter(|_| !is_path) {
        return of_example(example);
    }
    if path.is_dir() {
        return of_folder(path);
    }
    if is_path {
        let message = format!("{name} is no folder");
        let hint = Some("give a folder with a main.ncl and a sample/, or the name of an example".to_owned());
        return Err(Nothing { message, hint });
    }
    let names = EXAMPLES.iter().map(|it| it.name);
    let near = pemdas_core::suggest::did_you_mean(name, names);
    let hint = near.map(|it| {
        let end = if it.ends_with('?') { "" } else { ";" };
        format!("{it}{end} `pemdas demo --list` says what they are about")
    });
    Err(Nothing { message: format!("there is no example {name}, and no folder of that name"), hint })
}

fn of_example(example: &Source) -> Result<Play, Nothing> {
    let mut given = Given { title: example.name.to_owned(), ..Given::default() };
    let mut manifests = BTreeMap::new();
    for (name, text) in example.files {
        if name.ends_with(".ncl") {
            given.files.insert((*name).to_owned(), (*text).to_owned());
            given.places.insert((*name).to_owned(), Place::file(format!("{}/{name}", example.name)));
        } else {
            manifests.insert((*name).to_owned(), (*text).to_owned());
        }
    }
    Play::new(given, &manifests)
}

fn of_folder(folder: &Path) -> Result<Play, Nothing> {
    let mut manifests = BTreeMap::new();
    let unread = |problem: Box<Diagnostic>| Nothing::new(problem.message);
    let within = Within::new(folder, MAX_FOLDER).map_err(unread)?;
    for (part, prefix) in [(folder.to_owned(), ""), (folder.join("sample"), "sample/")] {
        if !within.has_folder(&part).map_err(unread)? {
            continue;
        }
        for path in fs::read_dir(part).into_iter().flatten().flatten().map(|it| it.path()) {
            let is_manifest = path.extension().is_some_and(|it| it == "yaml" || it == "yml" || it == "json");
            let Some(name) = path.file_name().and_then(|it| it.to_str()).filter(|_| is_manifest) else {
                continue;
            };
            if let Some(text) = within.text(&path).map_err(unread)? {
                manifests.insert(format!("{prefix}{name}"), text);
            }
        }
    }
    let given = input::read(folder).into_iter().next().unwrap_or_default();
    Ok(Play { is_folder: true, ..Play::new(given, &manifests)? })
}

impl Play {
    fn new(given: Given, manifests: &BTreeMap<String, String>) -> Result<Self, Nothing> {
        let script = Script::read(manifests).map_err(Nothing::new)?;
        let samples = || manifests.keys().filter(|it| it.starts_with("sample/") && *it != OF_TESTS).cloned();
        let wanted: Vec<String> = script.apply.clone().unwrap_or_else(|| samples().collect());
        let mut objects = Vec::new();
        let access = manifests.contains_key(ACCESS).then(|| ACCESS.to_owned());
        let definitions = manifests.contains_key(DEFINITIONS).then(|| DEFINITIONS.to_owned());
        for file in access.into_iter().chain(definitions).chain(wanted) {
            let text = manifests
                .get(&file)
                .ok_or_else(|| Nothing::new(format!("{FILE} speaks of {file}, which is not there")))?;
            for object in documents(&file, text)? {
                objects.push((file.clone(), object));
            }
        }
        let accounts = objects.iter().filter(|(file, it)| file == ACCESS && it["kind"] == "ServiceAccount");
        let account =
            accounts.filter_map(|(_, it)| it["metadata"]["name"].as_str()).next().map(str::to_owned);
        if account.is_none() {
            objects.insert(0, (ACCESS.to_owned(), own_account()));
        }
        Ok(Self { given, account, objects, script, is_folder: false })
    }

    /// Whether anything is there that could be an instance.
    pub(crate) fn has_samples(&self) -> bool {
        self.objects.iter().any(|(file, _)| file != ACCESS && file != DEFINITIONS)
    }

    /// The ConfigMap that the blueprint is.
    pub(crate) fn blueprint(&self, name: &str) -> Value {
        config_map(name, &self.given.files, self.account.as_deref())
    }
}

/// The account that a blueprint acts as which comes with none.
const OWN_ACCOUNT: &str = "blueprint";

/// This account, which lets it.
pub(crate) fn own_account() -> Value {
    json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {
            "name": OWN_ACCOUNT, "namespace": "default", "annotations": { BLUEPRINTS_ANNOTATION: "*" },
        },
    })
}

/// The ConfigMap that a blueprint is; it acts as the account that was given, or as its own.
pub(crate) fn config_map(name: &str, files: &BTreeMap<String, String>, account: Option<&str>) -> Value {
    let annotations = json!({ "pemdas.dev/service-account": account.unwrap_or(OWN_ACCOUNT) });
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": files,
        "metadata": {
            "name": name, "namespace": "default", "labels": { "pemdas.dev/blueprint": "" }, "annotations": annotations,
        },
    })
}

/// The objects of a manifest.
pub(crate) fn documents(file: &str, text: &str) -> Result<Vec<Value>, Nothing> {
    let all =
        input::yaml::values(text).map_err(|it| Nothing::new(format!("{file} is no YAML: {}", it.why)))?;
    let mut objects = Vec::new();
    for document in all {
        match document.get("items").and_then(Value::as_array) {
            Some(items) => objects.extend(items.iter().cloned()),
            None => objects.push(document),
        }
    }
    let is_object = |it: &Value| {
        it["apiVersion"].is_string() && it["kind"].is_string() && it["metadata"]["name"].is_string()
    };
    match objects.iter().find(|it| !is_object(it)) {
        None => Ok(objects),
        Some(_) => {
            Err(Nothing::new(format!("{file} holds something without apiVersion, kind and metadata.name")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EXAMPLES, find};

    #[test]
    fn every_example_can_be_played() {
        for example in EXAMPLES {
            let play = find(example.name).unwrap();
            assert!(play.has_samples() && play.account.is_some(), "{}", example.name);
            assert!((3..=5).contains(&play.script.attempts.len()), "{} says what to try", example.name);
            for attempt in &play.script.attempts {
                let known = ["kubectl ", "pemdas "].iter().any(|it| attempt.run.starts_with(it));
                assert!(known && !attempt.then.is_empty(), "{}", attempt.run);
            }
        }
    }

    #[test]
    fn a_name_that_is_nearly_right_is_found() {
        let nothing = find("web-ap").err().unwrap();
        assert!(nothing.hint.unwrap().contains("did you mean `web-app`?"));
        assert!(find("./web-app").err().unwrap().message.contains("is no folder"));
    }
}
