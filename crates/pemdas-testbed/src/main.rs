//! `testbed`: a real Kubernetes for a person by hand, and the supervisor of the clusters that tests ask for.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this program speaks to the terminal")]

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use clap::{Parser, Subcommand};
use pemdas_testbed::assets::Assets;
use pemdas_testbed::assets::cache::Cache;
use pemdas_testbed::supervise::{self, Options, Ready};
use pemdas_testbed::{Error, Level, Result};
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
    /// Build everything that a cluster needs, without starting one.
    Build {
        /// Also what the real node needs (needs root).
        #[arg(long)]
        node: bool,
    },
    /// Hold a cluster for the process at the other end of standard input.
    #[command(hide = true)]
    Supervise {
        #[arg(long)]
        node: bool,
    },
    /// Be the first process inside a node's namespaces.
    #[command(hide = true)]
    Inside { spec: PathBuf },
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
        Action::Up { node, port } => {
            let end = on_signal()?;
            supervise::run(Options { level: level(node), port }, &end, |ready| {
                present(ready, level(node));
                Ok(())
            })
        }
        Action::Build { node } => {
            let _end = on_signal()?;
            if node {
                supervise::node_is_possible()?;
            }
            Assets::of(level(node), &Cache::of_user()?).map(drop)
        }
        Action::Supervise { node } => {
            let end = on_end_of_owner();
            supervise::run(Options { level: level(node), port: None }, &end, |ready| {
                let line = serde_json::to_string(ready).map_err(|cause| Error::new(cause.to_string()))?;
                println!("{line}");
                Ok(())
            })
        }
        Action::Inside { spec } => supervise::run_inside(&spec, &on_end_of_owner()),
    }
}

fn present(ready: &Ready, level: Level) {
    let seconds = f64::from(u32::try_from(ready.milliseconds).unwrap_or(u32::MAX)) / 1000.0;
    let what = if level == Level::Node { "control plane and node are" } else { "control plane is" };
    println!("The {what} ready after {seconds:.1} s, at {}.\n", ready.server);
    println!("  export KUBECONFIG={}", ready.kubeconfig.display());
    println!("  alias kubectl={}    # of the cluster's own version", ready.kubectl.display());
    println!("  kubectl get nodes\n");
    println!(
        "Every request is in {}, every process's log in {}.",
        ready.audit_log.display(),
        ready.logs.display()
    );
    println!("Ctrl-C ends it; nothing stays behind.");
}

/// Ends at the first Ctrl-C, hang-up or request to terminate; a build under way stops too.
fn on_signal() -> Result<Receiver<()>> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|cause| Error::new(format!("cannot listen for signals: {cause}")))?;
    Ok(when(move || {
        signals.forever().next();
    }))
}

/// Ends when standard input closes: its other end is the owner's.
fn on_end_of_owner() -> Receiver<()> {
    when(|| drop(std::io::stdin().lock().read_to_end(&mut Vec::new())))
}

fn when(wait: impl FnOnce() + Send + 'static) -> Receiver<()> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        wait();
        pemdas_testbed::end_soon();
        let _ = sender.send(());
    });
    receiver
}
