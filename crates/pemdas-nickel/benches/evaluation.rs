//! What evaluation costs: loading, calls, contracts, the way to a worker and back, and an answer that is known already.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "the macros of criterion; a benchmark that cannot run must stop"
)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use pemdas_core::blueprint::{Function, Read};
use pemdas_core::diagnostic::Span;
use pemdas_core::evaluate::{Form, question};
use pemdas_nickel::{
    Evaluator, InProcess, Limits, Memo, Place, Pool, PoolConfig, Renderer, Sources, WorkerCommand,
};
use serde_json::{Value, json};

/// A template and a contract of the usual size.
const BLUEPRINT: &str = r#"
let Spec = {
  image | String,
  replicas | Number | default = 2,
  ports | Array { name | String, port | Number },
  env | { _ | String } | default = {},
  resources | { cpu | String, memory | String },
  ..
} in
{
  Resource = { apiVersion | String, kind | String, metadata | { name | String, .. }, spec | Spec, .. },
  template = fun the =>
    let root = the.root in
    let spec_ = root.spec in
    let labels_ = { app = root.metadata.name } in
    {
      apiVersion = "apps/v1",
      kind = "Deployment",
      metadata = { name = root.metadata.name, labels = labels_ },
      spec = {
        replicas = spec_.replicas,
        selector.matchLabels = labels_,
        template = {
          metadata.labels = labels_,
          spec.containers = [
            {
              name = "main",
              image = spec_.image,
              ports = std.array.map (fun p => { name = p.name, containerPort = p.port }) spec_.ports,
              env = std.record.to_array spec_.env |> std.array.map (fun e => { name = e.field, value = e.value }),
              resources.requests = spec_.resources,
            },
          ],
        },
      },
    },
}
"#;

/// A custom resource of about fifty fields.
fn resource() -> Value {
    let env: serde_json::Map<String, Value> =
        (0..25).map(|n| (format!("VARIABLE_{n}"), json!(format!("value {n}")))).collect();
    json!({
        "apiVersion": "example.com/v1", "kind": "Service",
        "metadata": {
            "name": "web", "namespace": "shop", "uid": "8f2c", "resourceVersion": "12345", "generation": 3,
            "labels": { "app": "web", "team": "a", "tier": "front" },
        },
        "spec": {
            "image": "registry.example.com/web:1.2.3", "replicas": 3, "env": env,
            "ports": [{ "name": "http", "port": 80 }, { "name": "https", "port": 443 }, { "name": "metrics", "port": 9090 }],
            "resources": { "cpu": "100m", "memory": "128Mi" },
        },
    })
}

fn call() -> Place {
    Place::at(["template"]).call([json!({ "root": resource() }).into()])
}

fn pool() -> Pool {
    let program = env!("CARGO_BIN_EXE_pemdas-nickel-worker").into();
    Pool::new(PoolConfig::new(WorkerCommand { program, arguments: Vec::new() }))
}

fn evaluation(criterion: &mut Criterion) {
    let sources = Sources::single(BLUEPRINT);
    let limits = Limits::default();
    criterion.bench_function("cold load, in process", |bencher| {
        bencher.iter(|| black_box(InProcess::load(&sources, &limits).unwrap()));
    });

    let local = InProcess::load(&sources, &limits).unwrap();
    let place = call();
    criterion.bench_function("call, resource of 50 fields, in process", |bencher| {
        bencher.iter(|| black_box(local.evaluate(&place).unwrap()));
    });
    let contract = Place::at(["Resource"]);
    let value = resource();
    criterion.bench_function("contract check, resource of 50 fields, in process", |bencher| {
        bencher.iter(|| black_box(local.check(&contract, &value).unwrap()));
    });

    let pool = pool();
    criterion.bench_function("cold load, in a fresh worker", |bencher| {
        // Another identity each time: none may have the worker of another.
        let mut identity = 0_u64;
        bencher.iter(|| {
            identity += 1;
            black_box(pool.load(&identity.to_string(), &sources).unwrap().digest())
        });
    });
    let sandboxed = pool.load("bench", &sources).unwrap();
    criterion.bench_function("worker round trip, look at a field", |bencher| {
        bencher.iter(|| black_box(sandboxed.look(&contract).unwrap()));
    });
    criterion.bench_function("worker round trip, call", |bencher| {
        bencher.iter(|| black_box(sandboxed.evaluate(&place).unwrap()));
    });
    let renderer = Renderer::new(pool.load("bench", &sources).unwrap(), limits.clone());
    // What a pass of an instance with four templates asks, to begin with.
    let span = Span { file: "main.ncl".to_owned(), start: 0, end: 0 };
    let reads = vec![Read { path: vec!["root".to_owned()], span: span.clone() }];
    let function = Function { path: vec!["template".to_owned()], span, reads, plain: None };
    let asked = question(b"", "r1", &function, Form::Whole, &json!({ "root": resource() }));
    let batch = vec![asked; 4];
    criterion.bench_function("warm worker, one batch of four templates", |bencher| {
        bencher.iter(|| black_box(renderer.answers(&batch)));
    });
    let memoized = Memo::new(16 << 20).over(sandboxed, "bench", sources.digest());
    criterion.bench_function("memo hit, call", |bencher| {
        bencher.iter(|| black_box(memoized.evaluate(&place).unwrap()));
    });
}

criterion_group!(benches, evaluation);
criterion_main!(benches);
