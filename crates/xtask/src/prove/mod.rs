//! The deep tier: the same promises as `cargo xtask test` proves, with as much volume as there is time for.
//!
//! The work is a list of jobs (`jobs`), each a few tests of one program. A job runs in numbered rounds, each with other seeds. One job in
//! one round is a unit: two of them run at the same time, each in a process of its own. What has ended is written down at once
//! (`record`), so a stopped run goes on where it was.

mod jobs;
mod record;

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::harness::{self, End, Options};
use crate::programs::{self, Built, Selection};
use crate::steps::target;
use jobs::{JOBS, Job};
use record::{Outcome, Record};

const HELP: &str = "\
Usage: cargo xtask prove [--minutes N | --all] [--job NAME]... [--fresh] [--list]

Runs the deep tier of the tests: more seeds, requests, objects and repetitions of what `cargo xtask test` proves.
Stop it with Ctrl-C. The same command goes on where it was, as long as the commit is the same.

Options:
  --minutes N   Start nothing that would end later than that [default: 10]
  --all         Run every round of every job
  --job NAME    Only this job
  --fresh       Forget what an earlier run of this commit did
  --list        List the jobs
";

/// What is asked for.
struct Wanted {
    budget: Option<Duration>,
    jobs: Vec<&'static Job>,
    fresh: bool,
}

/// Which Kubernetes the test bed runs.
const KUBERNETES: &str = "PEMDAS_KUBERNETES";

/// How often a line says what still runs.
const STILL: Duration = Duration::from_secs(60);

/// One job in one round.
#[derive(Clone, Copy)]
struct Unit {
    job: &'static Job,
    round: u64,
}

pub(crate) fn run(arguments: &[&str]) -> ExitCode {
    let wanted = match read(arguments) {
        Ok(Some(wanted)) => wanted,
        Ok(None) => return ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match prove(&wanted) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn read(arguments: &[&str]) -> Result<Option<Wanted>, String> {
    let mut wanted = Wanted { budget: Some(Duration::from_secs(600)), jobs: Vec::new(), fresh: false };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match *word {
            "--all" => wanted.budget = None,
            "--fresh" => wanted.fresh = true,
            "--minutes" => {
                let minutes = words.next().and_then(|it| it.parse::<u64>().ok()).filter(|it| *it > 0);
                let minutes = minutes.ok_or("--minutes takes a number of minutes, from 1 on")?;
                wanted.budget = Some(Duration::from_secs(minutes * 60));
            }
            "--job" => {
                let name = words.next().ok_or("--job takes the name of a job")?;
                let job = JOBS.iter().find(|it| it.name == **name);
                wanted.jobs.push(job.ok_or(format!("there is no job `{name}`; `--list` lists them"))?);
            }
            "--list" => {
                for job in JOBS.iter() {
                    println!("{:<62} {:>3} rounds  {}", job.name, job.rounds, job.about);
                }
                return Ok(None);
            }
            "-h" | "--help" => {
                print!("{HELP}");
                return Ok(None);
            }
            unknown => return Err(format!("there is no option `{unknown}`")),
        }
    }
    if wanted.jobs.is_empty() {
        wanted.jobs = JOBS.iter().collect();
    }
    Ok(Some(wanted))
}

/// Every job once, then every job again: a short budget tries something of everything.
fn units(jobs: &[&'static Job]) -> VecDeque<Unit> {
    let most = jobs.iter().map(|it| it.rounds).max().unwrap_or(0);
    let rounds = (1..=most).flat_map(|round| {
        jobs.iter().filter(move |it| round <= it.rounds).map(move |job| Unit { job, round })
    });
    rounds.collect()
}

/// How many units failed.
fn prove(wanted: &Wanted) -> Result<usize, String> {
    let folder = target().join("prove");
    let mut record = Record::open(&folder, wanted.fresh)?;
    println!("==> building the tests");
    // All of them: they are the same ones as `cargo xtask test` builds.
    let built = programs::build(&Selection::Everything)?;
    let mut left = units(&wanted.jobs);
    let all = left.len();
    left.retain(|it| !record.has(&it.job.name, it.round));
    if left.len() < all {
        println!(
            "==> {} of {all} units ran before, on the same commit; --fresh runs them again",
            all - left.len()
        );
    }
    let started = Instant::now();
    let shared = Mutex::new((left, &mut record, Vec::<(Unit, Instant)>::new()));
    let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        let work = || {
            loop {
                let unit = {
                    let (left, record, running) = &mut *lock();
                    let fits = |unit: &Unit| {
                        wanted
                            .budget
                            .is_none_or(|budget| started.elapsed() + record.expected(&unit.job.name) < budget)
                    };
                    let Some(at) = left.iter().position(fits) else { break };
                    let Some(unit) = left.remove(at) else { break };
                    running.push((unit, Instant::now()));
                    unit
                };
                let outcome = run_unit(&built, unit, &folder);
                let (left, record, running) = &mut *lock();
                running.retain(|(it, _)| !(it.job.name == unit.job.name && it.round == unit.round));
                tell(unit, &outcome, all - left.len() - running.len(), all, started, wanted.budget);
                if let Err(why) = record.add(&unit.job.name, unit.round, outcome) {
                    eprintln!("error: {why}");
                }
            }
        };
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let mut said = Instant::now();
        while !workers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(500));
            if said.elapsed() > STILL {
                said = Instant::now();
                println!("{}", still(&lock().2));
            }
        }
    });
    let report = record.report(&wanted.jobs, started.elapsed());
    let file = folder.join("report.md");
    std::fs::write(&file, &report).map_err(|cause| format!("{}: {cause}", file.display()))?;
    println!("\n{report}\nThe report is in {}.", file.display());
    Ok(record.failures())
}

