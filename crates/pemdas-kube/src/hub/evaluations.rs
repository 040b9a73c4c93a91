//! Evaluation beside the loop: one thread a blueprint revision, which takes all questions that wait as one batch.

use std::sync::Arc;

use pemdas_core::evaluate::{Answer, Question};
use tokio::sync::mpsc;

use super::{Event, InstanceId};
use crate::{
    compile::Evaluate,
    metrics::{Evaluated, Metrics},
};

/// Questions of how many instances go together.
const MAX_TOGETHER: usize = 64;
/// Batches that wait; an instance has at most one.
const QUEUE: usize = 100_000;

/// Where the questions of a blueprint go.
#[derive(Clone)]
pub(super) struct Evaluations(mpsc::Sender<(InstanceId, Vec<Question>)>);

impl Evaluations {
    /// Starts the thread; it ends when nobody can ask any more.
    pub(super) fn start(evaluator: Arc<dyn Evaluate>, post: mpsc::Sender<Event>, metrics: Metrics) -> Self {
        let (sender, mut receiver) = mpsc::channel::<(InstanceId, Vec<Question>)>(QUEUE);
        tokio::task::spawn_blocking(move || {
            while let Some(first) = receiver.blocking_recv() {
                let mut batches = vec![first];
                while batches.len() < MAX_TOGETHER
                    && let Ok(more) = receiver.try_recv()
                {
                    batches.push(more);
                }
                let questions: Vec<_> = batches.iter().flat_map(|(_, it)| it.iter().cloned()).collect();
                let answers = evaluator.evaluate(&questions);
                answers.iter().for_each(|it| metrics.evaluated(evaluated(it)));
                let mut answers = answers.into_iter();
                for (id, batch) in batches {
                    let digests = batch.iter().map(|it| it.digest);
                    let answered = digests.zip(answers.by_ref()).collect();
                    if post.blocking_send(Event::Answered(id, answered)).is_err() {
                        return;
                    }
                }
            }
        });
        Self(sender)
    }

    /// Asks; whether the questions were taken.
    pub(super) fn ask(&self, id: InstanceId, batch: Vec<Question>) -> bool {
        self.0.try_send((id, batch)).is_ok()
    }
}

/// What became of an evaluation, for those who count.
fn evaluated(answer: &Answer) -> Evaluated {
    match answer {
        Answer::Value(_) => Evaluated::value,
        Answer::Missing(_) | Answer::Error(_) => Evaluated::error,
        Answer::Unknown(_) => Evaluated::killed,
    }
}
