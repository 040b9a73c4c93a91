//! The operator's one loop. It owns everything that is known; tasks around it watch, write and evaluate, and tell it
//! what came of it. It decides nothing: what to do is asked of the core, instance by instance.
//!
//! | module | does |
//! | --- | --- |
//! | `views` | watches, and what was seen by them |
//! | `lookouts` | who looks at which kind, through which watch |
//! | `accounts` | who may act as which account |
//! | `blueprints` | ConfigMaps that become programs |
//! | `instances` | worlds: what each instance is shown |
//! | `turn` | one turn of an instance: decide, evaluate, act |
//! | `actions` | actions sent as calls |
//! | `queue` | whose turn it is |
//! | `past` | revisions that do not run any more, and what is left of them |
//! | `owners` | which blueprint serves a kind |
//! | `beside` | definitions, revisions, permissions, what Services report |
//! | `holds` | what lets a blueprint act stays while it has instances |
//! | `reports` | what people are told on the ConfigMap of a blueprint |
//! | `rollout` | a new revision over the instances |
//! | `runway` | who may write now |
//! | `upcoming` | a revision that waits for its definitions |
//! | `rest` | what is known of instances that nothing happens to |

mod accounts;
mod actions;
mod beside;
mod blueprints;
mod circle;
mod evaluations;
mod holds;
mod instances;
mod late;
mod lookouts;
mod owners;
mod past;
mod queue;
mod reports;
mod rest;
mod rollout;
mod runway;
mod sealing;
mod turn;
mod upcoming;
mod views;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use kube::Client;
use pemdas_core::{
    digest::Digest,
    evaluate::Answer,
    packed::Press,
    world::{Fact, KindKey, Lease, LedgerFact, ObjectKey, Refusal, WriteOutcome},
};
use tokio::{
    sync::{Semaphore, mpsc, watch},
    time::Instant,
};

use crate::{
    access::Within,
    compile::{Compiled, Compiler, Verdict},
    crds::install::Standing,
    gate::Readers,
    identity::{Clients, Identity},
    key::Keys,
    lease::Fence,
    ledgers,
    limits::Limits,
    machine::Machine,
    resource::{Resource, Unserved},
    revisions::Kept,
    watch::News,
};
use blueprints::Loaded;
use holds::Holds;
use instances::Instances;
use late::Departed;
use queue::Queue;
use rest::Resting;
use runway::Runway;
use views::{ViewId, Views};

pub use beside::Beside;
pub use instances::InstanceId;
pub use sealing::RESEAL_ANNOTATION;

pub(crate) use blueprints::{BlueprintName, live_account, policy};
pub(crate) use instances::instance_name;
pub(crate) use reports::BLUEPRINT_FINALIZER;
pub(crate) use reports::STATUS_ANNOTATION;
pub(crate) use views::BLUEPRINT_LABEL;

/// Events that wait for the loop.
const INBOX: usize = 8_192;
/// Events taken before instances get their turn again.
const MAX_EVENTS: usize = 1_024;
/// Turns taken before events are looked at again.
const MAX_TURNS: usize = 64;

/// What is waited for while nobody is known to lead.
const UNLED: &str = "it is not known yet who leads";

/// How the operator is run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Blueprints are looked for in these namespaces; none means all.
    pub namespaces: BTreeSet<String>,
    /// The keys of digests and seals: the same for as long as objects live.
    pub keys: Keys,
    /// How often it is asked again whether an account may still see what it is shown of somebody else's watch.
    pub recheck: Duration,
    /// Nothing is written but reports, for nobody.
    pub suspended: bool,
    /// What there is to share.
    pub limits: Limits,
    /// Closed to writes once the lease is over.
    pub fence: Fence,
    /// What it runs on.
    pub machine: Machine,
}

