//! The same scenarios under faults: the operator dies before and after every single request, requests get lost, answers get lost, watches
//! lag and are cut. Whatever happens, what it comes to has to be the same, in the same order, and nothing else may be deleted.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use pemdas_sim::Method;

use super::{
    Bench, Entry, Failure, Fault, Played, Script, play,
    script::{Step, What},
};

/// How much longer everything may take under faults.
const PATIENCE: u64 = 20;
/// How long the operator may take to come to rest in the end, in milliseconds.
const TO_REST: u64 = 3_600_000;
/// One run in so many is run twice and compared.
const TWICE: usize = 100;
/// How many failures of a scenario are told.
const MAX_TOLD: usize = 5;
/// How many differences of a state are told.
const MAX_DIFFERENCES: usize = 6;

/// What is to be tried.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The first seed.
    pub(crate) seed: u64,
    /// How many seeds.
    pub(crate) seeds: u64,
    /// How many faults in one run: 1, or 2.
    pub(crate) depth: usize,
    /// These faults only.
    pub(crate) only: Vec<(usize, Fault)>,
}

/// A run that went wrong.
pub(crate) struct Found {
    /// Its seed.
    pub(crate) seed: u64,
    /// What was done to it.
    pub(crate) faults: Vec<(usize, Fault)>,
    /// The requests that it was done to.
    pub(crate) requests: Vec<String>,
    /// What is wrong.
    pub(crate) message: String,
    /// The run.
    pub(crate) played: Played,
}

/// What came of exploring a scenario.
pub(crate) struct Explored {
    /// How many runs there were.
    pub(crate) runs: usize,
    /// How many of them were run twice.
    pub(crate) twice: usize,
    /// What was found, the shortest first.
    pub(crate) found: Vec<Found>,
    /// How many more runs went wrong in the same ways.
    pub(crate) more: usize,
    /// How long it took.
    pub(crate) took: Duration,
}

/// Explores a scenario.
///
/// # Errors
/// If this machine does not give what one thread needs.
pub(crate) fn explore(bench: &Bench, script: &Script, plan: &Plan) -> std::io::Result<Explored> {
    let began = Instant::now();
    let script = patient(script);
    let mut explored = Explored { runs: 0, twice: 0, found: Vec::new(), more: 0, took: Duration::ZERO };
    for seed in (0..plan.seeds).map(|it| plan.seed.wrapping_add(it)) {
        let whole = play(bench, &script, seed, Vec::new())?;
        explored.runs += 1;
        if let Some(failure) = &whole.failure {
            let message = format!("without any fault: {}", failure.message);
            explored.found.push(Found {
                seed,
                faults: Vec::new(),
                requests: Vec::new(),
                message,
                played: whole,
            });
            continue;
        }
        let mut tries = if plan.only.is_empty() { singles(&whole.entries) } else { vec![plan.only.clone()] };
        if plan.depth > 1 && plan.only.is_empty() {
            tries.extend(pairs(&tries, seed));
        }
        let goal = Goal { deleted: deleted(&whole.entries), whole };
        run_all(bench, &script, seed, &goal, &tries, &mut explored)?;
    }
    explored.took = began.elapsed();
    Ok(explored)
}

/// Where a run has to come to.
struct Goal {
    whole: Played,
    deleted: BTreeSet<String>,
}

/// Runs them all, on as many threads as there are; each run has its own.
fn run_all(
    bench: &Bench,
    script: &Script,
    seed: u64,
    goal: &Goal,
    tries: &[Vec<(usize, Fault)>],
    explored: &mut Explored,
) -> std::io::Result<()> {
    let next = AtomicUsize::new(0);
    let wrong: Mutex<Vec<Found>> = Mutex::default();
    let trouble: Mutex<Option<std::io::Error>> = Mutex::default();
    let twice = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(tries.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(faults) = tries.get(number) else { return };
                    match run(bench, script, seed, goal, faults, number.is_multiple_of(TWICE)) {
                        Ok(found) => wrong.lock().unwrap_or_else(PoisonError::into_inner).extend(found),
                        Err(error) => {
                            *trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                            return;
                        }
                    }
                    twice.fetch_add(usize::from(number.is_multiple_of(TWICE)), Ordering::Relaxed);
                }
            });
        }
    });
    if let Some(error) = trouble.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    explored.runs += tries.len();
    explored.twice += twice.into_inner();
    let mut wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
    wrong.sort_by_key(|it| (it.faults.len(), it.faults.first().copied()));
    for found in wrong {
        let known = explored.found.iter().any(|it| it.message == found.message);
        if known || explored.found.len() >= MAX_TOLD {
            explored.more += 1;
        } else {
            explored.found.push(found);
        }
    }
    Ok(())
}

