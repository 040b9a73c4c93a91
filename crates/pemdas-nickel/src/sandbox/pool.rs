//! A bounded number of workers for any number of blueprints, which share them by the namespaces that they are in.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::isolation::Isolation;
use super::process::{Worker, WorkerCommand, unavailable};
use super::share::{Bounds, Shares, Ticket, Used};
use crate::evaluator::{Evaluator, is_fault};
use crate::limits::Limits;
use crate::request::{Answer, Failure, Kill, Request};
use crate::sources::Sources;

/// How a pool works.
#[derive(Debug, Clone)]
pub struct PoolConfig {
    /// How to start a worker.
    pub command: WorkerCommand,
    /// How many workers there are at most.
    pub workers: usize,
    /// How many of them one owner has at most; where there are several workers, one fewer is left to others.
    pub workers_each: usize,
    /// How many requests may wait for one. Beyond that, whoever has the most waiting loses a place.
    pub waiting: usize,
    /// How many requests of one owner may wait. The next is refused at once.
    pub waiting_each: usize,
    /// How long a request waits for a worker.
    pub patience: Duration,
    /// What each evaluation may use.
    pub limits: Limits,
    /// The memory at which a worker is replaced after its answer: evaluation leaks some.
    pub recycle_bytes: u64,
    /// The number of answers after which a worker is replaced.
    pub recycle_answers: u64,
    /// Whether to evaluate nothing where workers cannot be shut in. Only a test on a strange machine wants this off.
    pub require_isolation: bool,
}

impl PoolConfig {
    /// The usual values, for workers that are started so.
    #[must_use]
    pub fn new(command: WorkerCommand) -> Self {
        Self {
            command,
            workers: 4,
            workers_each: 3,
            waiting: 1_024,
            waiting_each: 256,
            patience: Duration::from_secs(30),
            limits: Limits::default(),
            recycle_bytes: 96 << 20,
            recycle_answers: 10_000,
            require_isolation: true,
        }
    }

    /// With so many workers, of which one owner has all but one.
    #[must_use]
    pub fn with_workers(self, workers: usize) -> Self {
        Self { workers, workers_each: workers.saturating_sub(1).max(1), ..self }
    }

    fn bounds(&self) -> Bounds {
        Bounds { each: self.workers_each, waiting_each: self.waiting_each, waiting: self.waiting }
    }
}

/// What has happened in a pool, for metrics and tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Workers that were started.
    pub started: u64,
    /// Workers that were replaced because they had grown or grown old.
    pub recycled: u64,
    /// Workers that were killed or died over a request.
    pub lost: u64,
    /// Requests that found no worker.
    pub refused: u64,
}

/// A pool of workers. A clone is the same pool.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    config: PoolConfig,
    began: Instant,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    /// Workers that wait for a request, the one used last at the end.
    idle: Vec<(Key, Worker)>,
    /// All workers, busy ones included.
    live: usize,
    shares: Shares,
    stats: PoolStats,
}

/// Whose blueprint, and which: a worker serves one of these in its life.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    identity: String,
    digest: [u8; 32],
}

/// A blueprint in a pool: an evaluator that outlives its workers.
pub struct Sandboxed {
    shared: Arc<Shared>,
    key: Key,
    sources: Arc<Sources>,
}

impl Pool {
    /// A pool without workers yet.
    #[must_use]
    pub fn new(config: PoolConfig) -> Self {
        let (began, state, freed) = (Instant::now(), Mutex::default(), Condvar::new());
        Self { shared: Arc::new(Shared { config, began, state, freed }) }
    }

    /// Loads a blueprint on behalf of somebody. No worker ever serves two identities.
    ///
    /// # Errors
    /// What is wrong with the blueprint, or why it cannot be known.
    pub fn load(&self, identity: &str, sources: &Sources) -> Result<Sandboxed, Failure> {
        sources.validate(&self.shared.config.limits)?;
        let key = Key { identity: identity.to_owned(), digest: sources.digest() };
        let loaded = Sandboxed { shared: Arc::clone(&self.shared), key, sources: Arc::new(sources.clone()) };
        let (worker, place) = loaded.acquire()?;
        loaded.release(worker);
        drop(place);
        Ok(loaded)
    }

    /// How workers are shut in here: starts one to see.
    ///
    /// # Errors
    /// If none can be started.
    pub fn isolation(&self) -> Result<Isolation, Failure> {
        let config = &self.shared.config;
        let worker = Worker::start(&config.command, &Sources::single("{}"), &config.limits, false)?;
        Ok(worker.isolation().clone())
    }

    /// What each evaluation may use.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.shared.config.limits
    }

    /// What has happened so far.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.shared.lock().stats
    }

    /// What each owner used so far: those who used something of late.
    #[must_use]
    pub fn used(&self) -> BTreeMap<String, Used> {
        self.shared.lock().shares.counted()
    }

    /// What the owner of an identity used so far.
    #[must_use]
    pub fn used_by(&self, identity: &str) -> Used {
        self.shared.lock().shares.of(owner(identity))
    }
}

/// Who owns an identity: its namespace.
fn owner(identity: &str) -> &str {
    identity.split('/').next().unwrap_or_default()
}

