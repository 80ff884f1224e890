//! `bench-run-time`: holds the run-time advisor's 95 % intervals against recorded availability, as if tasks of drawn
//! amounts of CPU time had run then and got what was recorded. Prints the table of `docs/studies/cpu-availability.md`;
//! the same on every machine.
//!
//! Tasks start at random moments and overlap, so that they are no independent tests: a spell that nobody forecast
//! counts for each of them.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use predict::{Demand, Live, MeasurementError, Policy, RunTime, Spec, WindowErrors};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use series::csv::{Column, Options, read};
use statistics::rescaled_range;
use units::Confidence;

const SEED: u64 = 1;

/// A node makes forecasts as long as the longest window once in so many seconds, and others for so many steps.
const FOLLOW_EVERY_SECONDS: f64 = 5.0;
const N_SHORT_LEADS: usize = 10;

/// Recorded availability, and how it is read.
struct Trace {
    path: &'static str,
    column: Option<&'static str>,
    availability: fn(f64) -> f64,
    /// Samples before the first task.
    n_first: usize,
    /// Amounts of CPU time, and how many tasks need one between a bound and the next.
    bounds_seconds: [f64; 4],
    n_tasks: usize,
}

const fn host(path: &'static str) -> Trace {
    let bounds_seconds = [1.0, 10.0, 60.0, 300.0];
    Trace {
        path,
        column: Some("cpu.availability"),
        availability: |share| share,
        n_first: 120,
        bounds_seconds,
        n_tasks: 60,
    }
}

const fn cloud(path: &'static str) -> Trace {
    let bounds_seconds = [300.0, 3_600.0, 21_600.0, 86_400.0];
    Trace { path, column: None, availability: |busy| 1.0 - busy / 100.0, n_first: 600, bounds_seconds, n_tasks: 100 }
}

const TRACES: [Trace; 7] = [
    host("host-load/in-use.csv"),
    host("host-load/mixed.csv"),
    host("host-load/bursty-and-spinner.csv"),
    cloud("nab/ec2_cpu_utilization_24ae8d.csv"),
    cloud("nab/ec2_cpu_utilization_53ea38.csv"),
    cloud("nab/ec2_cpu_utilization_5f5533.csv"),
    cloud("nab/rds_cpu_utilization_e47b3b.csv"),
];

/// A trace, and what became of its tasks.
struct Replayed {
    n_samples: usize,
    /// Hurst exponent by the pox plot, as in Table 4 of the study.
    hurst: f64,
    coverages: [Coverage; 3],
}

