//! Keeps the CRD of an owned kind as its blueprint wants it, or says what it waits for.
//!
//! What to do is [`pemdas_core::crd::install`]'s to say; here it is looked, asked and done, for as long as the blueprint
//! runs: a CRD that disappears and returns is noticed. Nothing is ever deleted, and nothing is applied with force.

use futures::{StreamExt as _, stream::BoxStream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams, TypeMeta},
    core::Status,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, watch_object},
    },
};
use pemdas_core::{
    crd::install::{MANAGER, Maker, Policy, Verdict, contested, judge, published, serves},
    world::back_off,
};
use serde_json::Value;
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Duration, Instant, sleep_until},
};

/// A CRD that a blueprint wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// Who makes it.
    pub policy: Policy,
    /// The CRD, as it was drafted.
    pub draft: Value,
    /// For whom.
    pub maker: Maker,
}

/// How it stands with a CRD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It can be used; what differs from the draft, in sentences.
    Usable(Vec<String>),
    /// It is served, but not all that the draft accepts is kept as it is: what differs, in sentences.
    Unfit(Vec<String>),
    /// Not yet, because of this.
    Waiting(String),
    /// It is being deleted, and serves the objects that there still are.
    Going(String),
    /// Not until a human changes something.
    Refused(Vec<String>),
    /// It may not change as the draft wants it, and serves all that the draft accepts.
    Wider(Vec<String>),
    /// Another blueprint made it: its kind is that one's.
    Anothers(String),
    /// Nobody here may read it. Whether its kind is served is seen otherwise.
    Unseen(String),
}

/// Whether the API server serves nothing because another definition has its names.
fn has_taken_names(live: &Value) -> bool {
    let conditions = live.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    conditions.into_iter().any(|it| it["type"] == "NamesAccepted" && it["status"] == "False")
}

/// The reason that is reported until the CRD has been read.
const UNKNOWN: &str = "the CRD was not looked up yet";

impl Standing {
    /// Whether it was not looked up yet.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Waiting(why) if why == UNKNOWN)
    }
}

/// A CRD that is looked after in the background, until this is dropped.
#[derive(Debug)]
pub struct Kept {
    standing: watch::Receiver<Standing>,
    task: JoinHandle<()>,
}

