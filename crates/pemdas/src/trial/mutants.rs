//! The proof that exploration finds bugs: every promise of the runtime, left out once, has to be noticed.
//!
//! `docs/design/mutants.md` says which scenario notices which bug, and under which fault; here it is shown to be so. The scenarios are
//! those of `tests/mutants`. A scenario without a bug is what all its runs have to come to.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use pemdas_kube::mutation::{Mutation, with};

use super::{
    Bench, Fault, Script,
    faults::{Faults, singles},
    gather::gather,
    oracle::{Goal, patient},
    play,
};

const SEED: u64 = 1;
/// What stands in the table for no fault at all.
const NO_FAULT: &str = "none";

/// A scenario, and what it comes to without a bug.
struct Ground {
    bench: usize,
    script: Script,
    goal: Goal,
}

impl Ground {
    fn tries(&self) -> Vec<Faults> {
        std::iter::once(Vec::new()).chain(singles(&self.goal.whole)).collect()
    }
}

struct Grounds {
    benches: Vec<Bench>,
    all: BTreeMap<String, Ground>,
}

impl Grounds {
    /// Those whose names are wanted.
    fn prepare(wanted: impl Fn(&str) -> bool) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mutants");
        let (mut benches, mut all) = (Vec::new(), BTreeMap::new());
        for name in ["crew", "shop"] {
            let gathered = gather(&folder.join(name)).unwrap_or_else(|it| panic!("{}", it.message));
            let bench = gathered.bench.unwrap_or_else(|| panic!("{:#?}", gathered.checked.diagnostics));
            for script in gathered.scripts {
                let title = format!("{name}: {}", script.name);
                if wanted(&title) {
                    let script = patient(&script);
                    let whole = play(&bench, &script, SEED, Vec::new()).unwrap();
                    assert_eq!(whole.failure, None, "{title}");
                    all.insert(title, Ground { bench: benches.len(), script, goal: Goal::new(whole) });
                }
            }
            benches.push(bench);
        }
        Self { benches, all }
    }

    /// What is wrong with a run.
    fn wrong(&self, ground: &Ground, faults: &Faults, mutation: Option<Mutation>) -> Option<String> {
        let bench = &self.benches[ground.bench];
        let played = with(mutation, || play(bench, &ground.script, SEED, faults.clone())).unwrap();
        ground.goal.judge(&played)
    }
}

/// The class of what is done to a run.
fn class(faults: &Faults) -> String {
    match faults.first() {
        None => NO_FAULT.to_owned(),
        Some((_, Fault::Gap(_))) => "gap".to_owned(),
        Some((_, fault)) => fault.to_string(),
    }
}

/// Does something for each, on as many threads as there are.
fn each<T: Sync>(all: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(one);
                }
            });
        }
    });
}

/// A row of the table.
struct Row {
    mutation: Mutation,
    scenario: String,
    fault: String,
}

fn table() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/design/mutants.md");
    std::fs::read_to_string(page).unwrap()
}

/// The rows of the table, and how many bugs it says are not noticed.
fn rows() -> (Vec<Row>, usize) {
    let table = table();
    let (mut rows, mut unnoticed) = (Vec::new(), 0);
    for mutation in Mutation::ALL {
        let start = format!("| `{mutation:?}` | {} | ", mutation.sentence());
        let line = table.lines().find_map(|it| it.strip_prefix(&start));
        let line = line.unwrap_or_else(|| panic!("the page has no row that begins with {start}"));
        let cells: Vec<&str> = line.trim_end_matches(" |").split(" | ").collect();
        match cells[..] {
            [scenario, fault] => {
                rows.push(Row {
                    mutation: *mutation,
                    scenario: scenario.to_owned(),
                    fault: fault.to_owned(),
                });
            }
            _ => unnoticed += 1,
        }
    }
    (rows, unnoticed)
}

#[test]
fn deliberate_bugs_of_the_runtime_are_noticed() {
    let (rows, unnoticed) = rows();
    assert!(rows.len() >= 25 && unnoticed * 25 <= 2 * Mutation::ALL.len(), "{} {unnoticed}", rows.len());
    let grounds = Grounds::prepare(|title| rows.iter().any(|it| it.scenario == title));
    let silent: Mutex<Vec<String>> = Mutex::default();
    each(&rows, |row| {
        let ground = &grounds.all[&row.scenario];
        let tries = ground.tries();
        // Most of what a scenario is about comes late in it.
        let noticed = tries
            .iter()
            .rev()
            .filter(|it| class(it) == row.fault)
            .any(|it| grounds.wrong(ground, it, Some(row.mutation)).is_some());
        if !noticed {
            silent
                .lock()
                .unwrap()
                .push(format!("{:?} by {} under {}", row.mutation, row.scenario, row.fault));
        }
    });
    assert_eq!(silent.into_inner().unwrap(), Vec::<String>::new(), "not noticed");
}

/// The accident: a deletion that nobody told, and that a list shows without saying as of when, was waited for until the next restart.
#[test]
fn what_a_watch_missed_is_found_out() {
    let grounds = Grounds::prepare(|title| title == "crew: goes");
    let ground = &grounds.all["crew: goes"];
    let gaps: Vec<Faults> = ground.tries().into_iter().filter(|it| class(it) == "gap").collect();
    assert!(gaps.len() >= 5, "{gaps:?}");
    each(&gaps, |faults| assert_eq!(grounds.wrong(ground, faults, None), None, "{faults:?}"));
}

/// Writes the table anew: every scenario, at first without a fault and then under every single one, until something is wrong. It takes
/// long; `PEMDAS_MUTANTS`, `PEMDAS_SCENARIOS` and `PEMDAS_FAULTS` say which bugs, scenarios and faults are of interest.
#[test]
#[ignore = "for people: prints what notices which bug"]
fn what_notices_each_bug() {
    let wanted = |variable: &str, name: &str| {
        let only = std::env::var(variable).unwrap_or_default();
        only.is_empty() || only.split(',').any(|it| name.contains(it))
    };
    let began = Instant::now();
    let grounds = Grounds::prepare(|title| wanted("PEMDAS_SCENARIOS", title));
    println!("{} scenarios in {:?}", grounds.all.len(), began.elapsed());
    let all = Mutation::ALL.iter().copied().filter(|it| wanted("PEMDAS_MUTANTS", &format!("{it:?}")));
    each(&all.collect::<Vec<_>>(), |mutation| {
        let began = Instant::now();
        let tries = grounds.all.iter().flat_map(|(title, ground)| {
            ground.tries().into_iter().map(move |faults| (title, ground, faults))
        });
        let mut tries: Vec<_> = tries.filter(|it| wanted("PEMDAS_FAULTS", &class(&it.2))).collect();
        tries.sort_by_key(|it| it.2.len());
        let mut runs = 0;
        let found = tries.iter().find_map(|(title, ground, faults)| {
            runs += 1;
            let wrong = grounds.wrong(ground, faults, Some(*mutation))?;
            // What goes wrong without the bug as well does not show it.
            if !faults.is_empty() && grounds.wrong(ground, faults, None).is_some() {
                println!("without a bug: {title} {faults:?}: {wrong}");
                return None;
            }
            Some((title, class(faults), wrong))
        });
        let (sentence, took) = (mutation.sentence(), began.elapsed());
        match found {
            Some((title, fault, wrong)) => {
                println!(
                    "| `{mutation:?}` | {sentence} | {title} | {fault} |\n    {runs} runs, {took:?}: {wrong:.200}"
                );
            }
            None => println!("| `{mutation:?}` | {sentence} | nothing |\n    {runs} runs, {took:?}"),
        }
    });
}
