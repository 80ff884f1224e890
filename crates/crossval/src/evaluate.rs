//! A case evaluated: fitted before the origin, led over the samples after it, scored at every lead (RPS section 5.3).

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use predict::{Backtest, LeadScore, Live, Policy, Predictor, Spec};
use rayon::prelude::*;
use statistics::Residuals;

use crate::campaign::{Campaign, Case};
use crate::naive::{NaiveErrors, variance};
use crate::peer::{Contender, Failure, Guarded, Peer};
use crate::window::Window;

/// The result of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseResult {
    /// The case.
    pub case: Case,
    /// The properties of the case's window that depend on no model.
    pub window: Arc<Evaluated>,
    /// Scores, or why there are none.
    pub outcome: Result<Scored, Failure>,
}

/// Properties of a window that depend on no model.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluated {
    /// Gaps among the samples to fit.
    pub n_fit_gaps: usize,
    /// Gaps among the samples to test on.
    pub n_test_gaps: usize,
    /// Mean squared distance of the samples to test on from their mean; NaN where there are none.
    pub test_variance: f64,
    /// One for each lead.
    pub naive: Vec<NaiveErrors>,
}

/// Scores of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// One for each lead of the template.
    pub leads: Vec<LeadScore>,
    /// The results of the tests of the model's errors one step ahead.
    pub residuals: Residuals,
    /// The number of times that the model was fitted anew.
    pub n_refits: u64,
    /// The number of those refits that failed.
    pub n_failed_refits: u64,
}

/// Durations within a case, which are not the same from run to run, and are therefore apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timing {
    /// The first fit, whether it came to something or not.
    pub fit: Duration,
    /// Time from sample to sample: taking it in, fits that fell due, forecasts of all leads, and their scoring;
    /// averaged over the test.
    pub step: Duration,
}

/// Scores or a failure, and how long the fit and all steps took.
type Led = (Result<Scored, Failure>, Duration, Duration);

/// Evaluates cases one after the other, in memory that they share.
#[derive(Clone, Debug)]
pub struct Worker<'c> {
    campaign: &'c Campaign,
    backtest: Backtest,
}

impl<'c> Worker<'c> {
    /// Builds a worker for the cases of `campaign`.
    #[must_use]
    pub fn new(campaign: &'c Campaign) -> Self {
        Self { campaign, backtest: Backtest::new(campaign.template().leads()) }
    }

    /// The cases of a window whose place among them is in `slots`, in order.
    pub fn evaluate(&mut self, window: u64, slots: Range<usize>) -> Vec<(CaseResult, Timing)> {
        let window = self.campaign.window(window);
        let samples = window.cut(self.campaign.traces()[window.trace_idx].samples());
        let facts = Arc::new(Evaluated::of(&window, &samples, self.campaign.template().leads()));
        let cases = self.campaign.cases_of(&window).into_iter();
        let chosen = cases.skip(slots.start).take(slots.len());
        chosen.map(|case| self.evaluate_case(case, &samples, Arc::clone(&facts))).collect()
    }

    fn evaluate_case(&mut self, case: Case, samples: &[f64], window: Arc<Evaluated>) -> (CaseResult, Timing) {
        // The fit sees nothing of what comes after the origin, and the predictor sees it sample by sample.
        let (before, after) = samples.split_at(case.window.n_fit);
        let (outcome, fit, stepping) = match &case.model {
            Contender::Model(spec) => self.lead_model(spec, before, after),
            Contender::Peer(peer) => self.lead_peer(&**peer, before, after),
        };
        let n_steps = u32::try_from(after.len()).unwrap_or(u32::MAX);
        let step = if outcome.is_ok() { stepping / n_steps } else { Duration::ZERO };
        (CaseResult { case, window, outcome }, Timing { fit, step })
    }

    fn lead_model(&mut self, spec: &Spec, before: &[f64], after: &[f64]) -> Led {
        let start = clock::instant();
        let fitted = Live::fitted(Policy::fitted_at(spec, before.len()), before);
        let fit_time = start.elapsed();
        let start = clock::instant();
        let outcome = fitted.map(|mut live| {
            let Ok(leads) = self.backtest.try_run(&mut live, after, before);
            let n_failed_refits = live.n_lost() + live.model().map_or(0, Predictor::n_failed_refits);
            Scored { leads, residuals: self.backtest.residuals(), n_refits: live.n_refits(), n_failed_refits }
        });
        (outcome.map_err(Failure::Fit), fit_time, start.elapsed())
    }

    fn lead_peer(&mut self, peer: &dyn Peer, before: &[f64], after: &[f64]) -> Led {
        let start = clock::instant();
        let fitted = peer.fit(before);
        let fit_time = start.elapsed();
        let start = clock::instant();
        let scored = fitted.and_then(|model| self.backtest.try_run(&mut Guarded(model), after, before));
        let outcome = scored.map(|leads| Scored {
            leads: leads.into_iter().map(without_guesses).collect(),
            residuals: self.backtest.residuals(),
            n_refits: 0,
            n_failed_refits: 0,
        });
        (outcome.map_err(Failure::Peer), fit_time, start.elapsed())
    }
}

/// A forecast without standard errors says nothing of intervals.
fn without_guesses(score: LeadScore) -> LeadScore {
    match score.crps {
        Some(crps) if crps.is_nan() => LeadScore { coverage: None, interval_scores: None, crps: None, ..score },
        _ => score,
    }
}

impl Evaluated {
    fn of(window: &Window, samples: &[f64], leads: &[usize]) -> Self {
        let (before, after) = samples.split_at(window.n_fit);
        let n_gaps = |samples: &[f64]| samples.iter().filter(|sample| sample.is_nan()).count();
        Self {
            n_fit_gaps: n_gaps(before),
            n_test_gaps: n_gaps(after),
            test_variance: variance(after),
            naive: NaiveErrors::of(samples, window.n_fit, leads),
        }
    }
}

impl Campaign {
    /// The cases whose numbers are in `cases`, in their order, by all workers of the thread pool that this is called
    /// in. `note` hears of each as it is done, in any order. `None` if `stop` came true before the last one was done.
    pub fn evaluate(
        &self,
        cases: Range<u64>,
        stop: &AtomicBool,
        note: impl Fn(&CaseResult) + Sync,
    ) -> Option<Vec<(CaseResult, Timing)>> {
        let blocks: Vec<(u64, Range<usize>)> = self.blocks(cases).collect();
        let evaluate = |worker: &mut Worker<'_>, (window, slots): (u64, Range<usize>)| {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let results = worker.evaluate(window, slots);
            results.iter().for_each(|(result, _)| note(result));
            Some(results)
        };
        let done: Option<Vec<Vec<_>>> = blocks.into_par_iter().map_init(|| Worker::new(self), evaluate).collect();
        done.map(|blocks| blocks.into_iter().flatten().collect())
    }

    /// The windows that cases are on, and which of a window's cases are meant.
    fn blocks(&self, cases: Range<u64>) -> impl Iterator<Item = (u64, Range<usize>)> {
        let n_slots = self.n_slots();
        let (first, skipped) = self.window_of(cases.start);
        let (last, n_of_last) = self.window_of(cases.end);
        let is_empty = cases.is_empty();
        (first..=last)
            .map(move |window| {
                let start = if window == first { skipped } else { 0 };
                (window, start..if window == last { n_of_last } else { n_slots })
            })
            .filter(move |(_, slots)| !is_empty && !slots.is_empty())
    }
}
