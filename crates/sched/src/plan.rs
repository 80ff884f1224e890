//! What a split is forecast to lead to.

use statistics::Interval;
use statrs::distribution::{ContinuousCDF, Normal};
use units::Confidence;

use crate::curve::LEVELS;
use crate::policy::{Action, Policy, State};
use crate::worker::Worker;

/// No work is taken to last longer.
const LONGEST_SECONDS: f64 = 1e12;
/// Halvings of the time: to a part in a million of it.
const N_HALVINGS: usize = 20;

/// The part of the variance of workers' errors that is taken to be common to all, where the last of several workers ends a run.
///
/// Errors of workers on recorded loads are uncorrelated, but smaller than forecast on windows longer than any that was seen; independent workers
/// would have the last of eight end later than it does. A common part stands for that, and for what hosts of a real pool have in common. It was
/// chosen on `testdata/host-sensors`, and held against `testdata/host-load`; docs/howto/schedule.md says what came of it.
const COMMON_PART: f64 = 0.25;
/// Values of the common error, each as probable as the others.
const N_COMMON: usize = 16;
/// Steps of a probability in a table.
const N_STEPS: usize = 256;

/// The first decision of a policy, and what is forecast of it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// For each worker that gets something.
    pub shares: Vec<Share>,
    /// When all is done, in seconds from now; the median.
    pub makespan: f64,
    /// Of the makespan, in seconds.
    pub interval: Interval,
}

/// What a worker gets.
#[derive(Clone, Debug)]
pub struct Share {
    /// By position.
    pub worker: usize,
    /// How many units.
    pub n_units: usize,
    /// Of all work that nobody has, by cost.
    pub share: f64,
    /// When it is done, in seconds from now; the median.
    pub seconds: f64,
    /// Why it is so much.
    pub reason: String,
}

impl Plan {
    /// Of the actions with which a policy begins a run or takes one up, before the pool has given their units. Where it adapts, all workers are taken to end at one time whatever comes.
    ///
    /// What workers that adapt do together is taken to be the sum of independent parts; where the last one ends the run, a part of their errors is
    /// taken to be common.
    #[must_use]
    pub fn of(state: &State, actions: &[Action], policy: &dyn Policy, confidence: Confidence) -> Self {
        let parts = parts(state, actions);
        let adapting = policy.adapts().then(|| adapting_workers(state, policy.n_units_each()));
        let errors = Errors::new();
        let quantile = |q: f64| match &adapting {
            Some(workers) => adapted_quantile(state, workers, q),
            None => quantile(state, &parts, &errors, q),
        };
        let total: f64 = parts.iter().map(|part| part.cost).sum();
        let share = |part: &Part| {
            let Part { worker, cost, n_units } = *part;
            let seconds = state.workers[worker].time_for(cost, n_units, 0.5);
            Share { worker, n_units, share: cost / total, seconds, reason: reason(state, part, seconds) }
        };
        let tail = 0.5 * (1.0 - confidence.probability());
        Self {
            shares: parts.iter().map(share).collect(),
            makespan: quantile(0.5),
            interval: Interval { lower: quantile(tail), upper: quantile(1.0 - tail) },
        }
    }
}

struct Part {
    worker: usize,
    cost: f64,
    n_units: usize,
}

fn parts(state: &State, actions: &[Action]) -> Vec<Part> {
    let given = actions.iter().filter_map(|action| match action {
        Action::Run { worker, units } => {
            Some(Part { worker: *worker, cost: state.work.cost(units), n_units: units.len() })
        }
        _ => None,
    });
    let mut parts: Vec<Part> = given.collect();
    let grown = state.pooled_cost() / parts.iter().map(|part| part.cost).sum::<f64>();
    for part in &mut parts {
        part.cost *= grown;
        part.n_units = (part.n_units as f64 * grown).round() as usize;
    }
    parts
}

/// All are done by some time with the product of their probabilities, for each value of the common error.
fn quantile(state: &State, parts: &[Part], errors: &Errors, q: f64) -> f64 {
    let within = |seconds: f64| {
        let mut all = [1.0; N_COMMON];
        for part in parts {
            let own = state.workers[part.worker].probability_within(part.cost, part.n_units, seconds);
            errors.multiply(own, &mut all);
        }
        all.iter().sum::<f64>() / N_COMMON as f64
    };
    time_of(q, within)
}

/// Errors of several workers, as a normal copula with one common factor.
struct Errors {
    /// For each step of a worker's own probability, what becomes of it with each value of the common error.
    table: Vec<[f64; N_COMMON]>,
}

