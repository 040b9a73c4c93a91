//! In what an outcome differs from the right one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::outcome::{Fate, Outcome, Run, Slot};

/// What somebody writes into a field while nobody runs.
pub(super) const EDITED: &str = "edited";

/// The first difference, in words.
pub(super) fn difference(right: &Outcome, is: &Outcome, tells_empty: bool) -> Option<String> {
    for (key, object) in &right.objects {
        match is.objects.get(key) {
            None => return Some(format!("missing object: {key} is not made")),
            Some(other) if other != object => {
                return Some(format!("other object: {key} is {other}, not {object}"));
            }
            Some(_) => {}
        }
    }
    if let Some(key) = is.objects.keys().find(|it| !right.objects.contains_key(*it)) {
        return Some(format!("extra object: {key} is made"));
    }
    if let Some(key) = is.gone.symmetric_difference(&right.gone).next() {
        let how = if is.gone.contains(key) { "goes" } else { "stays" };
        return Some(format!("removal: {key} {how}"));
    }
    let slots: BTreeSet<&Slot> = right.fates.keys().chain(is.fates.keys()).collect();
    slots.into_iter().find_map(|slot| match (right.fates.get(slot), is.fates.get(slot)) {
        (Some(Fate::Empty), None) if tells_empty => {
            Some(format!("fate: {}[] is not needed, not without members", slot.0))
        }
        (None, is) if right.fates.get(&(slot.0.clone(), String::new())) == Some(&Fate::Perhaps) => {
            // Who speaks of the members of such a node speaks of the node.
            fate(slot, Some(&Fate::Perhaps), is)
        }
        (Some(Fate::Waits(on)), Some(Fate::Fails)) if on.iter().any(|it| fails(right, it)) => None,
        (right, is) => fate(slot, right, is),
    })
}

/// Whether a function of this node fails, or one that says whether it is needed. Who waits for it may be told so directly.
fn fails(right: &Outcome, node: &str) -> bool {
    let fates = right.fates.iter().filter(|(slot, _)| slot.0 == node);
    fates.into_iter().any(|(_, it)| matches!(it, Fate::Fails | Fate::Perhaps))
}

/// Whether all that is needed is as it is to be.
pub(super) fn is_ready(outcome: &Outcome) -> bool {
    outcome.fates.values().all(|it| matches!(it, Fate::Ready | Fate::Empty | Fate::Idle))
}

/// The first difference between two outcomes of `plan`, which have to be the same.
pub(super) fn change(was: &Outcome, is: &Outcome) -> Option<String> {
    let strict = |it: &Outcome| {
        it.fates.iter().map(|(slot, it)| (slot.clone(), *it == Fate::Ready)).collect::<Vec<_>>()
    };
    difference(was, is, false).or_else(|| {
        let (was, is) = (strict(was), strict(is));
        (was != is).then(|| format!("fates: {is:?}, not {was:?}"))
    })
}

/// A status says the first reason alone: where a plan knows what a node that fails waits for, too, the operator means the same.
pub(super) fn with_waits(operator: &mut Outcome, plan: &Outcome) {
    for (slot, fate) in &mut operator.fates {
        if let (Fate::Fails, Some(Fate::FailsAnyway(on))) = (&*fate, plan.fates.get(slot)) {
            *fate = Fate::FailsAnyway(on.clone());
        }
    }
}

/// In what a run of the operator differs from what `plan` foresaw. What somebody edited meanwhile stays where something waits: `plan`
/// knows nothing of that.
pub(super) fn foreseen(plan: &Outcome, operator: &Outcome, edited: bool) -> Option<String> {
    let ready = |it: &Outcome| -> BTreeSet<Slot> {
        let ready = it.fates.iter().filter(|(_, fate)| **fate == Fate::Ready);
        ready.map(|(slot, _)| slot.clone()).collect()
    };
    let (planned, is) = (ready(plan), ready(operator));
    if let Some(slot) = planned.symmetric_difference(&is).next() {
        let who = if is.contains(slot) { "operator" } else { "plan" };
        return Some(format!("fate: {}[{}] is ready in the {who} only", slot.0, slot.1));
    }
    let mut operator = operator.clone();
    if edited && !is_ready(plan) {
        for (key, object) in &mut operator.objects {
            let was_edited = object.to_string().contains(EDITED);
            object.clone_from(plan.objects.get(key).filter(|_| was_edited).unwrap_or(&object.clone()));
        }
    }
    difference(plan, &operator, false)
}

