//! A line to the host that somebody listens on: every request is told, and its fate is asked for.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::body::{Body, Bytes};
use futures::{StreamExt as _, future::BoxFuture};
use http_body_util::{BodyExt as _, Limited};
use pemdas_sim::{Method, Request, Time};
use tokio::{sync::oneshot, time::Instant};

use crate::{
    Host,
    wire::{MAX_REQUEST, refusal_of, request_of, response_of},
};

/// A request on a line.
#[derive(Debug, Clone)]
pub struct Sent {
    /// The first one of a line is 0.
    pub number: u64,
    /// When.
    pub at: Time,
    /// The request.
    pub request: Request,
}

impl Sent {
    /// Whether it follows changes.
    #[must_use]
    pub fn watches(&self) -> bool {
        let asked = |(name, value): &(String, String)| name == "watch" && value != "false" && value != "0";
        self.request.method == Method::Get && self.request.query.iter().any(asked)
    }
}

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is done, and answered.
    Done,
    /// It never arrives, and is never answered.
    Lost,
    /// It is done, and the answer is never seen.
    Unanswered,
    /// It does not arrive, and whoever asks knows.
    Broken,
    /// It is done, and then the connection breaks.
    BrokenAfter,
    /// The server does not do it and answers with this code.
    Refused(u16),
    /// What it is answered comes piece by piece, each so much later: a watch lags behind.
    Late(Duration),
    /// The answer ends after its first piece: a watch is cut.
    Cut,
    /// After so many pieces a watch tells nothing for a while, and then that its version is gone: what happened meanwhile is never told.
    Gap(usize, Duration),
    /// The whole line stands still for so long: this request and those after it arrive then, whoever still waits for them.
    Frozen(Duration),
}

/// Listens on a line.
pub trait Listen: Send + Sync {
    /// A request is sent: its fate.
    fn sent(&self, sent: &Sent) -> Fate;
    /// It was done, with this code, and did or did not change anything; watches are answered with 200.
    fn done(&self, sent: &Sent, code: u16, changed: bool);
    /// A watch told something.
    fn told(&self, sent: &Sent);
}

/// A line to a host. Clones are the same line.
#[derive(Clone)]
pub struct Line {
    host: Host,
    listener: Arc<dyn Listen>,
    count: Arc<AtomicU64>,
    /// Until when it stands still.
    frozen: Arc<Mutex<Option<Instant>>>,
}

impl Line {
    /// A new line.
    #[must_use]
    pub fn new(host: Host, listener: Arc<dyn Listen>) -> Self {
        Self { host, listener, count: Arc::default(), frozen: Arc::default() }
    }

    async fn send<B>(self, request: http::Request<B>) -> Result<http::Response<Body>, Cut>
    where
        B: http_body::Body,
        B::Error: Into<tower::BoxError>,
    {
        let (head, body) = request.into_parts();
        let head_only = head.method == http::Method::HEAD;
        let (Some(method), Ok(body)) =
            (Method::parse(head.method.as_str()), Limited::new(body, MAX_REQUEST).collect().await)
        else {
            return Err(Cut);
        };
        let request = request_of(&head, method, body.to_bytes().to_vec());
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let sent = Sent { number, at: self.host.with(|cluster| cluster.now()), request };
        let fate = self.listener.sent(&sent);
        if let Some(until) = self.stands_still(&fate) {
            return self.held(sent, head_only, until).await;
        }
        match fate {
            Fate::Done if sent.watches() => {
                let (head, body) = self.done(&sent, head_only).into_parts();
                let counted = body.into_data_stream().inspect(move |_| self.listener.told(&sent));
                Ok(http::Response::from_parts(head, Body::from_stream(counted)))
            }
            Fate::Done => Ok(self.done(&sent, head_only)),
            Fate::Lost | Fate::Frozen(_) => std::future::pending().await,
            Fate::Unanswered => {
                drop(self.done(&sent, head_only));
                std::future::pending().await
            }
            Fate::Broken => Err(Cut),
            Fate::BrokenAfter => {
                drop(self.done(&sent, head_only));
                Err(Cut)
            }
            Fate::Refused(code) => Ok(refusal_of(code)),
            Fate::Late(pause) => {
                let (head, body) = self.done(&sent, head_only).into_parts();
                let late = body.into_data_stream().then(move |piece| async move {
                    tokio::time::sleep(pause).await;
                    piece
                });
                Ok(http::Response::from_parts(head, Body::from_stream(late)))
            }
            Fate::Cut => {
                let (head, body) = self.done(&sent, head_only).into_parts();
                Ok(http::Response::from_parts(head, Body::from_stream(body.into_data_stream().take(1))))
            }
            Fate::Gap(after, pause) => {
                let (head, body) = self.done(&sent, head_only).into_parts();
                let pieces =
                    body.into_data_stream().enumerate().map(move |(number, piece)| (number == after, piece));
                let told = pieces.scan(false, move |over, (gap, piece)| {
                    let ended = std::mem::replace(over, gap);
                    async move {
                        match (ended, gap) {
                            (true, _) => None,
                            (_, false) => Some(piece),
                            (_, true) => {
                                tokio::time::sleep(pause).await;
                                Some(Ok(Bytes::from(format!("{}\n", expired()))))
                            }
                        }
                    }
                });
                Ok(http::Response::from_parts(head, Body::from_stream(told)))
            }
        }
    }

