//! What the operator has of the machine that it runs on: what time it is, chance, and threads for what makes others wait.
//!
//! On a simulated machine all three are told: then a run on a simulated cluster is the same whenever it is repeated. What only measures
//! time asks the clock of the runtime, which whoever simulates has stopped.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use tokio::{task::JoinHandle, time::Instant};

/// A machine.
#[derive(Debug, Clone, Default)]
pub struct Machine(Option<Simulated>);

#[derive(Debug, Clone)]
struct Simulated {
    began: Instant,
    at: Timestamp,
    chance: Arc<Mutex<fastrand::Rng>>,
    /// How long the work takes that was done last.
    took: Arc<Mutex<Duration>>,
}

impl Machine {
    /// The one that this process runs on.
    #[must_use]
    pub fn real() -> Self {
        Self::default()
    }

    /// One on which it is this time now, with chance from a seed, and with one thread only. Time goes on as in the runtime.
    #[must_use]
    pub fn simulated(now: Timestamp, seed: u64) -> Self {
        let chance = Arc::new(Mutex::new(fastrand::Rng::with_seed(seed)));
        Self(Some(Simulated { began: Instant::now(), at: now, chance, took: Arc::default() }))
    }

    /// Says on a simulated machine how long the work takes that is being done: otherwise it takes no time.
    pub fn takes(&self, time: Duration) {
        if let Some(simulated) = &self.0 {
            *simulated.took.lock().unwrap_or_else(PoisonError::into_inner) += time;
        }
    }

    /// Waits for as long as work took that was done. On a real machine it took its time while it was done.
    pub(crate) async fn catch_up(&self) {
        let Some(simulated) = &self.0 else { return };
        let took = std::mem::take(&mut *simulated.took.lock().unwrap_or_else(PoisonError::into_inner));
        if !took.is_zero() {
            tokio::time::sleep(took).await;
        }
    }

    /// What time it is.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let Some(simulated) = &self.0 else { return Timestamp::now() };
        simulated.at.checked_add(simulated.began.elapsed()).unwrap_or(simulated.at)
    }

    /// Fills bytes with what nobody can guess.
    ///
    /// # Errors
    /// If the system gives no randomness.
    pub fn fill(&self, bytes: &mut [u8]) -> Result<(), getrandom::Error> {
        match &self.0 {
            None => getrandom::fill(bytes),
            Some(simulated) => {
                simulated.chance.lock().unwrap_or_else(PoisonError::into_inner).fill(bytes);
                Ok(())
            }
        }
    }

    /// Does work that makes its thread wait.
    pub(crate) fn spawn_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        match &self.0 {
            None => tokio::task::spawn_blocking(work),
            // Here the others shall wait: no time passes for them meanwhile.
            Some(_) => {
                let machine = self.clone();
                tokio::spawn(async move {
                    let done = work();
                    machine.catch_up().await;
                    done
                })
            }
        }
    }

    /// Does something for as long as there is something to do, on a thread of its own: it makes that thread wait.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub(crate) fn spawn_thread(
        &self,
        name: &str,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> std::io::Result<()> {
        match &self.0 {
            None => {
                let thread = std::thread::Builder::new().name(name.to_owned());
                thread.spawn(move || futures::executor::block_on(work)).map(drop)
            }
            Some(_) => {
                tokio::spawn(work);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;

    use super::Machine;

    #[tokio::test(start_paused = true)]
    async fn a_simulated_machine_is_told_everything() {
        let began = Timestamp::from_second(1_000).unwrap();
        let machine = |seed| Machine::simulated(began, seed);
        let clock = machine(1);
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        assert_eq!(clock.now(), Timestamp::from_second(4_600).unwrap());
        let bytes = |seed| {
            let mut bytes = [0; 8];
            machine(seed).fill(&mut bytes).unwrap();
            bytes
        };
        assert_eq!(bytes(1), bytes(1));
        assert_ne!(bytes(1), bytes(2));
    }

    #[tokio::test(start_paused = true)]
    async fn no_time_passes_while_a_simulated_machine_works() {
        let machine = Machine::simulated(Timestamp::UNIX_EPOCH, 1);
        let before = machine.now();
        let slow = machine.spawn_blocking(|| std::thread::sleep(Duration::from_millis(20)));
        let timer = tokio::spawn(tokio::time::sleep(Duration::from_secs(1)));
        slow.await.unwrap();
        assert_eq!(machine.now(), before);
        timer.await.unwrap();
        assert_eq!(machine.now(), before + Duration::from_secs(1));
    }
}
