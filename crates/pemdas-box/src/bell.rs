//! Tells those who wait that something may have happened, always in the order in which they began to wait.
//!
//! The runtime's own channel for this wakes them in an order that it draws by lot: a run could not be repeated.

use std::{
    pin::pin,
    sync::atomic::{AtomicU64, Ordering},
};

use tokio::sync::Notify;

/// A bell that counts how often it rang.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rang: AtomicU64,
    heard: Notify,
}

impl Bell {
    pub(crate) fn ring(&self) {
        self.rang.fetch_add(1, Ordering::SeqCst);
        self.heard.notify_waiters();
    }

    /// How often it rang.
    pub(crate) fn count(&self) -> u64 {
        self.rang.load(Ordering::SeqCst)
    }

    /// Waits until it has rung more often than this.
    pub(crate) async fn after(&self, count: u64) {
        let mut next = pin!(self.heard.notified());
        // Whoever rings from here on is heard.
        next.as_mut().enable();
        if self.count() == count {
            next.await;
        }
    }
}
