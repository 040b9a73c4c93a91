//! Facts, and how they become the world: what is older than what is known is dropped.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

use super::{
    CLAIM_ANNOTATION, Claim, Gone, KindKey, KindView, Lease, LedgerFact, Live, MAX_REVERSALS, MAX_VANISHED,
    ObjectKey, OwnWrite, Owner, Refused, Reversal, StatusSent, Touch, World, author_part, manager,
};
use crate::{
    action::{Action, Event, timeless},
    decide::{Decision, FORGED, PRUNED, Phase, REPORT, STATUS_PRUNED, reason},
    digest::Digest,
    evaluate::Answer,
    ledger::{Ledger, Slot},
    moment::read_timestamp,
};

/// How a write was refused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// A create met an object (409).
    Exists,
    /// The uid or resourceVersion was another (409).
    Changed,
    /// Other managers own fields of it (409).
    FieldConflict(Vec<(String, String)>),
    /// Fields that the schema of the kind does not have (500).
    UnknownField(String),
    /// A field that may not change (422).
    Immutable(String),
    /// Invalid for another reason (422).
    Invalid(String),
    /// The account may not (403).
    Forbidden(String),
    /// An admission controller or a quota said no (403, 400).
    Denied(String),
    /// There is no such namespace, or it is going.
    NoNamespace(String),
    /// There is no such object any more (404).
    Gone,
    /// The server is too busy or broken (429, 5xx).
    Busy(String),
}

impl Refusal {
    /// Whether it ends without anybody's doing: the server is busy, or the view was behind.
    #[must_use]
    pub fn passes(&self) -> bool {
        matches!(self, Self::Exists | Self::Changed | Self::Gone | Self::Busy(_))
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exists => out.write_str("an object of that name already exists"),
            Self::Changed => out.write_str("the object is not the one that was seen"),
            Self::FieldConflict(fields) => {
                let owners: Vec<_> = fields.iter().map(|(who, at)| format!("{at} ({who})")).collect();
                write!(out, "other managers own {}", owners.join(", "))
            }
            Self::UnknownField(fields) => write!(out, "its kind has no field {fields}"),
            Self::Immutable(field) => write!(out, "{field} may not change"),
            Self::Gone => out.write_str("there is no such object any more"),
            Self::Invalid(text) => write!(out, "invalid: {text}"),
            Self::Forbidden(text) => write!(out, "forbidden: {text}"),
            Self::Denied(text) => write!(out, "denied: {text}"),
            Self::NoNamespace(text) => write!(out, "no namespace for it: {text}"),
            Self::Busy(text) => write!(out, "the server is busy: {text}"),
        }
    }
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WriteOutcome {
    /// It happened, at this resourceVersion.
    Done(u64),
    /// The object is deleted or terminating.
    Deleted(String),
    /// It was refused.
    Refused(Refusal),
    /// The answer was lost.
    Lost,
}

/// Something that happened outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// The time.
    Now(u64),
    /// The lease.
    Lease(Lease),
    /// A kind and how it is seen.
    Kind(KindKey, KindView),
    /// An object as the watch of its kind shows it.
    Seen(Arc<Live>),
    /// The watch of a kind says that an object is gone.
    Vanished(ObjectKey, u64),
    /// The root as its watch shows it.
    Root(Arc<Live>),
    /// The root is gone.
    RootVanished,
    /// Whether the root's selector picks it.
    Selected(bool),
    /// Whether the root's namespace is being deleted.
    NamespaceEnding(bool),
    /// Why nothing may be written for any instance of the blueprint; nothing if it may.
    Suspended(Option<Box<str>>),
    /// Whether what an older key sealed is to be sealed anew.
    Reseals(bool),
    /// The ledger.
    Ledger(LedgerFact),
    /// An action was sent.
    Sent(Arc<Action>),
    /// What became of a write to an object or to the root.
    Outcome(ObjectKey, Digest, WriteOutcome),
    /// What became of a write to the ledger.
    LedgerOutcome(WriteOutcome),
    /// The ledger as a direct look found it: what became of the last write does not matter any more.
    LedgerRead(LedgerFact),
    /// The ledger of an earlier root, by the name of its instance: the answer to every action that names one.
    OldLedger(String, LedgerFact),
    /// An object as the answer to our own write shows it.
    Answer(Arc<Live>),
    /// Which fields of our apply are not in the answer to it.
    Dropped(ObjectKey, BTreeSet<String>),
    /// What a direct look at an object or at the root found, and as of which resourceVersion.
    Looked(ObjectKey, Option<Arc<Live>>, u64),
    /// An answer of the evaluator.
    Answered(Digest, Answer),
    /// The response of the Service of a `report`.
    Report(Option<Value>),
    /// Why there is no newer one.
    ReportTrouble(Option<String>),
}

