//! One series in motion: its last samples, the model in use, and the score of what was said.
//!
//! Live samples, pushed samples and the replay at start all come through [`Forecaster::take`], and nothing in here
//! depends on anything but the labels and values that were taken. So a node that starts anew stands where it stood.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use predict::{Done, Evaluator, FitError, Forecast, LeadScore, Predictor, Spec, Task, WindowErrors, fit};
use units::Timestamp;

use super::baseline::Baseline;
use super::plan::{Look, N_SCORED, Plan};
use crate::api::{Range, WaitingReason};
use crate::schedule::{times, whole_steps};

/// Steps between two tries to fit a model to samples that would not have it, because they do not vary: a signal
/// that wakes up is forecast by its model within seconds, and one that sleeps costs next to nothing.
const RETRY_EVERY: u32 = 4;

/// One series in motion.
#[derive(Clone, Debug)]
pub(crate) struct Forecaster {
    plan: Arc<Plan>,
    key: i64,
    range: Range,
    /// The last samples, NaN for a gap; the newest belongs to `last`.
    kept: VecDeque<f64>,
    n_known: usize,
    last: Option<Timestamp>,
    last_known: Option<Timestamp>,
    model: Option<Predictor>,
    fitted_at: Option<Timestamp>,
    refused: Option<WaitingReason>,
    retry_in: u32,
    naive: Baseline,
    mean: Baseline,
    scores: Scores,
    /// Of the series that tell how long tasks take.
    window_errors: Option<WindowErrors>,
    /// What happened since the node started.
    pub(crate) counts: Counts,
}

/// What happened to one series.
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

#[derive(Clone, Debug)]
struct Scores {
    model: Evaluator,
    last: Evaluator,
    mean: Evaluator,
}

/// The scores of one lead time: of what was served, and of what LAST and MEAN would have said.
#[derive(Debug)]
pub(crate) struct LeadScores {
    pub(crate) model: LeadScore,
    pub(crate) last: LeadScore,
    pub(crate) mean: LeadScore,
}

/// What was said of a moment to come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Said {
    pub(crate) key: i64,
    /// The moment it is for.
    pub(crate) target: Timestamp,
    pub(crate) lead: Duration,
    pub(crate) mean: f64,
    pub(crate) standard_error: f64,
}

impl Forecaster {
    pub(crate) fn new(plan: Arc<Plan>, key: i64, range: Range) -> Self {
        let evaluator = Evaluator::with_window(&plan.leads, N_SCORED);
        Self {
            key,
            range,
            kept: VecDeque::new(),
            n_known: 0,
            last: None,
            last_known: None,
            model: None,
            fitted_at: None,
            refused: None,
            retry_in: 0,
            naive: Baseline::new(Spec::Last),
            mean: Baseline::new(Spec::Mean),
            scores: Scores { model: evaluator.clone(), last: evaluator.clone(), mean: evaluator },
            window_errors: None,
            counts: Counts::default(),
            plan,
        }
    }

    /// The same that follows the errors of means over windows too.
    pub(crate) fn with_window_errors(mut self) -> Self {
        self.window_errors = Some(self.plan.window_errors());
        self
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
        self.kept.back().copied().unwrap_or(f64::NAN)
    }

    /// Samples in memory, and the label of the first of them.
    pub(crate) fn kept(&self) -> Option<(Timestamp, &VecDeque<f64>)> {
        let span = times(self.plan.step, self.kept.len().saturating_sub(1) as u64);
        self.last.map(|last| (last - span, &self.kept))
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
            let n_left_out = whole_steps(label.saturating_since(last), self.plan.step).saturating_sub(1);
            self.pass_over(last, n_left_out);
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
        for evaluator in [&mut self.scores.model, &mut self.scores.last, &mut self.scores.mean] {
            evaluator.step(f64::NAN, None);
        }
        self.window_errors.iter_mut().for_each(|errors| errors.step(f64::NAN, None));
    }

    fn step(&mut self, label: Timestamp, sample: f64) {
        if self.kept.len() == self.plan.n_kept {
            self.n_known -= usize::from(self.kept.pop_front().is_some_and(|oldest| !oldest.is_nan()));
        }
        self.kept.push_back(sample);
        self.n_known += usize::from(!sample.is_nan());
        self.last = Some(label);
        self.naive.step(sample, &mut self.kept, self.n_known);
        self.mean.step(sample, &mut self.kept, self.n_known);
        self.step_model(label, sample);
    }

    fn step_model(&mut self, label: Timestamp, sample: f64) {
        if let Some(model) = &mut self.model {
            model.step(sample);
            // An AUTO has other candidates for the one whose fit failed.
            if model.n_failed_refits() == 0 || matches!(self.plan.spec, Spec::Auto { .. }) {
                return;
            }
            // What the model was fitted to is a window ago. LAST is the better guess until a fit succeeds.
            self.counts.n_fit_failures += 1;
            (self.model, self.retry_in) = (None, 0);
        }
        if self.n_known < self.plan.n_needed {
            self.refused = Some(WaitingReason::TooShort);
        } else if self.retry_in > 0 {
            self.retry_in -= 1;
        } else {
            self.fit(label);
        }
    }

