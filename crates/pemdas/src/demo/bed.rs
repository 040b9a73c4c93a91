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
use pemdas_sim::{Cluster, Key, Method, Request, Resource, Scenario, Time};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

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

/// What became of an object that was to be created.
pub(crate) enum Made {
    /// It is there.
    Created,
    /// Its kind is not served yet.
    NotServed,
    /// The server does not take it.
    Refused(String),
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
        self.with(|cluster| cluster.server().kinds().of_kind(api_version, kind))
    }

    /// An object as it is.
    pub(crate) fn object(&self, api_version: &str, key: &ObjectKey) -> Option<Arc<Value>> {
        let resource = self.served(api_version, &key.kind.kind)?;
        let namespace = Some(key.namespace.as_str()).filter(|it| !it.is_empty());
        self.with(|cluster| {
            cluster.server().store().get(&Key::new(&resource.id(), namespace, &key.name)).cloned()
        })
    }

    /// Creates an object, in the namespace `default` where it names none; a namespace that is not there is made.
    pub(crate) fn create(&self, object: &Value) -> Made {
        let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let Some(resource) = self.served(text("/apiVersion"), text("/kind")) else { return Made::NotServed };
        let root = if resource.group.is_empty() { "api" } else { "apis" };
        let mut object = object.clone();
        let mut scope = String::new();
        if resource.namespaced {
            let namespace = match text("/metadata/namespace") {
                "" => "default",
                named => named,
            };
            self.need_namespace(namespace);
            scope = format!("/namespaces/{namespace}");
            object["metadata"]["namespace"] = json!(namespace);
        }
        let path = format!("/{root}/{}{scope}/{}", resource.api_version(), resource.plural);
        self.post(&path, &object)
    }

    fn need_namespace(&self, name: &str) {
        let missing = self.served("v1", "Namespace").is_some_and(|it| {
            self.with(|all| all.server().store().get(&Key::new(&it.id(), None, name)).is_none())
        });
        if missing {
            let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            self.post("/api/v1/namespaces", &body);
        }
    }

    fn post(&self, path: &str, body: &Value) -> Made {
        let request =
            Request::new(Method::Post, path).json("application/json", body).header("user-agent", "demo");
        match self.with(|cluster| cluster.handle(&request)).whole() {
            Some(response) if response.status < 300 => Made::Created,
            // A namespace that several files speak of.
            Some(response) if response.status == 409 => Made::Created,
            Some(response) => Made::Refused(response.body["message"].as_str().unwrap_or_default().to_owned()),
            None => Made::Refused("it is no object".to_owned()),
        }
    }
}
