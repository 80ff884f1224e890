//! `bench-intervals`: holds the forecasts of AUTO against those of REFIT(AR(16)) with normal intervals and against its
//! own best candidate, on recorded and on made series, and its widths against theory. Writes JSON, and how far it is to
//! standard error.
//!
//! A window is a stretch of a series. AUTO lives through it from its first sample on, the peers are fitted to its first
//! part; all are scored on the rest.

use std::f64::consts::TAU;
use std::fs::File;
use std::io::{stderr, stdout};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use predict::{Evaluator, LeadScore, Live, Policy, Spec};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, Poisson, StandardNormal, StudentT};
use rayon::prelude::*;
use serde_json::{Value, json};
use statistics::{Interval, bootstrap, median, quantile};
use units::Confidence;

/// Leads that are scored.
const LEADS: [usize; 4] = [1, 5, 10, 30];
const N_LEADS: usize = LEADS.len();

/// The longest of them.
const N_AHEAD: usize = 30;

/// Model with normal intervals that AUTO is compared with.
const PEER: &str = "REFIT(AR(16),every=100,window=600)";

/// Single models that AUTO has to keep up with: the cheap ones among its candidates, linear ones refitted.
const SINGLE: [&str; 7] = [
    "LAST",
    "MEAN",
    "BM(32)",
    "NWS",
    "REFIT(AR(16),every=100,window=600)",
    "REFIT(ARIMA(16,1,0),every=100,window=600)",
    "REFIT(AR(2),every=100,window=600)",
];

/// Indices of LAST and MEAN among them.
const LAST_IDX: usize = 0;
const MEAN_IDX: usize = 1;

/// Windows of at least so many scored samples count for the 99th percentile and the ninth decile.
const N_LONG: usize = 2_000;

/// Ages at which widths are held against theory.
const AGES: [usize; 3] = [100, 300, 600];

/// Samples that count as the first ones.
const N_FIRST: usize = 100;

struct Window {
    set: &'static str,
    is_recorded: bool,
    samples: Vec<f64>,
    n_fit: usize,
    /// The standard errors of a forecast that knows the law, for leads 1, 2, …
    theory: Option<Vec<f64>>,
}

/// Results of one window.
struct Outcome {
    set: &'static str,
    is_recorded: bool,
    n_scored: usize,
    leads: [LeadOutcome; N_LEADS],
    /// The coverage of 95 % in the first samples.
    first: [Option<f64>; N_LEADS],
    /// Width over theory, by age.
    widths: Vec<[f64; N_LEADS]>,
    /// The least width of 95 % at a lead over the widest at shorter ones.
    narrowing: f64,
    /// Means outside their interval of 80 or 95 %.
    n_outside: usize,
}

#[derive(Clone, Default)]
struct LeadOutcome {
    interval_score: f64,
    peer_interval_score: f64,
    coverage: [f64; 3],
    squared: f64,
    /// Standard deviation of the scored samples.
    deviation: f64,
    singles: Vec<f64>,
}

fn main() -> Result<()> {
    let n_seeds = match std::env::args().nth(1) {
        Some(given) => given.parse().with_context(|| format!("`{given}` is no number of seeds"))?,
        None => 500,
    };
    let windows: Vec<Window> = recorded()?.into_iter().chain(made(n_seeds)).collect();
    let n_done = AtomicUsize::new(0);
    let outcomes: Vec<Outcome> = windows
        .par_iter()
        .map(|window| {
            let outcome = live_through(window);
            let done = n_done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(100) {
                _ = std::io::Write::write_fmt(&mut stderr(), format_args!("{done} of {} windows\n", windows.len()));
            }
            outcome
        })
        .collect();
    let mut sets: Vec<&str> = outcomes.iter().map(|outcome| outcome.set).collect();
    sets.dedup();
    let sets: Vec<Value> = sets.into_iter().map(|set| summary(set, &outcomes)).collect();
    let windows: Vec<Value> = outcomes.iter().filter(|outcome| outcome.is_recorded).map(Outcome::to_json).collect();
    Ok(serde_json::to_writer_pretty(
        stdout(),
        &json!({"leads": LEADS, "ages": AGES, "singles": SINGLE, "sets": sets, "windows": windows}),
    )?)
}

