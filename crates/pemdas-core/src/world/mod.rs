//! The world as an instance knows it: facts, and what follows from the order in which they came.
//!
//! Everything outside is a fact. Facts may come late, twice, or out of order between kinds; within a kind the
//! resourceVersion says which is newer, and an older one is dropped ([`World::learn`]).

mod claim;
mod dropped;
mod fields;
mod journal;
mod learn;
mod managers;
mod object;
mod pruned;
mod repair;
mod seal;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

pub use claim::{
    CLAIM_ANNOTATION, Claim, Finalizers, ONCE_FINALIZER, OUR_PREFIX, Owner, ROOT_LABEL, manager,
    memory_annotation, owner, place,
};
pub use dropped::{MAX_DROPPED, dropped};
pub use fields::{MAX_FIELDS, fields, had};
pub use journal::MAX_JOURNAL;
pub(crate) use journal::{Journal, Touch};
pub use learn::{Fact, Refusal, WriteOutcome};
pub use managers::{FieldSet, Managers};
pub use object::{KindKey, Live, ObjectKey, leaves, without};
pub use seal::{SEAL_FORMAT, Seal};

use crate::{
    action::{Action, timeless},
    digest::Digest,
    evaluate::Answers,
    ledger::{Ledger, Slot},
};

/// The longest pause between two tries, in milliseconds.
pub const MAX_BACK_OFF: u64 = 300_000;
/// A write that was refused so many times after the first one needs a human: some seven seconds.
const REFUSED_FOR_LONG: u32 = 3;
/// How many digests of objects that vanished are remembered, so that they can be put back while an edge is closed.
pub const MAX_VANISHED: usize = 1_000;
/// How many reversals of one object are remembered.
pub const MAX_REVERSALS: usize = 8;
/// How long an object stays at least of which nobody says that it goes away again and again, in milliseconds. As long one has to stay
/// away that was deleted.
pub const SHORT_LIFE: u64 = 300_000;
/// From which time on an object that goes away again and again is made with a pause, and one that comes back is deleted with a pause.
const MANY_TIMES: u32 = 3;

/// The pause before the next try, in milliseconds: twice as long each time, up to a limit.
#[must_use]
pub fn back_off(tries: u32) -> u64 {
    1_000_u64.saturating_mul(1 << tries.min(16)).min(MAX_BACK_OFF)
}

/// How a kind can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sight {
    /// The first list has not come.
    Unsynced,
    /// The list has come, and what followed.
    Synced,
    /// The account may not see it.
    Forbidden,
    /// There is no such kind.
    NoSuchKind,
}

/// What is known of a kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindView {
    /// How it can be seen.
    pub sight: Sight,
    /// The lease epoch in which its list began: one begun under an earlier lease does not count.
    pub epoch: u64,
    /// The resourceVersion of its list; of the oldest, where each namespace has its own.
    pub watermark: u64,
    /// Whether each of its objects says in `status.observedGeneration` which generation was observed: then it is waited for.
    pub observed_generation: bool,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

/// The lease under which we decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lease {
    /// Whether we hold it.
    pub held: bool,
    /// Counts the times it changed hands.
    pub epoch: u64,
}

/// The root of the instance.
#[derive(Debug, Clone, PartialEq)]
pub struct RootFact {
    /// Its identity.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: String,
    /// What names the instance in labels and as field manager: the uid, and what tells apart two blueprints that
    /// have the same root.
    pub instance: String,
    /// The object, while it exists.
    pub live: Option<Arc<Live>>,
    /// Whether its selector still picks it.
    pub selected: bool,
    /// Whether it was *seen* going. An object that merely is not there was perhaps never restored.
    pub seen_going: bool,
    /// Since when it is seen going.
    pub going_since: Option<u64>,
    /// Since when it is not there any more.
    pub gone_since: Option<u64>,
    /// Whether it was seen going with the wish that what it made stays (`kubectl delete --cascade=orphan`).
    pub orphaning: bool,
    /// What a human gave up by name (`pemdas.dev/skip-deletion`), as it stood when the root vanished.
    pub given_up: Option<Box<str>>,
}

