//! One measurement: one operator, one shape, one number of instances.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
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

/// An operator on a control plane of its own, while it is measured.
pub(crate) struct Underway<'a> {
    operator: &'a Operator,
    shape: Shape,
    command: String,
    // Before its control plane, so that it is ended first.
    running: Running,
    plane: Plane,
    log: PathBuf,
    /// How many instances are ready.
    ready: watch::Receiver<usize>,
    names: Vec<String>,
    seconds: f64,
    processor_seconds: f64,
    plane_seconds: f64,
    created: BTreeMap<String, usize>,
}

impl<'a> Underway<'a> {
    /// Starts a control plane and the operator, and has it make one instance.
    pub(crate) async fn begin(operator: &'a Operator, shape: Shape) -> Result<Self, Error> {
        let plane = Plane::start().await?;
        plane.prepare(operator, shape)?;
        let command = operator.command.replace("{shape}", shape.name());
        let log = plane.file("operator.log");
        let running = Running::start(&command, &plane.kubeconfig, &log)?;
        let ready = ready_instances(&plane, shape);
        let mut this = Self {
            operator,
            shape,
            command,
            plane,
            running,
            log,
            ready,
            names: Vec::new(),
            seconds: 0.0,
            processor_seconds: 0.0,
            plane_seconds: 0.0,
            created: BTreeMap::new(),
        };
        let warm = this.warm_up().await;
        warm.map_err(|error| this.last_words(&error))?;
        Ok(this)
    }

    /// One for warming up: connections are made, and whatever is compiled at first use is compiled.
    async fn warm_up(&mut self) -> Result<(), Error> {
        self.plane.served(self.shape).await?;
        create(&self.plane, self.shape, &["warm".to_owned()]).await?;
        wait_for(&self.ready, 1, PATIENCE_WITH_ONE, &mut self.running).await?;
        self.plane.quiet().await?;
        Ok(())
    }

    /// Has it make more instances, and counts what that costs.
    pub(crate) async fn add(&mut self, count: usize) -> Result<(), Error> {
        let more = self.make(count).await;
        more.map_err(|error| self.last_words(&error))
    }

    async fn make(&mut self, count: usize) -> Result<(), Error> {
        let there = self.names.len();
        let names: Vec<String> = (there..there + count).map(|it| format!("i-{it:05}")).collect();
        let (used, plane_used) = (self.running.processor_seconds(), self.plane.processor_seconds());
        let began = Instant::now();
        let wanted = there + count + 1;
        let (made, all_ready) = futures::join!(
            create(&self.plane, self.shape, &names),
            wait_for(&self.ready, wanted, PATIENCE, &mut self.running)
        );
        made?;
        all_ready?;
        self.seconds += began.elapsed().as_secs_f64();
        for (verb, count) in counts(&self.plane.quiet().await?) {
            *self.created.entry(verb).or_default() += count;
        }
        self.processor_seconds += self.running.processor_seconds() - used;
        self.plane_seconds += self.plane.processor_seconds() - plane_used;
        self.names.extend(names);
        Ok(())
    }

    /// Sees what it does at rest, when something is deleted, and when it starts anew.
    pub(crate) async fn finish(mut self) -> Result<Measured, Error> {
        let rest = self.rest().await;
        rest.map_err(|error| self.last_words(&error))
    }

    async fn rest(&mut self) -> Result<Measured, Error> {
        // What it asked while another one was measured.
        self.plane.requests()?;
        tokio::time::sleep(Duration::from_secs(5)).await;
        let idle = counts(&self.plane.requests()?);
        let repair_milliseconds = drift(&self.plane, self.shape, &self.names).await?;
        let repaired = counts(&self.plane.quiet().await?);
        let [peak_megabytes, worker_megabytes] = self.running.peak_megabytes();
        let restarted = restart(&mut self.plane, &mut self.running, &self.command).await?;
        Ok(Measured {
            operator: self.operator.name.clone(),
            shape: self.shape,
            count: self.names.len(),
            seconds: self.seconds,
            processor_seconds: self.processor_seconds,
            plane_seconds: self.plane_seconds,
            peak_megabytes,
            worker_megabytes,
            created: std::mem::take(&mut self.created),
            idle,
            repair_milliseconds,
            repaired,
            restarted,
        })
    }

    fn last_words(&self, error: &Error) -> Error {
        let said = std::fs::read_to_string(&self.log).unwrap_or_default();
        let last: Vec<&str> = said.lines().rev().take(20).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        format!("{error}; the operator said last:\n{}", last.join("\n")).into()
    }
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