impl Outcome {
    fn to_json(&self) -> Value {
        let of_leads = |of: &dyn Fn(&LeadOutcome) -> f64| self.leads.iter().map(of).collect::<Vec<f64>>();
        json!({
            "set": self.set,
            "mean_squared_errors": of_leads(&|lead| lead.squared),
            "interval_scores": of_leads(&|lead| lead.interval_score),
        })
    }
}

fn live_through(window: &Window) -> Outcome {
    let Window { samples, n_fit, .. } = window;
    let spec = |text: &str| text.parse::<Spec>().expect("the models of a bench are models");
    let mut auto = Live::new(Policy::of(&Spec::auto()));
    let evaluator = || Evaluator::with_window(&LEADS, samples.len());
    let mut others: Vec<Option<Live>> = Vec::new();
    let mut scored: Vec<Evaluator> = (0..=SINGLE.len()).map(|_| evaluator()).collect();
    let mut first = evaluator();
    let (mut widths, mut narrowing, mut n_outside) = (Vec::new(), f64::INFINITY, 0);
    for (idx, sample) in samples.iter().enumerate() {
        let n = idx + 1;
        auto.step(*sample);
        let forecast = auto.forecast(N_AHEAD);
        if n <= N_FIRST {
            first.step(*sample, forecast.as_ref());
        }
        if let Some(forecast) = &forecast {
            let all: Vec<Interval> = forecast.intervals(Confidence::P95).collect();
            let width = |interval: &Interval| interval.upper - interval.lower;
            let mut widest = 0.0_f64;
            for interval in &all {
                if widest > 0.0 {
                    narrowing = narrowing.min(width(interval) / widest);
                }
                widest = widest.max(width(interval));
            }
            for confidence in [Confidence::P80, Confidence::P95] {
                let is_outside = |(interval, mean): &(Interval, &f64)| !interval.contains(**mean);
                n_outside += forecast.intervals(confidence).zip(forecast.means()).filter(is_outside).count();
            }
            if let Some(theory) = window.theory.as_ref().filter(|_| AGES.contains(&n)) {
                widths.push(LEADS.map(|lead| width(&all[lead - 1]) / (2.0 * 1.959_964 * theory[lead - 1])));
            }
        }
        if n < *n_fit {
            continue;
        }
        if n == *n_fit {
            let begun = |text: &&str| Live::fitted(Policy::fitted_at(&spec(text), n), &samples[..n]).ok();
            others = SINGLE.iter().map(begun).collect();
        } else {
            others.iter_mut().flatten().for_each(|other| other.step(*sample));
        }
        scored[0].step(*sample, forecast.as_ref());
        for (evaluator, other) in scored[1..].iter_mut().zip(&others) {
            evaluator.step(*sample, other.as_ref().and_then(|other| other.forecast(N_AHEAD)).as_ref());
        }
    }
    let scores: Vec<Vec<LeadScore>> = scored.iter().map(Evaluator::scores).collect();
    let peer = 1 + SINGLE.iter().position(|text| *text == PEER).expect("the peer is among them");
    let squared = |score: &LeadScore| score.errors.map_or(f64::NAN, |errors| errors.mean_squared);
    let interval_score = |score: &LeadScore| score.interval_scores.map_or(f64::NAN, |scores| scores.p95);
    let scored_samples = &samples[*n_fit..];
    let level = scored_samples.iter().sum::<f64>() / scored_samples.len() as f64;
    let variance =
        scored_samples.iter().map(|sample| (sample - level).powi(2)).sum::<f64>() / scored_samples.len() as f64;
    let leads = std::array::from_fn(|idx| LeadOutcome {
        interval_score: interval_score(&scores[0][idx]),
        peer_interval_score: interval_score(&scores[peer][idx]),
        coverage: scores[0][idx].coverage.map_or([f64::NAN; 3], |coverage| [coverage.p50, coverage.p80, coverage.p95]),
        squared: squared(&scores[0][idx]),
        deviation: variance.sqrt(),
        singles: scores[1..].iter().map(|scores| squared(&scores[idx])).collect(),
    });
    let first: Vec<Option<f64>> =
        first.scores().iter().map(|score| score.coverage.map(|coverage| coverage.p95)).collect();
    Outcome {
        set: window.set,
        is_recorded: window.is_recorded,
        n_scored: samples.len() - n_fit,
        leads,
        first: std::array::from_fn(|idx| first[idx]),
        widths,
        narrowing,
        n_outside,
    }
}

