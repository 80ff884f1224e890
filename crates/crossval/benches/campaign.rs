//! Cost of a case of AR(16), fitted to 600 samples, tested on 2,000, at 30 leads: as part of a campaign, its row in a
//! Parquet file included, and as a bare loop that does the same arithmetic over plain arrays and nothing else.
//!
//! The bare loop is what a campaign is measured against: it knows that there are no gaps, that standard errors do not
//! change, and that intervals are normal.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;

use criterion::{Criterion, criterion_group, criterion_main};
use crossval::{Campaign, Template, Trace};
use predict::{Spec, fit};

const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/nab/ec2_cpu_utilization_5f5533.csv");
const TEMPLATE: &str = "models = [\"AR(16)\"]\nfit = 600\ntest = 2000\nleads = \"1..30\"";

const ORDER: usize = 16;
const N_FIT: usize = 600;
const N_TEST: usize = 2000;
const N_LEADS: usize = 30;
/// Largest lag of the correlations of errors one step ahead.
const N_LAGS: usize = 33;
/// Number of cubics per standard error; the CRPS of a normal forecast is taken from them.
const N_PER_UNIT: f64 = 64.0;
const N_CUBICS: usize = 544;

fn trace() -> Trace {
    Trace::read(TRACE.as_ref(), None).expect("the trace is part of the repository").remove(0)
}

/// One lead's sums.
#[derive(Clone, Copy, Default)]
struct Sums {
    errors: f64,
    magnitudes: f64,
    squares: f64,
    crps: f64,
    inside: [f64; 3],
    scores: [f64; 3],
}

/// All that is known of a case at a lead: sums, and the least, the middle and the greatest error.
fn bare_case(samples: &[f64], errors: &mut [f64], cubics: &[[f64; 4]], quantiles: &[f64]) -> f64 {
    let model = fit(&Spec::ar(ORDER), &samples[..N_FIT]).expect("the trace fits");
    let mean = model.mean();
    let weights: Vec<f64> = model.coefficients().into_iter().rev().collect();
    let spread = model.predictor().forecast(N_LEADS).standard_errors().to_vec();
    let mut sums = [Sums::default(); N_LEADS];
    let mut row = [0.0; ORDER + N_LEADS];
    for origin in 0..N_TEST {
        let past = &samples[N_FIT + origin - ORDER..N_FIT + origin];
        (0..ORDER).for_each(|lag| row[lag] = past[lag] - mean);
        for lead in 0..N_LEADS {
            row[ORDER + lead] = dot(&weights, &row[lead..lead + ORDER]);
        }
        for lead in 0..N_LEADS.min(N_TEST - origin) {
            let error = samples[N_FIT + origin + lead] - (row[ORDER + lead] + mean);
            errors[lead * N_TEST + origin] = error;
            take(&mut sums[lead], error, spread[lead], cubics);
        }
    }
    let tested = tests(&errors[..N_TEST], quantiles);
    let rows = errors.chunks_exact_mut(N_TEST).zip(&sums).enumerate();
    let scored: f64 = rows
        .map(|(lead, (errors, sums))| {
            let known = &mut errors[..N_TEST - lead];
            let middle = *known.select_nth_unstable_by(N_TEST / 2, f64::total_cmp).1;
            let (least, most) =
                known.iter().fold((0.0_f64, 0.0_f64), |(low, high), error| (low.min(*error), high.max(*error)));
            let scored: f64 = sums.inside.iter().chain(&sums.scores).sum();
            least + middle + most + sums.errors + sums.magnitudes + sums.squares + sums.crps + scored
        })
        .sum();
    scored + tested
}

/// Computes the parts of the tests of errors one step ahead: correlations, turns and rises, and the line of the
/// quantiles.
fn tests(errors: &[f64], quantiles: &[f64]) -> f64 {
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let deviations: Vec<f64> = errors.iter().map(|error| error - mean).collect();
    let products = (0..=N_LAGS).map(|lag| dot(&deviations[..errors.len() - lag], &deviations[lag..]));
    let turns = errors.windows(3).filter(|three| (three[1] > three[0]) == (three[1] > three[2])).count();
    let rises = errors.windows(2).filter(|pair| pair[1] > pair[0]).count();
    let mut sorted = errors.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    products.sum::<f64>() + dot(&sorted, quantiles) + (turns + rises) as f64
}

#[inline]
fn take(sums: &mut Sums, error: f64, spread: f64, cubics: &[[f64; 4]]) {
    let magnitude = error.abs();
    let place = magnitude / spread * N_PER_UNIT;
    sums.errors += error;
    sums.magnitudes += magnitude;
    sums.squares += error * error;
    sums.crps += cubics.get(place as usize).map_or(magnitude - spread, |[a, b, c, d]| {
        let share = place - place.trunc();
        spread * (a + share * (b + share * (c + share * d)))
    });
    for (idx, (width, penalty)) in [(0.674, 4.0), (1.28, 10.0), (1.96, 40.0)].into_iter().enumerate() {
        let reach = width * spread;
        sums.inside[idx] += f64::from(u8::from(magnitude <= reach));
        sums.scores[idx] += 2.0 * reach + penalty * (magnitude - reach).max(0.0);
    }
}

/// Returns the dot product, summed in four parts, as many as the processor can add at once.
fn dot(weights: &[f64], values: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    for (weight, value) in weights.as_chunks::<4>().0.iter().zip(values.as_chunks::<4>().0) {
        (0..4).for_each(|lane| sums[lane] += weight[lane] * value[lane]);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

fn bare_loop(criterion: &mut Criterion) {
    let trace = trace();
    let campaign =
        Campaign::new(Template::read(TEMPLATE).expect("a template"), vec![trace.clone()], 1).expect("a campaign");
    let cubics: Vec<[f64; 4]> = (0..N_CUBICS).map(|idx| [idx as f64 / N_PER_UNIT, 0.5, 0.1, 0.01]).collect();
    let quantiles: Vec<f64> = (0..N_TEST).map(|idx| idx as f64 / N_TEST as f64 - 0.5).collect();
    let mut errors = vec![0.0; N_LEADS * N_TEST];
    let mut windows = 0_u64..;
    criterion.bench_function("bare_loop/case", |bencher| {
        bencher.iter(|| {
            let start = campaign.window(windows.next().expect("numbers do not end")).start;
            black_box(bare_case(&trace.samples()[start..start + N_FIT + N_TEST], &mut errors, &cubics, &quantiles))
        });
    });
}

/// Measures a campaign on one worker, in parts of 64 cases; those of a run are of 512, and share the cost of a part
/// among more.
fn campaign(criterion: &mut Criterion) {
    const N_CASES: u64 = 64;
    let campaign = Campaign::new(Template::read(TEMPLATE).expect("a template"), vec![trace()], 1).expect("a campaign");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let mut parts = 0_u64..;
    let mut group = criterion.benchmark_group("campaign");
    group.throughput(criterion::Throughput::Elements(N_CASES));
    group.bench_function("64_cases", |bencher| {
        bencher.iter(|| {
            let start = N_CASES * parts.next().expect("numbers do not end");
            pool.install(|| campaign.part(start..start + N_CASES, &AtomicBool::new(false), |_| {})).expect("a part")
        });
    });
    group.finish();
}

criterion_group!(benches, bare_loop, campaign);
criterion_main!(benches);
