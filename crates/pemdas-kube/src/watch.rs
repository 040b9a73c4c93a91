//! One watch: list, then follow, for ever. What it says goes to whoever keeps the store.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::StreamExt;
use kube::{
    Api, Client,
    api::ApiResource,
    core::{DynamicResourceScope, Status},
    runtime::{WatchStreamExt, watcher},
};
use pemdas_core::world::{KindKey, Live, ObjectKey};
use serde_json::Value;
use tokio::{sync::mpsc, time::Instant};

use crate::{live, raw::Raw, resource::Resource};

/// How many objects one page of a list has.
const PAGE: u32 = 2_000;

/// What a watch says.
#[derive(Debug)]
pub enum News {
    /// Everything there is, as of a consistent list.
    Listed(Vec<Live>),
    /// An object is there, or changed.
    Seen(Live),
    /// An object is gone, as of this resourceVersion.
    Gone(ObjectKey, u64),
    /// The account may not list or watch.
    Forbidden(String),
    /// The kind is not served.
    Unserved,
    /// Something else is wrong; it is tried again.
    Failed(String),
}

/// What is watched.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The kind.
    pub resource: Resource,
    /// In this namespace only.
    pub namespace: Option<String>,
    /// With these labels only.
    pub labels: Option<String>,
    /// Without bodies.
    pub metadata_only: bool,
}

/// Watches until nobody listens any more.
pub async fn follow(client: Client, watched: Watched, sender: mpsc::Sender<News>) {
    let resource = watched.resource.api();
    // A quorum list: a new leader must not decide on what an old cache says.
    let mut config = watcher::Config::default().page_size(PAGE);
    config.label_selector.clone_from(&watched.labels);
    let kind = watched.resource.kind.clone();
    let api_version = watched.resource.api_version.clone();
    let namespace = watched.namespace.filter(|_| watched.resource.namespaced);
    if watched.metadata_only {
        let api: Api<Raw<true>> = api(client, namespace.as_deref(), &resource);
        let events = watcher(api, config).default_backoff();
        let events = events.map(|event| event.map(|event| read(event, &kind, &api_version)));
        forward(events, sender).await;
    } else {
        let api: Api<Raw<false>> = api(client, namespace.as_deref(), &resource);
        let events = watcher(api, config).default_backoff();
        let events = events.map(|event| event.map(|event| read(event, &kind, &api_version)));
        forward(events, sender).await;
    }
}

fn api<K: kube::Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>>(
    client: Client,
    namespace: Option<&str>,
    resource: &ApiResource,
) -> Api<K> {
    match namespace {
        // Whether the kind lives in namespaces is known from the server, not from its type.
        Some(namespace) => Api::namespaced_with(client, namespace, resource),
        None => Api::all_with(client, resource),
    }
}

/// An event with its object read.
enum Read {
    Begin,
    Listed(Option<Live>),
    Done,
    Seen(Option<Live>),
    Gone(Option<Live>),
}

fn read<const METADATA_ONLY: bool>(
    event: watcher::Event<Raw<METADATA_ONLY>>,
    kind: &KindKey,
    api_version: &str,
) -> Read {
    let live = |object: Raw<METADATA_ONLY>| {
        let mut body = object.body;
        // Objects of a list do not say what they are.
        let fields = body.as_object_mut()?;
        fields.insert("apiVersion".to_owned(), Value::from(api_version));
        fields.insert("kind".to_owned(), Value::from(kind.kind.as_str()));
        live::live(kind, body)
    };
    match event {
        watcher::Event::Init => Read::Begin,
        watcher::Event::InitApply(object) => Read::Listed(live(object)),
        watcher::Event::InitDone => Read::Done,
        watcher::Event::Apply(object) => Read::Seen(live(object)),
        watcher::Event::Delete(object) => Read::Gone(live(object)),
    }
}