impl World {
    /// Takes a fact in.
    pub fn learn(&mut self, fact: Fact) {
        if !self.is_old_news(&fact) {
            self.note(&fact);
        }
        match fact {
            Fact::Now(now) => self.now = self.now.max(now),
            Fact::Lease(lease) => {
                if lease.epoch != self.lease.epoch {
                    self.led_since = self.now;
                }
                self.lease = lease;
            }
            Fact::Kind(kind, view) => self.kind(kind, view),
            Fact::Seen(live) => {
                self.watermark(&live.key, live.resource_version);
                self.seen(live);
            }
            Fact::Vanished(key, version) => {
                self.watermark(&key, version);
                self.vanished(&key, version);
            }
            Fact::Root(live) => self.root(live),
            Fact::RootVanished => {
                let going = self.root.live.as_ref().is_some_and(|it| it.terminating);
                // Watching it disappear is seeing it go; a root that was never seen is not.
                self.root.seen_going |= going || self.root.live.is_some();
                self.root.given_up = self.root.skips().map(Into::into);
                self.root.live = None;
                self.root.gone_since.get_or_insert(self.now);
                self.writes.remove(&self.root.key);
            }
            Fact::Selected(selected) => self.root.selected = selected,
            Fact::NamespaceEnding(ending) => self.namespace_ending = ending,
            Fact::Suspended(why) => self.suspended = why,
            Fact::Reseals(reseals) => self.reseals = reseals,
            Fact::Ledger(ledger) => self.ledger(ledger),
            Fact::Sent(action) => {
                match &*action {
                    Action::Create { key, .. } | Action::Change { key, .. } => {
                        self.applying.insert(key.clone(), action.clone());
                        // What we make ourselves comes back by our own doing.
                        self.expelled.remove(key);
                    }
                    Action::Status { .. } => self.status_under_way = Some(action.clone()),
                    _ => {}
                }
                self.sent(&action);
            }
            Fact::Outcome(key, tried, outcome) => self.outcome(key, tried, outcome),
            Fact::LedgerOutcome(outcome) => self.ledger_outcome(outcome),
            Fact::LedgerRead(ledger) => {
                self.ledger_write = None;
                self.ledger_missed = ledger == LedgerFact::Absent;
                self.set_ledger(ledger);
            }
            Fact::OldLedger(instance, ledger) => self.old_ledger = Some((instance, ledger)),
            Fact::Answer(live) => self.answer(live),
            Fact::Dropped(key, fields) => self.dropped(key, fields),
            Fact::Looked(key, live, version) => self.looked(key, live, version),
            Fact::Answered(question, answer) => self.answers.learn(question, answer, self.now),
            Fact::Report(report) => self.report = report,
            Fact::ReportTrouble(trouble) => self.report_trouble = trouble,
        }
    }

    /// Whether a fact says only what is known: a list that repeats itself costs no pass.
    fn is_old_news(&self, fact: &Fact) -> bool {
        match fact {
            Fact::Now(_) => true,
            Fact::Lease(lease) => *lease == self.lease,
            Fact::Kind(kind, view) => self.kinds.get(kind) == Some(view),
            Fact::Seen(live) => self.shown_up_to(&live.key) >= live.resource_version && self.knows(live),
            Fact::Root(live) => {
                self.root.live.as_ref().is_some_and(|it| it.resource_version == live.resource_version)
                    && !self.writes.contains_key(&self.root.key)
            }
            Fact::Selected(selected) => *selected == self.root.selected,
            Fact::NamespaceEnding(ending) => *ending == self.namespace_ending,
            Fact::Suspended(why) => *why == self.suspended,
            Fact::Reseals(reseals) => *reseals == self.reseals,
            Fact::Ledger(ledger) => *ledger == self.ledger && self.ledger_write.is_none(),
            Fact::Dropped(key, fields) => {
                self.dropped.get(key).map_or(fields.is_empty(), |known| known == fields)
            }
            Fact::Report(report) => *report == self.report,
            Fact::ReportTrouble(trouble) => *trouble == self.report_trouble,
            _ => false,
        }
    }

