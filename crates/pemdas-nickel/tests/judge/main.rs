//! The judge: random blueprints, and whether the engine does what a reference implementation says.
//!
//! The page docs/design/judge.md says what is compared, and what was found.
//!
//! | module | does |
//! | --- | --- |
//! | `expression`, `draft` | a blueprint as data, and as it is written |
//! | `dice`, `generate` | blueprints by chance |
//! | `reference` | what a blueprint means |
//! | `outcome` | what an instance comes to, in a form that can be compared |
//! | `planned` | what the engine comes to |
//! | `compare` | in what two of them differ |
//! | `transform` | the same in other words |
//! | `shrink` | a failure that a person can read |
//! | `known` | differences that are known and not fixed yet |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the helpers of a test are the test"
)]

mod compare;
mod dice;
mod draft;
mod expression;
mod generate;
mod known;
mod outcome;
mod planned;
mod reference;
mod shrink;
mod transform;

use std::ops::Range;

use dice::Dice;
use draft::Draft;
use reference::Reference;

/// What became of a draft.
#[derive(Debug, Clone, PartialEq)]
enum Verdict {
    /// `check` refuses it, or it has no meaning that could be compared.
    Refused(String),
    Same,
    Differs(String),
}
use Verdict::{Differs, Refused, Same};

/// Compares the engine with the reference: through all versions of the root, and to its end.
fn engine_is_right(draft: &Draft) -> Verdict {
    let text = draft.text();
    let mut sound = match planned::load(&text) {
        Ok(sound) => sound,
        Err(problems) => return Refused(problems.into_iter().next().unwrap_or_default()),
    };
    let reference = match Reference::read(&text) {
        Ok(reference) => reference,
        Err(why) => return Differs(format!("unreadable: {why}")),
    };
    let right = draft.roots.iter().map(|it| reference.rest(it, &draft.around));
    let Some(right) = right.collect::<Option<Vec<_>>>() else {
        return Refused("two nodes want one object".to_owned());
    };
    let run = sound.run(draft);
    for (version, (right, is)) in right.iter().zip(&run.outcomes).enumerate() {
        let mut is = is.clone();
        if version > 0 {
            // What waits keeps what it had before: that is history, of which the reference knows nothing.
            if !compare::is_ready(right) {
                continue;
            }
            is.gone.clone_from(&right.gone);
        }
        if let Some(difference) = compare::difference(right, &is) {
            return Differs(format!("{difference} (version {version})"));
        }
    }
    let first = compare::disorder(&right[0], &run.came, "creation", |first, then| first < then);
    let last = right.last().filter(|it| compare::is_ready(it));
    let last = last.and_then(|it| compare::disorder(it, &run.went, "removal", |first, then| first > then));
    let left = run.left.first().map(|it| format!("left: {it} is left when the root is gone"));
    first.or(last).or(left).map_or(Same, Differs)
}

/// The same in other words comes to the same.
fn other_words_change_nothing(draft: &Draft) -> Verdict {
    let draft = &Draft { roots: draft.roots[..1].to_vec(), ..draft.clone() };
    let mut sound = match planned::load(&draft.text()) {
        Ok(sound) => sound,
        Err(problems) => return Refused(problems.into_iter().next().unwrap_or_default()),
    };
    let was = sound.run(draft).outcomes.remove(0);
    if let Some(name) = was.objects.iter().find_map(|(key, it)| compare::misnamed(key, it)) {
        return Differs(format!("name: {name}"));
    }
    let is = sound.without_read_off().run(draft).outcomes.remove(0);
    if let Some(difference) = compare::change(&was, &is) {
        return Differs(format!("without reading functions off: {difference}"));
    }
    let mut dice = Dice::new(7);
    for (how, transform) in transform::ALL {
        let other = transform(draft, &mut dice);
        let difference = match planned::load(&other.text()) {
            Ok(mut sound) => {
                let is = sound.run(&other).outcomes.remove(0);
                compare::change(&was, &transform::as_before(&is, draft, &other))
            }
            Err(problems) => Some(format!("{problems:?}")),
        };
        if let Some(difference) = difference {
            return Differs(format!("{how}: {difference}"));
        }
    }
    Same
}

/// Tries seeds, and shows the first draft that fails, as small as it gets.
fn judge(test: &str, seeds: Range<u64>, check: fn(&Draft) -> Verdict) {
    let only = std::env::var("PEMDAS_REPLAY").ok().and_then(|it| it.parse().ok());
    let seeds = only.map_or(seeds, |seed: u64| seed..seed + 1);
    let aloud = std::env::var("PEMDAS_JUDGE").is_ok();
    let (mut refused, mut same) = (0, 0);
    for seed in seeds {
        let draft = generate::draft(seed);
        match check(&draft) {
            Refused(why) => {
                refused += 1;
                if aloud {
                    println!("{seed}: {why}");
                }
            }
            Same => same += 1,
            Differs(why) if aloud && only.is_none() => println!("{seed}: DIFFERS {why}"),
            Differs(why) => {
                let (small, why) = shrink::shrink(draft, why, check);
                let roots = serde_json::to_string_pretty(&small.roots).unwrap();
                panic!(
                    "seed {seed}: {why}\n\n{}\nroots: {roots}\n\nPEMDAS_REPLAY={seed} cargo test -p pemdas-nickel --test judge {test}",
                    small.text()
                );
            }
        }
    }
    assert!(only.is_some() || same >= refused, "{refused} of {} drafts are refused", refused + same);
    pemdas_tier::tried(same, "blueprints judged");
}

#[test]
fn the_engine_does_what_a_blueprint_means() {
    judge("the_engine_does_what_a_blueprint_means", pemdas_tier::seeds(20, 2_000), engine_is_right);
}

#[test]
fn other_words_mean_the_same() {
    judge("other_words_mean_the_same", pemdas_tier::seeds(6, 1_000), other_words_change_nothing);
}