async fn forward(
    events: impl futures::Stream<Item = Result<Read, watcher::Error>>,
    sender: mpsc::Sender<News>,
) {
    let mut events = std::pin::pin!(events);
    let mut list = Vec::new();
    loop {
        // Nobody listens any more: also while nothing happens.
        let event = tokio::select! {
            biased;
            event = events.next() => event,
            () = sender.closed() => return,
        };
        let news = match event {
            None => return,
            Some(Ok(Read::Begin)) => {
                list.clear();
                continue;
            }
            Some(Ok(Read::Listed(live))) => {
                list.extend(live);
                continue;
            }
            Some(Ok(Read::Done)) => {
                if mutant!(FirstPageOnly) {
                    list.truncate(1);
                }
                News::Listed(std::mem::take(&mut list))
            }
            Some(Ok(Read::Seen(Some(live)))) => News::Seen(live),
            Some(Ok(Read::Gone(_))) if mutant!(GoneUnheard) => continue,
            Some(Ok(Read::Gone(Some(live)))) => News::Gone(live.key, live.resource_version),
            Some(Ok(Read::Seen(None) | Read::Gone(None))) => continue,
            Some(Err(_)) if mutant!(ErrorsEndWatches) => return,
            Some(Err(error)) => failure(&error),
        };
        let unserved = matches!(news, News::Unserved);
        if sender.send(news).await.is_err() {
            return;
        }
        if unserved {
            // Whoever asked looks for the kind again before it is watched again.
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
    }
}

/// How often the same watch is begun. The client takes a watch that ends in peace up again at once: a server that ends them all at
/// once, as one that is overwhelmed does, would be asked in a hot loop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pace(Arc<Mutex<HashMap<String, (Instant, u32)>>>);

/// A watch that lasted so long was no failure.
const LASTED: Duration = Duration::from_secs(5);
/// Short watches in a row that are taken up again at once.
const AT_ONCE: u32 = 2;
/// The longest pause before a watch.
const MAX_PAUSE: Duration = Duration::from_secs(5);

impl Pace {
    /// How long to wait before this watch is begun.
    pub(crate) fn before<B>(&self, request: &http::Request<B>) -> Duration {
        let who = request.headers().get("Impersonate-User").and_then(|it| it.to_str().ok());
        // What is watched, by whom; selectors tell apart two watches of one kind.
        let query = request.uri().query().unwrap_or_default();
        let selectors: Vec<_> = query.split('&').filter(|it| it.contains("Selector=")).collect();
        let name = format!("{} {} {}", request.uri().path(), selectors.join("&"), who.unwrap_or_default());
        self.next(name, Instant::now())
    }

    fn next(&self, name: String, now: Instant) -> Duration {
        let mut begun = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|_, (at, _)| now.saturating_duration_since(*at) < 10 * LASTED);
        let short = match begun.get(&name) {
            Some((at, short)) if now.saturating_duration_since(*at) < LASTED => short + 1,
            _ => 0,
        };
        let pause = match short.checked_sub(AT_ONCE) {
            None | Some(0) => Duration::ZERO,
            Some(more) => Duration::from_millis(50 << more.min(10)).min(MAX_PAUSE),
        };
        begun.insert(name, (now + pause, short));
        pause
    }
}

/// What the API server answered to a watch that failed, if it answered.
pub(crate) fn refusal(error: &watcher::Error) -> Option<&Status> {
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

fn failure(error: &watcher::Error) -> News {
    match refusal(error) {
        Some(status) if status.code == 403 => News::Forbidden(status.message.clone()),
        // An error within a watch says nothing of the kind.
        Some(status) if status.code == 404 && !matches!(error, watcher::Error::WatchError(_)) => {
            News::Unserved
        }
        _ => News::Failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::Pace;

    #[test]
    fn watches_that_end_at_once_are_begun_ever_more_slowly() {
        let pace = Pace::default();
        let mut now = Instant::now();
        let mut begin = |lasts: u64| {
            let pause = pace.next("pods".to_owned(), now);
            now += pause + Duration::from_millis(lasts);
            pause.as_millis()
        };
        let pauses: Vec<_> = (0..12).map(|_| begin(10)).collect();
        assert_eq!(pauses, [0, 0, 0, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
        begin(6_000);
        assert_eq!(begin(10), 0, "one that lasted was no failure");
        assert_eq!(pace.next("secrets".to_owned(), now), Duration::ZERO, "each for itself");
    }
}
