//! Forecast of the outcome of a split.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use statistics::{Interval, quantile};
use statrs::distribution::{ContinuousCDF, Normal};
use units::Confidence;

use crate::policy::{Action, Policy, State, time_of};
use crate::work::Work;
use crate::worker::Worker;

/// Joint draws of what all workers give: with most, five lie beyond either end of an interval of 95 %.
const N_DRAWS: (usize, usize) = (50, 200);
/// Draws times workers are no more than that, so that a plan for a thousand workers takes milliseconds.
const N_WORKERS_DRAWN: usize = 50_000;
/// Chunks that the last ones are drawn from.
const N_CHUNKS: usize = 100;
/// Precision to which the work done in the time of a draw equals all work: intervals are wider by far.
const PRECISION: f64 = 1e-4;
/// The same draws for every plan, so that plans differ by their workers alone.
const SEED: u64 = 1;

/// The part of the variance of workers' errors that is taken to be common to all.
///
/// On recorded loads, errors of workers are independent, but the longest windows are forecast from few errors: they are
/// off together when they are. Chosen on `testdata/host-sensors`, and held against `testdata/host-load`;
/// docs/howto/schedule.md says what came of it.
const COMMON_PART: f64 = 0.1;

/// The first decision of a policy, and what is forecast of it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Share of each worker that gets something.
    pub shares: Vec<Share>,
    /// Time until all is done, in seconds from now; the median.
    pub makespan: f64,
    /// Interval of the makespan, in seconds.
    pub interval: Interval,
    /// Time until all is done, for each of some joint draws of what workers give.
    ends: Vec<f64>,
}

/// Share of a worker.
#[derive(Clone, Debug)]
pub struct Share {
    /// Position of the worker.
    pub worker: usize,
    /// Number of units.
    pub n_units: usize,
    /// Share of all work that nobody has, by cost.
    pub share: f64,
    /// Time until the share is done, in seconds from now; the median.
    pub seconds: f64,
    /// Reason for the size of the share.
    pub reason: String,
}

impl Plan {
    /// Forecasts the outcome of the actions with which a policy begins a run or takes one up, before the pool has given
    /// their units.
    ///
    /// What comes is drawn: for each worker, how much of what is forecast of it comes true, from beginning to end.
    #[must_use]
    pub fn of(state: &State, actions: &[Action], policy: &dyn Policy, confidence: Confidence) -> Self {
        let parts = parts(state, actions);
        let ends = ends(state, &parts, policy);
        let (cost, given) = (state.pooled_cost(), parts.iter().map(|part| part.cost).sum::<f64>());
        let share = |part: &Part| {
            // What is left will be given out likewise.
            let grown = Part {
                cost: part.cost * cost / given,
                n_units: (part.n_units as f64 * cost / given).round() as usize,
                ..*part
            };
            let seconds = state.workers[grown.worker].time_for(grown.cost, grown.n_units, 0.5);
            let reason = reason(state, &grown, seconds);
            Share { worker: grown.worker, n_units: grown.n_units, share: part.cost / given, seconds, reason }
        };
        let shares = parts.iter().map(share).collect();
        let makespan = quantile(&ends, 0.5).expect("there are draws");
        let plan = Self { shares, makespan, interval: Interval { lower: makespan, upper: makespan }, ends };
        Self { interval: plan.within(confidence), ..plan }
    }

    /// The interval of the makespan, in seconds, for another confidence.
    #[must_use]
    pub fn within(&self, confidence: Confidence) -> Interval {
        let tail = 0.5 * (1.0 - confidence.probability());
        let at = |q: f64| quantile(&self.ends, q).expect("there are draws");
        Interval { lower: at(tail), upper: at(1.0 - tail) }
    }
}

#[derive(Clone, Copy)]
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
    given.collect()
}

/// Returns the time until all is done, in seconds from now, for each draw.
fn ends(state: &State, parts: &[Part], policy: &dyn Policy) -> Vec<f64> {
    let mut chance = ChaCha8Rng::seed_from_u64(SEED);
    let adapting = policy.adapts().then(|| Adapting::new(state, policy));
    let end = |_| {
        let levels = levels(state.workers.len(), &mut chance);
        let end = adapting.as_ref().map_or(0.0, |adapting| adapting.end(&levels, &mut chance));
        if policy.takes_back() {
            return end;
        }
        let mut own = |part: &Part| {
            let off: f64 = StandardNormal.sample(&mut chance);
            let cost = part.cost * (off * state.work.error(part.n_units)).exp();
            state.workers[part.worker].time_for(cost, part.n_units, levels[part.worker])
        };
        parts.iter().map(&mut own).fold(end, f64::max)
    };
    let n_draws = (N_WORKERS_DRAWN / state.workers.len()).clamp(N_DRAWS.0, N_DRAWS.1);
    (0..n_draws).map(end).collect()
}

