//! The proof that nothing is lost: the blueprint that was written is loaded and evaluated, and every object compared.

use pemdas_core::blueprint::{Blueprint, Body, RootTarget};
use pemdas_core::diagnostic::{Diagnostic, Severity};
use pemdas_core::evaluate::{Answer, Form, question};
use pemdas_core::import::{Draft, SEED, codes};
use pemdas_nickel::Renderer;
use serde_json::{Value, json};

use super::into;
use crate::input::{Given, MAIN, Place, yaml};
use crate::load::{self, Checked};
use crate::workers::Evaluation;

/// The blueprint as it was looked at, and what it does not give again. One with errors of its own gives nothing: they are told.
pub(super) fn prove(draft: &Draft, source: &str) -> (Checked, Vec<Diagnostic>) {
    let mut given = Given { title: draft.name.clone(), ..Given::default() };
    given.files.insert(MAIN.to_owned(), source.to_owned());
    given.places.insert(MAIN.to_owned(), Place::file(MAIN));
    let (checked, renderer) = load::check_and_keep(given);
    if checked.worst() == Some(Severity::Error) {
        return (checked, Vec::new());
    }
    let (Some(renderer), Some(blueprint)) = (renderer, &checked.blueprint) else {
        return (checked, Vec::new());
    };
    let root = match renderer.admit(blueprint, &RootTarget::Owned(draft.kind.clone()), &draft.instance()) {
        Ok(root) => root,
        Err(failure) => {
            let lost =
                Diagnostic::error(codes::NOT_THE_SAME, "the proposed instance breaks the proposed contract");
            let said = failure.diagnostics().into_iter().map(|it| it.message);
            let lost = said.fold(lost, Diagnostic::note);
            return (checked, vec![lost]);
        }
    };
    let lost = given_again(&renderer, blueprint, draft, &root);
    (checked, lost)
}

/// What is lost of the definitions that stand in a file of their own.
pub(super) fn definitions(draft: &Draft, text: &str) -> Option<Diagnostic> {
    let read = if text.is_empty() { Vec::new() } else { yaml::values(text).unwrap_or_default() };
    let lost = |why: String| {
        Diagnostic::error(codes::NOT_THE_SAME, format!("the definitions are not the same: {why}"))
    };
    if read.len() != draft.definitions.len() {
        return Some(lost(format!("{} of {}", read.len(), draft.definitions.len())));
    }
    let pairs = read.iter().zip(&draft.definitions);
    pairs.filter_map(|(is, wants)| difference("", is, wants)).map(lost).next()
}

/// The same for what was added to a blueprint: the new nodes give their objects, and the others are what they were.
pub(super) fn added(draft: &Draft, before: &Blueprint, given: Given) -> (Checked, Vec<Diagnostic>) {
    let (checked, renderer) = load::check_and_keep(given);
    if checked.worst() == Some(Severity::Error) {
        return (checked, Vec::new());
    }
    let (Some(renderer), Some(blueprint)) = (renderer, &checked.blueprint) else {
        return (checked, vec![differs(&draft.root, "it cannot be evaluated")]);
    };
    // What else its spec has to say is not known, and not read by what is new.
    let mut lost = given_again(&renderer, blueprint, draft, &draft.instance());
    lost.extend(into::changed(before, blueprint, draft));
    (checked, lost)
}

/// Which objects the nodes of a draft do not give for a root.
fn given_again(
    renderer: &Renderer<Evaluation>,
    blueprint: &Blueprint,
    draft: &Draft,
    root: &Value,
) -> Vec<Diagnostic> {
    let mut lost = Vec::new();
    for (node, wanted) in draft.nodes.iter().zip(&draft.objects) {
        let Some(Body::Template(template)) = blueprint.nodes.get(&node.name).map(|it| &it.body) else {
            lost.push(differs(&node.name, "there is no such node"));
            continue;
        };
        let mut the = json!({ "root": root, "seed": SEED });
        for (other, was) in node.digests() {
            the[other] = json!(was);
        }
        let asked = question(b"", "import", &template.function, Form::Whole, &the);
        match renderer.answers(&[asked]).pop() {
            Some(Answer::Value(rendered)) => {
                if let Some(at) = difference("", &in_namespace(rendered, wanted), wanted) {
                    lost.push(differs(&node.name, &at));
                }
            }
            other => lost.push(differs(&node.name, &format!("{other:?}"))),
        }
    }
    lost
}

/// An object that says no namespace lives in the root's, which the engine writes.
fn in_namespace(mut rendered: Value, wanted: &Value) -> Value {
    let said = rendered.pointer("/metadata/namespace").is_some();
    if let (false, Some(namespace)) = (said, wanted.pointer("/metadata/namespace")) {
        rendered["metadata"]["namespace"] = namespace.clone();
    }
    rendered
}

fn differs(node: &str, why: &str) -> Diagnostic {
    Diagnostic::error(codes::NOT_THE_SAME, format!("the node {node} does not give its object again: {why}"))
        .hint("this is a mistake of Pemdas: please report it with the object; nothing was written")
}

/// The first place where two values differ; the values themselves may be secret.
fn difference(path: &str, is: &Value, wanted: &Value) -> Option<String> {
    match (is, wanted) {
        (Value::Object(some), Value::Object(others)) => {
            // Each name once: what is compared twice on each level takes for ever.
            let only_theirs = others.keys().filter(|it| !some.contains_key(*it));
            some.keys().chain(only_theirs).find_map(|name| match (some.get(name), others.get(name)) {
                (Some(a), Some(b)) => difference(&format!("{path}.{name}"), a, b),
                _ => Some(format!("{path}.{name}")),
            })
        }
        (Value::Array(some), Value::Array(others)) if some.len() == others.len() => {
            let pairs = some.iter().zip(others).enumerate();
            pairs.into_iter().find_map(|(at, (a, b))| difference(&format!("{path}[{at}]"), a, b))
        }
        // Nickel knows one kind of numbers.
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => None,
        (a, b) => (a != b).then(|| path.to_owned()),
    }
}
