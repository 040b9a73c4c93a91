//! What the core says now, beside what the status says: since when, and how writes were refused.

use std::collections::BTreeMap;

use pemdas_core::{
    decide::{Decision, Mode},
    ledger::Slot,
    plan::Step,
    world::{CLAIM_ANNOTATION, Claim, LedgerFact, Live, ObjectKey, Owner, Seal, World, owner},
};
use serde_json::Value;

use super::{Node, State, Why};
use crate::plan::{diff, words};

/// What a status says of a node.
struct Told<'a> {
    state: &'a str,
    since: Option<&'a str>,
    why: Option<&'a str>,
}

fn told<'a>(status: &'a Value, slot: &Slot) -> Option<Told<'a>> {
    let nodes = status.pointer("/pemdas/nodes")?.as_array()?;
    let text = |it: &'a Value, field: &str| it.get(field).and_then(Value::as_str);
    let found = nodes.iter().find(|it| {
        text(it, "name") == Some(&slot.node) && text(it, "member").unwrap_or_default() == slot.member
    })?;
    Some(Told { state: text(found, "state")?, since: text(found, "since"), why: text(found, "why") })
}

/// The nodes as the core sees them now.
pub(super) fn computed(
    decision: &Decision,
    steps: &[Step],
    world: &World,
    status: &Value,
) -> BTreeMap<Slot, Node> {
    let objects = objects(world.objects.values().map(|it| &**it), &world.root.instance);
    let mut nodes = BTreeMap::new();
    for (slot, state) in &decision.nodes {
        let told = told(status, slot);
        let step = steps.iter().find(|it| it.slot == *slot);
        let mut node = Node {
            phase: format!("{:?}", state.phase),
            why: state.causes.iter().map(Why::of).collect(),
            since: None,
            objects: objects.get(slot).cloned().unwrap_or_default(),
            next: step.map(|it| format!("{} {}", words::verb(it.verb), words::object(it))),
            diff: step.map(diff::unified),
            tried: match &world.ledger {
                LedgerFact::Present { ledger, .. } => ledger.entries.get(slot).cloned(),
                _ => None,
            },
        };
        distinct(&mut node.why);
        match told {
            // What stands in the way of a write is only known to who tried it.
            Some(Told { state, since, why: Some(why) })
                if node.next.is_some()
                    && (state == "Stalled" || why.to_lowercase().starts_with("refused: ")) =>
            {
                state.clone_into(&mut node.phase);
                node.since = since.map(str::to_owned);
                node.why = vec![Why::told(why)];
                node.next = None;
                node.diff = None;
            }
            Some(Told { state, since, .. }) if state == node.phase => node.since = since.map(str::to_owned),
            _ => {}
        }
        if node.since.is_none() && !node.is_ready() {
            let of_node = node.objects.iter().filter_map(|it| world.objects.get(it));
            node.since = of_node.filter_map(|it| changed(it)).max();
        }
        nodes.insert(slot.clone(), node);
    }
    waiting_since(&mut nodes);
    nodes
}

/// Where nobody wrote down since when a node waits: since what it waits for is as it is, at least.
fn waiting_since(nodes: &mut BTreeMap<Slot, Node>) {
    for _ in 0..super::MAX_DEPTH {
        let known: BTreeMap<Slot, String> =
            nodes.iter().filter_map(|(slot, it)| Some((slot.clone(), it.since.clone()?))).collect();
        let before = known.len();
        for node in nodes.values_mut().filter(|it| it.since.is_none() && !it.is_ready()) {
            node.since = node.why.iter().filter_map(|it| known.get(it.on.as_ref()?)).max().cloned();
        }
        if nodes.values().filter(|it| it.since.is_some()).count() == before {
            return;
        }
    }
}

/// That data of a node is missing that is waited for anyway says nothing new.
fn distinct(why: &mut Vec<Why>) {
    let waited: Vec<String> =
        why.iter().filter_map(|it| it.on.as_ref()).map(|on| format!("what is taken from {on}:")).collect();
    why.retain(|it| it.on.is_some() || !waited.iter().any(|start| it.text.starts_with(start)));
    let mut seen = Vec::new();
    why.retain(|it| {
        let new = !seen.contains(&it.text);
        seen.push(it.text.clone());
        new
    });
}