    /// Whether an object is known exactly so.
    fn knows(&self, live: &Live) -> bool {
        self.objects.get(&live.key).is_some_and(|it| it.resource_version == live.resource_version)
    }

    /// Writes down what a fact is about.
    fn note(&mut self, fact: &Fact) {
        match fact {
            Fact::Now(_) => {}
            Fact::Lease(_)
            | Fact::RootVanished
            | Fact::Selected(_)
            | Fact::NamespaceEnding(_)
            | Fact::Suspended(_)
            | Fact::Reseals(_)
            | Fact::OldLedger(_, _) => {
                self.touch(Touch::EVERYTHING);
            }
            Fact::Kind(kind, view) => {
                let only_newer = self
                    .kinds
                    .get(kind)
                    .is_some_and(|old| KindView { watermark: old.watermark, ..view.clone() } == *old);
                if only_newer {
                    self.touch_unseen(kind);
                } else {
                    self.touch(Touch::EVERYTHING);
                }
            }
            // What the answer to our own write has told already.
            Fact::Seen(live) if self.knows(live) => self.touch_unseen(&live.key.kind),
            Fact::Seen(live) | Fact::Answer(live) => self.touch_object(&live.key),
            Fact::Vanished(key, _)
            | Fact::Outcome(key, _, _)
            | Fact::Dropped(key, _)
            | Fact::Looked(key, _, _) => {
                self.touch_object(key);
                if *key == self.root.key {
                    self.touch(Touch::ROOT);
                }
            }
            Fact::Root(_) => {
                let root = self.root.key.clone();
                self.touch_object(&root);
                self.touch(Touch::ROOT);
            }
            Fact::Ledger(_) | Fact::LedgerOutcome(_) | Fact::LedgerRead(_) => self.touch(Touch::LEDGER),
            Fact::Sent(action) => match &**action {
                Action::Record { .. } | Action::Forget { .. } | Action::ReadLedger => {
                    self.touch(Touch::LEDGER);
                }
                Action::Look { key } => self.touch_object(key),
                it if it.writes_root() => {
                    let root = self.root.key.clone();
                    self.touch_object(&root);
                    self.touch(Touch::REPORT);
                }
                other => match other.written() {
                    Some(key) => self.touch_object(key),
                    None => self.touch(Touch::REPORT),
                },
            },
            Fact::Answered(question, _) => self.touch(Touch::answer(*question)),
            Fact::Report(_) | Fact::ReportTrouble(_) => self.touch(Touch::REPORT),
        }
    }

    fn touch_object(&mut self, key: &ObjectKey) {
        self.note_change(Touch::object(key), Some(key));
        self.touch(Touch::objects(&key.kind));
        self.touch_unseen(&key.kind);
    }

    /// A watch that went on may have shown writes to other objects of its kind. What became of one without an answer it does not show.
    fn touch_unseen(&mut self, kind: &KindKey) {
        let waits = |(key, write): &(&ObjectKey, &OwnWrite)| {
            key.kind == *kind && matches!(write, OwnWrite::Applied(_))
        };
        let waiting: Vec<_> = self.writes.iter().filter(waits).map(|(key, _)| Touch::object(key)).collect();
        for touch in waiting {
            self.touch(touch);
        }
    }

    fn kind(&mut self, kind: KindKey, mut view: KindView) {
        let fresh = self.kinds.get(&kind).is_none_or(|old| view.epoch >= old.epoch);
        if fresh {
            view.watermark = self.kinds.get(&kind).map_or(0, |old| old.watermark).max(view.watermark);
            self.kinds.insert(kind, view);
        }
    }

    /// What a watch shows of a kind in one namespace says nothing of the others: each may have a watch of its own.
    fn watermark(&mut self, key: &ObjectKey, version: u64) {
        if !self.kinds.contains_key(&key.kind) {
            return;
        }
        let places = self.shown.entry(key.kind.clone()).or_default();
        match places.get_mut(&key.namespace) {
            Some(shown) => *shown = version.max(*shown),
            None => {
                places.insert(key.namespace.clone(), version);
            }
        }
    }

