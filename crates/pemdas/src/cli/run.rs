//! `pemdas run`: the operator itself.

use std::sync::Arc;

use clap::Args;
use pemdas_core::world::Lease;
use pemdas_kube::{
    connect::Connection,
    hub::{Hub, Settings},
    key,
};
use tokio::{signal::unix::SignalKind, sync::watch};
use tracing_subscriber::EnvFilter;

use super::{Outcome, cluster::Cluster, could_not_run};
use crate::{operate::Workers, terminal::Colour};

/// Run the operator: reconcile every blueprint of the cluster
///
/// Watches ConfigMaps with the label pemdas.dev/blueprint, in all namespaces or in those given, and does what they say:
/// in a cluster as the pod's ServiceAccount, elsewhere as the user of the kubeconfig. It stops gracefully on SIGTERM or
/// SIGINT. The log goes to standard error; RUST_LOG chooses how much of it.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// Only blueprints of this namespace; may be given several times
    #[arg(long = "namespace", short, value_name = "NAMESPACE")]
    namespaces: Vec<String>,
    /// The namespace in which the operator keeps what is its own
    #[arg(long, value_name = "NAMESPACE", env = "PEMDAS_NAMESPACE", default_value = "pemdas-system")]
    own_namespace: String,
    /// How the log is written
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    log_format: LogFormat,
    #[command(flatten)]
    cluster: Cluster,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum LogFormat {
    /// Lines for people
    Text,
    /// One JSON object a line
    Json,
}

impl Run {
    pub(super) fn run(&self, colour: Colour) -> Outcome {
        self.log(colour);
        let workers = match Workers::new() {
            Ok(workers) => workers,
            Err(why) => return could_not_run(&format!("this program cannot find itself: {why}"), None),
        };
        let settings = Settings { namespaces: self.namespaces.iter().cloned().collect(), secret: Vec::new() };
        match self.cluster.run(async |connection| self.operate(connection, workers, settings).await) {
            Ok(outcome) => outcome,
            Err(not_asked) => not_asked.told(),
        }
    }

    async fn operate(&self, connection: Connection, workers: Workers, mut settings: Settings) -> Outcome {
        settings.secret = match key::read_or_make(&connection.client, &self.own_namespace).await {
            Ok(key) => key,
            Err(why) => {
                let hint = format!(
                    "create the namespace {} first, or name another with --own-namespace",
                    self.own_namespace
                );
                return could_not_run(&why.to_string(), Some(&hint));
            }
        };
        tracing::info!(server = connection.server, "the operator starts");
        let (lead, lease) = watch::channel(Lease { held: true, epoch: 1 });
        let hub = tokio::spawn(Hub::run(connection.client, Arc::new(workers), settings, lease));
        stopped().await;
        tracing::info!("the operator stops");
        drop(lead);
        let _ended = hub.await;
        Outcome::Clean
    }

    fn log(&self, colour: Colour) {
        let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
        let _set = match self.log_format {
            LogFormat::Json => log.json().try_init(),
            LogFormat::Text => log.with_ansi(colour.on_stderr()).try_init(),
        };
    }
}

/// Waits for a wish to stop.
async fn stopped() {
    let mut terminate = match tokio::signal::unix::signal(SignalKind::terminate()) {
        Ok(signal) => signal,
        Err(_) => return std::future::pending().await,
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}
