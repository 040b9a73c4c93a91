//! A server, its restores, and its last backup.

use std::sync::Arc;

use k8s_openapi::api::{
    apps::v1::StatefulSet,
    batch::v1::Job,
    core::v1::{PersistentVolumeClaim, Secret, Service},
};
use kube::{
    Resource as _, ResourceExt as _,
    api::PostParams,
    runtime::{
        controller::Action,
        finalizer::{Event, finalizer},
    },
};

use crate::{
    cluster::Cluster,
    error::{Error, found},
    job::{self, Outcome},
    kinds::{Backup, BackupSpec, Instance, InstanceStatus, Restored, ready},
    manifests::{self, Task},
};

const FINALIZER: &str = "db.example.com/last-backup";

pub(crate) async fn reconcile(instance: Arc<Instance>, cluster: Arc<Cluster>) -> Result<Action, Error> {
    let namespace = instance.namespace().ok_or(Error::NoNamespace)?;
    let api = cluster.instances(&namespace);
    finalizer(&api, FINALIZER, instance, |event| async {
        match event {
            Event::Apply(instance) => applied(&instance, &namespace, &cluster).await,
            Event::Cleanup(instance) => cleaned_up(&instance, &namespace, &cluster).await,
        }
    })
    .await
    .map_err(|error| Box::new(error).into())
}

async fn applied(instance: &Instance, namespace: &str, cluster: &Cluster) -> Result<Action, Error> {
    // Neither is owned by the instance: data outlives it, and a volume that is found again needs its password.
    let secret = manifests::password(instance, &random()?);
    cluster.ensure::<Secret>(namespace, &secret).await?;
    cluster.apply::<PersistentVolumeClaim>(namespace, &manifests::disk(instance)).await?;
    cluster.apply::<Service>(namespace, &manifests::service(instance)).await?;
    let server: StatefulSet = cluster.apply(namespace, &manifests::server(instance)).await?;
    let is_up = is_ready(&server);
    let (restored, restores) = restored(instance, namespace, is_up, cluster).await?;
    let before = instance.status.clone().unwrap_or_default();
    let failed = restored.as_ref().and_then(|it| it.failed.clone());
    let (is, reason, message) = match (is_up, restores, failed) {
        (_, _, Some(why)) => (false, "RestoreFailed", why),
        (false, _, None) => (false, "ServerNotReady", "the server is not ready".to_owned()),
        (true, true, None) => (false, "Restoring", "a backup is being restored".to_owned()),
        (true, false, None) => (true, "Ready", "the server is ready".to_owned()),
    };
    let status = InstanceStatus {
        observed_generation: instance.metadata.generation,
        endpoint: Some(format!("{}.{namespace}.svc:5432", instance.name_any())),
        ready: Some(server.status.and_then(|it| it.ready_replicas).unwrap_or_default()),
        restored,
        conditions: ready(&before.conditions, instance.metadata.generation, is, reason, &message),
    };
    cluster
        .status(&cluster.instances(namespace), &instance.name_any(), instance.status.as_ref(), &status)
        .await?;
    Ok(Action::await_change())
}

/// What is to be remembered of restores, and whether one is due or runs.
async fn restored(
    instance: &Instance,
    namespace: &str,
    is_up: bool,
    cluster: &Cluster,
) -> Result<(Option<Restored>, bool), Error> {
    let last = instance.status.as_ref().and_then(|it| it.restored.clone());
    let Some(wanted) = &instance.spec.restore else { return Ok((last, false)) };
    if last.as_ref().is_some_and(|it| it.request == wanted.request) {
        return Ok((last, false));
    }
    if !is_up {
        return Ok((last, true));
    }
    let task = Task::restore(instance, wanted);
    let job: Job = cluster.ensure(namespace, &task.job()).await?;
    let request = wanted.request.clone();
    Ok(match job::outcome(&job) {
        Outcome::Runs => (last, true),
        Outcome::Complete(finished) => (Some(Restored { request, finished, failed: None }), false),
        Outcome::Failed(why) => (Some(Restored { request, finished: None, failed: Some(why) }), false),
    })
}

/// The last backup, while the server still runs; then the server goes. What it owns besides goes with it.
async fn cleaned_up(instance: &Instance, namespace: &str, cluster: &Cluster) -> Result<Action, Error> {
    let name = instance.name_any();
    if instance.spec.final_backup {
        last_backup(instance, namespace, cluster).await?;
    }
    if cluster.delete::<StatefulSet>(namespace, &name).await? {
        return Ok(Action::await_change());
    }
    Err(Error::Waiting(format!("StatefulSet {name} to be gone")))
}

async fn last_backup(instance: &Instance, namespace: &str, cluster: &Cluster) -> Result<(), Error> {
    let name = format!("{}-final", instance.name_any());
    let uid = instance.uid().unwrap_or_default();
    let api = cluster.backups(namespace);
    let Some(backup) = found(api.get(&name).await)? else {
        let server = cluster.get::<StatefulSet>(namespace, &instance.name_any()).await?;
        if !server.is_some_and(|it| is_ready(&it)) {
            return Err(Error::Waiting("the server to be ready for its last backup".to_owned()));
        }
        let spec = BackupSpec { instance: instance.name_any() };
        let mut backup = Backup::new(&name, &cluster.backups, spec).within(namespace);
        backup.meta_mut().labels = Some(manifests::labels(manifests::BACKUP, instance));
        backup.annotations_mut().insert(manifests::MADE_FOR.to_owned(), uid);
        api.create(&PostParams::default(), &backup).await?;
        return Err(Error::Waiting(format!("PostgresBackup {name}")));
    };
    // An instance of the same name may have had one: that is not ours.
    if backup.annotations().get(manifests::MADE_FOR) != Some(&uid) {
        return Err(Error::Waiting(format!("PostgresBackup {name}, which is another's, to be gone")));
    }
    if backup.status.is_some_and(|it| it.done) {
        Ok(())
    } else {
        Err(Error::Waiting(format!("PostgresBackup {name}")))
    }
}

/// Whether its pod is ready, and is the one that is wanted now.
pub(crate) fn is_ready(server: &StatefulSet) -> bool {
    let Some(status) = &server.status else { return false };
    let wanted = server.spec.as_ref().and_then(|it| it.replicas).unwrap_or(1);
    status.observed_generation >= server.metadata.generation
        && status.ready_replicas.unwrap_or_default() >= wanted
        && status.updated_replicas.unwrap_or_default() >= wanted
}

fn random() -> Result<String, Error> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).map_err(Error::Chance)?;
    Ok(bytes.iter().map(|it| format!("{it:02x}")).collect())
}
