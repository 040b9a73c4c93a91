//! A plan for programs. The form has a version: it grows, and what is there keeps its meaning. `docs/plan.md` says what
//! each field is.

use pemdas_core::ledger::Slot;
use pemdas_core::plan::{Assumption, Fate, NodePlan, Round, Step};
use pemdas_core::world::ObjectKey;
use serde_json::{Value, json};

use super::{Planned, diff, words};

/// The version of the form.
const VERSION: u32 = 1;

/// The whole plan.
pub(crate) fn plan(planned: &Planned) -> Value {
    let rounds = &planned.plan.rounds;
    let count =
        |verb: &str| rounds.iter().flat_map(|it| &it.steps).filter(|it| words::verb(it.verb) == verb).count();
    let fates = |wanted: &Fate| planned.plan.nodes.values().filter(|it| it.fate == *wanted).count();
    json!({
        "version": VERSION,
        "blueprint": planned.checked.blueprint.as_ref().map(|it| &it.name),
        "root": planned.root,
        "instance": object(&planned.instance),
        "complete": planned.plan.is_complete(),
        "summary": {
            "rounds": rounds.len(),
            "create": count("create"),
            "change": count("change"),
            "adopt": count("adopt"),
            "delete": count("delete"),
            "release": count("release"),
            "waits": fates(&Fate::Waits),
            "stalled": fates(&Fate::Stalled),
        },
        "rounds": rounds.iter().map(round).collect::<Vec<_>>(),
        "nodes": planned.plan.nodes.iter().map(|(slot, it)| node(slot, it)).collect::<Vec<_>>(),
        "notes": planned.notes,
    })
}

fn object(key: &ObjectKey) -> Value {
    json!({ "group": key.kind.group, "kind": key.kind.kind, "namespace": key.namespace, "name": key.name })
}

fn named(slot: &Slot) -> (Value, Value) {
    let some = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
    (some(&slot.node), some(&slot.member))
}

fn round(round: &Round) -> Value {
    json!({
        "steps": round.steps.iter().map(step).collect::<Vec<_>>(),
        "assumed": round.assumed.iter().map(assumption).collect::<Vec<_>>(),
    })
}

fn step(step: &Step) -> Value {
    let (node, member) = named(&step.slot);
    let (before, after) = diff::sides(step);
    let mut object = object(&step.object);
    // The end of its name is made with a key that only the cluster has.
    if step.once && step.before.is_none() {
        object["name"] = json!(words::object(step).rsplit('/').next());
    }
    json!({
        "node": node, "member": member, "verb": words::verb(step.verb), "object": object,
        "once": step.once, "state": step.state, "unneeded": step.unneeded,
        "before": before, "after": after,
    })
}

fn assumption(assumption: &Assumption) -> Value {
    let (node, member) = named(&assumption.slot);
    let fields: Vec<_> =
        assumption.fields.iter().map(|(path, value)| json!({ "path": path, "value": value })).collect();
    json!({ "node": node, "member": member, "object": object(&assumption.object), "fields": fields })
}

fn node(slot: &Slot, plan: &NodePlan) -> Value {
    let (name, member) = named(slot);
    json!({
        "node": name, "member": member, "fate": words::fate(&plan.fate), "rounds": words::rounds(&plan.fate),
        "first": words::reasons(&plan.first), "last": words::reasons(&plan.last),
    })
}
