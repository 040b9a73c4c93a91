//! Evaluation beside the loop: one thread a blueprint revision, which takes all questions that wait as one batch.

use std::sync::Arc;

use pemdas_core::{
    action::Event as Told,
    digest::Digest,
    evaluate::{Answer, Question},
    world::Fact,
};
use tokio::sync::mpsc;

use super::{Event, Hub, InstanceId};
use crate::{
    compile::Evaluate,
    metrics::{Evaluated, Metrics},
};

/// Questions of how many instances go together.
const MAX_TOGETHER: usize = 64;
/// Batches that wait; an instance has at most one.
const QUEUE: usize = 100_000;

/// Stopped evaluations that are remembered for an instance.
const MAX_STOPPED: usize = 100;

/// Where the questions of a blueprint go.
#[derive(Clone)]
pub(super) struct Evaluations(mpsc::Sender<(InstanceId, Vec<Question>)>);

impl Evaluations {
    /// Starts the thread; it ends when nobody can ask any more.
    pub(super) fn start(evaluator: Arc<dyn Evaluate>, post: mpsc::Sender<Event>, metrics: Metrics) -> Self {
        let (sender, mut receiver) = mpsc::channel::<(InstanceId, Vec<Question>)>(QUEUE);
        // A thread of its own: those of the runtime are counted, and blueprints are read on them.
        let thread = std::thread::Builder::new().name("evaluations".to_owned());
        let started = thread.spawn(move || {
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
        if let Err(error) = started {
            tracing::error!(%error, "the system gives no thread");
        }
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

impl Hub {
    /// Questions of an instance were answered: it gets a turn.
    pub(super) fn answered(&mut self, id: InstanceId, answers: Vec<(Digest, Answer)>) {
        let Some(instance) = self.instances.get_mut(id) else { return };
        instance.evaluating = false;
        let mut told = Vec::new();
        for (question, answer) in answers {
            match &answer {
                // Once may be an accident of a busy machine; whoever is stopped again is told.
                Answer::Unknown(why) => {
                    let before = instance.stopped.get(&question).copied();
                    if before.is_some() || instance.stopped.len() < MAX_STOPPED {
                        instance.stopped.insert(question, before.is_some());
                    }
                    if before == Some(false) {
                        told.push(why.clone());
                    }
                }
                _ => {
                    instance.stopped.remove(&question);
                }
            }
            instance.world.learn(Fact::Answered(question, answer));
        }
        self.queue.push(&instance.blueprint, id);
        let Some(instance) = self.instances.get(id) else { return };
        for message in told {
            let reason = "Stopped".to_owned();
            self.tell(instance, Told { about: None, reason, message, warning: true });
        }
    }
}
