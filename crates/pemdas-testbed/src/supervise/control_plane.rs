//! etcd, the API server, the controller manager and the scheduler: the part that both levels share.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::pki::{ADMIN, Pki};
use super::ports::Ports;
use super::process::Processes;
use super::spec::Programs;
use crate::client::Client;
use crate::error::{Doing, Result};

/// The addresses of services, on both levels.
pub(crate) const SERVICE_RANGE: &str = "10.96.0.0/16";
/// The first of them, where pods find the API server.
const API_SERVICE: &str = "10.96.0.1";

/// Where a control plane lives.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(crate) programs: &'a Programs,
    pub(crate) folder: &'a Path,
    pub(crate) ports: Ports,
    /// The address of the node, on the level that has one: the API server listens there and trusts its kubelet.
    pub(crate) node_address: Option<&'a str>,
}

/// A running control plane.
#[derive(Debug)]
pub(crate) struct ControlPlane {
    pub(crate) processes: Processes,
    pub(crate) pki: Pki,
    pub(crate) api: Client,
    pub(crate) server: String,
}

impl Place<'_> {
    fn program(&self, name: &str) -> Result<Command> {
        let mut command = Command::new(self.programs.path(name)?);
        // Nothing of the person's environment steers the cluster.
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").current_dir(self.folder);
        Ok(command)
    }

    /// Starts everything and waits until the API server is ready.
    pub(crate) fn start(&self) -> Result<ControlPlane> {
        let mut processes = Processes::new(&self.folder.join("logs"));
        let mut names = vec![
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "127.0.0.1",
            API_SERVICE,
        ];
        names.extend(self.node_address);
        let pki = Pki::create(&self.folder.join("pki"), &names)?;
        let address = self.node_address.unwrap_or("127.0.0.1");
        let server = format!("https://{address}:{}", self.ports.api);
        let ca = pki.file("ca.crt");
        let ca = std::fs::read(&ca).doing(|| format!("read {}", ca.display()))?;
        let api = Client::new(&server, &ca, pki.token(ADMIN))?;

        processes.start("etcd", &mut self.etcd()?)?;
        processes.start("kube-apiserver", &mut self.api_server(&pki)?)?;
        let limit = Duration::from_secs(120);
        processes.wait_until("the API server is ready", limit, || Ok(api.answers("/readyz")))?;
        for (name, user) in [
            ("kube-controller-manager", "system:kube-controller-manager"),
            ("kube-scheduler", "system:kube-scheduler"),
        ] {
            let config = pki.kubeconfig(user, &server, &self.folder.join(format!("{name}.kubeconfig")))?;
            processes.start(name, &mut self.controller(name, &config, &pki)?)?;
        }
        Ok(ControlPlane { processes, pki, api, server })
    }

    fn etcd(&self) -> Result<Command> {
        let client = format!("http://127.0.0.1:{}", self.ports.etcd_client);
        let peer = format!("http://127.0.0.1:{}", self.ports.etcd_peer);
        let mut etcd = self.program("etcd")?;
        etcd.arg("--data-dir").arg(self.folder.join("etcd"));
        etcd.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        etcd.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        // The data need not survive a power failure: it does not even survive the cluster's end.
        etcd.args([
            "--initial-cluster",
            &format!("default={peer}"),
            "--unsafe-no-fsync",
            "--log-level",
            "warn",
        ]);
        Ok(etcd)
    }

    fn api_server(&self, pki: &Pki) -> Result<Command> {
        let policy = self.folder.join("audit-policy.json");
        // One event a request, when it has been answered: a count by user, verb and resource costs nothing more. Of what operators
        // patch, it has the body as well: all ServiceAccounts but those of Kubernetes' own controllers.
        let controllers =
            json!({ "level": "Metadata", "userGroups": ["system:serviceaccounts:kube-system"] });
        let patches =
            json!({ "level": "Request", "verbs": ["patch"], "userGroups": ["system:serviceaccounts"] });
        let rules = json!({ "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
            "omitStages": ["RequestReceived"], "rules": [controllers, patches, { "level": "Metadata" }] });
        std::fs::write(&policy, rules.to_string()).doing(|| format!("write {}", policy.display()))?;
        let file = |flag: &str, path: PathBuf| format!("--{flag}={}", path.display());
        let mut server = self.program("kube-apiserver")?;
        server
            .arg(format!("--etcd-servers=http://127.0.0.1:{}", self.ports.etcd_client))
            .arg(format!("--secure-port={}", self.ports.api))
            .arg(format!("--service-cluster-ip-range={SERVICE_RANGE}"))
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .arg("--authorization-mode=Node,RBAC")
            .arg("--allow-privileged=true")
            .arg(file("tls-cert-file", pki.file("apiserver.crt")))
            .arg(file("tls-private-key-file", pki.file("apiserver.key")))
            .arg(file("client-ca-file", pki.file("ca.crt")))
            .arg(file("service-account-key-file", pki.file("service-accounts.pub")))
            .arg(file("service-account-signing-key-file", pki.file("service-accounts.key")))
            .arg(file("token-auth-file", pki.file("tokens.csv")))
            .arg(file("audit-policy-file", policy))
            .arg(file("audit-log-path", self.folder.join("audit.log")));
        match self.node_address {
            Some(address) => server
                .arg("--bind-address=0.0.0.0")
                .arg(format!("--advertise-address={address}"))
                .arg("--kubelet-preferred-address-types=InternalIP")
                .arg(file("kubelet-client-certificate", pki.file("kubelet-client.crt")))
                .arg(file("kubelet-client-key", pki.file("kubelet-client.key"))),
            // A loopback address cannot be an endpoint of the service `kubernetes`, and no pod would use it.
            None => server
                .arg("--bind-address=127.0.0.1")
                .arg("--advertise-address=127.0.0.1")
                .arg("--endpoint-reconciler-type=none"),
        };
        Ok(server)
    }

    fn controller(&self, name: &'static str, config: &Path, pki: &Pki) -> Result<Command> {
        let config = config.display();
        let mut controller = self.program(name)?;
        controller
            .arg(format!("--kubeconfig={config}"))
            .arg(format!("--authentication-kubeconfig={config}"))
            .arg(format!("--authorization-kubeconfig={config}"))
            .args(["--leader-elect=false", "--secure-port=0"])
            // The client's own throttle, not the cluster, would be what a test waits for.
            .args(["--kube-api-qps=500", "--kube-api-burst=1000"]);
        if name == "kube-controller-manager" {
            controller
                .arg("--use-service-account-credentials=true")
                .arg(format!(
                    "--service-account-private-key-file={}",
                    pki.file("service-accounts.key").display()
                ))
                .arg(format!("--root-ca-file={}", pki.file("ca.crt").display()));
        }
        Ok(controller)
    }
}
