//! Fuel: the evaluator's cache of suspended values, wrapped so that every entry into one is counted.
//!
//! The evaluator has no step limit of its own. It enters every suspended value through its cache, and believes a cache that
//! reports an endless recursion; so that is what ours reports once a limit is reached. Native operations that run
//! long without entering anything are not seen here: those are the parent process' business.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

use nickel_lang_core::eval::Closure;
use nickel_lang_core::eval::cache::lazy::CBNCache;
use nickel_lang_core::eval::cache::{BlackholedError, Cache, CacheIndex};
use nickel_lang_core::eval::value::NickelValue;
use nickel_lang_core::identifier::Ident;
use nickel_lang_core::term::BindingType;
use nickel_lang_core::term::record::FieldDeps;

use crate::memory::MemoryProbe;

/// How many steps pass between two looks at the clock and the memory.
const LOOK_EVERY: u64 = 512;

/// Why the meter stopped an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The fuel is used up.
    Fuel,
    /// The deadline has passed.
    Time,
    /// The process holds too much memory.
    Memory,
}

/// Counts the steps of one evaluation.
#[derive(Default)]
pub(crate) struct Meter {
    given: Cell<u64>,
    left: Cell<u64>,
    used: Cell<u64>,
    deadline: Cell<Option<Instant>>,
    memory: RefCell<Option<(MemoryProbe, u64)>>,
    stop: Cell<Option<Stop>>,
}

impl Meter {
    /// Begins an evaluation.
    pub(crate) fn start(&self, fuel: u64, deadline: Instant) {
        self.deadline.set(Some(deadline));
        self.refuel(fuel);
    }

    /// Fresh fuel for the next evaluation, until the same deadline.
    pub(crate) fn refuel(&self, fuel: u64) {
        self.given.set(fuel);
        self.left.set(fuel);
        self.used.set(0);
        self.stop.set(None);
    }

    /// Looks at the process' memory too, from now on.
    pub(crate) fn watch_memory(&self, probe: MemoryProbe, limit: u64) {
        *self.memory.borrow_mut() = Some((probe, limit));
    }

    /// Why the last evaluation was stopped, if it was.
    pub(crate) fn stopped(&self) -> Option<Stop> {
        self.stop.get()
    }

    /// How many steps the last evaluation was given.
    pub(crate) fn given(&self) -> u64 {
        self.given.get()
    }

    /// How many steps the last evaluation took.
    #[cfg(test)]
    pub(crate) fn used(&self) -> u64 {
        self.used.get()
    }

    fn tick(&self) -> Result<(), BlackholedError> {
        if self.stop.get().is_some() {
            return Err(BlackholedError);
        }
        let Some(left) = self.left.get().checked_sub(1) else {
            return self.halt(Stop::Fuel);
        };
        self.left.set(left);
        let used = self.used.get() + 1;
        self.used.set(used);
        if used.is_multiple_of(LOOK_EVERY) { self.look() } else { Ok(()) }
    }

    fn look(&self) -> Result<(), BlackholedError> {
        if self.deadline.get().is_some_and(|deadline| Instant::now() >= deadline) {
            return self.halt(Stop::Time);
        }
        if let Some((probe, limit)) = self.memory.borrow_mut().as_mut()
            && probe.resident().is_some_and(|bytes| bytes > *limit)
        {
            return self.halt(Stop::Memory);
        }
        Ok(())
    }

    fn halt(&self, why: Stop) -> Result<(), BlackholedError> {
        self.stop.set(Some(why));
        Err(BlackholedError)
    }
}

/// The evaluator's own cache, behind a meter.
#[derive(Clone)]
pub(crate) struct MeteredCache {
    inner: CBNCache,
    meter: Rc<Meter>,
}

impl MeteredCache {
    /// The meter.
    pub(crate) fn meter(&self) -> Rc<Meter> {
        Rc::clone(&self.meter)
    }
}

impl Cache for MeteredCache {
    type UpdateIndex = <CBNCache as Cache>::UpdateIndex;

    fn new() -> Self {
        Self { inner: CBNCache::new(), meter: Rc::default() }
    }

    fn get_update_index(
        &mut self,
        idx: &mut CacheIndex,
    ) -> Result<Option<Self::UpdateIndex>, BlackholedError> {
        self.meter.tick()?;
        self.inner.get_update_index(idx)
    }

    fn get(&self, idx: CacheIndex) -> Closure {
        self.inner.get(idx)
    }

    fn add(&mut self, clos: Closure, bty: BindingType) -> CacheIndex {
        self.inner.add(clos, bty)
    }

    fn patch<F: Fn(&mut Closure)>(&mut self, idx: CacheIndex, f: F) {
        self.inner.patch(idx, f);
    }

    fn get_then<T, F: FnOnce(&Closure) -> T>(&self, idx: CacheIndex, f: F) -> T {
        self.inner.get_then(idx, f)
    }

    fn update(&mut self, clos: Closure, idx: Self::UpdateIndex) {
        self.inner.update(clos, idx);
    }

    fn reset_index_state(&mut self, idx: &mut Self::UpdateIndex) {
        self.inner.reset_index_state(idx);
    }

    fn build_cached(&mut self, idx: &mut CacheIndex, rec_env: &[(Ident, CacheIndex)]) {
        self.inner.build_cached(idx, rec_env);
    }

    fn saturate<I: DoubleEndedIterator<Item = Ident> + Clone>(
        &mut self,
        idx: CacheIndex,
        fields: I,
    ) -> NickelValue {
        self.inner.saturate(idx, fields)
    }

    fn revert(&mut self, idx: &CacheIndex) -> CacheIndex {
        self.inner.revert(idx)
    }

    fn deps(&self, idx: &CacheIndex) -> Option<FieldDeps> {
        self.inner.deps(idx)
    }

    fn make_update_index(&mut self, idx: &mut CacheIndex) -> Result<Self::UpdateIndex, BlackholedError> {
        self.meter.tick()?;
        self.inner.make_update_index(idx)
    }
}
