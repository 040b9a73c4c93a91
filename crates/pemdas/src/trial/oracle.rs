//! What has to be so however a run goes: where it comes to, what it deletes, in whose name it writes.

use std::collections::{BTreeMap, BTreeSet};

use pemdas_sim::Method;

use super::{
    Entry, Failure, Fault, Played, Script,
    arena::BEGINS,
    playing::REST,
    script::{Step, What},
    state::{State, named},
};

/// How much longer everything may take under faults.
const PATIENCE: u64 = 20;
/// How long the operator may take to come to rest in the end, in milliseconds.
pub(crate) const TO_REST: u64 = 3_600_000;
/// How many differences of a state are told.
const MAX_DIFFERENCES: usize = 6;

/// Where a run has to come to: where the one without a fault came to.
pub(crate) struct Goal {
    /// The run without a fault.
    pub(crate) whole: Played,
    deleted: BTreeSet<String>,
    /// What was written once more as it was.
    repeated: BTreeSet<String>,
    /// Whether it asked nothing any more in the end.
    rests: bool,
    writers: BTreeMap<String, BTreeSet<String>>,
}

impl Goal {
    /// From a run without a fault.
    pub(crate) fn new(whole: Played) -> Self {
        Self {
            deleted: deleted(&whole.entries),
            repeated: repeated(&whole.entries).map(|it| named(&it.target)).collect(),
            rests: restless(&whole).is_none(),
            writers: writers(&whole.entries),
            whole,
        }
    }

    /// What is wrong with a run.
    pub(crate) fn judge(&self, played: &Played) -> Option<String> {
        if let Some(Failure { message, why, .. }) = &played.failure {
            let why = why.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
            return Some(format!("{message}{why}"));
        }
        let unexpected: Vec<String> = deleted(&played.entries).difference(&self.deleted).cloned().collect();
        if !unexpected.is_empty() {
            return Some(format!("deleted, and not without the fault: {}", unexpected.join(", ")));
        }
        if let Some(wrong) = self.another_name(&played.entries) {
            return Some(wrong);
        }
        if let Some(wrong) = self.whole.order.broken_by(&played.order) {
            return Some(wrong);
        }
        // Two copies of the operator do not know of each other's writes.
        let two = played.entries.iter().any(|it| it.fault == Some(Fault::Frozen));
        let again = repeated(&played.entries).find(|it| !self.repeated.contains(&named(&it.target)));
        if let Some(again) = again.filter(|_| !two) {
            return Some(format!(
                "{} {} changed nothing: it was decided on what was known before the write before it",
                again.method.name(),
                again.target
            ));
        }
        if let Some(entry) = restless(played).filter(|_| self.rests) {
            return Some(format!("it is at rest and asks: {} {}", entry.method.name(), entry.target));
        }
        let how = differing(&self.whole.state, &played.state)?;
        Some(format!("it came to something else than without the fault: {how}"))
    }

    /// What was written in another name than without the fault.
    fn another_name(&self, entries: &[Entry]) -> Option<String> {
        for (target, who) in writers(entries) {
            let Some(known) = self.writers.get(&target) else { continue };
            if let Some(other) = who.difference(known).next() {
                let name = if other.is_empty() { "pemdas itself" } else { other };
                return Some(format!("{target} is written as {name}, and not so without the fault"));
            }
        }
        None
    }
}

/// In what a state differs from what it should be, the first of it.
pub(crate) fn differing(wanted: &State, is: &State) -> Option<String> {
    let differences = wanted.differences(is);
    if differences.is_empty() {
        return None;
    }
    let more = differences.len().saturating_sub(MAX_DIFFERENCES);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let told: Vec<String> = differences.into_iter().take(MAX_DIFFERENCES).collect();
    Some(format!("{}{more}", told.join("; ")))
}

/// What the operator deleted, by where it is; digests in names left out.
fn deleted(entries: &[Entry]) -> BTreeSet<String> {
    let gone = entries.iter().filter(|it| it.method == Method::Delete && it.code.is_some_and(|it| it < 300));
    gone.map(|it| named(&it.target)).collect()
}

/// Writes that changed nothing, after one to the same object that the operator knew of.
fn repeated(entries: &[Entry]) -> impl Iterator<Item = &Entry> {
    let mut known: BTreeSet<(usize, &str)> = BTreeSet::new();
    entries.iter().filter(move |it| {
        if !it.writes() {
            return false;
        }
        let place = (it.life, it.target.split('?').next().unwrap_or_default());
        if it.fault.is_some() {
            // What became of it is not known, whether it arrived or not: it may be sent again, or the opposite of it.
            known.remove(&place);
            return false;
        }
        it.code.is_some_and(|it| it < 300) && !known.insert(place) && !it.changed
    })
}

/// Something that was asked while everything was at rest: neither a watch, nor whether rights are still there, nor a Service for its status. Where
/// a watch or a question was disturbed, nobody knows when it is taken up again.
fn restless(played: &Played) -> Option<&Entry> {
    if played.entries.iter().any(|it| it.fault.is_some() && !it.writes()) {
        return None;
    }
    let rests = BEGINS.after(played.simulated.saturating_sub(REST / 2));
    let late = played.entries.iter().filter(|it| it.at > rests && it.fault.is_none());
    let mut asked = late
        .filter(|it| !it.watches() && !it.target.contains("accessreviews") && !it.target.contains("/proxy"));
    asked.next()
}

/// In whose name something was written, by where it is.
fn writers(entries: &[Entry]) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for entry in entries.iter().filter(|it| it.writes()) {
        found.entry(named(&entry.target)).or_default().insert(entry.who.clone());
    }
    found
}

/// The same scenario with more patience: faults cost time, and what people are told may be lost with them.
pub(crate) fn patient(script: &Script) -> Script {
    let mut script = script.clone();
    script.steps.retain(|step| match &step.what {
        What::Eventually(fact, _) | What::Now(fact) => fact.kind != "Event",
        _ => true,
    });
    for step in &mut script.steps {
        step.what = match step.what.clone() {
            What::Eventually(fact, within) => What::Eventually(fact, within * PATIENCE),
            What::Now(fact) => What::Eventually(fact, 300_000 * PATIENCE),
            What::Settles(_) => What::Settles(TO_REST),
            other => other,
        };
    }
    if let Some(last) = script.steps.last().map(|it| it.span.clone()) {
        script.steps.push(Step { span: last, what: What::Settles(TO_REST) });
    }
    script
}
