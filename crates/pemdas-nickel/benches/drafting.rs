//! How drafting grows with the number of fields of a kind.
#![allow(missing_docs, clippy::expect_used, reason = "what makes the benchmark is said by its names")]

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pemdas_nickel::{Limits, Sources, kinds, outline};

fn blueprint(fields: usize) -> Sources {
    let mut spec = String::new();
    for index in 0..fields {
        let _ = writeln!(spec, "field{index} | AtMostLong 40 | doc \"Field {index}\" | optional,");
    }
    Sources::single(format!(
        "let {{ Blueprint, AtMostLong, .. }} = import \"pemdas/v1.ncl\" in
         {{ name = \"wide\", kinds.Wide = {{ group = \"example.com\", versions.v1.spec = {{ {spec} }} }}, nodes = {{}} }} | Blueprint"
    ))
}

fn drafting(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("draft");
    group.sample_size(10);
    for fields in [10, 50, 100, 200, 400] {
        let (evaluator, outlined) = outline::load(&blueprint(fields), &Limits::default());
        let (evaluator, blueprint) = (evaluator.expect("it loads"), outlined.blueprint.expect("a blueprint"));
        group.throughput(Throughput::Elements(fields as u64));
        group.bench_with_input(BenchmarkId::from_parameter(fields), &fields, |bencher, _| {
            bencher.iter(|| black_box(kinds::draft(&evaluator, &blueprint, &[])).kinds.len());
        });
    }
    group.finish();
}

criterion_group!(benches, drafting);
criterion_main!(benches);