fn summary(set: &str, outcomes: &[Outcome]) -> Value {
    let of_set: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.set == set).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let at = |idx: usize| {
        let usable = |outcome: &&&Outcome| {
            let lead = &outcome.leads[idx];
            lead.peer_interval_score > 0.0 && lead.deviation > 0.0 && lead.squared.is_finite()
        };
        let windows: Vec<&LeadOutcome> = of_set.iter().filter(usable).map(|outcome| &outcome.leads[idx]).collect();
        // Windows of several units count alike: each in its standard deviation.
        let ratio = |drawn: &[f64]| {
            let sum =
                |of: &dyn Fn(&LeadOutcome) -> f64| drawn.iter().map(|idx| of(windows[*idx as usize])).sum::<f64>();
            Some(
                sum(&|lead| lead.interval_score / lead.deviation)
                    / sum(&|lead| lead.peer_interval_score / lead.deviation),
            )
        };
        let all: Vec<f64> = (0..windows.len()).map(|idx| idx as f64).collect();
        let long: Vec<&Outcome> = of_set.iter().copied().filter(|outcome| outcome.n_scored >= N_LONG).collect();
        let long_ratios: Vec<f64> = long
            .iter()
            .map(|outcome| outcome.leads[idx].interval_score / outcome.leads[idx].peer_interval_score)
            .collect();
        let interval = bootstrap(&all, ratio, Confidence::P95, 1);
        let off = |which: usize, nominal: f64, at: f64| {
            let distances: Vec<f64> =
                of_set.iter().map(|outcome| (outcome.leads[idx].coverage[which] - nominal).abs()).collect();
            quantile(&distances, at)
        };
        let covered =
            |which: usize| median(&of_set.iter().map(|outcome| outcome.leads[idx].coverage[which]).collect::<Vec<_>>());
        let over_best: Vec<f64> = windows
            .iter()
            .map(|lead| lead.squared / lead.singles.iter().copied().fold(f64::INFINITY, f64::min))
            .collect();
        let over = |single: usize| {
            let logs: Vec<f64> = windows
                .iter()
                .map(|lead| (lead.squared / lead.singles[single]).ln())
                .filter(|log| log.is_finite())
                .collect();
            mean(&logs).exp()
        };
        let first: Vec<f64> = of_set.iter().filter_map(|outcome| outcome.first[idx]).collect();
        json!({
            "lead": LEADS[idx],
            "interval_score_ratio": ratio(&all),
            "interval_score_ratio_interval": interval.map(|interval| [interval.lower, interval.upper]),
            "interval_score_ratio_p99": quantile(&long_ratios, 0.99),
            "coverage_median": [covered(0), covered(1), covered(2)],
            "coverage_off_ninth_decile": [off(0, 0.5, 0.9), off(1, 0.8, 0.9), off(2, 0.95, 0.9)],
            "coverage_first": mean(&first),
            "squared_over_best_median": median(&over_best),
            "squared_over_last": over(LAST_IDX),
            "squared_over_mean": over(MEAN_IDX),
        })
    };
    let width = |age: usize, idx: usize| {
        let widths: Vec<f64> =
            of_set.iter().filter_map(|outcome| outcome.widths.get(age)).map(|all| all[idx]).collect();
        [0.05, 0.5, 0.95].map(|share| quantile(&widths, share))
    };
    let has_theory = of_set.iter().any(|outcome| !outcome.widths.is_empty());
    let widths: Vec<Value> = if has_theory {
        (0..AGES.len()).map(|age| json!(std::array::from_fn::<_, N_LEADS, _>(|idx| width(age, idx)))).collect()
    } else {
        Vec::new()
    };
    let narrowings: Vec<f64> = of_set.iter().map(|outcome| outcome.narrowing).collect();
    json!({
        "set": set,
        "is_recorded": of_set.iter().all(|outcome| outcome.is_recorded),
        "n_windows": of_set.len(),
        "leads": (0..N_LEADS).map(at).collect::<Vec<_>>(),
        "width_over_theory": widths,
        "narrowing_least": narrowings.iter().copied().fold(f64::INFINITY, f64::min),
        "narrowing_median": median(&narrowings),
        "n_means_outside": of_set.iter().map(|outcome| outcome.n_outside).sum::<usize>(),
    })
}