impl RootFact {
    /// What a human gave up of it by name.
    #[must_use]
    pub fn skips(&self) -> Option<&str> {
        let skip = format!("{OUR_PREFIX}skip-deletion");
        self.live.as_ref().map_or(self.given_up.as_deref(), |it| it.annotation(&skip))
    }

    /// What this instance puts on it.
    #[must_use]
    pub fn finalizers(&self) -> Finalizers {
        Finalizers::of(&self.instance)
    }

    /// The annotation by which it says that its instance has a ledger.
    #[must_use]
    pub fn memory(&self) -> String {
        memory_annotation(&self.instance)
    }
}

/// What is known of the ledger.
#[derive(Debug, Clone, PartialEq)]
pub enum LedgerFact {
    /// Not read yet.
    Unknown,
    /// There is none.
    Absent,
    /// It is there.
    Present {
        /// Its resourceVersion.
        resource_version: u64,
        /// What it says.
        ledger: Box<Ledger>,
    },
    /// It is there and cannot be read.
    Unreadable,
}

/// What became of our last write to something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnWrite {
    /// It was sent, and there is no answer yet.
    InFlight,
    /// The answer was lost: it may or may not have happened.
    Lost,
    /// It happened at this resourceVersion.
    Applied(u64),
    /// The object with this uid is deleted, or terminating.
    Deleted(String),
}

/// A write that was refused, and how often in a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refused {
    /// The digest of what was tried: something else is tried at once.
    pub tried: Digest,
    /// How it was refused.
    pub refusal: Refusal,
    /// How often in a row.
    pub times: u32,
    /// When, last.
    pub at: u64,
}

impl Refused {
    /// Whether it was tried so often that nobody may hope that it ends by itself. It is tried again all the same.
    #[must_use]
    pub fn lasts(&self) -> bool {
        self.times >= REFUSED_FOR_LONG && !self.refusal.passes() && !mutant!(RefusedForEver)
    }

    /// When to try again.
    #[must_use]
    pub fn again(&self) -> u64 {
        // Only another template or another schema ends it.
        let lasts = matches!(self.refusal, Refusal::UnknownField(_)) && !mutant!(UnknownFieldAtOnce);
        self.at.saturating_add(if lasts { MAX_BACK_OFF } else { back_off(self.times) })
    }
}

/// An apply that took fields back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reversal {
    /// When.
    pub at: u64,
    /// The manager that had taken them; empty where nobody has them: they are removed, or the server does not keep them.
    pub from: String,
    /// The first of them.
    pub field: String,
}

/// An object that went, perhaps again and again: one of ours that others let go, or one that we deleted and others make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone {
    /// How often, each time soon after the last one.
    pub times: u32,
    /// When, last.
    pub at: u64,
}

impl Gone {
    /// When it may be made again, or deleted again.
    #[must_use]
    pub fn again(&self) -> u64 {
        match self.times.checked_sub(MANY_TIMES) {
            Some(more) => self.at.saturating_add(back_off(more)),
            None => self.at,
        }
    }

    /// Whether what happens now still belongs together with that.
    fn is_recent(self, now: u64) -> bool {
        now <= self.again().saturating_add(SHORT_LIFE)
    }

    /// Counts an object that went just now. What is long past is forgotten; where too many are remembered, those that went first are.
    fn count(all: &mut BTreeMap<ObjectKey, Self>, key: &ObjectKey, now: u64) {
        all.retain(|_, it| it.is_recent(now));
        let before = all.get(key).map_or(0, |it| it.times);
        all.insert(key.clone(), Self { times: before.saturating_add(1), at: now });
        while all.len() > MAX_VANISHED {
            let oldest = all.iter().min_by_key(|(_, it)| it.at).map(|(key, _)| key.clone());
            oldest.and_then(|it| all.remove(&it));
        }
    }
}

/// A status that was sent, and what the server made of it: a definition may prune fields that it does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusSent {
    /// The digest of what was sent, without its times.
    pub digest: Digest,
    /// The digest of the author's part of it.
    pub author: Digest,
    /// The resourceVersion of the root after the write.
    pub version: Option<u64>,
    /// The digest of the status that was there then.
    pub became: Option<Digest>,
}

