//! An explanation for programs. The form has a version: it grows, and what is there keeps its meaning. `docs/explain.md` says what
//! each field is.

use pemdas_core::{
    ledger::{Entry, Slot},
    world::ObjectKey,
};
use serde_json::{Value, json};

use super::{Explained, Focus, Instance, Listed, Why};
use crate::{draw, ui};

/// The version of the form.
const VERSION: u32 = 1;

/// All that was found.
pub(crate) fn explained(all: &[Explained]) -> Value {
    let each = all.iter().map(|it| match it {
        Explained::Instance(it) => instance(it),
        Explained::Blueprint(it) => json!({
            "type": "blueprint", "object": object(&it.object), "account": it.account, "told": it.told, "advice": it.advice,
        }),
        Explained::Nobodys { object: key, notes } => {
            json!({ "type": "none", "object": object(key), "notes": notes })
        }
    });
    json!({ "version": VERSION, "explained": each.collect::<Vec<_>>() })
}

/// A list of instances.
pub(crate) fn listed(all: &[Listed], more: usize) -> Value {
    let each = all.iter().map(line);
    json!({ "version": VERSION, "instances": each.collect::<Vec<_>>(), "more": more })
}

/// One instance of a list.
pub(crate) fn line(it: &Listed) -> Value {
    json!({
        "instance": object(&it.root), "blueprint": it.blueprint, "state": it.state.word(), "since": it.since,
        "why": it.why, "cause": it.cause, "revision": it.revision,
    })
}

fn object(key: &ObjectKey) -> Value {
    json!({ "group": key.kind.group, "kind": key.kind.kind, "namespace": key.namespace, "name": key.name })
}

fn slot(slot: &Slot) -> Value {
    json!({ "node": slot.node, "member": if slot.member.is_empty() { Value::Null } else { json!(slot.member) } })
}

fn instance(it: &Instance) -> Value {
    let nodes = it.nodes.iter().map(|(at, node)| {
        let mut told = slot(at);
        told["state"] = json!(node.phase);
        told["since"] = json!(node.since);
        told["why"] = node
            .why
            .iter()
            .map(
                |it| json!({ "text": it.text, "waitsFor": it.on.as_ref().map(slot), "reasons": reasons(it) }),
            )
            .collect();
        told["objects"] = node.objects.iter().map(object).collect();
        told["next"] = json!(node.next);
        told["diff"] = json!(node.diff);
        told["attempt"] = node.tried.as_ref().map_or(Value::Null, attempt);
        told
    });
    let chain = it.chains().into_iter().map(|link| {
        let mut told = slot(&link.slot);
        told["depth"] = json!(link.depth);
        told["instance"] = json!(link.instance.as_ref().map(object));
        told["text"] = json!(link.text);
        told["since"] = json!(link.since);
        told["rootCause"] = json!(link.last);
        told
    });
    json!({
        "type": "instance", "instance": object(&it.root), "blueprint": it.blueprint, "account": it.account,
        "revision": it.revision, "newerRevision": it.newer, "state": it.state.word(), "mode": it.mode,
        "since": it.since, "object": it.focus.as_ref().map(focus), "causes": it.causes,
        "chain": chain.collect::<Vec<_>>(), "nodes": nodes.collect::<Vec<_>>(),
        "events": it.events, "advice": it.advice, "notes": it.notes, "graph": graph(it),
        "page": ui::path_of(&it.root),
    })
}

/// What is remembered of a state or a once.
fn attempt(it: &Entry) -> Value {
    json!({ "number": it.attempt, "retries": it.retries, "end": it.end, "due": it.due })
}

/// What is not as it should be, field by field.
fn reasons(why: &Why) -> Value {
    let each =
        why.reasons.iter().map(|it| json!({ "path": it.path.to_string(), "is": it.is, "wants": it.wants }));
    each.collect()
}

/// Both graphs, with what each edge of the Sequence graph does now.
fn graph(it: &Instance) -> Value {
    let Some(picture) = &it.picture else { return Value::Null };
    let mut graph = draw::json::document(picture);
    // A blueprint may have other roots, with nodes of their own.
    let needed = it.reachable();
    let has = |item: &Value, ends: &[&str]| {
        ends.iter().all(|end| item[end].as_str().is_some_and(|it| needed.contains(it)))
    };
    for (list, ends) in [("nodes", &["name"][..]), ("also", &["from", "to"]), ("sequence", &["from", "to"])] {
        if let Some(items) = graph[list].as_array_mut() {
            items.retain(|item| has(item, ends));
        }
    }
    graph["roots"] = json!([it.edges.root]);
    for edge in graph["sequence"].as_array_mut().into_iter().flatten() {
        let name = |end: &str| edge[end].as_str().unwrap_or_default();
        edge["now"] = json!(it.edge(name("from"), name("to")).word());
    }
    graph
}

fn focus(it: &Focus) -> Value {
    let mut told = slot(&it.slot);
    told["object"] = object(&it.object);
    told["stateNode"] = json!(it.state);
    told["needed"] = json!(it.needed);
    told["path"] = json!(it.path);
    told["after"] = json!(it.after);
    told["before"] = json!(it.before);
    told["waitedForBy"] = it.waited_for_by.iter().map(slot).collect();
    told
}
