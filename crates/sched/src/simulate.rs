//! A run of a job, simulated on availability that was recorded.

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use statistics::Interval;
use units::Confidence;

use crate::advice::Advice;
use crate::plan::Plan;
use crate::policy::{Action, Chunk, Event, Policy, State};
use crate::trace::Trace;
use crate::work::Work;
use crate::worker::Worker;

/// Halvings of the time of the bound: to a part in 2^50 of it.
const N_HALVINGS: usize = 50;
/// Interval at which a policy is asked again about idle workers, in seconds.
const TICK_SECONDS: f64 = 5.0;
/// Number of units of which one has its time compared with its forecast.
const LOOKED_AT: usize = 8;
/// A run that takes so many times the bound is given up: its policy gives nothing to anybody.
const PATIENCE: f64 = 1_000.0;

/// A worker and what it really gives.
#[derive(Clone, Debug)]
pub struct Host<'a> {
    /// The worker, with any curve: forecasts take its place.
    pub worker: Worker,
    /// Trace of what the worker gives.
    pub trace: &'a Trace,
    /// Forecasts of that trace.
    pub advice: &'a Advice,
    /// Place in the trace at which the run begins, in seconds.
    pub from: f64,
}

/// Outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Time at which the last unit was done, in seconds.
    pub makespan: f64,
    /// Forecast of the makespan in the beginning, in seconds: the median.
    pub forecast: f64,
    /// Interval of that forecast that was to hold the makespan in 80 % of all runs.
    pub interval_80: Interval,
    /// Interval of that forecast that was to hold the makespan in 95 % of all runs.
    pub interval_95: Interval,
    /// Share of the units' times that lay in the intervals that were to hold 80 % of them; every eighth unit is looked
    /// at, and none before costs are known.
    pub units_80: Option<f64>,
    /// The same for the intervals that were to hold 95 %.
    pub units_95: Option<f64>,
    /// The share of all workers' time in which they had nothing to do.
    pub idle: f64,
    /// Chunks that were begun.
    pub n_chunks: usize,
    /// The share of the work that was given to another worker later.
    pub moved: f64,
    /// Units that ran twice.
    pub n_twins: usize,
    /// Stretches of all workers: who did what when.
    #[serde(skip)]
    pub stretches: Vec<Stretch>,
}

/// Units that a worker did one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// Position of the worker.
    pub worker: usize,
    /// Beginning, in seconds since the run began, with the start of the chunk.
    pub from: f64,
    /// End, in seconds since the run began.
    pub until: f64,
    /// Number of units.
    pub n_units: usize,
}

