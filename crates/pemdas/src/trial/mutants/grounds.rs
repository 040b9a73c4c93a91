//! The scenarios that notice bugs, and what they come to without one.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use pemdas_kube::mutation::{Mutation, with};

use super::table::{Row, class};
use crate::trial::{
    Bench, Script,
    faults::{Faults, singles},
    gather::gather,
    oracle::{Goal, patient},
    play,
};

/// The seed of all runs. Those of the table are of the first one.
fn seed() -> u64 {
    pemdas_tier::seeds(1, 1).start
}

/// A scenario, and what it comes to without a bug.
pub(super) struct Ground {
    bench: usize,
    script: Script,
    goal: Goal,
}

impl Ground {
    /// The run without a fault, and every run under a single one.
    pub(super) fn tries(&self) -> Vec<Faults> {
        std::iter::once(Vec::new()).chain(singles(&self.goal.whole)).collect()
    }
}

/// Scenarios by their titles: the name of the folder, and their own.
pub(super) struct Grounds {
    benches: Vec<Bench>,
    pub(super) all: BTreeMap<String, Ground>,
}

impl Grounds {
    /// Those of these folders whose titles are wanted.
    pub(super) fn prepare(folders: &[&str], wanted: impl Fn(&str) -> bool) -> Self {
        let (mut benches, mut scripts) = (Vec::new(), Vec::new());
        for folder in folders {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
            let name = path.file_name().unwrap().to_string_lossy();
            let gathered = gather(&path).unwrap_or_else(|it| panic!("{}", it.message));
            let bench = gathered.bench.unwrap_or_else(|| panic!("{:#?}", gathered.checked.diagnostics));
            let titled = gathered.scripts.into_iter().map(|it| (format!("{name}: {}", it.name), it));
            scripts.extend(
                titled.filter(|(title, _)| wanted(title)).map(|(title, it)| (benches.len(), title, it)),
            );
            benches.push(bench);
        }
        let all = Mutex::new(BTreeMap::new());
        each(&scripts, |(bench, title, script)| {
            let script = patient(script);
            let whole = play(&benches[*bench], &script, seed(), Vec::new()).unwrap();
            assert_eq!(whole.failure, None, "{title}");
            let ground = Ground { bench: *bench, script, goal: Goal::new(whole) };
            all.lock().unwrap().insert(title.clone(), ground);
        });
        Self { benches, all: all.into_inner().unwrap() }
    }

    /// What is wrong with a run.
    pub(super) fn wrong(
        &self,
        ground: &Ground,
        faults: &Faults,
        mutation: Option<Mutation>,
    ) -> Option<String> {
        let bench = &self.benches[ground.bench];
        let played = with(mutation, || play(bench, &ground.script, seed(), faults.clone())).unwrap();
        ground.goal.judge(&played)
    }

    /// Whether a run goes wrong by a bug. Without one it must not: that would be a bug that nobody put there.
    pub(super) fn notices(&self, ground: &Ground, faults: &Faults, mutation: Mutation) -> bool {
        let wrong = self.wrong(ground, faults, Some(mutation)).is_some();
        if wrong && !faults.is_empty() {
            assert_eq!(self.wrong(ground, faults, None), None, "without a bug, under {faults:?}");
        }
        wrong
    }

    /// The last run under faults of a class that notices a bug: most of what a scenario is about comes late in it.
    pub(super) fn search(&self, row: &Row) -> Option<Faults> {
        let ground = &self.all[&row.scenario];
        let of_the_class = ground.tries().into_iter().rev().filter(|it| class(it) == row.class);
        of_the_class.into_iter().find(|it| self.notices(ground, it, row.mutation))
    }
}

/// Does something for each, on as many threads as there are.
pub(super) fn each<T: Sync>(all: &[T], work: impl Fn(&T) + Sync) {
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
