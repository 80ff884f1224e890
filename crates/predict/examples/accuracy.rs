//! How well models forecast what they were not fitted to, and how well their intervals cover it: on the recorded traces, and on
//! made-up series.
//!
//! `cargo run --release -p predict --example accuracy -- [--intervals gaussian|empirical|adaptive] MODEL…`
//!
//! Each case is a model fitted to the 600 samples before a random moment (fewer where half the series is shorter) and
//! stepped through up to 2,000 after it. A row shows medians over cases at 1, 5, 10 and 30 steps: the mean
//! squared error over the variance of the samples, and the share of samples inside 95 % intervals.

// What it prints is what it is for.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use predict::{Forecast, Intervals, Spec, fit};
use units::Confidence;

const LEADS: [usize; 4] = [1, 5, 10, 30];
const N_FIT: usize = 600;
const N_TEST: usize = 2000;

/// A stretch of a series, and where in it the fit ends.
struct Case {
    set: String,
    samples: Vec<f64>,
    n_fit: usize,
}

#[derive(Clone, Copy, Default)]
struct Score {
    mse_ratio: f64,
    mae: f64,
    coverage: f64,
    /// Gneiting and Raftery's interval score at 95 %, over the standard deviation of the samples.
    interval_score: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut intervals = None;
    if let Some(at) = arguments.iter().position(|argument| argument == "--intervals") {
        intervals = Some(match arguments.get(at + 1).map(String::as_str) {
            Some("gaussian") => Intervals::Gaussian,
            Some("empirical") => Intervals::Empirical,
            Some("adaptive") => Intervals::Adaptive,
            given => return Err(format!("intervals are gaussian, empirical or adaptive, not {given:?}").into()),
        });
        arguments.drain(at..=at + 1);
    }
    let cases = cases()?;
    for text in &arguments {
        let spec: Spec = text.parse()?;
        let scores = run(&cases, &spec, intervals);
        print_table(text, &cases, &scores);
    }
    Ok(())
}

fn cases() -> Result<Vec<Case>, Box<dyn std::error::Error>> {
    let mut random = Random(7);
    let mut cases = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/nab");
    let mut files: Vec<_> =
        std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?.iter().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "csv"));
    files.sort();
    for path in files {
        let samples = series::csv::read(File::open(&path)?, &series::csv::Options::default())?.samples().to_vec();
        let is_cpu = path.to_string_lossy().contains("cpu");
        let (set, n_cases) = if is_cpu { ("cpu", 28) } else { ("other", 28) };
        for _ in 0..n_cases {
            let n_fit = N_FIT.min(samples.len() / 2);
            let at = n_fit + random.below(samples.len() - n_fit - 300);
            let test_end = samples.len().min(at + N_TEST);
            cases.push(Case { set: set.to_owned(), samples: samples[at - n_fit..test_end].to_vec(), n_fit });
        }
    }
    for (name, make) in MADE_UP {
        for _ in 0..8 {
            cases.push(Case { set: name.to_owned(), samples: make(&mut random), n_fit: N_FIT });
        }
    }
    Ok(cases)
}

type Maker = fn(&mut Random) -> Vec<f64>;

const MADE_UP: [(&str, Maker); 8] = [
    ("white noise", |random| (0..2600).map(|_| random.normal()).collect()),
    ("AR(1) 0.8", |random| recur(random, |level, shock, _| 0.8 * level + shock)),
    ("random walk", |random| recur(random, |level, shock, _| level + shock)),
    ("level shifts", |random| {
        let mut level = 0.0;
        (0..2600)
            .map(|_| {
                if random.below(200) == 0 {
                    level = 5.0 * random.normal();
                }
                level + random.normal()
            })
            .collect()
    }),
    ("periodic", |random| (0..2600).map(|t| 3.0 * (f64::from(t) * 0.26).sin() + random.normal()).collect()),
    ("heavy tails", |random| recur(random, |level, shock, other| 0.6 * level + shock / (other.abs() + 0.2))),
    ("changing variance", |random| {
        let mut log_scale: f64 = 0.0;
        recur(random, move |level, shock, other| {
            log_scale = 0.995 * log_scale + 0.1 * other;
            0.6 * level + shock * log_scale.exp()
        })
    }),
    ("spikes", |random| {
        (0..2600).map(|_| random.normal().abs() + if random.below(40) == 0 { 20.0 } else { 0.0 }).collect()
    }),
];

