//! What a running operator shows of itself over HTTP: whether it lives, whether it is ready, and its metrics.

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
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
    let router = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readiness))
        .route("/metrics", get(metrics))
        .with_state(pages);
    axum::serve(listener, router).with_graceful_shutdown(stop).await
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
    use std::sync::Arc;

    use pemdas_kube::metrics::Metrics;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::{oneshot, watch};

    use super::{Pages, serve};

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
}
