//! Cost of an AR(16) on a recorded CPU trace: a fit, and a step with thirty means and standard errors.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use predict::{Forecast, Spec, fit};

const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/nab/ec2_cpu_utilization_5f5533.csv");

fn trace() -> Vec<f64> {
    let file = std::fs::File::open(TRACE).expect("the trace is part of the repository");
    series::csv::read(file, &series::csv::Options::default()).expect("the trace reads").samples().to_vec()
}

fn fits(criterion: &mut Criterion) {
    let samples = trace();
    for (name, text, n) in [
        ("ar16/fit_600", "AR(16)", 600),
        ("ar16/fit_2000", "AR(16)", 2000),
        ("ar16_burg/fit_600", "AR(16,method=burg)", 600),
        ("ar512/fit_2000", "AR(512)", 2000),
        ("arma88/fit_600", "ARMA(8,8)", 600),
        ("arma88/fit_2000", "ARMA(8,8)", 2000),
        ("arma44/fit_2000", "ARMA(4,4)", 2000),
        ("arima414/fit_2000", "ARIMA(4,1,4)", 2000),
        ("ar16_ml/fit_2000", "AR(16,method=ml)", 2000),
        ("arma44_ml/fit_600", "ARMA(4,4,method=ml)", 600),
        ("last/fit_600", "LAST", 600),
        ("bm32/fit_600", "BM(32)", 600),
    ] {
        let spec: Spec = text.parse().expect("a specification");
        criterion.bench_function(name, |bencher| bencher.iter(|| fit(&spec, black_box(&samples[..n]))));
    }
}

fn steps(criterion: &mut Criterion) {
    let samples = trace();
    for (name, text, n_leads) in [
        ("ar16/step_and_30_forecasts", "AR(16)", 30),
        ("ar16/step_and_300_forecasts", "AR(16)", 300),
        ("arma88/step_and_30_forecasts", "ARMA(8,8)", 30),
        ("last/step_and_30_forecasts", "LAST", 30),
        ("mean/step_and_30_forecasts", "MEAN", 30),
    ] {
        let spec: Spec = text.parse().expect("a specification");
        let mut predictor = fit(&spec, &samples[..600]).expect("the trace fits").predictor();
        let (mut forecast, mut coming) = (Forecast::default(), samples.iter().cycle());
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| {
                predictor.step(*coming.next().expect("a cycle never ends"));
                predictor.forecast_into(n_leads, &mut forecast);
                black_box(forecast.means()[n_leads - 1] + forecast.standard_errors()[n_leads - 1])
            });
        });
    }
}

criterion_group!(benches, fits, steps);
criterion_main!(benches);