/// Stretches of the given traces and of those of this project: long ones, and short ones as people have them.
fn recorded() -> Result<Vec<Window>> {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata");
    let mut windows = Vec::new();
    let mut stretches = |set, samples: &[f64], n_fit: usize, n: usize, spacing: usize| {
        for start in (0..(samples.len() + 1).saturating_sub(n)).step_by(spacing) {
            let samples = samples[start..start + n].to_vec();
            windows.push(Window { set, is_recorded: true, samples, n_fit, theory: None });
        }
    };
    let given = columns(&testdata.join("nab"))?;
    let own = columns(&testdata.join("host-load"))?;
    given.iter().for_each(|samples| stretches("cloud, 5 min", samples, 600, 2_600, 350));
    own.iter().for_each(|samples| stretches("a host, 1 s", samples, 300, 2_300, 40));
    given.iter().for_each(|samples| stretches("cloud, short", samples, 144, 284, 1_200));
    own.iter().for_each(|samples| stretches("a host, short", samples, 144, 284, 150));
    Ok(windows)
}

/// Every column of every file.
fn columns(folder: &Path) -> Result<Vec<Vec<f64>>> {
    let mut paths: Vec<_> =
        folder.read_dir()?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "csv"));
    paths.sort();
    let mut columns = Vec::new();
    for path in paths {
        let place = || format!("reading {}", path.display());
        let text = std::fs::read_to_string(&path).with_context(place)?;
        let n_columns = text.lines().next().map_or(0, |head| head.split(',').count());
        for column in 2..=n_columns {
            let options = series::csv::Options {
                column: Some(series::csv::Column::Number(column)),
                ..series::csv::Options::default()
            };
            let series = series::csv::read(File::open(&path).with_context(place)?, &options).with_context(place)?;
            columns.push(series.samples().to_vec());
        }
    }
    Ok(columns)
}

