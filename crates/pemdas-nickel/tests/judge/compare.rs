//! In what an outcome differs from the right one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::known::CLOSED_EDGES_ARE_SAID_FIRST;
use super::outcome::{Fate, Outcome, Slot};

/// The first difference, in words.
pub(super) fn difference(right: &Outcome, is: &Outcome) -> Option<String> {
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
    slots.into_iter().find_map(|slot| fate(slot, right.fates.get(slot), is.fates.get(slot)))
}

/// Whether all that is needed is as it is to be.
pub(super) fn is_ready(outcome: &Outcome) -> bool {
    outcome.fates.values().all(|it| matches!(it, Fate::Ready | Fate::Empty))
}

/// The first difference between two outcomes of `plan`, which have to be the same.
pub(super) fn change(was: &Outcome, is: &Outcome) -> Option<String> {
    let strict = |it: &Outcome| {
        it.fates.iter().map(|(slot, it)| (slot.clone(), *it == Fate::Ready)).collect::<Vec<_>>()
    };
    difference(was, is).or_else(|| {
        let (was, is) = (strict(was), strict(is));
        (was != is).then(|| format!("fates: {is:?}, not {was:?}"))
    })
}

/// An object that is called otherwise than its expression says elsewhere.
pub(super) fn misnamed(key: &str, object: &Value) -> Option<String> {
    let said = object.pointer("/data/name").or_else(|| object.pointer("/annotations/name"))?.as_str()?;
    let (_, name) = key.split_once('/')?;
    (said != name).then(|| format!("{key} should be called {said}"))
}

/// What came or went in the wrong order.
pub(super) fn disorder(
    right: &Outcome,
    rounds: &BTreeMap<String, usize>,
    what: &str,
    fits: fn(usize, usize) -> bool,
) -> Option<String> {
    right.order.iter().find_map(|(first, then)| {
        let (a, b) = (*rounds.get(first)?, *rounds.get(then)?);
        (!fits(a, b)).then(|| format!("{what} order: {first} in round {a}, {then} in round {b}"))
    })
}

fn fate(slot: &Slot, right: Option<&Fate>, is: Option<&Fate>) -> Option<String> {
    let same = match (right, is) {
        (Some(Fate::Empty), _) => true,
        // Neither makes anything. The engine says first that a function fails.
        (Some(Fate::Waits(_)), Some(Fate::Fails)) if !CLOSED_EDGES_ARE_SAID_FIRST => true,
        // Whatever is said of it, it is not said to be ready.
        (Some(Fate::Perhaps), is) => is != Some(&Fate::Ready),
        (Some(Fate::Ready), is) => is == Some(&Fate::Ready),
        (Some(Fate::Waits(on)), Some(Fate::Waits(said))) => said.is_subset(on) && !said.is_empty(),
        (Some(Fate::Waits(_)), _) => false,
        (Some(_), is) => is.is_some_and(|it| *it != Fate::Ready),
        (None, is) => is.is_none(),
    };
    let word = |it: Option<&Fate>| it.map_or("not needed".to_owned(), |it| format!("{it:?}"));
    (!same).then(|| format!("fate: {}[{}] is {}, not {}", slot.0, slot.1, word(is), word(right)))
}
