//! A bounded number of workers for any number of blueprints.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::isolation::Isolation;
use super::process::{Worker, WorkerCommand, unavailable};
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
    /// How many requests may wait for one. The next is refused at once.
    pub waiting: usize,
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
            waiting: 64,
            patience: Duration::from_secs(30),
            limits: Limits::default(),
            recycle_bytes: 96 << 20,
            recycle_answers: 10_000,
            require_isolation: true,
        }
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
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    /// Workers that wait for a request, the one used last at the end.
    idle: Vec<(Key, Worker)>,
    /// All workers, busy ones included.
    live: usize,
    waiting: usize,
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
        Self { shared: Arc::new(Shared { config, state: Mutex::default(), freed: Condvar::new() }) }
    }

    /// Loads a blueprint on behalf of somebody. No worker ever serves two identities.
    ///
    /// # Errors
    /// What is wrong with the blueprint, or why it cannot be known.
    pub fn load(&self, identity: &str, sources: &Sources) -> Result<Sandboxed, Failure> {
        sources.validate(&self.shared.config.limits)?;
        let key = Key { identity: identity.to_owned(), digest: sources.digest() };
        let loaded = Sandboxed { shared: Arc::clone(&self.shared), key, sources: Arc::new(sources.clone()) };
        let worker = loaded.acquire()?;
        loaded.release(worker);
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
        self.freed.notify_one();
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
    fn acquire(&self) -> Result<Worker, Failure> {
        loop {
            let evicted = match self.turn()? {
                Turn::Use(mut worker) => {
                    if worker.is_alive() {
                        return Ok(worker);
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
                    Ok(worker)
                }
                Err(failure) => {
                    let lost = u64::from(failure.is_transient());
                    self.shared.forget(|stats| stats.lost += lost);
                    Err(failure)
                }
            };
        }
    }

    /// Waits until there is something to do.
    fn turn(&self) -> Result<Turn, Failure> {
        let config = &self.shared.config;
        let until = Instant::now() + config.patience;
        let mut state = self.shared.lock();
        loop {
            if let Some(at) = state.idle.iter().rposition(|(key, _)| *key == self.key) {
                return Ok(Turn::Use(state.idle.remove(at).1));
            }
            if state.live < config.workers {
                state.live += 1;
                return Ok(Turn::Start(None));
            }
            if !state.idle.is_empty() {
                // The one that has waited longest makes room; the number of workers stays.
                return Ok(Turn::Start(Some(state.idle.remove(0).1)));
            }
            let left = until.saturating_duration_since(Instant::now());
            if state.waiting >= config.waiting || left.is_zero() {
                state.stats.refused += 1;
                return Err(unavailable("all workers are busy and enough requests wait".to_owned()));
            }
            state.waiting += 1;
            state = match self.shared.freed.wait_timeout(state, left) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
            state.waiting -= 1;
        }
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
        self.shared.freed.notify_one();
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
        let mut worker = self.acquire()?;
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