impl Errors {
    fn new() -> Self {
        let normal = Normal::standard();
        let common: [f64; N_COMMON] =
            std::array::from_fn(|nth| COMMON_PART.sqrt() * normal.inverse_cdf((nth as f64 + 0.5) / N_COMMON as f64));
        let row = |step: usize| match step {
            0 => [0.0; N_COMMON],
            N_STEPS => [1.0; N_COMMON],
            _ => {
                let own = normal.inverse_cdf(step as f64 / N_STEPS as f64);
                common.map(|common| normal.cdf((own - common) / (1.0 - COMMON_PART).sqrt()))
            }
        };
        Self { table: (0..=N_STEPS).map(row).collect() }
    }

    fn multiply(&self, own: f64, all: &mut [f64; N_COMMON]) {
        if own >= 1.0 {
            return;
        }
        let at = own.max(0.0) * N_STEPS as f64;
        let (step, share) = (at as usize, at.fract());
        for ((all, low), high) in all.iter_mut().zip(&self.table[step]).zip(&self.table[step + 1]) {
            *all *= low + share * (high - low);
        }
    }
}

/// The workers that can be had. Where each few units cost a start, these take so much longer.
fn adapting_workers(state: &State, n_units_each: Option<usize>) -> Vec<Worker> {
    let workers = state.alive().map(|worker| state.workers[worker].clone());
    let Some(n_units) = n_units_each else { return workers.collect() };
    let with_starts = |worker: Worker| {
        let unit_seconds = worker.unit_seconds + worker.start_seconds / n_units as f64;
        Worker { unit_seconds, start_seconds: 0.0, ..worker }
    };
    workers.map(with_starts).collect()
}

/// What all do together by some time is taken to be normal, with the sums of their means and variances.
fn adapted_quantile(state: &State, workers: &[Worker], q: f64) -> f64 {
    let (mean_cost, cost) = (state.mean_cost(), state.pooled_cost());
    let within = |seconds: f64| {
        let (mut mean, mut variance) = (0.0, 0.0);
        for worker in workers {
            let done = LEVELS.map(|p| worker.work_by(seconds, p, mean_cost));
            let own: f64 = done.iter().zip(WEIGHTS).map(|(done, weight)| weight * done).sum();
            mean += own;
            variance += done.iter().zip(WEIGHTS).map(|(done, weight)| weight * (done - own).powi(2)).sum::<f64>();
        }
        let missing = cost - mean;
        if variance > 0.0 { 1.0 - Normal::standard().cdf(missing / variance.sqrt()) } else { f64::from(missing <= 0.0) }
    };
    time_of(q, within)
}

/// The share of a distribution that each of [`LEVELS`] stands for: as far as half way to its neighbours.
const WEIGHTS: [f64; LEVELS.len()] = [0.03, 0.045, 0.1, 0.2, 0.25, 0.2, 0.1, 0.045, 0.03];

fn time_of(q: f64, within: impl Fn(f64) -> f64) -> f64 {
    let mut high = 1.0;
    while within(high) < q && high < LONGEST_SECONDS {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..N_HALVINGS {
        let middle = 0.5 * (low + high);
        if within(middle) < q { low = middle } else { high = middle }
    }
    high
}

fn reason(state: &State, part: &Part, seconds: f64) -> String {
    let worker = &state.workers[part.worker];
    let cpu = part.cost / worker.speed;
    let busy = seconds - worker.start_seconds - worker.unit_seconds * part.n_units as f64;
    let availability = 100.0 * cpu / busy;
    format!("forecast to give {availability:.0} % of its speed of {:.2} until then", worker.speed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_error_leaves_each_worker_what_it_was() {
        let errors = Errors::new();
        for own in [0.0, 0.05, 0.3, 0.5, 0.77, 0.95, 1.0] {
            let mut all = [1.0; N_COMMON];
            errors.multiply(own, &mut all);
            let mean = all.iter().sum::<f64>() / N_COMMON as f64;
            // Sixteen values stand for a normal distribution.
            assert!((mean - own).abs() < 0.01, "{own} became {mean}");
        }
    }

    #[test]
    fn the_last_of_several_is_earlier_than_if_they_were_independent() {
        let errors = Errors::new();
        let mut all = [1.0; N_COMMON];
        for _ in 0..8 {
            errors.multiply(0.9, &mut all);
        }
        let together = all.iter().sum::<f64>() / N_COMMON as f64;
        assert!(0.9_f64.powi(8) + 0.05 < together && together < 0.9, "{together}");
    }
}