/// An object that is called otherwise than its expression says elsewhere.
pub(super) fn misnamed(key: &str, object: &Value) -> Option<String> {
    let said = object.pointer("/data/name").or_else(|| object.pointer("/annotations/name"))?.as_str()?;
    let (_, name) = key.split_once('/')?;
    (said != name).then(|| format!("{key} should be called {said}"))
}

/// In what a run differs from what is right; the last outcome is that of its end.
pub(super) fn wrong(right: &[Outcome], run: &Run, has_history: bool) -> Option<String> {
    let (end, right) = right.split_last()?;
    let mut settled = true;
    for (version, (right, is)) in right.iter().zip(&run.outcomes).enumerate() {
        let mut is = is.clone();
        if version > 0 {
            is.gone.clone_from(&right.gone);
        }
        // What waits keeps what it had before: that is history, of which the reference knows nothing.
        if (version == 0 || is_ready(right))
            && (settled || !has_history)
            && let Some(difference) = difference(right, &is, run.tells_empty)
        {
            return Some(format!("{difference} (version {version})"));
        }
        settled &= is_ready(right);
    }
    let first = disorder(&right.first()?.came, &run.came, "creation", |first, then| first < then);
    first.or_else(|| removals(right, run)).or_else(|| ending(end, run))
}

/// What went in the wrong order: what a version had and the next one has not, and all of it at the end.
fn removals(right: &[Outcome], run: &Run) -> Option<String> {
    let next = right.iter().skip(1).map(Some).chain([None]);
    right.iter().zip(next).zip(run.went.iter().skip(1)).find_map(|((was, next), went)| {
        // What waits keeps what it had before.
        if !is_ready(was) || !next.is_none_or(is_ready) {
            return None;
        }
        let stays = |it: &String| next.is_some_and(|next| next.objects.contains_key(it));
        let goes = went.iter().filter(|(key, _)| !stays(key)).map(|(key, at)| (key.clone(), *at)).collect();
        disorder(&was.went, &goes, "removal", |first, then| first > then)
    })
}

/// In what the end of an instance differs: the nodes of the deletion come first, and nothing is left.
fn ending(end: &Outcome, run: &Run) -> Option<String> {
    if !is_ready(end) {
        return None;
    }
    let late: BTreeSet<&String> = run.late.keys().collect();
    if let Some(key) = late.symmetric_difference(&end.objects.keys().collect()).next() {
        return Some(format!("deletion: {key} is {}made", if late.contains(key) { "" } else { "not " }));
    }
    let last = run.late.values().max();
    let early = run.went.last()?.iter().find(|(_, at)| last.is_some_and(|last| *at < last));
    let early = early.map(|(key, _)| format!("deletion: {key} goes before the deletion is through"));
    early.or_else(|| run.left.first().map(|it| format!("left: {it} is left when the root is gone")))
}

/// What came or went in the wrong order.
fn disorder(
    order: &BTreeSet<(String, String)>,
    rounds: &BTreeMap<String, usize>,
    what: &str,
    fits: fn(usize, usize) -> bool,
) -> Option<String> {
    order.iter().find_map(|(first, then)| {
        let (a, b) = (*rounds.get(first)?, *rounds.get(then)?);
        (!fits(a, b)).then(|| format!("{what} order: {first} in round {a}, {then} in round {b}"))
    })
}

fn fate(slot: &Slot, right: Option<&Fate>, is: Option<&Fate>) -> Option<String> {
    let same = match (right, is) {
        (Some(Fate::Empty | Fate::Idle), _) => true,
        // Whatever is said of it, it is not said to be ready.
        (Some(Fate::Perhaps), is) => is != Some(&Fate::Ready),
        (Some(Fate::Ready), is) => is == Some(&Fate::Ready),
        (
            Some(Fate::Waits(on) | Fate::FailsAnyway(on)),
            Some(Fate::Waits(said) | Fate::FailsAnyway(said)),
        ) => said.is_subset(on) && !said.is_empty(),
        (Some(Fate::Waits(_)), _) => false,
        (Some(_), is) => is.is_some_and(|it| *it != Fate::Ready),
        (None, is) => is.is_none(),
    };
    let word = |it: Option<&Fate>| it.map_or("not needed".to_owned(), |it| format!("{it:?}"));
    (!same).then(|| format!("fate: {}[{}] is {}, not {}", slot.0, slot.1, word(is), word(right)))
}