/// Simulates a run: `known` is what policies are told of the costs, `real` what they are.
///
/// # Panics
/// When a policy does what is not possible, or nothing for ever.
#[must_use]
pub fn run(hosts: &[Host<'_>], known: &Work, real: &Work, policy: &mut dyn Policy) -> Outcome {
    let workers = hosts.iter().map(|host| Worker { curve: forecast(host, 0.0), ..host.worker.clone() }).collect();
    let state = State::new(known.clone(), workers);
    let patience = PATIENCE * bound(hosts, real).0;
    Run {
        hosts,
        real,
        state,
        ends: vec![f64::INFINITY; hosts.len()],
        is_done: vec![false; known.n_units()],
        n_left: known.n_units(),
        spent: (0.0, 0.0),
        plan: None,
        unit_levels: Vec::new(),
        open: vec![None; hosts.len()],
        moved: 0.0,
        n_twins: 0,
        stretches: Vec::new(),
    }
    .go(policy, patience)
}

/// The least time in which anybody could do the work, and each worker's part of it: units may be cut anywhere, and each
/// worker starts once.
#[must_use]
pub fn bound(hosts: &[Host<'_>], real: &Work) -> (f64, Vec<f64>) {
    let mean_cost = real.total() / real.n_units() as f64;
    let done = |host: &Host<'_>, seconds: f64| {
        let left = (seconds - host.worker.start_seconds).max(0.0);
        let begin = host.from + host.worker.start_seconds;
        let plain = host.worker.speed * (host.trace.cpu_until(begin + left) - host.trace.cpu_until(begin));
        if plain > 0.0 { plain * left / (left + host.worker.unit_seconds * plain / mean_cost) } else { 0.0 }
    };
    let all = |seconds: f64| hosts.iter().map(|host| done(host, seconds)).sum::<f64>();
    let (mut low, mut high) = (0.0, 1.0);
    while all(high) < real.total() {
        high *= 2.0;
    }
    for _ in 0..N_HALVINGS {
        let middle = 0.5 * (low + high);
        if all(middle) < real.total() { low = middle } else { high = middle }
    }
    (high, hosts.iter().map(|host| done(host, high)).collect())
}

fn confidence(probability: f64) -> Confidence {
    Confidence::new(probability).expect("a constant between 0 and 1")
}

fn forecast(host: &Host<'_>, now: f64) -> Arc<crate::Curve> {
    host.advice.at(host.trace, host.from + now).clone()
}

struct Run<'a> {
    hosts: &'a [Host<'a>],
    real: &'a Work,
    state: State,
    /// Time at which each worker's unit ends.
    ends: Vec<f64>,
    is_done: Vec<bool>,
    n_left: usize,
    /// Real and expected costs of finished units.
    spent: (f64, f64),
    plan: Option<Plan>,
    /// The probabilities with which units were forecast to take no longer than they did.
    unit_levels: Vec<f64>,
    /// The stretch that each worker is in.
    open: Vec<Option<Stretch>>,
    moved: f64,
    n_twins: usize,
    stretches: Vec<Stretch>,
}

