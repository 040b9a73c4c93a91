//! One question to a Service, with limits.

use http::{Request, Response, StatusCode, header};
use http_body::Body;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Bytes;
use kube::Client;
use serde_json::Value;
use tokio::time::timeout;

use super::{Limits, Place, content};

/// The response of a Service, as JSON or text, through the API server's proxy and as the account for which it is asked.
///
/// Pemdas opens no connection of its own: the name of a Service may lead to another tenant or to the network's metadata service,
/// past the network policies of the account's pods. The API server's proxy goes to the addresses of pods of the Service's namespace only.
///
/// # Errors
/// A sentence that says what was wrong, and quotes nothing of the response.
pub async fn fetch(place: &Place, client: &Client, limits: &Limits) -> Result<Value, String> {
    place.check()?;
    let answer = timeout(limits.time, through(client, place, limits)).await;
    let answer = answer.unwrap_or_else(|_| Err(format!("does not answer within {:?}", limits.time)));
    answer.map_err(|why| format!("{place} {why}"))
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
