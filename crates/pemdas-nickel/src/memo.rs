//! Answers that are known already. Evaluation is pure: the same blueprint, asked the same, answers the same.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard};

use sha2::{Digest as _, Sha256};

use crate::evaluator::Evaluator;
use crate::request::{Answer, Failure, Request};

type Key = [u8; 32];

/// A bounded store of answers, the least recently used dropped first. A clone is the same store.
#[derive(Debug, Clone)]
pub struct Memo {
    store: Arc<Mutex<Store>>,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct Store {
    entries: BTreeMap<Key, Entry>,
    /// By the time of the last use.
    order: BTreeMap<u64, Key>,
    clock: u64,
    bytes: usize,
    hits: u64,
    misses: u64,
}

#[derive(Debug)]
struct Entry {
    /// As JSON: what it weighs is known, and nothing is shared with who asked.
    answer: Vec<u8>,
    used: u64,
}

/// What an entry costs beside its answer.
const ENTRY_BYTES: usize = 200;

impl Memo {
    /// A store that holds at most so many bytes.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self { store: Arc::default(), max_bytes }
    }

    /// An evaluator that looks here first. The scope says what answers depend on beside the request: the blueprint's digest, and
    /// whoever it is evaluated for.
    pub fn over<E: Evaluator>(&self, evaluator: E, identity: &str, digest: [u8; 32]) -> Memoized<E> {
        Memoized { memo: self.clone(), evaluator, identity: identity.to_owned(), digest }
    }

    /// How often an answer was there, and how often not.
    #[must_use]
    pub fn hits_and_misses(&self) -> (u64, u64) {
        let store = self.lock();
        (store.hits, store.misses)
    }

    /// How many bytes it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let store = &mut *self.lock();
        store.clock += 1;
        let Some(entry) = store.entries.get_mut(key) else {
            store.misses += 1;
            return None;
        };
        store.hits += 1;
        store.order.remove(&entry.used);
        entry.used = store.clock;
        store.order.insert(store.clock, *key);
        Some(entry.answer.clone())
    }

    fn put(&self, key: Key, answer: Vec<u8>) {
        let weight = answer.len() + ENTRY_BYTES;
        // One answer may not push out everything else.
        if weight > self.max_bytes / 4 {
            return;
        }
        let store = &mut *self.lock();
        store.remove(&key);
        store.clock += 1;
        store.bytes += weight;
        store.order.insert(store.clock, key);
        store.entries.insert(key, Entry { answer, used: store.clock });
        while store.bytes > self.max_bytes
            && let Some((_, oldest)) = store.order.first_key_value()
        {
            let oldest = *oldest;
            store.remove(&oldest);
        }
    }
}

impl Store {
    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.used);
            self.bytes -= entry.answer.len() + ENTRY_BYTES;
        }
    }
}

/// An evaluator with a memory.
#[derive(Debug)]
pub struct Memoized<E> {
    memo: Memo,
    evaluator: E,
    identity: String,
    digest: [u8; 32],
}

impl<E: Evaluator> Memoized<E> {
    fn key(&self, request: &Request) -> Option<Key> {
        let mut hash = HashWriter(Sha256::new());
        hash.0.update(self.digest);
        hash.0.update((self.identity.len() as u64).to_be_bytes());
        hash.0.update(self.identity.as_bytes());
        serde_json::to_writer(&mut hash, request).ok()?;
        Some(hash.0.finalize().into())
    }
}

impl<E: Evaluator> Evaluator for Memoized<E> {
    fn ask(&self, request: &Request) -> Result<Answer, Failure> {
        // Of many calls, some may have been stopped; who asks so many remembers each by itself.
        let key = if matches!(request, Request::Render { .. }) { None } else { self.key(request) };
        let Some(key) = key else { return self.evaluator.ask(request) };
        if let Some(known) = self.memo.get(&key)
            && let Ok(answer) = serde_json::from_slice(&known)
        {
            return answer;
        }
        let answer = self.evaluator.ask(request);
        // What was stopped from outside may go well next time.
        if !matches!(&answer, Err(failure) if failure.is_transient())
            && let Ok(bytes) = serde_json::to_vec(&answer)
        {
            self.memo.put(key, bytes);
        }
        answer
    }
}

struct HashWriter(Sha256);

impl Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::json;

    use super::*;
    use crate::request::{Kill, Place};

    /// Counts how often it is asked.
    struct Counter(Cell<u64>);

    impl Evaluator for Counter {
        fn ask(&self, request: &Request) -> Result<Answer, Failure> {
            self.0.set(self.0.get() + 1);
            match request {
                Request::Evaluate { place } if place.file == "killed" => {
                    Err(Failure::Killed { why: Kill::Time })
                }
                Request::Evaluate { place } if place.file == "fuel" => {
                    Err(Failure::FuelExhausted { fuel: 1 })
                }
                _ => Ok(Answer::Json(json!("x".repeat(1000)))),
            }
        }
    }

    fn file(name: &str) -> Request {
        Request::Evaluate { place: Place::file(name) }
    }

    #[test]
    fn the_same_question_is_asked_once_unless_it_was_stopped() {
        let memo = Memo::new(1 << 20);
        let known = memo.over(Counter(Cell::new(0)), "a", [0; 32]);
        for _ in 0..3 {
            assert_eq!(known.ask(&file("fuel")), Err(Failure::FuelExhausted { fuel: 1 }));
            assert!(known.ask(&file("x")).is_ok());
        }
        assert_eq!(known.evaluator.0.get(), 2);
        for _ in 0..3 {
            assert!(known.ask(&file("killed")).is_err());
        }
        assert_eq!(known.evaluator.0.get(), 5);
    }

    #[test]
    fn identities_and_blueprints_do_not_share() {
        let memo = Memo::new(1 << 20);
        let first = memo.over(Counter(Cell::new(0)), "a", [0; 32]);
        let other = memo.over(Counter(Cell::new(0)), "b", [0; 32]);
        let newer = memo.over(Counter(Cell::new(0)), "a", [1; 32]);
        for evaluator in [&first, &other, &newer] {
            assert!(evaluator.ask(&file("x")).is_ok());
            assert_eq!(evaluator.evaluator.0.get(), 1);
        }
    }

    #[test]
    fn it_never_holds_more_than_it_may_and_drops_the_oldest() {
        let memo = Memo::new(10_000);
        let known = memo.over(Counter(Cell::new(0)), "a", [0; 32]);
        for index in 0..100 {
            assert!(known.ask(&file(&format!("{index}"))).is_ok());
            assert!(known.ask(&file("0")).is_ok());
            assert!(memo.bytes() <= 10_000, "{}", memo.bytes());
        }
        // The one that was always used is still there.
        assert_eq!(known.evaluator.0.get(), 100);
        assert!(known.ask(&file("1")).is_ok());
        assert_eq!(known.evaluator.0.get(), 101);
        assert_eq!(memo.hits_and_misses(), (100, 101));
    }
}
