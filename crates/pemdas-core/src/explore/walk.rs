//! Walks: seeded, shrunk when they fail, and replayed from one line.

use serde_json::Value;

use super::{
    sim::{Fault, REFUSALS, Sim},
    subject::Subject,
};
use crate::{
    ledger::End,
    world::{Fact, ObjectKey},
};

/// One step of a walk. Numbers pick among what is there, so that a shorter walk still means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Deliver(u8),
    DeliverAll,
    Ledger,
    Decide,
    Land(u8),
    LandAnswerLost(u8),
    LandDropped(u8),
    LandRefused(u8),
    Crash,
    Late(u8),
    Control(u8),
    ControlAll,
    Fail(u8),
    Flap(u8),
    TimeToLive(u8),
    HandEdit(u8),
    HandDelete(u8),
    Forge(u8),
    Spec(u8),
    Revision(u8),
    Tick,
    Blind(u8),
    EvaluatorBreaks,
    EvaluatorMends,
    Rest,
    DeleteRoot,
}

/// What may go wrong on a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Faults {
    pub(super) views: bool,
    pub(super) answers: bool,
    pub(super) crashes: bool,
    pub(super) hands: bool,
    /// Another tenant, who forges.
    pub(super) tenant: bool,
    pub(super) specs: u8,
    pub(super) revisions: u8,
    pub(super) jobs: bool,
    pub(super) deletion: bool,
    /// How many kinds there are to see something of.
    pub(super) kinds: u8,
}

impl Faults {
    pub(super) const ALL: Self = Self {
        views: true,
        answers: true,
        crashes: true,
        hands: true,
        tenant: false,
        specs: 2,
        revisions: 0,
        jobs: false,
        deletion: false,
        kinds: 5,
    };

    /// Nothing goes wrong, in any order.
    pub(super) const NONE: Self = Self {
        views: false,
        answers: false,
        crashes: false,
        hands: false,
        tenant: false,
        specs: 0,
        revisions: 0,
        jobs: false,
        deletion: false,
        kinds: 5,
    };

    /// As many kinds, roots and revisions as there are.
    pub(super) fn of(self, subject: &Subject) -> Self {
        let count = |it: usize| u8::try_from(it).unwrap_or(u8::MAX);
        let revisions = if self.revisions > 0 { count(subject.programs.len()) } else { 0 };
        let specs = if self.specs > 0 { count(subject.roots.len()) } else { 0 };
        Self { specs, revisions, kinds: count(subject.kinds.len()).max(5), ..self }
    }
}

/// A small generator of numbers: the walk is a function of its seed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    pub(super) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % sides
    }
}

pub(super) fn steps(seed: u64, length: usize, faults: Faults) -> Vec<Step> {
    let mut dice = Dice::new(seed);
    let mut menu: Vec<(Step, usize)> = vec![
        (Step::Decide, 8),
        (Step::Land(0), 10),
        (Step::Control(0), 8),
        (Step::Deliver(0), 14),
        (Step::DeliverAll, 3),
        (Step::Ledger, 4),
        (Step::Tick, 2),
    ];
    if faults.views {
        menu.extend([
            (Step::Blind(0), 1),
            (Step::EvaluatorBreaks, 1),
            (Step::EvaluatorMends, 2),
            (Step::Flap(0), 3),
            (Step::Rest, 1),
        ]);
    }
    if faults.answers {
        menu.extend([(Step::LandAnswerLost(0), 2), (Step::LandDropped(0), 1), (Step::LandRefused(0), 1)]);
    }
    if faults.crashes {
        menu.extend([(Step::Crash, 1), (Step::Late(0), 1)]);
    }
    if faults.hands {
        menu.extend([(Step::HandEdit(0), 1), (Step::HandDelete(0), 1)]);
    }
    if faults.tenant {
        menu.push((Step::Forge(0), 8));
    }
    if faults.jobs {
        menu.extend([(Step::Fail(0), 1), (Step::TimeToLive(0), 2)]);
    }
    if faults.specs > 1 {
        menu.push((Step::Spec(0), 1));
    }
    if faults.revisions > 1 {
        menu.push((Step::Revision(0), 1));
    }
    if faults.deletion {
        menu.push((Step::DeleteRoot, 1));
    }
    let total: usize = menu.iter().map(|(_, weight)| weight).sum();
    (0..length)
        .map(|_| {
            let mut at = dice.roll(total);
            let mut found = Step::Decide;
            for (step, weight) in &menu {
                if at < *weight {
                    found = *step;
                    break;
                }
                at -= weight;
            }
            let number = u8::try_from(dice.roll(200)).expect("small");
            numbered(found, number, faults)
        })
        .collect()
}

