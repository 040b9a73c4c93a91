//! One watch: list, then follow, for ever. What it says goes to whoever keeps the store.

mod line;
mod pace;

use std::{io, time::Duration};

use futures::{AsyncBufReadExt as _, StreamExt as _};
use http::{HeaderValue, header::ACCEPT_ENCODING};
use kube::{
    Client,
    api::{ListParams, WatchParams},
    core::{Status, request::Request},
    runtime::{utils::Backoff as _, watcher},
};
use pemdas_core::world::{Live, ObjectKey};
use serde::Deserialize;
use tokio::{sync::mpsc, time::Instant};

pub use line::Unread;
pub(crate) use pace::Pace;

use self::{
    line::{Line, What},
    pace::LASTED,
};
use crate::{door::Door, live::Object, resource::Resource};

/// How long a page may take to arrive, to its end.
const PAGE_PATIENCE: Duration = Duration::from_secs(120);
/// How long the server lets one watch last.
const WATCH_SECONDS: u32 = 290;
/// The longest pause after something went wrong.
const LONGEST: Duration = Duration::from_secs(30);

/// What a watch says.
#[derive(Debug)]
pub enum News {
    /// Everything there is, and as of which resourceVersion.
    Listed(Vec<Live>, u64),
    /// An object is there, or changed. Most of these repeat the answer to a write of our own: it is not read yet.
    Seen(Unread),
    /// An object is gone, as of this resourceVersion.
    Gone(ObjectKey, u64),
    /// The account may not list or watch.
    Forbidden(String),
    /// The kind is not served.
    Unserved,
    /// The kind may have a new schema: the caller must look it up and list it again. The watch has ended.
    Outdated,
    /// Something else is wrong; trying again.
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
    /// What is kept of each object.
    pub door: Door,
}

/// Watches until nobody listens any more.
pub async fn follow(client: Client, watched: Watched, sender: mpsc::Sender<News>) {
    let namespace = watched.namespace.as_deref().filter(|_| watched.resource.namespaced);
    let requests = Request::new(watched.resource.path(namespace.unwrap_or_default()));
    Follower { client, requests, watched: &watched, sender }.run().await;
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
    /// A page began to arrive and never ended.
    NoEnd,
    /// An answer without a resourceVersion: nothing could be followed from there.
    NoVersion,
}

impl Trouble {
    /// Whether what was followed is not kept any more, so that everything has to be listed again.
    fn is_too_old(&self) -> bool {
        match self {
            Self::Asking(kube::Error::Api(status)) | Self::Told(status) => status.code == 410,
            Self::NoVersion => true,
            Self::Asking(_) | Self::Breaking(_) | Self::NoEnd => false,
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
            Self::NoEnd => News::Failed("a list did not arrive in time".to_owned()),
            Self::NoVersion => News::Failed("an answer has no resourceVersion".to_owned()),
        }
    }
}

/// Nobody listens any more.
struct Unheard;

/// How a watch ended that was not broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Its time was over, or somebody in between cut it: it goes on from where it was.
    Over,
    /// The server ended it early.
    Early,
}

/// What is to be done after a list or a watch.
type Turn = Result<Result<End, Trouble>, Unheard>;

/// The watch of one kind. The runtime of the client library has one as well, which does not say as of when a list is; whoever does not know
/// that cannot tell what is gone from what is not there yet.
struct Follower<'w> {
    client: Client,
    requests: Request,
    watched: &'w Watched,
    sender: mpsc::Sender<News>,
}