impl Shared {
    /// The state. A panic while it was held has left it whole: every change to it is a single step.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// A worker less, whatever became of it.
    fn forget(&self, count: impl FnOnce(&mut PoolStats)) {
        let mut state = self.lock();
        state.live = state.live.saturating_sub(1);
        count(&mut state.stats);
        drop(state);
        self.freed.notify_all();
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// A place at a worker, until this is dropped: what it took is counted.
struct Place {
    shared: Arc<Shared>,
    owner: String,
    since: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        let now = self.shared.now();
        self.shared.lock().shares.end(&self.owner, now.saturating_sub(self.since), now);
        self.shared.freed.notify_all();
    }
}

impl State {
    /// The worker that makes room: of whoever has the most, the one that has waited longest.
    fn evicted(&mut self) -> Option<Worker> {
        let mut has: BTreeMap<&str, usize> = BTreeMap::new();
        for (key, _) in &self.idle {
            let owner = owner(&key.identity);
            *has.entry(owner).or_insert_with(|| self.shares.under_way(owner)) += 1;
        }
        let most = has.values().max().copied()?;
        let of_most = |(key, _): &(Key, Worker)| has.get(owner(&key.identity)) == Some(&most);
        let at = self.idle.iter().position(of_most)?;
        Some(self.idle.remove(at).1)
    }
}

/// What there is to do for a request that wants a worker.
enum Turn {
    /// Use this one.
    Use(Worker),
    /// Start one; another's may have to go first.
    Start(Option<Worker>),
}

impl Sandboxed {
    /// A worker that has this blueprint loaded, and nobody else uses.
    fn acquire(&self) -> Result<(Worker, Place), Failure> {
        loop {
            let (turn, place) = self.turn()?;
            let evicted = match turn {
                Turn::Use(mut worker) => {
                    if worker.is_alive() {
                        return Ok((worker, place));
                    }
                    // It died while nobody asked anything: whose turn it is need not know.
                    drop(worker);
                    self.shared.forget(|stats| stats.lost += 1);
                    continue;
                }
                Turn::Start(evicted) => evicted,
            };
            // Not under the lock: starting takes a while.
            drop(evicted);
            let config = &self.shared.config;
            let started =
                Worker::start(&config.command, &self.sources, &config.limits, config.require_isolation);
            return match started {
                Ok(worker) => {
                    self.shared.lock().stats.started += 1;
                    Ok((worker, place))
                }
                Err(failure) => {
                    let lost = u64::from(failure.is_transient());
                    self.shared.forget(|stats| stats.lost += lost);
                    Err(failure)
                }
            };
        }
    }

    /// Waits until it is its turn.
    fn turn(&self) -> Result<(Turn, Place), Failure> {
        let (config, owner) = (&self.shared.config, owner(&self.key.identity));
        let bounds = config.bounds();
        let until = Instant::now() + config.patience;
        let mut state = self.shared.lock();
        let Some(ticket) = state.shares.enter(owner, &bounds, self.shared.now()) else {
            state.stats.refused += 1;
            return Err(unavailable("enough requests of its namespace wait for a worker".to_owned()));
        };
        loop {
            let now = self.shared.now();
            let free = state.live < config.workers || !state.idle.is_empty();
            if free && state.shares.next(&bounds, now) == Some(ticket) {
                return Ok(self.begin(&mut state, owner, ticket, now));
            }
            let left = until.saturating_duration_since(Instant::now());
            let lost = !state.shares.holds(owner, ticket);
            if lost || left.is_zero() {
                if !lost {
                    state.shares.leave(owner, ticket);
                }
                state.stats.refused += 1;
                // Who comes after it may be next now.
                self.shared.freed.notify_all();
                return Err(unavailable("all workers are busy and enough requests wait".to_owned()));
            }
            state = match self.shared.freed.wait_timeout(state, left) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// It is its turn, and there is a worker, or room for one.
    fn begin(&self, state: &mut State, owner: &str, ticket: Ticket, now: u64) -> (Turn, Place) {
        state.shares.begin(owner, ticket, now);
        let place = Place { shared: Arc::clone(&self.shared), owner: owner.to_owned(), since: now };
        let turn = if let Some(at) = state.idle.iter().rposition(|(key, _)| *key == self.key) {
            Turn::Use(state.idle.remove(at).1)
        } else if state.live < self.shared.config.workers {
            state.live += 1;
            Turn::Start(None)
        } else {
            // The number of workers stays.
            Turn::Start(state.evicted())
        };
        // There may be room for the next as well.
        self.shared.freed.notify_all();
        (turn, place)
    }

    /// Gives a worker back, or ends it if it has grown too large or too old.
    fn release(&self, worker: Worker) {
        let config = &self.shared.config;
        if worker.is_spent(config.recycle_bytes, config.recycle_answers) {
            drop(worker);
            self.shared.forget(|stats| stats.recycled += 1);
            return;
        }
        self.shared.lock().idle.push((self.key.clone(), worker));
        self.shared.freed.notify_all();
    }

    /// The digest of the blueprint's files.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.key.digest
    }
}

impl Evaluator for Sandboxed {
    fn ask(&self, request: &Request) -> Result<Answer, Failure> {
        // Looked at before it crosses the border, so that nobody's worker pays for a request that cannot be.
        crate::engine::check_request(request, &self.shared.config.limits)?;
        let (mut worker, _place) = self.acquire()?;
        let answer = worker.ask(request);
        match &answer {
            // The worker stopped in time by itself, with all in order.
            Err(Failure::Killed { why: Kill::Time }) if worker.is_alive() => self.release(worker),
            // It is gone, or it ends itself: the evaluator's own fault may have left anything behind.
            failed
                if is_fault(failed)
                    || matches!(failed, Err(Failure::Killed { .. } | Failure::Unavailable { .. })) =>
            {
                drop(worker);
                self.shared.forget(|stats| stats.lost += 1);
            }
            _ => self.release(worker),
        }
        answer
    }
}
