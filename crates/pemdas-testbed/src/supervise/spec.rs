//! What a supervisor hands to the process inside the node's namespaces, and tells its owner: as JSON.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::assets::Assets;
use crate::error::{Error, Result};

/// The paths of the cluster's programs by their names.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Programs(BTreeMap<String, PathBuf>);

impl Programs {
    pub(crate) fn of(assets: &Assets) -> Self {
        Self(assets.programs().map(|(name, path)| (name.to_owned(), path.to_path_buf())).collect())
    }

    pub(crate) fn path(&self, name: &str) -> Result<&Path> {
        let known = self.0.get(name).map(PathBuf::as_path);
        known.ok_or_else(|| Error::new(format!("the program {name} is no part of this level")))
    }
}

/// What the process inside the node's namespaces needs to know.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NodeSpec {
    pub(crate) programs: Programs,
    /// The cluster's own folder.
    pub(crate) folder: PathBuf,
    /// The folders of the host that must be seen inside under the same path.
    pub(crate) visible: Vec<PathBuf>,
    pub(crate) rootfs: PathBuf,
    pub(crate) images: Vec<PathBuf>,
    /// The name of the node's group of processes in the kernel's hierarchy.
    pub(crate) cgroup: String,
}

/// How to reach a cluster that is ready.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ready {
    /// A kubeconfig of the admin.
    pub kubeconfig: PathBuf,
    /// The address of the API server.
    pub server: String,
    /// A kubectl of the cluster's own version.
    pub kubectl: PathBuf,
    /// The API server's audit log, one JSON event a line.
    pub audit_log: PathBuf,
    /// The folder with the logs of every process.
    pub logs: PathBuf,
    /// The cluster's own folder, gone when it ends.
    pub folder: PathBuf,
    /// The supervisor's process.
    pub supervisor: u32,
    /// A process inside the node's namespaces, on the level that has one.
    pub node_process: Option<u32>,
    /// The archive of the image that other images are made over, on the same level.
    pub workload: Option<PathBuf>,
    /// How long it took from the start, with everything in the cache.
    pub milliseconds: u64,
}
