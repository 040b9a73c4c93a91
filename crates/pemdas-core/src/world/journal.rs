//! What changed, in a few bytes for each change: so that a pass goes only where something happened.
//!
//! A change is a number made from what it is about. Two things that share a number by accident are both looked at
//! again, which costs time and nothing else: a change is never missed.

use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash, Hasher},
};

use super::{KindKey, ObjectKey};
use crate::digest::Digest;

/// How many changes are kept; whoever is further behind looks at everything.
pub const MAX_JOURNAL: usize = 64;

/// Something that may change, as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Touch(u64);

impl Touch {
    /// More than can be said: everything is looked at.
    pub(crate) const EVERYTHING: Self = Self(0);
    /// The ledger, or a write to it.
    pub(crate) const LEDGER: Self = Self(1);
    /// The root object.
    pub(crate) const ROOT: Self = Self(2);
    /// The root as templates see it.
    pub(crate) const ROOT_INPUT: Self = Self(3);
    /// What people and we write on the root for ourselves: annotations and finalizers.
    pub(crate) const ROOT_MARKS: Self = Self(4);
    /// What only the report reads.
    pub(crate) const REPORT: Self = Self(5);

    /// An object, a write to it, and what is remembered of it.
    pub(crate) fn object(key: &ObjectKey) -> Self {
        Self::about(10, key)
    }

    /// The set of the objects of a kind.
    pub(crate) fn objects(kind: &KindKey) -> Self {
        Self::about(11, kind)
    }

    /// An answer of the evaluator.
    pub(crate) fn answer(question: Digest) -> Self {
        Self::about(12, &question)
    }

    /// Which objects say that a node made them.
    pub(crate) fn claims(node: &str) -> Self {
        Self::about(13, node)
    }

    /// How far a node is.
    pub(crate) fn node(node: &str) -> Self {
        Self::about(14, node)
    }

    /// What is found of a node's objects.
    pub(crate) fn found(node: &str) -> Self {
        Self::about(15, node)
    }

    fn about<T: Hash + ?Sized>(what: u8, thing: &T) -> Self {
        // Without a random key: the same input gives the same number.
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        thing.hash(&mut hasher);
        Self(hasher.finish() | 1 << 63)
    }
}

/// A change: its number in the order of facts, what it is about, and the object where it is one.
type Entry = (u64, Touch, Option<Box<ObjectKey>>);

/// The last changes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Journal {
    entries: VecDeque<Entry>,
    /// Everything up to here may have been dropped.
    dropped: u64,
}

impl Journal {
    pub(crate) fn note(&mut self, at: u64, touch: Touch, object: Option<&ObjectKey>) {
        // The same thing again: the newer entry says all that the older one said.
        let known = self.entries.iter().position(|(_, known, _)| *known == touch);
        let entry = match known.and_then(|at| self.entries.remove(at)) {
            // What a watch that went on touches is noted without its key: a later change of the object itself has one.
            Some((_, _, known)) => (at, touch, known.or_else(|| object.cloned().map(Box::new))),
            None => (at, touch, object.cloned().map(Box::new)),
        };
        self.entries.push_back(entry);
        if self.entries.len() > MAX_JOURNAL
            && let Some((dropped, _, _)) = self.entries.pop_front()
        {
            self.dropped = dropped;
        }
    }

    /// Forgets everything up to a point: whoever has not seen it looks at everything.
    pub(crate) fn forget(&mut self, at: u64) {
        *self = Self { entries: VecDeque::new(), dropped: at };
    }

    /// What changed after a point, newest first; nothing if that is no longer known.
    pub(crate) fn since(&self, at: u64) -> Option<impl Iterator<Item = (Touch, Option<&ObjectKey>)>> {
        let newer = self.entries.iter().rev().take_while(move |(then, _, _)| *then > at);
        (at >= self.dropped).then(|| newer.map(|(_, touch, object)| (*touch, object.as_deref())))
    }
}

#[cfg(test)]
mod tests {
    use super::{Journal, KindKey, MAX_JOURNAL, ObjectKey, Touch};

    #[test]
    fn an_object_that_changed_is_named_also_where_it_was_touched_before() {
        let kind = KindKey::new("v1", "ConfigMap");
        let key = ObjectKey::new(kind, "n", "a");
        let touch = Touch::object(&key);
        let mut journal = Journal::default();
        journal.note(1, touch, None);
        journal.note(2, touch, Some(&key));
        journal.note(3, touch, None);
        let noted: Vec<_> = journal.since(0).into_iter().flatten().collect();
        assert_eq!(noted, [(touch, Some(&key))]);
    }

    #[test]
    fn a_journal_is_bounded_and_says_when_it_does_not_know() {
        let mut journal = Journal::default();
        for at in 1..=10 {
            journal.note(at, Touch::claims("same"), None);
        }
        assert_eq!(journal.since(0).map(Iterator::count), Some(1), "the same thing is noted once");
        for at in 11..=u64::try_from(MAX_JOURNAL).unwrap() + 20 {
            journal.note(at, Touch::claims(&at.to_string()), None);
        }
        assert!(journal.since(0).is_none(), "what was dropped is not known");
        assert!(journal.since(10).is_none());
        assert_eq!(journal.since(21).map(Iterator::count), Some(MAX_JOURNAL - 1));
    }
}
