//! Evaluation beside the loop: one thread a blueprint revision, which takes all questions that wait as one batch.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use pemdas_core::{
    action::Event as Told,
    digest::Digest,
    evaluate::{Answer, Question},
    world::Fact,
};
use tokio::sync::mpsc;

use super::{
    Event, Hub, InstanceId,
    blueprints::{BlueprintName, reference},
};
use crate::{
    compile::Evaluate,
    machine::Machine,
    metrics::{Evaluated, Metrics},
};

/// Questions of how many instances go together.
const MAX_TOGETHER: usize = 64;
/// Batches that wait; an instance has at most one.
const QUEUE: usize = 100_000;

/// Stopped evaluations that are remembered for an instance.
const MAX_STOPPED: usize = 100;

/// How long until it is told again that a namespace is slowed, in milliseconds.
const TELL_AGAIN: u64 = 600_000;

/// Questions of a blueprint that are asked alone because they had to be stopped.
const MAX_SUSPECTS: usize = 1_000;

/// Where the questions of a blueprint go.
#[derive(Clone)]
pub(super) struct Evaluations(mpsc::Sender<(InstanceId, Vec<Question>)>);

impl Evaluations {
    /// Starts the thread; it ends when nobody can ask any more.
    pub(super) fn start(
        machine: &Machine,
        evaluator: Arc<dyn Evaluate>,
        post: mpsc::Sender<Event>,
        metrics: Metrics,
    ) -> Self {
        let (sender, mut receiver) = mpsc::channel::<(InstanceId, Vec<Question>)>(QUEUE);
        let simulated = machine.clone();
        // A thread of its own: those of the runtime are counted, and blueprints are read on them.
        let started = machine.spawn_thread("evaluations", async move {
            let mut suspects = BTreeSet::new();
            while let Some(first) = receiver.recv().await {
                let mut batches = vec![first];
                while batches.len() < MAX_TOGETHER
                    && let Ok(more) = receiver.try_recv()
                {
                    batches.push(more);
                }
                let questions: Vec<_> = batches.iter().flat_map(|(_, it)| it.iter().cloned()).collect();
                let answers = answers(&*evaluator, &questions, &mut suspects);
                simulated.catch_up().await;
                answers.iter().for_each(|it| metrics.evaluated(evaluated(it)));
                let mut answers = answers.into_iter();
                for (id, batch) in batches {
                    let digests = batch.iter().map(|it| it.digest);
                    let answered = digests.zip(answers.by_ref()).collect();
                    if post.send(Event::Answered(id, answered)).await.is_err() {
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
        Answer::Partial(..) | Answer::Missing(_) | Answer::Error(_) => Evaluated::error,
        Answer::Unknown(_) => Evaluated::killed,
    }
}

/// Answers questions of many instances. The accident that this prevents: an evaluation that has to be stopped takes those beside it
/// along, all of them are asked again at the same time, and so a good instance waits for a bad one for ever.
fn answers(evaluator: &dyn Evaluate, questions: &[Question], suspects: &mut BTreeSet<Digest>) -> Vec<Answer> {
    let (alone, together): (Vec<_>, Vec<_>) =
        (0..questions.len()).partition(|it| suspects.contains(&questions[*it].digest));
    let batch: Vec<_> = together.iter().map(|it| questions[*it].clone()).collect();
    let mut found: BTreeMap<usize, Answer> = BTreeMap::new();
    if !batch.is_empty() {
        found.extend(together.iter().copied().zip(evaluator.evaluate(&batch)));
    }
    // Whoever was stopped, or stood beside one that was, is asked again alone; who is stopped then is a suspect.
    let stopped = |it: &usize| matches!(found.get(it), None | Some(Answer::Unknown(_)));
    let again: Vec<_> = together.iter().copied().filter(stopped).chain(alone).collect();
    for index in again {
        let Some(question) = questions.get(index) else { continue };
        let answer = evaluator.evaluate(std::slice::from_ref(question)).into_iter().next();
        let answer = answer.unwrap_or_else(|| Answer::Unknown("the evaluator answered nothing".to_owned()));
        if matches!(answer, Answer::Unknown(_)) && suspects.len() < MAX_SUSPECTS {
            suspects.insert(question.digest);
        } else {
            suspects.remove(&question.digest);
        }
        found.insert(index, answer);
    }
    found.into_values().collect()
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
        let blueprint = instance.blueprint.clone();
        self.queue.push(&blueprint, id);
        self.tell_if_slowed(&blueprint);
        let Some(instance) = self.instances.get(id) else { return };
        for message in told {
            let reason = "Stopped".to_owned();
            self.tell(instance, Told { about: None, reason, message, warning: true });
        }
    }

    /// Tells people now and then that a namespace uses more than its share, and so waits for others.
    pub(super) fn tell_if_slowed(&mut self, name: &BlueprintName) {
        let now = self.clock.now();
        let used = self.compiler.used_by(&name.namespace);
        let told = self.slowed.entry(name.namespace.clone()).or_default();
        if used.slowed <= told.often || now < told.again {
            return;
        }
        *told = Slowed { often: used.slowed, again: now + TELL_AGAIN };
        let Some(loaded) = self.blueprints.get(name) else { return };
        let message = format!(
            "the blueprints of the namespace {} take more time to be evaluated than their share: others go first",
            name.namespace
        );
        let event = Told { about: None, reason: "EvaluationSlowed".to_owned(), message, warning: true };
        self.beside.teller.tell(reference(&loaded.live), event);
    }
}

/// What people were told of a namespace that uses more than its share.
#[derive(Debug, Default)]
pub(super) struct Slowed {
    /// How often it had been slowed.
    often: u64,
    /// When it may be told again.
    again: u64,
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use pemdas_core::{
        digest::Digest,
        evaluate::{Answer, Form, Question},
    };
    use serde_json::{Value, json};

    use super::{Evaluate, answers};

    /// Breaks off at a bomb, and puts off whatever comes after it.
    #[derive(Default)]
    struct Fragile {
        killed: AtomicUsize,
    }

    impl Evaluate for Fragile {
        fn evaluate(&self, batch: &[Question]) -> Vec<Answer> {
            let mut broken = false;
            let mut answer = |question: &Question| {
                if question.input == json!("bomb") {
                    self.killed.fetch_add(1, Ordering::Relaxed);
                    broken = true;
                }
                if broken {
                    Answer::Unknown("stopped".to_owned())
                } else {
                    Answer::Value(question.input.clone())
                }
            };
            batch.iter().map(&mut answer).collect()
        }
    }

    fn question(input: &Value) -> Question {
        Question { digest: Digest::of(&[], input), path: Vec::new(), form: Form::Whole, input: input.clone() }
    }

    #[test]
    fn nobody_waits_for_an_evaluation_that_is_stopped() {
        let fragile = Fragile::default();
        let questions: Vec<_> = [json!("bomb"), json!(1), json!(2)].iter().map(question).collect();
        let mut suspects = BTreeSet::new();
        for killed in [2, 3, 4] {
            let found = answers(&fragile, &questions, &mut suspects);
            assert!(matches!(found[0], Answer::Unknown(_)));
            assert_eq!(found[1..], [Answer::Value(json!(1)), Answer::Value(json!(2))]);
            assert_eq!(fragile.killed.load(Ordering::Relaxed), killed, "who is known is asked alone, once");
        }
        assert_eq!(suspects.len(), 1);
    }
}
