//! The instance: one object in a file, of a root of the blueprint, with the contract of its kind applied.

use std::path::Path;

use pemdas_core::blueprint::{Blueprint, Body, RootTarget, Selector};
use pemdas_core::diagnostic::{Diagnostic, Label, Severity, Span};
use pemdas_core::graph::{Graph, OWN_ROOT};
use pemdas_core::world::KindKey;
use pemdas_nickel::{Failure, Renderer};
use serde_json::{Value, json};

use super::codes;
use crate::input::{self, Place};
use crate::load::Checked;
use crate::workers::Evaluation;

/// The instance that was given.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    /// The name of the file among those of the blueprint, for messages.
    file: Option<String>,
    /// The object.
    pub(super) object: Value,
    /// The node of its root.
    pub(super) root: String,
    target: RootTarget,
    pub(super) notes: Vec<String>,
}

type Problems = Vec<Diagnostic>;

fn problem(code: &str, message: impl Into<String>) -> Problems {
    vec![Diagnostic::error(code, message)]
}

/// Reads the instance and finds its root. Its text becomes one of the files, so that messages can show it.
pub(super) fn read(
    path: Option<&Path>,
    checked: &mut Checked,
    blueprint: &Blueprint,
    graph: &Graph,
) -> Result<Instance, Problems> {
    let own_root = graph.roots == [OWN_ROOT];
    let Some(path) = path else {
        if own_root {
            let object = json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": blueprint.name, "namespace": "default" },
            });
            let notes = vec!["the blueprint is taken to be a ConfigMap in the namespace default".to_owned()];
            let (root, target) = (OWN_ROOT.to_owned(), RootTarget::Blueprint);
            return Ok(Instance { file: None, object, root, target, notes });
        }
        return Err(vec![
            Diagnostic::error(codes::INSTANCE, "there is no instance to plan for")
                .hint(format!("give one with --instance FILE: {}", wanted(blueprint))),
        ]);
    };
    let title = if path == Path::new("-") { "<stdin>".to_owned() } else { path.display().to_string() };
    let text = input::text_or_input(path)
        .map_err(|problem| vec![Diagnostic { code: codes::INSTANCE.to_owned(), hint: None, ..*problem }])?;
    let object = one_object(&title, &text)?;
    let file = format!("instance {title}");
    checked.given.files.insert(file.clone(), text);
    checked.given.places.insert(file.clone(), Place::file(title.clone()));
    let (root, target) = root_of(blueprint, own_root, &object).map_err(|problem| {
        let at = place_of(checked, &file, &["kind"]);
        vec![match at {
            Some(span) => problem.at(span, ""),
            None => *problem,
        }]
    })?;
    Ok(Instance { file: Some(file), object, root, target, notes: Vec::new() })
}

fn one_object(title: &str, text: &str) -> Result<Value, Problems> {
    let documents = documents(text)
        .map_err(|why| problem(codes::INSTANCE, format!("{title} is neither YAML nor JSON: {why}")))?;
    let mut objects: Vec<Value> = Vec::new();
    for document in documents {
        match document.get("items").and_then(Value::as_array) {
            Some(items) => objects.extend(items.iter().cloned()),
            None => objects.push(document),
        }
    }
    if objects.len() > 1 {
        let message = format!("{title} holds {} objects, and a plan is made for one", objects.len());
        let hint = "keep the instance in a file of its own; what else there is belongs into --observed";
        return Err(vec![Diagnostic::error(codes::INSTANCE, message).hint(hint)]);
    }
    let Some(object) = objects.pop() else {
        return Err(problem(codes::INSTANCE, format!("{title} is empty")));
    };
    for pointer in ["/apiVersion", "/kind", "/metadata/name"] {
        let found = object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        if found.is_empty() {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            return Err(problem(codes::INSTANCE, format!("{title} is no object: it has no {field}")));
        }
    }
    Ok(object)
}

