//! Adding to a blueprint that is there: its text stays as it is written, and gets more.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use pemdas_core::blueprint::{Blueprint, Body, RootTarget, Scope};
use pemdas_core::crd::definition;
use pemdas_core::diagnostic::{Diagnostic, Severity};
use pemdas_core::import::{self, Draft, Expression, Home, Part, What, Wishes, codes};
use pemdas_nickel::outline::{Opening, openings};
use pemdas_nickel::{Sources, print};
use serde_json::Value;

use super::{Gathered, prove};
use crate::files;
use crate::input::Given;
use crate::load::{self, Checked};
use crate::workers::{self, Pace};

/// What was added.
#[derive(Debug)]
pub(crate) struct Added {
    /// The nodes and parameters.
    pub(crate) draft: Draft,
    /// The files that were changed.
    pub(crate) changed: Vec<PathBuf>,
}

/// What the objects are put under, as far as that was said.
pub(crate) struct Under<'a> {
    /// The node of the root.
    pub(crate) root: Option<&'a str>,
    /// The instance that they are of.
    pub(crate) instance: Option<&'a str>,
}

/// Why nothing was added.
pub(crate) enum NotAdded {
    /// Something is wrong with the blueprint or with the objects.
    Problems(Box<Checked>),
    /// What would become of the blueprint has errors.
    Broken(Box<Checked>),
    /// It cannot be done.
    Cannot(String, Option<String>),
}

fn cannot(message: impl Into<String>, hint: &str) -> NotAdded {
    NotAdded::Cannot(message.into(), Some(hint.to_owned()))
}

/// Adds objects to a blueprint, and writes its files.
///
/// # Errors
/// Why nothing was written.
pub(crate) fn into(
    gathered: Gathered,
    wishes: Wishes,
    given: Given,
    under: &Under<'_>,
) -> Result<(Added, Checked), NotAdded> {
    let before = given.clone();
    let (checked, drafts) = load::check_and_draft(given);
    if checked.worst() == Some(Severity::Error) {
        return Err(NotAdded::Problems(Box::new(checked)));
    }
    let Some(blueprint) = checked.blueprint else { return Err(cannot("there is no blueprint", "")) };
    let definitions: Vec<Value> = drafts.kinds.iter().map(definition).collect();
    let (home, version) = home(&blueprint, &definitions, under.root)?;
    let cluster = blueprint.kinds.get(&home.kind).is_some_and(|it| it.scope == Scope::Cluster);

    let Gathered { objects, given: read, mut problems } = gathered;
    let taken = blueprint.nodes.keys().cloned().collect();
    let wishes = Wishes { taken, definitions_inside: true, apart: true, ..wishes };
    let draft = match problems.iter().any(|it| it.severity == Severity::Error) {
        true => None,
        false => {
            let (draft, more) = import::draft(objects, &wishes);
            problems.extend(more);
            draft
        }
    };
    let of_input = Checked { given: read, blueprint: None, graph: None, diagnostics: problems };
    let Some(mut draft) = draft else { return Err(NotAdded::Problems(Box::new(of_input))) };
    if draft.cluster != cluster {
        let (has, wants) = if cluster { ("lives beside", "in") } else { ("lives in", "beside") };
        return Err(cannot(
            format!("{} {has} namespaces, and these objects want a root that is {wants} them", home.kind),
            "import them into a blueprint of their own; a Namespace and what lives in it belong to a root beside namespaces",
        ));
    }
    name_after(&mut draft, under.instance);
    draft.fit(&home);
    let after = Given { files: edited(&before, &blueprint, &draft, &version)?, ..before.clone() };
    let (merged, lost) = prove::added(&draft, &blueprint, after.clone());
    if merged.worst() == Some(Severity::Error) {
        return Err(NotAdded::Broken(Box::new(merged)));
    }
    if !lost.is_empty() {
        return Err(NotAdded::Problems(Box::new(Checked { diagnostics: lost, ..of_input })));
    }
    let changed: Vec<(PathBuf, String)> = after
        .files
        .iter()
        .filter(|(name, text)| before.files.get(*name) != Some(text))
        .filter_map(|(name, text)| Some((PathBuf::from(&before.places.get(name)?.path), text.clone())))
        .collect();
    files::write(&changed, true).map_err(|why| NotAdded::Cannot(why, None))?;
    let changed = changed.into_iter().map(|(path, _)| path).collect();
    Ok((Added { draft, changed }, of_input))
}

/// Makes names from the root's where they begin with the name of the instance. Others stay what they are: what the blueprint has already
/// is called after the root too, and the two would be one.
fn name_after(draft: &mut Draft, instance: Option<&str>) {
    let shared = draft.instance.clone();
    let rest = instance.and_then(|it| {
        let rest = shared.strip_prefix(it)?;
        (rest.is_empty() || rest.starts_with('-')).then(|| rest.to_owned())
    });
    let parts = match (&rest, instance) {
        (Some(rest), Some(instance)) => {
            instance.clone_into(&mut draft.instance);
            vec![Part::RootName, Part::Literal(rest.clone())]
        }
        _ => vec![Part::Literal(shared)],
    };
    for node in &mut draft.nodes {
        rename_root(&mut node.template, &parts);
        node.once.iter_mut().for_each(|it| rename_root(&mut it.key, &parts));
    }
}

