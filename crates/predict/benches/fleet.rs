//! Rates of a fleet beside those of a loop over single predictors: fits, and steps with thirty means and standard
//! errors.
//!
//! Criterion prints them as elements per second, an element being a series.

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use predict::{Fleet, Forecast, Predictor, Spec, fit};

const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/nab/ec2_cpu_utilization_5f5533.csv");
const N_LEADS: usize = 30;
const N_FIT: usize = 600;

/// More than a cache holds: 100,000 series of AR(16) and their forecasts take about 250 MB.
const N_SERIES: usize = 100_000;

fn trace() -> Vec<f64> {
    let file = std::fs::File::open(TRACE).expect("the trace is part of the repository");
    series::csv::read(file, &series::csv::Options::default()).expect("the trace reads").samples().to_vec()
}

/// Stretches of the trace, each beginning at another sample.
fn rows(trace: &[f64], n_series: usize) -> Vec<&[f64]> {
    (0..n_series).map(|idx| &trace[idx % (trace.len() - N_FIT)..][..N_FIT]).collect()
}

fn group<'a>(criterion: &'a mut Criterion, name: &str, n_series: usize) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(n_series as u64)).sample_size(20).warm_up_time(Duration::from_secs(1));
    group
}

fn fits(criterion: &mut Criterion) {
    const N_FITS: usize = 5000;
    let trace = trace();
    let rows = rows(&trace, N_FITS);
    let spec = Spec::ar(16);
    let mut group = group(criterion, "fleet/ar16/fit_600", N_FITS);
    group.bench_function("fleet", |bencher| bencher.iter(|| Fleet::fit(&spec, black_box(&rows))));
    group.bench_function("loop", |bencher| {
        let single = |row: &&[f64]| fit(&spec, row).map(|model| model.predictor());
        bencher.iter(|| black_box(&rows).iter().map(single).collect::<Vec<_>>());
    });
}

fn steps(criterion: &mut Criterion) {
    let trace = trace();
    for (name, text) in [("fleet/ar16/step_and_30_forecasts", "AR(16)"), ("fleet/last/step_and_30_forecasts", "LAST")] {
        let spec: Spec = text.parse().expect("a specification");
        let fleet = Fleet::fit(&spec, &rows(&trace, N_SERIES));
        compare_steps(&mut group(criterion, name, N_SERIES), &trace, fleet);
    }
    // Fits of ARMA(8,8) take milliseconds, so a few stand for all.
    let spec: Spec = "ARMA(8,8)".parse().expect("a specification");
    let few: Vec<Predictor> = rows(&trace, 8).iter().map(|row| fit(&spec, row).expect("it fits").predictor()).collect();
    let mut fleet = Fleet::vacant(&spec, N_SERIES);
    (0..N_SERIES).for_each(|idx| drop(fleet.replace(idx, few[idx % few.len()].clone())));
    compare_steps(&mut group(criterion, "fleet/arma88/step_and_30_forecasts", N_SERIES), &trace, fleet);
}

fn compare_steps(group: &mut BenchmarkGroup<'_, WallTime>, trace: &[f64], mut fleet: Fleet) {
    let n_series = fleet.len();
    let (mut means, mut errors) = (vec![0.0; n_series * N_LEADS], vec![0.0; n_series * N_LEADS]);
    let mut singles: Vec<Predictor> = (0..n_series).map(|idx| fleet.predictor(idx).expect("all fit")).collect();
    let samples: Vec<f64> = (0..n_series).map(|idx| trace[idx % trace.len()]).collect();
    group.bench_function("fleet", |bencher| {
        bencher.iter(|| {
            fleet.step(black_box(&samples));
            fleet.forecast_into(N_LEADS, &mut means, &mut errors);
        });
    });
    let mut forecast = Forecast::default();
    group.bench_function("loop", |bencher| {
        bencher.iter(|| {
            let outputs = means.chunks_exact_mut(N_LEADS).zip(errors.chunks_exact_mut(N_LEADS));
            for ((single, sample), (means, errors)) in singles.iter_mut().zip(black_box(&samples)).zip(outputs) {
                single.step(*sample);
                single.forecast_into(N_LEADS, &mut forecast);
                means.copy_from_slice(forecast.means());
                errors.copy_from_slice(forecast.standard_errors());
            }
        });
    });
}

criterion_group!(benches, fits, steps);
criterion_main!(benches);