fn numbered(step: Step, number: u8, faults: Faults) -> Step {
    match step {
        Step::Deliver(_) => Step::Deliver(number % faults.kinds),
        Step::Land(_) => Step::Land(number % 4),
        Step::LandAnswerLost(_) => Step::LandAnswerLost(number % 4),
        Step::LandDropped(_) => Step::LandDropped(number % 4),
        Step::LandRefused(_) => Step::LandRefused(number % (4 * REFUSALS)),
        Step::Late(_) => Step::Late(number % 4),
        Step::Control(_) => Step::Control(number % 12),
        Step::Fail(_) => Step::Fail(number % 12),
        Step::Flap(_) => Step::Flap(number % 12),
        Step::TimeToLive(_) => Step::TimeToLive(number % 12),
        Step::HandEdit(_) => Step::HandEdit(number % 12),
        Step::HandDelete(_) => Step::HandDelete(number % 12),
        Step::Forge(_) => Step::Forge(number),
        Step::Spec(_) => Step::Spec(number % faults.specs),
        Step::Revision(_) => Step::Revision(number % faults.revisions),
        Step::Blind(_) => Step::Blind(1 + number % (faults.kinds - 1)),
        other => other,
    }
}

/// Takes a step.
#[expect(clippy::too_many_lines, reason = "one arm for each step")]
pub(super) fn take(sim: &mut Sim, step: Step, roots: &[Value]) {
    let any =
        |keys: Vec<ObjectKey>, at: u8| (!keys.is_empty()).then(|| keys[usize::from(at) % keys.len()].clone());
    let pick = |sim: &Sim, at: u8| {
        any(sim.cluster.objects.keys().filter(|it| **it != sim.cluster.root).cloned().collect(), at)
    };
    // What others made is theirs: nobody tears at it.
    let pick_ours = |sim: &Sim, at: u8| any(sim.claimed().into_iter().map(|(key, _, _)| key).collect(), at);
    match step {
        Step::Deliver(at) => {
            let of = pick_kind(sim, at);
            sim.deliver(&of);
        }
        Step::DeliverAll => {
            sim.deliver_all();
        }
        Step::Ledger => {
            sim.read_ledger();
        }
        Step::Decide => {
            sim.decide();
        }
        Step::Land(at) => sim.land(at.into(), Fault::None),
        Step::LandAnswerLost(at) => sim.land(at.into(), Fault::AnswerLost),
        Step::LandDropped(at) => sim.land(at.into(), Fault::Dropped),
        Step::LandRefused(at) => sim.land((at % 4).into(), Fault::Refused(at / 4)),
        Step::Crash => sim.crash(),
        Step::Late(at) => sim.land_late(at.into()),
        Step::ControlAll => {
            sim.control_all();
        }
        Step::Control(at) => {
            if let Some(key) = pick(sim, at) {
                sim.control(&key, End::Passed);
            }
        }
        Step::Fail(at) => {
            if let Some(key) = pick(sim, at) {
                sim.control(&key, End::Failed);
            }
        }
        Step::Flap(at) => {
            if let Some(key) = pick(sim, at) {
                sim.flap(&key);
            }
        }
        Step::TimeToLive(at) => {
            if let Some(key) = pick(sim, at)
                && key.kind.kind == "Job"
                && sim.live(&key).is_some_and(|it| it.body.get("status").is_some())
            {
                sim.cluster.delete(&key);
            }
        }
        Step::HandEdit(at) => {
            if let Some(key) = pick_ours(sim, at).filter(|it| it.kind.kind != "Job") {
                sim.edit_by("hand", &key);
            }
        }
        Step::HandDelete(at) => {
            if let Some(key) = pick_ours(sim, at).filter(|it| it.kind.kind != "Job") {
                sim.cluster.delete(&key);
            }
        }
        Step::Forge(number) => sim.forge(number),
        Step::Spec(at) => sim.set_root(&roots[usize::from(at) % roots.len()]),
        Step::Revision(at) => sim.program = Some(usize::from(at) % sim.programs.len()),
        Step::Tick => {
            let wake = sim.decision.as_ref().and_then(|it| it.wake).unwrap_or(0);
            let now = wake.max(sim.world.now + 1_000);
            sim.world.learn(Fact::Now(now));
        }
        Step::Blind(at) => {
            let root = sim.cluster.root.kind.clone();
            let others: Vec<_> = sim.kinds.keys().filter(|it| **it != root).cloned().collect();
            let of = others[usize::from(at.saturating_sub(1)) % others.len()].clone();
            if let Some(view) = sim.world.kinds.get_mut(&of) {
                view.sight = crate::world::Sight::Unsynced;
                sim.world.touch_everything();
            }
        }
        Step::EvaluatorBreaks => sim.evaluator_broken = true,
        Step::EvaluatorMends => sim.evaluator_broken = false,
        Step::Rest => sim.rest(),
        Step::DeleteRoot => {
            let root = sim.cluster.root.clone();
            sim.cluster.delete(&root);
        }
    }
}

