//! Policies compared: many runs of one job, each on workers, moments and costs drawn by chance, and what came of it.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::Distribution;
use rayon::prelude::*;
use serde::Serialize;
use statistics::{Interval, quantile};

use crate::advice::{Advice, Advisor, moments};
use crate::job::{Job, JobError, factor};
use crate::policy::{Spec, given};
use crate::simulate::{Host, Outcome, bound, run};
use crate::trace::Trace;
use crate::work::Work;
use crate::worker::Worker;
use crate::{Curve, PolicyError};

/// Setting of a comparison.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The job.
    pub job: Job,
    /// Traces of what workers may give.
    pub traces: Vec<Trace>,
    /// Policies to compare.
    pub policies: Vec<Spec>,
    /// Forecasters for policies that go by forecasts; the first one, for all others' makespans as well.
    pub advisors: Vec<Advisor>,
    /// Number of runs.
    pub n_draws: usize,
    /// Seed of all chance.
    pub seed: u64,
}

/// Reasons why nothing can be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// The job makes no sense.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A policy makes no sense.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A job that asks for a trace that is not there.
    #[error("worker {worker} asks for the trace `{trace}`, and there are {have}")]
    NoTrace {
        /// The worker.
        worker: String,
        /// The trace that the worker asks for.
        trace: String,
        /// The traces that there are.
        have: String,
    },
    /// Forecasts by a sensor that did not read.
    #[error("trace `{trace}` has no readings of the sensor of `{advisor}`")]
    NoReadings {
        /// The forecaster.
        advisor: String,
        /// The trace.
        trace: String,
    },
    /// Nothing to run on.
    #[error("there are no traces of availability")]
    NoTraces,
    /// Nothing to forecast with.
    #[error("there is no model to forecast with")]
    NoAdvisor,
}

/// One policy with one forecaster in one run.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// Number of the run.
    pub draw: usize,
    /// The policy that decided.
    pub policy: String,
    /// The forecaster.
    pub advisor: String,
    /// The least time in which it could have been done, in seconds.
    pub bound: f64,
    /// The outcome of the run.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// Results of a policy with a forecaster over all runs.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The policy that decided.
    pub policy: String,
    /// The forecaster; nothing if it does not matter to the policy.
    pub advisor: Option<String>,
    /// The median makespan in seconds.
    pub makespan: f64,
    /// The makespan over the bound, the median of all runs.
    pub regret: f64,
    /// The same, the 90 % quantile.
    pub regret_90: f64,
    /// The makespan over that of the equal split in the same run, the median; 1 less this is how much shorter it is.
    pub beside_equal: Option<f64>,
    /// Mean share of time without work.
    pub idle: f64,
    /// Mean number of chunks.
    pub n_chunks: f64,
    /// Mean share of work that was moved.
    pub moved: f64,
    /// The share of runs whose makespan lay in the interval that was to hold 80 %.
    pub coverage_80: f64,
    /// The same for 95 %.
    pub coverage_95: f64,
    /// The share of units whose time lay in the interval that was to hold 80 %, the mean of all runs; nothing where no
    /// run could tell.
    pub units_80: Option<f64>,
    /// The same for 95 %.
    pub units_95: Option<f64>,
    /// Width of the 80 % interval over the forecast; the median. Forecasts that are certain have none, and hold
    /// nothing.
    pub width_80: f64,
    /// The same of the 95 % interval.
    pub width_95: f64,
}

impl Setting {
    /// Runs everything. The same for the same setting, at any number of threads.
    ///
    /// # Errors
    /// [`SettingError`], before anything is run.
    pub fn cases(&self) -> Result<Vec<Case>, SettingError> {
        let known = self.job.work(self.seed)?;
        let fixed = self.fixed_traces()?;
        if self.advisors.is_empty() {
            return Err(SettingError::NoAdvisor);
        }
        let pairs: Vec<(usize, usize)> = (0..self.advisors.len())
            .flat_map(|advisor| (0..self.traces.len()).map(move |trace| (advisor, trace)))
            .collect();
        let advice: Vec<Advice> = pairs
            .into_par_iter()
            .map(|(advisor, trace)| Self::advice(&self.traces[trace], &self.advisors[advisor]))
            .collect::<Result<_, _>>()?;
        let advice: Vec<&[Advice]> = advice.chunks(self.traces.len()).collect();
        let draws = (0..self.n_draws).into_par_iter().map(|draw| self.draw(draw, &known, &fixed, &advice));
        Ok(draws.collect::<Vec<_>>().into_iter().flatten().collect())
    }

