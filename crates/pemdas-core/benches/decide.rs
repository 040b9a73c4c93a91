//! How fast a decision is: `cargo bench -p pemdas-core --features explore --bench decide`.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a measurement")]

use std::{hint::black_box, time::Duration};

use criterion::{BatchSize, Criterion, Throughput};
use pemdas_core::{
    decide::{Memo, decide},
    explore::{Stage, explored_states},
};

fn decisions(criterion: &mut Criterion) {
    for nodes in [5, 20, 50, 500] {
        let mut group = criterion.benchmark_group(format!("{nodes} nodes"));
        group.throughput(Throughput::Elements(1));
        let settled = Stage::settled(nodes);
        group.bench_function("fresh", |bench| {
            bench.iter(|| black_box(decide(Some(settled.program()), settled.world())));
        });
        let mut memo = Memo::default();
        group.bench_function("settled, no change", |bench| {
            bench.iter(|| black_box(memo.decide(Some(settled.program()), settled.world()).wake));
        });
        let (mut stage, mut next) = (settled.clone(), settled.clone());
        group.bench_function("settled, an object that nobody reads", |bench| {
            bench.iter_batched(
                || next.irrelevant(),
                |fact| black_box(stage.learn(fact).wake),
                BatchSize::SmallInput,
            );
        });
        let (mut stage, mut next) = (settled.clone(), settled.clone());
        group.bench_function("settled, a change that matters to nobody", |bench| {
            bench.iter_batched(
                || next.unimportant(),
                |fact| black_box(stage.learn(fact).wake),
                BatchSize::SmallInput,
            );
        });
        let (mut stage, mut next) = (settled.clone(), settled.clone());
        group.bench_function(
            "the first object changed, and all that waits for it, in a status of every node",
            |bench| {
                bench.iter_batched(
                    || next.important(),
                    |fact| black_box(stage.learn(fact).wake),
                    BatchSize::SmallInput,
                );
            },
        );
        let brief = Stage::brief(nodes);
        let (mut stage, mut next) = (brief.clone(), brief);
        group.bench_function("the last object changed, in a status of one field", |bench| {
            bench.iter_batched(
                || next.last(),
                |fact| black_box(stage.learn(fact).wake),
                BatchSize::SmallInput,
            );
        });
        group.finish();
    }
}

fn explorer(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("explorer");
    let states = explored_states(500);
    group.sample_size(10).throughput(Throughput::Elements(states as u64));
    group.bench_function("states", |bench| bench.iter(|| black_box(explored_states(500))));
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    decisions(&mut criterion);
    explorer(&mut criterion);
    criterion.final_summary();
}
