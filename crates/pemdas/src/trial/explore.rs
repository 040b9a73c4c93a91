//! The same scenarios under faults: the operator dies before and after every single request, requests get lost, answers get lost, watches
//! lag and are cut. Whatever happens, what it comes to has to be the same, in the same order, and nothing else may be deleted.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    Bench, Fault, Played, Script,
    faults::{Faults, deaths, drawn, second_deaths, singles},
    oracle::{Goal, patient},
    pace::Pace,
    play,
    rollback::rollbacks,
};

/// One run in so many is run twice and compared.
const TWICE: usize = 100;
/// How many failures of a scenario are told.
const MAX_TOLD: usize = 5;

/// What is to be tried.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The first seed.
    pub(crate) seed: u64,
    /// How many seeds.
    pub(crate) seeds: u64,
    /// One in so many of all runs; which of them, the seed says.
    pub(crate) share: usize,
    /// How many faults in one run: 1, or 2.
    pub(crate) depth: usize,
    /// These faults only.
    pub(crate) only: Vec<(usize, Fault)>,
    /// Only the change of this step is taken back.
    pub(crate) roll_back: Option<usize>,
}

/// A run that went wrong.
pub(crate) struct Found {
    /// Its seed.
    pub(crate) seed: u64,
    /// What was done to it.
    pub(crate) faults: Vec<(usize, Fault)>,
    /// The step whose change was taken back.
    pub(crate) rolled_back: Option<usize>,
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
pub(crate) fn explore(bench: &Bench, script: &Script, plan: &Plan, pace: &Pace) -> std::io::Result<Explored> {
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
                rolled_back: None,
                requests: Vec::new(),
                message,
                played: whole,
            });
            continue;
        }
        take_back(bench, &script, seed, plan, &mut explored)?;
        if plan.roll_back.is_some() {
            continue;
        }
        let mut tries = if plan.only.is_empty() { singles(&whole) } else { vec![plan.only.clone()] };
        if plan.depth > 1 && plan.only.is_empty() {
            for first in deaths(&whole.entries) {
                let died = play(bench, &script, seed, first.clone())?;
                tries.extend(second_deaths(&first, &died.entries));
            }
            tries.extend(drawn(&singles(&whole), seed));
        }
        if plan.share > 1 && plan.only.is_empty() {
            // Scenarios begin to count at different numbers: those with few runs have their share, too.
            let begin: usize = script.title().bytes().map(usize::from).sum();
            let mut number = begin.wrapping_add(usize::try_from(seed).unwrap_or_default());
            tries.retain(|_| {
                number = number.wrapping_add(1);
                number.is_multiple_of(plan.share)
            });
        }
        let goal = Goal::new(whole);
        run_all(bench, &script, seed, &goal, &tries, pace, &mut explored)?;
    }
    explored.took = began.elapsed();
    Ok(explored)
}

/// Plays a scenario as often as it changes an object, and takes that change back.
fn take_back(
    bench: &Bench,
    script: &Script,
    seed: u64,
    plan: &Plan,
    explored: &mut Explored,
) -> std::io::Result<()> {
    if !plan.only.is_empty() {
        return Ok(());
    }
    for (step, script) in rollbacks(script) {
        if plan.roll_back.is_some_and(|it| it != step + 1) {
            continue;
        }
        let played = play(bench, &script, seed, Vec::new())?;
        explored.runs += 1;
        if let Some(message) = played.failure.as_ref().map(|it| it.message.clone()) {
            let (faults, requests, rolled_back) = (Vec::new(), Vec::new(), Some(step + 1));
            explored.found.push(Found { seed, faults, rolled_back, requests, message, played });
        }
    }
    Ok(())
}

/// Runs them all, on as many threads as there are; each run has its own.
#[allow(clippy::too_many_arguments, reason = "a run has so many parts")]
fn run_all(
    bench: &Bench,
    script: &Script,
    seed: u64,
    goal: &Goal,
    tries: &[Faults],
    pace: &Pace,
    explored: &mut Explored,
) -> std::io::Result<()> {
    pace.expect(tries.len());
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
                    pace.ran();
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
    let mut message = goal.judge(&played);
    if twice && message.is_none() {
        let again = play(bench, script, seed, faults.to_vec())?;
        let mut both = played.entries.iter().zip(&again.entries).enumerate();
        let other = both.find(|(_, (one, two))| one != two);
        message = other.map(|(at, (one, two))| {
            format!(
                "the same run was another one when it was repeated: request {at} was {one}, and then {two}"
            )
        });
        if message.is_none() && again.entries.len() != played.entries.len() {
            let (one, two) = (played.entries.len(), again.entries.len());
            message = Some(format!("the same run had {one} requests, and {two} when it was repeated"));
        }
    }
    Ok(message.map(|message| {
        let request = |(number, _): &(usize, Fault)| played.entries.get(*number).map(ToString::to_string);
        let requests = faults.iter().filter_map(request).collect();
        Found { seed, faults: faults.to_vec(), rolled_back: None, requests, message, played }
    }))
}
