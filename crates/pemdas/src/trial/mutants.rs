//! The proof that exploration finds bugs: every promise of the runtime, left out once, has to be noticed.
//!
//! `docs/design/mutants.md` has for each bug the one run that notices it: a scenario, and what is done to one of its requests. The
//! scenarios are those of `tests/mutants`. A scenario without a bug is what all its runs have to come to.

mod grounds;
mod table;

use std::{io::Write as _, sync::Mutex};

use pemdas_kube::mutation::Mutation;

use self::{
    grounds::{Grounds, each},
    table::{class, renewed, row, rows},
};
use super::{Fault, faults::Faults};

/// Where the scenarios are that notice bugs.
const FOLDERS: [&str; 2] = ["tests/mutants/crew", "tests/mutants/shop"];

const RENEW: &str =
    "PEMDAS_RENEW=1 cargo test -p pemdas --bin pemdas deliberate_bugs_of_the_runtime_are_noticed";
const SEARCH: &str = "cargo test -p pemdas --bin pemdas what_notices_each_bug -- --ignored --nocapture";

/// The runs of the table. The numbers of requests shift when the operator changes: where a run notices nothing any more, another one
/// under a fault of its class is searched for. The rounds of the deep tier do so with other seeds.
#[test]
fn deliberate_bugs_of_the_runtime_are_noticed() {
    let (rows, unnoticed) = rows();
    assert!(rows.len() >= 25 && unnoticed.len() * 25 <= 2 * Mutation::ALL.len(), "{unnoticed:?}");
    let grounds = Grounds::prepare(&FOLDERS, |title| rows.iter().any(|it| it.scenario == title));
    let (shifted, silent) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    each(&rows, |known| {
        let ground = &grounds.all[&known.scenario];
        let recorded = known.run.as_ref().filter(|_| !pemdas_tier::is_deep());
        if recorded.is_some_and(|it| grounds.notices(ground, it, known.mutation)) {
            return;
        }
        match grounds.search(known) {
            Some(faults) => {
                let row = row(known.mutation, &known.scenario, &faults);
                shifted.lock().unwrap().push((known.mutation, row));
            }
            None => silent.lock().unwrap().push(known.mutation),
        }
    });
    let (shifted, silent) = (shifted.into_inner().unwrap(), silent.into_inner().unwrap());
    if !pemdas_tier::is_deep() && !shifted.is_empty() && !renewed(&shifted) {
        // Written directly: what a test prints is shown only when it fails.
        let lines: Vec<&str> = shifted.iter().map(|(_, row)| row.as_str()).collect();
        let lines = lines.join("\n");
        let _ = writeln!(
            std::io::stderr(),
            "\nother runs notice now, and searching takes long:\n{lines}\n{RENEW}\n"
        );
    }
    assert!(
        silent.is_empty(),
        "no fault of their class shows {silent:?}; to see what does, and to renew the rows:\nPEMDAS_RENEW=1 PEMDAS_MUTANTS={} {SEARCH}",
        silent.iter().map(|it| format!("{it:?}")).collect::<Vec<_>>().join(",")
    );
    pemdas_tier::tried(rows.len() as u64, "deliberate bugs");
}

/// The accident: a deletion that nobody told, and that a list shows without saying as of when, was waited for until the next restart.
#[test]
fn what_a_watch_missed_is_found_out() {
    let grounds = Grounds::prepare(&FOLDERS, |title| title == "crew: goes");
    let ground = &grounds.all["crew: goes"];
    let gaps: Vec<Faults> = ground.tries().into_iter().filter(|it| class(it) == "gap").collect();
    assert!(gaps.len() >= 5, "{gaps:?}");
    each(&gaps, |faults| assert_eq!(grounds.wrong(ground, faults, None), None, "{faults:?}"));
    pemdas_tier::tried(gaps.len() as u64, "gaps");
}

/// Among these requests are those that ask for the revisions of a blueprint. Taken for an answer, a failure of theirs led to a rollout that nobody
/// asked for, and left a broken blueprint without the revision that ran before.
#[test]
fn revisions_that_cannot_be_read_at_once_are_read_later() {
    let postgres = ("../../examples/postgres", "postgres: a backup waits for a server that is away", 5..=9);
    let crew = ("tests/mutants/crew", "crew: a broken blueprint runs on as it was", 60..=70);
    for (folder, scenario, requests) in [postgres, crew] {
        let grounds = Grounds::prepare(&[folder], |title| title == scenario);
        let ground = &grounds.all[scenario];
        each(&requests.collect::<Vec<_>>(), |request| {
            assert_eq!(grounds.wrong(ground, &vec![(*request, Fault::Broken)], None), None, "{request}");
        });
    }
}

/// Searches for the rows: every scenario, at first without a fault and then under every single one, until something is wrong. It takes
/// long; `PEMDAS_MUTANTS`, `PEMDAS_SCENARIOS` and `PEMDAS_FAULTS` say which bugs, scenarios and faults are of interest. Each round of the
/// deep tier searches for one bug.
#[test]
#[ignore = "deep tier: searches for what notices a bug"]
fn what_notices_each_bug() {
    let wanted = |variable: &str, name: &str| {
        let only = std::env::var(variable).unwrap_or_default();
        only.is_empty() || only.split(',').any(|it| name.contains(it))
    };
    let all = Mutation::ALL.iter().copied().filter(|it| wanted("PEMDAS_MUTANTS", &format!("{it:?}")));
    let mut all: Vec<Mutation> = all.collect();
    if let Some(round) = pemdas_tier::round() {
        let number = usize::try_from(round).unwrap() - 1;
        all = all.into_iter().cycle().skip(number % Mutation::ALL.len()).take(1).collect();
    }
    let (_, unnoticed) = rows();
    let grounds = Grounds::prepare(&FOLDERS, |title| wanted("PEMDAS_SCENARIOS", title));
    let (found, news) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    each(&all, |mutation| {
        let tries = grounds.all.iter().flat_map(|(title, ground)| {
            ground.tries().into_iter().map(move |faults| (title, ground, faults))
        });
        let mut tries: Vec<_> = tries.filter(|it| wanted("PEMDAS_FAULTS", &class(&it.2))).collect();
        tries.sort_by_key(|it| it.2.len());
        let first = tries.iter().position(|(_, ground, faults)| grounds.notices(ground, faults, *mutation));
        let runs = first.map_or(tries.len(), |it| it + 1);
        if let Some((title, _, faults)) = first.map(|it| &tries[it]) {
            let row = row(*mutation, title, faults);
            println!("{row}\n    {runs} runs");
            found.lock().unwrap().push((*mutation, row));
        } else {
            println!("{mutation:?}: nothing notices it\n    {runs} runs");
        }
        if first.is_some() == unnoticed.contains(mutation) {
            news.lock().unwrap().push(*mutation);
        }
        pemdas_tier::tried(runs as u64, "runs with a deliberate bug");
    });
    let renewed = renewed(&found.into_inner().unwrap());
    let news = news.into_inner().unwrap();
    assert!(
        news.is_empty() || renewed || pemdas_tier::round().is_none(),
        "the table is not true of {news:?}"
    );
}
