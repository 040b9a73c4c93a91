//! As much of a client of the API server as it takes to see it become ready and to give it its first objects.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::error::{Doing, Error, Result};

/// The API server as the admin sees it.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    agent: Agent,
    server: String,
    token: String,
}

impl Api {
    pub(crate) fn new(server: &str, ca: &Path, token: &str) -> Result<Self> {
        let pem = std::fs::read(ca).doing(|| format!("read {}", ca.display()))?;
        let ca = Certificate::from_pem(&pem).doing(|| "read the CA's certificate".into())?;
        let tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&[ca])).build();
        let agent = Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(10)))
            // A proxy of the environment has no business between us and our own cluster.
            .proxy(None)
            .build()
            .new_agent();
        Ok(Self { agent, server: server.to_owned(), token: token.to_owned() })
    }

    /// Whether the server answers a GET of this path with success. Anything else is *not yet*.
    pub(crate) fn answers(&self, path: &str) -> bool {
        self.get(path).is_some()
    }

    /// The object at a path, if the server gives one.
    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        let mut response = self
            .agent
            .get(format!("{}{path}", self.server))
            .header("Authorization", format!("Bearer {}", self.token))
            .call()
            .ok()?;
        if !response.status().is_success() {
            return None;
        }
        let text = response.body_mut().read_to_string().ok()?;
        Some(serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// Creates an object in the collection at a path.
    pub(crate) fn create(&self, path: &str, object: &Value) -> Result<()> {
        let mut response = self
            .agent
            .post(format!("{}{path}", self.server))
            .header("Authorization", format!("Bearer {}", self.token))
            .send_json(object)
            .doing(|| format!("create an object at {path}"))?;
        let status = response.status();
        if status.is_success() || status.as_u16() == 409 {
            return Ok(());
        }
        let answer = response.body_mut().read_to_string().unwrap_or_default();
        Err(Error::new(format!("the API server refused an object at {path} ({status}): {answer}")))
    }
}
