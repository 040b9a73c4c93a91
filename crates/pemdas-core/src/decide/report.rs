//! Rule 12: the conditions, the status and the Events of an instance.
//!
//! *The accident*: `Ready` is true while a condition is still unknown or an old object still runs, and a pipeline
//! goes on to switch the traffic.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    Cause, Conditions, Decision, Phase,
    inputs::The,
    pass::{Asked, Data, Found, Pass, record},
    reason,
    status::{self, Parts, STATUS_PRUNED, Trouble, whole},
    suspended::{self, SUSPENDED},
    tally::Tally,
};
use crate::{
    action::{Action, Event},
    blueprint::{Body, Function, Input, Report, RootTarget},
    evaluate::Form,
    ledger::Slot,
    world::{CLAIM_ANNOTATION, LedgerFact, OwnWrite, ROOT_LABEL, Refused, Touch, author_part},
};

/// How many nodes a status lists; those that are not ready come first.
pub(super) const MAX_STATUS_NODES: usize = 50;
/// How deep a status is that is taken from a successor: two instances that observe each other would nest theirs without end.
const MAX_STATUS_DEPTH: usize = 16;
/// What is told of an instance that is ready.
const READY: &str = "Ready";
/// What is told of an instance that is ready, while a condition of its author says that it is not.
pub(super) const LOWERED: &str = "NotReady";
/// What is told where a function of the status fails.
pub(super) const STATUS_FAILED: &str = "StatusFailed";
/// Stands for the report of a root among what is told; no member of a root is called anything.
pub(crate) const REPORT: &str = "report";
/// The reason of the Event about objects that have our label and no claim that Pemdas wrote.
const IGNORED: &str = "ClaimIgnored";
/// The key under which this Event is remembered, in place of a member: roots have none.
pub(crate) const FORGED: &str = "forged";
/// Stands for the status of a root among what is told.
pub(crate) const PRUNED: &str = "status";
/// The shortest time between two writes of a status, in milliseconds.
pub(super) const STATUS_INTERVAL: u64 = 1_000;

