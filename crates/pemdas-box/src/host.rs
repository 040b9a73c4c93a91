//! The cluster, shared by all who speak to it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::body::Bytes;
use futures::{Stream, stream};
use pemdas_sim::{Cluster, Reply, Request, Time, Watch};
use tokio::{sync::watch, time::Instant};

/// How long the wall's clock is left alone while nothing is due: watches that end, and bookmarks, wait for no event.
const TICK: Duration = Duration::from_secs(1);

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
}

/// A cluster that several can speak to at once.
#[derive(Clone)]
pub struct Host {
    cluster: Arc<Mutex<Cluster>>,
    /// Counts what may have happened: whoever watches looks then.
    happened: watch::Sender<u64>,
    pace: Option<Pace>,
}

/// How simulated time follows the wall's.
#[derive(Debug, Clone, Copy)]
struct Pace {
    since: Instant,
    from: Time,
    speed: f64,
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
        let Some(due) = due else { return TICK };
        let ahead = Duration::from_millis(due.0.saturating_sub(self.now().0));
        // A millisecond more: what is due then is not due a moment before.
        (ahead.div_f64(self.speed) + Duration::from_millis(1)).min(TICK)
    }
}

impl Host {
    /// Holds a cluster. With the wall's clock this has to happen in a runtime, which then lets time pass until the last copy
    /// of the host is gone.
    #[must_use]
    pub fn new(cluster: Cluster, clock: Clock) -> Self {
        let pace = match clock {
            Clock::Told => None,
            Clock::Wall { speed } => {
                Some(Pace { since: Instant::now(), from: cluster.now(), speed: speed.max(0.001) })
            }
        };
        let host = Self { cluster: Arc::new(Mutex::new(cluster)), happened: watch::Sender::new(0), pace };
        if let Some(pace) = pace {
            tokio::spawn(passing(Arc::downgrade(&host.cluster), host.happened.clone(), pace));
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
            self.happened.send_modify(|count| *count = count.wrapping_add(1));
        }
        done
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
        let happened = self.happened.subscribe();
        stream::unfold((self.clone(), watch, happened), async |(host, mut watch, mut happened)| {
            loop {
                // Before the look: what happens after it is looked at again.
                happened.mark_unchanged();
                let events = host.look(&mut watch);
                if !events.is_empty() {
                    let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
                    return Some((Ok(Bytes::from(lines)), (host, watch, happened)));
                }
                if watch.ended() || happened.changed().await.is_err() {
                    return None;
                }
            }
        })
    }

    fn look(&self, watch: &mut Watch) -> Vec<serde_json::Value> {
        self.cluster.lock().unwrap_or_else(PoisonError::into_inner).poll(watch)
    }
}

/// Lets time pass for as long as somebody holds the cluster.
async fn passing(cluster: std::sync::Weak<Mutex<Cluster>>, happened: watch::Sender<u64>, pace: Pace) {
    let mut asked = happened.subscribe();
    loop {
        let due = {
            let Some(cluster) = cluster.upgrade() else { return };
            let mut cluster = cluster.lock().unwrap_or_else(PoisonError::into_inner);
            cluster.advance(pace.now());
            cluster.next_event()
        };
        happened.send_modify(|count| *count = count.wrapping_add(1));
        asked.mark_unchanged();
        // A request may bring something that is due sooner.
        tokio::select! {
            () = tokio::time::sleep(pace.until(due)) => {}
            _ = asked.changed() => {}
        }
    }
}
