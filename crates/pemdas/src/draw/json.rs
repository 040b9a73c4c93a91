//! Both graphs for programs. The form has a version: it grows, and what is there keeps its meaning.

use pemdas_core::graph::AlsoOrigin;
use serde_json::{Value, json};

use super::{Need, Picture, State, Wait};

/// The version of the form.
const VERSION: u32 = 1;

/// The whole picture.
pub(crate) fn picture(picture: &Picture) -> String {
    format!("{:#}\n", document(picture))
}

/// The same as a value.
pub(crate) fn document(picture: &Picture) -> Value {
    let nodes: Vec<_> = picture
        .items
        .iter()
        .map(|item| {
            json!({
                "name": item.name,
                "role": item.role.name(),
                "kind": item.kind,
                "marks": item.marks,
                "step": item.step,
                "onDeletion": item.on_deletion,
                "state": item.state.as_ref().map(state),
            })
        })
        .collect();
    json!({
        "version": VERSION,
        "name": picture.name,
        "instance": picture.subject,
        "roots": picture.roots,
        "nodes": nodes,
        "also": picture.needs.iter().map(also).collect::<Vec<_>>(),
        "sequence": picture.waits.iter().map(sequence).collect::<Vec<_>>(),
    })
}

fn state(state: &State) -> Value {
    json!({
        "mood": state.mood.class(),
        "words": state.words,
        "rounds": state.rounds,
        "why": state.why,
    })
}

fn also(need: &Need) -> Value {
    let origin = match need.origin {
        AlsoOrigin::Written => "also",
        AlsoOrigin::Deleting => "deleting",
        AlsoOrigin::Extract => "extract",
        AlsoOrigin::State => "state",
        AlsoOrigin::OwnRoot => "own_root",
    };
    json!({
        "from": need.from,
        "to": need.to,
        "origin": origin,
        "when": need.when,
        "after": need.reads.iter().map(sequence).collect::<Vec<_>>(),
    })
}

fn sequence(wait: &Wait) -> Value {
    json!({
        "from": wait.from,
        "to": wait.to,
        "until": wait.until,
        "extract": wait.extract,
        "each": wait.each,
        "state": wait.state,
    })
}