    fn seen(&mut self, live: Arc<Live>) {
        let floor = self.looked.get(&live.key).copied().unwrap_or(0);
        let known = self.objects.get(&live.key).map_or(0, |it| it.resource_version);
        if live.resource_version < known.max(floor) {
            return;
        }
        self.looked.remove(&live.key);
        self.vanished.remove(&live.key);
        let key = live.key.clone();
        self.objects.insert(key.clone(), live);
        self.look_at_apply(&key);
        self.settle_write(&key);
    }

    fn vanished(&mut self, key: &ObjectKey, version: u64) {
        let known = self.objects.get(key).map_or(0, |it| it.resource_version);
        if version < known.max(self.looked.get(key).copied().unwrap_or(0)) {
            return;
        }
        self.gone(key);
        self.settle_write(key);
    }

    fn gone(&mut self, key: &ObjectKey) {
        let Some(live) = self.objects.remove(key) else { return };
        self.applying.remove(key);
        self.unkept.remove(key);
        self.dropped.remove(key);
        self.note_gone(&live);
        if let Owner::Us(claim) = self.owner(&live)
            && !live.terminating
        {
            self.vanished.insert(key.clone(), claim.applied);
            while self.vanished.len() > MAX_VANISHED {
                self.vanished.pop_first();
            }
        } else if let Owner::Us(claim) = self.owner(&live)
            && !matches!(self.writes.get(key), Some(OwnWrite::Deleted(uid)) if *uid == live.uid)
        {
            self.vanished.insert(key.clone(), claim.applied);
        }
    }

    /// Remembers that an object of ours went, unless it was we who let it go or it ends by itself.
    fn note_gone(&mut self, live: &Live) {
        // That a delete of ours was seen does not mean that the object is gone yet: something may hold it.
        let deleted = self.deleted.remove(&live.key).is_some_and(|uid| uid == live.uid);
        let under_way = matches!(self.writes.get(&live.key), Some(OwnWrite::InFlight | OwnWrite::Lost));
        let ours = deleted || under_way;
        let lasting = matches!(self.owner(live), Owner::Us(claim) if claim.attempt.is_none());
        if ours || !lasting {
            return;
        }
        Gone::count(&mut self.gone, &live.key, self.now);
    }

    /// What the server kept of an apply, once the object is seen as the apply left it: before anybody else has written to it.
    fn look_at_apply(&mut self, key: &ObjectKey) {
        let (Some(OwnWrite::Applied(version)), Some(live)) = (self.writes.get(key), self.objects.get(key))
        else {
            return;
        };
        if live.resource_version < *version {
            return;
        }
        let Some(action) = self.applying.remove(key) else { return };
        if live.resource_version > *version {
            return;
        }
        let (Action::Create { body, .. } | Action::Change { body, .. }) = &*action else { return };
        let unkept = live.unkept(&manager(&self.root.instance), body, &self.secret);
        if unkept.is_empty() {
            self.unkept.remove(key);
        } else {
            self.unkept.insert(key.clone(), unkept);
        }
    }

    /// What is not in the answer to an apply; of an object without a word of that, as most are, nothing is kept.
    fn dropped(&mut self, key: ObjectKey, fields: BTreeSet<String>) {
        let owner = self.objects.get(&key).map(|it| self.owner(it));
        let noted = matches!(owner, Some(Owner::Us(claim)) if !claim.dropped.is_empty());
        if fields.is_empty() && !noted {
            self.dropped.remove(&key);
        } else {
            self.dropped.insert(key, fields);
        }
    }

    /// Forgets a write once it was seen.
    fn settle_write(&mut self, key: &ObjectKey) {
        if self.writes.contains_key(key) && self.unseen_write(key).is_none() {
            self.writes.remove(key);
        }
    }