    /// Until when the line stands still, if it does.
    fn stands_still(&self, fate: &Fate) -> Option<Instant> {
        let mut frozen = self.frozen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Fate::Frozen(pause) = fate {
            *frozen = Some(Instant::now() + *pause);
        }
        frozen.filter(|until| Instant::now() < *until)
    }

    /// A request on a line that stands still: it arrives, even if nobody waits for its answer any more.
    async fn held(self, sent: Sent, head_only: bool, until: Instant) -> Result<http::Response<Body>, Cut> {
        let (answer, answered) = oneshot::channel();
        tokio::spawn(async move {
            tokio::time::sleep_until(until).await;
            // Nobody may wait for it any more.
            let _ = answer.send(self.done(&sent, head_only));
        });
        answered.await.map_err(|_| Cut)
    }

    fn done(&self, sent: &Sent, head_only: bool) -> http::Response<Body> {
        let revision = || self.host.with(|cluster| cluster.server().store().revision());
        let before = revision();
        let response = response_of(&self.host, &sent.request, head_only);
        self.listener.done(sent, response.status().as_u16(), revision() != before);
        response
    }
}

/// What a watch is told whose version is forgotten.
fn expired() -> serde_json::Value {
    serde_json::json!({ "type": "ERROR", "object": {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "too old resource version", "reason": "Expired", "code": 410,
    } })
}

/// The connection broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("the connection broke")
    }
}

impl std::error::Error for Cut {}

impl<B> tower::Service<http::Request<B>> for Line
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<tower::BoxError>,
{
    type Response = http::Response<Body>;
    type Error = Cut;
    type Future = BoxFuture<'static, Result<Self::Response, Cut>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Cut>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        Box::pin(self.clone().send(request))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use axum::body::Body;
    use pemdas_sim::{Cluster, Scenario, Time};
    use serde_json::json;
    use tower::Service as _;

    use super::{Fate, Line, Listen, Sent};
    use crate::{Clock, Host};

    struct Told {
        fates: Vec<Fate>,
        done: Mutex<Vec<(u64, u16, bool)>>,
    }

    impl Listen for Told {
        fn sent(&self, sent: &Sent) -> Fate {
            self.fates[usize::try_from(sent.number).unwrap()].clone()
        }

        fn done(&self, sent: &Sent, code: u16, changed: bool) {
            self.done.lock().unwrap().push((sent.number, code, changed));
        }

        fn told(&self, _sent: &Sent) {}
    }

    #[tokio::test(start_paused = true)]
    async fn requests_meet_their_fate() {
        use Fate::{Broken, BrokenAfter, Done, Lost, Refused, Unanswered};
        let host = Host::new(Cluster::new(1, Time(1_000), Scenario::default()), Clock::Told);
        let fates = vec![Done, Broken, BrokenAfter, Refused(429), Lost, Unanswered];
        let told = Arc::new(Told { fates: fates.clone(), done: Mutex::new(Vec::new()) });
        let line = Line::new(host.clone(), told.clone());
        let mut answers = Vec::new();
        for number in 0..fates.len() {
            let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": format!("m{number}") } });
            let request = http::Request::post("/api/v1/namespaces/default/configmaps")
                .header("content-type", "application/json")
                .body(Body::from(map.to_string()))
                .unwrap();
            let answer = line.clone().call(request);
            let answer = tokio::time::timeout(std::time::Duration::from_secs(60), answer).await;
            answers.push(answer.ok().map(|it| it.ok().map(|it| it.status().as_u16())));
        }
        assert_eq!(answers, [Some(Some(201)), Some(None), Some(None), Some(Some(429)), None, None]);
        assert_eq!(*told.done.lock().unwrap(), [(0, 201, true), (2, 201, true), (5, 201, true)]);
    }
}
