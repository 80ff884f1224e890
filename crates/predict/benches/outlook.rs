//! Cost of an outlook over hours: a step of a series with daily and weekly seasons, and a thousand paths.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use predict::{Outlook, Periods, Resolution, agreeing};

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

/// Two weeks at five minutes with their hours, which hear and follow each other.
fn levels(criterion: &mut Criterion) {
    let (_, samples) = seen();
    let resolution = |length: usize, ratio| Resolution {
        outlook: Outlook::new(Periods::new(&[288.0, 2016.0]).expect("a day and a week").in_steps_of(length), 288),
        samples: samples.chunks_exact(length).map(|step| step.iter().sum::<f64>() / length as f64).collect(),
        n_before: 0,
        ratio,
    };
    let mut group = criterion.benchmark_group("outlook");
    // Told for each step of five minutes.
    group.throughput(Throughput::Elements(samples.len() as u64)).sample_size(20);
    group.bench_function("two_weeks_alone", |bencher| bencher.iter(|| agreeing(vec![resolution(1, 1)])));
    group.bench_function("two_weeks_with_hours", |bencher| {
        bencher.iter(|| agreeing(vec![resolution(1, 1), resolution(12, 12)]));
    });
    group.finish();
}

fn paths(criterion: &mut Criterion) {
    let (outlook, _) = seen();
    criterion.bench_function("outlook/1000_paths_of_100_steps", |bencher| {
        bencher.iter(|| outlook.paths(black_box(1000), 100, 1));
    });
}

criterion_group!(benches, steps, levels, paths);
criterion_main!(benches);
