//! The judge: random blueprints, and whether the engine, `plan` and the operator do what a reference implementation says.
//!
//! The page docs/design/judge.md says what is compared, and what was found.
//!
//! | module | does |
//! | --- | --- |
//! | `expression`, `forms`, `draft`, `write` | a blueprint as data, and as it is written |
//! | `dice`, `generate` | blueprints by chance |
//! | `reference` | what a blueprint means |
//! | `outcome` | what an instance comes to, in a form that can be compared |
//! | `planned`, `operated` | what the engine and the operator come to |
//! | `compare` | in what two of them differ |
//! | `laws` | what has to be so of every draft |
//! | `transform` | the same in other words |
//! | `shrink` | a failure that a person can read |
//! | `bugs` | the proof that deliberate bugs are found |

mod bugs;
mod compare;
mod dice;
mod draft;
mod expression;
mod forms;
mod generate;
mod laws;
mod operated;
mod outcome;
mod planned;
mod reference;
mod shrink;
mod transform;
mod write;

use std::ops::Range;

use draft::Draft;

/// What became of a draft.
#[derive(Debug, Clone, PartialEq)]
enum Verdict {
    /// `check` refuses it, or it has no meaning that could be compared.
    Refused(String),
    Same,
    Differs(String),
}

/// What has to be so of every draft.
type Law = fn(&Draft) -> Verdict;

/// A draft that breaks a law, as small as it got.
struct Broken {
    seed: u64,
    draft: Draft,
    why: String,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let roots = serde_json::to_string_pretty(&self.draft.roots).unwrap_or_default();
        let gap = if self.draft.gap { ", with an edit while nobody runs" } else { "" };
        let (seed, why, text) = (self.seed, &self.why, self.draft.text());
        write!(out, "seed {seed}: {why}\n\n{text}\nroots{gap}: {roots}")?;
        match serde_json::to_string_pretty(&self.draft.around) {
            Ok(around) if !self.draft.around.is_empty() => write!(out, "\naround it: {around}"),
            _ => Ok(()),
        }
    }
}

/// Tries seeds. The first draft that breaks the law, and how many were judged and refused until then.
fn search(seeds: Range<u64>, law: Law) -> (Option<Broken>, u64, u64) {
    let aloud = std::env::var("PEMDAS_JUDGE").is_ok();
    let (mut judged, mut refused) = (0, 0);
    for seed in seeds {
        let draft = generate::draft(seed);
        let verdict = law(&draft);
        if aloud {
            println!("{seed}: {verdict:?}");
        }
        match verdict {
            Verdict::Refused(_) => refused += 1,
            Verdict::Same => judged += 1,
            Verdict::Differs(_) if aloud => {}
            Verdict::Differs(why) => return (Some(Broken { seed, draft, why }), judged, refused),
        }
    }
    (None, judged, refused)
}

/// Tries seeds, and shows the first draft that breaks the law, as small as it gets.
fn judge(test: &str, seeds: Range<u64>, law: Law) {
    let only = std::env::var("PEMDAS_REPLAY").ok().and_then(|it| it.parse().ok());
    let (broken, judged, refused) = search(only.map_or(seeds, |seed: u64| seed..seed + 1), law);
    if let Some(broken) = broken {
        let small = shrink::shrink(broken, law);
        panic!("{small}\n\nPEMDAS_REPLAY={} cargo test -p pemdas --bin pemdas {test}", small.seed);
    }
    assert!(only.is_some() || 8 * judged >= refused, "{refused} of {} drafts are refused", refused + judged);
    pemdas_tier::tried(judged, "blueprints judged");
}

#[test]
fn the_engine_does_what_a_blueprint_means() {
    judge("the_engine_does_what_a_blueprint_means", pemdas_tier::seeds(12, 2_000), laws::engine_is_right);
}

#[test]
fn the_operator_does_what_a_blueprint_means() {
    judge("the_operator_does_what_a_blueprint_means", pemdas_tier::seeds(10, 1_000), laws::operator_is_right);
}

#[test]
fn revisions_wait_for_their_definitions() {
    judge(
        "revisions_wait_for_their_definitions",
        pemdas_tier::seeds(16, 500),
        laws::revisions_wait_for_their_definitions,
    );
}

#[test]
fn other_words_mean_the_same() {
    judge("other_words_mean_the_same", pemdas_tier::seeds(4, 1_000), laws::other_words_change_nothing);
}

#[test]
fn what_saves_work_changes_nothing() {
    judge("what_saves_work_changes_nothing", pemdas_tier::seeds(3, 120), laws::savings_change_nothing);
}
