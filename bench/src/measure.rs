//! One measurement: one operator, one shape, one number of instances.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{DeleteParams, DynamicObject, PartialObjectMeta, PostParams},
    runtime::{
        WatchStreamExt as _,
        watcher::{Config, watcher},
    },
};
use pemdas_testbed::audit::Request;
use serde_json::Value;
use tokio::{sync::watch, time::timeout};

use crate::cluster::{Error, NAMESPACE, Plane};
use crate::options::Operator;
use crate::process::Running;
use crate::shape::Shape;

/// How many instances are created at once.
const AT_ONCE: usize = 16;
/// How many children are deleted to see them come back.
const DRIFTS: usize = 50;
/// Nothing takes longer, or it is broken.
const PATIENCE: Duration = Duration::from_secs(900);
/// One instance does not take longer.
const PATIENCE_WITH_ONE: Duration = Duration::from_secs(60);

/// What an operator cost.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) operator: String,
    pub(crate) shape: Shape,
    pub(crate) count: usize,
    pub(crate) seconds: f64,
    pub(crate) processor_seconds: f64,
    /// Of the control plane.
    pub(crate) plane_seconds: f64,
    pub(crate) peak_megabytes: f64,
    /// Of its children.
    pub(crate) worker_megabytes: f64,
    pub(crate) created: BTreeMap<String, usize>,
    pub(crate) idle: BTreeMap<String, usize>,
    pub(crate) repair_milliseconds: f64,
    pub(crate) repaired: BTreeMap<String, usize>,
    pub(crate) restarted: BTreeMap<String, usize>,
}

pub(crate) async fn measure(operator: &Operator, shape: Shape, count: usize) -> Result<Measured, Error> {
    let mut plane = Plane::start().await?;
    plane.prepare(operator, shape)?;
    let command = operator.command.replace("{shape}", shape.name());
    let log = plane.file("operator.log");
    let mut running = Running::start(&command, &plane.kubeconfig, &log)?;
    let finished = work(&mut plane, &mut running, operator, shape, count, &command).await;
    finished.map_err(|error| {
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        let last: Vec<&str> = said.lines().rev().take(20).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        format!("{error}; the operator said last:\n{}", last.join("\n")).into()
    })
}

async fn work(
    plane: &mut Plane,
    running: &mut Running,
    operator: &Operator,
    shape: Shape,
    count: usize,
    command: &str,
) -> Result<Measured, Error> {
    plane.served(shape).await?;
    let ready = ready_instances(plane, shape);
    // One for warming up: connections are made, and whatever is compiled at first use is compiled.
    create(plane, shape, &["warm".to_owned()]).await?;
    wait_for(&ready, 1, PATIENCE_WITH_ONE, running).await?;
    plane.quiet().await?;

    let names: Vec<String> = (0..count).map(|it| format!("i-{it:05}")).collect();
    let (used, plane_used) = (running.processor_seconds(), running.plane_seconds());
    let began = Instant::now();
    let (made, all_ready) =
        futures::join!(create(plane, shape, &names), wait_for(&ready, count + 1, PATIENCE, running));
    made?;
    all_ready?;
    let seconds = began.elapsed().as_secs_f64();
    let created = counts(&plane.quiet().await?);
    let processor_seconds = running.processor_seconds() - used;
    let plane_seconds = running.plane_seconds() - plane_used;

    tokio::time::sleep(Duration::from_secs(5)).await;
    let idle = counts(&plane.requests()?);
    let repair_milliseconds = drift(plane, shape, &names).await?;
    let repaired = counts(&plane.quiet().await?);
    let [peak_megabytes, worker_megabytes] = running.peak_megabytes();
    let restarted = restart(plane, running, command).await?;
    Ok(Measured {
        operator: operator.name.clone(),
        shape,
        count,
        seconds,
        processor_seconds,
        plane_seconds,
        peak_megabytes,
        worker_megabytes,
        created,
        idle,
        repair_milliseconds,
        repaired,
        restarted,
    })
}

async fn restart(
    plane: &mut Plane,
    running: &mut Running,
    command: &str,
) -> Result<BTreeMap<String, usize>, Error> {
    let log = plane.file("restarted.log");
    // The old one has to be gone first.
    let kubeconfig = plane.kubeconfig.clone();
    running.end();
    plane.requests()?;
    *running = Running::start(command, &kubeconfig, &log)?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    Ok(counts(&plane.quiet().await?))
}

