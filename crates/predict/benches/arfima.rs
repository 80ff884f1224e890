//! Cost of an ARFIMA on a recorded CPU trace: a fit by either method, and a step with thirty means and standard errors.

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
    for n in [600, 2000] {
        for (name, text) in [
            ("arfima0d0_css", "ARFIMA(0,d,0)"),
            ("arfima0d0_ml", "ARFIMA(0,d,0,method=ml)"),
            ("arfima4d4_css", "ARFIMA(4,d,4)"),
            ("arfima4d4_ml", "ARFIMA(4,d,4,method=ml)"),
        ] {
            let spec: Spec = text.parse().expect("a specification");
            criterion.bench_function(&format!("{name}/fit_{n}"), |bencher| {
                bencher.iter(|| fit(&spec, black_box(&samples[..n])));
            });
        }
    }
}

fn steps(criterion: &mut Criterion) {
    let samples = trace();
    for (name, text) in [("arfima0d0", "ARFIMA(0,d,0)"), ("arfima4d4", "ARFIMA(4,d,4)")] {
        let spec: Spec = text.parse().expect("a specification");
        let mut predictor = fit(&spec, &samples[..600]).expect("the trace fits").predictor();
        let (mut forecast, mut coming) = (Forecast::default(), samples.iter().cycle());
        criterion.bench_function(&format!("{name}/step_and_30_forecasts"), |bencher| {
            bencher.iter(|| {
                predictor.step(*coming.next().expect("a cycle never ends"));
                predictor.forecast_into(30, &mut forecast);
                black_box(forecast.means()[29] + forecast.standard_errors()[29])
            });
        });
    }
}

criterion_group!(benches, fits, steps);
criterion_main!(benches);