fn pick_kind(sim: &Sim, at: u8) -> crate::world::KindKey {
    sim.kinds.keys().nth(usize::from(at) % sim.kinds.len()).cloned().expect("a kind")
}

/// What is asked of a world in which the faults have ended.
pub(super) type End_ = dyn Fn(&mut Sim) -> Option<String>;

/// Walks, lets the world settle, and asks; the first violation.
pub(super) fn run(start: &Sim, walk: &[Step], roots: &[Value], end: &End_) -> Option<String> {
    let mut sim = start.clone();
    for step in walk {
        take(&mut sim, *step, roots);
        if let Some(violation) = sim.violations.first() {
            return Some(violation.clone());
        }
    }
    let rest = sim.settle();
    if let Some(violation) = sim.violations.first() {
        return Some(violation.clone());
    }
    if !rest {
        let last: Vec<_> =
            sim.decision.iter().flat_map(|it| &it.actions).map(|it| format!("{it:?}")).collect();
        return Some(format!("it does not come to rest: {last:.400?}"));
    }
    let found = end(&mut sim);
    found.or_else(|| sim.violations.first().cloned())
}

/// Takes steps out as long as it still fails.
fn shrink(start: &Sim, walk: &[Step], roots: &[Value], end: &End_) -> Vec<Step> {
    let mut walk = walk.to_vec();
    let mut size = walk.len() / 2;
    let mut budget = 300;
    while size > 0 {
        let mut at = 0;
        while at < walk.len() && budget > 0 {
            let mut shorter = walk.clone();
            shorter.drain(at..(at + size).min(walk.len()));
            budget -= 1;
            if run(start, &shorter, roots, end).is_some() {
                walk = shorter;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    walk
}

/// Many walks over one blueprint. Fails with the shortest walk found, as one line that replays it.
pub(super) fn explore(
    property: &str,
    subject: &Subject,
    faults: Faults,
    (walks, length): (u64, usize),
    prepare: impl Fn(&mut Sim),
    end: &End_,
) {
    let label = format!("{property} {}", subject.name);
    let faults = faults.of(subject);
    let mut start = subject.start();
    prepare(&mut start);
    match replayed(&label) {
        Replay::This(line) => {
            let walk: Vec<_> = line.split(' ').filter(|it| !it.is_empty()).map(parse).collect();
            let found = run(&start, &walk, &subject.roots, end);
            assert!(found.is_none(), "{}\n{}", found.unwrap_or_default(), again(&label, &line));
        }
        Replay::Another => {}
        Replay::None => {
            let seeds = seeds(&label, walks);
            let walked = seeds.end - seeds.start;
            for seed in seeds {
                let walk = steps(seed, length, faults);
                if run(&start, &walk, &subject.roots, end).is_none() {
                    continue;
                }
                #[cfg(test)]
                assert!(!crate::mutation::any(), "a deliberate bug is noticed");
                let short = shrink(&start, &walk, &subject.roots, end);
                let violation = run(&start, &short, &subject.roots, end).unwrap_or_default();
                let line: Vec<_> = short.iter().map(|it| format!("{it:?}").replace(' ', "")).collect();
                panic!("{violation}\n{}", again(&label, &line.join(" ")));
            }
            if pemdas_tier::is_deep() {
                pemdas_tier::tried(walked, "walks");
            }
        }
    }
}

/// A subject of at most so many nodes is small.
const SMALL: usize = 8;
/// Of a large subject the default tier asks at one point in so many.
const ASKED: usize = 8;

/// Asks something at every single point of a run without chance; of a large subject, the deep tier does. A failure names the point, and
/// is replayed by it.
pub(super) fn at_every_step(
    property: &str,
    subject: &Subject,
    most: usize,
    mut sim: Sim,
    ask: &dyn Fn(Sim, usize) -> Option<String>,
) {
    let label = format!("{property} {}", subject.name);
    let only = match replayed(&label) {
        Replay::This(line) => Some(line.parse::<usize>().expect("the number of a step")),
        Replay::Another => return,
        Replay::None => None,
    };
    let large = subject.programs[0].0.blueprint.nodes.len() > SMALL;
    let every = if large { pemdas_tier::size(ASKED, 1) } else { 1 };
    let (mut quiet, mut version) = (0, sim.cluster.version);
    let (mut asked, mut points) = (None, 0);
    for at in 0..most {
        // A step that moved nothing is no other point.
        let point = Some((sim.cluster.version, sim.flights.len(), sim.world.changes));
        let new = std::mem::replace(&mut asked, point) != point;
        points += usize::from(new);
        if only.map_or(new && points % every == 0, |it| it == at)
            && let Some(found) = ask(sim.clone(), at)
        {
            panic!("at step {at}: {found}\n{}", again(&label, &at.to_string()));
        }
        sim.small_step(at);
        quiet = if version == sim.cluster.version { quiet + 1 } else { 0 };
        version = sim.cluster.version;
        if quiet > 24 {
            return;
        }
    }
}

/// The one line that replays a failure.
fn again(label: &str, line: &str) -> String {
    format!("replay: PEMDAS_REPLAY='{label}: {line}' cargo test -p {}", env_package())
}

/// Which package's test this is.
fn env_package() -> &'static str {
    if cfg!(test) { "pemdas-core --lib explore" } else { "pemdas-tests --test explore" }
}

/// How many times the walks of the default tier one round of the deep tier takes.
const DEEP: u64 = 25;

/// The seeds of so many walks. Each round of the deep tier takes more of them, and others. What has to fail does so in every round in
/// the same way: a planted failure, and a deliberate bug.
fn seeds(label: &str, walks: u64) -> std::ops::Range<u64> {
    #[cfg(test)]
    if crate::mutation::any() {
        return 1..walks + 1;
    }
    if label == PLANTED { 1..walks + 1 } else { pemdas_tier::seeds(walks, walks * DEEP) }
}

/// What is to be replayed.
enum Replay {
    None,
    /// This exploration's walk.
    This(String),
    /// Another one's: then this one is of no interest.
    Another,
}

#[expect(clippy::disallowed_methods, reason = "a knob of the tests, not of the core")]
fn replayed(label: &str) -> Replay {
    // A test that plants a failure is about itself.
    let line = std::env::var("PEMDAS_REPLAY").ok().filter(|_| label != PLANTED);
    let Some(line) = line else { return Replay::None };
    match line.split_once(": ") {
        Some((of, walk)) if of == label => Replay::This(walk.to_owned()),
        _ => Replay::Another,
    }
}

const PLANTED: &str = "planted lab";

fn parse(word: &str) -> Step {
    let (name, number) = word.trim_end_matches(')').split_once('(').unwrap_or((word, "0"));
    let number = number.parse().unwrap_or(0);
    match name {
        "Deliver" => Step::Deliver(number),
        "DeliverAll" => Step::DeliverAll,
        "Ledger" => Step::Ledger,
        "Land" => Step::Land(number),
        "LandAnswerLost" => Step::LandAnswerLost(number),
        "LandDropped" => Step::LandDropped(number),
        "LandRefused" => Step::LandRefused(number),
        "Crash" => Step::Crash,
        "Late" => Step::Late(number),
        "Control" => Step::Control(number),
        "ControlAll" => Step::ControlAll,
        "Fail" => Step::Fail(number),
        "Flap" => Step::Flap(number),
        "TimeToLive" => Step::TimeToLive(number),
        "HandEdit" => Step::HandEdit(number),
        "HandDelete" => Step::HandDelete(number),
        "Forge" => Step::Forge(number),
        "Spec" => Step::Spec(number),
        "Revision" => Step::Revision(number),
        "Tick" => Step::Tick,
        "Blind" => Step::Blind(number),
        "EvaluatorBreaks" => Step::EvaluatorBreaks,
        "EvaluatorMends" => Step::EvaluatorMends,
        "Rest" => Step::Rest,
        "DeleteRoot" => Step::DeleteRoot,
        _ => Step::Decide,
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use serde_json::json;

    use super::{Faults, explore, parse, run, steps};
    use crate::explore::{sim::Sim, subject::Subject, zoo::chain};

    #[test]
    fn every_step_is_read_as_it_is_printed() {
        let faults = Faults { jobs: true, deletion: true, tenant: true, revisions: 3, ..Faults::ALL };
        for step in steps(1, 3_000, faults) {
            let word = format!("{step:?}");
            assert_eq!(parse(&word), step, "{word}");
        }
    }

    /// A failure is shrunk, and the line that is printed fails in the same way.
    #[test]
    fn a_planted_failure_is_shrunk_and_replays() {
        let subject = Subject::of_labs("lab", &[chain()], &[json!({ "v": 1 }), json!({ "v": 2 })]);
        let planted = |sim: &mut Sim| (sim.world.lease.epoch > 1).then(|| "it crashed".to_owned());
        let walked = catch_unwind(AssertUnwindSafe(|| {
            explore("planted", &subject, Faults::ALL, (40, 60), |_| {}, &planted);
        }));
        let told = *walked.expect_err("it crashes in some walk").downcast::<String>().expect("a message");
        let line = told.split("replay: PEMDAS_REPLAY='planted lab: ").nth(1).expect("a line");
        let line = line.split('\'').next().expect("a walk");
        let walk: Vec<_> = line.split(' ').map(parse).collect();
        assert_eq!(line, "Crash", "the shortest walk that fails");
        assert_eq!(run(&subject.start(), &walk, &subject.roots, &planted).as_deref(), Some("it crashed"));
    }
}
