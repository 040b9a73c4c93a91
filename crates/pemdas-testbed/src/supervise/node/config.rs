//! The configurations of containerd, the network plugins, the kubelet, kube-proxy and the DNS server. Each is built as
//! data; the settings that look odd say what fails without them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::assets::PAUSE_IMAGE;
use crate::error::{Doing, Result};

/// The node's own address, in a network of its own.
pub(super) const NODE_ADDRESS: &str = "10.99.0.1";
/// Where pods ask for names.
pub(super) const DNS_SERVICE: &str = "10.96.0.10";
const POD_RANGE: &str = "10.244.0.0/24";
/// The socket of the container runtime.
pub(super) const RUNTIME: &str = "/run/containerd/containerd.sock";

/// Writes every configuration into `folder`.
pub(super) fn write_all(
    folder: &Path,
    cgroup: &str,
    proxy_kubeconfig: &Path,
    dns_kubeconfig: &Path,
) -> Result<()> {
    let toml = toml::to_string(&containerd(folder)).doing(|| "write containerd's configuration".into())?;
    write(&folder.join("containerd.toml"), &toml)?;
    let plugins = folder.join("cni");
    fs::create_dir_all(&plugins).doing(|| format!("make {}", plugins.display()))?;
    write(&plugins.join("10-testbed.conflist"), &network(folder).to_string())?;
    write(&folder.join("kubelet.json"), &kubelet(folder, cgroup).to_string())?;
    write(&folder.join("kube-proxy.json"), &kube_proxy(proxy_kubeconfig).to_string())?;
    write(&folder.join("Corefile"), &corefile(dns_kubeconfig))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).doing(|| format!("write {}", path.display()))
}

fn containerd(folder: &Path) -> Value {
    json!({
        "version": 2,
        "root": folder.join("containerd"),
        "state": "/run/containerd",
        "oom_score": 0,
        "grpc": { "address": RUNTIME },
        "plugins": { "io.containerd.grpc.v1.cri": {
            "sandbox_image": PAUSE_IMAGE,
            // Without the right to lower a process's OOM score, sandboxes would fail with a bare EOF.
            "restrict_oom_score_adj": true,
            "disable_apparmor": true,
            "containerd": {
                "snapshotter": "overlayfs",
                "default_runtime_name": "runc",
                "runtimes": { "runc": {
                    "runtime_type": "io.containerd.runc.v2",
                    "options": { "SystemdCgroup": false, "BinaryName": "runc" },
                }},
            },
            "cni": { "bin_dir": "/usr/lib/cni", "conf_dir": folder.join("cni") },
        }},
    })
}

fn network(folder: &Path) -> Value {
    json!({
        "cniVersion": "0.4.0",
        "name": "testbed",
        "plugins": [
            {
                "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
                "ipam": {
                    "type": "host-local",
                    "dataDir": folder.join("addresses"),
                    "ranges": [[{ "subnet": POD_RANGE }]],
                    "routes": [{ "dst": "0.0.0.0/0" }],
                },
            },
            { "type": "portmap", "capabilities": { "portMappings": true } },
        ],
    })
}

fn kubelet(folder: &Path, cgroup: &str) -> Value {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": NODE_ADDRESS,
        "port": 10250,
        "healthzPort": 10248,
        "readOnlyPort": 0,
        "authentication": {
            "anonymous": { "enabled": false },
            "webhook": { "enabled": false },
            "x509": { "clientCAFile": folder.join("pki/ca.crt") },
        },
        "authorization": { "mode": "AlwaysAllow" },
        "containerRuntimeEndpoint": format!("unix://{RUNTIME}"),
        "cgroupRoot": format!("/{cgroup}"),
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": true,
        "enforceNodeAllocatable": [],
        // Both are refused by default: old hierarchies of control groups, and a host with swap.
        "failCgroupV1": false,
        "failSwapOn": false,
        "oomScoreAdj": 0,
        "resolvConf": "",
        "clusterDNS": [DNS_SERVICE],
        "clusterDomain": "cluster.local",
        // There is no registry to pull a collected image from again.
        "imageGCHighThresholdPercent": 100,
        "evictionHard": { "memory.available": "100Mi" },
        "podLogsDir": folder.join("pod-logs"),
        "serializeImagePulls": false,
        // Tests kill what runs in pods, and have no five minutes until it starts again.
        "crashLoopBackOff": { "maxContainerRestartPeriod": "1s" },
        "syncFrequency": "10s",
        "fileCheckFrequency": "0s",
        "nodeStatusUpdateFrequency": "5s",
        "shutdownGracePeriod": "0s",
    })
}

fn kube_proxy(kubeconfig: &Path) -> Value {
    json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "bindAddress": "0.0.0.0",
        "mode": "nftables",
        "clusterCIDR": POD_RANGE,
        "hostnameOverride": "node-1",
        "clientConnection": { "kubeconfig": kubeconfig },
        // The limits of connection tracking belong to the host: leave them alone.
        "conntrack": { "maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s" },
    })
}

/// The DNS server's configuration has a syntax of its own.
fn corefile(kubeconfig: &Path) -> String {
    format!(
        ".:53 {{\n  errors\n  ready {NODE_ADDRESS}:8181\n  cache 5\n  kubernetes cluster.local in-addr.arpa {{\n    \
         kubeconfig {}\n    pods insecure\n  }}\n}}\n",
        kubeconfig.display()
    )
}

/// The DNS server runs beside the pods, not in one: a Service without a selector leads to it.
pub(super) fn dns_objects() -> [(&'static str, Value); 2] {
    let ports = json!([
        { "name": "dns", "port": 53, "protocol": "UDP" },
        { "name": "dns-tcp", "port": 53, "protocol": "TCP" },
    ]);
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": "kube-dns", "namespace": "kube-system" },
        "spec": { "clusterIP": DNS_SERVICE, "ports": ports },
    });
    let endpoints = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "name": "kube-dns-1", "namespace": "kube-system",
            "labels": { "kubernetes.io/service-name": "kube-dns" },
        },
        "addressType": "IPv4",
        "ports": ports,
        "endpoints": [{ "addresses": [NODE_ADDRESS], "conditions": { "ready": true } }],
    });
    [
        ("/api/v1/namespaces/kube-system/services", service),
        ("/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices", endpoints),
    ]
}