/// Series whose law is known; `n_seeds` of those that widths are held against theory for.
fn made(n_seeds: u64) -> Vec<Window> {
    let walk: fn(&mut Chance, usize) -> Vec<f64> =
        |chance, n| chance.recursion(n, |level, chance| level + chance.normal());
    let noise = |chance: &mut Chance, n: usize| chance.recursion(n, |_, chance| chance.normal());
    let ar1 = |chance: &mut Chance, n: usize| chance.recursion(n, |level, chance| 0.9 * level + chance.normal());
    let mut windows = Vec::new();
    let mut add =
        |set, n_windows: u64, (n_fit, n), theory: Option<Vec<f64>>, of: &dyn Fn(&mut Chance, usize) -> Vec<f64>| {
            for seed in 0..n_windows {
                let samples = of(&mut Chance(ChaCha8Rng::seed_from_u64(seed)), n);
                windows.push(Window { set, is_recorded: false, samples, n_fit, theory: theory.clone() });
            }
        };
    let theory = |variance: &dyn Fn(f64) -> f64| Some((1..=N_AHEAD).map(|lead| variance(lead as f64).sqrt()).collect());
    add("random walk", n_seeds, (300, 700), theory(&|lead| lead), &walk);
    add("white noise", n_seeds, (300, 700), theory(&|_| 1.0), &noise);
    add("AR(1), 0.9", n_seeds, (300, 700), theory(&|lead| (1.0 - 0.81_f64.powf(lead)) / 0.19), &ar1);
    const LONG: (usize, usize) = (600, 2_600);
    let n_windows = n_seeds.div_ceil(25);
    add("long walk", n_windows, LONG, None, &walk);
    add("long AR(1)", n_windows, LONG, None, &ar1);
    add("levels in steps", n_windows, LONG, None, &|chance, n| {
        let mut level = 0.0;
        chance.recursion(n, |_, chance| {
            level = if chance.happens(1.0 / 80.0) { 10.0 * chance.normal() } else { level };
            level + 0.5 * chance.normal()
        })
    });
    add("on and off", n_windows, LONG, None, &|chance, n| {
        let mut is_on = false;
        chance.recursion(n, |_, chance| {
            is_on ^= chance.happens(1.0 / 30.0);
            (f64::from(u8::from(is_on)) + 0.02 * chance.normal()).clamp(0.0, 1.0)
        })
    });
    add("noise with spikes", n_windows, LONG, None, &|chance, n| {
        chance.recursion(n, |_, chance| {
            let spike: f64 = Exp1.sample(&mut chance.0);
            chance.normal() + if chance.happens(0.02) { 20.0 * spike } else { 0.0 }
        })
    });
    add("changing variance", n_windows, LONG, None, &|chance, n| {
        let mut scale: f64 = 1.0;
        chance.recursion(n, |_, chance| {
            scale = if chance.happens(1.0 / 300.0) { chance.normal().exp() } else { scale };
            scale * chance.normal()
        })
    });
    add("GARCH and AR(1)", n_windows, LONG, None, &|chance, n| {
        let (mut variance, mut shock) = (1.0, 0.0_f64);
        chance.recursion(n, |level, chance| {
            variance = 0.02 + 0.1 * shock.powi(2) + 0.88 * variance;
            shock = f64::sqrt(variance) * chance.normal();
            0.8 * level + shock
        })
    });
    add("walk with heavy tails", n_windows, LONG, None, &|chance, n| {
        let law = StudentT::new(3.0).expect("three degrees of freedom are some");
        chance.recursion(n, |level, chance| level + law.sample(&mut chance.0))
    });
    add("period and noise", n_windows, LONG, None, &|chance, n| {
        let period = 5.0 + 55.0 * chance.0.random::<f64>();
        let mut t = 0.0;
        chance.recursion(n, |_, chance| {
            t += 1.0;
            3.0 * (TAU * t / period).sin() + chance.normal()
        })
    });
    add("waiting times", n_windows, LONG, None, &|chance, n| {
        chance.recursion(n, |_, chance| Exp1.sample(&mut chance.0))
    });
    add("counts", n_windows, LONG, None, &|chance, n| {
        let law = Poisson::new(0.3).expect("0.3 is a rate");
        chance.recursion(n, |_, chance| law.sample(&mut chance.0))
    });
    windows
}

struct Chance(ChaCha8Rng);

impl Chance {
    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }

    fn happens(&mut self, probability: f64) -> bool {
        self.0.random::<f64>() < probability
    }

    /// Returns `n` values of a recursion from 0, after 200 samples that are left out.
    fn recursion(&mut self, n: usize, mut next: impl FnMut(f64, &mut Self) -> f64) -> Vec<f64> {
        let mut level = 0.0;
        let mut all: Vec<f64> = (0..n + 200)
            .map(|_| {
                level = next(level, self);
                level
            })
            .collect();
        all.drain(..200);
        all
    }
}
