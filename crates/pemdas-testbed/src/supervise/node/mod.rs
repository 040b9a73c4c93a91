//! The node level, seen from outside: a process in mount, network, process and name namespaces of its own holds the
//! whole cluster. When that first process of the namespace ends, the kernel ends everything in it, pods included,
//! and with the last process its mounts and interfaces are gone.

pub(crate) mod cgroups;
mod config;
mod forward;
pub(super) mod inside;
mod rootfs;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::run_dir::RunDir;
use super::spec::{NodeSpec, Programs, Ready};
use super::{Options, milliseconds_since, ports};
use crate::assets::Assets;
use crate::assets::cache::Cache;
use crate::assets::go::which;
use crate::command::{dies_with_us, end_soon, going_on, kill_group};
use crate::error::{Doing, Error, Result};

/// What the process inside says on its standard output, a line each.
#[derive(Debug, Serialize, Deserialize)]
enum Message {
    /// Its process as the host counts it.
    Started { process: u32 },
    /// The cluster is ready.
    Ready { token: String },
}

/// Says clearly why the node level cannot run here, if it cannot.
pub(crate) fn possible() -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Err(Error::new("the node level needs root: it makes namespaces, mounts and control groups")
            .hint("run it as root, or use the control-plane level, which needs no rights"));
    }
    if which("unshare").is_none() {
        return Err(Error::new("the node level needs `unshare` of util-linux on the PATH"));
    }
    Ok(())
}

/// Runs the node level until `end`.
pub(super) fn run(
    options: Options,
    assets: &Assets,
    cache: &Cache,
    folder: &RunDir,
    started: Instant,
    end: &Receiver<()>,
    announce: impl FnOnce(&Ready) -> Result<()>,
) -> Result<()> {
    let listener = ports::listener(options.port.unwrap_or(0))?;
    let port = listener.local_addr().doing(|| "learn the port".into())?.port();
    let mut inside = Inside::start(assets, cache, folder)?;
    let Message::Started { process } = inside.next_message()? else {
        return Err(Error::new("the process inside the node's namespaces did not say who it is"));
    };
    inside.first_process = Some(process);
    let Message::Ready { token } = inside.next_message()? else {
        return Err(Error::new("the process inside the node's namespaces did not become ready"));
    };
    forward::start(listener, process, inside::API)?;
    let server = format!("https://127.0.0.1:{port}");
    let path = folder.path();
    let ready = Ready {
        kubeconfig: write_kubeconfig(folder, &server, &token)?,
        server,
        kubectl: assets.program("kubectl")?.to_path_buf(),
        audit_log: path.join("audit.log"),
        logs: path.join("logs"),
        folder: path.to_path_buf(),
        supervisor: std::process::id(),
        node_process: Some(process),
        workload: assets.node.as_ref().map(|it| it.workload.clone()),
        milliseconds: milliseconds_since(started),
    };
    announce(&ready)?;
    inside.hold(end)
}

fn write_kubeconfig(folder: &RunDir, server: &str, token: &str) -> Result<std::path::PathBuf> {
    super::pki::write_kubeconfig(&super::pki::Access {
        user: super::ADMIN,
        token,
        server,
        ca: &folder.path().join("pki/ca.crt"),
        path: &folder.path().join("kubeconfig"),
    })
}

/// The process inside, and how to end it.
struct Inside {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    first_process: Option<u32>,
    cgroup: String,
}

impl Inside {
    fn start(assets: &Assets, cache: &Cache, folder: &RunDir) -> Result<Self> {
        let node = assets.node.as_ref().ok_or_else(|| Error::new("the node's assets are missing"))?;
        let spec = NodeSpec {
            programs: Programs::of(assets),
            folder: folder.path().to_path_buf(),
            visible: assets.folders(cache),
            rootfs: node.rootfs.clone(),
            images: node.images.clone(),
            cgroup: folder.name(),
        };
        let spec_file = folder.path().join("spec.json");
        let text = serde_json::to_string_pretty(&spec).doing(|| "write the spec".into())?;
        std::fs::write(&spec_file, text).doing(|| format!("write {}", spec_file.display()))?;
        cgroups::create(&spec.cgroup);
        let us = std::env::current_exe().doing(|| "find our own program".into())?;
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--net", "--pid", "--ipc", "--uts", "--propagation", "private"])
            .args(["--fork", "--kill-child=SIGKILL", "--"])
            .arg(us)
            .arg("inside")
            .arg(spec_file);
        let spawned = dies_with_us(&mut command).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.doing(|| "start a process in namespaces of its own".into())?;
        let output = child.stdout.take().ok_or_else(|| Error::new("no pipe to the process inside"))?;
        Ok(Self { child, output: BufReader::new(output), first_process: None, cgroup: spec.cgroup })
    }

    /// The next thing the process inside says; its errors it has said itself on standard error.
    fn next_message(&mut self) -> Result<Message> {
        let mut line = String::new();
        self.output
            .read_line(&mut line)
            .doing(|| "listen to the process inside the node's namespaces".into())?;
        going_on()?;
        if line.is_empty() {
            return Err(Error::new("the node did not start; what it said stands above"));
        }
        serde_json::from_str(&line).doing(|| "understand the process inside the node's namespaces".into())
    }

    fn hold(&mut self, end: &Receiver<()>) -> Result<()> {
        loop {
            match end.recv_timeout(Duration::from_millis(500)) {
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {
                    if let Ok(Some(status)) = self.child.try_wait() {
                        return Err(Error::new(format!("the node ended by itself ({status}); see above")));
                    }
                }
            }
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        end_soon();
        // The first process of the namespace ends when its standard input closes. The kernel lets it go only when
        // everything else in the namespace is gone: after the wait nothing of the node is left.
        drop(self.child.stdin.take());
        let patience = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && patience.elapsed() < Duration::from_secs(15) {
            std::thread::sleep(Duration::from_millis(20));
        }
        if matches!(self.child.try_wait(), Ok(None)) {
            if let Some(process) = self.first_process {
                kill_group(process);
            }
            kill_group(self.child.id());
        }
        let _ = self.child.wait();
        cgroups::remove(&self.cgroup);
    }
}