impl Run<'_> {
    fn go(mut self, policy: &mut dyn Policy, patience: f64) -> Outcome {
        let first = policy.decide(&self.state, Event::Begin);
        self.plan = Some(Plan::of(&self.state, &first, policy, confidence(0.80)));
        self.apply(first);
        let mut tick = TICK_SECONDS;
        while self.n_left > 0 {
            let next = (0..self.ends.len()).min_by(|one, other| self.ends[*one].total_cmp(&self.ends[*other]));
            let next = next.filter(|worker| self.ends[*worker].is_finite());
            let is_idle = self.state.idle().next().is_some();
            match next {
                Some(worker) if !is_idle || self.ends[worker] <= tick => {
                    self.state.now = self.ends[worker];
                    self.end_unit(worker, policy);
                }
                _ => {
                    self.state.now = tick;
                    assert!(tick < patience, "the policy leaves work undone");
                    self.ask(policy, Event::Tick);
                }
            }
            while tick <= self.state.now {
                tick += TICK_SECONDS;
            }
        }
        self.told()
    }

    /// A worker has done its unit, and goes on with the next or is idle.
    fn end_unit(&mut self, worker: usize, policy: &mut dyn Policy) {
        let unit = self.state.chunks[worker].as_ref().expect("a worker whose unit ends has a chunk").unit;
        if !std::mem::replace(&mut self.is_done[unit], true) {
            self.n_left -= 1;
            self.spent.0 += self.real.cost(&(unit..unit + 1));
            self.spent.1 += self.state.work.cost(&(unit..unit + 1));
            self.state.cost_ratio = self.spent.0 / self.spent.1;
            self.state.cost_spread.add(self.real.cost(&(unit..unit + 1)), self.state.work.cost(&(unit..unit + 1)));
        }
        // Whoever runs the same unit stops it.
        let mut freed = Vec::new();
        for other in 0..self.hosts.len() {
            let runs_it = self.state.chunks[other].as_ref().is_some_and(|chunk| chunk.unit == unit);
            if runs_it && !self.begin_next(other) {
                freed.push(other);
            }
        }
        for worker in freed {
            if self.n_left > 0 && self.state.chunks[worker].is_none() {
                self.ask(policy, Event::Idle(worker));
            }
        }
    }

    fn ask(&mut self, policy: &mut dyn Policy, event: Event) {
        for (worker, host) in self.state.workers.iter_mut().zip(self.hosts) {
            worker.curve = forecast(host, self.state.now);
        }
        let actions = policy.decide(&self.state, event);
        self.apply(actions);
    }

    fn apply(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Run { worker, units } => {
                    self.state.take(&units);
                    self.begin(worker, units);
                }
                Action::GiveUp { worker, from } => {
                    let chunk = self.state.chunks[worker].as_mut().expect("only a busy worker gives units up");
                    assert!(chunk.waiting.contains(&from), "unit {from} is not waiting at worker {worker}");
                    let units = from..std::mem::replace(&mut chunk.waiting.end, from);
                    self.moved += self.state.work.cost(&units);
                    self.state.put(units);
                }
                Action::Twin { worker, unit } => {
                    self.n_twins += 1;
                    self.begin(worker, unit..unit + 1);
                }
            }
        }
    }

    fn begin(&mut self, worker: usize, units: Range<usize>) {
        assert!(self.state.chunks[worker].is_none(), "worker {worker} is busy");
        let from = self.state.now;
        self.open[worker] = Some(Stretch { worker, from, until: from, n_units: 0 });
        self.run_unit(worker, units, self.hosts[worker].worker.start_seconds);
    }

    fn run_unit(&mut self, worker: usize, units: Range<usize>, start_seconds: f64) {
        let host = &self.hosts[worker];
        let unit_began = self.state.now + start_seconds + host.worker.unit_seconds;
        let cpu = self.real.cost(&(units.start..units.start + 1)) / host.worker.speed;
        let seconds = host.trace.time_for(host.from + unit_began, cpu);
        self.ends[worker] = unit_began + seconds;
        if units.start.is_multiple_of(LOOKED_AT) {
            let curve = forecast(host, unit_began);
            self.unit_levels.extend(self.state.unit_within(worker, &curve, units.start, seconds));
        }
        self.state.chunks[worker] = Some(Chunk { unit: units.start, waiting: units.start + 1..units.end, unit_began });
    }

    /// Whether the worker has a next unit, which begins then.
    fn begin_next(&mut self, worker: usize) -> bool {
        let chunk = self.state.chunks[worker].take().expect("a worker that goes on has a chunk");
        let stretch = self.open[worker].as_mut().expect("a busy worker is in a stretch");
        (stretch.until, stretch.n_units) = (self.state.now, stretch.n_units + 1);
        if chunk.waiting.is_empty() {
            self.ends[worker] = f64::INFINITY;
            self.stretches.extend(self.open[worker].take());
            return false;
        }
        self.run_unit(worker, chunk.waiting, 0.0);
        true
    }

    fn told(mut self) -> Outcome {
        let makespan = self.state.now;
        // Second runs that nobody needs any more end with the work.
        self.stretches.extend(self.open.into_iter().flatten().map(|stretch| Stretch { until: makespan, ..stretch }));
        let busy: f64 = self.stretches.iter().map(|stretch| stretch.until - stretch.from).sum();
        let plan = self.plan.expect("a run that has ended began with a plan");
        let held = |confidence: f64| {
            let outside = 0.5 * (1.0 - confidence);
            let n_held = self.unit_levels.iter().filter(|level| (outside..=1.0 - outside).contains(*level)).count();
            (!self.unit_levels.is_empty()).then(|| n_held as f64 / self.unit_levels.len() as f64)
        };
        Outcome {
            units_80: held(0.80),
            units_95: held(0.95),
            makespan,
            forecast: plan.makespan,
            interval_80: plan.interval,
            interval_95: plan.within(confidence(0.95)),
            idle: 1.0 - busy / (makespan * self.hosts.len() as f64),
            n_chunks: self.stretches.len(),
            moved: self.moved / self.state.work.total(),
            n_twins: self.n_twins,
            stretches: self.stretches,
        }
    }
}
