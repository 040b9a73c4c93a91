//! Rule 9, for onces: an attempt is recorded before its first write, and ends at most once.
//!
//! *The accident*: a migration Job is cleaned up by its TTL a second after it is done, the operator restarts, sees
//! no Job, and migrates again.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Cause, Mode,
    desired::{Marks, Rendered, named_alike},
    edges::Edges,
    inventory::Item,
    pass::{Asked, Data, Found, Member, Pass},
    reason,
    settled::own_words,
};
use crate::{
    action::Action,
    blueprint::{Body, First, Node, Superseded},
    digest::Digest,
    evaluate::Form,
    ledger::{End, Entry, MAX_ENTRIES, MAX_RESULT_BYTES, Slot},
    shape::Shape,
    truth::Truth,
    world::{Live, ONCE_FINALIZER, ObjectKey},
};

/// A once, as a step comes to it.
struct Coming<'o> {
    slot: &'o Slot,
    node: &'o Node,
    edges: &'o Edges,
    each: Option<&'o Value>,
    need: Truth,
}

impl Pass<'_> {
    /// A once; nothing where its key is null: not due, as if not needed.
    pub(super) fn once(
        &mut self,
        slot: &Slot,
        node: &Node,
        each: Option<&Value>,
        need: Truth,
    ) -> Option<Member> {
        let Body::Template(template) = &node.body else { return None };
        let edges = self.edges(slot, &node.before, each);
        let identity = self.identity(node, &template.object, &template.function, each);
        let mut member = Member::new(identity.as_ref().ok().cloned());
        let frozen = self.mode == Mode::Deleting && !self.of_deletion(&slot.node);
        member.open = if frozen { Truth::False } else { edges.open };
        let Some(ledger) = self.ledger() else {
            return Some(member.unknown(Cause::Pending("the ledger is being written".to_owned())));
        };
        let rendered = self.render(slot, &template.function, &edges, each, &Found::Absent);
        let key = match (&node.key, &rendered) {
            (None, Err(cause)) => match ledger.entries.get(slot) {
                Some(entry) => Ok(Some(entry.key)),
                None => Err(cause.clone()),
            },
            _ => self.key(slot, node, &edges, each, rendered.as_ref().ok().map(|it| &it.data)),
        };
        let key = match key {
            Ok(None) => {
                self.clean_up(slot, None);
                return None;
            }
            Ok(Some(key)) => key,
            Err(cause) => {
                let mut member = member.unknown(cause);
                member.causes.splice(0..0, edges.causes);
                return Some(member);
            }
        };
        let kind = member.key.as_ref().map(|it| it.kind.clone());
        if let Some(cause) = kind.and_then(|kind| self.facts.unseen_kind(&kind)) {
            return Some(member.unknown(cause));
        }
        let once = Coming { slot, node, edges: &edges, each, need };
        match ledger.entries.get(slot) {
            Some(entry) if entry.attempted_for(key) => {
                self.current(&once, entry, &mut member);
                if entry.end.is_none() {
                    self.start(&once, entry, identity, rendered, &mut member);
                }
            }
            entry => self.due(&once, entry, key, &mut member),
        }
        Some(member)
    }

    /// The attempt of the current key: done, failed, cut, or running.
    fn current(&mut self, once: &Coming<'_>, entry: &Entry, member: &mut Member) {
        let Coming { slot, node, .. } = *once;
        member.end = entry.end;
        match entry.end {
            Some(End::Passed) => {
                member.found = Found::Present(Data::from(entry.result.clone()));
                member.settled = Truth::True;
                member.ready = Truth::True;
                member.by_memory = true;
                self.clean_up(slot, Some(entry));
            }
            Some(end) => {
                member.found = Found::Present(Data::from(entry.result.clone()));
                self.clean_up(slot, Some(entry));
                let retry = node.once.as_ref().map_or(0, |it| it.retry);
                let (word, text) = match end {
                    End::Failed => {
                        // As long as the object is there, it says why.
                        let why = self.object_of(slot, entry).and_then(|it| own_words(&it));
                        let why = why.map_or_else(String::new, |it| format!(": {it}"));
                        (reason::FAILED, format!("the attempt failed{why}"))
                    }
                    _ => (reason::CUT, "the attempt was deleted before its end".to_owned()),
                };
                member.causes.push(Cause::stalled(word, text));
                let again = end == End::Failed && entry.retries < retry;
                if (again || self.resumed()) && member.open == Truth::True {
                    let retries = if again { entry.retries + 1 } else { 0 };
                    self.attempt(slot, entry.key, retries);
                    let nonce = self.annotation("resume").unwrap_or_default().to_owned();
                    self.record().resumed = nonce;
                }
            }
            None => self.watch(once, entry, member),
        }
    }

    /// A nonce of a human that was not used yet.
    fn resumed(&self) -> bool {
        let used = self.ledger().map(|it| it.resumed.as_str()).unwrap_or_default();
        self.annotation("resume").is_some_and(|nonce| nonce != used || mutant!(ResumeForEver))
    }

    fn object_of(&self, slot: &Slot, entry: &Entry) -> Option<Arc<Live>> {
        self.item_of(slot, entry).map(|it| it.live)
    }

    fn item_of(&self, slot: &Slot, entry: &Entry) -> Option<Item> {
        let attempt = Some((entry.key, entry.attempt));
        self.claims_of(&slot.node)
            .find(|(_, it)| it.claim.member == slot.member && it.claim.attempt == attempt)
            .map(|(_, it)| it.clone())
    }

    /// Looks for the end of an attempt and records it.
    fn watch(&mut self, once: &Coming<'_>, entry: &Entry, member: &mut Member) {
        let Coming { slot, node, edges, each, .. } = *once;
        let Some(item) = self.item_of(slot, entry) else { return };
        member.dropped = self.dropped(&item);
        let live = item.live;
        member.key = Some(live.key.clone());
        if let Some(cause) = self.unseen(&live.key) {
            member.causes.push(cause);
            return;
        }
        let found = Found::Present(Data::Live(live.clone()));
        let done = match node.once.as_ref().and_then(|it| it.done.as_ref()) {
            Some(wanted) => self.judge(wanted, &found, edges, each, Some(&found)),
            None => self.judge_shape(&Shape::Complete, &found),
        };
        let failed = match &node.fails {
            Some(wanted) => self.judge(wanted, &found, edges, each, Some(&found)).truth,
            None => self.judge_shape(&Shape::Failed, &found).truth,
        };
        let behind = self.behind(&live, node);
        let end = match (done.truth, failed) {
            (Truth::True, _) if behind.is_none() => Some(End::Passed),
            (_, Truth::True) if behind.is_none() => Some(End::Failed),
            _ if live.terminating && !mutant!(CutIsForgotten) => Some(End::Cut),
            _ => None,
        };
        let Some(end) = end else {
            member.causes.push(Cause::Shape(done.why));
            return;
        };
        let result = match end {
            End::Cut => Ok(Value::Null),
            _ => self.result(node, &live),
        };
        match result {
            Ok(result) => {
                member.causes.push(Cause::Pending("its end is being recorded".to_owned()));
                if let Some(next) = self.record().entries.get_mut(slot) {
                    next.end = Some(end);
                    next.result = result;
                }
                if mutant!(ReleaseBeforeRecord) {
                    self.try_again(Action::release(&live, false));
                }
            }
            Err(cause) => member.causes.push(cause),
        }
    }

    fn result(&mut self, node: &Node, live: &Live) -> Result<Value, Cause> {
        let result = match node.once.as_ref().and_then(|it| it.result.as_ref()) {
            Some(function) => match self.ask(function, Form::Whole, &*live.body) {
                Asked::Value(value) => value.value().clone(),
                Asked::Unknown(text) => return Err(Cause::Unknown(format!("its result: {text}"))),
                Asked::Error(text) => {
                    return Err(Cause::stalled(reason::ERROR, format!("its result: {text}")));
                }
            },
            None => json!({
                "apiVersion": live.body.get("apiVersion"), "kind": live.body.get("kind"),
                "metadata": { "name": live.key.name }, "status": live.body.get("status"),
            }),
        };
        let fits = serde_json::to_string(&result).is_ok_and(|text| text.len() <= MAX_RESULT_BYTES);
        Ok(if fits { result } else { Value::Null })
    }

    /// Creates the object of an attempt that is on record. It is never changed: what runs, runs.
    fn start(
        &mut self,
        once: &Coming<'_>,
        entry: &Entry,
        identity: Result<ObjectKey, Cause>,
        rendered: Result<Rendered, Cause>,
        member: &mut Member,
    ) {
        let Coming { slot, node, edges, need, .. } = *once;
        if self.object_of(slot, entry).is_some() {
            return;
        }
        let (key, body) = match (identity, rendered) {
            (Ok(key), Ok(body)) => (key, body),
            (Err(cause), _) | (_, Err(cause)) => {
                member.causes.push(cause);
                return;
            }
        };
        if let Err(cause) = named_alike(&key, body.data.value()) {
            member.causes.push(cause);
            return;
        }
        let key = attempt_name(&key, entry, self.facts.digest(&json!([entry.key, entry.attempt])));
        let marks = Marks { state: None, attempt: Some((entry.key, entry.attempt)) };
        match self.marked(slot, node, key, body, marks) {
            Ok(desired) => {
                self.converge(slot, node, &desired, need, member, &edges.causes);
                member.settled = Truth::False;
            }
            Err(cause) => member.causes.push(cause),
        }
    }

    /// A new attempt is due: after an unfinished one has ended, and once its edges are open.
    fn due(&mut self, once: &Coming<'_>, entry: Option<&Entry>, key: Digest, member: &mut Member) {
        let Coming { slot, node, edges, need, .. } = *once;
        if let Some(entry) = entry.filter(|it| it.end.is_none() && !mutant!(SupersededIsForgotten)) {
            self.supersede(once, entry, member);
            return;
        }
        if let Some(entry) = entry {
            self.clean_up(slot, Some(entry));
        }
        let first = entry.is_none();
        if first && node.first == First::Skip && need == Truth::True {
            self.record().entries.insert(slot.clone(), Entry::baseline(key));
            return;
        }
        if member.open != Truth::True || need != Truth::True {
            member.causes.extend(edges.causes.iter().cloned());
            return;
        }
        if first && self.next_ledger().entries.len() >= MAX_ENTRIES {
            let text = format!("the ledger has its {MAX_ENTRIES} entries already");
            member.causes.push(Cause::stalled(reason::ERROR, text));
            return;
        }
        member.causes.push(Cause::Pending("its attempt is being recorded".to_owned()));
        self.attempt(slot, key, 0);
    }

    /// An unfinished attempt for another key: waited for, or cancelled; never run beside another.
    fn supersede(&mut self, once: &Coming<'_>, entry: &Entry, member: &mut Member) {
        let Coming { slot, node, .. } = *once;
        let Some(live) = self.object_of(slot, entry) else {
            let kind = member.key.as_ref().map(|it| &it.kind);
            let in_flight = self.facts.unseen_of(kind);
            if let Some(key) = in_flight {
                let cause = self.unseen(&key);
                member.causes.extend(cause);
                return;
            }
            let until = self.facts.late_until();
            if self.facts.now() < until && !mutant!(LateAttempts) {
                self.wake_at(until);
                let text = "a write of the process that led before may still arrive";
                member.causes.push(Cause::Pending(text.to_owned()));
                return;
            }
            // Never begun, or gone without a trace: either way it did not pass.
            if let Some(next) = self.record().entries.get_mut(slot) {
                next.end = Some(End::Cut);
            }
            return;
        };
        self.watch(once, entry, member);
        if self.next_ledger().entries.get(slot).is_some_and(|it| it.end.is_some()) {
            return;
        }
        let text = format!("attempt {} for an older key has not ended ({})", entry.attempt, live.key);
        member.causes.insert(0, Cause::stalled(reason::SUPERSEDED, text));
        if node.superseded == Superseded::Cancel && !live.terminating && self.unseen(&live.key).is_none() {
            member.causes.extend(self.try_again(Action::delete(&live)));
        }
    }

    /// Takes our finalizer off once-objects whose end is on record, and deletes those of older attempts.
    fn clean_up(&mut self, slot: &Slot, current: Option<&Entry>) {
        let current = current.map(|it| (it.key, it.attempt));
        let unfinished = self.ledger().and_then(|it| it.entries.get(slot)).is_some_and(|it| it.end.is_none());
        if unfinished {
            return;
        }
        let mine: Vec<_> = self
            .claims_of(&slot.node)
            .filter(|(_, it)| it.claim.member == slot.member && it.claim.attempt.is_some())
            .map(|(_, it)| (it.live.clone(), it.claim.attempt != current))
            .collect();
        for (live, older) in mine {
            self.let_go(&live, older);
        }
    }

    /// Takes our finalizer off a once-object; then, if nothing needs it any more, deletes it.
    pub(super) fn let_go(&mut self, live: &Live, delete: bool) {
        if self.unseen(&live.key).is_some() {
            return;
        }
        // A refusal is not told: the node itself is where it should be, and it is tried again.
        if live.finalizers.contains(ONCE_FINALIZER) {
            self.try_again(Action::release(live, false));
        } else if delete && !live.terminating {
            self.try_again(Action::delete(live));
        }
    }
}

/// A name of its own for each attempt: an object of an older one is never taken for it.
fn attempt_name(key: &ObjectKey, entry: &Entry, digest: Digest) -> ObjectKey {
    const MAX_BASE: usize = 52;
    let end = key.name.char_indices().nth(MAX_BASE).map_or(key.name.len(), |(at, _)| at);
    let base = &key.name[..end];
    let name = if mutant!(OneNameForAllAttempts) && entry.attempt > 0 {
        base.to_owned()
    } else {
        format!("{base}-{}", digest.short())
    };
    ObjectKey::new(key.kind.clone(), key.namespace.clone(), name)
}