/// What the loop hears.
enum Event {
    /// A watch says something; with the number of its start, because one that was replaced may speak on.
    Told(ViewId, u32, News),
    /// How a kind is served.
    Found(ViewId, Result<Resource, Unserved>),
    /// A blueprint was read.
    Compiled(BlueprintName, u64, Box<Verdict>),
    /// Questions of an instance were answered.
    Answered(InstanceId, Vec<(Digest, Answer)>),
    /// An action of an instance came to an end: what is to be learnt from it.
    Ended(InstanceId, Vec<Fact>),
    /// A revision was kept, or could not be.
    Stored(BlueprintName, u64, Box<Compiled>, Result<Kept, String>),
    /// An earlier revision was read, which instances are at; nothing if it cannot be run.
    Earlier(BlueprintName, pemdas_core::program::Revision, Option<Box<Compiled>>),
    /// A revision that a deletion began with was read again; nothing if that cannot be.
    Past(BlueprintName, String, Option<Box<Compiled>>),
    /// Revisions of a blueprint that nothing named are gone.
    Pruned(BlueprintName, Vec<String>),
    /// Blueprints of which there are revisions, and the names of their accounts.
    Remains(Vec<(BlueprintName, String)>),
    /// Time to look after the revisions of a blueprint.
    Tend(BlueprintName),
    /// Time to ask again what an identity may see of a kind.
    Recheck(Identity, KindKey),
    /// What an identity may see of a kind, by namespace; nothing where that could not be found out.
    Rechecked(Identity, KindKey, Vec<(Option<String>, Option<bool>)>),
    /// Time to read a blueprint again that no worker could be had for.
    ReadAgain(BlueprintName, u64),
    /// A revision could not be kept yet.
    Unstored(BlueprintName, u64, String),
    /// The last revision of a blueprint that can run, if any can.
    LastGood(BlueprintName, u64, Option<Box<(Compiled, Kept)>>),
    /// How it stands with a definition, as a revision wants it.
    Definition(BlueprintName, String, String, Standing),
    /// What an account may not do, in sentences, and what it may.
    Reviewed(BlueprintName, Vec<String>, Box<(Identity, Within)>),
    /// The account of a blueprint is gone, and whether its namespace goes too.
    Bereft(BlueprintName, bool),
    /// Time to ask again for what a blueprint was not allowed.
    Review(BlueprintName),
    /// Time to look again at a kind that was not served.
    LookAgain(ViewId),
    /// Time to tell how the blueprints are.
    Report,
    /// What became of telling it.
    Reported(BlueprintName, WriteOutcome),
    /// What became of writing our finalizer on what lets a blueprint act.
    Held(ObjectKey, WriteOutcome),
}

/// The operator.
pub struct Hub {
    clients: Clients,
    compiler: Arc<dyn Compiler>,
    readers: Readers,
    settings: Settings,
    beside: Beside,
    ready: watch::Sender<Vec<String>>,
    clock: Clock,
    lease: Lease,
    post: mpsc::Sender<Event>,
    views: Views,
    blueprints: BTreeMap<BlueprintName, Loaded>,
    instances: Instances,
    queue: Queue,
    timers: BTreeSet<(u64, InstanceId)>,
    flights: Arc<Semaphore>,
    /// By namespace: the same of its blueprints.
    flights_of: BTreeMap<String, Arc<Semaphore>>,
    runway: Runway,
    resting: Resting,
    /// What is at rest is told by its difference from these.
    press: Press,
    /// Whose turn was waited for on the runway.
    cleared: Option<InstanceId>,
    ledgers: BTreeMap<ledgers::Place, LedgerFact>,
    departed: Departed,
    holds: Holds,
    compilations: u64,
    report_due: bool,
    /// Whether it was looked for what is left of blueprints that are gone.
    looked_for_remains: bool,
    /// Whether that has an answer.
    knows_remains: bool,
    /// By blueprint: whoever keeps and whoever prunes its revisions take turns.
    keeping: HashMap<BlueprintName, Arc<tokio::sync::Mutex<()>>>,
    /// By namespace: what was told of how much it evaluates.
    slowed: BTreeMap<String, evaluations::Slowed>,
}

