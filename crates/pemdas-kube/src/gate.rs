//! Who may read a blueprint now: namespaces in a circle.
//!
//! *The accident*: a process starts, one namespace has a hundred blueprints that take a minute each to be read, and the one of
//! somebody else stands behind them. So few are read at once, fewer of one namespace, and namespaces take turns.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

use crate::{compile::Compiler, machine::Machine};

/// Blueprints that are read at once.
const MAX_READINGS: usize = 8;
/// Blueprints of one namespace that are read at once.
const MAX_READINGS_EACH: usize = 2;

/// Those who wait, in a circle of namespaces.
#[derive(Debug)]
struct Circle<T> {
    most: usize,
    each: usize,
    waiting: BTreeMap<String, VecDeque<T>>,
    circle: VecDeque<String>,
    under_way: BTreeMap<String, usize>,
}

impl<T> Circle<T> {
    fn new(most: usize, each: usize) -> Self {
        let (waiting, circle, under_way) = (BTreeMap::new(), VecDeque::new(), BTreeMap::new());
        Self { most, each, waiting, circle, under_way }
    }

    fn push(&mut self, namespace: &str, one: T) {
        let waiting = self.waiting.entry(namespace.to_owned()).or_default();
        if waiting.is_empty() {
            self.circle.push_back(namespace.to_owned());
        }
        waiting.push_back(one);
    }

    /// The next, if there is room; it is under way then.
    fn pop(&mut self) -> Option<(String, T)> {
        if self.under_way.values().sum::<usize>() >= self.most {
            return None;
        }
        let has_room = |it: &String| self.under_way.get(it).is_none_or(|it| *it < self.each);
        let namespace = self.circle.remove(self.circle.iter().position(has_room)?)?;
        let waiting = self.waiting.get_mut(&namespace)?;
        let next = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&namespace);
        } else {
            self.circle.push_back(namespace.clone());
        }
        *self.under_way.entry(namespace.clone()).or_default() += 1;
        Some((namespace, next?))
    }

    fn ended(&mut self, namespace: &str) {
        if let Some(count) = self.under_way.get_mut(namespace) {
            *count -= 1;
            if *count == 0 {
                self.under_way.remove(namespace);
            }
        }
    }
}

/// Lets so many through at once. Clones are the same gate.
#[derive(Debug, Clone)]
pub(crate) struct Gate(Arc<Mutex<Circle<oneshot::Sender<Place>>>>);

/// Somebody who was let through, until this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    gate: Gate,
    namespace: String,
}

impl Default for Gate {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Circle::new(MAX_READINGS, MAX_READINGS_EACH))))
    }
}

impl Gate {
    /// Waits for its turn.
    pub(crate) async fn enter(&self, namespace: &str) -> Option<Place> {
        let (sender, turn) = oneshot::channel();
        self.circle().push(namespace, sender);
        self.admit();
        turn.await.ok()
    }

    fn admit(&self) {
        loop {
            // Not under the lock: whoever does not wait any more gives the place back at once.
            let next = self.circle().pop();
            let Some((namespace, sender)) = next else { return };
            drop(sender.send(Place { gate: self.clone(), namespace }));
        }
    }

    /// A panic while it was held has left it whole: every change to it is a single step.
    fn circle(&self) -> MutexGuard<'_, Circle<oneshot::Sender<Place>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.gate.circle().ended(&self.namespace);
        self.gate.admit();
    }
}

/// Reads blueprints beside the loop.
#[derive(Clone)]
pub(crate) struct Readers {
    gate: Gate,
    machine: Machine,
    compiler: Arc<dyn Compiler>,
}

impl Readers {
    pub(crate) fn new(machine: Machine, compiler: Arc<dyn Compiler>) -> Self {
        Self { gate: Gate::default(), machine, compiler }
    }

    /// Has something read when it is the turn of a namespace; nothing if it is not wanted any more by then, or came to nothing.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        namespace: &str,
        wanted: impl FnOnce() -> bool,
        work: impl FnOnce(&dyn Compiler) -> T + Send + 'static,
    ) -> Option<T> {
        let place = self.gate.enter(namespace).await?;
        if !wanted() {
            return None;
        }
        let compiler = self.compiler.clone();
        let read = self.machine.spawn_blocking(move || work(&*compiler)).await;
        drop(place);
        read.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{Circle, Gate, MAX_READINGS, MAX_READINGS_EACH};

    #[test]
    fn namespaces_take_turns_and_none_takes_all_places() {
        let mut circle = Circle::new(4, 2);
        for number in 0..10 {
            circle.push("crowd", number);
        }
        circle.push("a", 100);
        circle.push("b", 200);
        let first: Vec<_> = std::iter::from_fn(|| circle.pop()).collect();
        let shown: Vec<_> = first.iter().map(|(namespace, it)| (namespace.as_str(), *it)).collect();
        assert_eq!(shown, [("crowd", 0), ("a", 100), ("b", 200), ("crowd", 1)]);
        circle.ended("a");
        assert_eq!(circle.pop(), None, "the crowd has as many as it may");
        circle.push("c", 300);
        assert_eq!(circle.pop(), Some(("c".to_owned(), 300)));
        circle.ended("crowd");
        assert_eq!(circle.pop(), Some(("crowd".to_owned(), 2)));
    }

    #[tokio::test]
    async fn a_place_is_free_again_when_it_is_left_or_nobody_waits_for_it_any_more() {
        let gate = Gate::default();
        let first: Vec<_> = [gate.enter("n").await, gate.enter("n").await].into();
        assert_eq!((first.len(), MAX_READINGS > MAX_READINGS_EACH), (MAX_READINGS_EACH, true));
        let waits = tokio::time::timeout(std::time::Duration::from_millis(1), gate.enter("n")).await;
        assert!(waits.is_err(), "there is no third place");
        drop(first);
        for _ in 0..MAX_READINGS {
            assert!(gate.enter("n").await.is_some());
        }
    }
}
