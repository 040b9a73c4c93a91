//! Nickel, one thread for each example: it loads the example once for all tests of this process, and answers what they ask.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::PathBuf,
    rc::Rc,
    sync::{
        Arc, Mutex, OnceLock,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use pemdas_core::{
    digest::Digest,
    evaluate::{Answer, Evaluator, Question},
    explore::Evaluation,
};
use pemdas_nickel::{InProcess, Renderer};

use crate::samples::{Sample, folders, load};

/// What somebody asks, and where the answers go.
struct Asked {
    batch: Vec<Question>,
    reply: Sender<Vec<Answer>>,
}

/// The evaluator of an example, for any thread: it is asked each question once.
#[derive(Clone)]
pub(crate) struct Nickel {
    asks: Sender<Asked>,
    answers: Answers,
}

type Answers = Arc<Mutex<BTreeMap<Digest, Answer>>>;

impl Nickel {
    /// For a thread on which it does not live.
    pub(crate) fn evaluation(&self) -> Evaluation {
        let asks = self.asks.clone();
        self.by(move |batch| {
            let (reply, answers) = channel();
            asks.send(Asked { batch: batch.to_vec(), reply }).expect("the thread of the example");
            answers.recv().expect("an answer of the thread of the example")
        })
    }

    /// For the thread on which it lives.
    pub(crate) fn at_home(&self, renderer: Renderer<InProcess>) -> Evaluation {
        self.by(move |batch| renderer.answers(batch))
    }

    fn by(&self, ask: impl Fn(&[Question]) -> Vec<Answer> + 'static) -> Evaluation {
        Rc::new(RefCell::new(Remembering { answers: Arc::clone(&self.answers), ask: Box::new(ask) }))
    }
}

/// Questions to another thread, and its answers.
type Ask = dyn Fn(&[Question]) -> Vec<Answer>;

struct Remembering {
    answers: Answers,
    ask: Box<Ask>,
}

impl Evaluator for Remembering {
    fn evaluate(&mut self, batch: &[Question]) -> Vec<Answer> {
        let new: Vec<_> = {
            let known = self.answers.lock().unwrap();
            batch.iter().filter(|it| !known.contains_key(&it.digest)).cloned().collect()
        };
        // Nothing is locked meanwhile: others go on with what is known.
        let answers = if new.is_empty() { Vec::new() } else { (self.ask)(&new) };
        let mut known = self.answers.lock().unwrap();
        known.extend(new.iter().map(|it| it.digest).zip(answers));
        batch.iter().map(|it| known[&it.digest].clone()).collect()
    }
}

/// The samples of all examples.
pub(crate) fn samples() -> impl Iterator<Item = &'static Sample> {
    static SAMPLES: OnceLock<Vec<Sample>> = OnceLock::new();
    let all = SAMPLES.get_or_init(|| {
        let loading: Vec<_> = folders().into_iter().map(begin).collect();
        loading.into_iter().flat_map(|it| it.recv().expect("an example that loads")).collect()
    });
    all.iter()
}

/// Starts the thread of an example; its samples come when it is loaded.
fn begin(folder: PathBuf) -> Receiver<Vec<Sample>> {
    let (loaded, samples) = channel();
    thread::spawn(move || {
        let (asks, asked) = channel::<Asked>();
        let nickel = Nickel { asks, answers: Answers::default() };
        let (renderer, samples) = load(&folder, &nickel);
        // The samples hold it from here on.
        drop(nickel);
        loaded.send(samples).expect("somebody who waits");
        for Asked { batch, reply } in asked {
            // Who asked may have failed meanwhile.
            let _ = reply.send(renderer.answers(&batch));
        }
    });
    samples
}
