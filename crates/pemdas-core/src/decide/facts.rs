//! The world as a step of a pass reads it: every reading is noted, so that the step is taken again when, and only
//! when, something that it read has changed.

use std::{cell::RefCell, collections::BTreeSet, sync::Arc};

use serde_json::Value;

use super::{reason, why::Cause};
use crate::{
    digest::Digest,
    evaluate::Answer,
    world::{
        Gone, KindKey, KindView, Live, ObjectKey, OwnWrite, Owner, Refused, Reversal, RootFact, Sight, Touch,
        World,
    },
};

/// The world, and what was read of it since that was last asked.
pub(super) struct Facts<'a> {
    world: &'a World,
    reads: RefCell<Vec<Touch>>,
}

impl<'a> Facts<'a> {
    pub(super) fn new(world: &'a World) -> Self {
        Self { world, reads: RefCell::default() }
    }

    /// All of it, unnoted: for the report, which is made anew whenever anything moved.
    pub(super) fn all(&self) -> &'a World {
        self.world
    }

    pub(super) fn read(&self, touch: Touch) {
        let mut reads = self.reads.borrow_mut();
        // Most things are read several times in a row.
        if !reads.iter().rev().take(8).any(|it| *it == touch) {
            reads.push(touch);
        }
    }

    pub(super) fn take_reads(&self) -> Vec<Touch> {
        let mut reads = std::mem::take(&mut *self.reads.borrow_mut());
        reads.sort_unstable();
        reads.dedup();
        reads.shrink_to_fit();
        reads
    }

    // What changes only together with everything is not noted.

    pub(super) fn now(&self) -> u64 {
        self.world.now
    }

    /// Until when a write of the process that led before may still arrive.
    pub(super) fn late_until(&self) -> u64 {
        self.world.led_since.saturating_add(super::LATE_WRITES)
    }

    pub(super) fn root(&self) -> &'a RootFact {
        &self.world.root
    }

    pub(super) fn secret(&self) -> &'a [u8] {
        &self.world.secret
    }

    pub(super) fn entropy(&self) -> &'a str {
        &self.world.entropy
    }

    pub(super) fn digest(&self, value: &Value) -> Digest {
        self.world.digest(value)
    }

    pub(super) fn owner(&self, object: &Live) -> Owner {
        self.world.owner(object)
    }

    pub(super) fn blind(&self, kind: &KindKey) -> Option<String> {
        self.world.blind(kind)
    }

    /// The same as what holds something up. What may not be seen stays so until somebody grants it.
    pub(super) fn unseen_kind(&self, kind: &KindKey) -> Option<Cause> {
        let why = self.blind(kind)?;
        let is_refused = self.kind(kind).is_some_and(|it| it.sight == Sight::Forbidden);
        Some(if is_refused { Cause::stalled(reason::REFUSED, why) } else { Cause::Unknown(why) })
    }

    pub(super) fn kind(&self, kind: &KindKey) -> Option<&'a KindView> {
        self.world.kinds.get(kind)
    }

    // What changes alone.

    pub(super) fn object(&self, key: &ObjectKey) -> Option<&'a Arc<Live>> {
        self.read(Touch::object(key));
        self.world.objects.get(key)
    }

    pub(super) fn objects_of(&self, kind: &KindKey) -> impl Iterator<Item = &'a Arc<Live>> + use<'a> {
        self.read(Touch::objects(kind));
        self.world.objects_of(kind)
    }

    pub(super) fn unseen_write(&self, key: &ObjectKey) -> Option<&'a OwnWrite> {
        self.read(Touch::object(key));
        self.world.unseen_write(key)
    }

    pub(super) fn has_write(&self, key: &ObjectKey) -> bool {
        self.read(Touch::object(key));
        self.world.writes.contains_key(key)
    }

    /// An object of a kind, our last write to which was not seen.
    pub(super) fn unseen_of(&self, kind: Option<&KindKey>) -> Option<ObjectKey> {
        let kind = kind?;
        self.read(Touch::objects(kind));
        let mut keys = self.world.writes.keys().filter(|it| it.kind == *kind);
        keys.find(|it| self.world.unseen_write(it).is_some()).cloned()
    }

    pub(super) fn refused(&self, key: &ObjectKey) -> Option<&'a Refused> {
        self.read(Touch::object(key));
        self.world.refused.get(key)
    }

    pub(super) fn vanished(&self, key: &ObjectKey) -> Option<Digest> {
        self.read(Touch::object(key));
        self.world.vanished.get(key).copied()
    }

    pub(super) fn gone(&self, key: &ObjectKey) -> Option<Gone> {
        self.read(Touch::object(key));
        self.world.gone.get(key).copied()
    }

    /// Whether we deleted an object, and how often it came back.
    pub(super) fn expelled(&self, key: &ObjectKey) -> Option<Gone> {
        self.read(Touch::object(key));
        self.world.expelled.get(key).copied()
    }

    /// What the server did not keep of our last apply.
    pub(super) fn unkept(&self, key: &ObjectKey) -> Option<&'a BTreeSet<String>> {
        self.read(Touch::object(key));
        self.world.unkept.get(key)
    }

    /// The fields that the answer to our last apply does not have, where this process saw one.
    pub(super) fn dropped(&self, key: &ObjectKey) -> Option<&'a BTreeSet<String>> {
        self.read(Touch::object(key));
        self.world.dropped.get(key)
    }

    /// Whether what an older key sealed is to be sealed anew.
    pub(super) fn reseals(&self) -> bool {
        self.world.reseals
    }

    pub(super) fn reversals(&self, key: &ObjectKey) -> Option<&'a [Reversal]> {
        self.read(Touch::object(key));
        self.world.reversals.get(key).map(Vec::as_slice)
    }

    pub(super) fn answer(&self, question: Digest) -> Option<(&'a Arc<Answer>, Option<u64>)> {
        self.read(Touch::answer(question));
        self.world.answers.shared(question)
    }
}
