//! All test programs, two at a time: beside one that computes runs one that waits for its cluster.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::groups::{Place, place};
use crate::harness::{End, Options, Run, failures, run};
use crate::programs::{Built, Program};

/// How often it is said what still runs.
const STILL: Duration = Duration::from_secs(60);

/// What waits for its turn.
struct Queues {
    computing: VecDeque<Program>,
    waiting: VecDeque<Program>,
    running: Vec<(String, Instant)>,
    done: Vec<Result<Run, String>>,
}

impl Queues {
    /// The next program for a worker that prefers one of the lanes, and takes from the other when its own is empty.
    fn next(&mut self, prefers_waiting: bool) -> Option<Program> {
        let (own, other) = if prefers_waiting {
            (&mut self.waiting, &mut self.computing)
        } else {
            (&mut self.computing, &mut self.waiting)
        };
        own.pop_front().or_else(|| other.pop_front())
    }
}

/// Runs all programs. An error is one of this runner; what failed stands in the runs.
pub(crate) fn run_all(built: &Built, programs: &[Program], logs: &Path) -> Result<Vec<Run>, String> {
    std::fs::create_dir_all(logs).map_err(|cause| format!("{}: {cause}", logs.display()))?;
    let mut ordered: Vec<(Place, Program)> = programs.iter().map(|it| (place(it), it.clone())).collect();
    ordered.sort_by_key(|(place, _)| place.order);
    let (waiting, computing): (Vec<_>, Vec<_>) =
        ordered.into_iter().partition(|(place, _)| place.waits_for_cluster);
    let programs = |it: Vec<(Place, Program)>| it.into_iter().map(|(_, program)| program).collect();
    let queues = Mutex::new(Queues {
        computing: programs(computing),
        waiting: programs(waiting),
        running: Vec::new(),
        done: Vec::new(),
    });
    let ended = Condvar::new();
    let lock = || queues.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        let workers = [false, true].map(|prefers_waiting| {
            let (lock, ended) = (&lock, &ended);
            scope.spawn(move || {
                loop {
                    let program = {
                        let mut queues = lock();
                        let Some(program) = queues.next(prefers_waiting) else { break };
                        queues.running.push((program.title(), Instant::now()));
                        program
                    };
                    let options = Options { threads: place(&program).threads, ..Options::default() };
                    let log = logs.join(format!("{}.log", program.title().replace(':', "-")));
                    let run = run(built, &program, &options, &log);
                    say(&run);
                    let mut queues = lock();
                    queues.running.retain(|(title, _)| *title != program.title());
                    queues.done.push(run);
                    ended.notify_all();
                }
            })
        });
        let mut said = Instant::now();
        while !workers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            let (queues, _) = ended
                .wait_timeout(lock(), Duration::from_millis(500))
                .unwrap_or_else(PoisonError::into_inner);
            if said.elapsed() > STILL {
                said = Instant::now();
                let running: Vec<String> = queues
                    .running
                    .iter()
                    .map(|(title, since)| format!("{title} ({} s)", since.elapsed().as_secs()))
                    .collect();
                let left = queues.computing.len() + queues.waiting.len();
                println!("    running: {}; {left} more programs", running.join(", "));
            }
        }
    });
    queues.into_inner().unwrap_or_else(PoisonError::into_inner).done.into_iter().collect()
}

fn say(run: &Result<Run, String>) {
    match run {
        Err(why) => eprintln!("error: {why}"),
        Ok(run) => {
            let mark = if run.passed { "ok    " } else { "FAILED" };
            let (passed, failed) = (run.count(End::Passed), run.count(End::Failed));
            let tests = if failed > 0 {
                format!("{failed} of {} failed", passed + failed)
            } else {
                format!("{passed} passed")
            };
            println!("    {mark} {:<32} {tests:<16} {:>5.0} s", run.title, run.seconds);
            if !run.passed {
                let output = run.output();
                eprintln!("{}", failures(&output));
            }
        }
    }
}