impl Pass<'_> {
    /// The decision, from all that was found.
    pub(super) fn finish(&mut self) -> Decision {
        let mut tally = Tally::of(self.program, &self.nodes, &self.inventory);
        self.conclude(&mut tally)
    }

    /// The decision, from all that was found and counted; the states and the answers in it are taken from there.
    pub(super) fn conclude(&mut self, tally: &mut Tally) -> Decision {
        // Whatever became of a write whose answer was lost, somebody waits for it.
        let lost = self.facts.all().writes.iter().filter(|(_, write)| **write == OwnWrite::Lost);
        let lost: Vec<_> =
            lost.map(|(key, _)| key.clone()).filter(|it| *it != self.facts.all().root.key).collect();
        for key in lost {
            self.push(Action::Look { key });
        }
        if self.program.has_deletion() && self.mode == super::Mode::Present && !self.barred {
            // The deletion's nodes run even if nothing was ever created.
            let mut nobody = super::pass::Member::new(None);
            let root = self.facts.all().root.key.clone();
            self.finalized(&root, &mut nobody);
        }
        self.seal_anew();
        self.record_ledger();
        self.moves = self.actions.iter().any(Action::moves_the_cluster);
        self.suspended = suspended::why(self.facts.all())
            .map(|why| suspended::told(&why, &suspended::hold(&mut self.actions)));
        tally.add(std::mem::take(&mut self.removing));
        let conditions = self.conditions(tally);
        let waits = self.status_waits(&conditions);
        let status = if waits { None } else { self.status(tally, &conditions) };
        self.facts.read(Touch::object(&self.facts.root().key));
        let unmade = waits || !self.asked.open.is_empty();
        let status_differs = status.is_some() && status.as_ref() != self.root.body.get("status");
        self.told_all = !unmade && !status_differs;
        self.write_status(status.as_ref());
        self.tell(tally, &conditions, status.as_ref());
        if let Some(wake) = self.asked.wake {
            self.wake_at(wake);
        }
        if !self.asked.open.is_empty() {
            let open = std::mem::take(&mut self.asked.open);
            self.actions.insert(0, Action::Render(open.into_values().collect()));
        }
        tally.uses_itself(std::mem::take(&mut self.asked.used));
        Decision {
            interests: tally.interests.clone(),
            mode: self.mode,
            actions: std::mem::take(&mut self.actions),
            conditions,
            nodes: std::mem::take(&mut tally.states),
            status,
            status_differs,
            wake: self.wake,
            used: std::mem::take(&mut tally.used),
            ignores: !self.inventory.forged.is_empty(),
            suspended: self.suspended.is_some(),
            older_seals: self.older_seals(),
        }
    }

    fn record_ledger(&mut self) {
        if self.facts.all().ledger_write == Some(OwnWrite::Lost) {
            self.push(Action::ReadLedger);
        }
        let lasting = self.facts.all().ledger_refused.as_ref().filter(|it| it.lasts());
        let lasting = lasting.map(|it| Cause::refused_of("the ledger", it));
        if self.facts.all().ledger_write.is_some() {
            // It is tried once more: nothing has changed so far.
            self.instance.extend(lasting.clone());
        }
        let kept = self.keep_memory();
        let Some(next) = kept.or_else(|| self.take_record()) else { return };
        if self.facts.all().ledger_write.is_some() && !mutant!(UnseenLedger) {
            return;
        }
        let removal = self.facts.root().finalizers().removal;
        if !self.root.finalizers.contains(&removal) && !self.root.terminating {
            // The ledger has to be taken away in the end: that needs a finalizer as any object does.
            let finalizers = self.root.finalizers.iter().cloned().chain([removal]).collect();
            if !self.facts.all().writes.contains_key(&self.facts.all().root.key)
                && !self.actions.iter().any(Action::writes_root)
            {
                let refused = self.hold_root(finalizers);
                self.instance.extend(refused);
            }
            return;
        }
        if let Some(refused) = self.facts.all().ledger_refused.as_ref()
            && refused.again() > self.facts.all().now
        {
            let again = refused.again();
            self.instance.push(Cause::refused_of("the ledger", refused));
            self.wake_at(again);
            return;
        }
        self.instance.extend(lasting);
        let resource_version = match &self.facts.all().ledger {
            LedgerFact::Present { resource_version, .. } => Some(*resource_version),
            _ => None,
        };
        self.push(Action::Record { ledger: Box::new(next), resource_version });
    }

    fn conditions(&self, tally: &Tally) -> Conditions {
        let mut stalled: Vec<String> = tally
            .unready()
            .filter_map(|(slot, state)| {
                let cause = state.causes.iter().find(|it| matches!(it, Cause::Stalled { .. }))?;
                Some(self.public(&format!("{slot}: {cause}")))
            })
            .collect();
        let instance = self.instance.iter().filter(|it| matches!(it, Cause::Stalled { .. }));
        stalled.extend(instance.map(|it| self.public(&it.to_string())));
        stalled.sort();
        stalled.dedup();
        stalled.truncate(MAX_STATUS_NODES);
        let all_ready =
            tally.unready().all(|(_, it)| it.phase == Phase::Removing && mutant!(ReadyWhileRemoving));
        let moving = self.moves || self.ledger().is_none();
        let ready = all_ready
            && tally.vague == 0
            && self.asked.open.is_empty()
            && (self.instance.is_empty() || mutant!(ReadyWhileUnknown))
            && !moving
            && self.mode == super::Mode::Present;
        Conditions { ready, reconciling: !ready && stalled.is_empty(), stalled }
    }

    /// Whether the status is one that passes and is not due yet: what nobody would see is not made.
    fn status_waits(&mut self, conditions: &Conditions) -> bool {
        if !conditions.reconciling || mutant!(StatusAtOnce) {
            return false;
        }
        let world = self.facts.all();
        if world.status_made == Some(world.changes) {
            return false;
        }
        let since = world.status_stale.unwrap_or(world.now);
        let due = world.status_at.map_or(since, |it| it.max(since)) + STATUS_INTERVAL;
        let waits = world.now < due;
        if waits {
            self.wake_at(due);
        }
        waits
    }

    /// The status as it should be; none for a root that is not ours, and while something is asked: then nothing is written.
    fn status(&mut self, tally: &Tally, conditions: &Conditions) -> Option<Value> {
        let root = self.program.node(&self.program.root)?;
        let Body::Root(target) = &root.body else { return None };
        if !matches!(target.target, RootTarget::Owned(_)) {
            return None;
        }
        let mut failed = None;
        let mut status = match &root.status {
            // What the author's part says of the last spec that was admitted stands.
            _ if self.barred => status::authors(self.root.body.get("status")),
            Some(function) => self.fields_of(function, &mut failed).unwrap_or_else(|| json!({})),
            None if !self.asked.open.is_empty() => return None,
            None => self.statuses_of_successors(),
        };
        let function = root.conditions.as_ref().filter(|_| !self.barred);
        let authored = function.and_then(|it| self.fields_of(it, &mut failed));
        let reported = root.report.as_ref().map(|it| self.reported(it, &mut status));
        self.trouble = reported.as_ref().and_then(|(_, trouble)| trouble.clone());
        if !self.asked.open.is_empty() {
            return None;
        }
        let unfit = self.is_unfit(&status);
        let pruned = self.find_pruned();
        Some(whole(Parts {
            author: if unfit { json!({}) } else { status },
            unfit,
            failed,
            waits: self
                .instance
                .iter()
                .find(|it| matches!(it, Cause::Refused { .. }))
                .map(ToString::to_string),
            authored,
            conditions,
            tally,
            stalled: self.stalled().map(|(reason, _)| reason),
            generation: self.root.generation,
            revision: &self.program.revision.name,
            report: reported,
            pruned,
            suspended: self.suspended.clone(),
            before: self.root.body.get("status"),
            now: self.facts.all().changed_at,
            public: &|text| self.public(text),
        }))
    }

    /// The fields that a function of the author gives, each by itself. Where one fails, why: what is only missing comes later.
    fn fields_of(&mut self, function: &Function, failed: &mut Option<String>) -> Option<Value> {
        let (asked, all_there) = self.ask_of_everything(function, Form::Fields);
        let (value, why) = match asked {
            Asked::Value(value) => (Some(value.value().clone()), value.failed().map(str::to_owned)),
            Asked::Error(why) => (None, Some(why)),
            Asked::Unknown(_) => (None, None),
        };
        // What reads a node that is not there fails, and is told once the node is.
        *failed = failed.take().or(why.filter(|_| all_there));
        value.filter(Value::is_object)
    }

    /// Puts the response of the Service into the status. Whether there is one, and what is wrong with it.
    fn reported(&mut self, report: &Report, status: &mut Value) -> (bool, Option<Trouble>) {
        let put = |status: &Value, response: &Value| {
            let (mut with, response) = (status.clone(), &without_nulls(response));
            match &report.field {
                Some(field) => with[field] = response.clone(),
                None => super::desired::merge(&mut with, response),
            }
            with
        };
        let unreachable = self.facts.all().report_trouble.clone().map(|it| ("Unreachable", it));
        let response = match (self.facts.all().report.clone(), &report.map) {
            (None, _) => Err(unreachable.clone()),
            (Some(response), None) => Ok(response),
            (Some(response), Some(map)) => match self.ask(map, Form::Whole, &response) {
                Asked::Value(value) => Ok(value.value().clone()),
                Asked::Error(why) | Asked::Unknown(why) => {
                    Err(Some(("Unusable", format!("the response is not as the blueprint wants it: {why}"))))
                }
            },
        };
        let trouble = match response.map(|it| put(status, &it)) {
            Ok(with) if !self.is_unfit(&with) => {
                *status = with;
                return (true, unreachable);
            }
            Ok(_) => Some(("Unusable", "the response does not fit the status in the CRD".to_owned())),
            Err(trouble) => trouble,
        };
        // What could be used last stays, where it can be told from the rest.
        let Some(before) = self.root.body.get("status") else { return (false, trouble) };
        match &report.field {
            Some(field) => {
                if let Some(last) = before.get(field) {
                    *status = put(status, last);
                }
            }
            None => *status = put(&author_part(before), status),
        }
        (false, trouble)
    }

    /// Asks a function of the live root and of every node as the author's functions see it: live object, value,
    /// result, members; null if missing. And whether none is missing.
    fn ask_of_everything(&mut self, function: &Function, form: Form) -> (Asked, bool) {
        let seen = |found: &Found| match found {
            Found::Present(live) => live.clone(),
            Found::Absent | Found::Unknown(_) => Data::from(Value::Null),
        };
        let whole = function.reads.iter().any(|it| it.input() == Input::Whole);
        let all = self.nodes.keys().filter(|_| whole).map(String::as_str);
        let read = function.reads.iter().filter_map(|it| match it.input() {
            Input::Node(name) => Some(name),
            _ => None,
        });
        let mut parts = BTreeMap::new();
        for name in all.chain(read) {
            let Some(view) = self.nodes.get(name).filter(|_| !parts.contains_key(name)) else { continue };
            let value = if view.collection {
                let members = view.members.iter();
                Data::from(record(members.map(|(key, it)| (key.clone(), seen(&it.found).value().clone()))))
            } else {
                view.members.get("").map_or_else(|| Data::from(Value::Null), |it| seen(&it.found))
            };
            parts.insert(name.to_owned(), value);
        }
        let all_there = parts.values().all(|it| !it.value().is_null());
        let the = The { root: self.root_body(), extracts: Some(&parts), each: None, own: None, seed: None };
        (self.ask(function, form, &the), all_there)
    }

    fn statuses_of_successors(&self) -> Value {
        let needs = self.program.needs.get(&self.program.root).into_iter().flatten();
        record(needs.filter_map(|need| {
            let member = self.nodes.get(&need.to)?.members.get("")?;
            let Found::Present(live) = &member.found else { return None };
            // Its own status in itself would grow with every write.
            if matches!(live, Data::Live(it) if it.key == self.facts.root().key) {
                return None;
            }
            Some((need.to.clone(), shallow(live.value().get("status")?, MAX_STATUS_DEPTH)))
        }))
    }

    fn write_status(&mut self, status: Option<&Value>) {
        let Some(status) = status.filter(|_| self.asked.open.is_empty()) else { return };
        let now = self.root.body.get("status");
        if now.is_some_and(|it| self.facts.all().is_what_became(status, it)) {
            return;
        }
        if now == Some(status) || self.facts.all().writes.contains_key(&self.facts.all().root.key) {
            if now != Some(status)
                && self.facts.all().writes.get(&self.facts.all().root.key) == Some(&OwnWrite::Lost)
            {
                self.push(Action::Look { key: self.facts.all().root.key.clone() });
            }
            return;
        }
        if self.actions.iter().any(Action::writes_root) {
            return;
        }
        // What passes within the interval is not even made: an instance that is ready at once costs one write.
        let due = self.facts.all().status_at.map(|it| it + STATUS_INTERVAL);
        if let Some(due) = due
            && self.facts.all().now < due
            && !mutant!(StatusAtOnce)
        {
            self.wake_at(due);
            return;
        }
        let action = Action::Status { uid: self.root.uid.clone(), status: status.clone() };
        let key = &self.facts.all().root.key;
        let refused = self.facts.all().refused.get(key).filter(|it| it.tried == action.tried());
        match refused.map(Refused::again) {
            Some(again) if again > self.facts.all().now => self.wake_at(again),
            _ => self.push(action),
        }
    }

    /// What stalls the instance as a whole: one word, and the sentence.
    fn stalled(&self) -> Option<(&'static str, String)> {
        self.instance.iter().find_map(|it| match it {
            Cause::Stalled { reason, .. } => Some((*reason, it.to_string())),
            _ => None,
        })
    }

    /// One Event for each transition: to a node that stalls, to an instance that stalls as a whole or is ready.
    fn tell(&mut self, tally: &Tally, conditions: &Conditions, status: Option<&Value>) {
        if !self.asked.open.is_empty() {
            return;
        }
        let mut now: BTreeMap<Option<Slot>, (String, String)> = BTreeMap::new();
        for (slot, state) in tally.unready() {
            if let Some((reason, message)) = state.causes.first().and_then(Cause::told) {
                now.insert(Some(slot.clone()), (reason.to_owned(), message));
            }
        }
        if let Some((reason, message)) = self.trouble.take() {
            now.insert(Some(self.about(REPORT)), (reason.to_owned(), message));
        }
        if let Some(message) = self.pruned.take() {
            now.insert(Some(self.about(PRUNED)), (STATUS_PRUNED.to_owned(), message));
        }
        if let Some(first) = self.inventory.forged.first() {
            let others = match self.inventory.forged.len() {
                1 => String::new(),
                all => format!(" and {} more objects", all - 1),
            };
            let message = format!(
                "{first}{others} with the label {ROOT_LABEL} of this instance, and no {CLAIM_ANNOTATION} that Pemdas wrote: ignored"
            );
            now.insert(Some(Slot::new(&self.program.root, FORGED)), (IGNORED.to_owned(), message));
        }
        self.tell_of_dropped(tally);
        let instance = self.stalled().or_else(|| self.instance.iter().find_map(Cause::told));
        if let Some((reason, message)) = instance {
            now.insert(None, (reason.to_owned(), message));
        } else if let Some(message) = &self.suspended {
            now.insert(None, (SUSPENDED.to_owned(), message.clone()));
        } else if conditions.ready {
            let ready = || (READY.to_owned(), "everything that is needed is ready".to_owned());
            now.insert(
                None,
                status.and_then(status::lowered).map_or_else(ready, |(reason, message)| {
                    let failed = reason == STATUS_FAILED;
                    if failed {
                        (reason, message)
                    } else {
                        (LOWERED.to_owned(), format!("{reason}: {message}"))
                    }
                }),
            );
        }
        let before = self.root.body.get("status");
        for (about, (reason, message)) in now {
            // Another process told it before this one began: the status that is there says so.
            let of_root = about.as_ref().filter(|it| it.node == self.program.root);
            let says = |it: &Value| match of_root.map(|it| it.member.as_str()) {
                Some(REPORT) => status::says_of_report(it, &reason),
                Some(PRUNED) => status::pruned_fields(it).is_some(),
                _ => status::says(it, about.as_ref(), &reason),
            };
            if before.is_some_and(says) && !self.facts.all().told.contains_key(&about) {
                continue;
            }
            if self.facts.all().told.get(&about).is_none_or(|told| *told != reason) {
                let (message, warning) = (self.public(&message), reason != READY);
                self.push(Action::Event(Event { about, reason, message, warning }));
            }
        }
    }
}

