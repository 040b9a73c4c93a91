//! How many Events may go: an object that flaps must not push out the Events of the others, nor all of them together trouble
//! the API server.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// How many objects are told apart.
const MAX_OBJECTS: usize = 5_000;
/// So many at once about one object, and then one in this time.
const OBJECT: (u32, Duration) = (20, Duration::from_secs(60));
/// So many at once about all, and then one in this time.
const ALL: (u32, Duration) = (200, Duration::from_millis(50));
/// So many of them that are no warnings. When a fleet gets ready, each status says so; a write for each Event would take the API server's
/// time from the work itself.
const GOOD: (u32, Duration) = (20, Duration::from_millis(500));

/// Permits that come back one by one.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: u32,
    since: Instant,
}

impl Bucket {
    fn refill(&mut self, (most, every): (u32, Duration), now: Instant) {
        let waited = now.saturating_duration_since(self.since).as_nanos() / every.as_nanos();
        let come = u32::try_from(waited).unwrap_or(u32::MAX);
        if self.left.saturating_add(come) >= most {
            *self = Self { left: most, since: now };
        } else {
            self.left += come;
            self.since += every * come;
        }
    }
}

/// Who may go now.
#[derive(Debug)]
pub(super) struct Pace {
    all: Bucket,
    good: Bucket,
    objects: BTreeMap<String, Bucket>,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        let (all, good) = (Bucket { left: ALL.0, since: now }, Bucket { left: GOOD.0, since: now });
        Self { all, good, objects: BTreeMap::new() }
    }

    /// Whether one more about this object may go now.
    pub(super) fn may_go(&mut self, object: &str, warning: bool, now: Instant) -> bool {
        self.all.refill(ALL, now);
        self.good.refill(GOOD, now);
        if self.objects.len() >= MAX_OBJECTS && !self.objects.contains_key(object) {
            self.objects.retain(|_, it| {
                it.refill(OBJECT, now);
                it.left < OBJECT.0
            });
            if self.objects.len() >= MAX_OBJECTS {
                return false;
            }
        }
        let fresh = Bucket { left: OBJECT.0, since: now };
        let own = self.objects.entry(object.to_owned()).or_insert(fresh);
        own.refill(OBJECT, now);
        let may = own.left > 0 && self.all.left > 0 && (warning || self.good.left > 0);
        if may {
            own.left -= 1;
            self.all.left -= 1;
            self.good.left -= u32::from(!warning);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL, GOOD, Instant, MAX_OBJECTS, OBJECT, Pace};

    #[test]
    fn an_object_that_flaps_is_slowed_and_the_others_are_not() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let gone = (0..100).filter(|_| pace.may_go("a", true, start)).count();
        assert_eq!(gone, OBJECT.0 as usize);
        assert!(pace.may_go("b", true, start));
        let later = start + OBJECT.1;
        assert!(pace.may_go("a", true, later), "one comes back");
        assert!(!pace.may_go("a", true, later), "and only one");
    }

    #[test]
    fn good_news_of_a_fleet_does_not_take_the_place_of_warnings() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let gone = (0..1_000).filter(|it| pace.may_go(&it.to_string(), false, start)).count();
        assert_eq!(gone, GOOD.0 as usize);
        assert!(pace.may_go("1", true, start));
        assert!(pace.may_go("2", false, start + GOOD.1), "one comes back");
    }

    #[test]
    fn all_together_have_a_limit_and_objects_are_forgotten() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let gone = (0..MAX_OBJECTS * 2).filter(|it| pace.may_go(&it.to_string(), true, start)).count();
        assert_eq!(gone, ALL.0 as usize);
        assert!(pace.objects.len() <= MAX_OBJECTS);
        assert!(pace.objects.contains_key("0"), "one that has spoken is not forgotten for one that has not");
    }
}
