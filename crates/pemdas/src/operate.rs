//! Where the operator's loop meets the evaluator: blueprints are read and asked in worker processes. And where its parts are put
//! together, for whoever runs it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use pemdas_core::{
    crd::definition,
    diagnostic::{Diagnostic, Severity},
    digest::Digest,
    evaluate::{Answer, Question},
    world::Lease,
};
use pemdas_kube::{
    access::Access,
    compile::{Compiled, Compiler, Evaluate, Problem, Used, Verdict},
    connect::Client,
    events::{Teller, Telling},
    hub::{Beside, Hub, Settings},
    identity::Identity,
    key::Keys,
    lease::{Candidate, Leadership, Timing},
    machine::Machine,
    metrics::Metrics,
    report::{Limits, Reporter},
};
use pemdas_nickel::{Evaluator, Failure, LIBRARY, Loaded, Pool, PoolConfig, Renderer, Sandboxed, Sources};
use tokio::{sync::watch, task::JoinHandle};

use crate::{input::position, workers};

/// How many workers evaluate.
pub(crate) const WORKERS: usize = 4;
/// How often a blueprint is read anew if no worker could be had.
const TRIES: u32 = 5;
/// How long between two tries.
const PAUSE: Duration = Duration::from_secs(2);

/// Reads blueprints in worker processes of this same binary. Clones share them.
#[derive(Clone)]
pub(crate) struct Workers(Pool);

impl Workers {
    /// Workers of the program that runs.
    pub(crate) fn new() -> std::io::Result<Self> {
        Self::of(WORKERS)
    }

    /// So many of them.
    pub(crate) fn of(count: usize) -> std::io::Result<Self> {
        Ok(Self(Pool::new(PoolConfig::new(workers::command()?).with_workers(count))))
    }

    /// What each namespace used so far.
    pub(crate) fn used(&self) -> BTreeMap<String, Used> {
        self.0.used().into_iter().map(|(namespace, it)| (namespace, used(it))).collect()
    }

    fn load(&self, identity: &str, sources: &Sources) -> Result<Loaded<Sandboxed>, Failure> {
        let mut tries = 1;
        loop {
            match Loaded::in_pool(&self.0, identity, sources) {
                Err(failure) if failure.is_transient() && tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
                other => return other,
            }
        }
    }
}

struct Asked<E>(Renderer<E>);

impl<E: Evaluator + Send + Sync> Evaluate for Asked<E> {
    fn evaluate(&self, batch: &[Question]) -> Vec<Answer> {
        self.0.answers(batch)
    }
}

impl Compiler for Workers {
    fn compile(&self, identity: &Identity, files: &BTreeMap<String, String>) -> Verdict {
        let sources = files.iter().fold(Sources::new(), |sources, (name, text)| sources.with(name, text));
        let Ok(loaded) = self.load(&identity.to_string(), &sources) else {
            return no_worker();
        };
        verdict(loaded, files)
    }

    fn used_by(&self, namespace: &str) -> Used {
        used(self.0.used_by(namespace))
    }
}

fn used(by: pemdas_nickel::Used) -> Used {
    let pemdas_nickel::Used { millis, waiting, refused, slowed } = by;
    Used { millis, waiting: waiting as u64, refused, slowed }
}

/// What is said of a blueprint that nobody could read.
pub(crate) fn no_worker() -> Verdict {
    let problem = Problem {
        code: "PM0510".to_owned(),
        place: String::new(),
        message: "no worker could be had to read the blueprint".to_owned(),
        hint: "see the log of the operator".to_owned(),
        error: true,
    };
    Verdict { compiled: None, problems: vec![problem] }
}

/// What came of reading a blueprint.
pub(crate) fn verdict<E: Evaluator + Send + Sync + 'static>(
    loaded: Loaded<E>,
    files: &BTreeMap<String, String>,
) -> Verdict {
    let problems = loaded.diagnostics.iter().map(|it| problem(it, files)).collect();
    let sound = loaded.is_sound();
    let crds = loaded.drafts.kinds.iter().map(definition).collect();
    let compiled = match (loaded.renderer, loaded.blueprint, loaded.graph) {
        (Some(renderer), Some(blueprint), Some(graph)) if sound => {
            Some(Compiled { blueprint, graph, crds, evaluator: Arc::new(Asked(renderer)) })
        }
        _ => None,
    };
    Verdict { compiled, problems }
}

