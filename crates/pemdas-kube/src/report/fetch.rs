//! One question to a Service, with limits.

use http::{Request, Response, StatusCode, Uri, header};
use http_body::Body;
use http_body_util::{BodyExt as _, Empty, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper_util::{
    client::legacy::{Client as HttpClient, connect::HttpConnector},
    rt::TokioExecutor,
};
use kube::Client;
use serde_json::Value;
use tokio::time::timeout;

use super::{Limits, Place, content};

/// How Services are reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// By the names of the cluster: from inside of it. With the domain of the cluster, such as `cluster.local`.
    Names(String),
    /// Through the API server's proxy: from outside.
    Proxy,
}

/// Asks one Service once.
#[derive(Debug, Clone)]
pub struct Fetcher {
    way: Way,
    http: HttpClient<HttpConnector, Empty<Bytes>>,
}

impl Fetcher {
    /// One for the whole process. It follows no redirects, and no proxies of the environment.
    #[must_use]
    pub fn new(way: Way) -> Self {
        Self { way, http: HttpClient::builder(TokioExecutor::new()).build(HttpConnector::new()) }
    }

    pub(super) fn is_proxied(&self) -> bool {
        self.way == Way::Proxy
    }

    /// The response of a Service, as JSON or text. `client` is that of the account for which it is asked.
    ///
    /// # Errors
    /// A sentence that says what was wrong, and quotes nothing of the response.
    pub async fn fetch(&self, place: &Place, client: &Client, limits: &Limits) -> Result<Value, String> {
        place.check()?;
        let asked = async {
            match &self.way {
                Way::Names(domain) => {
                    let Place { namespace, service, port, .. } = place;
                    let address =
                        format!("http://{service}.{namespace}.svc.{domain}:{port}{}", place.rooted());
                    self.ask(&address, limits).await
                }
                Way::Proxy => through(client, place, limits).await,
            }
        };
        let answer = timeout(limits.time, asked).await;
        let answer = answer.unwrap_or_else(|_| Err(format!("does not answer within {:?}", limits.time)));
        answer.map_err(|why| format!("{place} {why}"))
    }

    /// The response from an address. Separate, so that it can be tried without the names of a cluster.
    ///
    /// # Errors
    /// The rest of a sentence that begins with the Service.
    pub async fn ask(&self, address: &str, limits: &Limits) -> Result<Value, String> {
        let uri: Uri = address.parse().map_err(|_| "has no address that can be asked".to_owned())?;
        let request = Request::get(uri)
            .header(header::ACCEPT, "application/json, text/plain;q=0.9, */*;q=0.1")
            .header(header::USER_AGENT, "pemdas")
            .body(Empty::new())
            .map_err(|_| "has no address that can be asked".to_owned())?;
        match self.http.request(request).await {
            Ok(response) => taken(response, limits).await,
            Err(error) if error.is_connect() => Err("cannot be connected to".to_owned()),
            Err(_) => Err("answers with something that is no HTTP, or breaks off".to_owned()),
        }
    }
}

async fn through(client: &Client, place: &Place, limits: &Limits) -> Result<Value, String> {
    let Place { namespace, service, port, .. } = place;
    let path = format!("/api/v1/namespaces/{namespace}/services/{service}:{port}/proxy{}", place.rooted());
    let request = Request::get(path)
        .body(kube::client::Body::empty())
        .map_err(|_| "has no address that can be asked".to_owned())?;
    match client.send(request).await {
        Ok(response) if response.status() == StatusCode::FORBIDDEN => {
            Err("answers 403, or the account may not get services/proxy there".to_owned())
        }
        Ok(response) if response.status() == StatusCode::SERVICE_UNAVAILABLE => {
            Err("answers 503, or nothing is ready behind it".to_owned())
        }
        Ok(response) => taken(response, limits).await,
        // The API server is away, or has cut the answer off because the Service did.
        Err(_) => Err("gives no answer through the API server".to_owned()),
    }
}

async fn taken<B>(response: Response<B>, limits: &Limits) -> Result<Value, String>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    let status = response.status();
    if status.is_redirection() {
        return Err(format!("answers {}: redirects are not followed", status.as_u16()));
    }
    if !status.is_success() {
        return Err(format!("answers {}", status.as_u16()));
    }
    let content_type = response.headers().get(header::CONTENT_TYPE);
    let content_type = content_type.and_then(|it| it.to_str().ok()).map(ToOwned::to_owned);
    let body = Box::pin(Limited::new(response.into_body(), limits.size)).collect().await;
    let body = body.map_err(|error| {
        if error.is::<LengthLimitError>() {
            format!("answers with more than {} bytes", limits.size)
        } else {
            "breaks off in the middle of its answer".to_owned()
        }
    })?;
    content::read(content_type.as_deref(), &body.to_bytes())
}
