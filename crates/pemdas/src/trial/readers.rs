//! Blueprints as an operator of a trial reads and asks them. What was read or answered once is remembered: reading and answering are pure, so that
//! a run that is repeated pays for it once.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use pemdas_core::{
    digest::Digest,
    evaluate::{Answer, Question},
};
use pemdas_kube::{
    compile::{Compiled, Compiler, Evaluate, Problem, Verdict},
    identity::Identity,
    machine::Machine,
};
use pemdas_nickel::Sources;

use super::journal::{Fault, Journal, SLOW};
use crate::{
    operate::{no_worker, verdict},
    workers::{self, Pace},
};

/// How many answers are remembered for a blueprint.
const MAX_ANSWERS: usize = 100_000;

type Read = (Option<Compiled>, Vec<Problem>);

/// Reads blueprints. Clones remember together.
#[derive(Clone, Default)]
pub(crate) struct Readers(Arc<Mutex<BTreeMap<BTreeMap<String, String>, Read>>>);

impl Readers {
    /// The same for one run, in which the evaluator may die or be slow.
    pub(crate) fn under(&self, journal: Arc<Journal>, machine: Machine) -> Tried {
        Tried { readers: self.clone(), trial: Trial { journal, machine } }
    }
}

/// What may happen to the evaluator in a run.
#[derive(Clone)]
struct Trial {
    journal: Arc<Journal>,
    machine: Machine,
}

impl Trial {
    /// Whether the evaluator dies of what it is asked now.
    fn dies(&self) -> bool {
        match self.journal.ask() {
            Some(Fault::EvaluatorSlow) => {
                self.machine.takes(SLOW);
                false
            }
            fault => fault.is_some(),
        }
    }
}

/// Reads blueprints in one run.
pub(crate) struct Tried {
    readers: Readers,
    trial: Trial,
}

impl Compiler for Tried {
    fn compile(&self, identity: &Identity, files: &BTreeMap<String, String>) -> Verdict {
        if self.trial.dies() {
            return no_worker();
        }
        let read = self.readers.compile(identity, files);
        let asked = |it: Compiled| {
            let evaluator = Arc::new(Asked { evaluator: it.evaluator, trial: self.trial.clone() });
            Compiled { evaluator, ..it }
        };
        Verdict { compiled: read.compiled.map(asked), ..read }
    }
}

/// An evaluator in one run.
struct Asked {
    evaluator: Arc<dyn Evaluate>,
    trial: Trial,
}

impl Evaluate for Asked {
    fn evaluate(&self, batch: &[Question]) -> Vec<Answer> {
        if self.trial.dies() {
            return batch.iter().map(|_| Answer::Unknown("the evaluator died".to_owned())).collect();
        }
        self.evaluator.evaluate(batch)
    }
}

impl Compiler for Readers {
    fn compile(&self, _identity: &Identity, files: &BTreeMap<String, String>) -> Verdict {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (compiled, problems) = known.entry(files.clone()).or_insert_with(|| read(files));
        Verdict { compiled: compiled.clone(), problems: problems.clone() }
    }
}

fn read(files: &BTreeMap<String, String>) -> Read {
    let sources = files.iter().fold(Sources::new(), |sources, (name, text)| sources.with(name, text));
    let read = verdict(workers::load(&sources, Pace::Unhurried), files);
    let remembered = |it: Compiled| {
        let evaluator = Arc::new(Remembered { asked: it.evaluator, answers: Mutex::default() });
        Compiled { evaluator, ..it }
    };
    (read.compiled.map(remembered), read.problems)
}

/// An evaluator whose answers are remembered.
struct Remembered {
    asked: Arc<dyn Evaluate>,
    answers: Mutex<BTreeMap<Digest, Answer>>,
}

impl Evaluate for Remembered {
    fn evaluate(&self, batch: &[Question]) -> Vec<Answer> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let new: Vec<Question> =
            batch.iter().filter(|it| !answers.contains_key(&it.digest)).cloned().collect();
        if !new.is_empty() {
            if answers.len() + new.len() > MAX_ANSWERS {
                answers.clear();
                drop(answers);
                return self.asked.evaluate(batch);
            }
            let found = self.asked.evaluate(&new);
            answers.extend(new.iter().map(|it| it.digest).zip(found));
        }
        let unknown = || Answer::Unknown("the evaluator answered nothing".to_owned());
        batch.iter().map(|it| answers.get(&it.digest).cloned().unwrap_or_else(unknown)).collect()
    }
}