impl Pass<'_> {
    /// Whether the server has refused these fields of a status a while ago.
    fn is_unfit(&mut self, author: &Value) -> bool {
        let until = self.facts.all().unfit_until(author);
        until.into_iter().for_each(|it| self.wake_at(it));
        until.is_some()
    }

    /// What stands for the report, or for the status, where Events are counted.
    fn about(&self, what: &str) -> Slot {
        Slot::new(&self.program.root, what)
    }

    /// What is to be said of fields that the definition of the status drops. Until this process has written a status, what another
    /// one found stands.
    fn find_pruned(&mut self) -> Option<String> {
        let told = || status::pruned_fields(self.root.body.get("status")?);
        self.pruned = match &self.facts.all().status_pruned {
            _ if mutant!(PrunedSilently) => None,
            None => told(),
            Some(fields) if fields.is_empty() => None,
            Some(fields) => {
                let fields: Vec<_> = fields.iter().map(String::as_str).collect();
                Some(format!("the definition does not have {}: the API server drops it", fields.join(", ")))
            }
        };
        self.pruned.clone()
    }

    /// One Event for each node of whose object the API server dropped fields, and again where these are others.
    fn tell_of_dropped(&mut self, tally: &Tally) {
        let told = &self.facts.all().told_dropped;
        let before = self.root.body.get("status");
        let fresh = |(slot, sentence): &(&Slot, &str)| match told.get(*slot) {
            Some(told) => told != sentence,
            // Another process told it before this one began.
            None => !before.is_some_and(|it| status::says_dropped(it, slot, sentence)),
        };
        let fresh: Vec<_> = tally
            .dropped()
            .filter(fresh)
            .map(|(slot, sentence)| Event {
                about: Some(slot.clone()),
                reason: reason::DROPPED.to_owned(),
                message: sentence.to_owned(),
                warning: true,
            })
            .collect();
        fresh.into_iter().for_each(|it| self.push(Action::Event(it)));
    }
}

/// A value without what is nested deeper than so many levels.
fn shallow(value: &Value, levels: usize) -> Value {
    let is_flat = |it: &Value| levels > 1 || !(it.is_object() || it.is_array());
    let below = |it: &Value| shallow(it, levels.saturating_sub(1));
    match value {
        Value::Object(fields) => {
            record(fields.iter().filter(|(_, it)| is_flat(it)).map(|(name, it)| (name.clone(), below(it))))
        }
        Value::Array(items) => items.iter().filter(|it| is_flat(it)).map(below).collect(),
        other => other.clone(),
    }
}

/// A status holds no null: the server takes such fields out.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, it)| !it.is_null());
            record(kept.map(|(name, it)| (name.clone(), without_nulls(it))))
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}