/// The documents of a text that are not empty, or the first line of what is wrong with it.
pub(super) fn documents(text: &str) -> Result<Vec<Value>, String> {
    input::yaml::values(text).map_err(|it| it.why)
}

/// What the roots of a blueprint are, in words.
fn wanted(blueprint: &Blueprint) -> String {
    let kinds = blueprint.nodes.values().filter_map(|node| match &node.body {
        Body::Root(root) => Some(match &root.target {
            RootTarget::Owned(kind) => {
                let group = blueprint.kinds.get(kind).map_or("", |it| it.group.as_str());
                format!("a {kind} of {group}")
            }
            RootTarget::Foreign { api_version, kind, .. } => format!("a {kind} of {api_version}"),
            RootTarget::Blueprint => "its ConfigMap".to_owned(),
        }),
        _ => None,
    });
    kinds.collect::<Vec<_>>().join(", or ")
}

/// The root that an object starts.
pub(super) fn root_of(
    blueprint: &Blueprint,
    own: bool,
    object: &Value,
) -> Result<(String, RootTarget), Box<Diagnostic>> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("/apiVersion"), text("/kind"));
    if own && api_version == "v1" && kind == "ConfigMap" {
        return Ok((OWN_ROOT.to_owned(), RootTarget::Blueprint));
    }
    let is = KindKey::new(api_version, kind);
    let mut unpicked = None;
    let mut found: Vec<(String, RootTarget)> = Vec::new();
    for (name, node) in &blueprint.nodes {
        let Body::Root(root) = &node.body else { continue };
        let fits = match &root.target {
            RootTarget::Owned(owned) => blueprint.kinds.get(owned).is_some_and(|it| {
                let version = api_version.rsplit('/').next().unwrap_or_default();
                is.kind == *owned && is.group == it.group && it.versions.contains_key(version)
            }),
            RootTarget::Foreign { api_version, kind, selector } => {
                let same = KindKey::new(api_version, kind) == is;
                let picked = selector.as_ref().is_none_or(|it| picks(it, object));
                if same && !picked {
                    unpicked = Some(name.clone());
                }
                same && picked
            }
            RootTarget::Blueprint => false,
        };
        if fits {
            found.push((name.clone(), root.target.clone()));
        }
    }
    if found.len() == 1 {
        return Ok(found.swap_remove(0));
    }
    Err(Box::new(match (found.is_empty(), unpicked) {
        (true, Some(root)) => {
            let name = text("/metadata/name");
            let message = format!("the selector of the root {root} does not pick {kind} {name}");
            Diagnostic::error(codes::NO_ROOT, message).hint("its labels decide")
        }
        (true, None) => {
            let message = format!("no root of {} is a {kind} of {api_version}", blueprint.name);
            Diagnostic::error(codes::NO_ROOT, message).hint(format!("it starts with {}", wanted(blueprint)))
        }
        (false, _) => {
            let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
            let message = format!("{kind} starts several roots: {}", names.join(", "));
            Diagnostic::error(codes::NO_ROOT, message).hint("give the roots selectors that tell them apart")
        }
    }))
}

fn picks(selector: &Selector, object: &Value) -> bool {
    selector.picks(|name| object.pointer("/metadata/labels").and_then(|it| it.get(name)?.as_str()))
}

impl Instance {
    /// An object of the cluster that starts a root.
    pub(super) fn live(object: Value, root: &str, blueprint: &Blueprint) -> Self {
        let target = match blueprint.nodes.get(root).map(|it| &it.body) {
            Some(Body::Root(root)) => root.target.clone(),
            _ => RootTarget::Blueprint,
        };
        Self { file: None, object, root: root.to_owned(), target, notes: Vec::new() }
    }

