//! The flags that say which cluster is meant, the same for every command that asks one.

use std::path::PathBuf;

use clap::Args;
use pemdas_kube::connect::{Connection, Target, Trouble, connect, connect_counted};
use pemdas_kube::metrics::Metrics;

use super::{Outcome, complete, could_not_run};
use crate::live::Session;

/// Which cluster is meant
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Cluster")]
pub(super) struct Cluster {
    /// The kubeconfig to use, instead of $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig to use, instead of its current one
    #[arg(long, value_name = "NAME", add = complete::of_kubeconfig())]
    context: Option<String>,
}

/// Why a cluster was not asked.
pub(super) enum NotAsked {
    /// It cannot be talked to, or refuses.
    Trouble(Trouble),
    /// This process cannot talk to any.
    Here(std::io::Error),
}

impl NotAsked {
    /// Says it to the user.
    pub(super) fn told(&self) -> Outcome {
        match self {
            Self::Trouble(trouble) => could_not_run(&trouble.to_string(), Some(trouble.hint())),
            Self::Here(why) => could_not_run(&format!("no cluster can be asked from here: {why}"), None),
        }
    }
}

/// Which part of a cluster is read
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Cluster")]
pub(super) struct Reading {
    /// The namespace to look in, instead of the context's
    #[arg(long, short, value_name = "NAMESPACE", add = complete::namespaces())]
    pub(super) namespace: Option<String>,
    /// The namespace of the operator, which holds its Lease and its keys
    #[arg(long, value_name = "NAMESPACE", env = "PEMDAS_NAMESPACE", default_value = "pemdas-system")]
    operator_namespace: String,
    #[command(flatten)]
    cluster: Cluster,
}

impl Reading {
    /// The cluster of a kubeconfig, as a whole.
    pub(super) fn at(kubeconfig: PathBuf, operator_namespace: &str) -> Self {
        let operator_namespace = operator_namespace.to_owned();
        Self { namespace: None, operator_namespace, cluster: Cluster::at(kubeconfig) }
    }

    /// A cluster to look at, for as long as the command runs.
    pub(super) fn session(&self) -> Result<Session, Outcome> {
        self.try_session().map_err(|why| why.told())
    }

    /// The same, without a message if it fails.
    pub(super) fn try_session(&self) -> Result<Session, NotAsked> {
        let Cluster { kubeconfig, context } = self.cluster.clone();
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(NotAsked::Here)?;
        let connection =
            runtime.block_on(connect(&Target { kubeconfig, context })).map_err(NotAsked::Trouble)?;
        Ok(Session::new(runtime, connection, self.namespace.clone(), self.operator_namespace.clone()))
    }
}

/// Says why a cluster did not answer.
pub(super) fn not_answered(trouble: &Trouble) -> Outcome {
    could_not_run(&trouble.to_string(), Some(trouble.hint()))
}

impl Cluster {
    /// The one of a kubeconfig.
    pub(super) fn at(kubeconfig: PathBuf) -> Self {
        Self { kubeconfig: Some(kubeconfig), context: None }
    }

    /// Works with the cluster until that ends. On one thread, beside those for what takes long: waking one another would cost several
    /// threads more than what they could do at the same time.
    pub(super) fn run<T>(
        &self,
        metrics: &Metrics,
        work: impl AsyncFnOnce(Connection) -> T,
    ) -> Result<T, NotAsked> {
        let target = Target { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() };
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(NotAsked::Here)?;
        let done = runtime
            .block_on(async { Ok(work(connect_counted(&target, metrics).await?).await) })
            .map_err(NotAsked::Trouble);
        // What still waits for an answer has nobody to tell it to.
        runtime.shutdown_background();
        done
    }

    /// Connects to the cluster and asks it something.
    pub(super) fn ask<T>(
        &self,
        question: impl AsyncFnOnce(Connection) -> Result<T, Trouble>,
    ) -> Result<T, NotAsked> {
        let target = Target { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() };
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(NotAsked::Here)?;
        runtime.block_on(async { question(connect(&target).await?).await }).map_err(NotAsked::Trouble)
    }
}