    fn advice(trace: &Trace, advisor: &Advisor) -> Result<Advice, SettingError> {
        let missing = || SettingError::NoReadings { advisor: advisor.to_string(), trace: trace.name().to_owned() };
        Advice::new(trace, advisor).ok_or_else(missing)
    }

    /// The trace of each worker that asks for one.
    fn fixed_traces(&self) -> Result<Vec<Option<usize>>, SettingError> {
        if self.traces.is_empty() {
            return Err(SettingError::NoTraces);
        }
        let find = |(worker, group): (String, &crate::WorkerGroup)| {
            let Some(wanted) = &group.trace else { return Ok(None) };
            let at = self.traces.iter().position(|trace| trace.name() == wanted);
            let have = || self.traces.iter().map(Trace::name).collect::<Vec<_>>().join(", ");
            at.map(Some).ok_or_else(|| SettingError::NoTrace { worker, trace: wanted.clone(), have: have() })
        };
        self.job.each_worker().map(find).collect()
    }

    /// Draws what chance decides in a run: real costs, and for each worker a trace and the moment in seconds at which
    /// it begins.
    fn chances(&self, draw: usize, known: &Work, fixed: &[Option<usize>]) -> (Work, Vec<(usize, f64)>) {
        let mut chance = ChaCha8Rng::seed_from_u64(self.seed);
        chance.set_stream(1 + draw as u64);
        let error = factor(self.job.work.cost_error);
        let costs = (0..known.n_units()).map(|unit| known.cost(&(unit..unit + 1)) * error.sample(&mut chance));
        let real = Work::new(costs).expect("what was above 0 is, times a factor above 0");
        let places = fixed
            .iter()
            .map(|trace| {
                let trace = trace.unwrap_or_else(|| chance.random_range(0..self.traces.len()));
                let moments: Vec<usize> = moments(&self.traces[trace]).collect();
                (trace, moments[chance.random_range(0..moments.len())] as f64 * self.traces[trace].step_seconds())
            })
            .collect();
        (real, places)
    }

    /// Returns the availability of each worker in a run, by seconds since the run began, at the samples of its trace
    /// that lie in the run.
    ///
    /// # Errors
    /// [`SettingError`], as of [`Setting::cases`].
    pub fn availability(&self, draw: usize, until: f64) -> Result<Vec<Vec<(f64, f64)>>, SettingError> {
        let (_, places) = self.chances(draw, &self.job.work(self.seed)?, &self.fixed_traces()?);
        let line = |(trace, from): (usize, f64)| {
            let trace = &self.traces[trace];
            let (step, samples) = (trace.step_seconds(), trace.samples());
            let first = (from / step).round() as usize;
            let n_steps = (until / step) as usize;
            (0..=n_steps).map(|nth| (nth as f64 * step, samples[(first + nth) % samples.len()])).collect()
        };
        Ok(places.into_iter().map(line).collect())
    }