fn recur(random: &mut Random, mut next: impl FnMut(f64, f64, f64) -> f64) -> Vec<f64> {
    let mut level = 0.0;
    (0..2600)
        .map(|_| {
            let (shock, other) = (random.normal(), random.normal());
            level = next(level, shock, other);
            level
        })
        .collect()
}

fn run(cases: &[Case], spec: &Spec, intervals: Option<Intervals>) -> Vec<Option<[Score; 4]>> {
    let scores = Mutex::new(vec![None; cases.len()]);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((idx, case)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|idx| Some((idx, cases.get(idx)?)))
                {
                    let score = evaluate(case, spec, intervals);
                    scores.lock().expect("no thread panics")[idx] = score;
                }
            });
        }
    });
    scores.into_inner().expect("no thread panics")
}

fn evaluate(case: &Case, spec: &Spec, intervals: Option<Intervals>) -> Option<[Score; 4]> {
    let mut predictor = fit(spec, &case.samples[..case.n_fit]).ok()?.predictor();
    if let Some(intervals) = intervals {
        predictor = predictor.with_intervals(intervals);
    }
    let test = &case.samples[case.n_fit..];
    let mut said: Vec<[(f64, predict::Interval); 4]> = Vec::with_capacity(test.len());
    let mut forecast = Forecast::default();
    for sample in std::iter::once(None).chain(test.iter().map(Some)) {
        if let Some(sample) = sample {
            predictor.step(*sample);
        }
        predictor.forecast_into(LEADS[3], &mut forecast);
        said.push(LEADS.map(|lead| (forecast.means()[lead - 1], forecast.interval(lead, Confidence::P95))));
    }
    let known: Vec<f64> = test.iter().copied().filter(|sample| !sample.is_nan()).collect();
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let variance = known.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>() / known.len() as f64;
    let mut scores = [Score::default(); 4];
    for (which, lead) in LEADS.into_iter().enumerate() {
        let mut n = 0.0;
        let score = &mut scores[which];
        for (t, sample) in test.iter().enumerate().skip(lead - 1).filter(|(_, sample)| !sample.is_nan()) {
            let (mean, interval) = said[t + 1 - lead][which];
            n += 1.0;
            score.mse_ratio += (sample - mean).powi(2) / variance;
            score.mae += (sample - mean).abs();
            score.coverage += f64::from(u8::from(interval.contains(*sample)));
            let outside = (interval.lower - sample).max(sample - interval.upper).max(0.0);
            score.interval_score += (interval.upper - interval.lower + 40.0 * outside) / variance.sqrt();
        }
        for sum in [&mut score.mse_ratio, &mut score.mae, &mut score.coverage, &mut score.interval_score] {
            *sum /= n;
        }
    }
    Some(scores)
}

fn print_table(text: &str, cases: &[Case], scores: &[Option<[Score; 4]>]) {
    println!("{text}");
    let mut sets: BTreeMap<&str, Vec<[Score; 4]>> = BTreeMap::new();
    for (case, score) in cases.iter().zip(scores) {
        if let Some(score) = score {
            sets.entry(&case.set).or_default().push(*score);
        }
    }
    for (set, scores) in sets {
        print!("  {set:18} {:3} ", scores.len());
        for (digits, what) in [
            (3, (|score: &Score| score.mse_ratio) as fn(&Score) -> f64),
            (3, |score| score.coverage),
            (2, |score| score.interval_score),
        ] {
            let medians: Vec<String> = (0..4)
                .map(|which| {
                    let mut values: Vec<f64> = scores.iter().map(|score| what(&score[which])).collect();
                    values.sort_by(f64::total_cmp);
                    format!("{:.digits$}", values[values.len() / 2])
                })
                .collect();
            print!("  {}", medians.join(" "));
        }
        let tenth: Vec<String> = (0..4)
            .map(|which| {
                let mut coverages: Vec<f64> = scores.iter().map(|score| score[which].coverage).collect();
                coverages.sort_by(f64::total_cmp);
                format!("{:.3}", coverages[coverages.len() / 10])
            })
            .collect();
        let mae = |which: usize| scores.iter().map(|score| score[which].mae).sum::<f64>() / scores.len() as f64;
        println!("  p10 {}  mae {:.2} {:.2}", tenth.join(" "), mae(0), mae(3));
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| (self.bits() >> 11) as f64 / (1_u64 << 53) as f64).sum::<f64>() - 6.0
    }
}
