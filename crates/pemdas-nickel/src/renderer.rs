//! The bridge to the core: its questions, answered by an evaluator of this crate.
//!
//! The core asks in batches ([`pemdas_core::evaluate::Evaluator`]); a batch is one round trip to a worker, unless something in it has to be
//! stopped: then its questions are asked one by one, so that one endless template costs the others nothing but time.
//!
//! | what happened | the core hears |
//! | --- | --- |
//! | a value | `Value` |
//! | the function read a field that its input does not have | `Missing`, with the path of the field: `the.migrated.url`, and for functions of live objects `status.url` |
//! | a broken contract, a type error, too many steps, too large a result | `Error`: always so, whoever asks again |
//! | stopped by time or memory, a crash, no worker to be had | `Unknown`: asked again after a while |
//!
//! An `Error` is made of names, places in the files and the author's own literal words. No value of the input is quoted: it may be
//! a Secret's.
//!
//! **What a function reads.** The core gives a function only what its [`reads`](pemdas_core::blueprint::Function::reads) name: found
//! from the way the function is written, each a chain of fields from its argument, or empty where the argument is used as a whole. A
//! field that is not named is not in the input, so a function cannot come to depend on it unnoticed: reading it is `Missing`. What is not
//! read does not change the digest of the question either, and so the remembered answer stays.
//!
//! **The root.** Functions see the root with its contract applied: the core asks for that first ([`evaluate::Form::Admitted`]), and
//! [`Renderer::admit`] does the same for whoever has an object and no engine. An API server with the drafted CRD has filled what a schema
//! can say; the contract may say more.

use std::sync::Arc;
use std::time::Duration;

use pemdas_core::blueprint::{Blueprint, RootTarget};
use pemdas_core::diagnostic::{Diagnostic, Severity};
use pemdas_core::evaluate::{self, Answer as CoreAnswer, Question};
use pemdas_core::graph::Graph;
use serde_json::{Value, json};

use crate::codes;
use crate::engine::check_call;
use crate::evaluator::{Evaluator, InProcess};
use crate::kinds::Drafts;
use crate::limits::Limits;
use crate::outline::{self, Outline};
use crate::patient::Patient;
use crate::request::{Answer, Failure, Kill, Place, RenderCall, Request};
use crate::sandbox::{Pool, Sandboxed};
use crate::sources::Sources;

/// How many questions go to a worker at once.
const MAX_TOGETHER: usize = 512;
/// How many bytes of questions go to a worker at once, unless one alone has more.
const MAX_BYTES_TOGETHER: u64 = 8 << 20;
/// How long all evaluations may take that say what a blueprint is.
const READING: Duration = Duration::from_secs(60);
/// How many evaluations of one batch may be stopped from outside before the rest of it is put off.
const MAX_STOPPED: usize = 3;

/// Answers the core's questions about one blueprint. A clone asks the same evaluator: give each thread its own.
#[derive(Debug)]
pub struct Renderer<E> {
    evaluator: Arc<E>,
    limits: Limits,
}

impl<E> Clone for Renderer<E> {
    fn clone(&self) -> Self {
        Self { evaluator: Arc::clone(&self.evaluator), limits: self.limits.clone() }
    }
}

impl<E: Evaluator> Renderer<E> {
    /// Over a loaded blueprint; the limits are those it was loaded with.
    pub fn new(evaluator: E, limits: Limits) -> Self {
        Self { evaluator: Arc::new(evaluator), limits }
    }

    /// The evaluator that answers.
    #[must_use]
    pub fn evaluator(&self) -> &E {
        &self.evaluator
    }

