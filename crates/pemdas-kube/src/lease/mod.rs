//! Leadership by a Lease: at most one of several processes decides.
//!
//! The accident that this prevents: two processes act on one cluster, each on its own view. A process that cannot renew
//! its Lease therefore stops *before* anybody else may take it, and a new leader gets a new **epoch**, so that it
//! decides only on lists that it began as the leader.
//!
//! Time is only ever measured by the process's own monotonic clock: how long a record has not changed since *we* first
//! saw it. The instants that are written into a Lease are for people; a clock that jumps, or differs between machines,
//! does no harm.
//!
//! Written by hand, because the library of the field (`kube-lease-manager` 0.13, which fits our client) judges the expiry
//! of a Lease by comparing wall clocks of two machines, tells its users `bool` only (no epoch) and polls. What is left to
//! write is little: creating, renewing and releasing one object by compare-and-swap.

mod fence;
mod seen;

use std::time::Duration;

use crate::machine::Machine;
use futures::{StreamExt as _, stream::BoxStream};
use k8s_openapi::api::coordination::v1::Lease as LeaseObject;
use kube::{
    Api, Client,
    api::PostParams,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, watch_object},
    },
};
use pemdas_core::world::Lease;
use tokio::{
    sync::{oneshot, watch},
    task::JoinHandle,
    time::{Instant, sleep_until, timeout_at},
};

pub use fence::Fence;
use seen::Seen;

/// Who wants to lead, and where that is agreed upon.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The namespace of the Lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who we are: unique for every process, also for two of the same pod one after the other.
    pub identity: String,
    /// How patient everybody is.
    pub timing: Timing,
    /// What it runs on.
    pub machine: Machine,
}

/// How patient everybody is. `retry` < `deadline` < `duration`, or leadership could be lost by one slow request, or held
/// by two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// A record that has not changed for so long is nobody's. Whole seconds.
    pub duration: Duration,
    /// A leader that could not renew for so long stops leading.
    pub deadline: Duration,
    /// The time between two renewals.
    pub retry: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(15),
            deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

impl Timing {
    /// The same, brought into the order that safety needs.
    fn ordered(self) -> Self {
        let duration = Duration::from_secs(self.duration.as_secs().max(1));
        let deadline = self.deadline.min(duration * 2 / 3);
        Self { duration, deadline, retry: self.retry.min(deadline / 3) }
    }
}

/// A candidacy that goes on in the background. When it is dropped, it ends as if the process had been killed: whoever
/// listens is told that the Lease is not held, and the others wait until it has run out.
#[derive(Debug)]
pub struct Leadership {
    standing: watch::Receiver<Lease>,
    following: watch::Receiver<bool>,
    fence: Fence,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Leadership {
    /// Becomes a candidate.
    #[must_use]
    pub fn seek(client: Client, candidate: Candidate) -> Self {
        let (told, standing) = watch::channel(Lease::default());
        let (follows, following) = watch::channel(false);
        let (stop, stopped) = oneshot::channel();
        let timing = candidate.timing.ordered();
        let fence = Fence::closed();
        let election = Election {
            fence: fence.clone(),
            api: Api::namespaced(client, &candidate.namespace),
            candidate: Candidate { timing, ..candidate },
            told: Told(told),
            follows,
            stopped,
            last_epoch: 0,
        };
        Self { standing, following, fence, stop: Some(stop), task: tokio::spawn(election.run()) }
    }

    /// Closed to writes whenever we may not lead any more, even before anybody was told.
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.fence.clone()
    }

    /// Whether we lead, and in which epoch; follows every change.
    #[must_use]
    pub fn standing(&self) -> watch::Receiver<Lease> {
        self.standing.clone()
    }

    /// Whether another leads and we would take over from it; follows every change.
    #[must_use]
    pub fn following(&self) -> watch::Receiver<bool> {
        self.following.clone()
    }

