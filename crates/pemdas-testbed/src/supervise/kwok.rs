//! The played node of the control-plane level: kwok answers for it and for the pods on it. Pods become ready at once,
//! pods of Jobs complete.

use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::control_plane::ControlPlane;
use super::spec::Programs;
use crate::error::Result;

/// Starts kwok, gives it a node, and waits until the node is ready and pods may be made.
pub(super) fn start(cluster: &mut ControlPlane, programs: &Programs, folder: &std::path::Path) -> Result<()> {
    let config = cluster.pki.kubeconfig("testbed:kwok", &cluster.server, &folder.join("kwok.kubeconfig"))?;
    let mut kwok = Command::new(programs.path("kwok")?);
    // Its configuration is looked for under HOME: the person's own must not leak in.
    kwok.env_clear().env("HOME", folder).current_dir(folder);
    kwok.arg(format!("--kubeconfig={}", config.display()));
    kwok.args([
        "--manage-all-nodes=false",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        // Without a lease the node is taken for dead after a minute, and its pods for unready.
        "--node-lease-duration-seconds=40",
    ]);
    cluster.processes.start("kwok", &mut kwok)?;
    cluster.api.create("/api/v1/nodes", &node())?;
    let api = cluster.api.clone();
    cluster.processes.wait_until("the played node is ready", Duration::from_secs(60), || {
        Ok(node_is_ready(api.get("/api/v1/nodes/node-1").ok().flatten().as_ref())
            && api.answers("/api/v1/namespaces/default/serviceaccounts/default"))
    })
}

/// Whether a Node's condition `Ready` is true.
pub(super) fn node_is_ready(node: Option<&serde_json::Value>) -> bool {
    node.and_then(|node| node.pointer("/status/conditions")?.as_array()).is_some_and(|conditions| {
        conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    })
}

fn node() -> serde_json::Value {
    let capacity = json!({ "cpu": "1000", "memory": "1Ti", "pods": "100000" });
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "node-1",
            "annotations": { "kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0" },
            "labels": { "kubernetes.io/hostname": "node-1", "kubernetes.io/os": "linux", "type": "kwok" },
        },
        "status": { "allocatable": capacity, "capacity": capacity },
    })
}