    /// One answer for each question, in their order.
    #[must_use]
    pub fn answers(&self, batch: &[Question]) -> Vec<CoreAnswer> {
        let mut answers: Vec<CoreAnswer> = Vec::with_capacity(batch.len());
        let mut stopped = 0;
        // Up to here, questions are asked one by one: something among them had to be stopped.
        let mut alone_until = 0;
        while let Some(rest) = batch.get(answers.len()..).filter(|rest| !rest.is_empty()) {
            if stopped >= MAX_STOPPED {
                let text = "put off: too many evaluations beside it had to be stopped";
                answers.resize(batch.len(), CoreAnswer::Unknown(text.to_owned()));
                break;
            }
            let most = if answers.len() < alone_until { 1 } else { MAX_TOGETHER };
            let (calls, refused) = self.calls(rest, most);
            if calls.is_empty() {
                answers.extend(refused);
                continue;
            }
            let asked = calls.len();
            match self.evaluator.ask(&Request::Render { calls }) {
                Ok(Answer::Rendered(some)) if !some.is_empty() && some.len() <= asked => {
                    stopped += some.iter().filter(|it| matches!(it, CoreAnswer::Unknown(_))).count();
                    answers.extend(some);
                }
                Ok(_) => answers.push(CoreAnswer::Unknown("the evaluator answered nothing".to_owned())),
                Err(failure @ Failure::Unavailable { .. }) => {
                    let answer = answer_of(&[], &failure);
                    answers.resize(batch.len(), answer);
                }
                Err(_) if asked > 1 => {
                    stopped += 1;
                    alone_until = answers.len() + asked;
                }
                Err(failure) => {
                    stopped += usize::from(failure.is_transient());
                    answers.push(answer_of(rest.first().map_or(&[], |it| it.path.as_slice()), &failure));
                }
            }
        }
        answers
    }

    /// The next calls that go together. If the very next one can never be asked: its answer.
    fn calls(&self, rest: &[Question], most: usize) -> (Vec<RenderCall>, Option<CoreAnswer>) {
        let mut calls = Vec::new();
        let mut bytes = 0;
        for question in rest.iter().take(most) {
            let call = RenderCall {
                path: question.path.clone(),
                form: question.form,
                input: question.input.clone(),
            };
            match check_call(&call, &self.limits) {
                Ok(more) if calls.is_empty() || bytes + more <= MAX_BYTES_TOGETHER => {
                    bytes += more;
                    calls.push(call);
                }
                Err(failure) if calls.is_empty() => {
                    return (calls, Some(answer_of(&question.path, &failure)));
                }
                _ => break,
            }
        }
        (calls, None)
    }

    /// The root as functions see it: of a kind that the blueprint owns with the contract of its version applied and its defaults
    /// filled; any other as it is.
    ///
    /// # Errors
    /// What of its contract it breaks; or, if [`Failure::is_transient`], that it could not be judged now.
    pub fn admit(
        &self,
        blueprint: &Blueprint,
        target: &RootTarget,
        object: &Value,
    ) -> Result<Value, Failure> {
        let mut admitted = object.clone();
        let api_version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let Some(contract) = blueprint.contract(target, api_version) else { return Ok(admitted) };
        let spec = object.get("spec").cloned().unwrap_or_else(|| json!({}));
        let place = Place::at(contract.path.iter().map(String::as_str));
        let filled = self.evaluator.check(&place, &spec)?;
        if let Some(fields) = admitted.as_object_mut() {
            fields.insert("spec".to_owned(), filled);
        }
        Ok(admitted)
    }
}

impl<E: Evaluator> evaluate::Evaluator for Renderer<E> {
    fn evaluate(&mut self, batch: &[Question]) -> Vec<CoreAnswer> {
        self.answers(batch)
    }
}

/// A failure as the core hears it, for what is at this path; nothing of a diagnostic that may quote data.
pub(crate) fn answer_of(path: &[String], failure: &Failure) -> CoreAnswer {
    let path = path.join(".");
    match failure {
        Failure::Killed { why } => CoreAnswer::Unknown(match why {
            Kill::Time => format!("{path}: the evaluation took too long and was stopped"),
            Kill::Memory => format!("{path}: the evaluation wanted too much memory and was stopped"),
            Kill::Crash => format!("{path}: the evaluator broke off"),
        }),
        Failure::Unavailable { .. } => CoreAnswer::Unknown("no evaluator is available".to_owned()),
        Failure::Poisoned { what, .. } => CoreAnswer::Missing(what.clone()),
        Failure::Failed { diagnostics } => {
            let first = diagnostics.first();
            let code = first.map_or(codes::EVALUATION, |it| it.code.as_str());
            let message = match first {
                // Made of names by ourselves.
                Some(told) if told.code == codes::NOT_DATA || told.code == codes::FAULT => &told.message,
                _ => "the evaluation failed",
            };
            CoreAnswer::Error(format!("{path}: {message} ({code})"))
        }
        Failure::FuelExhausted { .. } | Failure::TooLarge { .. } => {
            let told = failure.diagnostics();
            let message = told.first().map_or("it is too large", |it| it.message.as_str());
            let code = told.first().map_or(codes::TOO_LARGE, |it| it.code.as_str());
            CoreAnswer::Error(format!("{path}: {message} ({code})"))
        }
    }
}

