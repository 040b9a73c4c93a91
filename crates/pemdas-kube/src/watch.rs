//! One watch: list, then follow, for ever. What it says goes to whoever keeps the store.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::StreamExt;
use kube::{
    Api, Client,
    api::{ApiResource, ListParams, WatchEvent, WatchParams},
    core::{DynamicResourceScope, Status},
    runtime::{utils::Backoff as _, watcher},
};
use pemdas_core::world::{Live, ObjectKey};
use serde_json::Value;
use tokio::{sync::mpsc, time::Instant};

use crate::{live, raw::Raw, resource::Resource};

/// How many objects one page of a list has.
const PAGE: u32 = 2_000;
/// How long the server lets one watch last.
const WATCH_SECONDS: u32 = 290;
/// The longest pause after something went wrong.
const LONGEST: Duration = Duration::from_secs(30);

/// What a watch says.
#[derive(Debug)]
pub enum News {
    /// Everything there is, and as of which resourceVersion.
    Listed(Vec<Live>, u64),
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
    let namespace = watched.namespace.as_deref().filter(|_| watched.resource.namespaced);
    if watched.metadata_only {
        let api: Api<Raw<true>> = api(client, namespace, &resource);
        Follower { api, watched: &watched, sender }.run().await;
    } else {
        let api: Api<Raw<false>> = api(client, namespace, &resource);
        Follower { api, watched: &watched, sender }.run().await;
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

/// Why a list or a watch came to nothing.
#[derive(Debug)]
enum Trouble {
    /// It was not answered as it should be.
    Asking(kube::Error),
    /// A watch that had begun broke.
    Breaking(kube::Error),
    /// The server told so within a watch.
    Told(Box<Status>),
    /// An answer without a resourceVersion: nothing could be followed from there.
    NoVersion,
}

impl Trouble {
    /// Whether what was followed is not kept any more, so that everything has to be listed again.
    fn is_too_old(&self) -> bool {
        match self {
            Self::Asking(kube::Error::Api(status)) | Self::Told(status) => status.code == 410,
            Self::NoVersion => true,
            Self::Asking(_) | Self::Breaking(_) => false,
        }
    }

    fn news(&self) -> News {
        match self {
            Self::Asking(kube::Error::Api(status)) if status.code == 404 => News::Unserved,
            Self::Asking(kube::Error::Api(status)) | Self::Told(status) if status.code == 403 => {
                News::Forbidden(status.message.clone())
            }
            Self::Asking(error) | Self::Breaking(error) => News::Failed(error.to_string()),
            Self::Told(status) => News::Failed(status.message.clone()),
            Self::NoVersion => News::Failed("an answer has no resourceVersion".to_owned()),
        }
    }
}

/// Nobody listens any more.
struct Unheard;

/// What is to be done after a list or a watch.
type Turn = Result<Result<(), Trouble>, Unheard>;

/// The watch of one kind. The runtime of the client library has one as well, which does not say as of when a list is; whoever does not know
/// that cannot tell what is gone from what is not there yet.
struct Follower<'w, const METADATA_ONLY: bool> {
    api: Api<Raw<METADATA_ONLY>>,
    watched: &'w Watched,
    sender: mpsc::Sender<News>,
}

impl<const METADATA_ONLY: bool> Follower<'_, METADATA_ONLY> {
    async fn run(self) {
        let mut pauses = watcher::DefaultBackoff::default();
        // As of when everything was told.
        let mut version = None;
        loop {
            let turn = tokio::select! {
                biased;
                turn = self.turn(&mut version, &mut pauses) => turn,
                // Also while nothing happens.
                () = self.sender.closed() => return,
            };
            let trouble = match turn {
                Err(Unheard) => return,
                Ok(Ok(())) => continue,
                Ok(Err(_)) if mutant!(ErrorsEndWatches) => return,
                Ok(Err(trouble)) => trouble,
            };
            if trouble.is_too_old() {
                version = None;
            }
            let news = trouble.news();
            let unserved = matches!(news, News::Unserved);
            if self.sender.send(news).await.is_err() {
                return;
            }
            // Whoever asked looks for the kind again before it is watched again.
            let pause = pauses.next().unwrap_or(LONGEST).max(if unserved { LASTED } else { Duration::ZERO });
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.sender.closed() => return,
            }
        }
    }

    /// Lists if nothing is known, and follows from there until the server ends it.
    async fn turn(&self, version: &mut Option<String>, pauses: &mut watcher::DefaultBackoff) -> Turn {
        let from = match version {
            Some(version) => version.clone(),
            None => match self.list().await {
                Ok((list, from)) => {
                    pauses.reset();
                    let as_of = from.parse().unwrap_or(0);
                    self.sender.send(News::Listed(list, as_of)).await.map_err(|_| Unheard)?;
                    version.insert(from).clone()
                }
                Err(trouble) => return Ok(Err(trouble)),
            },
        };
        let mut params = WatchParams::default().timeout(WATCH_SECONDS);
        params.label_selector.clone_from(&self.watched.labels);
        let events = match self.api.watch(&params, &from).await {
            Ok(events) => events,
            Err(error) => return Ok(Err(Trouble::Asking(error))),
        };
        let mut events = std::pin::pin!(events);
        loop {
            // A connection that died without a word never says that it ended.
            let patience = Duration::from_secs(u64::from(WATCH_SECONDS)) + LASTED;
            let event = match tokio::time::timeout(patience, events.next()).await {
                Err(_) | Ok(None) => return Ok(Ok(())),
                Ok(Some(Err(error))) => return Ok(Err(Trouble::Breaking(error))),
                Ok(Some(Ok(event))) => event,
            };
            pauses.reset();
            let (object, gone) = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
                WatchEvent::Deleted(object) => (object, true),
                WatchEvent::Bookmark(mark) => {
                    *version = Some(mark.metadata.resource_version);
                    continue;
                }
                WatchEvent::Error(status) => return Ok(Err(Trouble::Told(status))),
            };
            let Some(at) = object.version().map(str::to_owned) else { return Ok(Err(Trouble::NoVersion)) };
            if let Some(live) = self.live(object) {
                if gone && mutant!(GoneUnheard) {
                    continue;
                }
                let news = if gone { News::Gone(live.key, live.resource_version) } else { News::Seen(live) };
                self.sender.send(news).await.map_err(|_| Unheard)?;
            }
            *version = Some(at);
        }
    }

    /// Everything there is, page by page, and as of which version. A quorum list: a new leader must not decide on what an old cache says.
    async fn list(&self) -> Result<(Vec<Live>, String), Trouble> {
        let mut params = ListParams::default().limit(PAGE);
        params.label_selector.clone_from(&self.watched.labels);
        let mut found = Vec::new();
        loop {
            let page = self.api.list(&params).await.map_err(Trouble::Asking)?;
            found.extend(page.items.into_iter().filter_map(|it| self.live(it)));
            params.continue_token = page.metadata.continue_.filter(|it| !it.is_empty());
            if mutant!(FirstPageOnly) {
                found.truncate(1);
                params.continue_token = None;
            }
            if params.continue_token.is_none() {
                let version = page.metadata.resource_version.filter(|it| !it.is_empty());
                return Ok((found, version.ok_or(Trouble::NoVersion)?));
            }
        }
    }

    fn live(&self, object: Raw<METADATA_ONLY>) -> Option<Live> {
        let (kind, api_version) = (&self.watched.resource.kind, &self.watched.resource.api_version);
        let mut body = object.body;
        // Objects of a list do not say what they are.
        let fields = body.as_object_mut()?;
        fields.insert("apiVersion".to_owned(), Value::from(api_version.as_str()));
        fields.insert("kind".to_owned(), Value::from(kind.kind.as_str()));
        live::live(kind, body)
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
