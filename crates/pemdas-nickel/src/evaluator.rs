//! The interface of evaluation, and the evaluator that runs on a thread of this process.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, Once};
use std::thread;

use pemdas_core::diagnostic::Diagnostic;
use serde_json::Value;

use crate::codes;
use crate::contract::Contract;
use crate::engine::Engine;
use crate::limits::Limits;
use crate::request::{Answer, Failure, Kill, Place, Request, Seen};
use crate::sources::Sources;
use crate::syntax::Syntax;

/// A loaded blueprint that answers requests.
pub trait Evaluator {
    /// Answers one request.
    ///
    /// # Errors
    /// Why there is no answer.
    fn ask(&self, request: &Request) -> Result<Answer, Failure>;

    /// The value at a place, fully evaluated.
    ///
    /// # Errors
    /// Why there is none.
    fn evaluate(&self, place: &Place) -> Result<Value, Failure> {
        match self.ask(&Request::Evaluate { place: place.clone() })? {
            Answer::Json(value) => Ok(value),
            _ => Err(unexpected()),
        }
    }

    /// Some fields of the record at a place, each a path of names; nothing else is evaluated. One result for each, in this order.
    ///
    /// # Errors
    /// If there is no record at the place, or the evaluation was ended as a whole.
    fn select(&self, place: &Place, fields: &[&[&str]]) -> Result<Vec<Result<Value, Failure>>, Failure> {
        let fields = fields.iter().map(|path| path.iter().map(|&name| name.to_owned()).collect()).collect();
        match self.ask(&Request::Select { place: place.clone(), fields })? {
            Answer::Selected(values) => Ok(values),
            _ => Err(unexpected()),
        }
    }

    /// The value with the contract at a place applied: defaults are filled.
    ///
    /// # Errors
    /// What of the contract it breaks.
    fn check(&self, contract: &Place, value: &Value) -> Result<Value, Failure> {
        match self.ask(&Request::Check { contract: contract.clone(), value: value.clone() })? {
            Answer::Json(value) => Ok(value),
            _ => Err(unexpected()),
        }
    }

    /// What is at a place, with nothing inside evaluated.
    ///
    /// # Errors
    /// If the place cannot be reached.
    fn look(&self, place: &Place) -> Result<Seen, Failure> {
        match self.ask(&Request::Look { place: place.clone() })? {
            Answer::Seen(seen) => Ok(*seen),
            _ => Err(unexpected()),
        }
    }

    /// The structure of the contract at a place.
    ///
    /// # Errors
    /// If the place cannot be reached.
    fn describe(&self, place: &Place) -> Result<Contract, Failure> {
        match self.ask(&Request::Describe { place: place.clone() })? {
            Answer::Contract(contract) => Ok(*contract),
            _ => Err(unexpected()),
        }
    }

    /// The syntax of the blueprint's own files, by name.
    ///
    /// # Errors
    /// If it is too large to be told.
    fn syntax(&self) -> Result<BTreeMap<String, Syntax>, Failure> {
        match self.ask(&Request::Syntax)? {
            Answer::Syntax(trees) => Ok(trees),
            _ => Err(unexpected()),
        }
    }
}

impl<E: Evaluator + ?Sized> Evaluator for &E {
    fn ask(&self, request: &Request) -> Result<Answer, Failure> {
        (**self).ask(request)
    }
}

impl<E: Evaluator + ?Sized> Evaluator for Arc<E> {
    fn ask(&self, request: &Request) -> Result<Answer, Failure> {
        (**self).ask(request)
    }
}

fn unexpected() -> Failure {
    Failure::Unavailable { reason: "the evaluator answered another question".to_owned() }
}

type Reply = Sender<Result<Answer, Failure>>;

/// An evaluator on a thread of this process: for local files that the user trusts, and for tests. Fuel, time, sizes and imports are
/// held to their limits; memory and operations that never end are not. Code of others belongs into a worker process.
#[derive(Debug)]
pub struct InProcess {
    requests: Mutex<Sender<(Request, Reply)>>,
}

impl InProcess {
    /// Loads a blueprint.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn load(sources: &Sources, limits: &Limits) -> Result<Self, Failure> {
        let (requests, incoming) = channel();
        let (loaded, ready) = channel();
        let (sources, limits) = (sources.clone(), limits.clone());
        let stack = usize::try_from(limits.stack).unwrap_or(usize::MAX);
        quiet_panics();
        thread::Builder::new()
            .name(THREAD.to_owned())
            .stack_size(stack)
            .spawn(move || serve(&sources, &limits, &loaded, &incoming))
            .map_err(|error| Failure::Unavailable { reason: error.to_string() })?;
        match ready.recv() {
            Ok(Ok(())) => Ok(Self { requests: Mutex::new(requests) }),
            Ok(Err(failure)) => Err(failure),
            Err(_) => Err(Failure::Killed { why: Kill::Crash }),
        }
    }
}

impl Evaluator for InProcess {
    fn ask(&self, request: &Request) -> Result<Answer, Failure> {
        let (reply, answer) = channel();
        let crash = || Failure::Killed { why: Kill::Crash };
        let requests = self.requests.lock().map_err(|_| crash())?;
        requests.send((request.clone(), reply)).map_err(|_| crash())?;
        drop(requests);
        answer.recv().map_err(|_| crash())?
    }
}

/// The name of evaluating threads.
pub(crate) const THREAD: &str = "pemdas-nickel";

/// A fault of the evaluator is an answer; nobody wants its message on the terminal too.
pub(crate) fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if thread::current().name() != Some(THREAD) {
                before(info);
            }
        }));
    });
}

fn serve(
    sources: &Sources,
    limits: &Limits,
    loaded: &Sender<Result<(), Failure>>,
    incoming: &Receiver<(Request, Reply)>,
) {
    let mut engine = match guarded(|| Engine::load(sources, limits.clone())) {
        Ok(engine) => engine,
        Err(failure) => {
            // The other side may have gone; then nobody wants to know.
            let _ = loaded.send(Err(failure));
            return;
        }
    };
    if loaded.send(Ok(())).is_err() {
        return;
    }
    while let Ok((request, reply)) = incoming.recv() {
        let answer = guarded(|| engine.run(&request));
        let crashed = is_fault(&answer);
        let _ = reply.send(answer);
        if crashed {
            // Nothing that a fault left behind is used again.
            match guarded(|| Engine::load(sources, limits.clone())) {
                Ok(fresh) => std::mem::forget(std::mem::replace(&mut engine, fresh)),
                Err(_) => return,
            }
        }
    }
}

/// Runs the evaluator. A panic of it is a failure like others, and a verdict too: evaluation is pure, so it would panic again.
pub(crate) fn guarded<T>(run: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let message = "the evaluator itself failed on this program";
        Err(Failure::of(Diagnostic::error(codes::FAULT, message)))
    })
}

/// Whether what the evaluator left behind may not be used again.
pub(crate) fn is_fault<T>(result: &Result<T, Failure>) -> bool {
    matches!(result, Err(Failure::Failed { diagnostics }) if diagnostics.iter().any(|d| d.code == codes::FAULT))
}