/// A blueprint that is loaded, outlined and ready to be asked: what a long-running operator keeps of it.
#[derive(Debug)]
pub struct Loaded<E> {
    /// Answers about it; none if it could not even be loaded.
    pub renderer: Option<Renderer<E>>,
    /// The blueprint as data, as far as it was understood.
    pub blueprint: Option<Blueprint>,
    /// Its graphs.
    pub graph: Option<Graph>,
    /// The definitions of its kinds, drafted.
    pub drafts: Drafts,
    /// What is wrong with it, in the order of the files.
    pub diagnostics: Vec<Diagnostic>,
}

impl<E> Loaded<E> {
    /// Whether nothing keeps it from running.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.renderer.is_some()
            && self.blueprint.is_some()
            && self.diagnostics.iter().all(|it| it.severity != Severity::Error)
    }

    fn of(renderer: Option<Renderer<E>>, outline: Outline) -> Self {
        let Outline { blueprint, drafts, mut diagnostics } = outline;
        let graph = blueprint.as_ref().map(|blueprint| {
            let (graph, problems) = Graph::of(blueprint);
            diagnostics.extend(problems);
            graph
        });
        let diagnostics = outline::tidy(diagnostics);
        Self { renderer, blueprint, graph, drafts, diagnostics }
    }
}

impl Loaded<Sandboxed> {
    /// Loads a blueprint into workers, on behalf of somebody.
    ///
    /// # Errors
    /// If nothing can be known of it now: no worker was to be had, or it was stopped. A retry may succeed.
    pub fn in_pool(pool: &Pool, identity: &str, sources: &Sources) -> Result<Self, Failure> {
        let limits = pool.limits().clone();
        match pool.load(identity, sources) {
            Ok(evaluator) => {
                let outline = outlined(&evaluator, sources)
                    .map_err(|told| Failure::Unavailable { reason: told.message })?;
                Ok(Self::of(Some(Renderer::new(evaluator, limits)), outline))
            }
            Err(failure) if failure.is_transient() => Err(failure),
            Err(failure) => Ok(Self::of(None, outline::not_loaded(&failure, sources))),
        }
    }
}

impl<E: Evaluator> Loaded<E> {
    /// Outlines what was loaded, for a person who waits: an evaluation that was stopped is told as what is wrong. What outlines may
    /// be another evaluator than the one that is kept.
    pub fn told(loaded: Result<(impl Evaluator, E), Failure>, sources: &Sources, limits: Limits) -> Self {
        let (renderer, mut outline) = match loaded {
            Err(failure) => (None, outline::not_loaded(&failure, sources)),
            Ok((outlines, evaluator)) => match outlined(&outlines, sources) {
                Ok(outline) => (Some(Renderer::new(evaluator, limits)), outline),
                Err(stopped) => (None, outline::unknown(vec![*stopped])),
            },
        };
        outline.diagnostics.extend(outline::too_large(sources));
        Self::of(renderer, outline)
    }
}

/// Outlines a blueprint; or what stopped that, which says nothing certain of the blueprint.
fn outlined(evaluator: &impl Evaluator, sources: &Sources) -> Result<Outline, Box<Diagnostic>> {
    let patient = Patient::new(evaluator, 1, READING);
    let outline = outline::of(&patient, sources);
    let Some(stopped) = patient.stopped() else { return Ok(outline) };
    // The same with a place in the files, where there is one.
    let placed = outline.diagnostics.into_iter().find(|it| it.code == stopped.code && !it.labels.is_empty());
    Err(Box::new(placed.unwrap_or(stopped)))
}

impl Loaded<InProcess> {
    /// Loads a blueprint into this process: files that the user trusts, and tests.
    #[must_use]
    pub fn in_process(sources: &Sources, limits: &Limits) -> Self {
        let (evaluator, outline) = outline::load(sources, limits);
        Self::of(evaluator.map(|it| Renderer::new(it, limits.clone())), outline)
    }
}