impl Follower<'_> {
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
                Ok(Ok(End::Early)) if self.may_be_outdated() => {
                    let _ended = self.sender.send(News::Outdated).await;
                    return;
                }
                Ok(Ok(_)) => continue,
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

    /// Whether the objects of a watch that the server ended early may have been read by an old schema. When a CRD changes, the server
    /// goes on with the old schema in the watches that there are, drops the fields that it does not know, and ends them after a second.
    /// A watch that goes on from there never shows these fields.
    fn may_be_outdated(&self) -> bool {
        let Resource { api_version, kind, .. } = &self.watched.resource;
        Resource::built_in(api_version, &kind.kind).is_none()
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
        let begun = Instant::now();
        let lines = match self.watch(&from).await {
            Ok(lines) => lines,
            Err(error) => return Ok(Err(Trouble::Asking(error))),
        };
        let mut lines = std::pin::pin!(lines);
        loop {
            // A connection that died without a word never says that it ended.
            let patience = Duration::from_secs(u64::from(WATCH_SECONDS)) + LASTED;
            let line = match tokio::time::timeout(patience, lines.next()).await {
                Ok(None) if begun.elapsed() < Duration::from_secs(u64::from(WATCH_SECONDS)) => {
                    return Ok(Ok(End::Early));
                }
                Err(_) | Ok(None) => return Ok(Ok(End::Over)),
                Ok(Some(Err(error))) if is_end(&error) => return Ok(Ok(End::Over)),
                Ok(Some(Err(error))) => return Ok(Err(Trouble::Breaking(kube::Error::ReadEvents(error)))),
                Ok(Some(Ok(text))) => match Line::read(&self.watched.resource.kind, text) {
                    // The end of what was sent stands in the middle of a line.
                    Err(error) if error.is_eof() => return Ok(Ok(End::Over)),
                    Err(error) => return Ok(Err(Trouble::Breaking(kube::Error::SerdeError(error)))),
                    Ok(line) => line,
                },
            };
            pauses.reset();
            let Line { what, version: at, unread } = line;
            if let What::Error(status) = what {
                return Ok(Err(Trouble::Told(status)));
            }
            let Some(at) = at else { return Ok(Err(Trouble::NoVersion)) };
            let news = match (what, unread) {
                (What::Gone, Some(_)) if mutant!(GoneUnheard) => continue,
                (What::Gone, Some(it)) => Some(News::Gone(it.key, it.resource_version)),
                (What::Seen, Some(it)) => Some(News::Seen(it)),
                _ => None,
            };
            if let Some(news) = news {
                self.sender.send(news).await.map_err(|_| Unheard)?;
            }
            *version = Some(at);
        }
    }

    async fn watch(&self, from: &str) -> kube::Result<impl futures::Stream<Item = io::Result<String>>> {
        let mut params = WatchParams::default().timeout(WATCH_SECONDS);
        params.label_selector.clone_from(&self.watched.labels);
        let request = if self.watched.metadata_only {
            self.requests.watch_metadata(&params, from)
        } else {
            self.requests.watch(&params, from)
        };
        let mut request = request.map_err(kube::Error::BuildRequest)?;
        // Newer servers compress every event by itself, of which the client would read the first.
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Ok(self.client.request_stream(request).await?.lines())
    }

    /// Everything there is, page by page, and as of which version. A quorum list: a new leader must not decide on what an old cache says.
    async fn list(&self) -> Result<(Vec<Live>, String), Trouble> {
        let mut params = ListParams::default().limit(self.watched.door.page());
        params.label_selector.clone_from(&self.watched.labels);
        let mut found = Vec::new();
        loop {
            let request = if self.watched.metadata_only {
                self.requests.list_metadata(&params)
            } else {
                self.requests.list(&params)
            };
            let request = request.map_err(|error| Trouble::Asking(kube::Error::BuildRequest(error)))?;
            let asked = tokio::time::timeout(PAGE_PATIENCE, self.client.request(request)).await;
            let page: Page = asked.map_err(|_| Trouble::NoEnd)?.map_err(Trouble::Asking)?;
            let resource = &self.watched.resource;
            let items = page.items.into_iter().flatten();
            // Put away at once: a list is of everything there is, and each instance looks at its own when its turn comes.
            let kept =
                |it: Object| Some(self.watched.door.admit(it.of(resource).live(&resource.kind)?).packed());
            found.extend(items.filter_map(kept));
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
}

/// A page of a list.
#[derive(Deserialize)]
struct Page {
    metadata: PageMetadata,
    items: Option<Vec<Object>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMetadata {
    resource_version: Option<String>,
    #[serde(rename = "continue")]
    continue_: Option<String>,
}

/// Whether the server, or whoever stands between, just ended it.
fn is_end(error: &io::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    std::iter::from_fn(|| {
        let this = cause?;
        cause = this.source();
        Some(this)
    })
    .any(|it| {
        let of_io = it.downcast_ref::<io::Error>().map(io::Error::kind);
        of_io == Some(io::ErrorKind::UnexpectedEof) || it.to_string().contains("unexpected EOF")
    })
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        future,
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
        time::Duration,
    };

    use futures::{StreamExt as _, stream};
    use http::Response;
    use hyper::body::Bytes;
    use kube::{Client, client::Body};
    use pemdas_core::world::KindKey;
    use tokio::sync::mpsc;

    use super::{Door, News, Watched, follow};
    use crate::resource::Resource;

    /// The accident that this prevents: a connection that died in the middle of a list was waited for until the next restart.
    #[tokio::test(start_paused = true)]
    async fn a_list_that_never_ends_is_asked_for_again() {
        let service = tower::service_fn(async |_: http::Request<Body>| {
            let beginning = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b"{\"metadata\":{"))]);
            let body = http_body_util::StreamBody::new(
                beginning.chain(stream::pending()).map(|it| it.map(hyper::body::Frame::data)),
            );
            Ok::<_, Infallible>(Response::new(body))
        });
        let (sender, mut news) = mpsc::channel(8);
        let watched = Watched {
            resource: Resource::built_in("v1", "ConfigMap").unwrap(),
            namespace: None,
            labels: None,
            metadata_only: false,
            door: Door::Open,
        };
        tokio::spawn(follow(Client::new(service, "default"), watched, sender));
        for _ in 0..2 {
            let said = tokio::time::timeout(Duration::from_secs(600), news.recv()).await.unwrap();
            assert!(matches!(said, Some(News::Failed(why)) if why == "a list did not arrive in time"));
        }
    }

    /// The accident that this prevents: a field that a new CRD has was never seen, for the last watch by the old schema had dropped it.
    #[tokio::test(start_paused = true)]
    async fn only_of_a_custom_kind_a_watch_that_ends_early_may_be_of_an_old_schema() {
        let built_in = Resource::built_in("v1", "ConfigMap").unwrap();
        let custom = Resource {
            kind: KindKey::new("example.com/v1", "Note"),
            api_version: "example.com/v1".to_owned(),
            plural: "notes".to_owned(),
            ..built_in.clone()
        };
        for (resource, outdated) in [(built_in, false), (custom, true)] {
            // Ends the first watch at once.
            let ended = Arc::new(AtomicBool::new(false));
            let service = tower::service_fn(move |request: http::Request<Body>| {
                let watches = request.uri().query().is_some_and(|it| it.contains("watch=true"));
                let stays = watches && ended.swap(true, Ordering::Relaxed);
                let list = br#"{"metadata":{"resourceVersion":"5"},"items":[]}"#;
                let body = if watches { Body::empty() } else { Body::from(list.to_vec()) };
                async move {
                    if stays {
                        future::pending::<()>().await;
                    }
                    Ok::<_, Infallible>(Response::new(body))
                }
            });
            let (sender, mut news) = mpsc::channel(8);
            let watched =
                Watched { resource, namespace: None, labels: None, metadata_only: false, door: Door::Open };
            tokio::spawn(follow(Client::new(service, "default"), watched, sender));
            assert!(matches!(news.recv().await, Some(News::Listed(_, 5))));
            let next = tokio::time::timeout(Duration::from_secs(60), news.recv()).await;
            assert_eq!(matches!(next, Ok(Some(News::Outdated))), outdated, "{next:?}");
        }
    }
}
