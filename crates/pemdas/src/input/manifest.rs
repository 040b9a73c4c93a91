//! Blueprints as ConfigMaps in a manifest.

use pemdas_core::diagnostic::Diagnostic;
use pemdas_kube::files::{self, Unreadable};
use serde_json::Value;

use super::{Given, MAIN, UNREADABLE, yaml};
use crate::input::Place;

/// Whether a text is rather a manifest than Nickel.
pub(super) fn looks_like_one(text: &str) -> bool {
    text.lines().take(200).any(|line| {
        let line = line.trim().trim_end_matches(',').replace('"', "");
        line.starts_with("apiVersion:") || line.starts_with("kind: ConfigMap")
    })
}

/// Every ConfigMap of the manifest that holds a blueprint; of a list of objects, of every object.
pub(super) fn blueprints(title: &str, text: &str) -> Vec<Given> {
    let unreadable = |problem| vec![Given::unreadable(title, problem)];
    let documents = match yaml::values(text) {
        Ok(documents) => documents,
        Err(error) => {
            return unreadable(Diagnostic::error(UNREADABLE, format!("{title} is no YAML: {}", error.why)));
        }
    };
    let mut objects = Vec::new();
    for document in documents {
        match document.get("items").and_then(Value::as_array) {
            Some(items) => objects.extend(items.iter().cloned()),
            None => objects.push(document),
        }
    }
    let found: Vec<_> = objects.iter().filter_map(|object| blueprint(title, text, object)).collect();
    if !found.is_empty() {
        return found;
    }
    let is_map = |object: &&Value| object.get("kind").is_some_and(|it| it == "ConfigMap");
    let problem = match objects.iter().find(is_map) {
        Some(map) => {
            let name = map.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("?");
            Diagnostic::error(UNREADABLE, format!("the ConfigMap \"{name}\" in {title} holds no blueprint"))
                .hint(format!("a blueprint is the text under the key {MAIN} in its data"))
        }
        None => Diagnostic::error(UNREADABLE, format!("there is no ConfigMap in {title}"))
            .hint(format!("a blueprint is kept in a ConfigMap, under the key {MAIN}")),
    };
    unreadable(problem)
}

fn blueprint(title: &str, manifest: &str, object: &Value) -> Option<Given> {
    if object.get("kind")? != "ConfigMap" {
        return None;
    }
    if !files::has(object, MAIN) {
        return None;
    }
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("unnamed");
    let mut given = Given { title: format!("{title} (ConfigMap {name})"), ..Given::default() };
    let files = match files::read(object) {
        Ok(files) => files,
        Err(why) => {
            let problem = Diagnostic::error(UNREADABLE, why.to_string()).hint(Unreadable::HINT);
            return Some(Given::unreadable(given.title, problem));
        }
    };
    for (key, text) in files {
        let place = Place {
            path: title.to_owned(),
            title: format!("{title} ({name}/{key})"),
            offset: find_block(manifest, &key, &text),
        };
        given.add(&key, text, place);
    }
    Some(given)
}

/// Where a block of text stands in a manifest: the lines before it and its indentation. None where it is not
/// written as a block of lines, or stands there twice.
fn find_block(manifest: &str, key: &str, text: &str) -> Option<(usize, usize)> {
    let lines: Vec<&str> = manifest.lines().collect();
    let wanted: Vec<&str> = text.trim_end().lines().collect();
    let mut found = None;
    for (index, line) in lines.iter().enumerate() {
        let head = line.trim_start().trim_start_matches(['"', '\'']);
        if !head.starts_with(key) {
            continue;
        }
        let block = lines.get(index + 1..index + 1 + wanted.len())?;
        let first = wanted.iter().position(|it| !it.trim().is_empty())?;
        let indent = block.get(first)?.len().checked_sub(wanted[first].len())?;
        let same = |(is, wants): (&&str, &&str)| {
            if wants.trim().is_empty() { is.trim().is_empty() } else { is.get(indent..) == Some(*wants) }
        };
        if block.iter().zip(&wanted).all(same) {
            if found.is_some() {
                return None;
            }
            found = Some((index + 1, indent));
        }
    }
    found
}