/// How many instances are ready, as a watch tells.
fn ready_instances(plane: &Plane, shape: Shape) -> watch::Receiver<usize> {
    let api: Api<DynamicObject> = Api::namespaced_with(plane.client.clone(), NAMESPACE, &shape.resource());
    let (told, count) = watch::channel(0);
    tokio::spawn(async move {
        let mut ready = BTreeSet::new();
        let mut watched = watcher(api, Config::default()).default_backoff().applied_objects().boxed();
        while let Some(event) = watched.next().await {
            let Ok(object) = event else { continue };
            let name = object.metadata.name.clone().unwrap_or_default();
            let is_ready = object
                .data
                .pointer("/status/conditions")
                .and_then(Value::as_array)
                .is_some_and(|it| it.iter().any(|it| it["type"] == "Ready" && it["status"] == "True"));
            let changed = if is_ready { ready.insert(name) } else { ready.remove(&name) };
            if changed {
                told.send_replace(ready.len());
            }
        }
    });
    count
}

async fn wait_for(
    ready: &watch::Receiver<usize>,
    wanted: usize,
    patience: Duration,
    running: &mut Running,
) -> Result<(), Error> {
    let mut ready = ready.clone();
    let deadline = Instant::now() + patience;
    loop {
        if timeout(Duration::from_secs(1), ready.wait_for(|it| *it >= wanted)).await.is_ok() {
            return Ok(());
        }
        if !running.is_running() {
            return Err("the operator has ended".into());
        }
        if Instant::now() > deadline {
            return Err(format!("{} of {wanted} instances are ready", *ready.borrow()).into());
        }
    }
}

async fn create(plane: &Plane, shape: Shape, names: &[String]) -> Result<(), Error> {
    let api: Api<DynamicObject> = Api::namespaced_with(plane.client.clone(), NAMESPACE, &shape.resource());
    let api = &api;
    stream::iter(names)
        .map(Ok::<_, Error>)
        .try_for_each_concurrent(AT_ONCE, |name| async move {
            let body = serde_json::from_value(shape.instance(name))?;
            api.create(&PostParams::default(), &body).await?;
            Ok(())
        })
        .await
}

/// Deletes children, one after the other, and gives the median of the times from the deletion's being sent until there
/// is another object of the name.
async fn drift(plane: &Plane, shape: Shape, names: &[String]) -> Result<f64, Error> {
    let api: Api<ConfigMap> = Api::namespaced(plane.client.clone(), NAMESPACE);
    let (told, mut uids) = watch::channel(HashMap::<String, String>::new());
    let metadata: Api<PartialObjectMeta<ConfigMap>> = Api::namespaced(plane.client.clone(), NAMESPACE);
    let watched = watcher(metadata, Config::default()).default_backoff().applied_objects();
    let watching = tokio::spawn(async move {
        let mut watched = watched.boxed();
        while let Some(event) = watched.next().await {
            let Ok(object) = event else { continue };
            told.send_modify(|uids| {
                let metadata = object.metadata;
                uids.insert(metadata.name.unwrap_or_default(), metadata.uid.unwrap_or_default());
            });
        }
    });
    let step = (names.len() / DRIFTS).max(1);
    let mut times = Vec::new();
    for name in names.iter().step_by(step).take(DRIFTS) {
        let child = shape.drifting(name);
        let before = timeout(PATIENCE, uids.wait_for(|it| it.contains_key(&child))).await??[&child].clone();
        let began = Instant::now();
        api.delete(&child, &DeleteParams::default()).await?;
        timeout(PATIENCE, uids.wait_for(|it| it.get(&child).is_some_and(|it| *it != before))).await??;
        times.push(began.elapsed().as_secs_f64() * 1_000.0);
    }
    watching.abort();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().ok_or_else(|| "there is nothing to delete".into())
}

/// Requests by verb; of the resources only what matters: Leases, Events and questions about rights are counted apart.
fn counts(requests: &[Request]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for request in requests {
        let verb = match request.resource.as_str() {
            "leases" => "lease",
            "events" => "event",
            // A question, although it is asked by a create.
            resource if resource.ends_with("accessreviews") => "review",
            resource if resource.ends_with("/status") => "status",
            _ => request.verb.as_str(),
        };
        *counts.entry(verb.to_owned()).or_default() += 1;
    }
    counts
}