    fn root(&mut self, live: Arc<Live>) {
        let known = self.root.live.as_ref().map_or(0, |it| it.resource_version);
        if live.uid != self.root.uid || live.resource_version < known {
            return;
        }
        if self.root.live.is_none() && self.root.seen_going && live.terminating {
            return; // The answer to our last write came after the watch had told that it is gone.
        }
        self.root.seen_going |= live.terminating;
        self.root.orphaning |= live.terminating && live.finalizers.contains("orphan");
        if live.terminating && self.root.going_since.is_none() {
            // As the object says it, so that a process that starts anew counts from the same time.
            let said = live.body.pointer("/metadata/deletionTimestamp").and_then(Value::as_str);
            let said = said.and_then(read_timestamp);
            self.root.going_since = Some(said.map_or(self.now, |it| it.min(self.now)));
        }
        let version = live.resource_version;
        self.root.live = Some(live);
        self.look_at_status();
        if matches!(self.writes.get(&self.root.key), Some(OwnWrite::Applied(wrote)) if *wrote <= version) {
            self.writes.remove(&self.root.key);
        }
    }

    fn ledger(&mut self, ledger: LedgerFact) {
        let version = |it: &LedgerFact| match it {
            LedgerFact::Present { resource_version, .. } => Some(*resource_version),
            _ => None,
        };
        if let (Some(known), Some(new)) = (version(&self.ledger), version(&ledger))
            && new < known
        {
            return;
        }
        let seen = match (&self.ledger_write, &ledger) {
            (Some(OwnWrite::Applied(wrote)), LedgerFact::Present { resource_version, .. }) => {
                resource_version >= wrote
            }
            (Some(OwnWrite::Deleted(_)), LedgerFact::Absent) => true,
            _ => false,
        };
        if seen {
            self.ledger_write = None;
        }
        self.set_ledger(ledger);
    }

    /// The ledger is as this says. What it said before it went without our doing is not forgotten.
    fn set_ledger(&mut self, ledger: LedgerFact) {
        let before = std::mem::replace(&mut self.ledger, ledger);
        match (before, &self.ledger) {
            (_, LedgerFact::Present { .. }) => {
                self.torn_ledger = None;
                self.ledger_missed = false;
            }
            (LedgerFact::Present { ledger, .. }, LedgerFact::Absent) if !self.forgets_ledger => {
                self.torn_ledger = Some(ledger);
            }
            _ => {}
        }
    }

    fn sent(&mut self, action: &Action) {
        if let Some(key) = action.written() {
            // What was refused before says nothing of something else.
            let tried = action.tried();
            if self.refused.get(key).is_some_and(|it| it.tried != tried) {
                self.refused.remove(key);
            }
        }
        match action {
            // Until it is answered, a look is as good as a write: nothing else is done to the object, and nobody looks twice.
            Action::ReadLedger if !mutant!(LookTwice) => self.ledger_write = Some(OwnWrite::InFlight),
            Action::Look { key } if !mutant!(LookTwice) => {
                self.writes.insert(key.clone(), OwnWrite::InFlight);
            }
            Action::Record { .. } | Action::Forget { .. } => {
                self.forgets_ledger = matches!(action, Action::Forget { .. });
                self.ledger_write = Some(OwnWrite::InFlight);
            }
            Action::ReadLedgerOf { instance } | Action::ForgetLedgerOf { instance, .. } => {
                self.old_ledger = Some((instance.clone(), LedgerFact::Unknown));
            }
            Action::Finalize { .. } | Action::Mark { .. } => {
                self.writes.insert(self.root.key.clone(), OwnWrite::InFlight);
            }
            Action::Status { status, .. } => {
                let digest = self.digest(&timeless(status));
                let author = self.digest(&author_part(status));
                self.status_sent = Some(StatusSent { digest, author, version: None, became: None });
                self.status_at = Some(self.now);
                self.writes.insert(self.root.key.clone(), OwnWrite::InFlight);
            }
            Action::Change { key, body, force, .. } => {
                self.reversal(key, body, *force);
                self.writes.insert(key.clone(), OwnWrite::InFlight);
            }
            Action::Event(Event { about: Some(slot), reason, message, .. }) if reason == reason::DROPPED => {
                self.told_dropped.insert(slot.clone(), message.clone());
            }
            Action::Event(event) => {
                self.told.insert(event.about.clone(), event.reason.clone());
            }
            other => {
                if let Some(key) = other.written() {
                    self.writes.insert(key.clone(), OwnWrite::InFlight);
                }
            }
        }
    }

