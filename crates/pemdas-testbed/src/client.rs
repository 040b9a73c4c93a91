//! As much of a client of the API server as the test bed and tests need. A process of `kubectl` costs a tenth of a second of a
//! core before it asks anything: whoever looks until something is there asks here.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use ureq::Agent;
use ureq::http::Request;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::error::{Doing, Error, Result};
use crate::kinds::{Kind, built_in, root_of};

/// How long one answer may take, on any machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// More than any list of a test.
const LARGEST: u64 = 256 << 20;

/// The API server as one user sees it.
#[derive(Debug, Clone)]
pub struct Client {
    agent: Agent,
    server: String,
    token: String,
    /// What discovery said of kinds that are not built in.
    found: Arc<Mutex<BTreeMap<(String, String), Kind>>>,
}

/// What the server said.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body; a string if it is no JSON.
    pub body: Value,
}

impl Answer {
    fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    fn good(self, what: &str) -> Result<Value> {
        if self.is_success() {
            return Ok(self.body);
        }
        let said = self.body["message"].as_str().map_or_else(|| self.body.to_string(), str::to_owned);
        Err(Error::new(format!("{what}: {}: {said}", self.status)))
    }
}

impl Client {
    pub(crate) fn new(server: &str, ca: &[u8], token: &str) -> Result<Self> {
        let ca = Certificate::from_pem(ca).doing(|| "read the CA's certificate".into())?;
        let tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&[ca])).build();
        let agent = Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            // A proxy of the environment has no business between us and our own cluster.
            .proxy(None)
            .build()
            .new_agent();
        Ok(Self { agent, server: server.to_owned(), token: token.to_owned(), found: Arc::default() })
    }

    /// The user of a kubeconfig that the test bed wrote.
    pub(crate) fn of(kubeconfig: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(kubeconfig).doing(|| format!("read {}", kubeconfig.display()))?;
        let config: Value = serde_json::from_str(&text).doing(|| "understand a kubeconfig".into())?;
        let text = |path: &str| config.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let ca = BASE64_STANDARD
            .decode(text("/clusters/0/cluster/certificate-authority-data"))
            .doing(|| "read the CA of a kubeconfig".into())?;
        Self::new(text("/clusters/0/cluster/server"), &ca, text("/users/0/user/token"))
    }

    /// Asks the server; any answer is one.
    pub fn ask(&self, method: &str, path: &str, content: Option<(&str, &Value)>) -> Result<Answer> {
        let what = || format!("{method} {path}");
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.server))
            .header("Authorization", format!("Bearer {}", self.token));
        let mut response = match content {
            Some((kind, body)) => {
                let request = request.header("Content-Type", kind).body(body.to_string()).doing(what)?;
                self.agent.run(request)
            }
            None => self.agent.run(request.body(()).doing(what)?),
        }
        .doing(what)?;
        let text = response.body_mut().with_config().limit(LARGEST).read_to_string().doing(what)?;
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok(Answer { status: response.status().as_u16(), body })
    }

    /// Whether the server answers a GET of this path with success. Anything else is *not yet*.
    #[must_use]
    pub fn answers(&self, path: &str) -> bool {
        self.ask("GET", path, None).is_ok_and(|it| it.is_success())
    }

    /// What is at a path; nothing if there is nothing.
    pub fn get(&self, path: &str) -> Result<Option<Value>> {
        let answer = self.ask("GET", path, None)?;
        if answer.status == 404 { Ok(None) } else { answer.good(&format!("GET {path}")).map(Some) }
    }

    /// Creates an object in the collection at a path.
    pub fn create(&self, path: &str, object: &Value) -> Result<Value> {
        self.ask("POST", path, Some(("application/json", object)))?.good(&format!("POST {path}"))
    }

    /// Changes what is at a path by a merge patch.
    pub fn merge(&self, path: &str, patch: &Value) -> Result<Value> {
        let content = ("application/merge-patch+json", patch);
        self.ask("PATCH", path, Some(content))?.good(&format!("PATCH {path}"))
    }

    /// Deletes what is at a path, as soon as its finalizers let it go.
    pub fn delete(&self, path: &str) -> Result<Value> {
        self.ask("DELETE", path, None)?.good(&format!("DELETE {path}"))
    }

    /// Applies an object on the server's side in the name of a field manager, and takes the fields that others have. An object that
    /// names no namespace is of the one that is given.
    pub fn apply(&self, manager: &str, namespace: &str, object: &Value) -> Result<Value> {
        let metadata = |name: &str| object["metadata"][name].as_str();
        let kind = self.kind_of(object)?;
        let place =
            kind.path(metadata("namespace").unwrap_or(namespace), metadata("name").unwrap_or_default());
        let path = format!("{place}?fieldManager={manager}&force=true");
        let content = ("application/apply-patch+yaml", object);
        self.ask("PATCH", &path, Some(content))?.good(&format!("apply {place}"))
    }

    /// The path of a collection, or of an object in it if a name is given. A kind is called as for `kubectl`: `configmap`, or
    /// `note.example.com` for version `v1` of one that is not built in.
    pub fn path(&self, kind: &str, namespace: &str, name: &str) -> Result<String> {
        let kind = match (built_in(kind), kind.split_once('.')) {
            (Some(kind), _) => kind,
            (None, Some((singular, group))) => self.discovered(&format!("/apis/{group}/v1"), singular)?,
            (None, None) => return Err(Error::new(format!("{kind} is no kind that is known here"))),
        };
        Ok(kind.path(namespace, name))
    }

    fn kind_of(&self, object: &Value) -> Result<Kind> {
        let [version, kind] = ["apiVersion", "kind"].map(|it| object[it].as_str().unwrap_or_default());
        let (root, singular) = (root_of(version), kind.to_lowercase());
        match built_in(&singular) {
            Some(kind) if kind.root == root => Ok(kind),
            _ => self.discovered(&root, &singular),
        }
    }

    fn discovered(&self, root: &str, singular: &str) -> Result<Kind> {
        let key = (root.to_owned(), singular.to_owned());
        let found = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kind) = found().get(&key) {
            return Ok(kind.clone());
        }
        let unknown = || Error::new(format!("{singular} is not served at {root}"));
        let list = self.get(root)?.ok_or_else(unknown)?;
        let kind = Kind::in_list(&list, root, singular).ok_or_else(unknown)?;
        found().insert(key, kind.clone());
        Ok(kind)
    }
}
