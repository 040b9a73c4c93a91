//! `pemdas run`: the operator itself.

use std::{collections::BTreeSet, net::SocketAddr, sync::Arc, time::Duration};

use clap::Args;
use pemdas_kube::{
    connect::Connection,
    key::{self, NoKey},
    limits::Limits,
    machine::Machine,
    metrics::Metrics,
};
use tokio::{
    net::TcpListener,
    signal::unix::SignalKind,
    sync::{oneshot, watch},
};
use tracing_subscriber::EnvFilter;

use super::{Outcome, cluster::Cluster, could_not_run, workers};
use crate::{
    footprint,
    operate::{Operation, WORKERS, Wanted, Workers},
    serve::{self, Pages},
    terminal::Colour,
};

/// Run the operator: reconcile every blueprint of the cluster
///
/// The operator watches ConfigMaps with the label pemdas.dev/blueprint, in all namespaces or in the given ones. In a cluster it runs
/// as the pod's ServiceAccount, elsewhere as the user of the kubeconfig. For each blueprint it acts as a ServiceAccount of the
/// blueprint's namespace, named by the annotation pemdas.dev/service-account. It stops gracefully on SIGTERM or SIGINT. It logs to
/// standard error; RUST_LOG sets the level.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// Only blueprints of this namespace; may be given several times
    #[arg(long = "namespace", short, value_name = "NAMESPACE")]
    namespaces: Vec<String>,
    /// The namespace of the operator, which holds its Lease and its keys
    #[arg(
        long,
        alias = "own-namespace",
        value_name = "NAMESPACE",
        env = "PEMDAS_NAMESPACE",
        default_value = "pemdas-system"
    )]
    operator_namespace: String,
    /// How many seconds the operator trusts its last check of what an account may see of a shared watch
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    recheck: u64,
    /// Lead without a Lease: only if no other replica can run
    #[arg(long)]
    alone: bool,
    /// Serve /healthz, /readyz and /metrics at this address
    #[arg(long, value_name = "ADDRESS:PORT", env = "PEMDAS_LISTEN")]
    listen: Option<SocketAddr>,
    /// How many seconds pass between two requests to a Service whose response is a status
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    report_every: u64,
    /// How many workers evaluate blueprints; one of them is always free for other namespaces
    #[arg(long, value_name = "COUNT", default_value_t = WORKERS as u64, value_parser = clap::value_parser!(u64).range(1..=64))]
    workers: u64,
    /// How many blueprints of one namespace the operator reads; the others report PM0018
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().blueprints as u64, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    blueprints_each: u64,
    /// How many MiB all blueprints of one namespace may have together
    #[arg(long, value_name = "MIB", default_value_t = (Limits::default().blueprint_bytes >> 20) as u64, value_parser = clap::value_parser!(u64).range(1..=1_024))]
    blueprint_memory_each: u64,
    /// How many writes run at once
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().writes as u64, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    writes: u64,
    /// How many of these writes may be for the blueprints of one namespace
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().writes_each as u64, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    writes_each: u64,
    /// Write only status reports: see what the operator would do, and change nothing else
    #[arg(long)]
    suspend: bool,
    /// The form of the log
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
        let workers = match workers(Workers::of(usize::try_from(self.workers).unwrap_or(WORKERS))) {
            Ok(workers) => workers,
            Err(outcome) => return outcome,
        };
        self.run_until(workers, stopped())
    }

    /// An operator for a cluster that nobody else works in: it asks Services often, because there is somebody who looks.
    pub(super) fn by_itself(cluster: Cluster, operator_namespace: &str) -> Self {
        Self {
            namespaces: Vec::new(),
            operator_namespace: operator_namespace.to_owned(),
            recheck: 300,
            alone: true,
            listen: None,
            report_every: 1,
            workers: WORKERS as u64,
            blueprints_each: Limits::default().blueprints as u64,
            blueprint_memory_each: (Limits::default().blueprint_bytes >> 20) as u64,
            writes: Limits::default().writes as u64,
            writes_each: Limits::default().writes_each as u64,
            suspend: false,
            log_format: LogFormat::Text,
            cluster,
        }
    }

    /// Operates until it shall stop.
    pub(super) fn run_until(&self, workers: Workers, stop: impl Future<Output = ()>) -> Outcome {
        let metrics = Metrics::new();
        let work = async |connection| self.operate(connection, workers, &metrics, stop).await;
        match self.cluster.run(&metrics, work) {
            Ok(outcome) => outcome,
            Err(not_asked) => not_asked.told(),
        }
    }

    fn limits(&self) -> Limits {
        let count = |it: u64| usize::try_from(it).unwrap_or(usize::MAX);
        Limits {
            blueprints: count(self.blueprints_each),
            blueprint_bytes: count(self.blueprint_memory_each) << 20,
            writes: count(self.writes),
            writes_each: count(self.writes_each),
        }
    }

    /// What helps where there are no keys.
    fn about_keys(&self, why: &NoKey) -> String {
        match why {
            NoKey::Lost { namespace, name, .. } => format!(
                "restore this Secret from a backup: without it Pemdas can tell neither what it made nor what was done. \
                 To give all of that up, create the Secret empty: kubectl create secret generic {name} -n {namespace}"
            ),
            _ => format!(
                "create the namespace {} first, or name another with --operator-namespace",
                self.operator_namespace
            ),
        }
    }

    async fn operate(
        &self,
        connection: Connection,
        workers: Workers,
        metrics: &Metrics,
        stop: impl Future<Output = ()>,
    ) -> Outcome {
        let client = connection.client;
        let namespaces: BTreeSet<String> = self.namespaces.iter().cloned().collect();
        let keys = match key::read_or_make(&client, &self.operator_namespace, &namespaces).await {
            Ok(keys) => keys,
            Err(why) => return could_not_run(&why.to_string(), Some(&self.about_keys(&why))),
        };
        let (ready, waits_for) = watch::channel(vec!["the operator starts".to_owned()]);
        let (stop_serving, stopped_serving) = oneshot::channel::<()>();
        let serving = match self.serve(metrics, &workers, waits_for, stopped_serving).await {
            Ok(serving) => serving,
            Err(why) => return could_not_run(&format!("the address cannot be served: {why}"), None),
        };
        tracing::info!(server = connection.server, "the operator starts");
        let wanted = Wanted {
            namespaces,
            keys,
            recheck: Duration::from_secs(self.recheck),
            lease_in: (!self.alone).then(|| self.operator_namespace.clone()),
            process: process_name(),
            report_every: Duration::from_secs(self.report_every),
            suspended: self.suspend,
            limits: self.limits(),
            machine: Machine::real(),
        };
        let operation = Operation::start(client, Arc::new(workers), wanted, metrics, ready);
        let small = tokio::spawn(footprint::kept_small());
        stop.await;
        small.abort();
        tracing::info!("the operator stops");
        operation.stop().await;
        drop(stop_serving);
        if let Some(serving) = serving {
            let _served = serving.await;
        }
        Outcome::Clean
    }

    async fn serve(
        &self,
        metrics: &Metrics,
        workers: &Workers,
        waits_for: watch::Receiver<Vec<String>>,
        stop: oneshot::Receiver<()>,
    ) -> std::io::Result<Option<tokio::task::JoinHandle<std::io::Result<()>>>> {
        let Some(address) = self.listen else { return Ok(None) };
        let listener = TcpListener::bind(address).await?;
        tracing::info!(address = %listener.local_addr()?, "health and metrics are served");
        let (metrics, workers) = (metrics.clone(), workers.clone());
        let text = move || {
            metrics.shared(&workers.used());
            metrics.text()
        };
        let pages = Pages { waits_for, metrics: Arc::new(text) };
        let stopped = async { drop(stop.await) };
        Ok(Some(tokio::spawn(serve::serve(listener, pages, stopped))))
    }

    pub(super) fn log(&self, colour: Colour) {
        let mut filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
        // It would write down each path that is requested, and the name of an object may be a value of a Secret.
        filter = "kube_client=info".parse().map_or(filter.clone(), |it| filter.add_directive(it));
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
        let _set = match self.log_format {
            LogFormat::Json => log.json().try_init(),
            LogFormat::Text => log.with_ansi(colour.on_stderr()).try_init(),
        };
    }
}

/// A name that no other process has: of this machine or pod, and of this start.
fn process_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let started =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |it| it.as_millis());
    format!("{}-{}-{started:x}", host.trim(), std::process::id())
}

/// Waits for a wish to stop.
pub(super) async fn stopped() {
    let Ok(mut terminate) = tokio::signal::unix::signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}