fn rename_root(expression: &mut Expression, parts: &[Part]) {
    match &mut expression.what {
        What::Text(text) | What::Encoded(text) => {
            let mut named: Vec<Part> = Vec::new();
            for part in std::mem::take(text) {
                let new = if part == Part::RootName { parts.to_vec() } else { vec![part] };
                for part in new {
                    match (named.last_mut(), part) {
                        (_, Part::Literal(more)) if more.is_empty() => {}
                        (Some(Part::Literal(before)), Part::Literal(more)) => before.push_str(&more),
                        (_, part) => named.push(part),
                    }
                }
            }
            *text = named;
        }
        What::List(items) => items.iter_mut().for_each(|it| rename_root(it, parts)),
        What::Record(fields) | What::Labels(_, fields) => {
            fields.iter_mut().for_each(|(_, it)| rename_root(it, parts));
        }
        What::Null | What::Bool(_) | What::Number(_) | What::Read(_) | What::Made(_) => {}
    }
}

/// The root that the objects are put under, and the version of its kind.
fn home(
    blueprint: &Blueprint,
    definitions: &[Value],
    wanted: Option<&str>,
) -> Result<(Home, String), NotAdded> {
    let roots: Vec<(&String, &String)> = blueprint
        .nodes
        .iter()
        .filter_map(|(name, node)| match &node.body {
            Body::Root(root) => match &root.target {
                RootTarget::Owned(kind) => Some((name, kind)),
                RootTarget::Foreign { .. } | RootTarget::Blueprint => None,
            },
            _ => None,
        })
        .collect();
    let names = || roots.iter().map(|it| it.0.as_str()).collect::<Vec<_>>().join(", ");
    let chosen = match wanted {
        Some(wanted) => roots.iter().find(|it| it.0 == wanted),
        None if roots.len() > 1 => {
            let hint = format!("--root says which one needs the objects: {}", names());
            return Err(cannot("the blueprint has several roots", &hint));
        }
        None => roots.first(),
    };
    let Some((root, kind)) = chosen else {
        let hint = match roots.as_slice() {
            [] => "objects are put under a root of a kind that the blueprint owns".to_owned(),
            _ => format!("there is {}", names()),
        };
        return Err(cannot("the blueprint has no such root", &hint));
    };
    let owned = blueprint.kinds.get(*kind).filter(|it| it.versions.len() == 1);
    let Some((owned, version)) = owned.and_then(|it| Some((it, it.versions.keys().next()?.clone()))) else {
        let hint = "each version would need the new fields, and its conversion: add them by hand";
        return Err(cannot(format!("{kind} has several versions"), hint));
    };
    let definition = definitions.iter().find(|it| it["spec"]["names"]["kind"] == kind.as_str());
    let fields = definition
        .and_then(|it| it.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties"))
        .and_then(Value::as_object)
        .map(|it| it.keys().cloned().collect())
        .unwrap_or_default();
    let home = Home { kind: (*kind).clone(), group: owned.group.clone(), root: (*root).clone(), fields };
    Ok((home, version))
}

/// The files with what is new in them.
fn edited(
    given: &Given,
    blueprint: &Blueprint,
    draft: &Draft,
    version: &str,
) -> Result<BTreeMap<String, String>, NotAdded> {
    let path = |parts: &[&str]| parts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let sources = given.files.iter().fold(Sources::new(), |all, (name, text)| all.with(name, text));
    let paths = [
        path(&["nodes"]),
        path(&["nodes", &draft.root]),
        path(&["nodes", &draft.root, "also"]),
        path(&["nodes", &draft.root, "deleting"]),
        path(&["kinds", &draft.kind, "versions", version, "spec"]),
    ];
    let evaluator = workers::evaluator(&sources, Pace::Usual)
        .map_err(|_| cannot("the blueprint cannot be read", "`pemdas check` says why"))?;
    let found = openings(&evaluator, &sources, &paths);
    let [nodes, root, also, deleting, spec] = found.as_slice() else {
        return Err(cannot("nothing is found", ""));
    };
    let missing = |what: &str| {
        let hint = "it is made by a function, a merge or an import of something else: write it as a record, or import into a new blueprint and move the nodes by hand";
        cannot(format!("`{what}` is not written down as a plain record"), hint)
    };
    let mut edits: Vec<(&Opening, String)> = Vec::new();
    let nodes = nodes.as_ref().ok_or_else(|| missing("nodes"))?;
    let texts: Vec<String> = draft.nodes.iter().map(|it| print::node(it, nodes.indent / 2)).collect();
    edits.push((nodes, format!("{}\n", texts.join("\n"))));
    for (clause, names, opening) in [("also", &draft.needs, also), ("deleting", &draft.deleting, deleting)] {
        match (opening, root) {
            _ if names.is_empty() => {}
            (Some(opening), _) => edits.push((opening, needed(names, opening))),
            // One that is there and no plain record would be there twice.
            (None, Some(root)) if !has_clause(blueprint, &draft.root, clause) => {
                let words: Vec<String> = names.iter().map(|it| print::string(it)).collect();
                let line = format!("{clause} = [{}],", words.join(", "));
                let own = || format!("{}{line}\n", " ".repeat(root.indent));
                edits.push((root, if root.inline { line.clone() } else { own() }));
            }
            (None, _) => return Err(missing(&format!("nodes.{}.{clause}", draft.root))),
        }
    }
    if !draft.parameters.is_empty() {
        let spec = spec.as_ref();
        let spec = spec.ok_or_else(|| missing(&format!("kinds.{}.versions.{version}.spec", draft.kind)))?;
        let lines = draft.parameters.iter().map(|it| print::parameter(it, spec.indent / 2));
        edits.push((spec, lines.collect()));
    }
    let mut files = given.files.clone();
    edits.sort_by_key(|(opening, _)| std::cmp::Reverse((opening.file.clone(), opening.at)));
    for (opening, text) in &edits {
        if let Some(file) = files.get_mut(&opening.file) {
            file.insert_str(opening.at, &placed(opening, text));
        }
    }
    let touched: BTreeSet<&String> = edits.iter().map(|(opening, _)| &opening.file).collect();
    for name in touched {
        if let Some(file) = files.get_mut(name) {
            bring_names(file, draft);
        }
    }
    Ok(files)
}

/// Lines as they are put after a bracket.
fn placed(opening: &Opening, text: &str) -> String {
    match (opening.list, opening.inline) {
        (true, _) => text.to_owned(),
        // A clause stands on the line of the others.
        (false, true) if !text.ends_with('\n') => format!(" {text}"),
        // What stood behind the bracket gets a line of its own.
        (false, true) => format!("\n{text}{}", " ".repeat(opening.indent.saturating_sub(1))),
        (false, false) => format!("\n{}", text.strip_suffix('\n').unwrap_or(text)),
    }
}

/// Whether the root says something of a clause already.
fn has_clause(blueprint: &Blueprint, root: &str, clause: &str) -> bool {
    blueprint.nodes.get(root).is_some_and(|it| match clause {
        "deleting" => !it.deleting.is_empty(),
        _ => !it.also.is_empty(),
    })
}

/// What the root needs besides.
fn needed(names: &[String], also: &Opening) -> String {
    let indent = " ".repeat(also.indent);
    if !also.list {
        return names.iter().map(|it| format!("{indent}{} = {{}},\n", print::field_name(it))).collect();
    }
    let words: Vec<String> = names.iter().map(|it| print::string(it)).collect();
    match (also.empty, also.inline) {
        (true, _) => words.join(", "),
        (false, true) => format!("{}, ", words.join(", ")),
        (false, false) => words.iter().map(|it| format!("\n{indent}{it},")).collect(),
    }
}

/// Names of the library that the new text uses and the file does not have yet.
fn bring_names(file: &mut String, draft: &Draft) {
    let bound = file.split(" in\n").next().unwrap_or_default();
    let has = |name: &str| bound.split(|it: char| !it.is_alphanumeric()).any(|it| it == name);
    let names: Vec<&str> =
        print::imported(draft).into_iter().filter(|it| *it != "Blueprint" && !has(it)).collect();
    let used: Vec<&str> = names.into_iter().filter(|it| file.contains(it)).collect();
    if used.is_empty() {
        return;
    }
    // Below the comment that a file begins with.
    let head: usize = file.split_inclusive('\n').take_while(|it| it.starts_with('#')).map(str::len).sum();
    file.insert_str(head, &format!("let {{ {}, .. }} = import \"pemdas/v1.ncl\" in\n", used.join(", ")));
}

/// What is lost of a blueprint that something was added to: every node is what it was, but for what the root needs.
pub(super) fn changed(before: &Blueprint, after: &Blueprint, draft: &Draft) -> Vec<Diagnostic> {
    let plain = |blueprint: &Blueprint, name: &str| {
        let mut node = serde_json::to_value(blueprint.nodes.get(name)).unwrap_or_default();
        for (clause, names) in [("also", &draft.needs), ("deleting", &draft.deleting)] {
            let edges = node.get_mut(clause).and_then(Value::as_object_mut);
            if let Some(edges) = edges.filter(|_| name == draft.root) {
                edges.retain(|it, _| !names.contains(it));
            }
        }
        without_places(&mut node);
        node
    };
    let other = before.nodes.keys().filter(|name| plain(before, name) != plain(after, name));
    other
        .map(|name| {
            let message = format!("the node {name} would not be what it was");
            Diagnostic::error(codes::NOT_THE_SAME, message)
                .hint("this is a mistake of Pemdas: please report it; nothing was written")
        })
        .collect()
}

fn without_places(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, it| {
                !(name.ends_with("span") || name == "clauses" || it.get("start").is_some())
            });
            fields.retain(|name, it| {
                !(["also", "deleting"].contains(&&**name)
                    && it.as_object().is_some_and(serde_json::Map::is_empty))
            });
            fields.values_mut().for_each(without_places);
        }
        Value::Array(items) => items.iter_mut().for_each(without_places),
        _ => {}
    }
}
