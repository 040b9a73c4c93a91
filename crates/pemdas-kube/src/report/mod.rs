//! The Service whose HTTP response is copied into a status.
//!
//! It is asked again and again, with a pause that grows while it cannot be had, and only a change is told. What it answers is
//! somebody's data: it has limits in size, time and form, is never run or followed, and no error quotes it.

mod content;
mod fetch;
mod place;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use pemdas_core::world::back_off;
use serde_json::Value;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinHandle,
};

pub use fetch::fetch;
pub use place::Place;

/// How much and how long is waited for, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest body, in bytes.
    pub size: usize,
    /// The longest time for a whole answer.
    pub time: Duration,
    /// The pause between two questions.
    pub interval: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { size: 64 * 1024, time: Duration::from_secs(5), interval: Duration::from_secs(10) }
    }
}

/// How many Services are asked at once, by the whole process.
const AT_ONCE: usize = 32;

/// What is known of a report.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// The last response that could be used. It stays when the Service cannot be reached.
    pub value: Option<Value>,
    /// Why there is no newer one, in a sentence that quotes nothing of a response.
    pub trouble: Option<String>,
}

/// Asks Services, a few at a time.
#[derive(Debug, Clone)]
pub struct Reporter {
    turns: Arc<Semaphore>,
    limits: Limits,
}

impl Reporter {
    /// One for the whole process.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { turns: Arc::new(Semaphore::new(AT_ONCE)), limits }
    }

    /// Asks a Service again and again, until the result is dropped. `client` is that of the account for which it is
    /// asked.
    #[must_use]
    pub fn follow(&self, place: Place, client: Client) -> Followed {
        let (told, report) = watch::channel(Report::default());
        Followed { report, task: tokio::spawn(self.clone().ask(place, client, told)) }
    }

    async fn ask(self, place: Place, client: Client, told: watch::Sender<Report>) {
        let mut failures = 0_u32;
        loop {
            let answer = match self.turns.acquire().await {
                Ok(_turn) => fetch(&place, &client, &self.limits).await,
                Err(_) => return,
            };
            failures = if answer.is_ok() { 0 } else { failures.saturating_add(1) };
            told.send_if_modified(|report| {
                let next = match answer {
                    Ok(value) => Report { value: Some(value), trouble: None },
                    Err(trouble) => Report { value: report.value.clone(), trouble: Some(trouble) },
                };
                let changed = *report != next;
                *report = next;
                changed
            });
            tokio::time::sleep(pause(self.limits.interval, failures, fastrand::f64())).await;
        }
    }
}

/// The pause before the next question: spread, so that a fleet does not ask in step.
fn pause(interval: Duration, failures: u32, chance: f64) -> Duration {
    let base = match failures {
        0 => interval,
        some => interval.max(Duration::from_millis(back_off(some - 1))),
    };
    base.mul_f64(0.8 + 0.4 * chance)
}

/// A Service that is asked in the background, until this is dropped.
#[derive(Debug)]
pub struct Followed {
    report: watch::Receiver<Report>,
    task: JoinHandle<()>,
}

impl Followed {
    /// What is known; follows every change.
    #[must_use]
    pub fn report(&self) -> watch::Receiver<Report> {
        self.report.clone()
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::pause;

    #[test]
    fn the_pause_grows_with_failures_is_spread_and_has_an_end() {
        let second = Duration::from_secs(1);
        assert_eq!(pause(second, 0, 0.5), second);
        assert_eq!(pause(second, 3, 0.5), 4 * second);
        assert_eq!(pause(10 * second, 1, 0.5), 10 * second, "never more often than when all is well");
        assert_eq!(pause(second, u32::MAX, 0.5), 300 * second);
        assert!(pause(second, 0, 0.0) < pause(second, 0, 0.999));
    }
}