impl Trace {
    fn name(&self) -> String {
        Path::new(self.path).file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// Outcomes of the intervals of some tasks.
#[derive(Clone, Copy, Default)]
struct Coverage {
    n_within: usize,
    n_sooner: usize,
    n_later: usize,
    /// The record ended before the task, and before it was known to be late.
    n_undecided: usize,
    /// Sums over tasks with an end: the interval's width and the median's distance, in shares of the time taken.
    width: f64,
    distance: f64,
}

impl Coverage {
    fn add(&mut self, run_time: &RunTime, took: Option<f64>, recorded_seconds: f64) {
        let interval = run_time.interval(Confidence::P95);
        let seconds = |end: Option<Duration>| end.map_or(f64::INFINITY, |end| end.as_secs_f64());
        let (lower, upper) = (seconds(interval.lower), seconds(interval.upper));
        let Some(took) = took else {
            *(if upper < recorded_seconds { &mut self.n_later } else { &mut self.n_undecided }) += 1;
            return;
        };
        *(match took {
            took if took < lower => &mut self.n_sooner,
            took if took > upper => &mut self.n_later,
            _ => &mut self.n_within,
        }) += 1;
        self.width += (upper.min(run_time.horizon().as_secs_f64()) - lower) / took;
        self.distance += (seconds(run_time.median()).min(run_time.horizon().as_secs_f64()) - took).abs() / took;
    }

    fn join(self, other: Self) -> Self {
        Self {
            n_within: self.n_within + other.n_within,
            n_sooner: self.n_sooner + other.n_sooner,
            n_later: self.n_later + other.n_later,
            n_undecided: self.n_undecided + other.n_undecided,
            width: self.width + other.width,
            distance: self.distance + other.distance,
        }
    }

    fn row(&self, out: &mut impl Write, name: &str, amount: &str) -> io::Result<()> {
        let Self { n_within, n_sooner, n_later, n_undecided, width, distance } = *self;
        let n = n_within + n_sooner + n_later;
        let percent = |sum: f64| if n == 0 { "-".to_owned() } else { format!("{:.1} %", 100.0 * sum / n as f64) };
        writeln!(
            out,
            "| {name} | {amount} | {} ({n}) | {n_sooner} | {n_later} | {n_undecided} | {} | {} |",
            percent(n_within as f64),
            percent(width),
            percent(distance)
        )
    }
}

/// A task that starts right after a sample.
struct Task {
    origin: usize,
    class: usize,
    cpu_seconds: f64,
}

fn main() -> Result<()> {
    let found = TRACES.par_iter().map(replay).collect::<Result<Vec<_>>>()?;
    let mut out = io::stdout().lock();
    writeln!(out, "| trace | CPU time | within 95 % | sooner | later | undecided | width | median off by |")?;
    writeln!(out, "|---|---|---:|---:|---:|---:|---:|---:|")?;
    for (trace, replayed) in TRACES.iter().zip(&found) {
        let name = trace.name();
        for (coverage, bounds) in replayed.coverages.iter().zip(trace.bounds_seconds.windows(2)) {
            let [from, to] =
                [bounds[0], bounds[1]].map(|seconds| units::span::format(Duration::from_secs_f64(seconds)));
            coverage.row(&mut out, &name, &format!("{from} to {to}"))?;
        }
    }
    for (name, is_chosen) in [("all, a sample every second", true), ("all, a sample every 5 min", false)] {
        let chosen = TRACES.iter().zip(&found).filter(|(trace, _)| trace.column.is_some() == is_chosen);
        let all = chosen.flat_map(|(_, replayed)| replayed.coverages).fold(Coverage::default(), Coverage::join);
        all.row(&mut out, name, "")?;
    }
    writeln!(out, "\n| trace | samples | Hurst exponent |\n|---|---:|---:|")?;
    for (trace, replayed) in TRACES.iter().zip(&found) {
        writeln!(out, "| {} | {} | {:.2} |", trace.name(), replayed.n_samples, replayed.hurst)?;
    }
    Ok(())
}

fn replay(trace: &Trace) -> Result<Replayed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(trace.path);
    let file = File::open(&path).with_context(|| format!("opening {}", path.display()))?;
    let column = trace.column.map(|name| Column::Name(name.to_owned()));
    let series =
        read(file, &Options { column, ..Options::default() }).with_context(|| format!("reading {}", path.display()))?;
    let samples: Vec<f64> = series.samples().iter().map(|value| (trace.availability)(*value).clamp(0.0, 1.0)).collect();
    let step = series.grid().with_context(|| format!("{} has no times", path.display()))?.step.length();
    let mut errors = WindowErrors::of_availability(step);
    let tasks = tasks(trace, samples.len().saturating_sub(errors.lag()));
    ensure!(!tasks.is_empty(), "{} is too short", path.display());
    let mut tasks = tasks.into_iter().peekable();
    let mut live = Live::new(Policy::of(&Spec::auto())).within(0.0, 1.0);
    let follow_every = ((FOLLOW_EVERY_SECONDS / step.as_secs_f64()).round() as usize).max(1);
    let mut coverages = [Coverage::default(); 3];
    for (idx, &sample) in samples.iter().enumerate() {
        live.step(sample);
        let n_leads = if idx % follow_every == 0 { errors.n_leads() } else { N_SHORT_LEADS + errors.lag() };
        let forecast = live.forecast(n_leads).filter(|_| !sample.is_nan());
        errors.step(sample, forecast.as_ref());
        while let Some(task) = tasks.next_if(|task| task.origin == idx) {
            let demand = Demand {
                cpu: Duration::from_secs_f64(task.cpu_seconds),
                n_threads: 1,
                step,
                since_sample: Duration::ZERO,
                // Tasks get what was recorded.
                measurement: MeasurementError::NONE,
            };
            let Some(forecast) = live.forecast(demand.n_leads(&errors)) else { continue };
            let run_time = RunTime::new(&forecast, &errors, demand)?;
            // A task's time is seen in the samples so much later.
            let ahead = &samples[idx + 1 + errors.lag()..];
            let recorded_seconds = ahead.len() as f64 * step.as_secs_f64();
            coverages[task.class].add(&run_time, took(ahead, step, task.cpu_seconds), recorded_seconds);
        }
    }
    let known: Vec<f64> = samples.iter().copied().filter(|sample| !sample.is_nan()).collect();
    Ok(Replayed { n_samples: known.len(), hurst: rescaled_range(&known)?.exponent, coverages })
}

/// Returns random tasks in the order of their origins.
fn tasks(trace: &Trace, n_samples: usize) -> Vec<Task> {
    let mut chance = ChaCha8Rng::seed_from_u64(SEED);
    let mut tasks = Vec::new();
    for (class, bounds) in trace.bounds_seconds.windows(2).enumerate() {
        for _ in 0..trace.n_tasks {
            let cpu_seconds = (chance.random_range(bounds[0].ln()..bounds[1].ln())).exp();
            tasks.push(Task { origin: chance.random_range(trace.n_first..n_samples - 1), class, cpu_seconds });
        }
    }
    tasks.sort_by_key(|task| task.origin);
    tasks
}

/// Returns the time that a task takes for so much CPU time, in seconds; none if the record ends or has a gap before.
fn took(ahead: &[f64], step: Duration, cpu_seconds: f64) -> Option<f64> {
    let mut left = cpu_seconds;
    for (n_before, share) in ahead.iter().enumerate() {
        let got = share * step.as_secs_f64();
        if got.is_nan() {
            return None;
        }
        if got >= left {
            return Some(step.as_secs_f64() * n_before as f64 + left / share);
        }
        left -= got;
    }
    None
}
