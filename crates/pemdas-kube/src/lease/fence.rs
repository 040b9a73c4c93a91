//! Until when we may write as the leader, for those who write.
//!
//! The accident that this prevents: a leader that was paused (by a debugger, a full machine, a frozen container) goes on
//! where it stood and sends what it had decided, before anything tells it that another leads meanwhile.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

/// Whether a write of an epoch may still be sent. Clones stand in the same place; the usual one stands open, for whoever
/// leads without a Lease.
#[derive(Debug, Clone, Default)]
pub struct Fence(Option<Arc<Mutex<Until>>>);

/// The epoch in which may be written, and until when; nothing while not at all.
type Until = Option<(u64, Instant)>;

impl Fence {
    /// One that is closed.
    #[must_use]
    pub fn closed() -> Self {
        Self(Some(Arc::new(Mutex::new(None))))
    }

    /// Opens it for an epoch, until another instant.
    pub fn open(&self, epoch: u64, until: Instant) {
        self.set(Some((epoch, until)));
    }

    /// Closes it.
    pub fn close(&self) {
        self.set(None);
    }

    fn set(&self, now: Option<(u64, Instant)>) {
        if let Some(state) = &self.0 {
            *state.lock().unwrap_or_else(PoisonError::into_inner) = now;
        }
    }

    /// Whether whoever leads in this epoch may write now.
    #[must_use]
    pub fn lets_through(&self, epoch: u64) -> bool {
        let Some(state) = self.0.as_ref().filter(|_| !mutant!(FenceStandsOpen)) else { return true };
        let state = *state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_some_and(|(of, until)| of == epoch && Instant::now() < until)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::Fence;

    #[test]
    fn it_is_open_for_one_epoch_and_for_a_time() {
        assert!(Fence::default().lets_through(7), "who leads alone needs none");
        let fence = Fence::closed();
        assert!(!fence.lets_through(1));
        fence.open(1, Instant::now() + Duration::from_secs(60));
        assert!(fence.lets_through(1) && !fence.lets_through(2));
        fence.open(1, Instant::now());
        assert!(!fence.lets_through(1), "nobody has to close it when the time is over");
        fence.open(2, Instant::now() + Duration::from_secs(60));
        assert!(fence.clone().lets_through(2) && !fence.lets_through(1));
        fence.close();
        assert!(!fence.lets_through(2));
    }
}
