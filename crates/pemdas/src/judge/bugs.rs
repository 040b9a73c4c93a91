//! The proof that the judge finds bugs: faults that users met, put back on purpose. Nobody wrote a case for any of them: the
//! seeds were searched for.

use pemdas_core::mutation::{Mutation as Core, with};
use pemdas_kube::mutation::{Mutation as Runtime, with as with_runtime};

use super::{Law, laws, search};

/// How many seeds are searched for something that shows a bug.
const MOST: u64 = 2_000;

/// A bug of the engine or of the operator.
#[derive(Debug, Clone, Copy)]
enum Bug {
    Core(Core),
    Runtime(Runtime),
}

/// A fault that was there once: what was wrong, the bug that brings it back, the law that it breaks, and a seed that shows it.
/// Without a seed, one is searched for in the deep tier.
struct Fault(&'static str, Bug, Law, Option<u64>);

const FAULTS: &[Fault] = &[
    Fault(
        "a name is not what its expression says",
        Bug::Core(Core::NamesAreReadOff),
        laws::engine_is_right,
        Some(0),
    ),
    Fault(
        "a needed node is never made",
        Bug::Core(Core::NeedsAreJudgedOnce),
        laws::engine_is_right,
        Some(34),
    ),
    Fault(
        "the order ends at what is not needed",
        Bug::Core(Core::OrderEndsWithNeed),
        laws::engine_is_right,
        Some(350),
    ),
    Fault("the order ends at a once", Bug::Core(Core::OnceEndsTheOrder), laws::engine_is_right, None),
    Fault(
        "a refused definition stalls instances",
        Bug::Runtime(Runtime::RefusedRuns),
        laws::revisions_wait_for_their_definitions,
        Some(14),
    ),
    Fault(
        "no member observes an object of its own",
        Bug::Core(Core::MembersSeeAlike),
        laws::engine_is_right,
        Some(254),
    ),
    Fault(
        "what allows absence waits for an object",
        Bug::Core(Core::AbsenceIsAWord),
        laws::engine_is_right,
        Some(806),
    ),
    Fault(
        "a plan calls what has no members unneeded",
        Bug::Core(Core::EmptyIsUnneeded),
        laws::engine_is_right,
        Some(16),
    ),
    Fault(
        "an edit while nobody runs stays",
        Bug::Core(Core::NeverTakeBack),
        laws::operator_is_right,
        Some(71),
    ),
];

impl Bug {
    fn shows<T>(self, run: impl FnOnce() -> T) -> T {
        match self {
            Self::Core(bug) => with(Some(bug), run),
            Self::Runtime(bug) => with_runtime(Some(bug), run),
        }
    }
}

/// The seeds of the table show the bugs, and nothing where there is none. Rounds of the deep tier search for seeds of their own.
#[test]
fn faults_that_are_put_back_are_found() {
    let from = pemdas_tier::seeds(1, MOST).start;
    let mut unseen = Vec::new();
    for Fault(what, bug, law, seed) in FAULTS {
        let seeds = match seed {
            _ if pemdas_tier::is_deep() => from..from + MOST,
            Some(seed) => *seed..*seed + 1,
            None => continue,
        };
        let (broken, tried, _) = bug.shows(|| search(seeds.clone(), *law));
        match broken {
            Some(broken) => {
                let (none, ..) = search(broken.seed..broken.seed + 1, *law);
                assert!(none.is_none(), "{what}: seed {} shows it without the bug, too", broken.seed);
                pemdas_tier::tried(tried, "blueprints until a bug was found");
            }
            None => unseen.push(format!("{what} ({bug:?}, seeds {seeds:?})")),
        }
    }
    assert!(unseen.is_empty(), "nothing shows these: {unseen:#?}; what does:\n{SEARCH}");
}

const SEARCH: &str = "cargo test -p pemdas --bin pemdas what_shows_each_fault -- --ignored --nocapture";

/// Searches for the seeds of the table; `PEMDAS_BUGS` says which bugs are of interest. Each is shown as small as it gets.
#[test]
#[ignore = "deep tier: searches for what shows a bug"]
fn what_shows_each_fault() {
    let only = std::env::var("PEMDAS_BUGS").unwrap_or_default();
    for Fault(what, bug, law, _) in FAULTS {
        let name = format!("{bug:?}");
        if !only.is_empty() && !only.split(',').any(|it| name.contains(it)) {
            continue;
        }
        match bug.shows(|| search(0..MOST, *law)) {
            (Some(broken), tried, refused) => {
                println!("{what}, {name}: seed {}", broken.seed);
                let small = bug.shows(|| super::shrink::shrink(broken, *law));
                println!("{what}, {name}, after {} drafts:\n{small}\n", tried + refused);
            }
            (None, ..) => println!("{what}, {name}: nothing shows it\n"),
        }
    }
}
