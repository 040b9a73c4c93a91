//! Small worlds, exhaustively: every order of every step, breadth first, each state once.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    rc::Rc,
};

use serde_json::json;

use super::{
    lab::{Lab, kind},
    laws::as_if_nothing_happened,
    sim::Sim,
    subject::Subject,
    walk::{Step, take},
};
use crate::{
    action::Action,
    blueprint::{Body, Root, RootTarget},
    world::{CLAIM_ANNOTATION, LedgerFact, Live, OwnWrite},
};

/// What may still go wrong on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Budget {
    pub(super) crash: u8,
    pub(super) lost: u8,
    pub(super) spec: u8,
    pub(super) flap: u8,
    pub(super) hand: u8,
}

fn small(lab: Lab) -> Lab {
    // A root that is not ours has no status: its writes would only multiply the states.
    lab.with("app", |it| {
        let target = RootTarget::Foreign {
            api_version: "example.com/v1".to_owned(),
            kind: "App".to_owned(),
            selector: None,
        };
        it.body = Body::Root(Root { target });
    })
}

/// A state without what differs between equal states: numbers become ranks.
fn fingerprint(sim: &Sim, budget: Budget) -> u64 {
    let mut versions = BTreeSet::new();
    let lives =
        || sim.cluster.objects.values().chain(sim.world.objects.values()).chain(sim.world.root.live.iter());
    lives().for_each(|it| {
        versions.insert(it.resource_version);
    });
    versions.extend(sim.world.kinds.values().map(|it| it.watermark));
    versions.extend(sim.world.shown.values().flat_map(BTreeMap::values));
    versions.extend(sim.world.looked.values());
    versions.extend(sim.cluster.ledger.iter().map(|(version, _)| *version));
    for write in sim.world.writes.values().chain(&sim.world.ledger_write) {
        if let OwnWrite::Applied(version) = write {
            versions.insert(*version);
        }
    }
    let ranks: BTreeMap<u64, usize> =
        versions.iter().enumerate().map(|(rank, version)| (*version, rank)).collect();
    let rank = |version: u64| ranks.get(&version).copied().unwrap_or(usize::MAX);
    let object = |it: &Live| {
        let claim = it.annotation(CLAIM_ANNOTATION).unwrap_or_default().to_owned();
        let newest = sim.cluster.get(&it.key).is_some_and(|real| real.uid == it.uid);
        format!(
            "{} {} {} {:?} {:?} {claim} {} {} {:?}",
            it.key,
            rank(it.resource_version),
            newest,
            it.generation,
            it.finalizers,
            it.terminating,
            it.body["spec"],
            it.body.get("status")
        )
    };
    let mut parts: Vec<String> = lives().map(|it| object(it)).collect();
    let write = |it: &OwnWrite| match it {
        OwnWrite::Applied(version) => format!("applied {}", rank(*version)),
        OwnWrite::Deleted(_) => "deleted".to_owned(),
        other => format!("{other:?}"),
    };
    parts.extend(sim.world.writes.iter().map(|(key, it)| format!("{key} {}", write(it))));
    parts.extend(sim.world.ledger_write.iter().map(write));
    parts.push(format!(
        "{:?} {:?}",
        sim.cluster.ledger.as_ref().map(|(version, it)| (rank(*version), it)),
        ledger(&sim.world.ledger)
    ));
    parts.extend(sim.world.kinds.iter().map(|(kind, it)| {
        format!("{kind} {:?} {} {}", it.sight, it.epoch == sim.world.lease.epoch, sim.pending(kind))
    }));
    parts.extend(
        sim.world
            .refused
            .iter()
            .map(|(key, it)| format!("{key} {:?} {}", it.refusal, it.again() > sim.world.now)),
    );
    parts.push(format!("{:?} {:?} {:?}", sim.world.vanished, sim.was_ready, sim.world.told));
    let mut flights: Vec<_> = sim.flights.iter().chain(&sim.late).map(|it| action(it, &rank)).collect();
    flights.sort();
    parts.extend(flights);
    let mut hasher = DefaultHasher::new();
    (parts, budget, sim.flights.len()).hash(&mut hasher);
    hasher.finish()
}

