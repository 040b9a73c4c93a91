//! Counts the requests of a client by verb and result, wherever they are made.

use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Method, Request, Response, header};
use tower::{Layer, Service};

use super::Metrics;

/// Put around a client, it counts what the client sends.
#[derive(Debug, Clone)]
pub struct CountRequests(pub Metrics);

impl<S> Layer<S> for CountRequests {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { inner, metrics: self.0.clone() }
    }
}

/// A client that is counted.
#[derive(Debug, Clone)]
pub struct Counted<S> {
    inner: S,
    metrics: Metrics,
}

impl<S, A, B> Service<Request<A>> for Counted<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let verb = verb(&request);
        let metrics = self.metrics.clone();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            metrics.requested(verb, answer.as_ref().map_or(0, |it| it.status().as_u16()));
            answer
        })
    }
}

/// What a request wants, in the words of Kubernetes.
fn verb<A>(request: &Request<A>) -> &'static str {
    let uri = request.uri();
    let watches =
        uri.query().is_some_and(|it| it.split('&').any(|it| matches!(it, "watch=true" | "watch=1")));
    let named = names_one_object(uri.path());
    match *request.method() {
        Method::GET if watches => "watch",
        Method::GET if named => "get",
        Method::GET => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => {
            let kind = request.headers().get(header::CONTENT_TYPE).map(http::HeaderValue::as_bytes);
            if kind.is_some_and(|it| it.starts_with(b"application/apply-patch")) { "apply" } else { "patch" }
        }
        Method::DELETE if named => "delete",
        Method::DELETE => "deletecollection",
        _ => "other",
    }
}

/// Whether a path means one object, or something else that is got and not listed.
fn names_one_object(path: &str) -> bool {
    let mut parts = path.trim_matches('/').split('/');
    let skipped = match parts.next() {
        Some("api") => 1,
        Some("apis") => 2,
        // Pages of the server, such as `/version`.
        _ => return true,
    };
    let rest: Vec<&str> = parts.skip(skipped).collect();
    match rest.as_slice() {
        // What groups and versions there are.
        [] => true,
        ["namespaces", _, _] | [_] => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::verb;

    #[test]
    fn requests_are_named_as_the_audit_log_names_them() {
        let cases = [
            ("GET", "/api/v1/pods?limit=500", "list"),
            ("GET", "/api/v1/pods?watch=true&resourceVersion=1", "watch"),
            ("GET", "/api/v1/namespaces/n/pods", "list"),
            ("GET", "/api/v1/namespaces/n/pods/p", "get"),
            ("GET", "/apis/apps/v1/namespaces/n/deployments/d/status", "get"),
            ("GET", "/api/v1/namespaces", "list"),
            ("GET", "/api/v1/namespaces/n", "get"),
            ("GET", "/apis/example.com/v1/things", "list"),
            ("GET", "/apis/apps/v1", "get"),
            ("GET", "/version", "get"),
            ("POST", "/api/v1/namespaces/n/pods", "create"),
            ("DELETE", "/api/v1/namespaces/n/pods/p", "delete"),
            ("DELETE", "/api/v1/namespaces/n/pods", "deletecollection"),
            ("PUT", "/api/v1/namespaces/n/pods/p", "update"),
            ("PATCH", "/api/v1/namespaces/n/pods/p", "patch"),
        ];
        for (method, path, expected) in cases {
            let request = Request::builder().method(method).uri(path).body(()).unwrap();
            assert_eq!(verb(&request), expected, "{method} {path}");
        }
        let apply = Request::patch("/api/v1/namespaces/n/pods/p")
            .header("content-type", "application/apply-patch+yaml")
            .body(())
            .unwrap();
        assert_eq!(verb(&apply), "apply");
    }
}
