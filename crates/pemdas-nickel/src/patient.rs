//! An evaluator that does not wait for ever: each evaluation has its limits, and many of them together have one as well.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pemdas_core::diagnostic::Diagnostic;

use crate::evaluator::Evaluator;
use crate::request::{Answer, Failure, Kill, Request};

/// An evaluator of which only so much is borne. When that is used up, it is asked nothing more.
#[derive(Debug)]
pub struct Patient<E> {
    evaluator: E,
    /// How many evaluations may be stopped from outside.
    stops: u32,
    /// How long all evaluations together may take.
    time: Duration,
    borne: Mutex<Borne>,
}

#[derive(Debug, Default)]
struct Borne {
    stops: u32,
    time: Duration,
    /// The last failure that says nothing of the blueprint, and what was evaluated, where that is one thing.
    last: Option<(Failure, Option<String>)>,
}

impl<E> Patient<E> {
    /// Over an evaluator: how many of its evaluations may be stopped, and how long all together may take.
    pub fn new(evaluator: E, stops: u32, time: Duration) -> Self {
        Self { evaluator, stops, time, borne: Mutex::default() }
    }

    /// What was stopped last, as a problem of the blueprint; nothing if all was answered.
    #[must_use]
    pub fn stopped(&self) -> Option<Diagnostic> {
        let borne = self.borne();
        let (failure, at) = borne.last.as_ref()?;
        let told = failure.diagnostics().into_iter().next()?;
        Some(match at {
            Some(at) => told.note(format!("it was {at} that was evaluated")),
            None => told,
        })
    }

    /// What is borne so far. Every change to it is a single step, so a panic has left it whole.
    fn borne(&self) -> MutexGuard<'_, Borne> {
        self.borne.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E: Evaluator> Evaluator for Patient<E> {
    fn ask(&self, request: &Request) -> Result<Answer, Failure> {
        {
            let mut borne = self.borne();
            if borne.time >= self.time && borne.last.is_none() {
                borne.last = Some((Failure::Killed { why: Kill::Time }, None));
            }
            if borne.stops >= self.stops || borne.time >= self.time {
                let last = borne.last.as_ref().map(|(failure, _)| failure.clone());
                return Err(last.unwrap_or(Failure::Killed { why: Kill::Time }));
            }
        }
        let began = Instant::now();
        let answer = self.evaluator.ask(request);
        let mut borne = self.borne();
        borne.time = borne.time.saturating_add(began.elapsed());
        if let Err(failure) = &answer
            && failure.is_transient()
        {
            let subject = subject(request);
            // Once it is known which one it is, there is no more to find out.
            borne.stops = if subject.is_some() { self.stops } else { borne.stops + 1 };
            borne.last = Some((failure.clone(), subject));
        }
        answer
    }
}

/// What a request evaluates, if that is one function.
fn subject(request: &Request) -> Option<String> {
    match request {
        Request::Render { calls } => match calls.as_slice() {
            [one] => Some(one.path.join(".")),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::Patient;
    use crate::evaluator::Evaluator;
    use crate::request::{Answer, Failure, Kill, Request};

    /// Answers that are always the same, counted.
    struct Same(Result<Answer, Failure>, Cell<u32>);

    impl Evaluator for Same {
        fn ask(&self, _: &Request) -> Result<Answer, Failure> {
            self.1.set(self.1.get() + 1);
            self.0.clone()
        }
    }

    fn asked(answer: Result<Answer, Failure>, stops: u32, time: Duration) -> (u32, Option<String>) {
        let patient = Patient::new(Same(answer, Cell::new(0)), stops, time);
        for _ in 0..5 {
            let _ = patient.ask(&Request::Syntax);
        }
        (patient.evaluator.1.get(), patient.stopped().map(|it| it.code))
    }

    #[test]
    fn what_is_stopped_too_often_or_takes_too_long_is_asked_no_more() {
        let hour = Duration::from_secs(3_600);
        let killed = || Err(Failure::Killed { why: Kill::Memory });
        assert_eq!(asked(killed(), 2, hour), (2, Some("PM0011".to_owned())));
        let busy = Err(Failure::Unavailable { reason: "busy".to_owned() });
        assert_eq!(asked(busy, 1, hour), (1, Some("PM0016".to_owned())));
        let good = || Ok(Answer::Rendered(Vec::new()));
        assert_eq!(asked(good(), 1, hour), (5, None));
        assert_eq!(asked(good(), 1, Duration::ZERO), (0, Some("PM0011".to_owned())));
        // A verdict on the blueprint is an answer.
        assert_eq!(asked(Err(Failure::FuelExhausted { fuel: 1 }), 1, hour), (5, None));
    }
}
