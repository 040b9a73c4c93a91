//! The control plane of one measurement, and who acts on it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{conditions::is_crd_established, wait::await_condition},
};
use pemdas_testbed::{
    Cluster, Level,
    audit::{self, Request},
};
use serde_json::{Value, json};

use crate::options::{Operator, Preparation};
use crate::process;
use crate::shape::Shape;

pub(crate) type Error = Box<dyn std::error::Error>;

/// Where the instances are, and the operator's account.
pub(crate) const NAMESPACE: &str = "bench";
const ACCOUNT: &str = "operator";
const USER: &str = "system:serviceaccount:bench:operator";

/// A control plane with an account for the operator.
pub(crate) struct Plane {
    cluster: Cluster,
    /// As the admin: the driver's own.
    pub(crate) client: Client,
    /// As the operator.
    pub(crate) kubeconfig: PathBuf,
    /// How much of the audit log was read.
    read: usize,
    processes: BTreeSet<u32>,
}

impl Plane {
    pub(crate) async fn start() -> Result<Self, Error> {
        let others = process::children();
        let cluster = Cluster::start(Level::ControlPlane)?;
        let processes = &process::children() - &others;
        cluster.kubectl(&["create", "namespace", NAMESPACE])?;
        // Where Pemdas keeps what is its own.
        cluster.kubectl(&["create", "namespace", "pemdas-system"])?;
        cluster.kubectl(&["create", "serviceaccount", ACCOUNT, "-n", NAMESPACE])?;
        cluster.kubectl(&[
            "annotate",
            "serviceaccount",
            ACCOUNT,
            "-n",
            NAMESPACE,
            "pemdas.dev/blueprints=*",
        ])?;
        let subject = format!("--serviceaccount={NAMESPACE}:{ACCOUNT}");
        cluster.kubectl(&[
            "create",
            "clusterrolebinding",
            ACCOUNT,
            "--clusterrole=cluster-admin",
            &subject,
        ])?;
        let token = cluster.kubectl(&["create", "token", ACCOUNT, "-n", NAMESPACE, "--duration=24h"])?;
        let mut config: Value = serde_json::from_slice(&std::fs::read(cluster.kubeconfig())?)?;
        for user in config["users"].as_array_mut().into_iter().flatten() {
            user["user"] = json!({ "token": token.trim() });
        }
        let kubeconfig = cluster.kubeconfig().with_file_name("operator.kubeconfig");
        std::fs::write(&kubeconfig, config.to_string())?;
        let admin = Kubeconfig::read_from(cluster.kubeconfig())?;
        let admin = Config::from_custom_kubeconfig(admin, &KubeConfigOptions::default()).await?;
        Ok(Self { client: Client::try_from(admin)?, cluster, kubeconfig, read: 0, processes })
    }

    /// The seconds of processor time that it has used.
    pub(crate) fn processor_seconds(&self) -> f64 {
        process::seconds_of(&self.processes)
    }

    /// A file beside the cluster's own.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.kubeconfig.parent().unwrap_or(Path::new(".")).join(name)
    }

    /// Gives the operator what it works from.
    pub(crate) fn prepare(&self, operator: &Operator, shape: Shape) -> Result<(), Error> {
        let manifest = match operator.preparation {
            Preparation::Definition => shape.definition(),
            Preparation::Blueprint => json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {
                    "name": shape.name(), "namespace": NAMESPACE,
                    "labels": { "pemdas.dev/blueprint": "true" },
                    "annotations": { "pemdas.dev/service-account": ACCOUNT },
                },
                "data": { "main.ncl": shape.blueprint() },
            }),
        };
        self.cluster.apply(&manifest.to_string())?;
        Ok(())
    }

    /// Waits until the kind is served.
    pub(crate) async fn served(&self, shape: Shape) -> Result<(), Error> {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let name = format!("{}.bench.pemdas.dev", shape.plural());
        let served = await_condition(definitions, &name, is_crd_established());
        tokio::time::timeout(Duration::from_secs(120), served).await??;
        Ok(())
    }

    /// What the operator has asked since the last time.
    pub(crate) fn requests(&mut self) -> Result<Vec<Request>, Error> {
        let (requests, end) = audit::read(&self.cluster.ready().audit_log, self.read)?;
        self.read = end;
        // A watch is one request, told when it begins and again when it ends.
        let counted = |it: &Request| if it.verb == "watch" { !it.complete } else { it.complete };
        Ok(requests.into_iter().filter(|it| it.user == USER && counted(it)).collect())
    }

    /// Waits until the operator asks nothing for a while; gives what it has asked since the last time.
    pub(crate) async fn quiet(&mut self) -> Result<Vec<Request>, Error> {
        let mut all = self.requests()?;
        let mut quiet = 0;
        for _ in 0..120 {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let more = self.requests()?;
            // Leases are renewed for ever.
            let busy = more.iter().any(|it| it.resource != "leases");
            quiet = if busy { 0 } else { quiet + 1 };
            all.extend(more);
            if quiet == 6 {
                return Ok(all);
            }
        }
        Err("the operator never comes to rest".into())
    }
}
