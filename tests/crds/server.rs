//! The API server, asked quickly.

use pemdas_testbed::{Cluster, Level};
use serde_json::{Value, json};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// A running API server with some definitions.
pub(crate) struct Server {
    cluster: Cluster,
    agent: ureq::Agent,
    token: String,
}

impl Server {
    pub(crate) fn start() -> Self {
        let cluster = Cluster::start(Level::ControlPlane).unwrap();
        let config: Value =
            serde_json::from_str(&std::fs::read_to_string(cluster.kubeconfig()).unwrap()).unwrap();
        let authority = config["clusters"][0]["cluster"]["certificate-authority-data"].as_str().unwrap();
        let authority =
            base64::Engine::decode(&base64::engine::general_purpose::STANDARD, authority).unwrap();
        let certificate = Certificate::from_pem(&authority).unwrap();
        let tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&[certificate])).build();
        let agent = ureq::Agent::config_builder().tls_config(tls).http_status_as_error(false).build().into();
        let token = config["users"][0]["user"]["token"].as_str().unwrap().to_owned();
        Self { cluster, agent, token }
    }

    pub(crate) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Installs a CRD. It is served a little later: `would_take` waits for that.
    pub(crate) fn install(&self, definition: &Value) {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let (status, answer) = self.post(path, definition);
        assert_eq!(status, 201, "the API server refuses {}: {answer:#}", definition["metadata"]["name"]);
    }

    /// Waits until a CRD is served, for those who ask by kubectl.
    pub(crate) fn wait_for(&self, definition: &Value) {
        let name = format!("crd/{}", definition["metadata"]["name"].as_str().unwrap());
        self.cluster.kubectl(&["wait", "--for=condition=Established", &name, "--timeout=60s"]).unwrap();
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let mut answer = self
            .agent
            .post(format!("{}{path}", self.cluster.server()))
            .header("Authorization", format!("Bearer {}", self.token))
            .send_json(body)
            .unwrap();
        let status = answer.status().as_u16();
        (status, answer.body_mut().read_json().unwrap_or(Value::Null))
    }

    /// Whether an object would be accepted: what it would be, or why not. A CRD is not served everywhere at once.
    pub(crate) fn would_take(&self, definition: &Value, object: &Value) -> Result<Value, String> {
        let (group, plural) = (
            definition["spec"]["group"].as_str().unwrap(),
            definition["spec"]["names"]["plural"].as_str().unwrap(),
        );
        let version = object["apiVersion"].as_str().unwrap().rsplit('/').next().unwrap();
        let path =
            format!("/apis/{group}/{version}/namespaces/default/{plural}?dryRun=All&fieldValidation=Strict");
        for _ in 0..100 {
            match self.post(&path, object) {
                (201, answer) => return Ok(answer),
                (404 | 429 | 503, _) => std::thread::sleep(std::time::Duration::from_millis(100)),
                (400 | 422, answer) => return Err(answer["message"].to_string()),
                (status, answer) => panic!("{status}: {answer:#}"),
            }
        }
        panic!("{path} is not served")
    }
}

/// An object of a CRD.
pub(crate) fn object(definition: &Value, spec: &Value) -> Value {
    let group = definition["spec"]["group"].as_str().unwrap();
    let version = definition["spec"]["versions"][0]["name"].as_str().unwrap();
    json!({
        "apiVersion": format!("{group}/{version}"),
        "kind": definition["spec"]["names"]["kind"],
        "metadata": { "name": "generated", "namespace": "default" },
        "spec": spec,
    })
}
