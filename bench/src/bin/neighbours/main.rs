//! How long a change of somebody takes while a neighbour in another namespace does what it can against that.
//!
//! `neighbours COMMAND [CHANGES]`, with COMMAND such as `target/release/pemdas run --alone`. A change is made as often alone as beside the
//! neighbour, and the 99th percentiles are compared.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people speaks to the terminal")]

#[path = "../../process.rs"]
#[allow(dead_code, reason = "the other benchmark uses the rest")]
mod process;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Config,
    api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{WatchStreamExt as _, watcher},
};
use pemdas_testbed::{Cluster, Level};
use process::Running;
use serde_json::{Value, json};
use tokio::{sync::watch, time::timeout};

type Error = Box<dyn std::error::Error>;

const QUIET: &str = "quiet";
const HOSTILE: &str = "hostile";
/// Blueprints of the neighbour, and instances of each.
const BLUEPRINTS: usize = 8;
const INSTANCES: usize = 10;
/// How often one of these changes.
const PAUSE: Duration = Duration::from_millis(100);
/// Nothing takes longer, or it is broken.
const PATIENCE: Duration = Duration::from_secs(300);

/// An instance makes a ConfigMap with its value and something that has to be evaluated.
const SOURCE: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "NAME",
  kinds.KIND = { group = "neighbours.pemdas.dev", versions.v1.spec = { value | String | doc "A value" } },
  nodes = {
    instance = { root = kinds.KIND, also = ["map"] },
    map.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.metadata.name, data.value = the.root.spec.value ++ MORE,
    },
  },
} | Blueprint
"#;

/// Evaluations that are stopped, and evaluations that are almost.
const BURNS: [&str; 2] = [
    "std.to_string (std.number.pow 3 1000000000)",
    "std.string.substring 0 1 (std.to_string (std.number.pow 3 200000))",
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(command), changes) = (arguments.next(), arguments.next()) else {
        eprintln!("neighbours COMMAND [CHANGES]");
        return ExitCode::FAILURE;
    };
    let changes = changes.and_then(|it| it.parse().ok()).unwrap_or(300);
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(compared(&command, changes)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn compared(command: &str, changes: usize) -> Result<(), Error> {
    let cluster = Cluster::start(Level::ControlPlane)?;
    for namespace in [QUIET, HOSTILE, "pemdas-system"] {
        cluster.kubectl(&["create", "namespace", namespace])?;
        cluster.kubectl(&["annotate", "sa", "default", "-n", namespace, "pemdas.dev/blueprints=*"])?;
        let account = format!("--serviceaccount={namespace}:default");
        cluster.kubectl(&[
            "create",
            "clusterrolebinding",
            namespace,
            "--clusterrole=cluster-admin",
            &account,
        ])?;
    }
    let config = Kubeconfig::read_from(cluster.kubeconfig())?;
    let client =
        Client::try_from(Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?)?;
    let log = cluster.kubeconfig().with_file_name("operator.log");
    let _operator = Running::start(command, cluster.kubeconfig(), &log)?;
    apply(&cluster, QUIET, "Note", r#""!""#)?;
    let mut quiet = Instance::new(&client, "Note");
    quiet.change().await?; // for warming up
    let alone = quiet.changes(changes).await?;
    told("alone", &alone);
    for number in 0..BLUEPRINTS {
        apply(&cluster, HOSTILE, &format!("Burn{number}"), BURNS[number % BURNS.len()])?;
    }
    let burning = tokio::spawn(burn(client.clone()));
    // What was warm before is warm again, and the neighbour has begun.
    quiet.changes(changes / 10).await?;
    let beside = quiet.changes(changes).await?;
    burning.abort();
    told("beside the neighbour", &beside);
    println!("p99 ratio: {:.2}", at(&beside, 99) / at(&alone, 99));
    Ok(())
}

fn apply(cluster: &Cluster, namespace: &str, kind: &str, more: &str) -> Result<(), Error> {
    let name = kind.to_lowercase();
    let source = SOURCE.replace("NAME", &name).replace("KIND", kind).replace("MORE", more);
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": namespace, "labels": { "pemdas.dev/blueprint": "" } },
        "data": { "main.ncl": source },
    });
    cluster.apply(&map.to_string())?;
    Ok(())
}

/// An instance of the quiet namespace, and what is seen of what it makes.
struct Instance {
    api: Api<DynamicObject>,
    kind: String,
    seen: watch::Receiver<String>,
    turn: usize,
}

impl Instance {
    fn new(client: &Client, kind: &str) -> Self {
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), QUIET);
        let (told, seen) = watch::channel(String::new());
        tokio::spawn(async move {
            let only = watcher::Config::default().fields("metadata.name=one");
            let mut all = watcher(maps, only).default_backoff().applied_objects().boxed();
            while let Some(event) = all.next().await {
                let value = event.ok().and_then(|it| it.data?.remove("value"));
                told.send_replace(value.unwrap_or_default());
            }
        });
        Self { api: api(client, QUIET, kind), kind: kind.to_owned(), seen, turn: 0 }
    }

    /// Changes it, and waits until that is done; how many milliseconds that took.
    async fn change(&mut self) -> Result<f64, Error> {
        self.turn += 1;
        let value = self.turn.to_string();
        let wanted = format!("{value}!");
        let began = Instant::now();
        // The kind is not served before the blueprint was read.
        while let Err(error) = set(&self.api, &self.kind, "one", &value).await {
            if began.elapsed() > PATIENCE {
                return Err(error.into());
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        timeout(PATIENCE, self.seen.wait_for(|it| *it == wanted)).await??;
        Ok(began.elapsed().as_secs_f64() * 1_000.0)
    }

    async fn changes(&mut self, count: usize) -> Result<Vec<f64>, Error> {
        let mut times = Vec::new();
        for _ in 0..count {
            times.push(self.change().await?);
        }
        times.sort_by(f64::total_cmp);
        Ok(times)
    }
}

/// The neighbour changes one instance after the other, and never stops.
async fn burn(client: Client) {
    for turn in 0_usize.. {
        let (kind, name) =
            (format!("Burn{}", turn % BLUEPRINTS), format!("i{}", turn / BLUEPRINTS % INSTANCES));
        // Not served yet, or refused: the next one is tried.
        let _tried = set(&api(&client, HOSTILE, &kind), &kind, &name, &turn.to_string()).await;
        tokio::time::sleep(PAUSE).await;
    }
}

fn api(client: &Client, namespace: &str, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("neighbours.pemdas.dev", "v1", kind));
    Api::namespaced_with(client.clone(), namespace, &resource)
}

async fn set(api: &Api<DynamicObject>, kind: &str, name: &str, value: &str) -> Result<(), kube::Error> {
    let body: Value = json!({
        "apiVersion": "neighbours.pemdas.dev/v1", "kind": kind,
        "metadata": { "name": name }, "spec": { "value": value },
    });
    api.patch(name, &PatchParams::apply("neighbours").force(), &Patch::Apply(body)).await.map(drop)
}

/// The time that so many of a hundred stay below; they are sorted.
fn at(times: &[f64], percent: usize) -> f64 {
    let last = times.len().saturating_sub(1);
    times.get(last * percent / 100).copied().unwrap_or(f64::NAN)
}

fn told(how: &str, times: &[f64]) {
    println!("{how}: p50 {:.1} ms, p99 {:.1} ms, {} changes", at(times, 50), at(times, 99), times.len());
}
