//! The simulated cluster of a demonstration, at a port for `kubectl`.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use pemdas_box::{Clock, Host, Port};
use pemdas_core::world::ObjectKey;
use pemdas_sim::{Cluster, Resource, Scenario, Time};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::trial::person::{Made, Person};

/// A kubeconfig that goes when the demonstration ends.
enum Kubeconfig {
    /// In a folder of its own.
    Temporary(tempfile::TempDir),
    /// Where somebody wants it.
    Chosen(PathBuf),
}

impl Kubeconfig {
    fn path(&self) -> PathBuf {
        match self {
            Self::Temporary(folder) => folder.path().join("kubeconfig"),
            Self::Chosen(path) => path.clone(),
        }
    }

    fn write(place: Option<&Path>, text: &str) -> io::Result<Self> {
        // One that is there is somebody's: it may lead to a real cluster.
        let write = |path: &Path| {
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
            file.and_then(|mut file| file.write_all(text.as_bytes()))
        };
        if let Some(path) = place {
            let path = std::path::absolute(path)?;
            write(&path)?;
            return Ok(Self::Chosen(path));
        }
        let folder = tempfile::Builder::new().prefix("pemdas-demo-").tempdir()?;
        write(&folder.path().join("kubeconfig"))?;
        Ok(Self::Temporary(folder))
    }
}

impl Drop for Kubeconfig {
    fn drop(&mut self) {
        if let Self::Chosen(path) = self {
            // Nobody is left who could do something about it.
            let _removed = fs::remove_file(path);
        }
    }
}

/// Why there is no bed.
pub(crate) enum Trouble {
    /// The port cannot be had.
    Port(io::Error),
    /// The kubeconfig cannot be written.
    Kubeconfig(io::Error),
    /// Something of this machine.
    Here(io::Error),
}

/// A simulated cluster, served at a port of this machine.
pub(crate) struct Bed {
    host: Host,
    _port: Port,
    kubeconfig: Kubeconfig,
    // Dropped last: the others live in it.
    runtime: Runtime,
}

impl Bed {
    /// A cluster whose time passes so many times as fast as here.
    pub(crate) fn new(
        scenario: Scenario,
        speed: f64,
        port: u16,
        kubeconfig: Option<&Path>,
    ) -> Result<Self, Trouble> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Trouble::Here)?;
        let (host, port) = runtime
            .block_on(async {
                let cluster = Cluster::new(1, Time(crate::live::now()), scenario);
                let host = Host::new(cluster, Clock::Wall { speed });
                Ok((host.clone(), Port::open(host, port).await?))
            })
            .map_err(Trouble::Port)?;
        let kubeconfig = Kubeconfig::write(kubeconfig, &port.kubeconfig()).map_err(Trouble::Kubeconfig)?;
        Ok(Self { host, _port: port, kubeconfig, runtime })
    }

    /// Where the kubeconfig is.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.kubeconfig.path()
    }

    /// The runtime that the cluster lives in.
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The cluster, for another thread.
    pub(crate) fn host(&self) -> Host {
        self.host.clone()
    }

    /// Does something with the cluster.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Cluster) -> T) -> T {
        self.host.with(act)
    }

    /// How a kind is served, if it is.
    pub(crate) fn served(&self, api_version: &str, kind: &str) -> Option<Resource> {
        self.person().served(api_version, kind)
    }

    /// An object as it is.
    pub(crate) fn object(&self, api_version: &str, key: &ObjectKey) -> Option<Arc<Value>> {
        self.person().object(api_version, &key.kind.kind, &key.namespace, &key.name)
    }

    /// Applies an object as `kubectl apply --server-side` does, so that somebody can apply it again with that.
    pub(crate) fn apply(&self, object: &Value) -> Made {
        self.person().apply(object)
    }

    /// Whether an object that was applied still exists.
    pub(crate) fn has(&self, object: &Value) -> bool {
        let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let namespace = match text("/metadata/namespace") {
            "" => "default",
            named => named,
        };
        let namespaced = self.served(text("/apiVersion"), text("/kind")).is_some_and(|it| it.namespaced);
        let namespace = if namespaced { namespace } else { "" };
        self.person().object(text("/apiVersion"), text("/kind"), namespace, text("/metadata/name")).is_some()
    }

    fn person(&self) -> Person {
        Person::new(self.host.clone(), "kubectl")
    }
}