/// Draws for each worker the probability with which it is done no later than it is in this draw.
fn levels(n_workers: usize, chance: &mut ChaCha8Rng) -> Vec<f64> {
    let normal = Normal::standard();
    let common: f64 = StandardNormal.sample(chance);
    let level = |_| {
        let own: f64 = StandardNormal.sample(chance);
        normal.cdf(COMMON_PART.sqrt() * common + (1.0 - COMMON_PART).sqrt() * own)
    };
    (0..n_workers).map(level).collect()
}

/// Workers that are given work whenever they are free, until none is left.
struct Adapting<'a> {
    work: &'a Work,
    /// Workers with their positions.
    workers: Vec<(usize, Worker)>,
    /// Time that a chunk takes to start, for each of them.
    starts: Vec<f64>,
    /// The probability that each is given work.
    used: Vec<f64>,
    cost: f64,
    mean_cost: f64,
    /// Approximate time until all is done, in seconds.
    near: f64,
    n_units: usize,
    /// Possible costs of the last chunks.
    chunk_costs: Vec<f64>,
    takes_back: bool,
}

impl<'a> Adapting<'a> {
    fn new(state: &'a State, policy: &dyn Policy) -> Self {
        let n_workers = state.alive().count() as f64;
        let n_units = state.n_pooled().max(1) as f64;
        let n_starts_a_unit = policy.n_chunks(n_units, n_workers) * n_workers / n_units;
        // Starts come all along.
        let with_starts = |worker: &Worker| {
            let unit_seconds = worker.unit_seconds + worker.start_seconds * n_starts_a_unit;
            Worker { unit_seconds, start_seconds: 0.0, ..worker.clone() }
        };
        let workers: Vec<(usize, Worker)> =
            state.alive().map(|worker| (worker, with_starts(&state.workers[worker]))).collect();
        let (cost, mean_cost) = (state.pooled_cost(), state.mean_cost());
        let usual = |seconds: f64| workers.iter().map(|(_, worker)| worker.work_by(seconds, 0.5, mean_cost)).sum();
        Self {
            work: &state.work,
            near: time_of(cost, 1.0, PRECISION, usual),
            workers,
            starts: state.alive().map(|worker| state.workers[worker].start_seconds).collect(),
            used: state.alive().map(|worker| policy.part_used(&state.workers[worker])).collect(),
            cost,
            mean_cost,
            n_units: state.n_pooled(),
            chunk_costs: chunk_costs(&state.work, policy.n_units_last().min(state.work.n_units())),
            takes_back: policy.takes_back(),
        }
    }

    /// Returns the time until all is done, in seconds from now, for one draw.
    ///
    /// When nothing is left to be given out, each worker is somewhere in its last chunk. The length of the rest depends
    /// on what the worker gives just then.
    fn end(&self, levels: &[f64], chance: &mut ChaCha8Rng) -> f64 {
        let mut is_used: Vec<bool> = self.used.iter().map(|used| chance.random::<f64>() < *used).collect();
        if !is_used.contains(&true) {
            // Where nobody qualifies, somebody has to do it.
            is_used.fill(true);
        }
        // What each is at then, and how much of that is left.
        let mut chunk = |is_used: &bool| {
            let cost = self.chunk_costs[chance.random_range(0..N_CHUNKS)];
            if *is_used { (cost, chance.random()) } else { (0.0, 0.0) }
        };
        let last: Vec<(f64, f64)> = is_used.iter().map(&mut chunk).collect();
        let off: f64 = StandardNormal.sample(chance);
        let cost = self.cost * (off * self.work.error(self.n_units)).exp();
        let under_way: f64 = last.iter().map(|(cost, left)| cost * left).sum();
        let done = |(at, worker): &(usize, Worker), seconds| worker.work_by(seconds, levels[*at], self.mean_cost);
        let used = || self.workers.iter().zip(&is_used).filter(|(_, is_used)| **is_used);
        let all = |seconds: f64| used().map(|(worker, _)| done(worker, seconds)).sum();
        let none_left = time_of((cost - under_way).max(0.5 * cost), self.near, PRECISION, all);
        let mut pace = |of: &(usize, Worker)| {
            let (curve, cpu) = (&of.1.curve, self.mean_cost / of.1.speed);
            none_left / done(of, none_left) * curve.time_for(cpu, chance.random()) / curve.time_for(cpu, 0.5)
        };
        let paces: Vec<f64> = self.workers.iter().map(&mut pace).collect();
        let rest: Vec<f64> = paces.iter().zip(&last).map(|(pace, (cost, left))| pace * cost * left).collect();
        let worst = (0..rest.len()).max_by(|one, other| rest[*one].total_cmp(&rest[*other])).expect("somebody works");
        // Whoever is idle before may run the unit once more.
        let twin = |at: usize| rest[at] + self.starts[at] + paces[at] * last[worst].0;
        let twins = (0..rest.len()).filter(|at| self.takes_back && *at != worst).map(twin);
        none_left + twins.fold(rest[worst], f64::min)
    }
}

