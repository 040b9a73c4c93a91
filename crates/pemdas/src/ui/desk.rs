//! Where questions about the cluster are answered: one thread with one session, which looks with the permissions of the user.
//!
//! What is followed is looked at anew when a watch says that something has changed, at most ten times a second. Whoever follows reads
//! the newest news when they are ready for it: a slow reader skips what is between, and holds up nobody.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use pemdas_core::world::KindKey;
use pemdas_kube::resource::Resource;
use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    task::AbortHandle,
    time::{sleep, timeout},
};

use super::{
    answer::{Failure, Told, answer},
    route::Question,
};
use crate::{explain::Explainer, live::Session, operate::Workers};

/// How many questions wait.
const MAX_WAITING: usize = 64;
/// How many questions are followed at the same time.
const MAX_FOLLOWED: usize = 32;
/// How many kinds are watched.
const MAX_KINDS: usize = 300;
/// How long news are gathered before it is looked.
const GATHER: Duration = Duration::from_millis(100);
/// How often it is looked whether the cluster answers again.
const AGAIN: Duration = Duration::from_secs(2);

/// What is known of something that is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct News {
    /// When it was looked at, in the cluster's time.
    pub(super) at: u64,
    /// Why nothing newer is known.
    pub(super) away: Option<String>,
    pub(super) told: Arc<Told>,
}

enum Message {
    Ask(Question, oneshot::Sender<Told>),
    Follow(Question, oneshot::Sender<watch::Receiver<News>>),
}

/// Where questions are asked.
#[derive(Clone)]
pub(super) struct Desk(mpsc::Sender<Message>);

impl Desk {
    /// Begins to answer: the session is made when somebody asks. The thread ends when nobody can ask any more.
    pub(super) fn start(
        session: impl FnOnce() -> Option<Session> + Send + 'static,
        workers: Workers,
    ) -> Self {
        let (ask, mut questions) = mpsc::channel(MAX_WAITING);
        std::thread::spawn(move || {
            let Some(first) = questions.blocking_recv() else { return };
            if let Some(session) = session() {
                Clerk::new(session, workers).work(first, questions);
            }
        });
        Self(ask)
    }

    /// Asks once.
    pub(super) async fn ask(&self, question: Question) -> Told {
        let (reply, told) = oneshot::channel();
        self.0.try_send(Message::Ask(question, reply)).map_err(|_| busy())?;
        told.await.map_err(|_| busy())?
    }

    /// Asks, and hears what becomes of it.
    pub(super) async fn follow(&self, question: Question) -> Result<watch::Receiver<News>, Failure> {
        let (reply, news) = oneshot::channel();
        self.0.try_send(Message::Follow(question, reply)).map_err(|_| busy())?;
        news.await.map_err(|_| busy())
    }
}

fn busy() -> Failure {
    Failure {
        status: 503,
        message: "too much is asked at the same time".to_owned(),
        hint: "close other tabs of this page, or try again in a moment".to_owned(),
    }
}

/// What watches say.
#[derive(Default)]
struct Ear {
    changed: Notify,
    /// Whether the kinds of the cluster may be other ones.
    kinds: AtomicBool,
}

/// What happens next.
enum Next {
    Message(Message),
    Changed,
    End,
}

struct Clerk {
    session: Session,
    workers: Workers,
    ear: Arc<Ear>,
    watched: BTreeMap<KindKey, AbortHandle>,
    followed: BTreeMap<Question, watch::Sender<News>>,
}

impl Clerk {
    fn new(session: Session, workers: Workers) -> Self {
        let (watched, followed) = (BTreeMap::new(), BTreeMap::new());
        Self { session, workers, ear: Arc::default(), watched, followed }
    }

    fn work(mut self, first: Message, mut questions: mpsc::Receiver<Message>) {
        let mut first = Some(first);
        // Blueprints that were read and kinds that were seen are kept until the cluster has other kinds.
        loop {
            let Self { session, workers, ear, watched, followed } = &mut self;
            let explainer = Explainer::new(session, workers.clone());
            let mut round = Round { session, explainer, ear, watched, followed };
            if round.serve(first.take(), &mut questions) {
                return;
            }
            self.session.forget_kinds();
        }
    }
}

/// The work between two times that the kinds of the cluster change.
struct Round<'a> {
    session: &'a Session,
    explainer: Explainer<'a>,
    ear: &'a Arc<Ear>,
    watched: &'a mut BTreeMap<KindKey, AbortHandle>,
    followed: &'a mut BTreeMap<Question, watch::Sender<News>>,
}

