//! What a running operator shows of itself over HTTP: whether it lives, whether it is ready, and its metrics.

mod door;

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use door::{Door, GUESTS, STAY};
use tokio::{net::TcpListener, sync::watch};

/// What the pages are made of.
#[derive(Clone)]
pub(crate) struct Pages {
    /// What is still waited for before the operator is ready, in sentences; empty when it is.
    pub(crate) waits_for: watch::Receiver<Vec<String>>,
    /// The metrics, as Prometheus reads them.
    pub(crate) metrics: Arc<dyn Fn() -> String + Send + Sync>,
}

/// Serves until `stop` is done; then what is under way is finished.
///
/// # Errors
/// If the socket fails.
pub(crate) async fn serve(
    listener: TcpListener,
    pages: Pages,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    serve_at(Door::new(listener, GUESTS, STAY), pages, stop).await
}

async fn serve_at(
    door: Door,
    pages: Pages,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let router = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readiness))
        .route("/metrics", get(metrics))
        .with_state(pages);
    axum::serve(door, router).with_graceful_shutdown(stop).await
}

async fn readiness(State(pages): State<Pages>) -> impl IntoResponse {
    let waits_for = pages.waits_for.borrow();
    if waits_for.is_empty() {
        return (StatusCode::OK, "ok\n".to_owned());
    }
    (StatusCode::SERVICE_UNAVAILABLE, waits_for.iter().map(|it| format!("{it}\n")).collect())
}

async fn metrics(State(pages): State<Pages>) -> impl IntoResponse {
    let form = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, form)], (pages.metrics)())
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use pemdas_kube::metrics::Metrics;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::{oneshot, watch};

    use super::{Pages, door::Door, serve, serve_at};

    async fn ask(port: u16, path: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn health_readiness_and_metrics_are_served_until_it_stops() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (ready, waits_for) = watch::channel(vec!["ConfigMap is not listed yet".to_owned()]);
        let metrics = Metrics::new();
        metrics.queued(3);
        let pages = Pages { waits_for, metrics: Arc::new(move || metrics.text()) };
        let (stop, stopped) = oneshot::channel::<()>();
        let served = tokio::spawn(serve(listener, pages, async {
            let _ = stopped.await;
        }));

        assert!(ask(port, "/healthz").await.starts_with("HTTP/1.1 200"));
        let unready = ask(port, "/readyz").await;
        assert!(unready.starts_with("HTTP/1.1 503"), "{unready}");
        assert!(unready.ends_with("ConfigMap is not listed yet\n"), "{unready}");
        ready.send(vec![]).unwrap();
        assert!(ask(port, "/readyz").await.starts_with("HTTP/1.1 200"));
        let page = ask(port, "/metrics").await;
        assert!(page.contains("content-type: application/openmetrics-text"), "{page}");
        assert!(page.contains("pemdas_queue_depth 3\n"), "{page}");
        assert!(ask(port, "/secrets").await.starts_with("HTTP/1.1 404"));

        stop.send(()).unwrap();
        served.await.unwrap().unwrap();
        assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err(), "the socket is closed");
    }
    /// Whether the other side has ended a connection.
    async fn is_ended(stream: &mut TcpStream) -> bool {
        let mut bytes = Vec::new();
        // Closed or reset: nobody holds a descriptor for it any more.
        let read = stream.read_to_end(&mut bytes).await;
        assert!(bytes.is_empty(), "{}", String::from_utf8_lossy(&bytes));
        matches!(read, Ok(0)) || read.is_err()
    }

    #[tokio::test]
    async fn connections_that_ask_nothing_keep_nobody_from_an_answer() {
        let begun = async |port| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            stream.write_all(b"GET /healthz HTTP/1.1\r\nhost:").await.unwrap();
            stream
        };
        let pages = || Pages { waits_for: watch::channel(Vec::new()).1, metrics: Arc::new(String::new) };
        let hour = Duration::from_secs(3_600);
        for (guests, stay) in [(8, hour), (1_000, Duration::from_millis(20))] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let door = Door::new(listener, guests, stay);
            let served = tokio::spawn(serve_at(door, pages(), std::future::pending()));
            let mut silent = Vec::new();
            for _ in 0..200 {
                silent.push(begun(port).await);
            }
            assert!(ask(port, "/healthz").await.starts_with("HTTP/1.1 200"), "{guests}");
            // All but the last few were ended, by those that came after them or by their time.
            let last = if stay == hour { guests } else { 0 };
            for stream in silent.iter_mut().take(200 - last) {
                assert!(is_ended(stream).await);
            }
            served.abort();
        }
    }
}
