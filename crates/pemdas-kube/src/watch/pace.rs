//! How soon a watch that ended is begun again.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// How often the same watch is begun. The client takes a watch that ends in peace up again at once: a server that ends them all at
/// once, as one that is overwhelmed does, would be asked in a hot loop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pace(Arc<Mutex<HashMap<String, (Instant, u32)>>>);

/// A watch that lasted so long was no failure.
pub(super) const LASTED: Duration = Duration::from_secs(5);
/// Short watches in a row that are taken up again at once.
const AT_ONCE: u32 = 2;
/// The longest pause before a watch.
const MAX_PAUSE: Duration = Duration::from_secs(5);

impl Pace {
    /// How long to wait before this watch is begun.
    pub(crate) fn before<B>(&self, request: &http::Request<B>) -> Duration {
        let who = request.headers().get("Impersonate-User").and_then(|it| it.to_str().ok());
        // What is watched, by whom; selectors tell apart two watches of one kind.
        let query = request.uri().query().unwrap_or_default();
        let selectors: Vec<_> = query.split('&').filter(|it| it.contains("Selector=")).collect();
        let name = format!("{} {} {}", request.uri().path(), selectors.join("&"), who.unwrap_or_default());
        self.next(name, Instant::now())
    }

    fn next(&self, name: String, now: Instant) -> Duration {
        let mut begun = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|_, (at, _)| now.saturating_duration_since(*at) < 10 * LASTED);
        let short = match begun.get(&name) {
            Some((at, short)) if now.saturating_duration_since(*at) < LASTED => short + 1,
            _ => 0,
        };
        let pause = match short.checked_sub(AT_ONCE) {
            None | Some(0) => Duration::ZERO,
            Some(more) => Duration::from_millis(50 << more.min(10)).min(MAX_PAUSE),
        };
        begun.insert(name, (now + pause, short));
        pause
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::Pace;

    #[test]
    fn watches_that_end_at_once_are_begun_ever_more_slowly() {
        let pace = Pace::default();
        let mut now = Instant::now();
        let mut begin = |lasts: u64| {
            let pause = pace.next("pods".to_owned(), now);
            now += pause + Duration::from_millis(lasts);
            pause.as_millis()
        };
        let pauses: Vec<_> = (0..12).map(|_| begin(10)).collect();
        assert_eq!(pauses, [0, 0, 0, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
        begin(6_000);
        assert_eq!(begin(10), 0, "one that lasted was no failure");
        assert_eq!(pace.next("secrets".to_owned(), now), Duration::ZERO, "each for itself");
    }
}