    /// Remembers an apply that takes fields of others, or sends once more what was applied already.
    fn reversal(&mut self, key: &ObjectKey, body: &Value, force: bool) {
        let Some(live) = self.objects.get(key) else { return };
        let manager = manager(&self.root.instance);
        let applied =
            |it: Option<&str>| it.and_then(|it| serde_json::from_str(it).ok()).map(|it: Claim| it.applied);
        let sent = body.pointer("/metadata/annotations").and_then(|it| it.get(CLAIM_ANNOTATION));
        let again = applied(live.annotation(CLAIM_ANNOTATION)) == applied(sent.and_then(Value::as_str));
        let (from, field) = match live.taken_from(&manager, body).into_iter().next() {
            Some((other, at)) if force || again => (other, at.to_string()),
            None if again => match live.uncovered(&manager, body).first() {
                Some(at) => (String::new(), at.to_string()),
                None => match self.dropped.get(key).and_then(BTreeSet::first) {
                    Some(field) => (String::new(), field.clone()),
                    // Only the claim is written anew.
                    None => return,
                },
            },
            _ => return,
        };
        let reversals = self.reversals.entry(key.clone()).or_default();
        reversals.push(Reversal { at: self.now, from, field });
        if reversals.len() > MAX_REVERSALS {
            reversals.remove(0);
        }
    }

    fn outcome(&mut self, key: ObjectKey, tried: Digest, outcome: WriteOutcome) {
        match outcome {
            WriteOutcome::Done(version) => {
                self.refused.remove(&key);
                self.writes.insert(key.clone(), OwnWrite::Applied(version));
                if let Some(sent) =
                    self.status_sent.as_mut().filter(|it| key == self.root.key && it.version.is_none())
                {
                    sent.version = Some(version);
                    self.look_at_status();
                }
                let root = key == self.root.key
                    && self.root.live.as_ref().is_some_and(|it| it.resource_version >= version);
                if root {
                    self.writes.remove(&key);
                } else {
                    self.look_at_apply(&key);
                    self.settle_write(&key);
                }
            }
            WriteOutcome::Deleted(uid) => {
                self.refused.remove(&key);
                Gone::count(&mut self.expelled, &key, self.now);
                if self.objects.get(&key).is_some_and(|it| it.uid == uid) {
                    self.deleted.insert(key.clone(), uid.clone());
                }
                self.writes.insert(key.clone(), OwnWrite::Deleted(uid));
                self.settle_write(&key);
            }
            WriteOutcome::Lost => {
                self.applying.remove(&key);
                self.writes.insert(key, OwnWrite::Lost);
            }
            WriteOutcome::Refused(refusal) => {
                self.applying.remove(&key);
                // The view was behind: only the object itself can tell what to do next.
                let look = matches!(refusal, Refusal::Exists | Refusal::Changed | Refusal::Gone);
                if key == self.root.key && matches!(refusal, Refusal::Invalid(_)) {
                    self.refuse_status();
                }
                if look && key != self.root.key {
                    self.writes.insert(key.clone(), OwnWrite::Lost);
                } else {
                    self.writes.remove(&key);
                }
                let before = self.refused.get(&key).filter(|it| it.tried == tried);
                let times = before.map_or(0, |it| it.times + 1);
                // A server that is busy has not answered: what it said last still holds.
                let stands = before.filter(|it| matches!(refusal, Refusal::Busy(_)) && !it.refusal.passes());
                let refusal = stands.map_or(refusal, |it| it.refusal.clone());
                self.refused.insert(key, Refused { tried, refusal, times, at: self.now });
            }
        }
    }

    fn ledger_outcome(&mut self, outcome: WriteOutcome) {
        self.ledger_refused = match &outcome {
            WriteOutcome::Refused(refusal) => {
                let times = self.ledger_refused.as_ref().map_or(0, |it| it.times + 1);
                let tried = Digest::of(&[], &Value::Null);
                Some(Refused { tried, refusal: refusal.clone(), times, at: self.now })
            }
            // Nobody knows: it is as good as refused, until it was read.
            WriteOutcome::Lost => self.ledger_refused.take(),
            WriteOutcome::Done(_) | WriteOutcome::Deleted(_) => None,
        };
        self.ledger_write = match outcome {
            WriteOutcome::Done(version) => {
                let seen = matches!(&self.ledger, LedgerFact::Present { resource_version, .. } if *resource_version >= version);
                (!seen).then_some(OwnWrite::Applied(version))
            }
            WriteOutcome::Deleted(uid) => {
                (self.ledger != LedgerFact::Absent).then_some(OwnWrite::Deleted(uid))
            }
            // What the ledger says now has to be read again, whatever the reason.
            WriteOutcome::Refused(_) | WriteOutcome::Lost => Some(OwnWrite::Lost),
        };
    }

