//! Cost of the models beside the linear ones on a recorded CPU trace: a fit, and a step with thirty means and standard
//! errors. AUTO stands beside one whose budget does not pay for a season, which looks for none, on noise that has none
//! and on a wave that has one.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use predict::{Forecast, Spec, fit};

const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/nab/ec2_cpu_utilization_5f5533.csv");

const MODELS: [(&str, &str); 8] = [
    ("nws", "NWS"),
    ("nws_recent", "NWS(recent=100)"),
    ("ets_ann", "ETS(A,N,N)"),
    ("ets_aan", "ETS(A,A,N)"),
    ("ets_aadn", "ETS(A,Ad,N)"),
    ("tar1", "TAR(1)"),
    ("tar2", "TAR(2)"),
    ("tar8", "TAR(8)"),
];

fn trace() -> Vec<f64> {
    let file = std::fs::File::open(TRACE).expect("the trace is part of the repository");
    series::csv::read(file, &series::csv::Options::default()).expect("the trace reads").samples().to_vec()
}

fn fits(criterion: &mut Criterion) {
    let samples = trace();
    for (name, text) in MODELS {
        let spec: Spec = text.parse().expect("a specification");
        for n in [600, 2000] {
            let name = format!("{name}/fit_{n}");
            criterion.bench_function(&name, |bencher| bencher.iter(|| fit(&spec, black_box(&samples[..n]))));
        }
    }
}

fn steps(criterion: &mut Criterion) {
    let samples = trace();
    for (name, text) in MODELS {
        let spec: Spec = text.parse().expect("a specification");
        let mut predictor = fit(&spec, &samples[..600]).expect("the trace fits").predictor();
        let (mut forecast, mut coming) = (Forecast::default(), samples.iter().cycle());
        let name = format!("{name}/step_and_30_forecasts");
        criterion.bench_function(&name, |bencher| {
            bencher.iter(|| {
                predictor.step(*coming.next().expect("a cycle never ends"));
                predictor.forecast_into(30, &mut forecast);
                black_box(forecast.means()[29] + forecast.standard_errors()[29])
            });
        });
    }
}

fn steps_of_auto(criterion: &mut Criterion) {
    // Multiples alone would be nearly periodic: SplitMix64 (Steele, Lea and Flood 2014).
    let noise = |t: u32| {
        let mut bits = u64::from(t + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    let noises: Vec<f64> = (0..8000).map(noise).collect();
    let wave = |t: u32| 3.0 * (std::f64::consts::TAU * f64::from(t) / 80.0).sin() + noise(t);
    let waves: Vec<f64> = (0..8000).map(wave).collect();
    for (what, samples) in [("noise", &noises), ("wave", &waves)] {
        for (name, text) in [("auto", "AUTO"), ("auto_without_look", "AUTO(budget=30000)")] {
            let spec: Spec = text.parse().expect("a specification");
            let mut predictor = fit(&spec, &samples[..2400]).expect("the samples fit").predictor();
            let mut coming = samples[2400..].iter().cycle();
            criterion.bench_function(&format!("{name}/step_on_{what}"), |bencher| {
                bencher.iter(|| predictor.step(*coming.next().expect("a cycle never ends")));
            });
        }
    }
}

criterion_group!(benches, fits, steps, steps_of_auto);
criterion_main!(benches);
