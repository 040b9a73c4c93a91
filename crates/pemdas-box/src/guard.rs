//! Who may speak to a cluster at a loopback port: whoever has its kubeconfig.
//!
//! *The accident*: a web page in a browser of the same machine sends requests to every port of it. A page of another origin can
//! send them without reading the answers, and one whose name leads to 127.0.0.1 reads the answers, too. So the address that the
//! kubeconfig has ends with a secret, which `kubectl` sends as the beginning of each path, and what a browser sends is refused.

use std::{convert::Infallible, net::SocketAddr, sync::Arc, task::Context, task::Poll};

use axum::body::Body;
use futures::future::BoxFuture;
use http::{
    HeaderMap, StatusCode, Uri,
    header::{CONTENT_TYPE, HOST, ORIGIN},
    request::Parts,
    uri::PathAndQuery,
};

use crate::{Host, wire::refused};

/// How many bytes the secret has.
const SECRET: usize = 16;

/// A host behind a guard.
#[derive(Clone)]
pub(crate) struct Guard {
    host: Host,
    address: SocketAddr,
    /// A slash and the secret.
    prefix: Arc<str>,
}

impl Guard {
    /// With a new secret.
    pub(crate) fn new(host: Host, address: SocketAddr) -> std::io::Result<Self> {
        let mut secret = [0; SECRET];
        getrandom::fill(&mut secret).map_err(|it| std::io::Error::other(it.to_string()))?;
        let prefix: String =
            std::iter::once("/".to_owned()).chain(secret.iter().map(|it| format!("{it:02x}"))).collect();
        Ok(Self { host, address, prefix: prefix.into() })
    }

    /// What follows the address in the kubeconfig.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Where a request leads behind the secret; otherwise why it is refused.
    fn admit(&self, head: &Parts) -> Result<Uri, &'static str> {
        if !is_ours(self.address, head) {
            return Err("the name of the host is not the one of the kubeconfig");
        }
        if is_of_a_page(&head.headers) {
            return Err("web pages are not served");
        }
        let written = |it: &http::HeaderValue| it.as_bytes().starts_with(b"application/");
        if !head.headers.get(CONTENT_TYPE).is_none_or(written) {
            return Err("the content type is none of Kubernetes");
        }
        let path = head.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let rest = path.strip_prefix(&*self.prefix).filter(|it| it.starts_with('/'));
        rest.and_then(|it| it.parse().ok()).ok_or("use the address in the kubeconfig: it ends with a secret")
    }
}

/// Whether a request names this port of this machine.
fn is_ours(address: SocketAddr, head: &Parts) -> bool {
    let named = head.headers.get(HOST).and_then(|it| it.to_str().ok());
    let named = named.or_else(|| head.uri.authority().map(http::uri::Authority::as_str));
    named.is_some_and(|it| it == address.to_string() || it == format!("localhost:{}", address.port()))
}

/// Whether a browser sends it for a page.
fn is_of_a_page(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN) || headers.get("sec-fetch-site").is_some_and(|it| it != "none")
}

impl<B> tower::Service<http::Request<B>> for Guard
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<tower::BoxError>,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let (mut head, body) = request.into_parts();
        match self.admit(&head) {
            Ok(uri) => {
                head.uri = uri;
                self.host.call(http::Request::from_parts(head, body))
            }
            Err(why) => Box::pin(async move { Ok(refused(StatusCode::FORBIDDEN, "Forbidden", why)) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Request;
    use pemdas_sim::{Cluster, Scenario, Time};

    use super::Guard;
    use crate::{Clock, Host};

    #[test]
    fn only_whoever_has_the_kubeconfig_is_let_in() {
        let address = "127.0.0.1:4321".parse().unwrap();
        let cluster = Cluster::new(1, Time(0), Scenario::default());
        let guard = Guard::new(Host::new(cluster, Clock::Told), address).unwrap();
        let prefix = guard.prefix().to_owned();
        assert_eq!(prefix.len(), 33);
        let with_secret = format!("{prefix}/api/v1/pods?limit=1");
        let admitted = |path: &str, headers: &[(&str, &str)]| {
            let mut request = Request::get(path);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            guard.admit(&request.body(()).unwrap().into_parts().0).map(|it| it.to_string())
        };
        let host = ("host", "127.0.0.1:4321");
        assert_eq!(admitted(&with_secret, &[host]).unwrap(), "/api/v1/pods?limit=1");
        assert!(admitted(&with_secret, &[("host", "localhost:4321")]).is_ok());
        assert!(admitted(&with_secret, &[host, ("content-type", "application/apply-patch+yaml")]).is_ok());
        let other = format!("{}0{}/api", &prefix[..1], &prefix[2..]);
        for (path, headers) in [
            ("/api/v1/pods", vec![host]),
            (prefix.as_str(), vec![host]),
            (with_secret.as_str(), vec![("host", "evil.example")]),
            (with_secret.as_str(), vec![]),
            (with_secret.as_str(), vec![host, ("origin", "http://evil.example")]),
            (with_secret.as_str(), vec![host, ("sec-fetch-site", "cross-site")]),
            (with_secret.as_str(), vec![host, ("content-type", "text/plain")]),
        ] {
            assert!(admitted(path, &headers).is_err(), "{path} {headers:?}");
        }
        assert!(prefix[1..2] == *"0" || admitted(&other, &[host]).is_err());
    }
}
