//! Nothing outlives its owner, however the owner ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::node_level_can_run;
use pemdas_testbed::{Cluster, Level};

/// An owner in a process of its own, which a test can kill.
struct Owner {
    process: Child,
    folder: PathBuf,
}

impl Owner {
    fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_testbed"))
            .arg("up")
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let kubeconfig = output
            .lines()
            .map_while(Result::ok)
            .find_map(|line| line.trim().strip_prefix("export KUBECONFIG=").map(PathBuf::from))
            .expect("the cluster did not start");
        Self { process, folder: kubeconfig.parent().unwrap().to_path_buf() }
    }

    /// Everything that would tell of this cluster: processes that name its folder, the folder, control groups.
    fn traces(&self) -> Vec<String> {
        traces(&self.folder)
    }
}

fn traces(folder: &Path) -> Vec<String> {
    let name = folder.file_name().unwrap().to_str().unwrap();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mounts = fs::read_to_string(entry.path().join("mountinfo")).unwrap_or_default();
        if String::from_utf8_lossy(&command).contains(name) || mounts.contains(name) {
            found.push(format!("process {}", entry.path().display()));
        }
    }
    if folder.exists() {
        found.push(format!("folder {}", folder.display()));
    }
    for hierarchy in fs::read_dir("/sys/fs/cgroup").into_iter().flatten().filter_map(Result::ok) {
        if hierarchy.path().join(name).exists() {
            found.push(format!("control group in {}", hierarchy.path().display()));
        }
    }
    found
}

/// What is left when nothing more goes away.
fn left_behind(folder: &Path) -> Vec<String> {
    for _ in 0..600 {
        if traces(folder).is_empty() {
            return Vec::new();
        }
        sleep(Duration::from_millis(100));
    }
    traces(folder)
}

#[test]
fn nothing_outlives_an_owner_that_is_killed() {
    let mut owner = Owner::start(&[]);
    assert!(owner.traces().len() >= 6, "a living cluster leaves traces: {:?}", owner.traces());
    owner.process.kill().unwrap();
    owner.process.wait().unwrap();
    assert_eq!(left_behind(&owner.folder), [""; 0]);
}

#[test]
fn nothing_outlives_an_owner_that_panics() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let owner = std::thread::spawn(move || {
        let cluster = Cluster::start(Level::ControlPlane).unwrap();
        sender.send(cluster.ready().folder.clone()).unwrap();
        panic!("as a test does that fails");
    });
    let folder = receiver.recv().unwrap();
    assert!(owner.join().is_err());
    assert_eq!(left_behind(&folder), [""; 0]);
}

#[test]
fn a_killed_supervisor_takes_its_processes_along_and_the_next_start_its_folder() {
    let cluster = Cluster::start(Level::ControlPlane).unwrap();
    let folder = cluster.ready().folder.clone();
    let supervisor = cluster.ready().supervisor.to_string();
    assert!(Command::new("kill").args(["-KILL", &supervisor]).status().unwrap().success());
    drop(cluster);
    let next = Cluster::start(Level::ControlPlane).unwrap();
    assert_eq!(left_behind(&folder), [""; 0]);
    assert!(next.kubectl(&["get", "nodes"]).unwrap().contains("node-1"));
}

#[test]
fn nothing_of_a_node_with_running_pods_outlives_an_owner_that_is_killed() {
    if !node_level_can_run() {
        return;
    }
    let mut owner = Owner::start(&["--node"]);
    let kubectl = |arguments: &[&str]| {
        let program = fs::read_to_string(owner.folder.join("spec.json")).unwrap();
        let spec: serde_json::Value = serde_json::from_str(&program).unwrap();
        let status = Command::new(spec["programs"]["kubectl"].as_str().unwrap())
            .args(arguments)
            .env("KUBECONFIG", owner.folder.join("kubeconfig"))
            .status();
        assert!(status.unwrap().success());
    };
    let image = "--image=testbed.example/workload:1";
    kubectl(&["run", "sleeper", image, "--restart=Never", "--command", "--", "sleep", "100000"]);
    kubectl(&["wait", "--for=condition=Ready", "pod/sleeper", "--timeout=120s"]);
    let interfaces = interfaces();
    owner.process.kill().unwrap();
    owner.process.wait().unwrap();
    assert_eq!(left_behind(&owner.folder), [""; 0]);
    assert_eq!(interfaces, self::interfaces(), "the host's interfaces are as they were");
}

fn interfaces() -> String {
    fs::read_to_string("/proc/net/dev").unwrap().lines().filter_map(|line| line.split(':').next()).collect()
}
