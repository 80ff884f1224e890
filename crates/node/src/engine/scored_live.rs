//! One series in motion: its last samples, the model in use, and the score of what was said.
//!
//! Live samples, pushed samples and the replay at start all come through [`ScoredLive::take`], and nothing in here
//! depends on anything but the labels and values that were taken. So a node that starts anew stands where it stood.

mod saved;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use predict::{Done, Evaluator, FitError, Forecast, LeadScore, Live, Predictor, Task, WindowErrors};
use statistics::Residuals;
use units::Timestamp;

use super::plan::{Look, Plan};
use crate::api::{Range, WaitingReason};
use crate::schedule::{times, whole_steps};

/// One series in motion.
#[derive(Clone, Debug)]
pub(crate) struct ScoredLive {
    plan: Arc<Plan>,
    key: i64,
    range: Range,
    /// The labels of the last step, and of the last that was no gap.
    last: Option<Timestamp>,
    last_known: Option<Timestamp>,
    /// Samples have the numbers of their steps since the epoch.
    live: Live,
    /// LAST and MEAN, which the model is compared with.
    baselines: [Live; 2],
    /// Scores of the forecasts that were served, and of the baselines.
    scores: [Evaluator; 3],
    /// Errors of means over windows, for series from which run times of tasks are forecast.
    window_errors: Option<WindowErrors>,
    /// Whether a fit was handed out since the last step. There is one between two steps at most, however they come, so
    /// that a replay makes the same.
    has_fitted: bool,
    /// Fits cancelled after samples before this number were told.
    told_until: u64,
    /// Number of times that the model had to be dropped, of those that are counted.
    n_lost: u64,
    /// Counts of events since the node started.
    pub(crate) counts: Counts,
}

/// Counts of events of one series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) n_samples: u64,
    pub(crate) n_gaps: u64,
    pub(crate) n_fit_failures: u64,
}

impl std::ops::Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            n_samples: self.n_samples + other.n_samples,
            n_gaps: self.n_gaps.saturating_add(other.n_gaps),
            n_fit_failures: self.n_fit_failures + other.n_fit_failures,
        }
    }
}

/// The scores of one lead time: of what was served, and of what LAST and MEAN would have said.
#[derive(Debug)]
pub(crate) struct LeadScores {
    pub(crate) model: LeadScore,
    pub(crate) last: LeadScore,
    pub(crate) mean: LeadScore,
}

/// A remembered forecast of one future moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Said {
    pub(crate) key: i64,
    /// The moment it is for.
    pub(crate) target: Timestamp,
    pub(crate) lead: Duration,
    pub(crate) mean: f64,
    pub(crate) standard_error: f64,
}

impl ScoredLive {
    pub(crate) fn new(plan: Arc<Plan>, key: i64, range: Range) -> Self {
        let scores = std::array::from_fn(|_| Evaluator::with_window(&plan.leads, plan.n_scored));
        let (min, max) = limits(range);
        let live = Live::new(plan.policy.clone()).within(min, max).keeping(plan.n_kept).with_deferred_fits();
        let baselines = plan.baselines.clone().map(|policy| Live::new(policy).within(min, max));
        let (last, last_known, window_errors, counts) = (None, None, None, Counts::default());
        Self {
            plan,
            key,
            range,
            last,
            last_known,
            live,
            baselines,
            scores,
            window_errors,
            has_fitted: false,
            told_until: 0,
            n_lost: 0,
            counts,
        }
    }

    /// The same that follows the errors of means over windows too.
    pub(crate) fn with_window_errors(mut self) -> Self {
        self.window_errors = Some(self.plan.window_errors());
        self
    }