    /// Gives the Lease back, so that another need not wait. Whoever acts on it has to have stopped before.
    pub async fn release(mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        let _ = (&mut self.task).await;
    }
}

impl Drop for Leadership {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What is told of the standing. Nobody may go on believing in a Lease whose keeper is gone.
#[derive(Debug)]
struct Told(watch::Sender<Lease>);

impl Told {
    fn tell(&self, held: bool, epoch: u64) {
        let now = Lease { held, epoch };
        self.0.send_if_modified(|before| std::mem::replace(before, now) != now);
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        let epoch = self.0.borrow().epoch;
        self.tell(false, epoch);
    }
}

/// What became of trying to write the Lease.
enum Tried {
    /// It is written, and is this now.
    Written(Box<LeaseObject>),
    /// Somebody else wrote first, or it is gone or came into being.
    Raced,
    /// There was no answer, or none that says anything about the Lease.
    Failed,
}

/// Why a term ended.
enum End {
    /// We were asked to stop.
    Stopped,
    /// The Lease is another's, or could not be renewed in time.
    Lost,
}

struct Election {
    api: Api<LeaseObject>,
    candidate: Candidate,
    told: Told,
    follows: watch::Sender<bool>,
    fence: Fence,
    stopped: oneshot::Receiver<()>,
    /// The highest epoch that was ever seen: a Lease that is deleted and made anew does not count from the beginning.
    last_epoch: u64,
}

impl Election {
    async fn run(mut self) {
        loop {
            let Some((mine, since)) = self.wait_for_a_turn().await else { return };
            tracing::info!(lease = self.candidate.name, epoch = self.last_epoch, "leading");
            self.fence.open(self.last_epoch, since + self.candidate.timing.deadline);
            self.follows.send_replace(false);
            self.told.tell(true, self.last_epoch);
            let (last, end) = self.lead(mine, since).await;
            self.fence.close();
            self.told.tell(false, self.last_epoch);
            tracing::info!(lease = self.candidate.name, epoch = self.last_epoch, "no longer leading");
            if matches!(end, End::Stopped) {
                self.give_back(last).await;
                return;
            }
        }
    }