    /// The answer to our own write: as good as the watch, and earlier. What the watch has shown meanwhile is newer.
    fn answer(&mut self, live: Arc<Live>) {
        let known = self.objects.get(&live.key).map_or(0, |it| it.resource_version);
        let floor = self.looked.get(&live.key).copied().unwrap_or(0);
        let watermark = self.shown_up_to(&live.key);
        // Where the watch is further and shows no such object, it is gone again.
        let gone = known == 0 && watermark >= live.resource_version;
        if live.resource_version < known.max(floor) || gone {
            return;
        }
        let (key, version) = (live.key.clone(), live.resource_version);
        self.looked(key, Some(live), version);
    }

    fn looked(&mut self, key: ObjectKey, live: Option<Arc<Live>>, version: u64) {
        if key == self.root.key {
            self.writes.remove(&key);
            // That it is gone is for its watch to say: a name may be taken by another.
            if let Some(live) = live {
                self.root(live);
            }
            return;
        }
        match live {
            Some(live) => {
                self.vanished.remove(&key);
                self.objects.insert(key.clone(), live);
                self.look_at_apply(&key);
            }
            None => self.gone(&key),
        }
        self.writes.remove(&key);
        let behind = self.kinds.contains_key(&key.kind) && self.shown_up_to(&key) < version;
        if behind {
            self.looked.insert(key, version);
        }
    }

    /// Takes note of a decision that was made on this world: since when the status is not as it should be, and which
    /// answers are not used any more.
    pub fn decided(&mut self, decision: &Decision) {
        let stale = match &decision.status {
            Some(_) => decision.status_differs,
            None => decision.conditions.reconciling,
        };
        self.status_made = decision.status.is_some().then_some(self.changes);
        self.status_stale = stale.then(|| self.status_stale.unwrap_or(self.now));
        // A decision that asked nothing says nothing of what the next one will ask.
        if !decision.used.is_empty() {
            self.answers.trim(&decision.used);
        }
        // What has ended is told again when it comes again.
        let stalled = !decision.conditions.stalled.is_empty();
        let has = |name: &str, status: &Value| {
            let conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
            conditions.clone().any(|it| it["type"] == name && it["status"] == "True")
        };
        self.told.retain(|about, reason| match about {
            Some(slot) if slot.member == REPORT && !decision.nodes.contains_key(slot) => {
                !decision.status.as_ref().is_some_and(|it| has("Reported", it))
            }
            Some(slot) if slot.member == PRUNED && !decision.nodes.contains_key(slot) => {
                decision.status.as_ref().is_none_or(|it| has(STATUS_PRUNED, it))
            }
            Some(slot) if slot.member == FORGED && !decision.nodes.contains_key(slot) => decision.ignores,
            Some(slot) => decision.nodes.get(slot).is_some_and(|it| it.phase != Phase::Ready),
            None => !stalled || reason != "Ready",
        });
        let drops = |slot: &Slot| decision.nodes.get(slot).is_some_and(|it| it.dropped.is_some());
        self.told_dropped.retain(|slot, _| drops(slot));
    }

    /// What is lost when the process ends: everything but what can be listed again. The lease is taken anew.
    #[must_use]
    pub fn after_crash(&self, lease: Lease) -> Self {
        let mut fresh = Self::new(self.root.key.clone(), self.root.uid.clone());
        fresh.root.instance.clone_from(&self.root.instance);
        fresh.now = self.now;
        fresh.lease = lease;
        fresh.led_since = self.now;
        fresh.secret.clone_from(&self.secret);
        fresh.seal.clone_from(&self.seal);
        fresh.entropy.clone_from(&self.entropy);
        fresh.kinds = BTreeMap::new();
        fresh
    }

    /// The ledger, or an empty one.
    #[must_use]
    pub fn ledger_or_empty(&self) -> Ledger {
        match &self.ledger {
            LedgerFact::Present { ledger, .. } => (**ledger).clone(),
            _ => Ledger::default(),
        }
    }
}

#[cfg(test)]
mod tests;
