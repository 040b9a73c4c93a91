//! Between HTTP and the requests of the simulated API server.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    task::{Context, Poll},
};

use axum::body::Body;
use futures::future::BoxFuture;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use pemdas_sim::{Method, Reply, Request, Response};
use serde_json::json;

use crate::Host;

/// As many bytes of a request as an API server reads.
pub(crate) const MAX_REQUEST: usize = 3 * 1024 * 1024;

impl<B> tower::Service<http::Request<B>> for Host
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
        let host = self.clone();
        Box::pin(async move { Ok(host.respond(request).await) })
    }
}

impl Host {
    async fn respond<B>(&self, request: http::Request<B>) -> http::Response<Body>
    where
        B: http_body::Body,
        B::Error: Into<tower::BoxError>,
    {
        let (head, body) = request.into_parts();
        let Some(method) = Method::parse(head.method.as_str()) else {
            return refused(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", "the method is not allowed");
        };
        let Ok(body) = Limited::new(body, MAX_REQUEST).collect().await else {
            let text = "the body of the request is too large, or did not arrive";
            return refused(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", text);
        };
        let request = request_of(&head, method, body.to_bytes().to_vec());
        response_of(self, &request, head.method == http::Method::HEAD)
    }
}

/// A request as the simulated server takes it.
pub(crate) fn request_of(head: &http::request::Parts, method: Method, body: Vec<u8>) -> Request {
    let target = head.uri.path_and_query().map_or("/", |it| it.as_str());
    Request { headers: headers(&head.headers), body, ..Request::new(method, target) }
}

/// What the host answers.
pub(crate) fn response_of(host: &Host, request: &Request, head_only: bool) -> http::Response<Body> {
    match host.handle(request) {
        Reply::Whole(response) => whole(&response, head_only),
        Reply::Watch(watch) => {
            let mut response = http::Response::new(Body::from_stream(host.lines(*watch)));
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
    }
}

/// What a server answers that does not do what it is asked.
pub(crate) fn refusal_of(code: u16) -> http::Response<Body> {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let reason = match code {
        409 => "Conflict",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    };
    refused(status, reason, "the server does not do it now")
}

/// Several headers of one name are one, as the values stand in a list.
fn headers(given: &HeaderMap) -> BTreeMap<String, String> {
    let mut headers = BTreeMap::<String, String>::new();
    for (name, value) in given {
        let Ok(value) = value.to_str() else { continue };
        let known = headers.entry(name.as_str().to_owned()).or_default();
        if !known.is_empty() {
            known.push_str(", ");
        }
        known.push_str(value);
    }
    headers
}

fn whole(response: &Response, head_only: bool) -> http::Response<Body> {
    let body = if head_only { Body::empty() } else { Body::from(response.bytes()) };
    let mut out = http::Response::new(body);
    *out.status_mut() = StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    out.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(response.content_type));
    for warning in &response.warnings {
        if let Ok(warning) = HeaderValue::from_str(warning) {
            out.headers_mut().append(header::WARNING, warning);
        }
    }
    out
}

/// What is refused before the simulated server sees it.
pub(crate) fn refused(status: StatusCode, reason: &str, message: &str) -> http::Response<Body> {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": status.as_u16(),
    });
    whole(&Response::json(status.as_u16(), body), false)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http_body_util::BodyExt as _;
    use pemdas_sim::{Cluster, Scenario, Time};
    use serde_json::{Value, json};
    use tower::Service as _;

    use super::MAX_REQUEST;
    use crate::{Clock, Host};

    const MAPS: &str = "/api/v1/namespaces/default/configmaps";

    fn host() -> Host {
        Host::new(Cluster::new(1, Time(1_000), Scenario::default()), Clock::Told)
    }

    async fn send(
        host: &Host,
        method: &str,
        at: &str,
        kind: &str,
        body: impl Into<Body>,
    ) -> http::Response<Body> {
        let request = http::Request::builder().method(method).uri(at).header("content-type", kind);
        host.clone().call(request.body(body.into()).unwrap()).await.unwrap()
    }

    async fn line(body: &mut Body) -> Option<Value> {
        let frame = body.frame().await?.unwrap();
        Some(serde_json::from_slice(&frame.into_data().unwrap()).unwrap())
    }

    #[tokio::test]
    async fn a_watch_tells_what_happens_and_ends_when_its_time_is_over() {
        let host = host();
        let at = format!("{MAPS}?watch=1&timeoutSeconds=10&fieldSelector=metadata.name%3Da");
        let mut watched = send(&host, "GET", &at, "", "").await.into_body();
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
        let made = send(&host, "POST", MAPS, "application/json", map.to_string()).await;
        assert_eq!(made.status(), 201);
        let told = line(&mut watched).await.unwrap();
        assert_eq!((&told["type"], &told["object"]["metadata"]["name"]), (&json!("ADDED"), &json!("a")));
        host.with(|cluster| cluster.advance(Time(20_000)));
        assert_eq!(line(&mut watched).await, None);
    }

    #[tokio::test]
    async fn time_passes_as_on_the_wall() {
        let scenario = Scenario::default();
        let host = Host::new(Cluster::new(1, Time(1_000), scenario), Clock::Wall { speed: 1_000.0 });
        let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
        let spec =
            json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } });
        let claim = json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "a" }, "spec": spec });
        let mut watched = send(&host, "GET", &format!("{claims}?watch=1"), "", "").await.into_body();
        send(&host, "POST", claims, "application/json", claim.to_string()).await;
        // Nobody asks for anything: the players go on by themselves.
        while line(&mut watched).await.unwrap()["object"]["status"]["phase"] != "Bound" {}
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_refused_in_words() {
        let host = host();
        let large = send(&host, "POST", MAPS, "application/json", vec![b' '; MAX_REQUEST + 1]).await;
        assert_eq!(large.status(), 413);
        let binary = send(&host, "POST", MAPS, "application/vnd.kubernetes.protobuf", "k8s").await;
        assert_eq!(binary.status(), 400);
        assert_eq!(send(&host, "TRACE", MAPS, "", "").await.status(), 405);
        let headed = send(&host, "HEAD", MAPS, "", "").await;
        assert_eq!(headed.status(), 200);
        assert!(headed.into_body().collect().await.unwrap().to_bytes().is_empty());
    }
}