/// Costs of chunks that are under way at moments all along: the longer they take, the more likely that is.
fn chunk_costs(work: &Work, n_chunk: usize) -> Vec<f64> {
    let n_units = work.n_units();
    let cost = |nth: usize| {
        let at = work.end_of(0, n_units, work.total() * (nth as f64 + 0.5) / N_CHUNKS as f64);
        let end = at.clamp(n_chunk, n_units);
        work.cost(&(end - n_chunk..end))
    };
    (0..N_CHUNKS).map(cost).collect()
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
    use crate::curve::{Curve, LEVELS};
    use crate::policy::Event;

    /// Workers of these speeds, a second of whose processor time takes 2 s in the median and up to that much more or
    /// less.
    fn state(work: Work, speeds: [f64; 2], spread: f64) -> State {
        let curve = std::sync::Arc::new(Curve::new([(1.0, LEVELS.map(|level| 2.0 + 2.0 * spread * (level - 0.5)))]));
        let worker =
            |speed| Worker { name: String::new(), speed, start_seconds: 0.0, unit_seconds: 0.0, curve: curve.clone() };
        State::new(work, speeds.map(worker).to_vec())
    }

    fn plan(state: &State, policy: &str) -> Plan {
        let mut policy = policy.parse::<crate::Spec>().unwrap().policy();
        let actions = policy.decide(state, Event::Begin);
        Plan::of(state, &actions, policy.as_ref(), Confidence::new(0.8).unwrap())
    }

    fn work(n_units: usize) -> Work {
        Work::new(vec![1.0; n_units]).unwrap()
    }

    #[test]
    fn each_worker_gives_what_is_forecast_of_it() {
        let mut chance = ChaCha8Rng::seed_from_u64(SEED);
        let levels: Vec<f64> = (0..1000).map(|_| levels(2, &mut chance)[1]).collect();
        for q in [0.1, 0.5, 0.9] {
            assert!((quantile(&levels, q).unwrap() - q).abs() < 0.03, "{q}");
        }
    }

    #[test]
    fn the_last_of_two_workers_ends_a_split() {
        let plan = plan(&state(work(200), [1.0; 2], 0.9), "EQUAL");
        // Each takes 110 to 290 s, all alike. The later of two that have nothing in common is done by the time that
        // each keeps with the root of the probability.
        let time = |level: f64| 100.0 * (2.0 + 1.8 * (level - 0.5));
        assert!((plan.makespan / time(0.5_f64.sqrt()) - 1.0).abs() < 0.05, "{}", plan.makespan);
        assert!((plan.interval.lower / time(0.1_f64.sqrt()) - 1.0).abs() < 0.1, "{:?}", plan.interval);
        let wide = plan.within(Confidence::new(0.95).unwrap());
        assert!(wide.lower < plan.interval.lower && plan.interval.upper < wide.upper, "{wide:?}");
    }

    #[test]
    fn a_slow_workers_first_chunk_may_end_after_everything_else() {
        // The slow one is given a quarter of the work at once, which takes it ten times as long as the other.
        let plan = plan(&state(work(200), [1.0, 0.1], 0.0), "GUIDED(1)");
        assert!((plan.makespan - 1000.0).abs() < 1.0, "{}", plan.makespan);
    }

    #[test]
    fn the_last_chunks_end_late() {
        let of = |policy: &str| plan(&state(work(200), [1.0; 2], 0.0), policy);
        // Nobody is done before both, nor after one chunk more.
        for (policy, most) in [("SELF(1)", 202.0), ("SELF(20)", 240.0)] {
            let of = of(policy);
            assert!(200.0 < of.interval.lower && of.interval.upper < most, "{policy}: {:?}", of.interval);
        }
        assert!(of("SELF(20)").makespan > 200.0 + 5.0 * (of("SELF(1)").makespan - 200.0));
    }

    #[test]
    fn costs_that_are_not_known_make_an_end_uncertain() {
        for (policy, n_units) in [("EQUAL", 100), ("SELF(1)", 200)] {
            let width = |error: f64| {
                let interval = plan(&state(work(200).with_error(error), [1.0; 2], 0.0), policy).interval;
                interval.upper - interval.lower
            };
            // Errors of many units even out: 1.28 standard deviations to either side, for the later of two a little
            // less.
            let wanted = 2.0 * 1.28 * 200.0 * 0.5 / f64::from(n_units).sqrt();
            assert!(width(0.0) < 0.1 * wanted, "{policy}: {}", width(0.0));
            assert!((0.7..1.1).contains(&(width(0.5) / wanted)), "{policy}: {} beside {wanted}", width(0.5));
        }
    }
}
