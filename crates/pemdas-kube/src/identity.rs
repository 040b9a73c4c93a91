//! For whom something is done. Everything that a blueprint asks for is done as a ServiceAccount of its own namespace.

use std::{
    collections::HashMap,
    fmt,
    task::{Context, Poll},
    time::Duration,
};

use http::{HeaderValue, Method, Request, Response};
use kube::{Client, client::Body};
use tower::{BoxError, Service};

use crate::{lease::Fence, watch::Pace};

/// How long an answer may take to begin; watches apart, which begin when there is something to tell.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Identity {
    /// Pemdas itself: blueprints, ledgers, finalizers, leases.
    Pemdas,
    /// A ServiceAccount.
    Account {
        /// Its namespace: the blueprint's.
        namespace: String,
        /// Its name.
        name: String,
    },
}

impl Identity {
    /// The name under which the API server knows an account; nothing for Pemdas itself.
    #[must_use]
    pub fn user(&self) -> Option<String> {
        match self {
            Self::Pemdas => None,
            Self::Account { namespace, name } => Some(format!("system:serviceaccount:{namespace}:{name}")),
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pemdas => out.write_str("pemdas"),
            Self::Account { namespace, name } => write!(out, "{namespace}/{name}"),
        }
    }
}

/// One client for each identity, all over the same connections.
#[derive(Clone)]
pub struct Clients {
    own: Client,
    accounts: HashMap<Identity, Client>,
}

impl Clients {
    /// Over a client of Pemdas' own.
    #[must_use]
    pub fn new(own: Client) -> Self {
        Self { own, accounts: HashMap::new() }
    }

    /// The same for one epoch of leadership: what is written after its end is not sent.
    #[must_use]
    pub fn fenced(own: &Client, fence: Fence, epoch: u64) -> Self {
        let namespace = own.default_namespace().to_owned();
        let pace = Pace::default();
        Self::new(Client::new(Fenced { inner: own.clone(), fence, epoch, pace }, namespace))
    }

    /// Pemdas' own.
    #[must_use]
    pub fn own(&self) -> Client {
        self.own.clone()
    }

    /// The client of an identity.
    pub fn of(&mut self, identity: &Identity) -> Client {
        let Some(user) = identity.user() else { return self.own.clone() };
        if mutant!(ActsAsItself) {
            return self.own.clone();
        }
        if let Some(client) = self.accounts.get(identity) {
            return client.clone();
        }
        // A name that is no header cannot be that of an account: the server refuses the request that says so.
        let user = HeaderValue::from_str(&user).unwrap_or_else(|_| HeaderValue::from_static("system:nobody"));
        let namespace = self.own.default_namespace().to_owned();
        let client = Client::new(Impersonating { inner: self.own.clone(), user }, namespace);
        self.accounts.insert(identity.clone(), client.clone());
        client
    }

    /// Forgets an identity that nothing is done for any more.
    pub fn forget(&mut self, identity: &Identity) {
        self.accounts.remove(identity);
    }
}

/// Lets nothing through that changes anything once the lease is over, and waits for nothing for ever.
#[derive(Clone)]
struct Fenced {
    inner: Client,
    fence: Fence,
    epoch: u64,
    pace: Pace,
}

/// Why a request was not sent.
#[derive(Debug, thiserror::Error)]
#[error("the lease is over")]
struct Over;

/// Why a request was given up.
#[derive(Debug, thiserror::Error)]
#[error("there was no answer in time")]
struct Unanswered;

impl Service<Request<Body>> for Fenced {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = futures::future::BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self { inner, fence, epoch, pace } = self.clone();
        Box::pin(async move {
            if request.method() != Method::GET && !fence.lets_through(epoch) {
                return Err(Over.into());
            }
            let follows = request.uri().query().is_some_and(|it| it.contains("watch="));
            if follows {
                tokio::time::sleep(pace.before(&request)).await;
            }
            // Of a watch this is its beginning, which a server does not keep back.
            let sent = inner.send(request);
            let patience = if mutant!(WaitsForEver) { Duration::MAX } else { PATIENCE };
            Ok(tokio::time::timeout(patience, sent).await.map_err(|_| Unanswered)??)
        })
    }
}

/// Adds the header that says for whom a request is made.
#[derive(Clone)]
struct Impersonating {
    inner: Client,
    user: HeaderValue,
}

impl Service<Request<Body>> for Impersonating {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = futures::future::BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        request.headers_mut().insert("Impersonate-User", self.user.clone());
        let inner = self.inner.clone();
        Box::pin(async move { Ok(inner.send(request).await?) })
    }
}