fn ledger(fact: &LedgerFact) -> String {
    match fact {
        LedgerFact::Present { ledger, .. } => format!("{ledger:?}"),
        other => format!("{other:?}"),
    }
}

fn action(action: &Action, rank: &dyn Fn(u64) -> usize) -> String {
    match action {
        Action::Delete { key, resource_version, .. } | Action::Release { key, resource_version, .. } => {
            format!("remove {key} {}", rank(*resource_version))
        }
        Action::Change { key, body, resource_version, .. } => {
            format!("change {key} {body} {:?}", resource_version.map(rank))
        }
        Action::Record { ledger, resource_version } => format!("{ledger:?} {:?}", resource_version.map(rank)),
        Action::Finalize { finalizers, resource_version, .. } => {
            format!("{finalizers:?} {}", rank(*resource_version))
        }
        Action::Mark { memory, resource_version, .. } => format!("{memory:?} {}", rank(*resource_version)),
        other => format!("{other:?}"),
    }
}

fn moves(sim: &Sim, budget: Budget) -> Vec<(Step, Budget)> {
    let mut moves = Vec::new();
    for (at, name) in [(0, "App"), (4, "Thing"), (3, "Server"), (2, "Note")] {
        if sim.pending(&kind(name)) > 0
            || sim.world.kinds.get(&kind(name)).is_none_or(|it| it.sight != crate::world::Sight::Synced)
        {
            moves.push((Step::Deliver(at), budget));
        }
    }
    moves.push((Step::Ledger, budget));
    if sim.flights.is_empty() {
        moves.push((Step::Decide, budget));
    }
    for at in 0..u8::try_from(sim.flights.len()).unwrap_or(0) {
        moves.push((Step::Land(at), budget));
        if budget.lost > 0 {
            moves.push((Step::LandAnswerLost(at), Budget { lost: budget.lost - 1, ..budget }));
        }
    }
    for at in 0..u8::try_from(sim.late.len()).unwrap_or(0) {
        moves.push((Step::Late(at), budget));
    }
    for at in 0..u8::try_from(sim.cluster.objects.len() - 1).unwrap_or(0) {
        moves.push((Step::Control(at), budget));
        if budget.flap > 0 {
            moves.push((Step::Flap(at), Budget { flap: budget.flap - 1, ..budget }));
        }
        if budget.hand > 0 {
            moves.push((Step::HandDelete(at), Budget { hand: budget.hand - 1, ..budget }));
        }
    }
    if budget.crash > 0 {
        moves.push((Step::Crash, Budget { crash: budget.crash - 1, ..budget }));
    }
    if budget.spec > 0 {
        moves.push((Step::Spec(budget.spec % 2), Budget { spec: budget.spec - 1, ..budget }));
    }
    if sim.decision.as_ref().is_some_and(|it| it.wake.is_some()) {
        moves.push((Step::Tick, budget));
    }
    moves
}

/// How far a search came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Coverage {
    /// How many states were visited.
    pub states: usize,
    /// Whether that is every state there is.
    pub exhausted: bool,
    /// The longest path to a state, in steps.
    pub depth: usize,
}

/// One state in so many must settle as if nothing had happened. Each round of the deep tier takes others.
const SETTLED: u64 = 97;

