//! The cluster, shared by all who speak to it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::body::Bytes;
use futures::{Stream, stream};
use pemdas_sim::{Cluster, Reply, Request, Time, Watch};
use tokio::time::Instant;

use crate::bell::Bell;

/// How long the wall's clock is left alone while nothing is due: watches that end, and bookmarks, wait for no event.
const TICK: Duration = Duration::from_secs(1);
/// The same where only the runtime's clock is followed, and nobody looks.
const LONG_TICK: Duration = Duration::from_secs(60);

/// How time passes in a cluster.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    /// Only when it is told to.
    Told,
    /// As on the wall, so many times as fast.
    Wall {
        /// How many times as fast.
        speed: f64,
    },
    /// As in the runtime, whose clock may be stopped.
    Runtime,
}

/// A cluster that several can speak to at once.
#[derive(Clone)]
pub struct Host {
    cluster: Arc<Mutex<Cluster>>,
    /// Rings when something may have happened: whoever watches looks then.
    bell: Arc<Bell>,
    pace: Option<Pace>,
}

/// How simulated time follows the wall's.
#[derive(Debug, Clone, Copy)]
struct Pace {
    since: Instant,
    from: Time,
    speed: f64,
    tick: Duration,
}

impl Pace {
    fn now(self) -> Time {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a time is positive, and milliseconds are fine enough"
        )]
        let millis = (self.since.elapsed().as_secs_f64() * 1_000.0 * self.speed) as u64;
        self.from.after(millis)
    }

    /// How long to wait for something that is due then.
    fn until(self, due: Option<Time>) -> Duration {
        let Some(due) = due else { return self.tick };
        let ahead = Duration::from_millis(due.0.saturating_sub(self.now().0));
        // A millisecond more: what is due then is not due a moment before.
        (ahead.div_f64(self.speed) + Duration::from_millis(1)).min(self.tick)
    }
}

impl Host {
    /// Holds a cluster. Unless time is told this has to happen in a runtime, which then lets time pass until the last copy
    /// of the host is gone.
    #[must_use]
    pub fn new(cluster: Cluster, clock: Clock) -> Self {
        let pace = match clock {
            Clock::Told => None,
            Clock::Wall { speed } => {
                Some(Pace { since: Instant::now(), from: cluster.now(), speed: speed.max(0.001), tick: TICK })
            }
            Clock::Runtime => {
                Some(Pace { since: Instant::now(), from: cluster.now(), speed: 1.0, tick: LONG_TICK })
            }
        };
        let host = Self { cluster: Arc::new(Mutex::new(cluster)), bell: Arc::default(), pace };
        if let Some(pace) = pace {
            tokio::spawn(passing(Arc::downgrade(&host.cluster), host.bell.clone(), pace));
        }
        host
    }

    /// Does something to the cluster, at the time that it is; whoever watches is told what came of it.
    pub fn with<T>(&self, act: impl FnOnce(&mut Cluster) -> T) -> T {
        let mut cluster = self.cluster.lock().unwrap_or_else(PoisonError::into_inner);
        let before = (cluster.now(), cluster.server().store().revision());
        if let Some(pace) = self.pace {
            cluster.advance(pace.now());
        }
        let done = act(&mut cluster);
        let after = (cluster.now(), cluster.server().store().revision());
        drop(cluster);
        // With the wall's clock time alone is told by its ticks.
        if before.1 != after.1 || (self.pace.is_none() && before.0 != after.0) {
            self.bell.ring();
        }
        done
    }

    /// The same cluster for a runtime that begins now, after one that has ended: its time goes on from where it was.
    #[must_use]
    pub fn in_a_new_runtime(&self) -> Self {
        let from = self.cluster.lock().unwrap_or_else(PoisonError::into_inner).now();
        let pace = self.pace.map(|pace| Pace { since: Instant::now(), from, ..pace });
        let host = Self { pace, ..self.clone() };
        if let Some(pace) = pace {
            tokio::spawn(passing(Arc::downgrade(&host.cluster), host.bell.clone(), pace));
        }
        host
    }

    /// How often something may have happened.
    #[must_use]
    pub fn happenings(&self) -> u64 {
        self.bell.count()
    }

    /// Waits until something may have happened more often than this.
    pub async fn more_than(&self, happenings: u64) {
        self.bell.after(happenings).await;
    }

    /// Answers a request.
    pub(crate) fn handle(&self, request: &Request) -> Reply {
        self.with(|cluster| cluster.handle(request))
    }

    /// The lines of a watch, as they come.
    pub(crate) fn lines(
        &self,
        watch: Watch,
    ) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> + use<> {
        stream::unfold((self.clone(), watch), async |(host, mut watch)| {
            loop {
                // Before the look: what happens after it is looked at again.
                let happenings = host.happenings();
                let events = host.look(&mut watch);
                if !events.is_empty() {
                    let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
                    return Some((Ok(Bytes::from(lines)), (host, watch)));
                }
                if watch.ended() {
                    return None;
                }
                host.more_than(happenings).await;
            }
        })
    }

    fn look(&self, watch: &mut Watch) -> Vec<serde_json::Value> {
        self.cluster.lock().unwrap_or_else(PoisonError::into_inner).poll(watch)
    }
}

/// Lets time pass for as long as somebody holds the cluster.
async fn passing(cluster: std::sync::Weak<Mutex<Cluster>>, bell: Arc<Bell>, pace: Pace) {
    loop {
        let due = {
            let Some(cluster) = cluster.upgrade() else { return };
            let mut cluster = cluster.lock().unwrap_or_else(PoisonError::into_inner);
            cluster.advance(pace.now());
            cluster.next_event()
        };
        bell.ring();
        let rang = bell.count();
        // A request may bring something that is due sooner.
        tokio::select! {
            biased;
            () = tokio::time::sleep(pace.until(due)) => {}
            () = bell.after(rang) => {}
        }
    }
}