impl Hub {
    /// Runs until the other end of the lease is dropped; beside it stands whether it is followed while another holds it.
    pub async fn run(
        client: Client,
        compiler: Arc<dyn Compiler>,
        settings: Settings,
        beside: Beside,
        (mut lease, mut following): (watch::Receiver<Lease>, watch::Receiver<bool>),
        ready: watch::Sender<Vec<String>>,
    ) {
        loop {
            let held = *lease.borrow_and_update();
            if held.held {
                let (post, inbox) = mpsc::channel(INBOX);
                beside.metrics.leads(true);
                beside.metrics.limited(&settings.limits);
                let hub = Self {
                    clients: Clients::fenced(&client, settings.fence.clone(), held.epoch),
                    compiler: compiler.clone(),
                    readers: Readers::new(settings.machine.clone(), compiler.clone()),
                    settings: settings.clone(),
                    beside: beside.clone(),
                    ready: ready.clone(),
                    clock: Clock::start(&settings.machine),
                    lease: held,
                    views: Views::new(post.clone()),
                    post,
                    blueprints: BTreeMap::new(),
                    instances: Instances::default(),
                    queue: Queue::default(),
                    timers: BTreeSet::new(),
                    flights: Arc::new(Semaphore::new(settings.limits.writes)),
                    flights_of: BTreeMap::new(),
                    runway: Runway::default(),
                    resting: Resting::default(),
                    press: Press::default(),
                    cleared: None,
                    ledgers: BTreeMap::new(),
                    departed: Departed::default(),
                    holds: Holds::default(),
                    compilations: 0,
                    report_due: false,
                    looked_for_remains: false,
                    knows_remains: false,
                    keeping: HashMap::new(),
                    slowed: BTreeMap::new(),
                };
                // Whoever leads anew begins with lists of its own: nothing of an earlier lease is kept.
                if hub.lead(inbox, &mut lease).await.is_err() {
                    return;
                }
                beside.metrics.leads(false);
            } else {
                // Whoever follows the Lease of another may take over at any time: that is all that can be asked of it.
                let follows = *following.borrow_and_update();
                ready.send_replace(if follows { Vec::new() } else { vec![UNLED.to_owned()] });
                tokio::select! {
                    changed = lease.changed() => if changed.is_err() {
                        return;
                    },
                    Ok(()) = following.changed() => {}
                }
            }
        }
    }

