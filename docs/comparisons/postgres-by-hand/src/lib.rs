//! PostgreSQL with backups: what the blueprint `examples/postgres` does, as an operator that was written by hand with kube-rs.
//!
//! **Invariant.** It does what the blueprint does, as far as its page does not say otherwise. Nothing of the product depends on it.

mod backup;
mod cluster;
mod error;
mod instance;
mod job;
mod kinds;
mod manifests;

use std::sync::Arc;

use futures::{Stream, StreamExt as _, future};
use k8s_openapi::api::{
    apps::v1::StatefulSet,
    batch::v1::Job,
    core::v1::{PersistentVolumeClaim, Secret, Service},
};
use kube::{
    Api, Client, Resource, ResourceExt as _,
    runtime::{
        Controller,
        controller::{self, Action},
        reflector::{ObjectRef, Store},
        watcher,
    },
};

use cluster::Cluster;
use error::{Error, RETRY};
use kinds::{Backup, BackupStatus, Instance};

/// Runs both controllers until they are told to end.
pub async fn run(client: Client) {
    let cluster = Arc::new(Cluster::new(client));
    future::join(instances(cluster.clone()), backups(cluster)).await;
}

async fn instances(cluster: Arc<Cluster>) {
    let (client, kind) = (cluster.client.clone(), cluster.instances.clone());
    // What carries a label of ours leads to its instance also without an owner: it outlives the instance.
    let labelled = watcher::Config::default().labels(&format!("{}={}", manifests::NAME, manifests::POSTGRES));
    let finals = watcher::Config::default().labels(&format!("{}={}", manifests::NAME, manifests::BACKUP));
    let (of_secret, of_claim, of_backup) = (kind.clone(), kind.clone(), kind.clone());
    let controller = Controller::new_with(
        Api::<Instance>::all_with(client.clone(), &kind),
        watcher::Config::default(),
        kind,
    )
    .owns(Api::<StatefulSet>::all(client.clone()), watcher::Config::default())
    .owns(Api::<Service>::all(client.clone()), watcher::Config::default())
    .owns(Api::<Job>::all(client.clone()), watcher::Config::default())
    .watches(Api::<Secret>::all(client.clone()), labelled.clone(), move |it| instance_of(&it, &of_secret))
    .watches(Api::<PersistentVolumeClaim>::all(client.clone()), labelled, move |it| {
        instance_of(&it, &of_claim)
    })
    .watches_with(
        Api::<Backup>::all_with(client, &cluster.backups),
        cluster.backups.clone(),
        finals,
        move |it| instance_of(&it, &of_backup),
    )
    .shutdown_on_signal();
    told(controller.run(instance::reconcile, error_policy, cluster)).await;
}

async fn backups(cluster: Arc<Cluster>) {
    let (client, kind) = (cluster.client.clone(), cluster.backups.clone());
    let controller = Controller::new_with(
        Api::<Backup>::all_with(client.clone(), &kind),
        watcher::Config::default(),
        kind,
    );
    let (by_server, by_claim) = (controller.store(), controller.store());
    let controller = controller
        .owns(Api::<Job>::all(client.clone()), watcher::Config::default())
        .watches(Api::<StatefulSet>::all(client.clone()), watcher::Config::default(), move |server| {
            backups_in(&by_server, &server, |it| it.spec.instance == server.name_any())
        })
        // Which claim a backup waits for, only its server says: all that wait look again.
        .watches(Api::<PersistentVolumeClaim>::all(client), watcher::Config::default(), move |claim| {
            backups_in(&by_claim, &claim, |it| !it.status.as_ref().is_some_and(BackupStatus::is_over))
        })
        .shutdown_on_signal();
    told(controller.run(backup::reconcile, error_policy, cluster)).await;
}

/// The instance that the label of an object names.
fn instance_of<K: Resource>(object: &K, kind: &kube::core::ApiResource) -> Option<ObjectRef<Instance>> {
    let name = object.labels().get(manifests::INSTANCE)?;
    Some(ObjectRef::new_with(name, kind.clone()).within(&object.namespace()?))
}

/// The backups beside an object that it may concern.
fn backups_in<K: Resource>(
    store: &Store<Backup>,
    beside: &K,
    concerns: impl Fn(&Backup) -> bool,
) -> Vec<ObjectRef<Backup>> {
    let namespace = beside.namespace();
    let all = store.state();
    let found = all.iter().filter(|it| it.namespace() == namespace && concerns(it));
    found.map(|it| ObjectRef::from_obj_with(it.as_ref(), kinds::resource("PostgresBackup"))).collect()
}

fn error_policy<K: Resource>(_object: Arc<K>, error: &Error, _cluster: Arc<Cluster>) -> Action {
    // What is waited for is watched; the rest is tried again.
    if error.is_waiting() { Action::requeue(RETRY * 6) } else { Action::requeue(RETRY) }
}

/// Logs what goes wrong.
async fn told<K>(
    outcomes: impl Stream<Item = Result<(ObjectRef<K>, Action), controller::Error<Error, watcher::Error>>>,
) where
    K: Resource<DynamicType = kube::core::ApiResource>,
{
    let tell = |outcome| {
        if let Err(error) = outcome {
            tracing::warn!(%error, "a reconciliation failed");
        }
        future::ready(())
    };
    outcomes.for_each(tell).await;
}
