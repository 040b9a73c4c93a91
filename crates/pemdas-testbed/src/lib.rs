//! A real Kubernetes for tests, and for a person by hand, in two levels.
//!
//! - **Control plane**: etcd, the API server (with RBAC and an audit log), the controller manager, the scheduler, and
//!   kwok, which plays a node and its pods. It needs no rights; several run side by side.
//! - **Node**: the same with a real kubelet, containerd, network plugins, kube-proxy and DNS, in namespaces of its
//!   own, where pods really run. It needs root.
//!
//! **Invariant.** No process, mount, namespace, control group or folder outlives its owner, however the owner ends.
//!
//! ```no_run
//! let cluster = pemdas_testbed::Cluster::start(pemdas_testbed::Level::ControlPlane)?;
//! println!("{}", cluster.kubectl(&["get", "nodes"])?);
//! # Ok::<(), pemdas_testbed::Error>(())
//! ```

pub mod assets;
pub mod audit;
pub mod client;
mod cluster;
mod command;
mod error;
mod kinds;
pub mod release;
mod say;
pub mod supervise;

pub use cluster::Cluster;
pub use command::end_soon;
pub use error::{Error, Result};

/// How much of a cluster is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Real control plane, played node.
    ControlPlane,
    /// Real control plane, real node.
    Node,
}