/// The world as an instance knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    /// Counts the facts that may change a decision; the time is none of them, a decision says when it matters.
    pub changes: u64,
    /// The time, in milliseconds.
    pub now: u64,
    /// The lease.
    pub lease: Lease,
    /// The root.
    pub root: RootFact,
    /// Whether the root's namespace is being deleted.
    pub namespace_ending: bool,
    /// Why nothing may be written for any instance of the blueprint.
    pub suspended: Option<Box<str>>,
    /// Whether what an older key sealed is to be sealed anew.
    pub reseals: bool,
    /// The kinds that the instance speaks of or may have objects of.
    pub kinds: BTreeMap<KindKey, KindView>,
    /// The newest resourceVersion that a watch has told of a kind, by namespace.
    pub shown: BTreeMap<KindKey, BTreeMap<String, u64>>,
    /// The objects that are seen.
    pub objects: BTreeMap<ObjectKey, Arc<Live>>,
    /// Our last writes that were not seen yet; the ledger's is apart.
    pub writes: BTreeMap<ObjectKey, OwnWrite>,
    /// Writes that were refused.
    pub refused: BTreeMap<ObjectKey, Refused>,
    /// The applied digests of objects of ours that vanished.
    pub vanished: BTreeMap<ObjectKey, Digest>,
    /// The uids of objects that we deleted and that are not gone yet.
    pub(crate) deleted: BTreeMap<ObjectKey, String>,
    /// Objects of ours that went without our doing.
    pub gone: BTreeMap<ObjectKey, Gone>,
    /// Objects that we deleted and did not make again.
    pub expelled: BTreeMap<ObjectKey, Gone>,
    /// When we took fields back, and from whom.
    pub reversals: BTreeMap<ObjectKey, Vec<Reversal>>,
    /// Applies whose result was not looked at yet.
    pub(crate) applying: BTreeMap<ObjectKey, Arc<Action>>,
    /// What the server did not keep of our last apply (`Live::unkept`), where there is such a thing.
    pub(crate) unkept: BTreeMap<ObjectKey, BTreeSet<String>>,
    /// The fields that the answer to our last apply does not have ([`dropped()`]), where that was seen by this process.
    pub(crate) dropped: BTreeMap<ObjectKey, BTreeSet<String>>,
    /// The resourceVersions of direct looks that the watch has not reached.
    pub looked: BTreeMap<ObjectKey, u64>,
    /// The ledger.
    pub ledger: LedgerFact,
    /// The ledger as it was last seen, where it went without our doing.
    pub(crate) torn_ledger: Option<Box<Ledger>>,
    /// Whether we sent that the ledger is to go.
    forgets_ledger: bool,
    /// Whether a direct look has found no ledger: a list may be older than the root.
    pub ledger_missed: bool,
    /// The ledger of an earlier root that this one's annotation names, by the name of its instance; unknown while it is
    /// being read.
    pub old_ledger: Option<(String, LedgerFact)>,
    /// Our last write to the ledger.
    pub ledger_write: Option<OwnWrite>,
    /// How the last write to the ledger was refused, and how often in a row.
    pub ledger_refused: Option<Refused>,
    /// The answers of the evaluator.
    pub answers: Answers,
    /// The key of the digests.
    pub secret: Vec<u8>,
    /// What tells our claims from forged ones.
    pub seal: Seal,
    /// A random string, from which seeds are made.
    pub entropy: String,
    /// The last response of the Service of a `report`.
    pub report: Option<Value>,
    /// Why there is no newer response.
    pub report_trouble: Option<String>,
    /// What was told of the instance and its nodes, so that an Event is sent once.
    pub told: BTreeMap<Option<Slot>, String>,
    /// What was told of fields that the server dropped, so that an Event is sent once.
    pub told_dropped: BTreeMap<Slot, String>,
    /// When the status was written last.
    pub status_at: Option<u64>,
    /// What the last facts were about.
    pub(crate) journal: Journal,
    /// Since when we lead.
    pub(crate) led_since: u64,
    /// When the last fact came that may change a decision.
    pub(crate) changed_at: u64,
    /// The status that was sent last, and what became of it.
    pub status_sent: Option<StatusSent>,
    /// The same as it was sent, until it is known what became of it.
    pub(crate) status_under_way: Option<Arc<Action>>,
    /// The fields of it that the server did not keep; nothing while this process has written none.
    pub status_pruned: Option<BTreeSet<String>>,
    /// Since when the status on the root is not the one it should be.
    pub status_stale: Option<u64>,
    /// The number of changes after which the status was made last: before the next change it may be made again.
    pub(crate) status_made: Option<u64>,
    /// Digests of authors' parts of a status that the server refused as invalid, and when: these are left out for a while.
    pub unfit: Vec<(Digest, u64)>,
}

