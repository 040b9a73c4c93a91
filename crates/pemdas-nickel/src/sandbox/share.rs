//! Whose turn it is where more is asked than there are workers: that of whoever used least of late.
//!
//! *The accident*: eight blueprints of one namespace burn as much time as they may, and hold all workers and all places of the queue for
//! minutes; a blueprint of somebody else is not even read. So what is used is counted for each owner, whoever used less goes
//! first, and nobody has all the workers.

use std::collections::{BTreeMap, VecDeque};

/// After how many milliseconds what was used counts half.
const HALF: u64 = 30_000;
/// What a request counts that is under way, in milliseconds: how long it takes is not known yet.
const UNDER_WAY: u64 = 1_000;
/// How many owners are remembered that use nothing now.
const REMEMBERED: usize = 1_000;

/// A place in the queue.
pub(super) type Ticket = u64;

/// How much there is to share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Requests of one owner that are under way at once.
    pub(super) each: usize,
    /// Requests of one owner that wait.
    pub(super) waiting_each: usize,
    /// Requests that wait.
    pub(super) waiting: usize,
}

/// What an owner has and had.
#[derive(Debug, Default)]
struct Share {
    under_way: usize,
    waiting: VecDeque<Ticket>,
    /// Milliseconds, those of long ago counted less; and as of when.
    used: u64,
    as_of: u64,
    counted: Used,
}

/// What an owner used in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// Milliseconds of workers.
    pub millis: u64,
    /// Requests that wait now.
    pub waiting: usize,
    /// Requests that found no place in the queue, or lost it.
    pub refused: u64,
    /// Requests that others who came later went before, because it had used more than its share.
    pub slowed: u64,
}

/// Owners, and who of them is next.
#[derive(Debug, Default)]
pub(super) struct Shares {
    all: BTreeMap<String, Share>,
    waiting: usize,
    next: Ticket,
}

impl Share {
    fn used(&self, now: u64) -> u64 {
        let halved = now.saturating_sub(self.as_of) / HALF;
        let used = self.used.checked_shr(u32::try_from(halved).unwrap_or(u32::MAX)).unwrap_or(0);
        used.saturating_add(UNDER_WAY.saturating_mul(self.under_way as u64))
    }

    fn uses(&mut self, millis: u64, now: u64) {
        let halved = now.saturating_sub(self.as_of) / HALF;
        self.used = self.used.checked_shr(u32::try_from(halved).unwrap_or(u32::MAX)).unwrap_or(0);
        self.as_of = self.as_of.saturating_add(halved.saturating_mul(HALF));
        self.used = self.used.saturating_add(millis);
        self.counted.millis = self.counted.millis.saturating_add(millis);
    }

    fn is_idle(&self) -> bool {
        self.under_way == 0 && self.waiting.is_empty()
    }
}

impl Shares {
    /// A place in the queue; none if it is full. Where all places are taken, whoever has the most of them loses the last one to
    /// somebody who has fewer.
    pub(super) fn enter(&mut self, owner: &str, bounds: &Bounds, now: u64) -> Option<Ticket> {
        self.forget(now);
        let share = self.all.entry(owner.to_owned()).or_default();
        let own = share.waiting.len();
        if own >= bounds.waiting_each {
            share.counted.refused += 1;
            return None;
        }
        if self.waiting >= bounds.waiting {
            let crowded = self.all.values_mut().max_by_key(|it| it.waiting.len());
            match crowded.filter(|it| it.waiting.len() > own + 1) {
                Some(crowded) => {
                    crowded.waiting.pop_back();
                    crowded.counted.refused += 1;
                    self.waiting -= 1;
                }
                None => {
                    if let Some(share) = self.all.get_mut(owner) {
                        share.counted.refused += 1;
                    }
                    return None;
                }
            }
        }
        self.next += 1;
        self.waiting += 1;
        self.all.entry(owner.to_owned()).or_default().waiting.push_back(self.next);
        Some(self.next)
    }

    /// Whether a place was not taken by somebody else.
    pub(super) fn holds(&self, owner: &str, ticket: Ticket) -> bool {
        self.all.get(owner).is_some_and(|it| it.waiting.contains(&ticket))
    }

    /// Gives a place back: it took too long.
    pub(super) fn leave(&mut self, owner: &str, ticket: Ticket) {
        let Some(share) = self.all.get_mut(owner) else { return };
        let before = share.waiting.len();
        share.waiting.retain(|it| *it != ticket);
        self.waiting -= before - share.waiting.len();
        share.counted.refused += 1;
    }

    /// Who is next: of whoever used least of late, the request that came first.
    pub(super) fn next(&self, bounds: &Bounds, now: u64) -> Option<Ticket> {
        let waits = self.all.values().filter(|it| it.under_way < bounds.each);
        let first = waits.filter_map(|it| Some((it.used(now), *it.waiting.front()?)));
        first.min().map(|(_, ticket)| ticket)
    }

    /// A request begins that had a place.
    pub(super) fn begin(&mut self, owner: &str, ticket: Ticket, now: u64) {
        let used: Vec<u64> = self.all.values().map(|it| it.used(now)).filter(|it| *it > 0).collect();
        let total = used.iter().fold(0_u64, |sum, it| sum.saturating_add(*it));
        let fair = total / (used.len() as u64 + 1);
        for share in self.all.values_mut() {
            if share.waiting.front().is_some_and(|it| *it < ticket) && share.used(now) > fair {
                share.counted.slowed += 1;
            }
        }
        let share = self.all.entry(owner.to_owned()).or_default();
        let before = share.waiting.len();
        share.waiting.retain(|it| *it != ticket);
        self.waiting -= before - share.waiting.len();
        share.under_way += 1;
    }

