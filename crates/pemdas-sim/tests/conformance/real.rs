//! The real API server.

use std::io::BufReader;
use std::time::Duration;

use pemdas_sim::{Method, Request};
use pemdas_testbed::{Cluster, Level};
use serde_json::Value;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::bodies;

/// The events of a watch.
pub(crate) type Events = BufReader<ureq::BodyReader<'static>>;

/// A running API server.
pub(crate) struct Real {
    /// The one that was started for this; it ends with it.
    _cluster: Option<Cluster>,
    server: String,
    agent: ureq::Agent,
    token: String,
}

impl Real {
    /// Starts one, or uses the one that `PEMDAS_CONFORMANCE_KUBECONFIG` names.
    pub(crate) fn start() -> Self {
        let named = std::env::var("PEMDAS_CONFORMANCE_KUBECONFIG").ok();
        let cluster = named.is_none().then(|| Cluster::start(Level::ControlPlane).unwrap());
        let file = named.map_or_else(|| cluster.as_ref().unwrap().kubeconfig().to_owned(), Into::into);
        let config: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let authority = config["clusters"][0]["cluster"]["certificate-authority-data"].as_str().unwrap();
        let authority =
            base64::Engine::decode(&base64::engine::general_purpose::STANDARD, authority).unwrap();
        let certificate = Certificate::from_pem(&authority).unwrap();
        let tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&[certificate])).build();
        let agent = ureq::Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .allow_non_standard_methods(true);
        let token = config["users"][0]["user"]["token"].as_str().unwrap().to_owned();
        let server = config["clusters"][0]["cluster"]["server"].as_str().unwrap().to_owned();
        let real = Self { _cluster: cluster, server, agent: agent.build().into(), token };
        real.define();
        real
    }

    /// Installs the kind that sequences use, and waits until it is served.
    fn define(&self) {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let request = Request::new(Method::Post, path).json("application/json", &bodies::definition());
        let (status, answer) = self.send(&request);
        assert!(matches!(status, 201 | 409), "{answer:#}");
        for _ in 0..600 {
            let request = Request::new(
                Method::Post,
                "/apis/conformance.example.com/v1/namespaces/default/widgets?dryRun=All",
            );
            let body = serde_json::json!({ "apiVersion": "conformance.example.com/v1", "kind": "Widget", "metadata": { "name": "x" } });
            if self.send(&request.json("application/json", &body)).0 == 201 {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the kind is never served");
    }

    pub(crate) fn send(&self, request: &Request) -> (u16, Value) {
        let mut answer = self.answer(request);
        let status = answer.status().as_u16();
        (status, answer.body_mut().with_config().limit(64 * 1024 * 1024).read_json().unwrap_or(Value::Null))
    }

    /// Begins a watch: its events, one in a line, if it is one.
    pub(crate) fn watch(&self, request: &Request) -> Result<Events, (u16, Value)> {
        let mut answer = self.answer(request);
        let status = answer.status().as_u16();
        if status == 200 {
            return Ok(BufReader::new(answer.into_body().into_reader()));
        }
        Err((status, answer.body_mut().read_json().unwrap_or(Value::Null)))
    }

    fn answer(&self, request: &Request) -> ureq::http::Response<ureq::Body> {
        let query: Vec<String> =
            request.query.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let target = format!("{}{}?{}", self.server, request.path, query.join("&"));
        let mut builder = ureq::http::Request::builder().method(request.method.name()).uri(target);
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        let builder = builder.header("authorization", format!("Bearer {}", self.token));
        if request.body.is_empty() {
            self.agent.run(builder.body(()).unwrap()).unwrap()
        } else {
            self.agent.run(builder.body(request.body.clone()).unwrap()).unwrap()
        }
    }
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
