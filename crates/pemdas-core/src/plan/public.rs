//! A plan as it may be shown: without the values of Secrets. What the objects of kind Secret hold stays, because whoever
//! shows it has to know whether it changes; it shows nothing else of it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Assumption, NodePlan, Plan, Step};
use crate::{
    decide::{Cause, Conditions, Decision},
    ledger::Slot,
    secrets::Secrets,
    shape::Why,
    world::ObjectKey,
};

pub(super) fn plan(secrets: &Secrets<'_>, plan: &mut Plan) {
    if secrets.is_empty() {
        return;
    }
    for round in &mut plan.rounds {
        steps(secrets, &mut round.steps);
        for Assumption { slot: at, object, fields } in &mut round.assumed {
            slot(secrets, at);
            key(secrets, object);
            for (_, value) in fields {
                secrets.mask_all(value);
            }
        }
    }
    slots(secrets, &mut plan.nodes);
    for NodePlan { first, last, .. } in plan.nodes.values_mut() {
        first.iter_mut().chain(last).for_each(|it| cause(secrets, it));
    }
    conditions(secrets, &mut plan.conditions);
}

pub(super) fn decision(secrets: &Secrets<'_>, decision: &mut Decision) {
    if secrets.is_empty() {
        return;
    }
    slots(secrets, &mut decision.nodes);
    decision.nodes.values_mut().flat_map(|it| &mut it.causes).for_each(|it| cause(secrets, it));
    conditions(secrets, &mut decision.conditions);
}

pub(super) fn steps(secrets: &Secrets<'_>, steps: &mut [Step]) {
    for step in steps {
        let is_secret = step.object.kind.kind == "Secret" && step.object.kind.group.is_empty();
        for side in [&mut step.before, &mut step.after].into_iter().flatten() {
            let held =
                ["data", "stringData"].map(|it| side.get_mut(it).filter(|_| is_secret).map(Value::take));
            secrets.mask_all(side);
            for (field, value) in ["data", "stringData"].into_iter().zip(held) {
                if let Some(value) = value {
                    side[field] = value;
                }
            }
        }
        slot(secrets, &mut step.slot);
        key(secrets, &mut step.object);
    }
}

fn conditions(secrets: &Secrets<'_>, conditions: &mut Conditions) {
    conditions.stalled.iter_mut().for_each(|it| text(secrets, it));
}

fn cause(secrets: &Secrets<'_>, cause: &mut Cause) {
    match cause {
        Cause::Waits { on, reasons } => {
            slot(secrets, on);
            reasons.iter_mut().for_each(|it| why(secrets, it));
        }
        Cause::Shape(reasons) => reasons.iter_mut().for_each(|it| why(secrets, it)),
        Cause::Pending(it)
        | Cause::Unknown(it)
        | Cause::Refused { message: it, .. }
        | Cause::Stalled { message: it, .. } => text(secrets, it),
    }
}

fn why(secrets: &Secrets<'_>, why: &mut Why) {
    text(secrets, &mut why.is);
    text(secrets, &mut why.wants);
}

fn text(secrets: &Secrets<'_>, text: &mut String) {
    *text = secrets.mask(text);
}

fn slot(secrets: &Secrets<'_>, slot: &mut Slot) {
    slot.member = secrets.mask(&slot.member);
}

fn key(secrets: &Secrets<'_>, key: &mut ObjectKey) {
    let (namespace, name) = (secrets.mask(&key.namespace), secrets.mask(&key.name));
    if (&namespace, &name) != (&key.namespace, &key.name) {
        *key = ObjectKey::new(key.kind.clone(), namespace, name);
    }
}

/// Members whose names are not shown stay as many as they are.
fn slots<T>(secrets: &Secrets<'_>, nodes: &mut BTreeMap<Slot, T>) {
    let mut shown = BTreeMap::new();
    for (mut at, value) in std::mem::take(nodes) {
        slot(secrets, &mut at);
        let member = at.member.clone();
        for count in 2.. {
            if !shown.contains_key(&at) {
                break;
            }
            at.member = format!("{member} {count}");
        }
        shown.insert(at, value);
    }
    *nodes = shown;
}