    /// With the contract of its kind applied: its defaults filled, or what it breaks.
    pub(super) fn admitted(
        mut self,
        renderer: &Renderer<Evaluation>,
        blueprint: &Blueprint,
        checked: &Checked,
    ) -> Result<Self, Problems> {
        match renderer.admit(blueprint, &self.target, &self.object) {
            Ok(object) => {
                self.object = object;
                Ok(self)
            }
            Err(failure) => Err(self.refused(&failure, checked)),
        }
    }

    fn refused(&self, failure: &Failure, checked: &Checked) -> Problems {
        let kind = self.object.get("kind").and_then(Value::as_str).unwrap_or_default();
        let told = failure.diagnostics();
        told.into_iter()
            .map(|told| {
                let at = told.notes.iter().find_map(|note| note.strip_prefix("in the data: "));
                let at = at.filter(|at| !at.contains(' ')).map(|at| format!("spec.{at}"));
                let message = match &at {
                    Some(at) => format!("{at} breaks the contract of {kind}: {}", told.message),
                    None => format!("the spec breaks the contract of {kind}: {}", told.message),
                };
                let mut diagnostic = Diagnostic::error(codes::CONTRACT, message);
                diagnostic.hint = quoted(&told.message);
                diagnostic.severity = Severity::Error;
                let parts: Vec<String> =
                    at.as_deref().unwrap_or("spec").split(['.', '[']).map(str::to_owned).collect();
                let parts: Vec<&str> =
                    parts.iter().map(String::as_str).filter(|it| !it.ends_with(']')).collect();
                let span = self.file.as_ref().and_then(|file| place_of(checked, file, &parts));
                if let Some(span) = span {
                    diagnostic = diagnostic.at(span, "given here");
                }
                let rest = told.labels.into_iter().map(|label| Label { primary: false, ..label });
                diagnostic.labels.extend(rest.filter(|it| checked.given.files.contains_key(&it.span.file)));
                diagnostic.notes =
                    told.notes.into_iter().filter(|it| !it.starts_with("in the data: ")).collect();
                diagnostic
            })
            .collect()
    }
}

/// How to write a string that YAML reads as something else, such as a version.
fn quoted(message: &str) -> Option<String> {
    let (wanted, given) = message.rsplit_once(", got ")?;
    let read = match given {
        "true" | "false" => "a boolean",
        it if it.starts_with("the number ") => "a number",
        _ => return None,
    };
    let is_text = ["expected a string", "expected one of the strings"].iter().any(|it| wanted.contains(it));
    is_text.then(|| format!("YAML reads this as {read}; in quotes it is a string"))
}

/// Where a field stands in the file of the instance: each name is looked for after the one before it.
fn place_of(checked: &Checked, file: &str, path: &[&str]) -> Option<Span> {
    let text = checked.given.files.get(file)?;
    let mut from = 0;
    let mut found = None;
    for name in path {
        let rest = text.get(from..)?;
        let at = rest.match_indices(*name).map(|(at, _)| at).find(|at| {
            let before = rest.get(..*at).and_then(|it| it.chars().next_back());
            let after = rest.get(at + name.len()..).unwrap_or_default().trim_start_matches('"');
            before.is_none_or(|it| " \n{,\"\t-".contains(it))
                && after.trim_start_matches(' ').starts_with(':')
        });
        let Some(at) = at else { break };
        found = Some((from + at, from + at + name.len()));
        from += at + name.len();
    }
    let (start, end) = found?;
    Some(Span { file: file.to_owned(), start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()? })
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_version_without_quotes_is_told_how_to_write_it() {
        for (message, wanted) in [
            ("broken\n  expected a string that matches [0-9.]+, got the number 1.4", Some("a number")),
            ("expected one of the strings \"on\", \"off\", got true", Some("a boolean")),
            ("expected a string, got a record", None),
            ("expected a whole number, got the number 1.4", None),
        ] {
            let wanted = wanted.map(|it| format!("YAML reads this as {it}; in quotes it is a string"));
            assert_eq!(quoted(message), wanted, "{message}");
        }
    }
}
