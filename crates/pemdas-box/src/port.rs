//! A loopback port at which others reach a simulated cluster.

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use serde_json::json;
use tokio::{net::TcpListener, task::AbortHandle};

use crate::{Host, guard::Guard};

/// A port of this machine at which a cluster is served until this is dropped. Whoever has the kubeconfig may do everything in the
/// simulated cluster, which reaches nothing else.
#[derive(Debug)]
pub struct Port {
    address: SocketAddr,
    /// The address as the kubeconfig has it.
    server: String,
    serving: AbortHandle,
}

impl Port {
    /// Serves a cluster; with the number 0 at a port that is free.
    ///
    /// # Errors
    /// If the port cannot be had.
    pub async fn open(host: Host, number: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, number)).await?;
        let address = listener.local_addr()?;
        let guard = Guard::new(host, address)?;
        let server = format!("http://{address}{}", guard.prefix());
        let router = Router::new().fallback_service(guard);
        let serving = tokio::spawn(async move {
            // It ends with the task.
            let _ended = axum::serve(listener, router).await;
        });
        Ok(Self { address, server, serving: serving.abort_handle() })
    }

    /// Where it is served.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A kubeconfig for it; JSON is YAML.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "box", "cluster": { "server": self.server } }],
            "users": [{ "name": "admin", "user": {} }],
            "contexts": [{ "name": "box", "context": { "cluster": "box", "user": "admin", "namespace": "default" } }],
            "current-context": "box",
        });
        format!("{config:#}\n")
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
