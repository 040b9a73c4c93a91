//! Trials: the operator itself on a simulated cluster, in simulated time, on one thread. A run is a function of its seed, its scenario
//! and this binary.
//!
//! | module | does |
//! | --- | --- |
//! | `arena` | the cluster, and the operator that lives in it, dies, and lives again |
//! | `journal` | what the operator sent; and what is done to some of it |
//! | `readers` | blueprints, read and asked once for all runs |
//! | `script`, `facts`, `read` | scenarios as data, and how they are read from what an author wrote |
//! | `gather` | which scenarios there are |
//! | `playing` | one scenario, step by step |
//! | `explore`, `faults` | the same under faults, and which those are |
//! | `pace` | how far that is |
//! | `oracle`, `state`, `order` | what has to be as without them |
//! | `rollback` | the same with a change taken back |
//! | `mutants` | the proof that deliberate bugs are found |
//! | `scene` | a cluster for tests that a person asks in between |
//! | `person` | somebody who types at a cluster |
//! | `text`, `report` | what is told to people and to programs |

pub(crate) mod arena;
#[cfg(test)]
mod excuses;
pub(crate) mod explore;
mod facts;
mod faults;
pub(crate) mod gather;
pub(crate) mod journal;
mod measure;
#[cfg(test)]
mod mutants;
mod oracle;
mod order;
pub(crate) mod pace;
pub(crate) mod person;
mod playing;
mod read;
pub(crate) mod readers;
pub(crate) mod report;
mod rollback;
#[cfg(test)]
pub(crate) mod scene;
mod script;
mod state;
pub(crate) mod text;
#[cfg(test)]
mod uninstall;

use std::{collections::BTreeMap, sync::Arc};

use pemdas_core::shape::Contracts;
use pemdas_nickel::{Evaluator as _, place_of};
use serde_json::Value;

use arena::{Arena, Lived};
pub(crate) use journal::{Entry, Fault};
use measure::Measures;
use order::Order;
use playing::{End, Playing};
pub(crate) use playing::{Failure, Happening};
use readers::Readers;
pub(crate) use script::Script;
use state::State;

use crate::{demo::play, workers::Evaluation};

/// The most lives of one run: a scenario that restarts more often than this has lost its way.
const MAX_LIVES: usize = 1_000;

/// A blueprint on which scenarios are played.
pub(crate) struct Bench {
    /// Its name.
    pub(crate) name: String,
    /// Its files.
    files: BTreeMap<String, String>,
    /// What stands beside it, and is applied before it.
    beside: Vec<Value>,
    /// The account that it acts as.
    account: Option<String>,
    /// Judges the contracts of scenarios.
    evaluator: Arc<Evaluation>,
    /// What those that come after a node want of it.
    measures: Arc<Measures>,
    readers: Readers,
}

impl Bench {
    /// The ConfigMap of the blueprint with these files.
    fn blueprint(&self, files: &BTreeMap<String, String>) -> Value {
        play::config_map(&self.name, files, self.account.as_deref())
    }

    fn contracts(&self, script: &Script) -> Judges {
        Judges { evaluator: Arc::clone(&self.evaluator), file: format!("scenarios/{}.ncl", script.file) }
    }
}

/// Judges the contracts that stand in a file of scenarios.
struct Judges {
    evaluator: Arc<Evaluation>,
    file: String,
}

impl Contracts for Judges {
    fn judge(&self, contract: &[String], value: &Value) -> Option<Result<(), String>> {
        let judged = self.evaluator.check(&place_of(&self.file, contract), value);
        Some(judged.map(drop).map_err(|failure| {
            failure.diagnostics().first().map(|it| it.message.clone()).unwrap_or_default()
        }))
    }
}

/// A scenario that was played.
pub(crate) struct Played {
    /// What went wrong, if something did.
    pub(crate) failure: Option<Failure>,
    /// What happened.
    pub(crate) story: Vec<Happening>,
    /// What the operator sent.
    pub(crate) entries: Vec<Entry>,
    /// How many requests there were whenever the evaluator was asked.
    pub(crate) asked: Vec<usize>,
    /// How long it took in the cluster, in milliseconds.
    pub(crate) simulated: u64,
    /// What there is in the end.
    pub(crate) state: State,
    /// In which order things came and went.
    pub(crate) order: Order,
}

/// The write that was sent most often, with its number.
fn most_frequent(entries: &[Entry]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for entry in entries.iter().filter(|it| it.writes()) {
        let path = entry.target.split('?').next().unwrap_or_default();
        *counts.entry(format!("{} {path}", entry.method.name())).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map(|(write, count)| format!(", {count} of them {write}")).unwrap_or_default()
}

/// Plays a scenario.
///
/// # Errors
/// If this machine does not give what one thread needs.
pub(crate) fn play(
    bench: &Bench,
    script: &Script,
    seed: u64,
    faults: Vec<(usize, Fault)>,
) -> std::io::Result<Played> {
    let mut arena = Arena::new(seed, playing::scenario_of(script), &bench.readers, faults);
    let mut playing = Playing::new(bench, script, Arc::clone(arena.journal()));
    for _ in 0..MAX_LIVES {
        match arena.live(async |host| playing.go(&host).await)? {
            Lived::Died if arena.journal().too_many() => {
                let entries = arena.journal().entries();
                let message = format!(
                    "the operator sends and sends: {} requests{}",
                    entries.len(),
                    most_frequent(&entries)
                );
                playing.failure = Some(Failure { step: None, message, why: None });
                break;
            }
            Lived::Died | Lived::Done(End::Restart) => {}
            Lived::Done(End::Over | End::Failed) => break,
        }
    }
    let Playing { failure, story, now, order, .. } = playing;
    let simulated = now.0.saturating_sub(arena::BEGINS.0);
    let (entries, asked) = (arena.journal().entries(), arena.journal().asked());
    Ok(Played { failure, story, entries, asked, simulated, state: arena.state(), order })
}