/// Visits states until the limit; from one in so many of them the world must settle as if nothing had happened.
pub(super) fn exhaust(lab: &Lab, budget: Budget, limit: u64) -> Coverage {
    let subject =
        Subject::of_labs("small", std::slice::from_ref(lab), &[json!({ "v": 1 }), json!({ "v": 2 })]);
    let start = subject.start();
    let ends = as_if_nothing_happened(&subject);
    let mut seen = BTreeSet::from([fingerprint(&start, budget)]);
    let mut open: VecDeque<(Sim, Budget, Path)> = [(start, budget, None)].into();
    let chosen = pemdas_tier::round().unwrap_or(0) % SETTLED;
    let mut coverage = Coverage { states: 1, exhausted: true, depth: 0 };
    while let Some((sim, budget, path)) = open.pop_front() {
        for (step, left) in moves(&sim, budget) {
            let mut next = sim.clone();
            take(&mut next, step, &subject.roots);
            let print = fingerprint(&next, left);
            if !seen.insert(print) {
                continue;
            }
            let path: Path = Some(Rc::new(Trail { step, before: path.clone() }));
            coverage.depth = coverage.depth.max(steps(&path).len());
            assert!(next.violations.is_empty(), "{:?} after {:?}", next.violations, steps(&path));
            if print % SETTLED == chosen {
                let mut end = next.clone();
                assert!(end.settle(), "it does not come to rest after {:?}", steps(&path));
                let differs = ends(&mut end);
                assert!(
                    differs.is_none() && end.violations.is_empty(),
                    "{differs:?} {:?} after {:?}",
                    end.violations,
                    steps(&path)
                );
            }
            if (seen.len() as u64) < limit {
                open.push_back((next, left, path));
            } else {
                coverage.exhausted = false;
            }
        }
    }
    Coverage { states: seen.len(), ..coverage }
}

/// The steps to a state, shared with those that begin in the same way.
type Path = Option<Rc<Trail>>;

struct Trail {
    step: Step,
    before: Path,
}

fn steps(path: &Path) -> Vec<Step> {
    let mut all = Vec::new();
    let mut at = path;
    while let Some(it) = at {
        all.push(it.step);
        at = &it.before;
    }
    all.reverse();
    all
}

/// One object and nothing else.
pub(super) fn single() -> Lab {
    small(Lab::new().template("a", "Thing", &[]).also("app", "a"))
}

pub(super) fn pair() -> Lab {
    small(
        Lab::new()
            .template("a", "Thing", &[])
            .template("b", "Note", &["a"])
            .also("app", "a")
            .also("app", "b"),
    )
}

fn replaced_pair() -> Lab {
    pair().named_by("a", "root.spec.v")
}

fn states() -> Lab {
    small(super::zoo::drain())
}

#[cfg(test)]
mod tests {
    use super::{Budget, Coverage, exhaust, pair, replaced_pair, single, states};

    const QUIET: Budget = Budget { crash: 0, lost: 0, spec: 1, flap: 0, hand: 0 };
    const FAULTS: Budget = Budget { crash: 1, lost: 1, spec: 2, flap: 1, hand: 1 };

    fn report(name: &str, covered: Coverage) {
        #[expect(clippy::disallowed_macros, reason = "how far a search came is for people to read")]
        {
            println!("{name}: {covered:?}");
        }
    }

    /// Every state there is of small worlds: without faults, and with each sort of fault.
    #[test]
    fn small_worlds_hold_in_every_order() {
        let worlds = [
            ("one object, a change", single(), QUIET),
            ("one object, a crash", single(), Budget { crash: 1, ..QUIET }),
            ("one object, a lost answer", single(), Budget { lost: 1, ..QUIET }),
            ("one object, a flap", single(), Budget { flap: 1, ..QUIET }),
            ("one object, a hand", single(), Budget { hand: 1, ..QUIET }),
            ("a pair", pair(), Budget { spec: 0, ..QUIET }),
        ];
        for (name, lab, budget) in worlds {
            let covered = exhaust(&lab, budget, u64::MAX);
            report(name, covered);
            assert!(covered.exhausted, "{name}: {covered:?}");
        }
    }

    /// Larger ones, as far as the time goes: the deep tier goes further.
    #[test]
    fn larger_worlds_hold_as_far_as_they_are_searched() {
        for (name, lab) in [("a pair", pair()), ("a replacement", replaced_pair()), ("states", states())] {
            for (faults, budget) in [("a change", QUIET), ("all faults", FAULTS)] {
                let covered = exhaust(&lab, budget, pemdas_tier::size(600, 20_000));
                report(&format!("{name}, {faults}"), covered);
                assert!(covered.states >= 500 || covered.exhausted, "{name}: {covered:?}");
                pemdas_tier::tried(covered.states as u64, "states");
            }
        }
    }
}