/// How the operator is to be run.
pub(crate) struct Wanted {
    /// Blueprints are looked for in these namespaces; none means all.
    pub(crate) namespaces: BTreeSet<String>,
    /// The keys of digests and seals.
    pub(crate) keys: Keys,
    /// How often it is asked again what an account may see.
    pub(crate) recheck: Duration,
    /// The namespace of the Lease; nothing where no other copy can run.
    pub(crate) lease_in: Option<String>,
    /// A name that no other process has.
    pub(crate) process: String,
    /// How often they are asked.
    pub(crate) report_every: Duration,
    /// Whether nothing is written but reports.
    pub(crate) suspended: bool,
    /// What there is to share.
    pub(crate) limits: pemdas_kube::limits::Limits,
    /// What it runs on.
    pub(crate) machine: Machine,
}

/// An operator that runs.
pub(crate) struct Operation {
    hub: JoinHandle<()>,
    telling: Telling,
    leadership: Option<Leadership>,
    alone: watch::Sender<Lease>,
}

impl Operation {
    /// Puts the parts together and starts them.
    pub(crate) fn start(
        client: Client,
        compiler: Arc<dyn Compiler>,
        wanted: Wanted,
        metrics: &Metrics,
        ready: watch::Sender<Vec<String>>,
    ) -> Self {
        let Wanted { machine, process, .. } = wanted;
        let limits = Limits { interval: wanted.report_every, ..Limits::default() };
        let (teller, telling) =
            Teller::start(client.clone(), process.clone(), metrics.clone(), machine.clone());
        let beside = Beside {
            metrics: metrics.clone(),
            teller,
            reporter: Reporter::new(limits),
            access: Arc::new(Access::new(client.clone())),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            library: library(),
        };
        let candidate = |namespace| Candidate {
            namespace,
            name: "pemdas".to_owned(),
            identity: process,
            timing: Timing::default(),
            machine: machine.clone(),
        };
        let leadership = wanted.lease_in.map(candidate).map(|it| Leadership::seek(client.clone(), it));
        let (alone, always) = watch::channel(Lease { held: true, epoch: 1 });
        let lease = leadership.as_ref().map_or(always, Leadership::standing);
        // Whoever is alone follows nobody.
        let following = leadership.as_ref().map_or_else(|| watch::channel(false).1, Leadership::following);
        let fence = leadership.as_ref().map(Leadership::fence).unwrap_or_default();
        let settings = Settings {
            namespaces: wanted.namespaces,
            keys: wanted.keys,
            suspended: wanted.suspended,
            limits: wanted.limits,
            fence,
            recheck: wanted.recheck,
            machine,
        };
        let hub = tokio::spawn(Hub::run(client, compiler, settings, beside, (lease, following), ready));
        Self { hub, telling, leadership, alone }
    }

    /// Stops in peace.
    pub(crate) async fn stop(self) {
        drop(self.alone);
        self.hub.abort();
        let _ended = self.hub.await;
        // Whoever acts on the lease has stopped: another may lead at once.
        if let Some(leadership) = self.leadership {
            leadership.release().await;
        }
        let _told = self.telling.await;
    }
}

/// What names the library of this binary, and the binary: with another version of either, the same sources may come to something else.
fn library() -> String {
    let files: Vec<_> = LIBRARY.iter().map(|it| [it.name, it.text]).collect();
    Digest::of(&[], &serde_json::json!([env!("CARGO_PKG_VERSION"), files])).short()
}

fn problem(diagnostic: &Diagnostic, files: &BTreeMap<String, String>) -> Problem {
    let place = diagnostic.labels.first().map(|label| {
        let text = files.get(&label.span.file).map_or("", String::as_str);
        let at = position(text, label.span.start);
        format!("{}:{}:{}", label.span.file, at.line, at.column)
    });
    Problem {
        code: diagnostic.code.clone(),
        place: place.unwrap_or_default(),
        message: diagnostic.message.clone(),
        hint: diagnostic.hint.clone().unwrap_or_default(),
        error: diagnostic.severity == Severity::Error,
    }
}