    /// A fit that is due. It is to come back by [`Forecaster::install`], before the next step if it can: then the state
    /// depends on nothing but the samples.
    pub(crate) fn take_task(&mut self) -> Option<Task> {
        self.model.as_mut()?.take_task()
    }

    pub(crate) fn install(&mut self, done: Done) {
        if let Some(model) = &mut self.model {
            let n_refits = model.n_refits();
            model.install(done);
            if model.n_refits() > n_refits {
                self.fitted_at = self.last;
            }
        }
    }

    pub(crate) fn give_up_task(&mut self) {
        self.model.iter_mut().for_each(Predictor::give_up_task);
    }

    /// Makes the fit that is due, where nobody waits for the next step.
    pub(crate) fn fit_here(&mut self) {
        if let Some(task) = self.take_task() {
            self.install(task.run());
        }
    }

    fn fit(&mut self, label: Timestamp) {
        match fit(&self.plan.spec, self.kept.make_contiguous()) {
            Ok(model) => {
                (self.model, self.fitted_at, self.refused) =
                    (Some(model.predictor().with_deferred_fits()), Some(label), None);
            }
            Err(error) => {
                self.refused = Some(match error {
                    FitError::TooShort { .. } => WaitingReason::TooShort,
                    FitError::Constant { .. } => WaitingReason::Constant,
                    _ => WaitingReason::DidNotConverge,
                });
                self.retry_in = RETRY_EVERY - 1;
            }
        }
    }

    /// Scores what was said of `sample`, and makes the forecasts that are to be scored next.
    fn score(&mut self, look: Look, sample: f64, room: &mut Forecast, said: &mut Vec<Said>) {
        let n_leads = self.plan.n_leads(look);
        let range = self.range;
        let speaking = self.model.as_ref().or(self.naive.predictor());
        let n_followed = self.window_errors.as_ref().filter(|_| look != Look::Short).map_or(0, WindowErrors::n_leads);
        step_score(&mut self.scores.model, sample, speaking, n_leads.max(n_followed), range, room);
        if let Some(errors) = &mut self.window_errors {
            errors.step(sample, speaking.map(|_| &*room));
        }
        if look == Look::Remembered && speaking.is_some() {
            self.remember(room, said);
        }
        step_score(&mut self.scores.last, sample, self.naive.predictor(), n_leads, range, room);
        step_score(&mut self.scores.mean, sample, self.mean.predictor(), n_leads, range, room);
    }

    fn remember(&self, forecast: &Forecast, said: &mut Vec<Said>) {
        let Some(origin) = self.last else { return };
        said.extend(self.plan.leads.iter().map(|lead| {
            let span = times(self.plan.step, *lead as u64);
            let (mean, standard_error) = (forecast.means()[lead - 1], forecast.standard_errors()[lead - 1]);
            Said { key: self.key, target: origin + span, lead: span, mean, standard_error }
        }));
    }

    /// Who forecasts at this moment: the model, LAST until there is one, nobody before there are two samples.
    pub(crate) fn speaking(&self) -> Option<&Predictor> {
        self.model.as_ref().or(self.naive.predictor())
    }

    /// How far means of forecasts over windows were off, of the series that tell how long tasks take.
    pub(crate) fn window_errors(&self) -> Option<&WindowErrors> {
        self.window_errors.as_ref()
    }

    /// The text of the model in use.
    pub(crate) fn model_text(&self) -> &str {
        if self.model.is_some() { &self.plan.text } else { "LAST" }
    }

    /// Whose word counts most for `lead`, where the model in use chooses among several.
    pub(crate) fn speaking_at(&self, lead: usize) -> Option<String> {
        self.speaking()?.speaking_at(lead)
    }

    /// When the model in use was fitted, if it is the configured one.
    pub(crate) fn fitted_at(&self) -> Option<Timestamp> {
        self.model.as_ref().and(self.fitted_at)
    }

    /// Why the configured model is not in use, and how many known samples there are.
    pub(crate) fn waiting(&self) -> Option<(WaitingReason, usize)> {
        let reason = self.refused.unwrap_or(WaitingReason::TooShort);
        self.model.is_none().then_some((reason, self.n_known))
    }

    /// One element for each scored lead.
    pub(crate) fn scores(&self) -> Vec<LeadScores> {
        let scores = self.scores.model.scores().into_iter();
        let baselines = self.scores.last.scores().into_iter().zip(self.scores.mean.scores());
        scores.zip(baselines).map(|(model, (last, mean))| LeadScores { model, last, mean }).collect()
    }
}

fn step_score(
    evaluator: &mut Evaluator,
    sample: f64,
    predictor: Option<&Predictor>,
    n_leads: usize,
    range: Range,
    room: &mut Forecast,
) {
    if let Some(predictor) = predictor {
        forecast_within(predictor, n_leads, range, room);
    }
    evaluator.step(sample, predictor.map(|_| &*room));
}

/// What is served: the predictor's forecast, its means cut to what the quantity can be.
pub(crate) fn forecast_within(predictor: &Predictor, n_leads: usize, range: Range, room: &mut Forecast) {
    predictor.forecast_into(n_leads, room);
    room.cut(range.min.unwrap_or(f64::NEG_INFINITY), range.max.unwrap_or(f64::INFINITY));
}

#[cfg(test)]
mod tests;