/// What runs, and for how long.
fn still(running: &[(Unit, Instant)]) -> String {
    let units = running.iter().map(|(unit, since)| {
        format!("{} round {} ({} s)", unit.job.name, unit.round, since.elapsed().as_secs())
    });
    format!("          running: {}", units.collect::<Vec<_>>().join(", "))
}

fn run_unit(built: &Built, unit: Unit, folder: &Path) -> Outcome {
    let Unit { job, round } = unit;
    let failed = |why: String| Outcome { passed: false, seconds: 0.0, tried: Vec::new(), replay: vec![why] };
    let Some(program) = built.programs.iter().find(|it| it.title() == job.program) else {
        return failed(format!("there is no test program {}", job.program));
    };
    let mut arguments: Vec<String> = job.tests.iter().filter(|it| !it.is_empty()).cloned().collect();
    arguments.extend(["--include-ignored", "--show-output"].map(str::to_owned));
    // A name that ends in `::` means all tests of a module.
    if job.tests.iter().all(|it| !it.is_empty() && !it.ends_with("::")) {
        arguments.push("--exact".to_owned());
    }
    let mut environment = vec![("PEMDAS_PROVE".to_owned(), round.to_string())];
    environment.extend(job.kubernetes.map(|it| (KUBERNETES.to_owned(), it.to_owned())));
    let options = Options { arguments, environment, threads: Some(1) };
    let log = folder.join(format!("{}-{round}.log", job.name.replace(':', "-")));
    match harness::run(built, program, &options, &log) {
        Err(why) => failed(why),
        Ok(run) => {
            let output = run.output();
            let mut outcome = Outcome {
                passed: run.passed,
                seconds: run.seconds,
                tried: tried(&output),
                replay: Vec::new(),
            };
            // What a test prints before it fails can stand in the line that says how it ended.
            if run.passed && run.count(End::Passed) == 0 {
                return failed(format!("no test of {} is called {}", job.program, job.tests.join(", ")));
            }
            if !run.passed {
                outcome.replay = replays(&output, &run, job, round);
            }
            outcome
        }
    }
}

/// What the tests say they tried: lines `tried: 120 walks`.
fn tried(output: &str) -> Vec<(u64, String)> {
    let lines = output.lines().filter_map(|line| line.trim().strip_prefix("tried: "));
    lines
        .filter_map(|it| it.split_once(' '))
        .filter_map(|(n, what)| Some((n.parse().ok()?, what.to_owned())))
        .collect()
}

/// The commands that show a failure again: those that a test prints itself, or the test in the same round.
fn replays(output: &str, run: &harness::Run, job: &Job, round: u64) -> Vec<String> {
    let printed: Vec<String> =
        output.lines().filter_map(|it| it.trim().strip_prefix("replay: ")).map(str::to_owned).collect();
    if !printed.is_empty() {
        return printed;
    }
    let failed = run.tests.iter().filter(|it| it.end == End::Failed);
    let target = crate::times::target_of(&run.title);
    let kubernetes = job.kubernetes.map(|it| format!("{KUBERNETES}={it} ")).unwrap_or_default();
    let mut commands: Vec<_> = failed
        .map(|it| {
            format!(
                "{kubernetes}PEMDAS_PROVE={round} cargo test {target} -- --include-ignored --exact {}",
                it.name
            )
        })
        .collect();
    commands.push(format!("# its output: {}", run.log.display()));
    commands
}

fn tell(unit: Unit, outcome: &Outcome, done: usize, all: usize, started: Instant, budget: Option<Duration>) {
    let mark = if outcome.passed { "ok    " } else { "FAILED" };
    let tried: Vec<_> = outcome.tried.iter().map(|(count, what)| format!("{count} {what}")).collect();
    let left = match budget {
        Some(budget) => {
            format!("{} min left", budget.saturating_sub(started.elapsed()).as_secs().div_ceil(60))
        }
        None => format!("{} min so far", started.elapsed().as_secs() / 60),
    };
    let name = format!("{} round {}", unit.job.name, unit.round);
    let line = format!(
        "[{done:>3}/{all}] {mark} {name:<32} {:>5.0} s  {}  ({left})",
        outcome.seconds,
        tried.join(", ")
    );
    // Colour only where a person looks.
    if !outcome.passed && std::io::stdout().is_terminal() {
        println!("\x1b[31m{line}\x1b[0m");
    } else {
        println!("{line}");
    }
    for replay in &outcome.replay {
        println!("          {replay}");
    }
}

#[cfg(test)]
mod tests {
    use super::{JOBS, read, tried, units};

    #[test]
    fn every_job_has_a_turn_before_any_has_two() {
        let units = units(&JOBS.iter().collect::<Vec<_>>());
        let first: Vec<_> =
            units.iter().take(JOBS.len()).map(|it| (it.job.name.as_str(), it.round)).collect();
        let wanted: Vec<_> = JOBS.iter().map(|it| (it.name.as_str(), 1)).collect();
        assert_eq!(first, wanted);
        assert_eq!(units.len() as u64, JOBS.iter().map(|it| it.rounds).sum::<u64>());
    }

    #[test]
    fn what_was_tried_is_read() {
        assert_eq!(tried("test a ... ok\ntried: 12 walks\nother\n"), [(12, "walks".to_owned())]);
    }

    #[test]
    fn options_are_read_or_refused() {
        assert!(read(&["--minutes", "3"]).unwrap().is_some_and(|it| it.budget.unwrap().as_secs() == 180));
        assert!(read(&["--all", "--fresh"]).unwrap().is_some_and(|it| it.budget.is_none() && it.fresh));
        for wrong in
            [&["--minutes"][..], &["--minutes", "0"], &["--minutes", "x"], &["--job", "none"], &["all"]]
        {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
