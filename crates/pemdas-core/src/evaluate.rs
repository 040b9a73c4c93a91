//! Where the evaluator meets the core: questions out, answers in.
//!
//! A question is a function of the blueprint and the inputs it reads, no more: what it does not read cannot change
//! its digest, so an answer holds until something changes that matters. Answers are facts. They are remembered by
//! the digest of the question, and an answer of *unknown* (killed by time or memory) is asked again after a while.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    blueprint::Function,
    digest::{Digest, Digester},
    packed::Packed,
};

/// How many answers are remembered; beyond it, those that the last pass did not use are dropped.
pub const MAX_ANSWERS: usize = 50_000;
/// So many answers more than twice those in use are kept for a spec that is reverted; then the others are dropped.
const SPARE_ANSWERS: usize = 16;
/// How many batches one pass may ask for, one after the other: identities, extracts, members, templates.
pub const MAX_BATCHES: usize = 64;

/// What of the function is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// All of its result.
    Whole,
    /// Only `metadata.name` and `metadata.namespace` of its result.
    Identity,
    /// A record, each field alone; a field that cannot be evaluated is left out.
    Fields,
    /// Whether the input fits the contract at this path: `true`, or the reason as a string.
    Contract,
    /// The input with the contract at this path applied: its defaults filled; an error says what it breaks.
    Admitted,
}

/// A question to the evaluator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The digest under which the answer is remembered.
    pub digest: Digest,
    /// The fields that lead to the function from the blueprint.
    pub path: Vec<String>,
    /// What is asked.
    pub form: Form,
    /// Its argument, with what it reads and nothing else.
    pub input: Value,
}

/// What the evaluator says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The result.
    Value(Value),
    /// The fields of a record that could be evaluated, and why another one fails, whatever there is.
    Partial(Value, String),
    /// A field that the function reads is missing.
    Missing(String),
    /// The function failed; the sentence names no value of a secret.
    Error(String),
    /// It could not be evaluated now: killed by time or memory. Asked again after a while.
    Unknown(String),
}

impl Default for Answer {
    fn default() -> Self {
        Self::Unknown("it was not asked".to_owned())
    }
}

/// Answers questions. The same question gets the same answer, unless it is [`Answer::Unknown`].
pub trait Evaluator {
    /// One answer for each question, in their order.
    fn evaluate(&mut self, batch: &[Question]) -> Vec<Answer>;
}

/// An answer, since when, and how often in a row it was unknown.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    answer: Packed<Arc<Answer>>,
    at: u64,
    tries: u32,
}

/// The answers that are remembered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answers(BTreeMap<Digest, Known>);

impl Answers {
    /// Remembers an answer.
    pub fn learn(&mut self, question: Digest, answer: Answer, now: u64) {
        let tries = match (&answer, self.0.get(&question)) {
            (Answer::Unknown(_), Some(known)) => known.tries.saturating_add(1),
            _ => 0,
        };
        self.0.insert(question, Known { answer: Arc::new(answer).into(), at: now, tries });
    }

    /// The answer to a question; an unknown one with the time from which to ask again.
    #[must_use]
    pub fn get(&self, question: Digest) -> Option<(&Answer, Option<u64>)> {
        let (answer, again) = self.shared(question)?;
        Some((answer, again))
    }

    /// The same, to be kept without copying it.
    pub(crate) fn shared(&self, question: Digest) -> Option<(&Arc<Answer>, Option<u64>)> {
        let known = self.0.get(&question)?;
        let again = matches!(**known.answer, Answer::Unknown(_))
            .then(|| known.at.saturating_add(crate::world::back_off(known.tries)));
        Some((&known.answer, again))
    }

    /// Puts them away until they are asked for.
    pub(crate) fn rest(&mut self) {
        for known in self.0.values_mut() {
            known.answer = known.answer.packed();
        }
    }

    /// How many are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets what the last pass did not use, when there is much of it: a settled instance is small.
    pub fn trim(&mut self, used: &BTreeMap<Digest, u32>) {
        if self.0.len() > MAX_ANSWERS.min(2 * used.len() + SPARE_ANSWERS) {
            self.0.retain(|digest, _| used.contains_key(digest));
        }
    }
}

/// An argument, of which a function reads parts.
pub(crate) trait Argument {
    /// The part under a name.
    fn part(&self, name: &str) -> Option<&Value>;
    /// All of it.
    fn whole(&self) -> Value;
}

