//! What looking hours ahead costs: a step of a series that knows its days and weeks, and a thousand futures.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use predict::{Outlook, Periods};

const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/nab/ec2_cpu_utilization_5f5533.csv");

/// Two weeks at five minutes, to be seen a day ahead.
fn seen() -> (Outlook, Vec<f64>) {
    let file = std::fs::File::open(TRACE).expect("the trace is part of the repository");
    let samples =
        series::csv::read(file, &series::csv::Options::default()).expect("the trace reads").samples().to_vec();
    let mut outlook = Outlook::new(Periods::new(&[288.0, 2016.0]).expect("a day and a week"), 288);
    samples.iter().for_each(|sample| outlook.step(*sample));
    (outlook, samples)
}

fn steps(criterion: &mut Criterion) {
    let (mut outlook, samples) = seen();
    let mut coming = samples.iter().cycle();
    criterion.bench_function("outlook/step", |bencher| {
        bencher.iter(|| outlook.step(*coming.next().expect("a cycle never ends")));
    });
}

fn paths(criterion: &mut Criterion) {
    let (outlook, _) = seen();
    criterion.bench_function("outlook/1000_paths_of_100_steps", |bencher| {
        bencher.iter(|| outlook.paths(black_box(1000), 100, 1));
    });
}

criterion_group!(benches, steps, paths);
criterion_main!(benches);