/// One run under faults: what is wrong with it, if anything is.
fn run(
    bench: &Bench,
    script: &Script,
    seed: u64,
    goal: &Goal,
    faults: &[(usize, Fault)],
    twice: bool,
) -> std::io::Result<Option<Found>> {
    let played = play(bench, script, seed, faults.to_vec())?;
    let mut message = judged(&played, goal);
    if twice && message.is_none() {
        let again = play(bench, script, seed, faults.to_vec())?;
        if again.entries != played.entries {
            message = Some("the same run was another one when it was repeated".to_owned());
        }
    }
    Ok(message.map(|message| {
        let request = |(number, _): &(usize, Fault)| played.entries.get(*number).map(ToString::to_string);
        let requests = faults.iter().filter_map(request).collect();
        Found { seed, faults: faults.to_vec(), requests, message, played }
    }))
}

/// What is wrong with a run.
fn judged(played: &Played, goal: &Goal) -> Option<String> {
    if let Some(Failure { message, why, .. }) = &played.failure {
        let why = why.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
        return Some(format!("{message}{why}"));
    }
    let unexpected: Vec<String> = deleted(&played.entries).difference(&goal.deleted).cloned().collect();
    if !unexpected.is_empty() {
        return Some(format!("deleted, and not without the fault: {}", unexpected.join(", ")));
    }
    let differences = goal.whole.state.differences(&played.state);
    if differences.is_empty() {
        return None;
    }
    let more = differences.len().saturating_sub(MAX_DIFFERENCES);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let told: Vec<String> = differences.into_iter().take(MAX_DIFFERENCES).collect();
    Some(format!("it came to something else than without the fault: {}{more}", told.join("; ")))
}

/// What the operator deleted, by where it is; digests in names left out.
fn deleted(entries: &[Entry]) -> BTreeSet<String> {
    let gone = entries.iter().filter(|it| it.method == Method::Delete && it.code.is_some_and(|it| it < 300));
    gone.map(|it| super::state::named(&it.target)).collect()
}

/// Every fault for every request.
fn singles(entries: &[Entry]) -> Vec<Vec<(usize, Fault)>> {
    let mut all = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        let faults: &[Fault] = if entry.writes() {
            &[
                Fault::CrashBefore,
                Fault::CrashAfter,
                Fault::Broken,
                Fault::BrokenAfter,
                Fault::Refused(409),
                Fault::Refused(429),
                Fault::Refused(500),
            ]
        } else if entry.watches() {
            &[Fault::CrashBefore, Fault::Late, Fault::Cut, Fault::Refused(410)]
        } else {
            &[Fault::CrashBefore, Fault::Broken, Fault::Refused(500)]
        };
        all.extend(faults.iter().map(|it| vec![(number, *it)]));
    }
    all
}

/// As many pairs as there are single faults, drawn by the seed.
fn pairs(singles: &[Vec<(usize, Fault)>], seed: u64) -> Vec<Vec<(usize, Fault)>> {
    let mut chance = fastrand::Rng::with_seed(seed);
    let draw = |chance: &mut fastrand::Rng| singles.get(chance.usize(..singles.len().max(1))).cloned();
    let mut all = Vec::new();
    for _ in 0..singles.len() {
        let (Some(one), Some(other)) = (draw(&mut chance), draw(&mut chance)) else { break };
        let mut pair: Vec<(usize, Fault)> = one.into_iter().chain(other).collect();
        pair.sort_unstable();
        pair.dedup_by_key(|it| it.0);
        all.push(pair);
    }
    all
}

/// The same scenario with more patience: faults cost time, and what people are told may be lost with them.
fn patient(script: &Script) -> Script {
    let mut script = script.clone();
    script.steps.retain(|step| match &step.what {
        What::Eventually(fact, _) | What::Now(fact) => fact.kind != "Event",
        _ => true,
    });
    for step in &mut script.steps {
        step.what = match step.what.clone() {
            What::Eventually(fact, within) => What::Eventually(fact, within * PATIENCE),
            What::Now(fact) => What::Eventually(fact, 300_000 * PATIENCE),
            What::Settles(_) => What::Settles(TO_REST),
            other => other,
        };
    }
    if let Some(last) = script.steps.last().map(|it| it.span.clone()) {
        script.steps.push(Step { span: last, what: What::Settles(TO_REST) });
    }
    script
}
