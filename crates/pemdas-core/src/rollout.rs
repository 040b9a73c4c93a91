//! A new revision over the instances of a blueprint: who is next.
//!
//! *The accident*: a mistake in a blueprint, or a new binary whose library renders something else, is in every instance before
//! anybody has looked at one.
//!
//! Like everything that is decided, it is a function of how things are: which instances are at the new revision, and how they
//! are. A process that starts anew goes on where the last one stopped. Instances that are not let through run on at the revision they
//! are at.

use crate::blueprint::Rollout;

/// How an instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// Everything that it needs is ready.
    Ready,
    /// It is on its way.
    Reconciling,
    /// A human must look.
    Stalled,
}

/// An instance, as far as a rollout is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name, for people.
    pub name: String,
    /// Whether it is at the new revision. One that was just created begins there.
    pub arrived: bool,
    /// How it is, at the revision that it is at.
    pub health: Health,
    /// Whether it is being deleted: it stays at the revision it is at, and nobody waits for it.
    pub going: bool,
}

/// What to do next, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    /// Who goes to the new revision now: places in the list.
    pub next: Vec<usize>,
    /// How many are at the new revision and ready.
    pub rolled: usize,
    /// Who is on its way there, those of `next` included.
    pub in_flight: Vec<usize>,
    /// How many wait for their turn.
    pub waiting: usize,
    /// Why nobody is let through now.
    pub paused: Option<String>,
}

impl Step {
    /// Whether everybody is where they should be.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.waiting == 0 && self.in_flight.is_empty()
    }
}

/// Who is next. Those that are ready go first: they say most about the new revision.
#[must_use]
pub fn step(rollout: Rollout, members: &[Member]) -> Step {
    let staying = || members.iter().enumerate().filter(|(_, it)| !it.going);
    let arrived = |health: Health| staying().filter(move |(_, it)| it.arrived && it.health == health);
    let mut step = Step {
        rolled: arrived(Health::Ready).count(),
        in_flight: arrived(Health::Reconciling).map(|(at, _)| at).collect(),
        ..Step::default()
    };
    let mut candidates: Vec<_> = staying().filter(|(_, it)| !it.arrived).collect();
    candidates.sort_by(|(_, one), (_, other)| (one.health, &one.name).cmp(&(other.health, &other.name)));
    let stalled = arrived(Health::Stalled).next().filter(|_| rollout.pause_on_stalled);
    let free =
        usize::try_from(rollout.max_in_flight).unwrap_or(usize::MAX).saturating_sub(step.in_flight.len());
    match stalled {
        Some((_, it)) if !candidates.is_empty() => {
            step.paused = Some(format!("{} stalls at the new revision", it.name));
        }
        _ => step.next = candidates.iter().take(free).map(|(at, _)| *at).collect(),
    }
    step.waiting = candidates.len() - step.next.len();
    step.in_flight.extend(&step.next);
    step
}

#[cfg(test)]
mod tests {
    use proptest::{
        collection::vec, prelude::any, prop_assert, prop_assert_eq, proptest,
        test_runner::Config as ProptestConfig,
    };

    use super::{Health, Member, step};
    use crate::blueprint::Rollout;

    fn member(name: usize, arrived: bool, health: Health) -> Member {
        Member { name: format!("m{name}"), arrived, health, going: false }
    }

    const TWO: Rollout = Rollout { max_in_flight: 2, pause_on_stalled: true };

    #[test]
    fn no_more_than_allowed_are_in_flight_and_the_ready_go_first() {
        let mut members = vec![
            member(0, false, Health::Stalled),
            member(1, false, Health::Reconciling),
            member(2, false, Health::Ready),
            member(3, false, Health::Ready),
            member(4, true, Health::Reconciling),
        ];
        let now = step(TWO, &members);
        assert_eq!((now.next.clone(), now.in_flight.clone(), now.waiting), (vec![2], vec![4, 2], 3));
        members[2].going = true;
        assert_eq!(step(TWO, &members).next, [3], "what goes is left alone");
        members[4].health = Health::Ready;
        let now = step(TWO, &members);
        assert_eq!((now.next, now.rolled), (vec![3, 1], 1));
    }

    #[test]
    fn one_that_stalls_pauses_until_it_is_mended() {
        let mut members = vec![member(0, true, Health::Stalled), member(1, false, Health::Ready)];
        let now = step(TWO, &members);
        assert_eq!((now.next, now.waiting), (vec![], 1));
        assert_eq!(now.paused.as_deref(), Some("m0 stalls at the new revision"));
        let bold = Rollout { pause_on_stalled: false, ..TWO };
        assert_eq!(step(bold, &members).next, [1], "unless nobody wants that");
        members[0].health = Health::Ready;
        assert_eq!(step(TWO, &members).next, [1]);
        members[1].arrived = true;
        assert!(step(TWO, &members).is_over());
        members[0].health = Health::Stalled;
        assert_eq!(step(TWO, &members).paused, None, "there is nothing to pause");
    }

    #[test]
    fn one_that_stalls_at_the_old_revision_holds_nobody_up() {
        let members = [member(0, false, Health::Stalled), member(1, false, Health::Ready)];
        assert_eq!(step(TWO, &members).next, [1, 0]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(pemdas_tier::size(256, 50_000)))]

        /// Whatever becomes of those that are let through, as long as it is not a stall, everybody arrives, and never more than allowed
        /// are on their way.
        #[test]
        fn everybody_arrives(most in 1_u32..5, health in vec(any::<u8>(), 1..30), order in vec(any::<u8>(), 200)) {
            let rollout = Rollout { max_in_flight: most, pause_on_stalled: true };
            let of = |it: u8| [Health::Ready, Health::Reconciling, Health::Stalled][usize::from(it % 3)];
            let mut members: Vec<_> =
                health.iter().enumerate().map(|(at, it)| member(at, false, of(*it))).collect();
            for pick in order {
                let now = step(rollout, &members);
                prop_assert!(now.in_flight.len() <= most as usize);
                prop_assert_eq!(now.rolled + now.in_flight.len() + now.waiting, members.len());
                for at in &now.next {
                    members[*at].arrived = true;
                    members[*at].health = Health::Reconciling;
                }
                if let Some(done) = now.in_flight.get(usize::from(pick) % now.in_flight.len().max(1)) {
                    members[*done].health = Health::Ready;
                }
            }
            let now = step(rollout, &members);
            prop_assert!(now.is_over(), "{now:?}");
        }
    }
}
