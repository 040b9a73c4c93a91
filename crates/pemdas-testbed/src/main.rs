//! `testbed`: a real Kubernetes for a person by hand, and the supervisor of the clusters that tests ask for.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this program speaks to the terminal")]

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use clap::{Parser, Subcommand};
use pemdas_testbed::assets::cache::Cache;
use pemdas_testbed::assets::{self, Assets};
use pemdas_testbed::release::image::{self, About};
use pemdas_testbed::release::sbom;
use pemdas_testbed::supervise::{self, Options, Ready};
use pemdas_testbed::{Cluster, Error, Level, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// A real Kubernetes on this machine, to test against.
#[derive(Debug, Parser)]
#[command(name = "testbed", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Start a cluster and hold it until Ctrl-C; what is missing is built first, once.
    Up {
        /// With a real node, where pods really run (needs root); otherwise kwok plays nodes and pods.
        #[arg(long)]
        node: bool,
        /// The port of the API server on the loopback interface [default: any free one].
        #[arg(long)]
        port: Option<u16>,
    },
    /// Build everything that a cluster needs, and Helm, without starting one.
    Build {
        /// Also what the real node needs (needs root).
        #[arg(long)]
        node: bool,
        /// Also the browser in which the page is tested.
        #[arg(long)]
        browser: bool,
    },
    /// Pack the image of Pemdas; `cargo xtask image` builds the program first.
    #[command(hide = true)]
    Image(Image),
    /// Hold a cluster for the process at the other end of standard input.
    #[command(hide = true)]
    Supervise {
        #[arg(long)]
        node: bool,
        #[arg(long)]
        port: Option<u16>,
    },
    /// Be the first process inside a node's namespaces.
    #[command(hide = true)]
    Inside { spec: PathBuf },
}

/// What an image is made of.
#[derive(Debug, clap::Args)]
struct Image {
    /// The program, linked statically.
    #[arg(long)]
    program: PathBuf,
    /// What it was compiled for.
    #[arg(long)]
    target: String,
    /// The features that it was compiled with.
    #[arg(long)]
    features: Vec<String>,
    #[arg(long)]
    name: String,
    #[arg(long)]
    architecture: String,
    #[arg(long)]
    revision: String,
    #[arg(long)]
    created: String,
    /// The archive; the list of what is in it is written beside it.
    #[arg(long)]
    output: PathBuf,
}

impl Image {
    fn pack(&self) -> Result<()> {
        let about = About {
            name: &self.name,
            architecture: &self.architecture,
            version: env!("CARGO_PKG_VERSION"),
            revision: &self.revision,
            created: &self.created,
        };
        image::pack(&about, &self.program, &self.output)?;
        let workspace = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        let features: Vec<&str> = self.features.iter().map(String::as_str).collect();
        let list = sbom::sbom(&about, &workspace, &self.target, &features)?;
        let file = self.output.with_extension("spdx.json");
        std::fs::write(&file, format!("{list:#}\n"))
            .map_err(|cause| Error::new(format!("cannot write {}: {cause}", file.display())))
    }
}

fn main() -> ExitCode {
    match act(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("testbed: error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn act(action: Action) -> Result<()> {
    let level = |node| if node { Level::Node } else { Level::ControlPlane };
    match action {
        Action::Up { node, port } => up(Options { level: level(node), port }),
        Action::Build { node, browser } => {
            let _end = ending(on_signal);
            if node {
                supervise::node_is_possible()?;
            }
            let cache = Cache::of_user()?;
            Assets::of(level(node), &cache)?;
            if browser {
                assets::browser::Browser::find(&cache)?;
            }
            // Only tests on a node need Helm. Others build it when they first use it.
            if node { assets::helm(&cache).map(drop) } else { Ok(()) }
        }
        Action::Image(image) => image.pack(),
        Action::Supervise { node, port } => {
            let end = ending(on_end_of_owner);
            supervise::run(Options { level: level(node), port }, &end, |ready| {
                let line = serde_json::to_string(ready).map_err(|cause| Error::new(cause.to_string()))?;
                println!("{line}");
                Ok(())
            })
        }
        Action::Inside { spec } => supervise::run_inside(&spec, &ending(on_end_of_owner)),
    }
}

/// A person is an owner like any other: what they started goes with this process, even if it is killed.
fn up(options: Options) -> Result<()> {
    let us = std::env::current_exe()
        .map_err(|cause| Error::new(format!("cannot find our own program: {cause}")))?;
    let mut cluster = Cluster::start_under(&us, options)?;
    // Whoever reads our output may have read enough (`testbed up | head`): the cluster is wanted all the same.
    let _ = present(&mut std::io::stdout().lock(), cluster.ready(), options.level);
    let end = ending(on_signal);
    while end.recv_timeout(Duration::from_millis(500)) == Err(RecvTimeoutError::Timeout) {
        if !cluster.is_running() {
            return Err(Error::new("the cluster ended by itself; its supervisor said above why"));
        }
    }
    Ok(())
}

fn present(out: &mut impl Write, ready: &Ready, level: Level) -> std::io::Result<()> {
    let seconds = f64::from(u32::try_from(ready.milliseconds).unwrap_or(u32::MAX)) / 1000.0;
    let what = if level == Level::Node { "control plane and node are" } else { "control plane is" };
    writeln!(out, "The {what} ready after {seconds:.1} s, at {}.\n", ready.server)?;
    writeln!(out, "  export KUBECONFIG={}", ready.kubeconfig.display())?;
    writeln!(out, "  alias kubectl={}    # of the cluster's own version", ready.kubectl.display())?;
    writeln!(out, "  kubectl get nodes\n")?;
    writeln!(
        out,
        "Every request is in {}, every process's log in {}.",
        ready.audit_log.display(),
        ready.logs.display()
    )?;
    writeln!(out, "Ctrl-C ends it; nothing stays behind.")
}

/// Waits for a Ctrl-C, a hang-up or a request to terminate.
fn on_signal() {
    if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) {
        signals.forever().next();
    }
}

/// Waits until standard input closes: its other end is the owner's. A request to terminate means the same.
fn on_end_of_owner() {
    let (sender, receiver) = channel();
    for wait in [on_signal, || drop(std::io::stdin().lock().read_to_end(&mut Vec::new()))] {
        let sender = sender.clone();
        thread::spawn(move || {
            wait();
            let _ = sender.send(());
        });
    }
    let _ = receiver.recv();
}

/// Turns a wait into something others can listen to; whatever is being built or waited for then stops too.
fn ending(wait: fn()) -> Receiver<()> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        wait();
        pemdas_testbed::end_soon();
        let _ = sender.send(());
    });
    receiver
}