/// The nodes as the status has them.
pub(super) fn as_told<'a>(
    status: &Value,
    ours: impl Iterator<Item = &'a Live>,
    instance: &str,
) -> BTreeMap<Slot, Node> {
    let objects = objects(ours, instance);
    let list = status.pointer("/pemdas/nodes").and_then(Value::as_array);
    let text = |it: &Value, field: &str| it.get(field).and_then(Value::as_str).map(str::to_owned);
    list.into_iter()
        .flatten()
        .map(|it| {
            let slot =
                Slot::new(&text(it, "name").unwrap_or_default(), &text(it, "member").unwrap_or_default());
            let node = Node {
                phase: text(it, "state").unwrap_or_default(),
                why: text(it, "why").iter().map(|it| Why::told(it)).collect(),
                since: text(it, "since"),
                objects: objects.get(&slot).cloned().unwrap_or_default(),
                next: None,
                diff: None,
                tried: None,
            };
            (slot, node)
        })
        .collect()
}

fn objects<'a>(all: impl Iterator<Item = &'a Live>, instance: &str) -> BTreeMap<Slot, Vec<ObjectKey>> {
    let mut found: BTreeMap<Slot, Vec<ObjectKey>> = BTreeMap::new();
    for live in all {
        if let Owner::Us(claim) = owner(live, instance, &Seal::Unverified) {
            found.entry(Slot::new(&claim.node, &claim.member)).or_default().push(live.key.clone());
            if let Some(state) = &claim.state {
                found.entry(Slot::new(state, &claim.member)).or_default().push(live.key.clone());
            }
        }
    }
    found
}

/// When something happened to an object last, as far as it says so itself.
fn changed(live: &Live) -> Option<String> {
    let text = |it: &Value, field: &str| it.get(field).and_then(Value::as_str).map(str::to_owned);
    let metadata = live.body.get("metadata")?;
    if let Some(going) = text(metadata, "deletionTimestamp") {
        return Some(going);
    }
    let conditions = live.body.pointer("/status/conditions").and_then(Value::as_array);
    let newest = conditions.into_iter().flatten().filter_map(|it| text(it, "lastTransitionTime")).max();
    newest.or_else(|| text(metadata, "creationTimestamp"))
}

/// The state of the whole.
pub(super) fn state(
    decision: Option<&Decision>,
    nodes: &BTreeMap<Slot, Node>,
    status: &Value,
    terminating: bool,
) -> State {
    let stalled = nodes.values().any(|it| it.phase == "Stalled")
        || match decision {
            Some(decision) => !decision.conditions.stalled.is_empty(),
            // What stands in the way of the whole is of no node.
            None => condition(status, "Stalled").is_some_and(|it| it["status"] == "True"),
        };
    let going = terminating || decision.is_some_and(|it| matches!(it.mode, Mode::Deleting | Mode::Removing));
    let ready = match decision {
        Some(decision) => decision.conditions.ready,
        None => condition(status, "Ready").is_some_and(|it| it["status"] == "True"),
    };
    match (stalled, going, ready) {
        (true, ..) => State::Stalled,
        (_, true, _) => State::Deleting,
        (_, _, true) => State::Ready,
        _ => State::Reconciling,
    }
}

/// A condition of a status.
pub(super) fn condition<'a>(status: &'a Value, name: &str) -> Option<&'a Value> {
    status.get("conditions")?.as_array()?.iter().find(|it| it["type"] == name)
}

/// Since when the whole is so.
pub(super) fn since(root: &Live, status: &Value, state: State) -> Option<String> {
    let of = |name: &str, wanted: &str| {
        let found = condition(status, name).filter(|it| it["status"] == wanted)?;
        found["lastTransitionTime"].as_str().map(str::to_owned)
    };
    match state {
        State::Ready => of("Ready", "True"),
        State::Stalled => of("Stalled", "True").or_else(|| of("Ready", "False")),
        State::Suspended => of("Suspended", "True"),
        State::Reconciling => of("Ready", "False").or_else(|| changed(root)),
        State::Deleting => root.body.pointer("/metadata/deletionTimestamp")?.as_str().map(str::to_owned),
    }
}

/// The claim on an object.
pub(super) fn claim(live: &Live) -> Option<Claim> {
    serde_json::from_str(live.annotation(CLAIM_ANNOTATION)?).ok()
}