    /// The same series with nothing taken yet. What happened to it stays counted.
    pub(crate) fn anew(&self) -> Self {
        let anew = Self::new(Arc::clone(&self.plan), self.key, self.range);
        let anew = if self.window_errors.is_some() { anew.with_window_errors() } else { anew };
        Self { counts: self.counts, ..anew }
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The label of the last step, gap or not.
    pub(crate) fn last(&self) -> Option<Timestamp> {
        self.last
    }

    /// The label of the last step that was no gap.
    pub(crate) fn last_known(&self) -> Option<Timestamp> {
        self.last_known
    }

    /// The last sample, NaN in a gap or before the first.
    pub(crate) fn last_value(&self) -> f64 {
        self.live.samples().back().copied().unwrap_or(f64::NAN)
    }

    /// Samples in memory, and the label of the first of them.
    pub(crate) fn kept(&self) -> Option<(Timestamp, &VecDeque<f64>)> {
        let kept = self.live.samples();
        let span = times(self.plan.step, kept.len().saturating_sub(1) as u64);
        self.last.map(|last| (last - span, kept))
    }

    /// Takes the sample of `label`, NaN for a gap. Steps that were left out before it are gaps; more of them than
    /// samples are kept, and the warm-up begins again, because everything known is too old to say anything. Gaps
    /// ahead of the first sample are nothing.
    ///
    /// What is to be remembered of the forecasts made goes to `said`.
    ///
    /// # Panics
    /// When `label` is not later than the last one.
    pub(crate) fn take(&mut self, label: Timestamp, sample: f64, room: &mut Forecast, said: &mut Vec<Said>) {
        if let Some(last) = self.last {
            assert!(label > last, "a series goes forward: {label} does not come after {last}");
            self.pass_over(last, self.n_left_out(label));
        }
        if sample.is_finite() {
            let look = self.plan.look(self.key, self.last, label);
            self.step(label, sample);
            self.counts.n_samples += 1;
            self.last_known = Some(label);
            self.score(look, sample, room, said);
        } else if self.last.is_some() {
            self.step_gap(label);
            self.counts.n_gaps += 1;
        }
    }

    /// Returns the number of steps that were left out before `label`.
    pub(crate) fn n_left_out(&self, label: Timestamp) -> u64 {
        let span = self.last.map_or(Duration::ZERO, |last| label.saturating_since(last));
        whole_steps(span, self.plan.step).saturating_sub(1)
    }

    /// Takes the first of the steps that were left out before `label` for a gap. Says whether it did: not where there
    /// are none, nor where there are so many that [`ScoredLive::take`] begins anew.
    pub(crate) fn pass_one_before(&mut self, label: Timestamp) -> bool {
        let n_left_out = self.n_left_out(label);
        let (Some(last), 1..) = (self.last, n_left_out) else { return false };
        if n_left_out >= self.plan.n_kept as u64 {
            return false;
        }
        self.pass_over(last, 1);
        // As where all of them are passed over at once.
        self.has_fitted = true;
        true
    }

    /// The number of the next sample.
    pub(crate) fn number(&self) -> u64 {
        self.live.number()
    }

    /// The numbers of samples after which fits were cancelled, of those that were not told yet. A replay leaves these
    /// fits out.
    pub(crate) fn take_cancelled(&mut self) -> Vec<u64> {
        let new: Vec<u64> = self.live.cancelled().filter(|number| *number >= self.told_until).collect();
        self.told_until = new.last().map_or(self.told_until, |last| last + 1);
        new
    }

    /// The same that leaves out the fits after these samples too.
    pub(crate) fn with_cancelled(mut self, numbers: impl IntoIterator<Item = u64>) -> Self {
        let all: BTreeSet<u64> = self.live.cancelled().chain(numbers).collect();
        self.told_until = all.last().map_or(0, |last| last + 1);
        self.live = self.live.with_cancelled(all);
        self
    }

    /// Whether a fit that was handed out is not back.
    pub(crate) fn has_task_out(&self) -> bool {
        self.live.has_task_out()
    }

    fn pass_over(&mut self, last: Timestamp, n_left_out: u64) {
        // What passed while the node was down is no gap of this run.
        if self.counts != Counts::default() {
            self.counts.n_gaps = self.counts.n_gaps.saturating_add(n_left_out);
        }
        if n_left_out >= self.plan.n_kept as u64 {
            let fresh = Self::new(Arc::clone(&self.plan), self.key, self.range);
            let window_errors = self.window_errors.is_some().then(|| self.plan.window_errors());
            *self = Self { counts: self.counts, last_known: self.last_known, window_errors, ..fresh };
        } else {
            (1..=n_left_out).for_each(|n| self.step_gap(last + times(self.plan.step, n)));
        }
    }

    fn step_gap(&mut self, label: Timestamp) {
        self.step(label, f64::NAN);
        self.scores.iter_mut().for_each(|evaluator| evaluator.step(f64::NAN, None));
        self.window_errors.iter_mut().for_each(|errors| errors.step(f64::NAN, None));
    }

    fn step(&mut self, label: Timestamp, sample: f64) {
        if self.last.replace(label).is_none() {
            let number = self.plan.number(label);
            let [last, mean] = &self.baselines;
            self.baselines = [last, mean].map(|live| live.clone().numbered_from(number));
            self.live = self.live.clone().numbered_from(number);
        }
        self.live.step(sample);
        self.has_fitted = false;
        self.baselines.iter_mut().for_each(|live| live.step(sample));
        self.count_lost();
    }

    fn count_lost(&mut self) {
        self.counts.n_fit_failures += self.live.n_lost() - self.n_lost;
        self.n_lost = self.live.n_lost();
    }

    /// A fit that is due. It is to come back by [`ScoredLive::install`], before the next step if it can: then the state
    /// depends on nothing but the samples.
    pub(crate) fn take_task(&mut self) -> Option<Task> {
        let task = if self.has_fitted { None } else { self.live.take_task() };
        self.has_fitted |= task.is_some();
        task
    }

    pub(crate) fn install(&mut self, done: Done) {
        self.live.install(done);
        self.count_lost();
    }

    pub(crate) fn cancel_task(&mut self) {
        self.live.cancel_task();
    }

    /// Makes the fit that is due, where nobody waits for the next step.
    pub(crate) fn fit_here(&mut self) {
        if let Some(task) = self.take_task() {
            self.install(task.run());
        }
    }

    /// Scores what was said of `sample`, and makes the forecasts that are to be scored next.
    fn score(&mut self, look: Look, sample: f64, room: &mut Forecast, said: &mut Vec<Said>) {
        let n_leads = self.plan.n_leads(look);
        let [model, of_baselines @ ..] = &mut self.scores;
        for (evaluator, live) in of_baselines.iter_mut().zip(&self.baselines) {
            let speaks = live.forecast_into(n_leads, room);
            evaluator.step(sample, speaks.then_some(&*room));
        }
        let n_followed = self.window_errors.as_ref().filter(|_| look != Look::Short).map_or(0, WindowErrors::n_leads);
        let speaks = self.live.forecast_into(n_leads.max(n_followed), room);
        model.step(sample, speaks.then_some(&*room));
        if let Some(errors) = &mut self.window_errors {
            errors.step(sample, speaks.then_some(&*room));
        }
        if look == Look::Remembered && speaks {
            self.remember(room, said);
        }
    }

    fn remember(&self, forecast: &Forecast, said: &mut Vec<Said>) {
        let Some(origin) = self.last else { return };
        said.extend(self.plan.leads.iter().map(|lead| {
            let span = times(self.plan.step, *lead as u64);
            let (mean, standard_error) = (forecast.means()[lead - 1], forecast.standard_errors()[lead - 1]);
            Said { key: self.key, target: origin + span, lead: span, mean, standard_error }
        }));
    }

    /// Returns the predictor at this moment: the model, LAST until there is one, none before there are two samples.
    pub(crate) fn speaking(&self) -> Option<&Predictor> {
        self.live.speaking()
    }

    /// Returns the errors of means of forecasts over windows, for series from which run times of tasks are forecast.
    pub(crate) fn window_errors(&self) -> Option<&WindowErrors> {
        self.window_errors.as_ref()
    }

    /// The text of the model in use.
    pub(crate) fn model_text(&self) -> &str {
        if self.live.model().is_some() { &self.plan.text } else { "LAST" }
    }

    /// Returns the candidate with the largest weight at `lead`, if the model in use chooses among several.
    pub(crate) fn speaking_at(&self, lead: usize) -> Option<String> {
        self.speaking()?.speaking_at(lead)
    }

    /// Returns the time at which the model in use was fitted, if it is the configured one.
    pub(crate) fn fitted_at(&self) -> Option<Timestamp> {
        let n_since = self.live.number() - 1 - self.live.fitted_at()?;
        self.last.map(|last| last - times(self.plan.step, n_since))
    }

    /// Returns the number of times that the model in use was fitted anew.
    pub(crate) fn n_refits(&self) -> u64 {
        self.live.n_refits()
    }

    /// Returns the reason why the configured model is not in use, and the number of known samples.
    pub(crate) fn waiting(&self) -> Option<(WaitingReason, usize)> {
        let reason = match self.live.refused()? {
            FitError::TooShort { .. } => WaitingReason::TooShort,
            FitError::Constant { .. } => WaitingReason::Constant,
            _ => WaitingReason::DidNotConverge,
        };
        Some((reason, self.live.n_known()))
    }

    /// Returns the results of tests on the errors that the model made one step ahead.
    pub(crate) fn residuals(&self) -> Option<Residuals> {
        self.scores[0].residuals()
    }

    /// One element for each scored lead.
    pub(crate) fn scores(&self) -> Vec<LeadScores> {
        let [model, last, mean] = self.scores.each_ref().map(|evaluator| evaluator.scores().into_iter());
        model.zip(last.zip(mean)).map(|(model, (last, mean))| LeadScores { model, last, mean }).collect()
    }
}

/// Computes the forecast that is served: that of the predictor, its means cut to the range of the quantity.
pub(crate) fn forecast_within(predictor: &Predictor, n_leads: usize, range: Range, room: &mut Forecast) {
    let (min, max) = limits(range);
    predictor.forecast_into(n_leads, room);
    room.cut(min, max);
}

fn limits(range: Range) -> (f64, f64) {
    (range.min.unwrap_or(f64::NEG_INFINITY), range.max.unwrap_or(f64::INFINITY))
}

#[cfg(test)]
mod tests;