/// How many refused parts of a status are remembered.
const MAX_UNFIT: usize = 4;
/// For how long they are left out, in milliseconds: a definition may be mended meanwhile.
const UNFIT_FOR: u64 = 300_000;

/// What of a status is the author's.
#[must_use]
pub fn author_part(status: &Value) -> Value {
    let mut status = status.clone();
    if let Some(fields) = status.as_object_mut() {
        for own in ["conditions", "observedGeneration", "pemdas"] {
            fields.remove(own);
        }
    }
    status
}

impl World {
    /// A world in which nothing was seen but the root's name.
    #[must_use]
    pub fn new(key: ObjectKey, uid: impl Into<String>) -> Self {
        let uid = uid.into();
        Self {
            changes: 0,
            now: 0,
            lease: Lease::default(),
            root: RootFact {
                key,
                instance: uid.clone(),
                uid,
                live: None,
                selected: true,
                seen_going: false,
                going_since: None,
                gone_since: None,
                orphaning: false,
                given_up: None,
            },
            namespace_ending: false,
            suspended: None,
            reseals: false,
            kinds: BTreeMap::new(),
            shown: BTreeMap::new(),
            objects: BTreeMap::new(),
            writes: BTreeMap::new(),
            refused: BTreeMap::new(),
            vanished: BTreeMap::new(),
            deleted: BTreeMap::new(),
            gone: BTreeMap::new(),
            expelled: BTreeMap::new(),
            reversals: BTreeMap::new(),
            applying: BTreeMap::new(),
            unkept: BTreeMap::new(),
            dropped: BTreeMap::new(),
            looked: BTreeMap::new(),
            ledger: LedgerFact::Unknown,
            torn_ledger: None,
            forgets_ledger: false,
            ledger_missed: false,
            old_ledger: None,
            ledger_write: None,
            ledger_refused: None,
            answers: Answers::default(),
            secret: Vec::new(),
            seal: Seal::Unverified,
            entropy: String::new(),
            report: None,
            report_trouble: None,
            told: BTreeMap::new(),
            told_dropped: BTreeMap::new(),
            status_at: None,
            journal: Journal::default(),
            led_since: 0,
            changed_at: 0,
            status_stale: None,
            status_made: None,
            status_sent: None,
            status_under_way: None,
            status_pruned: None,
            unfit: Vec::new(),
        }
    }

    /// Why a kind cannot be judged now; nothing if it can.
    #[must_use]
    pub fn blind(&self, kind: &KindKey) -> Option<String> {
        let view = self.kinds.get(kind);
        match view.map(|it| it.sight) {
            None | Some(Sight::Unsynced) => Some(format!("{kind} is not listed yet")),
            Some(Sight::Forbidden) => Some(format!("{kind} may not be listed by this account")),
            Some(Sight::NoSuchKind) => Some(format!("there is no kind {kind} in the cluster")),
            Some(Sight::Synced)
                if view.is_some_and(|it| it.epoch < self.lease.epoch) && !mutant!(StaleEpoch) =>
            {
                Some(format!("{kind} was listed under an earlier lease"))
            }
            Some(Sight::Synced) => None,
        }
    }

