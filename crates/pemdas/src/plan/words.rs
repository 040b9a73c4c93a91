//! The words of a plan: what becomes of a node, and why.

use pemdas_core::decide::Cause;
use pemdas_core::ledger::Slot;
use pemdas_core::plan::{Fate, NodePlan, Plan, Step, Verb};
use pemdas_core::world::ObjectKey;

/// How the core says that data is missing that flows along an edge.
const TAKEN: &str = "what is taken from it";
const MISSING: &str = " is missing";

/// How a write is called.
pub(crate) fn verb(verb: Verb) -> &'static str {
    match verb {
        Verb::Create => "create",
        Verb::Change => "change",
        Verb::Adopt => "adopt",
        Verb::Delete => "delete",
        Verb::Release => "release",
    }
}

/// The sign of a write.
pub(crate) fn sign(verb: Verb) -> &'static str {
    match verb {
        Verb::Create => "+",
        Verb::Change => "~",
        Verb::Adopt => ">",
        Verb::Delete => "-",
        Verb::Release => "<",
    }
}

/// How a fate is called for programs.
pub(crate) fn fate(fate: &Fate) -> &'static str {
    match fate {
        Fate::Done => "done",
        Fate::Becomes => "becomes_ready",
        Fate::Acts(_) => "acts",
        Fate::Passes => "passes",
        Fate::Goes(_) => "goes",
        Fate::Waits => "waits",
        Fate::Stalled => "stalled",
        Fate::NotNeeded => "not_needed",
    }
}

/// The rounds in which a node writes.
pub(crate) fn rounds(fate: &Fate) -> &[usize] {
    match fate {
        Fate::Acts(rounds) | Fate::Goes(rounds) => rounds,
        _ => &[],
    }
}

/// An object, with what is only known in a cluster left open: the name of a once's object.
pub(crate) fn object(step: &Step) -> String {
    open_key(step).to_string()
}

fn open_key(step: &Step) -> ObjectKey {
    let key = &step.object;
    if step.once
        && step.verb == Verb::Create
        && let Some((base, _)) = key.name.rsplit_once('-')
    {
        return ObjectKey::new(key.kind.clone(), key.namespace.clone(), format!("{base}-…"));
    }
    key.clone()
}

/// The objects that a plan writes, each once, with the names that only a cluster makes left open.
pub(crate) fn written(plan: &Plan) -> Vec<ObjectKey> {
    let mut written: Vec<ObjectKey> = Vec::new();
    for step in plan.rounds.iter().flat_map(|it| &it.steps) {
        let key = open_key(step);
        if !written.contains(&key) {
            written.push(key);
        }
    }
    written
}

/// Why a node does not act, in one line.
pub(crate) fn why(cause: &Cause) -> String {
    match cause {
        Cause::Waits { on, reasons } => {
            let taken = reasons.iter().find(|it| it.wants == TAKEN);
            match taken.and_then(|it| it.is.strip_suffix(MISSING)) {
                Some(field) => format!("waits for {field} of {on}, which is unknown until it exists"),
                None => cause.to_string(),
            }
        }
        _ => cause.to_string(),
    }
}

/// The first causes of a node, with the chain of what it waits for.
pub(crate) fn reasons(causes: &[Cause]) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    // That data of a node is missing that is waited for anyway says nothing new.
    let waited = |text: &str| {
        causes.iter().any(|it| match it {
            Cause::Waits { on, .. } => text.starts_with(&format!("what is taken from {on}:")),
            _ => false,
        })
    };
    // What is waited for says more than what follows from it.
    let waits = |it: &&Cause| matches!(it, Cause::Waits { .. } | Cause::Stalled { .. });
    let told_first: Vec<&Cause> = causes.iter().filter(waits).collect();
    let chosen = if told_first.is_empty() { causes.iter().collect() } else { told_first };
    for cause in chosen {
        let text = why(cause);
        if !told.contains(&text) && !waited(&text) {
            told.push(text);
        }
    }
    told
}

/// What a node that writes nothing is said to do.
pub(crate) fn quiet(plan: &NodePlan) -> &'static str {
    match plan.fate {
        Fate::Done => "done",
        Fate::Becomes => "applied; taken to become ready",
        Fate::Passes => "nothing to write",
        Fate::Waits => "waits",
        Fate::Stalled => "needs attention",
        Fate::NotNeeded => "not needed",
        Fate::Acts(_) | Fate::Goes(_) => "",
    }
}

/// A node in output for people.
pub(crate) fn slot(slot: &Slot) -> String {
    if slot.node.is_empty() { "(an earlier node)".to_owned() } else { slot.to_string() }
}