    /// A request ended that took so long.
    pub(super) fn end(&mut self, owner: &str, millis: u64, now: u64) {
        let share = self.all.entry(owner.to_owned()).or_default();
        share.under_way = share.under_way.saturating_sub(1);
        share.uses(millis, now);
    }

    /// How many requests of an owner are under way.
    pub(super) fn under_way(&self, owner: &str) -> usize {
        self.all.get(owner).map_or(0, |it| it.under_way)
    }

    /// What each owner used.
    pub(super) fn counted(&self) -> BTreeMap<String, Used> {
        let used = |it: &Share| Used { waiting: it.waiting.len(), ..it.counted };
        self.all.iter().map(|(owner, it)| (owner.clone(), used(it))).collect()
    }

    /// What one of them used.
    pub(super) fn of(&self, owner: &str) -> Used {
        self.all.get(owner).map(|it| Used { waiting: it.waiting.len(), ..it.counted }).unwrap_or_default()
    }

    fn forget(&mut self, now: u64) {
        if self.all.len() > REMEMBERED {
            self.all.retain(|_, it| !it.is_idle() || it.used(now) > 0);
        }
        // Too many that used something: they begin anew.
        if self.all.len() > 2 * REMEMBERED {
            self.all.retain(|_, it| !it.is_idle());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Bounds, HALF, Shares, Ticket};

    const BOUNDS: Bounds = Bounds { each: 3, waiting_each: 4, waiting: 6 };

    /// Lets requests in and takes so many turns, each of the length of its owner; who had them.
    fn turns(shares: &mut Shares, lengths: &[(&str, u64)], count: usize) -> BTreeMap<String, usize> {
        let mut had = BTreeMap::new();
        let mut tickets: BTreeMap<Ticket, (&str, u64)> = BTreeMap::new();
        let mut now = 0;
        for _ in 0..count {
            for (owner, millis) in lengths {
                while let Some(ticket) = shares.enter(owner, &BOUNDS, now) {
                    tickets.insert(ticket, (*owner, *millis));
                }
            }
            let ticket = shares.next(&BOUNDS, now).unwrap();
            let (owner, millis) = tickets[&ticket];
            shares.begin(owner, ticket, now);
            now += millis;
            shares.end(owner, millis, now);
            *had.entry(owner.to_owned()).or_default() += 1;
        }
        had
    }

    #[test]
    fn whoever_takes_long_gets_fewer_turns_and_as_much_time() {
        let had = turns(&mut Shares::default(), &[("slow", 5_000), ("quick", 50)], 500);
        assert!(had["quick"] * 50 * 2 > had["slow"] * 5_000, "{had:?}");
        assert!(had["slow"] > 0, "nobody starves: {had:?}");
    }

    #[test]
    fn equals_take_turns() {
        let had = turns(&mut Shares::default(), &[("a", 100), ("b", 100), ("c", 100)], 300);
        assert!(had.values().all(|it| (90..=110).contains(it)), "{had:?}");
    }

    #[test]
    fn nobody_has_all_the_workers() {
        let mut shares = Shares::default();
        for _ in 0..3 {
            let ticket = shares.enter("greedy", &BOUNDS, 0).unwrap();
            assert_eq!(shares.next(&BOUNDS, 0), Some(ticket));
            shares.begin("greedy", ticket, 0);
        }
        shares.enter("greedy", &BOUNDS, 0).unwrap();
        assert_eq!(shares.next(&BOUNDS, 0), None);
        let quiet = shares.enter("quiet", &BOUNDS, 0);
        assert_eq!(shares.next(&BOUNDS, 0), quiet);
        shares.end("greedy", 10, 10);
        shares.begin("quiet", quiet.unwrap(), 10);
        assert!(shares.next(&BOUNDS, 10).is_some());
    }

    #[test]
    fn a_crowd_fills_neither_its_own_queue_nor_that_of_others() {
        let mut shares = Shares::default();
        let crowd: Vec<_> = (0..10).filter_map(|_| shares.enter("crowd", &BOUNDS, 0)).collect();
        assert_eq!(crowd.len(), BOUNDS.waiting_each);
        for other in ["a", "b"] {
            assert!(shares.enter(other, &BOUNDS, 0).is_some());
        }
        // All places are taken now: the last of the crowd makes room.
        let late = shares.enter("c", &BOUNDS, 0).unwrap();
        assert!(
            shares.holds("c", late) && !shares.holds("crowd", crowd[3]) && shares.holds("crowd", crowd[2])
        );
        assert_eq!(shares.of("crowd").refused, 7);
        shares.leave("crowd", crowd[2]);
        assert_eq!(shares.of("crowd").waiting, 2);
    }

    #[test]
    fn what_was_used_long_ago_counts_little_and_what_others_get_first_is_counted() {
        let mut shares = Shares::default();
        let ticket = shares.enter("a", &BOUNDS, 0).unwrap();
        shares.begin("a", ticket, 0);
        shares.end("a", 4_000, 4_000);
        let (a, b) = (shares.enter("a", &BOUNDS, 4_000), shares.enter("b", &BOUNDS, 4_000));
        assert_eq!(shares.next(&BOUNDS, 4_000), b);
        shares.begin("b", b.unwrap(), 4_000);
        assert_eq!((shares.of("a").slowed, shares.of("b").slowed), (1, 0));
        assert_eq!(shares.next(&BOUNDS, 4_000), a);
        shares.end("b", 100, 4_100);
        // After ten times half of it, both are as if nothing had been.
        let later = 4_100 + 13 * HALF;
        shares.enter("b", &BOUNDS, later);
        assert_eq!(shares.next(&BOUNDS, later), a, "who came first");
    }
}
