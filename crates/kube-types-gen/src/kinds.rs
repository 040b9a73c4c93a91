//! The kinds that the API serves: their resources, scopes, verbs and subresources, from the paths.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::schema::{self, type_id};

/// What is known of a kind besides its fields.
#[derive(Default)]
pub(crate) struct Kind {
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
    pub(crate) type_id: String,
    pub(crate) verbs: BTreeSet<&'static str>,
    pub(crate) subresources: BTreeSet<String>,
}

/// (apiVersion, kind) to what is known of it.
pub(crate) type Kinds = BTreeMap<(String, String), Kind>;

/// One path of the API, taken apart.
struct Place<'a> {
    plural: &'a str,
    subresource: Option<&'a str>,
    namespaced: bool,
}

pub(crate) fn collect(documents: &[Value]) -> Result<Kinds> {
    let mut kinds = Kinds::new();
    for document in documents {
        let own_types = kinds_of_types(document);
        for (path, operations) in document["paths"].as_object().into_iter().flatten() {
            let Some(place) = place(path) else { continue };
            for operation in operations.as_object().into_iter().flatten().map(|(_, operation)| operation) {
                add(&mut kinds, &own_types, &place, operation).with_context(|| format!("the path {path}"))?;
            }
        }
    }
    // A subresource is told of its resource's kind, so this comes after all resources are known.
    for document in documents {
        for path in document["paths"].as_object().into_iter().flatten().map(|(path, _)| path) {
            let Some(Place { plural, subresource: Some(subresource), .. }) = place(path) else { continue };
            let version = api_version(path);
            for ((of, _), kind) in &mut kinds {
                if *of == version && kind.plural == plural {
                    kind.subresources.insert(subresource.to_owned());
                }
            }
        }
    }
    Ok(kinds)
}

fn add(
    kinds: &mut Kinds,
    own_types: &BTreeMap<(String, String), String>,
    place: &Place<'_>,
    operation: &Value,
) -> Result<()> {
    let (Some(verb), None) = (operation["x-kubernetes-action"].as_str().and_then(verb), place.subresource)
    else {
        return Ok(());
    };
    let Some(name) = group_version_kind(&operation["x-kubernetes-group-version-kind"]) else { return Ok(()) };
    let Some(type_id) = own_types.get(&name) else { return Ok(()) };
    let kind = kinds.entry(name).or_default();
    anyhow::ensure!(
        kind.plural.is_empty() || kind.plural == place.plural,
        "a kind with two resources, {} and {}",
        kind.plural,
        place.plural
    );
    place.plural.clone_into(&mut kind.plural);
    type_id.clone_into(&mut kind.type_id);
    kind.namespaced |= place.namespaced;
    kind.verbs.insert(verb);
    Ok(())
}

/// The types of a document that are the body of a kind. Those of many kinds, such as `DeleteOptions`, are none.
fn kinds_of_types(document: &Value) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for (name, body) in schema::definitions(document) {
        if let Some([one]) = body["x-kubernetes-group-version-kind"].as_array().map(Vec::as_slice)
            && let (Some(kind), Some(id)) = (group_version_kind(one), type_id(name))
        {
            found.insert(kind, id);
        }
    }
    found
}

fn group_version_kind(value: &Value) -> Option<(String, String)> {
    let (group, version) = (value["group"].as_str()?, value["version"].as_str()?);
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    Some((api_version, value["kind"].as_str()?.to_owned()))
}

/// `/apis/apps/v1/...` to `apps/v1`, `/api/v1/...` to `v1`.
fn api_version(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match parts[..] {
        ["apis", group, version, ..] => format!("{group}/{version}"),
        ["api", version, ..] => version.to_owned(),
        _ => String::new(),
    }
}

fn place(path: &str) -> Option<Place<'_>> {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let (["apis", _, _, rest @ ..] | ["api", _, rest @ ..]) = &parts[..] else { return None };
    // The deprecated watch paths say which resources can be watched.
    let rest = if let ["watch", rest @ ..] = rest { rest } else { rest };
    let (namespaced, rest) = match rest {
        ["namespaces", "{namespace}", rest @ ..] if !rest.is_empty() => (true, rest),
        _ => (false, rest),
    };
    match *rest {
        [plural] | [plural, "{name}"] if !plural.is_empty() => {
            Some(Place { plural, subresource: None, namespaced })
        }
        [plural, "{name}", subresource] => Some(Place { plural, subresource: Some(subresource), namespaced }),
        _ => None,
    }
}

fn verb(action: &str) -> Option<&'static str> {
    Some(match action {
        "get" => "get",
        "list" => "list",
        "watch" | "watchlist" => "watch",
        "post" => "create",
        "put" => "update",
        "patch" => "patch",
        "delete" => "delete",
        "deletecollection" => "deletecollection",
        _ => return None,
    })
}
