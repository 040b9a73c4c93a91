//! The supervisor: a process of its own for each cluster, which starts it, watches it, and ends it when its owner
//! ends, however the owner ends.
//!
//! The owner holds the other end of the supervisor's standard input; when the kernel closes it, the cluster goes.
//! Should the supervisor itself be killed, the kernel ends its children, and the next start removes its folder.

mod control_plane;
mod kwok;
pub(crate) mod node;
mod pki;
mod ports;
mod process;
mod run_dir;
mod spec;

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

pub use pki::ADMIN;
pub use spec::Ready;

use crate::Level;
use crate::assets::Assets;
use crate::assets::cache::Cache;
use crate::command::going_on;
use crate::error::{Error, Result};
use control_plane::{ControlPlane, Place};
use ports::Ports;
use process::Processes;
use run_dir::RunDir;
use spec::Programs;

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How much of a cluster.
    pub level: Level,
    /// The port of the API server on the loopback interface; any free one if none is given.
    pub port: Option<u16>,
}

/// Runs one cluster: starts it, announces it, and holds it until `end` says so or one of its processes dies.
pub fn run(options: Options, end: &Receiver<()>, announce: impl FnOnce(&Ready) -> Result<()>) -> Result<()> {
    if options.level == Level::Node {
        node::possible()?;
    }
    let cache = Cache::of_user()?;
    let assets = Assets::of(options.level, &cache)?;
    going_on()?;
    let started = Instant::now();
    let folder = RunDir::create()?;
    match options.level {
        Level::ControlPlane => {
            let (mut cluster, ports) = start_control_plane(options, &assets, &folder)?;
            let path = folder.path();
            let ready = Ready {
                kubeconfig: cluster.pki.kubeconfig(ADMIN, &cluster.server, &path.join("kubeconfig"))?,
                server: format!("https://127.0.0.1:{}", ports.api),
                kubectl: assets.program("kubectl")?.to_path_buf(),
                audit_log: path.join("audit.log"),
                logs: path.join("logs"),
                folder: path.to_path_buf(),
                supervisor: std::process::id(),
                node_process: None,
                workload: None,
                milliseconds: milliseconds_since(started),
            };
            announce(&ready)?;
            hold(&mut cluster.processes, end)
        }
        Level::Node => node::run(options, &assets, &cache, &folder, started, end, announce),
    }
}

fn milliseconds_since(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Between looking for a free port and a server's taking it, somebody else may take it: then others are tried.
fn start_control_plane(options: Options, assets: &Assets, folder: &RunDir) -> Result<(ControlPlane, Ports)> {
    let programs = Programs::of(assets);
    let mut tries = 5;
    loop {
        let ports = Ports::free(options.port)?;
        let place = Place { programs: &programs, folder: folder.path(), ports, node_address: None };
        let started = place.start().and_then(|mut cluster| {
            kwok::start(&mut cluster, &programs, folder.path())?;
            Ok(cluster)
        });
        match started {
            Ok(cluster) => return Ok((cluster, ports)),
            Err(error) if tries > 1 && error.to_string().contains("address already in use") => {
                tries -= 1;
                let _ = std::fs::remove_dir_all(folder.path().join("etcd"));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Holds the cluster until it is time to end, and fails if one of its processes ends first.
fn hold(processes: &mut Processes, end: &Receiver<()>) -> Result<()> {
    loop {
        match end.recv_timeout(Duration::from_millis(500)) {
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => processes.all_alive()?,
        }
    }
}

/// Says clearly why the node level cannot run here, if it cannot.
pub fn node_is_possible() -> Result<()> {
    node::possible()
}

/// The part of a node's supervisor that runs inside its namespaces.
pub fn run_inside(spec: &std::path::Path, end: &Receiver<()>) -> Result<()> {
    let text = std::fs::read_to_string(spec)
        .map_err(|cause| Error::new(format!("cannot read the spec: {cause}")))?;
    let spec = serde_json::from_str(&text)
        .map_err(|cause| Error::new(format!("cannot understand the spec: {cause}")))?;
    node::inside::run(&spec, end)
}
