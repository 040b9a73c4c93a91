//! From requests to answers: what is decided elsewhere is put on the wire here.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use futures::stream;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch};

use super::{
    answer::{Failure, Told},
    assets::Asset,
    changes,
    desk::{Desk, News},
    guard::{Guard, Head},
    route::{Route, needs_token, route},
};

/// What a browser may do with the page: nothing but run its own scripts and ask this server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
const HEADERS: [(&str, &str); 6] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];
const JSON: &str = "application/json";
/// A document for each line.
const LINES: &str = "application/x-ndjson";

#[derive(Clone)]
struct Shop {
    guard: Guard,
    desk: Desk,
}

/// Serves until the future is dropped.
pub(super) async fn serve(listener: TcpListener, guard: Guard, desk: Desk) -> std::io::Result<()> {
    let router = Router::new().fallback(respond).with_state(Arc::new(Shop { guard, desk }));
    axum::serve(listener, router).await
}

async fn respond(State(shop): State<Arc<Shop>>, request: Request) -> Response {
    // Nobody reads a body.
    let (parts, _) = request.into_parts();
    let mut response = shop.response(&parts).await;
    for (name, value) in HEADERS {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

impl Shop {
    async fn response(&self, request: &Parts) -> Response {
        let text = |name: &str| request.headers.get(name).map(|it| it.to_str().unwrap_or("?"));
        let head = Head {
            method: request.method.as_str(),
            host: text("host"),
            origin: text("origin"),
            site: text("sec-fetch-site"),
            content_type: text("content-type"),
            authorization: text("authorization"),
        };
        let path = request.uri.path();
        if let Err(refusal) = self.guard.admit(&head, needs_token(path)) {
            return failed(
                refusal.status(),
                &json!({ "error": refusal.words(), "status": refusal.status() }),
            );
        }
        match route(path, request.uri.query().unwrap_or_default()) {
            Route::File(asset) => file(asset),
            Route::Unknown => {
                failed(404, &json!({ "error": "there is nothing of this name", "status": 404 }))
            }
            Route::Once(question) => told(&self.desk.ask(question).await),
            Route::Follow(question) => match self.desk.follow(question).await {
                Ok(news) => follow(news),
                Err(failure) => refused(&failure),
            },
        }
    }
}

fn file(asset: &'static Asset) -> Response {
    ([(header::CONTENT_TYPE, asset.form)], asset.text).into_response()
}

fn told(told: &Told) -> Response {
    match told {
        Ok(document) => ([(header::CONTENT_TYPE, JSON)], document.to_string()).into_response(),
        Err(failure) => refused(failure),
    }
}

fn refused(failure: &Failure) -> Response {
    failed(failure.status, &failure.document())
}

fn failed(status: u16, document: &Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, JSON)], document.to_string()).into_response()
}

/// What was sent to one reader.
struct Reader {
    news: watch::Receiver<News>,
    number: u64,
    sent: Option<News>,
}

/// A snapshot, and then what is new, a line each.
fn follow(news: watch::Receiver<News>) -> Response {
    let reader = Reader { news, number: 0, sent: None };
    let lines = stream::unfold(reader, |mut reader| async move {
        let line = reader.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(format!("{line}\n"))), reader))
    });
    ([(header::CONTENT_TYPE, LINES)], Body::from_stream(lines)).into_response()
}

impl Reader {
    async fn next(&mut self) -> Option<Value> {
        if self.sent.is_some() {
            self.news.changed().await.ok()?;
        }
        let news = self.news.borrow_and_update().clone();
        self.number += 1;
        let line = line(self.sent.as_ref(), &news, self.number);
        self.sent = Some(news);
        Some(line)
    }
}

/// What a reader is sent who was sent something before, or nothing yet.
fn line(before: Option<&News>, news: &News, number: u64) -> Value {
    let mut line = json!({ "number": number, "at": news.at, "away": news.away });
    match (before.map(|it| it.told.as_ref()), news.told.as_ref()) {
        (Some(Ok(before)), Ok(after)) => {
            line["type"] = json!("change");
            line["change"] = changes::between(before, after).unwrap_or_default();
        }
        (_, Ok(document)) => {
            line["type"] = json!("snapshot");
            line["document"] = document.clone();
        }
        (_, Err(failure)) => {
            line["type"] = json!("failure");
            line["failure"] = failure.document();
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::{Failure, News, Told, line};

    fn news(told: Told, away: Option<&str>) -> News {
        News { at: 5, away: away.map(str::to_owned), told: Arc::new(told) }
    }

    #[test]
    fn a_reader_gets_a_snapshot_and_then_what_is_new() {
        let first = news(Ok(json!({ "state": "Waiting", "same": 1 })), None);
        let second = news(Ok(json!({ "state": "Ready", "same": 1 })), None);
        let snapshot = line(None, &first, 1);
        assert_eq!(
            (&snapshot["type"], &snapshot["document"]["state"]),
            (&json!("snapshot"), &json!("Waiting"))
        );
        let change = line(Some(&first), &second, 2);
        assert_eq!((&change["type"], &change["number"]), (&json!("change"), &json!(2)));
        assert_eq!(change["change"]["set"], json!({ "state": "Ready" }));
        let away =
            line(Some(&second), &news(Ok(json!({ "state": "Ready", "same": 1 })), Some("no answer")), 3);
        assert_eq!((&away["away"], &away["change"]), (&json!("no answer"), &json!(null)));
        let failure = Failure { status: 404, message: "gone".to_owned(), hint: String::new() };
        let gone = news(Err(failure), None);
        assert_eq!(line(Some(&second), &gone, 4)["failure"]["error"], "gone");
        assert_eq!(line(Some(&gone), &second, 5)["type"], "snapshot", "it is back");
    }
}
