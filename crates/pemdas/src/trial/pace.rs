//! How far an exploration is, for whoever waits for it.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// Counts the runs of one scenario.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    done: AtomicUsize,
    all: AtomicUsize,
    began: OnceLock<Instant>,
}

impl Pace {
    /// So many more runs are to come.
    pub(super) fn expect(&self, runs: usize) {
        self.began.get_or_init(Instant::now);
        self.all.fetch_add(runs, Ordering::Relaxed);
    }

    /// One more is done.
    pub(super) fn ran(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// How far it is, in words.
    pub(crate) fn said(&self) -> String {
        let spent = self.began.get().map(Instant::elapsed).unwrap_or_default();
        said(self.done.load(Ordering::Relaxed), self.all.load(Ordering::Relaxed), spent)
    }
}

fn said(done: usize, all: usize, spent: Duration) -> String {
    if all == 0 {
        return "plays it without faults".to_owned();
    }
    let counted = format!("{done} of {all} runs");
    let Some(each) = u32::try_from(done).ok().filter(|it| *it > 0).map(|done| spent / done) else {
        return counted;
    };
    let left = each.saturating_mul(u32::try_from(all.saturating_sub(done)).unwrap_or(u32::MAX)).as_secs();
    match left {
        0..=59 => format!("{counted}, {left} s left"),
        60..=3599 => format!("{counted}, {} min left", left.div_ceil(60)),
        _ => format!("{counted}, {} h {} min left", left / 3600, left % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::said;

    #[test]
    fn the_time_that_is_left_follows_from_the_pace() {
        let after = |done, all, seconds| said(done, all, Duration::from_secs(seconds));
        assert_eq!(after(0, 0, 0), "plays it without faults");
        assert_eq!(after(0, 900, 1), "0 of 900 runs");
        assert_eq!(after(100, 400, 10), "100 of 400 runs, 30 s left");
        assert_eq!(after(100, 1_300, 10), "100 of 1300 runs, 2 min left");
        assert_eq!(after(1, 1_000, 10), "1 of 1000 runs, 2 h 46 min left");
        assert_eq!(after(400, 400, 10), "400 of 400 runs, 0 s left");
    }
}
