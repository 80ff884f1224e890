//! Run times of tasks on this host, from its availability.

use std::time::Duration;

use predict::{Demand, MeasurementError, RunTime, WindowErrors};
use signal::Selection;
use units::{Confidence, Timestamp};

use super::forecasts::Oracle;
use super::{Hub, QueryError, unknown};
use crate::api;
use crate::engine::{Engine, Entry};

/// The probabilities at which the distribution is told.
const PROBABILITIES: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];

/// The series from which run times of tasks of one thread are forecast.
const SHARE: &str = "cpu.availability";

/// A task that starts at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// CPU time of all threads together.
    pub(crate) cpu: Duration,
    pub(crate) n_threads: u32,
    pub(crate) confidence: Confidence,
}

/// A copy of what one availability series says.
struct Advice {
    id: String,
    model: String,
    n_threads: u32,
    oracle: Oracle,
    errors: WindowErrors,
}

impl Hub {
    /// Returns the run time of a task, as a distribution.
    pub(crate) fn run_time(&self, job: Job) -> Result<api::RunTime, QueryError> {
        let advice = advice(&self.engine(), &self.facts.select, job.n_threads)?;
        let now = self.now();
        let mut run_times = Vec::with_capacity(advice.len());
        for one in &advice {
            run_times.push(one.run_time(job.cpu, now)?);
        }
        let share = share_between(&advice, job.n_threads);
        let run_time = run_times.into_iter().reduce(|fewer, more| RunTime::between(fewer, more, share));
        let (Some(run_time), Some(first)) = (run_time, advice.first()) else { return Err(unknown(SHARE)) };
        let bounds = run_time.interval(job.confidence);
        let quantile =
            |probability| api::RunTimeQuantile { probability, seconds: seconds(run_time.quantile(probability)) };
        Ok(api::RunTime {
            host: self.facts.info.host.clone(),
            cpu_seconds: job.cpu.as_secs_f64(),
            threads: job.n_threads,
            confidence: job.confidence.probability(),
            origin: first.oracle.origin,
            series: advice.iter().map(|one| one.id.clone()).collect(),
            n_cores: advice.last().map(|one| one.n_threads).filter(|n_cores| *n_cores < job.n_threads),
            model: first.model.clone(),
            horizon_seconds: run_time.horizon().as_secs_f64(),
            median_seconds: seconds(run_time.median()),
            lower_seconds: seconds(bounds.lower),
            upper_seconds: seconds(bounds.upper),
            quantiles: PROBABILITIES.map(quantile).to_vec(),
        })
    }
}

fn seconds(time: Option<Duration>) -> Option<f64> {
    time.map(|time| time.as_secs_f64())
}

/// Returns the advice of the series for so many threads, or of the two for the nearest fewer and more. More threads
/// than there are cores get what as many as the cores get.
fn advice(engine: &Engine, select: &Selection, n_threads: u32) -> Result<Vec<Advice>, QueryError> {
    let mut measured: Vec<(u32, &Entry)> =
        engine.entries().filter_map(|entry| Some((entry.about.n_threads()?, entry))).collect();
    measured.sort_by_key(|(n_threads, _)| *n_threads);
    let Some((most, _)) = measured.last() else { return Err(unknown(SHARE)) };
    let above = measured.partition_point(|(measured, _)| *measured < n_threads);
    let chosen = match (above.checked_sub(1), measured.get(above)) {
        (_, Some((exact, _))) if *exact == n_threads => &measured[above..=above],
        (Some(below), Some(_)) => &measured[below..=above],
        (None, _) => return Err(unknown(SHARE)),
        // It would be measured if there were so many cores.
        (_, None) if select.takes(&format!("{SHARE}.{n_threads}")) => &measured[above - 1..],
        (_, None) => {
            let message = format!("`threads` is {n_threads}, and availability is measured for {most} at most");
            return Err(QueryError::BadParameter { field: "threads", message });
        }
    };
    chosen.iter().map(|(n_threads, entry)| Advice::of(*n_threads, entry)).collect()
}

/// Returns the position of `n_threads` between the first and the second, as a share of their distance.
fn share_between(advice: &[Advice], n_threads: u32) -> f64 {
    match advice {
        [fewer, more] => f64::from(n_threads - fewer.n_threads) / f64::from(more.n_threads - fewer.n_threads),
        _ => 0.0,
    }
}

impl Advice {
    fn of(n_threads: u32, entry: &Entry) -> Result<Self, QueryError> {
        let id = entry.about.id.to_string();
        let errors = entry.live.window_errors().ok_or_else(|| unknown(&id))?.clone();
        let model = entry.live.model_text().to_owned();
        Ok(Self { id, model, n_threads, oracle: Oracle::of(entry)?, errors })
    }

    fn run_time(&self, cpu: Duration, now: Timestamp) -> Result<RunTime, QueryError> {
        let demand = Demand {
            cpu,
            n_threads: self.n_threads,
            step: self.oracle.step,
            since_sample: now.saturating_since(self.oracle.origin),
            measurement: MeasurementError::default(),
        };
        let forecast = self.oracle.forecast(demand.n_leads(&self.errors));
        Ok(RunTime::new(&forecast, &self.errors, demand)?)
    }
}