impl Round<'_> {
    /// Answers until the kinds have changed; whether nobody asks any more.
    fn serve(&mut self, mut first: Option<Message>, questions: &mut mpsc::Receiver<Message>) -> bool {
        self.look();
        loop {
            let is_away = self.followed.values().any(|it| it.borrow().away.is_some());
            let next = first.take().map_or_else(|| self.next(questions, is_away), Next::Message);
            match next {
                Next::End => return true,
                Next::Message(Message::Ask(question, reply)) => {
                    let told = answer(&self.explainer, &question);
                    let is_new = told.as_ref().is_err_and(|it| it.status == 404);
                    // Whoever asked has gone away: nobody needs it.
                    let _gone = reply.send(told);
                    if is_new && self.ear.kinds.swap(false, Ordering::Relaxed) {
                        return false;
                    }
                }
                Next::Message(Message::Follow(question, reply)) => self.follow(question, reply),
                Next::Changed => {
                    if self.ear.kinds.swap(false, Ordering::Relaxed) {
                        return false;
                    }
                    self.look();
                }
            }
        }
    }

    fn next(&self, questions: &mut mpsc::Receiver<Message>, is_away: bool) -> Next {
        let ear = self.ear;
        self.session.ask(async |_| {
            let changed = async {
                if is_away {
                    // It may be back without a word: nothing is watched of what could not be read.
                    let _heard = timeout(AGAIN, ear.changed.notified()).await;
                } else {
                    ear.changed.notified().await;
                }
                sleep(GATHER).await;
            };
            tokio::select! {
                question = questions.recv() => question.map_or(Next::End, Next::Message),
                () = changed => Next::Changed,
            }
        })
    }

    fn follow(&mut self, question: Question, reply: oneshot::Sender<watch::Receiver<News>>) {
        self.forget();
        let known = self.followed.get(&question).map(watch::Sender::subscribe);
        let news = match known {
            Some(news) => news,
            None if self.followed.len() >= MAX_FOLLOWED => return,
            None => {
                let (sender, news) = watch::channel(self.news(&question, None));
                self.followed.insert(question, sender);
                self.listen();
                news
            }
        };
        let _gone = reply.send(news);
    }

    /// Looks at what is followed, and tells what is new.
    fn look(&mut self) {
        self.forget();
        for (question, sender) in &*self.followed {
            let before = sender.borrow().clone();
            let after = self.news(question, Some(&before));
            if before.told != after.told || before.away != after.away {
                sender.send_replace(after);
            }
        }
        self.listen();
    }

    fn news(&self, question: &Question, before: Option<&News>) -> News {
        let at = self.session.now();
        match (answer(&self.explainer, question), before) {
            // What was known stays, with the time at which it was.
            (Err(Failure { status: 503, message, .. }), Some(before)) if before.told.is_ok() => {
                News { away: Some(message), ..before.clone() }
            }
            (told, _) => News { at, away: None, told: Arc::new(told) },
        }
    }

    /// Forgets what nobody follows any more.
    fn forget(&mut self) {
        self.followed.retain(|_, it| !it.is_closed());
        if self.followed.is_empty() {
            std::mem::take(self.watched).into_values().for_each(|it| it.abort());
        }
    }

    /// Watches the kinds that the blueprints speak of.
    fn listen(&mut self) {
        if self.followed.is_empty() {
            return;
        }
        let mut kinds = self.explainer.kinds().unwrap_or_default();
        let always = [("v1", "ConfigMap"), ("apiextensions.k8s.io/v1", "CustomResourceDefinition")];
        kinds.extend(always.into_iter().filter_map(|(version, kind)| {
            let resource = Resource::built_in(version, kind)?;
            Some((resource.kind.clone(), resource))
        }));
        for (kind, resource) in kinds {
            if self.watched.len() < MAX_KINDS && !self.watched.contains_key(&kind) {
                let watch = self.watch(resource);
                self.watched.insert(kind, watch);
            }
        }
    }

    fn watch(&self, resource: Resource) -> AbortHandle {
        let ear = Arc::clone(self.ear);
        let namespace = self.session.namespace().to_owned();
        let makes_kinds = resource.kind.kind == "CustomResourceDefinition";
        self.session.ask(async |survey| {
            let survey = survey.clone();
            let task = tokio::spawn(async move {
                let mut is_first = true;
                let mut told = || {
                    if makes_kinds && !std::mem::take(&mut is_first) {
                        ear.kinds.store(true, Ordering::Relaxed);
                    }
                    ear.changed.notify_one();
                };
                let _forbidden = survey.changes(&resource, None, &mut told).await;
                if resource.namespaced {
                    let _forbidden = survey.changes(&resource, Some(&namespace), &mut told).await;
                }
            });
            task.abort_handle()
        })
    }
}