    /// Leads until the lease changes; an error means that the operator is to stop.
    async fn lead(
        mut self,
        mut inbox: mpsc::Receiver<Event>,
        lease: &mut watch::Receiver<Lease>,
    ) -> Result<(), watch::error::RecvError> {
        tracing::info!(epoch = self.lease.epoch, "leading");
        self.watch_own();
        loop {
            self.wake_up();
            self.take_turns();
            let wait = if self.queue.is_empty() { self.until_wake() } else { Duration::ZERO };
            tokio::select! {
                biased;
                changed = lease.changed() => {
                    tracing::info!("the lease changed");
                    return changed;
                }
                event = inbox.recv() => {
                    let mut next = event;
                    let mut taken = 0;
                    // What came meanwhile is taken together: an instance decides once on all of it.
                    while let Some(event) = next {
                        if taken == 0 || !mutant!(BurstsAreCut) {
                            self.hear(event);
                        }
                        taken += 1;
                        next = if taken < MAX_EVENTS { inbox.try_recv().ok() } else { None };
                    }
                }
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::Told(view, start, news) => self.told(view, start, news),
            Event::Found(view, found) => self.found(view, found),
            Event::LookAgain(view) => self.look_again(view),
            Event::Compiled(name, number, verdict) => self.compiled(&name, number, *verdict),
            Event::Answered(id, answers) => self.answered(id, answers),
            Event::Ended(id, facts) => {
                let forbidden = |it: &Fact| matches!(it, Fact::Outcome(_, _, outcome) | Fact::LedgerOutcome(outcome) if is_forbidden(outcome));
                if facts.iter().any(forbidden)
                    && let Some(blueprint) = self.instances.get(id).map(|it| it.blueprint.clone())
                {
                    self.was_forbidden(&blueprint);
                }
                for fact in facts {
                    self.learn(id, fact);
                }
            }
            Event::Stored(name, number, compiled, stored) => self.stored(&name, number, *compiled, stored),
            Event::Past(name, revision, compiled) => self.past_read(&name, revision, compiled),
            Event::Pruned(name, gone) => self.pruned(&name, &gone),
            Event::Remains(found) => self.remains(found),
            Event::Tend(name) => self.tend(&name),
            Event::Recheck(identity, kind) => self.recheck(identity, kind),
            Event::Rechecked(identity, kind, answers) => self.rechecked(&identity, &kind, answers),
            Event::Earlier(name, revision, compiled) => self.earlier_read(&name, revision, compiled),
            Event::ReadAgain(name, number) => self.read_again(&name, number),
            Event::Unstored(name, number, message) => self.unstored(&name, number, message),
            Event::LastGood(name, number, found) => self.last_good(&name, number, found.map(|it| *it)),
            Event::Definition(name, revision, crd, standing) => {
                if !self.upcoming_definition(&name, &revision, &crd, &standing) {
                    self.definition(&name, &revision, &crd, standing);
                }
            }
            Event::Reviewed(name, missing, may) => self.reviewed(name, missing, *may),
            Event::Bereft(name, ends) => self.is_bereft(&name, ends),
            Event::Review(name) => self.review_again(&name),
            Event::Report => self.report(),
            Event::Reported(name, outcome) => self.reported(&name, &outcome),
            Event::Held(key, outcome) => self.held(&key, &outcome),
        }
    }

    /// Shows a fact to an instance, which then gets a turn.
    fn learn(&mut self, id: InstanceId, fact: Fact) {
        if let Some(instance) = self.instances.get_mut(id) {
            let before = instance.world.changes;
            instance.world.learn(fact);
            if instance.world.changes != before {
                self.queue.push(&instance.blueprint, id);
            }
        }
    }

    /// Tells what is still waited for before the operator is ready.
    fn tell_ready(&self) {
        self.ready.send_replace(self.views.unlisted());
    }

    fn clients_of_pemdas(&self) -> Client {
        self.clients.own()
    }

    fn wake_up(&mut self) {
        let now = self.clock.now();
        while let Some((at, id)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, id));
            if let Some(instance) = self.instances.get_mut(id) {
                instance.wake = None;
                self.queue.push(&instance.blueprint, id);
            }
        }
        self.put_to_rest();
    }

    fn until_wake(&self) -> Duration {
        let next = self.timers.first().map(|(at, _)| *at).into_iter().chain(self.resting.next()).min();
        let at = next.map_or(60_000, |at| at.saturating_sub(self.clock.now()));
        Duration::from_millis(at.clamp(1, 60_000))
    }

    fn take_turns(&mut self) {
        for _ in 0..MAX_TURNS {
            let Some(id) = self.queue.pop() else { break };
            self.turn(id);
        }
        self.beside.metrics.queued(self.queue.len());
        self.clear_runway();
    }

    /// Has something done beside the loop; its end is told as facts.
    fn spawn(&self, id: InstanceId, work: impl Future<Output = Vec<Fact>> + Send + 'static) {
        let post = self.post.clone();
        tokio::spawn(async move {
            let facts = work.await;
            // The loop has ended: so has everything it was told for.
            let _ended = post.send(Event::Ended(id, facts)).await;
        });
    }
}

/// Whether a write was refused for want of a permission.
fn is_forbidden(outcome: &WriteOutcome) -> bool {
    matches!(outcome, WriteOutcome::Refused(Refusal::Forbidden(_)))
}

/// Time in milliseconds that never goes back, whatever becomes of the machine's clock.
struct Clock {
    started: Instant,
    at: u64,
}

impl Clock {
    fn start(machine: &Machine) -> Self {
        Self { started: Instant::now(), at: u64::try_from(machine.now().as_millisecond()).unwrap_or(0) }
    }

    fn now(&self) -> u64 {
        let passed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.at.saturating_add(passed)
    }
}
