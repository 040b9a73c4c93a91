//! One backup: it waits for its server and for the claim that this names, and dumps once.

use std::sync::Arc;

use k8s_openapi::api::{apps::v1::StatefulSet, batch::v1::Job, core::v1::PersistentVolumeClaim};
use kube::{ResourceExt as _, runtime::controller::Action};

use crate::{
    cluster::Cluster,
    error::Error,
    instance::is_ready,
    job::{self, Outcome},
    kinds::{Backup, BackupStatus, ready},
    manifests::{self, Task},
};

/// How far it is.
enum Step {
    Waits(String),
    Dumps(Outcome),
}

pub(crate) async fn reconcile(backup: Arc<Backup>, cluster: Arc<Cluster>) -> Result<Action, Error> {
    let over = backup.status.as_ref().is_some_and(BackupStatus::is_over);
    if over || backup.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let namespace = backup.namespace().ok_or(Error::NoNamespace)?;
    let step = step(&backup, &namespace, &cluster).await?;
    let before = backup.status.clone().unwrap_or_default();
    let mut status = BackupStatus { observed_generation: backup.metadata.generation, ..before.clone() };
    let (reason, message) = match step {
        Step::Waits(what) => ("Waiting", format!("waiting for {what}")),
        Step::Dumps(Outcome::Runs) => ("Dumping", "the dump runs".to_owned()),
        Step::Dumps(Outcome::Complete(finished)) => {
            (status.done, status.finished) = (true, finished);
            ("Done", "the backup is complete".to_owned())
        }
        Step::Dumps(Outcome::Failed(why)) => {
            status.failed = Some(why.clone());
            ("DumpFailed", why)
        }
    };
    status.conditions = ready(&before.conditions, backup.metadata.generation, status.done, reason, &message);
    let api = cluster.backups(&namespace);
    cluster.status(&api, &backup.name_any(), backup.status.as_ref(), &status).await?;
    Ok(Action::await_change())
}

async fn step(backup: &Backup, namespace: &str, cluster: &Cluster) -> Result<Step, Error> {
    let instance = &backup.spec.instance;
    let server = cluster.get::<StatefulSet>(namespace, instance).await?.filter(is_ready);
    let Some(server) = server else { return Ok(Step::Waits(format!("StatefulSet {instance}"))) };
    let claim = server.annotations().get(manifests::BACKUPS).cloned().unwrap_or_default();
    let volume = cluster.get::<PersistentVolumeClaim>(namespace, &claim).await?;
    let phase = volume.and_then(|it| it.status).and_then(|it| it.phase);
    if phase.as_deref() != Some("Bound") {
        return Ok(Step::Waits(format!("PersistentVolumeClaim {claim}")));
    }
    let containers = server.spec.and_then(|it| it.template.spec).map(|it| it.containers).unwrap_or_default();
    let image = containers.into_iter().next().and_then(|it| it.image).unwrap_or_default();
    let task = Task::dump(backup, image, claim);
    let job: Job = cluster.ensure(namespace, &task.job()).await?;
    Ok(Step::Dumps(job::outcome(&job)))
}