impl Kept {
    /// Looks after a CRD: it is watched as `reader` and written as `writer`, the account of the blueprint. Only
    /// who leads may do this.
    #[must_use]
    pub fn start(reader: Client, writer: Client, wanted: Wanted) -> Self {
        let unknown = Standing::Waiting(UNKNOWN.to_owned());
        let (told, standing) = watch::channel(unknown);
        let keeper = Keeper {
            reader: definitions(reader),
            writer: definitions(writer),
            name: wanted.draft["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
            wanted,
            told,
        };
        Self { standing, task: tokio::spawn(keeper.run()) }
    }

    /// How it stands; follows every change.
    #[must_use]
    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.clone()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The definitions of a cluster, to be looked at.
#[derive(Debug, Clone)]
pub struct Definitions(Api<DynamicObject>);

impl Definitions {
    /// As whoever reads them.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self(definitions(client))
    }

    /// Whether a CRD neither serves what is wanted nor may change so, as far as that can be read.
    pub async fn refuses(&self, wanted: &Wanted) -> bool {
        let name = wanted.draft["metadata"]["name"].as_str().unwrap_or_default();
        let Ok(Some(live)) = self.0.get_opt(name).await else { return false };
        let live = serde_json::to_value(live).unwrap_or_default();
        let verdict = judge(wanted.policy, &wanted.draft, Some(&live), &wanted.maker);
        matches!(verdict, Verdict::Refused(_) | Verdict::Usable(_)) && !serves(&wanted.draft, &live)
    }
}

/// The definitions as YAML, for the policy that has somebody else install them.
#[must_use]
pub fn manifest(drafts: &[Value], maker: &Maker) -> String {
    let documents: Vec<String> = drafts
        .iter()
        .map(|it| published(it, maker))
        .map(|it| serde_saphyr::to_string(&it).unwrap_or_else(|_| format!("{it}\n")))
        .collect();
    documents.join("---\n")
}

fn definitions(client: Client) -> Api<DynamicObject> {
    Api::all_with(client, &ApiResource::erase::<CustomResourceDefinition>(&()))
}

/// How long a CRD is waited for before it is looked up: news of a watch may be lost on the way.
const LOOK_UP: Duration = Duration::from_secs(30);

/// How often a write is tried again at once when somebody else was quicker.
const AT_ONCE: u32 = 3;

struct Keeper {
    reader: Api<DynamicObject>,
    writer: Api<DynamicObject>,
    name: String,
    wanted: Wanted,
    told: watch::Sender<Standing>,
}

/// What is known of the CRD: nothing, its absence, or how it is.
#[derive(Default)]
struct Known {
    live: Option<Option<Value>>,
    /// When to look and try again.
    again: Option<Instant>,
    /// How often in a row a write was refused.
    tries: u32,
}

impl Keeper {
    async fn run(self) {
        let mut watched: BoxStream<'_, watcher::Result<Option<DynamicObject>>> =
            watch_object(self.reader.clone(), &self.name).default_backoff().boxed();
        let mut known = Known::default();
        loop {
            let again = known.again;
            let due = async {
                match again {
                    Some(when) => sleep_until(when).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                next = watched.next() => match next {
                    Some(Ok(found)) => known.see(found),
                    Some(Err(error)) => {
                        tracing::warn!(definition = self.name, %error, "the CRD cannot be watched");
                        if refusal(&error).is_none_or(|it| it.code != 403) || !self.read_as_account(&mut known).await {
                            continue;
                        }
                    }
                    None => return,
                },
                () = due => {
                    known.again = None;
                    // The watch may lag behind what the write was refused for.
                    match self.reader.get_opt(&self.name).await {
                        Ok(found) => known.see(found),
                        Err(_) => known.again = Some(Instant::now() + LOOK_UP),
                    }
                }
            }
            self.act(&mut known).await;
        }
    }

    /// Where Pemdas itself may not read definitions, perhaps the account may; whether it did.
    async fn read_as_account(&self, known: &mut Known) -> bool {
        match self.writer.get_opt(&self.name).await {
            Ok(found) => {
                known.see(found);
                true
            }
            Err(error) => {
                let why = match error {
                    kube::Error::Api(status) => status.message,
                    other => other.to_string(),
                };
                self.tell(Standing::Unseen(format!("the CRD cannot be read: {why}")));
                false
            }
        }
    }

    async fn act(&self, known: &mut Known) {
        let Some(live) = &known.live else { return };
        let Wanted { policy, draft, maker } = &self.wanted;
        let fits = live.as_ref().is_some_and(|it| serves(draft, it) && !has_taken_names(it));
        let standing = match judge(*policy, draft, live.as_ref(), maker) {
            Verdict::Usable(told) if fits => Standing::Usable(told),
            Verdict::Usable(told) => Standing::Unfit(told),
            Verdict::Wait(why) => Standing::Waiting(why),
            Verdict::Going(why) => Standing::Going(why),
            Verdict::Refused(why) if fits => Standing::Wider(why),
            Verdict::Refused(why) => Standing::Refused(why),
            Verdict::Anothers(why) => Standing::Anothers(why),
            Verdict::Create(body) | Verdict::Change(body) => match self.write(&body, known).await {
                Standing::Refused(why) if fits => Standing::Wider(why),
                Standing::Waiting(why) if fits && known.tries > 0 => Standing::Wider(vec![why]),
                standing => standing,
            },
        };
        if matches!(standing, Standing::Waiting(_) | Standing::Going(_)) {
            known.again.get_or_insert_with(|| Instant::now() + LOOK_UP);
        }
        self.tell(standing);
    }

    fn tell(&self, standing: Standing) {
        self.told.send_if_modified(|before| {
            let changed = *before != standing;
            if changed {
                tracing::info!(definition = self.name, standing = ?standing, "definition");
                *before = standing;
            }
            changed
        });
    }

    async fn write(&self, body: &Value, known: &mut Known) -> Standing {
        let sent = self.writer.patch(&self.name, &PatchParams::apply(MANAGER), &Patch::Apply(body)).await;
        let refusal = match sent {
            Ok(now) => {
                known.see(Some(now));
                known.tries = 0;
                return Standing::Waiting("the API server does not serve it yet".to_owned());
            }
            Err(refusal) => refusal,
        };
        if mutant!(DefinitionTriedOnce) {
            return Standing::Refused(vec!["it cannot be written".to_owned()]);
        }
        known.again = Some(Instant::now() + Duration::from_millis(back_off(known.tries)));
        known.tries = known.tries.saturating_add(1);
        match refusal {
            kube::Error::Api(status) if is_contested(&status) => match contested(&self.name, &status.message)
            {
                Verdict::Refused(why) => Standing::Refused(why),
                _ => Standing::Waiting(status.message),
            },
            // Somebody was quicker: it is looked at again.
            kube::Error::Api(status) if status.code == 409 => {
                if known.tries <= AT_ONCE {
                    known.again = Some(Instant::now());
                }
                Standing::Waiting("the CRD is being changed by somebody else".to_owned())
            }
            kube::Error::Api(status) if matches!(status.code, 400 | 422) => {
                Standing::Refused(vec![format!("the API server refuses it: {}", status.message)])
            }
            kube::Error::Api(status) => {
                Standing::Waiting(format!("it cannot be written: {}", status.message))
            }
            other => Standing::Waiting(format!("it cannot be written: {other}")),
        }
    }
}

impl Known {
    fn see(&mut self, found: Option<DynamicObject>) {
        let found = found.and_then(|mut it| {
            // Items of a list come without.
            it.types = Some(TypeMeta::resource::<CustomResourceDefinition>());
            serde_json::to_value(it).ok()
        });
        if let (Some(Some(old)), Some(new)) = (&self.live, &found)
            && old["metadata"]["uid"] == new["metadata"]["uid"]
        {
            match (version(old), version(new)) {
                (Some(old), Some(new)) if new < old => return,
                (old, new) if old != new => self.tries = 0,
                _ => {}
            }
        }
        self.live = Some(found);
    }
}

fn version(live: &Value) -> Option<u64> {
    live["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

fn is_contested(status: &Status) -> bool {
    let causes = status.details.as_ref().map(|it| it.causes.as_slice()).unwrap_or_default();
    status.code == 409 && causes.iter().any(|it| it.reason == "FieldManagerConflict")
}

/// What the API server answered to a watch that failed, if it answered.
fn refusal(error: &watcher::Error) -> Option<&Status> {
    let inner = match error {
        watcher::Error::InitialListFailed(inner)
        | watcher::Error::WatchStartFailed(inner)
        | watcher::Error::WatchFailed(inner) => inner,
        watcher::Error::WatchError(status) => return Some(status),
        watcher::Error::NoResourceVersion => return None,
    };
    match inner {
        kube::Error::Api(status) => Some(status),
        _ => None,
    }
}