    /// Follows the Lease until we have it. Nothing: we were asked to stop.
    async fn wait_for_a_turn(&mut self) -> Option<(LeaseObject, Instant)> {
        let mut watched: BoxStream<'_, watcher::Result<Option<LeaseObject>>> =
            watch_object(self.api.clone(), &self.candidate.name).default_backoff().boxed();
        let mut seen: Option<Seen> = None;
        loop {
            let turn = seen.as_ref().map(Seen::free_at);
            let our_turn = async {
                match turn {
                    Some(when) => sleep_until(when).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                _ = &mut self.stopped => return None,
                next = watched.next() => match next {
                    Some(Ok(found)) => {
                        let now = Seen::after(seen, found, Instant::now());
                        let held = now.free_at() > Instant::now();
                        self.follows.send_if_modified(|it| std::mem::replace(it, held) != held);
                        seen = Some(now);
                    }
                    // The stream mends itself; what was seen stays, and is old by the same clock as before.
                    Some(Err(error)) => {
                        tracing::warn!(%error, "the lease cannot be watched");
                        self.follows.send_if_modified(std::mem::take);
                    }
                    None => tokio::time::sleep(self.candidate.timing.retry).await,
                },
                () = our_turn => {
                    let since = Instant::now();
                    let found = seen.as_ref().and_then(|it| it.lease.clone());
                    let epoch = self.next_epoch(found.as_ref());
                    match self.write(found, epoch, since + self.candidate.timing.deadline).await {
                        Tried::Written(mine) => {
                            self.last_epoch = epoch;
                            return Some((*mine, since));
                        }
                        Tried::Raced | Tried::Failed => {
                            let again = Instant::now() + self.candidate.timing.retry;
                            seen = self.look(seen).await.map(|it| it.not_before(again));
                        }
                    }
                }
            }
        }
    }

    /// Renews until we are asked to stop, or it cannot be done in time. Gives the Lease as it was last.
    async fn lead(&mut self, mut mine: LeaseObject, since: Instant) -> (LeaseObject, End) {
        let Timing { deadline, retry, .. } = self.candidate.timing;
        let mut renewed = since;
        let mut next = since + retry;
        loop {
            tokio::select! {
                biased;
                _ = &mut self.stopped => return (mine, End::Stopped),
                () = sleep_until(next.min(renewed + deadline)) => {}
            }
            let began = Instant::now();
            if began >= renewed + deadline {
                tracing::warn!(lease = self.candidate.name, "the lease could not be renewed in time");
                return (mine, End::Lost);
            }
            // A connection that hangs must leave time for another try.
            let patience = (began + deadline / 2).min(renewed + deadline);
            match self.write(Some(mine.clone()), self.last_epoch, patience).await {
                Tried::Written(now) => {
                    (mine, renewed, next) = (*now, began, began + retry);
                    self.fence.open(self.last_epoch, renewed + deadline);
                }
                Tried::Failed => next = Instant::now() + retry / 2,
                Tried::Raced => match timeout_at(patience, self.api.get_opt(&self.candidate.name)).await {
                    // Somebody touched it, and it is still ours: an annotation, or our own write whose answer was lost.
                    Ok(Ok(Some(now))) if self.is_ours(&now) => (mine, next) = (now, Instant::now()),
                    Ok(Ok(_)) => return (mine, End::Lost),
                    Ok(Err(_)) | Err(_) => next = Instant::now() + retry / 2,
                },
            }
        }
    }

    fn is_ours(&self, lease: &LeaseObject) -> bool {
        let spec = lease.spec.as_ref();
        spec.and_then(|it| it.holder_identity.as_deref()) == Some(&self.candidate.identity)
            && seen::epoch(lease) == self.last_epoch
    }

    fn next_epoch(&self, found: Option<&LeaseObject>) -> u64 {
        found.map_or(0, seen::epoch).max(self.last_epoch) + 1
    }

    /// Reads the Lease itself: what the watch said was too old to be written over.
    async fn look(&self, before: Option<Seen>) -> Option<Seen> {
        let limit = Instant::now() + self.candidate.timing.deadline;
        match timeout_at(limit, self.api.get_opt(&self.candidate.name)).await {
            Ok(Ok(found)) => Some(Seen::after(before, found, Instant::now())),
            Ok(Err(_)) | Err(_) => before,
        }
    }

    /// Writes ourselves into the Lease, or renews it: only over what we saw.
    async fn write(&self, over: Option<LeaseObject>, epoch: u64, until: Instant) -> Tried {
        let body = seen::written(over, &self.candidate, epoch);
        let parameters = PostParams::default();
        let sent = async {
            if body.metadata.resource_version.is_some() {
                self.api.replace(&self.candidate.name, &parameters, &body).await
            } else {
                self.api.create(&parameters, &body).await
            }
        };
        match timeout_at(until, sent).await {
            Ok(Ok(now)) => Tried::Written(Box::new(now)),
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => Tried::Raced,
            Ok(Err(error)) => {
                tracing::warn!(lease = self.candidate.name, %error, "the lease cannot be written");
                Tried::Failed
            }
            Err(_) => Tried::Failed,
        }
    }

    /// Leaves the Lease to whoever wants it. If that fails, they wait until it has run out.
    async fn give_back(&self, last: LeaseObject) {
        let body = seen::released(last);
        let limit = Instant::now() + self.candidate.timing.retry;
        let parameters = PostParams::default();
        let sent = self.api.replace(&self.candidate.name, &parameters, &body);
        if !matches!(timeout_at(limit, sent).await, Ok(Ok(_))) {
            tracing::warn!(lease = self.candidate.name, "the lease could not be given back");
        }
    }
}