    /// The objects of a kind that are seen.
    pub fn objects_of<'w>(&'w self, kind: &KindKey) -> impl Iterator<Item = &'w Arc<Live>> + use<'w> {
        let first = ObjectKey::new(kind.clone(), String::new(), String::new());
        let kind = first.kind.clone();
        self.objects.range(first..).map(|(_, live)| live).take_while(move |live| live.key.kind == kind)
    }

    /// What holds an object back because of our own last write, or nothing if that was seen.
    #[must_use]
    pub fn unseen_write(&self, key: &ObjectKey) -> Option<&OwnWrite> {
        let write = self.writes.get(key)?;
        let object = self.objects.get(key);
        let seen = match write {
            OwnWrite::InFlight | OwnWrite::Lost => false,
            OwnWrite::Applied(version) => {
                self.shown_up_to(key) >= *version || object.is_some_and(|it| it.resource_version >= *version)
            }
            OwnWrite::Deleted(uid) => object.is_none_or(|it| it.uid != *uid || it.terminating),
        };
        (!seen).then_some(write)
    }

    /// Up to which resourceVersion everything is seen of the kind where this object is.
    #[must_use]
    pub fn shown_up_to(&self, key: &ObjectKey) -> u64 {
        let listed = self.kinds.get(&key.kind).map_or(0, |it| it.watermark);
        let told = self.shown.get(&key.kind).and_then(|it| it.get(&key.namespace));
        told.map_or(listed, |it| listed.max(*it))
    }

    /// Says that something changed. Facts do so by themselves; whoever changes a field by hand has to.
    pub(crate) fn touch(&mut self, touch: Touch) {
        self.note_change(touch, None);
    }

    pub(crate) fn note_change(&mut self, touch: Touch, object: Option<&ObjectKey>) {
        self.changes += 1;
        self.changed_at = self.now;
        self.journal.note(self.changes, touch, object);
    }

    /// Says that anything may have changed: for whoever changed a field without a fact.
    pub fn touch_everything(&mut self) {
        self.touch(Touch::EVERYTHING);
    }

    /// Puts away what is known until it is read again: the same world in a tenth of the memory. Whoever shares its
    /// objects with others says what each is replaced by.
    pub fn rest(&mut self, put_away: &mut dyn FnMut(&Arc<Live>) -> Arc<Live>) {
        for live in self.objects.values_mut().chain(&mut self.root.live) {
            *live = put_away(live);
        }
        self.answers.rest();
        self.journal.forget(self.changes);
    }

    /// Whether a status already exists, in the form that the server gave it when it was last sent.
    #[must_use]
    pub fn is_what_became(&self, status: &Value, there: &Value) -> bool {
        let Some(StatusSent { digest, became: Some(became), .. }) = &self.status_sent else { return false };
        *digest == self.digest(&timeless(status)) && *became == self.digest(there)
    }

    /// What the server made of the status that was sent last, once the root is seen as that write left it.
    fn look_at_status(&mut self) {
        let Some(live) = self.root.live.clone() else { return };
        let version = Some(live.resource_version);
        let unknown =
            self.status_sent.as_ref().is_some_and(|it| it.version == version && it.became.is_none());
        if !unknown {
            return;
        }
        let became = live.body.get("status");
        let digest = became.map(|it| self.digest(it));
        if let Some(sent) = &mut self.status_sent {
            sent.became = digest;
        }
        if let Some(Action::Status { status, .. }) = self.status_under_way.take().as_deref() {
            self.status_pruned = Some(pruned::pruned(status, became.unwrap_or(&Value::Null)));
        }
    }

    /// Until when this author's part of a status is left out because the server has refused it.
    #[must_use]
    pub fn unfit_until(&self, author: &Value) -> Option<u64> {
        if self.unfit.is_empty() || author.as_object().is_none_or(serde_json::Map::is_empty) {
            return None;
        }
        let digest = self.digest(&author_part(author));
        let refused = self.unfit.iter().find(|(it, _)| *it == digest);
        refused.map(|(_, at)| at.saturating_add(UNFIT_FOR)).filter(|until| *until > self.now)
    }

    /// Remembers that the server refused the status that was sent.
    fn refuse_status(&mut self) {
        let Some(sent) = self.status_sent.as_ref().filter(|it| it.version.is_none()) else { return };
        let author = sent.author;
        self.unfit.retain(|(it, _)| *it != author);
        self.unfit.push((author, self.now));
        let extra = self.unfit.len().saturating_sub(MAX_UNFIT);
        self.unfit.drain(..extra);
    }

    /// Whose an object is, as seen from this instance.
    #[must_use]
    pub fn owner(&self, object: &Live) -> Owner {
        owner(object, &self.root.instance, &self.seal)
    }

    /// A digest under this world's key.
    #[must_use]
    pub fn digest(&self, value: &Value) -> Digest {
        Digest::of(&self.secret, value)
    }
}
