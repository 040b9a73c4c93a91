//! The node level, seen from inside: the first process of the node's namespaces.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, waitpid};

use super::config::{self, NODE_ADDRESS, RUNTIME};
use super::{Message, rootfs};
use crate::command::run as run_command;
use crate::error::{Doing, Error, Result};
use crate::supervise::ADMIN;
use crate::supervise::control_plane::{ControlPlane, Place};
use crate::supervise::kwok::node_is_ready;
use crate::supervise::ports::Ports;
use crate::supervise::process::Processes;
use crate::supervise::spec::NodeSpec;

/// Where the API server listens inside. The ports are the namespace's own: nobody else can have taken them.
pub(super) const API: &str = "10.99.0.1:6443";
const PORTS: Ports = Ports { api: 6443, etcd_client: 2379, etcd_peer: 2380 };

/// Starts the node, says so, and holds it until `end`. When this process ends, everything in its namespaces does.
pub(crate) fn run(spec: &NodeSpec, end: &Receiver<()>) -> Result<()> {
    tell(&Message::Started { process: process_as_the_host_counts()? })?;
    rootfs::enter(spec)?;
    set_up_network()?;
    let mut runtime = Processes::new(&spec.folder.join("logs"));
    start_containerd(&mut runtime, spec)?;
    // Unpacking images and starting the control plane take about as long: at the same time they take half of it.
    let images = spec.images.clone();
    let import = thread::spawn(move || images.iter().try_for_each(|image| import_image(image)));
    let place = Place {
        programs: &spec.programs,
        folder: &spec.folder,
        ports: PORTS,
        node_address: Some(NODE_ADDRESS),
    };
    let mut cluster = place.start()?;
    start_node(&mut cluster, spec)?;
    import.join().map_err(|_| Error::new("the import of images broke off"))??;
    wait_for_node(&mut cluster)?;
    tell(&Message::Ready { token: cluster.pki.token(ADMIN).to_owned() })?;
    loop {
        match end.recv_timeout(Duration::from_millis(500)) {
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {
                runtime.all_alive()?;
                cluster.processes.all_alive()?;
                reap_orphans();
            }
        }
    }
}

fn tell(message: &Message) -> Result<()> {
    let line = serde_json::to_string(message).doing(|| "speak to the supervisor".into())?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).doing(|| "speak to the supervisor".into())
}

/// Until the node has mounted its own, /proc is the host's and counts as the host does.
fn process_as_the_host_counts() -> Result<u32> {
    let link = fs::read_link("/proc/self").doing(|| "read /proc/self".into())?;
    link.to_string_lossy().parse().doing(|| "understand /proc/self".into())
}

fn set_up_network() -> Result<()> {
    for arguments in [
        "link set lo up",
        "link add node0 type bridge",
        "addr add 10.99.0.1/24 dev node0",
        "link set node0 up",
        // Pods and services need some default route, though nothing lies behind it.
        "route add default via 10.99.0.254 dev node0",
    ] {
        run_command(Command::new("/sbin/ip").args(arguments.split(' ')), &format!("ip {arguments}"))?;
    }
    write_setting("/proc/sys/net/ipv4/ip_forward")?;
    // Where the kernel has no such setting, bridged packets pass the firewall's rules anyway or not at all; the
    // services' own addresses, which pods use, do not depend on it.
    let _ = write_setting("/proc/sys/net/bridge/bridge-nf-call-iptables");
    fs::write("/proc/sys/kernel/hostname", "node-1").doing(|| "name the node".into())
}

fn write_setting(path: &str) -> Result<()> {
    fs::write(path, "1").doing(|| format!("set {path}"))
}

fn start_containerd(runtime: &mut Processes, spec: &NodeSpec) -> Result<()> {
    let [proxy, dns] = ["kube-proxy", "dns"].map(|name| spec.folder.join(format!("{name}.kubeconfig")));
    config::write_all(&spec.folder, &spec.cgroup, &proxy, &dns)?;
    let mut containerd = Command::new("/usr/bin/containerd");
    containerd.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    containerd.arg("--config").arg(spec.folder.join("containerd.toml"));
    runtime.start("containerd", &mut containerd)?;
    runtime.wait_until("containerd answers", Duration::from_secs(60), || {
        Ok(Path::new(RUNTIME).exists() && run_command(ctr().arg("version"), "ctr").is_ok())
    })
}

fn ctr() -> Command {
    let mut ctr = Command::new("/usr/bin/ctr");
    ctr.env_clear().args(["--address", RUNTIME, "--namespace", "k8s.io"]);
    ctr
}

fn import_image(archive: &Path) -> Result<()> {
    let what = format!("importing the image {}", archive.display());
    run_command(ctr().args(["images", "import", "--snapshotter", "overlayfs"]).arg(archive), &what).map(drop)
}

fn start_node(cluster: &mut ControlPlane, spec: &NodeSpec) -> Result<()> {
    let folder = &spec.folder;
    let file = |user: &str, name: &str| {
        cluster.pki.kubeconfig(user, &cluster.server, &folder.join(format!("{name}.kubeconfig")))
    };
    let kubelet_config = file("system:node:node-1", "kubelet")?;
    file("system:kube-proxy", "kube-proxy")?;
    file("testbed:dns", "dns")?;
    let program = |name: &str| {
        let mut command = Command::new(spec.programs.path(name)?);
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").current_dir(folder);
        Ok::<_, Error>(command)
    };
    let argument = |flag: &str, name: &str| format!("--{flag}={}", folder.join(name).display());

    let mut kubelet = program("kubelet")?;
    kubelet
        .arg(argument("config", "kubelet.json"))
        .arg(format!("--kubeconfig={}", kubelet_config.display()))
        .args(["--hostname-override=node-1", &format!("--node-ip={NODE_ADDRESS}"), "--v=2"])
        .arg(argument("root-dir", "kubelet"))
        .arg(argument("cert-dir", "pki/kubelet"));
    cluster.processes.start("kubelet", &mut kubelet)?;
    let mut proxy = program("kube-proxy")?;
    cluster.processes.start("kube-proxy", proxy.arg(argument("config", "kube-proxy.json")))?;
    let mut dns = program("coredns")?;
    cluster.processes.start("coredns", dns.arg("-conf").arg(folder.join("Corefile")))?;
    config::dns_objects().iter().try_for_each(|(path, object)| cluster.api.create(path, object).map(drop))
}

fn wait_for_node(cluster: &mut ControlPlane) -> Result<()> {
    let api = cluster.api.clone();
    cluster.processes.wait_until("the node is ready", Duration::from_secs(120), || {
        Ok(node_is_ready(api.get("/api/v1/nodes/node-1").ok().flatten().as_ref())
            && api.answers("/api/v1/namespaces/default/serviceaccounts/default")
            && dns_is_ready())
    })
}

fn dns_is_ready() -> bool {
    ureq::get(format!("http://{NODE_ADDRESS}:8181/ready")).call().is_ok()
}

/// The first process of a namespace inherits every orphan in it. Our own children are waited for by their names; the
/// rest (containers' shims, mostly) is collected here, else it would pile up.
fn reap_orphans() {
    for entry in fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok) {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw)
        else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let is_shim = stat.contains("(containerd-shim");
        if is_shim && stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z 1 ")) {
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}