    fn draw(&self, draw: usize, known: &Work, fixed: &[Option<usize>], advice: &[&[Advice]]) -> Vec<Case> {
        let (real, places) = self.chances(draw, known, fixed);
        let mut cases = Vec::new();
        for (nth, advisor) in self.advisors.iter().enumerate() {
            let hosts: Vec<Host<'_>> = self
                .job
                .each_worker()
                .zip(&places)
                .map(|((name, group), (trace, from))| Host {
                    worker: Worker {
                        name,
                        speed: group.speed,
                        start_seconds: group.start.as_secs_f64(),
                        unit_seconds: group.per_unit.as_secs_f64(),
                        curve: Curve::constant(1.0).into(),
                    },
                    trace: &self.traces[*trace],
                    advice: &advice[nth][*trace],
                    from: *from,
                })
                .collect();
            let (least, shares) = bound(&hosts, &real);
            for spec in self.policies.iter().filter(|spec| nth == 0 || spec.uses_forecasts()) {
                let (mut policy, known) = match spec {
                    Spec::Oracle => (given(shares.clone()), &real),
                    _ => (spec.policy(), known),
                };
                let mut outcome = run(&hosts, known, &real, policy.as_mut());
                if *spec == Spec::Oracle {
                    // Whoever knows what comes has no interval.
                    outcome.forecast = least;
                    outcome.interval_80 = Interval { lower: least, upper: least };
                    outcome.interval_95 = outcome.interval_80;
                    (outcome.units_80, outcome.units_95) = (None, None);
                }
                cases.push(Case {
                    draw,
                    policy: spec.to_string(),
                    advisor: advisor.to_string(),
                    bound: least,
                    outcome,
                });
            }
        }
        cases
    }
}

/// Returns the results of each policy, in the order in which cases name the policies.
#[must_use]
pub fn rows(cases: &[Case]) -> Vec<Row> {
    let mut order: Vec<(&str, &str)> = Vec::new();
    let mut by_policy: BTreeMap<(&str, &str), Vec<&Case>> = BTreeMap::new();
    let mut equal: BTreeMap<usize, f64> = BTreeMap::new();
    for case in cases {
        let key = (case.policy.as_str(), case.advisor.as_str());
        by_policy.entry(key).or_insert_with(|| {
            order.push(key);
            Vec::new()
        });
        by_policy.get_mut(&key).expect("it was just there").push(case);
        if case.policy == Spec::Equal.to_string() {
            equal.insert(case.draw, case.outcome.makespan);
        }
    }
    order.into_iter().map(|key| row(key, &by_policy[&key], &equal)).collect()
}

fn row((policy, advisor): (&str, &str), cases: &[&Case], equal: &BTreeMap<usize, f64>) -> Row {
    let values = |value: &dyn Fn(&Case) -> f64| cases.iter().map(|case| value(case)).collect::<Vec<f64>>();
    let at = |values: Vec<f64>, q: f64| quantile(&values, q).expect("a row has a case at least");
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let regret = || values(&|case| case.outcome.makespan / case.bound);
    let beside = |case: &Case| equal.get(&case.draw).map_or(f64::NAN, |equal| case.outcome.makespan / equal);
    let width = |interval: Interval| interval.upper - interval.lower;
    let is_in = |interval: Interval, value: f64| f64::from(interval.lower <= value && value <= interval.upper);
    Row {
        policy: policy.to_owned(),
        advisor: policy.parse::<Spec>().is_ok_and(|spec| spec.uses_forecasts()).then(|| advisor.to_owned()),
        makespan: at(values(&|case| case.outcome.makespan), 0.5),
        regret: at(regret(), 0.5),
        regret_90: at(regret(), 0.9),
        beside_equal: (!equal.is_empty()).then(|| at(values(&beside), 0.5)),
        idle: mean(values(&|case| case.outcome.idle)),
        n_chunks: mean(values(&|case| case.outcome.n_chunks as f64)),
        moved: mean(values(&|case| case.outcome.moved)),
        coverage_80: mean(values(&|case| is_in(case.outcome.interval_80, case.outcome.makespan))),
        coverage_95: mean(values(&|case| is_in(case.outcome.interval_95, case.outcome.makespan))),
        units_80: mean_of(cases, |outcome| outcome.units_80),
        units_95: mean_of(cases, |outcome| outcome.units_95),
        width_80: at(values(&|case| width(case.outcome.interval_80) / case.outcome.forecast), 0.5),
        width_95: at(values(&|case| width(case.outcome.interval_95) / case.outcome.forecast), 0.5),
    }
}

fn mean_of(cases: &[&Case], value: impl Fn(&Outcome) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = cases.iter().filter_map(|case| value(&case.outcome)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