impl Argument for Value {
    fn part(&self, name: &str) -> Option<&Value> {
        self.get(name)
    }

    fn whole(&self) -> Value {
        self.clone()
    }
}

/// The question of a function on an argument, projected to what the function reads.
#[must_use]
pub fn question(key: &[u8], revision: &str, function: &Function, form: Form, argument: &Value) -> Question {
    let (digest, input) = projected(key, revision, function, form, argument);
    Question { digest, path: function.path.clone(), form, input }
}

/// The digest of a question, and what the function reads.
pub(crate) fn projected(
    key: &[u8],
    revision: &str,
    function: &Function,
    form: Form,
    argument: &dyn Argument,
) -> (Digest, Value) {
    let input = project(argument, function);
    let mut digester = Digester::new(key);
    digester.text(revision);
    function.path.iter().for_each(|part| digester.text(part));
    digester.tag(form as u8);
    digester.value(&input);
    (digester.end(), input)
}

/// What a function reads of its argument; all of it where that cannot be said.
fn project(argument: &dyn Argument, function: &Function) -> Value {
    if function.reads.iter().any(|read| read.path.is_empty()) {
        return argument.whole();
    }
    let mut kept = Map::new();
    for read in &function.reads {
        let Some((first, rest)) = read.path.split_first() else { continue };
        let Some(source) = argument.part(first) else { continue };
        if rest.is_empty() || !source.is_object() {
            kept.insert(first.clone(), source.clone());
        } else {
            if !kept.contains_key(first) {
                kept.insert(first.clone(), Value::Object(Map::new()));
            }
            if let Some(below) = kept.get_mut(first) {
                copy(source, below, rest);
            }
        }
    }
    Value::Object(kept)
}

fn copy(from: &Value, to: &mut Value, path: &[String]) {
    let Some((first, rest)) = path.split_first() else {
        *to = from.clone();
        return;
    };
    let (Some(source), Some(target)) = (from.get(first), to.as_object_mut()) else { return };
    if rest.is_empty() || !source.is_object() {
        target.insert(first.clone(), source.clone());
        return;
    }
    let below = target.entry(first.clone()).or_insert_with(|| Value::Object(Map::new()));
    copy(source, below, rest);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Answer, Answers, Form, question};
    use crate::{
        blueprint::{Function, Read},
        diagnostic::Span,
    };

    fn function(reads: &[&[&str]]) -> Function {
        let span = Span { file: "main.ncl".to_owned(), start: 0, end: 0 };
        let reads = reads
            .iter()
            .map(|path| Read { path: path.iter().map(|it| (*it).to_owned()).collect(), span: span.clone() });
        Function { path: vec!["nodes".to_owned()], span: span.clone(), reads: reads.collect(), plain: None }
    }

    #[test]
    fn what_is_not_read_changes_nothing() {
        let function = function(&[&["root", "spec", "a"], &["db"]]);
        let ask = |value| question(b"", "r1", &function, Form::Whole, &value);
        let one = ask(json!({ "root": { "spec": { "a": 1, "b": 2 } }, "db": { "url": "x" } }));
        let other = ask(json!({ "root": { "spec": { "a": 1, "b": 3 } }, "db": { "url": "x" } }));
        assert_eq!(one, other);
        assert_eq!(one.input, json!({ "root": { "spec": { "a": 1 } }, "db": { "url": "x" } }));
        assert_ne!(one.digest, ask(json!({ "root": { "spec": { "a": 2 } }, "db": { "url": "x" } })).digest);
    }

    #[test]
    fn an_argument_used_whole_is_given_whole() {
        let all = json!({ "root": { "spec": { "a": 1 } } });
        assert_eq!(question(b"", "r1", &function(&[&[]]), Form::Whole, &all).input, all);
    }

    #[test]
    fn unknown_is_asked_again_ever_later() {
        let digest = question(b"", "r1", &function(&[]), Form::Whole, &json!({})).digest;
        let mut answers = Answers::default();
        let mut last = 0;
        for _ in 0..4 {
            answers.learn(digest, Answer::Unknown("killed".to_owned()), 0);
            let again = answers.get(digest).and_then(|(_, again)| again).unwrap();
            assert!(again > last);
            last = again;
        }
        answers.learn(digest, Answer::Value(json!(1)), 0);
        assert_eq!(answers.get(digest), Some((&Answer::Value(json!(1)), None)));
    }
}
