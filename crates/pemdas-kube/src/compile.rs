//! Where a blueprint's text becomes something that runs: the binary gives what this crate must not know.

use std::{collections::BTreeMap, sync::Arc};

use pemdas_core::{
    blueprint::Blueprint,
    evaluate::{Answer, Question},
    graph::Graph,
};
use serde_json::Value;

use crate::identity::Identity;

/// Something that is wrong with a blueprint, for people.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Problem {
    /// The stable code.
    pub code: String,
    /// File, line and column, where there is a place.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// One sentence.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hint: String,
    /// Whether it keeps the blueprint from running.
    pub error: bool,
}

/// A blueprint that can run.
#[derive(Clone)]
pub struct Compiled {
    /// As data.
    pub blueprint: Blueprint,
    /// Its graphs.
    pub graph: Graph,
    /// The definitions of the kinds it owns.
    pub crds: Vec<Value>,
    /// Answers the questions about its functions.
    pub evaluator: Arc<dyn Evaluate>,
}

/// What came of reading a blueprint.
pub struct Verdict {
    /// What runs; nothing if there are errors.
    pub compiled: Option<Compiled>,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
}

/// Answers questions. Called from threads that may wait.
pub trait Evaluate: Send + Sync {
    /// One answer for each question, in their order.
    fn evaluate(&self, batch: &[Question]) -> Vec<Answer>;
}

/// Reads blueprints. Called from threads that may wait.
pub trait Compiler: Send + Sync + 'static {
    /// Reads the files of a blueprint. No process that evaluates it ever serves another identity.
    fn compile(&self, identity: &Identity, sources: &BTreeMap<String, String>) -> Verdict;

    /// What a namespace used so far, where that is shared.
    fn used_by(&self, namespace: &str) -> Used {
        let _ = namespace;
        Used::default()
    }
}

/// What a namespace used of what evaluates blueprints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// Milliseconds of workers.
    pub millis: u64,
    /// Requests that wait.
    pub waiting: u64,
    /// Requests that found no place in the queue, or lost it.
    pub refused: u64,
    /// How often somebody who came later went first, because it had used more than its share.
    pub slowed: u64,
}
