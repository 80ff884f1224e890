//! A series from its first sample on: who forecasts it, when its model is fitted, and what a gap does.
//!
//! A [`Policy`] is the plan, a plain value with a text; a [`Live`] is one series that follows it, and a [`LiveFleet`]
//! many series that are sampled together. Whoever gives the same samples to the same policy gets the same forecasts,
//! intervals included.
//!
//! # The life of a series
//!
//! It begins with its first known sample; until the first fit it is in its warm-up. With two known samples LAST
//! forecasts, with an error bar that is measured anew as the series grows. At the policy's first length the model is
//! fitted, again as the series grows to a window, and then every so often for as long as the policy says. When a fit
//! fails, the samples are not what the model takes them to be: LAST forecasts again, and the fit is tried again a few
//! samples later. After a gap as long as the window nothing is known any more, and the series begins anew.
//!
//! # What it depends on
//!
//! On the policy, the samples, their numbers and the fits that somebody cancelled ([`Live::cancel_task`], counted as
//! part of the life); not on clocks, threads or chance. A fit that succeeds leaves nothing of what was before but the
//! samples in its window, and fits of a full window are due at numbers that are multiples of `every`. So whoever takes
//! a series over needs only its last [`Policy::n_replayed`] samples and their numbers, if the policy goes on fitting.
//!
//! Fits are made in the step, or elsewhere: then they are handed out as tasks. One that is installed before the next
//! step leaves the same state as one made in the step. One that comes later leaves that state too, as of then.

mod course;
mod fleet;
mod policy;

use std::collections::VecDeque;
use std::convert::Infallible;

use serde::{Deserialize, Serialize};

use crate::evaluator::Forecaster;
use crate::fit::{FitError, fit};
use crate::forecast::Forecast;
use crate::model::Model;
use crate::predictor::Predictor;
use crate::spec::Spec;
use crate::task::{Done, Task, Ticket};
use course::{Course, Due};

pub use fleet::LiveFleet;
pub use policy::Policy;

/// The most samples that [`Live::keeping`] keeps: 128 MB.
const N_KEPT_MAX: usize = 1 << 24;

/// Cancelled fits that are remembered; older ones no longer matter to any model but an `AUTO`.
const N_CANCELLED_MAX: usize = 256;

/// One series, its latest samples and its model.
///
/// ```
/// use predict::{Live, Policy, Spec};
/// let mut live = Live::new(Policy::of(&Spec::ar(2)));
/// live.step(3.0);
/// assert!(live.forecast(10).is_none(), "one sample says nothing of how much they vary");
/// (0..100).for_each(|t| live.step((f64::from(t) * 0.3).sin()));
/// assert!(live.model().is_some());
/// assert_eq!(live.forecast(10).map(|forecast| forecast.n_leads()), Some(10));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Live {
    policy: Policy,
    /// Range of values that the quantity can have.
    range: (f64, f64),
    /// Minimum number of samples that are kept, beside those that a fit needs.
    n_kept: usize,
    course: Course,
    /// The latest samples, NaN for a gap; those of an earlier life among them.
    samples: VecDeque<f64>,
    speaker: Speaker,
    /// The fit of the model that is due or under way.
    due: Option<DueFit>,
    fits: Fits,
    /// The task that is out. Not saved: nobody will bring it back to a restored series.
    #[serde(skip)]
    out: Option<Ticket>,
    fitted_at: Option<u64>,
    refused: Option<FitError>,
    /// Fits of the model in this life.
    n_fits: u64,
    n_lost: u64,
    /// The numbers of the samples after which a fit was cancelled, ascending.
    cancelled: VecDeque<u64>,
}

/// The source of the forecasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Speaker {
    Nobody,
    /// LAST, for want of a model.
    StandIn(Predictor),
    Model(Predictor),
}

/// A fit of the model to the samples before that of a number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct DueFit {
    number: u64,
    /// Whether it is one of the policy's, rather than another try.
    is_scheduled: bool,
}

/// The place where fits are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Fits {
    Here,
    Elsewhere,
}

impl Live {
    /// A series that has no sample yet; the first to come has number 0.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            course: Course::new(0, &policy),
            policy,
            range: (f64::NEG_INFINITY, f64::INFINITY),
            n_kept: 0,
            samples: VecDeque::new(),
            speaker: Speaker::Nobody,
            due: None,
            fits: Fits::Here,
            out: None,
            fitted_at: None,
            refused: None,
            n_fits: 0,
            n_lost: 0,
            cancelled: VecDeque::new(),
        }
    }

    /// A series whose life begins with a fit to `samples`, numbered from 0, whenever the policy's first one would be.
    ///
    /// # Errors
    /// Why the fit failed.
    pub fn fitted(policy: Policy, samples: &[f64]) -> Result<Self, FitError> {
        let mut live = Self::new(policy);
        live.course = Course::begun(samples, &live.policy);
        let samples = &samples[samples.len().saturating_sub(live.policy.window)..];
        live.samples = samples.iter().copied().collect();
        if let Some(refused) = live.policy.refuses(samples.iter().copied()) {
            return Err(refused);
        }
        let due = DueFit { number: live.number(), is_scheduled: true };
        live.take_model(live.policy.fit(samples, live.range)?, due);
        Ok(live)
    }

    /// The same whose next sample has this number, of a series without samples.
    ///
    /// # Panics
    /// When it has samples already.
    #[must_use]
    pub fn numbered_from(mut self, number: u64) -> Self {
        assert!(self.samples.is_empty(), "samples are numbered from the first on");
        self.course = Course::new(number, &self.policy);
        self
    }

    /// The same whose forecasts are cut to what the quantity can be, see [`Forecast::cut`].
    ///
    /// # Panics
    /// When `min` is above `max`, or either is NaN.
    #[must_use]
    pub fn within(mut self, min: f64, max: f64) -> Self {
        assert!(min <= max, "no value is between {min} and {max}");
        self.range = (min, max);
        self
    }

    /// The same that keeps the last `n` samples at least, for whoever shows them.
    #[must_use]
    pub fn keeping(mut self, n: usize) -> Self {
        self.n_kept = n.min(N_KEPT_MAX);
        self
    }

    /// The same with fits made elsewhere: steps make none of the model, and [`Live::take_task`] hands out those that
    /// are due.
    #[must_use]
    pub fn with_deferred_fits(mut self) -> Self {
        self.fits = Fits::Elsewhere;
        self
    }

    /// The same that leaves out the fits due after the samples of these numbers, as a life did that is replayed.
    #[must_use]
    pub fn with_cancelled(mut self, numbers: impl IntoIterator<Item = u64>) -> Self {
        self.cancelled = numbers.into_iter().collect();
        self.cancelled.make_contiguous().sort_unstable();
        self.cancelled.drain(..self.cancelled.len().saturating_sub(N_CANCELLED_MAX));
        self
    }

    /// Takes the next sample. One that is not finite is a gap (see the crate's documentation), and nothing at all ahead
    /// of the first known one.
    pub fn step(&mut self, sample: f64) {
        let sample = if sample.is_finite() { sample } else { f64::NAN };
        match &mut self.speaker {
            Speaker::Nobody => {}
            Speaker::StandIn(predictor) | Speaker::Model(predictor) => predictor.step(sample),
        }
        self.keep(sample);
        match self.course.step(sample, &self.policy) {
            Due::Nothing => {}
            Due::NewLife => self.begin_anew(),
            Due::StandIn => self.stand_in(self.number()),
            Due::Fit => self.plan_fit(true),
            Due::Retry => self.plan_fit(false),
        }
        if self.fits == Fits::Here {
            self.fit_here();
        }
    }

    /// Takes `n` gaps.
    pub fn skip(&mut self, n: u64) {
        let n_felt = n.min(self.policy.window.max(self.capacity()) as u64);
        (0..n_felt).for_each(|_| self.step(f64::NAN));
        // All the same when nothing is known any more.
        self.course.pass(n - n_felt);
    }

    /// Takes many samples at once: as by [`Live::step`], but fits that a later one makes vain are left out, and all
    /// others are made here.
    pub fn replay(&mut self, samples: &[f64]) {
        let deferred = std::mem::replace(&mut self.fits, Fits::Here);
        let mut course = self.course;
        let mut n_vain = 0;
        for (idx, sample) in samples.iter().enumerate() {
            let due = course.step(*sample, &self.policy);
            if matches!(due, Due::NewLife | Due::StandIn | Due::Fit)
                && !self.cancelled.contains(&course.number().wrapping_sub(1))
            {
                n_vain = idx;
            }
        }
        for sample in &samples[..n_vain] {
            self.keep(if sample.is_finite() { *sample } else { f64::NAN });
            self.course.step(*sample, &self.policy);
        }
        if n_vain > 0 {
            (self.speaker, self.due, self.out, self.refused) = (Speaker::Nobody, None, None, None);
        }
        samples[n_vain..].iter().for_each(|sample| self.step(*sample));
        self.fits = deferred;
    }

    /// The fit that is due, of a series with deferred fits. Until [`Live::install`] or [`Live::cancel_task`] is called,
    /// there is no other.
    pub fn take_task(&mut self) -> Option<Task> {
        if self.fits == Fits::Here || self.out.is_some() { None } else { self.next_task() }
    }

    /// Whether a task was handed out that is neither back nor cancelled.
    #[must_use]
    pub fn has_task_out(&self) -> bool {
        self.out.is_some()
    }

    /// Takes what a task of this series came to. What another's came to, or one that was cancelled, is left aside.
    pub fn install(&mut self, done: Done) {
        if self.out.take_if(|out| *out == done.ticket).is_none() {
            return;
        }
        if done.ticket.model_idx != Ticket::WHOLE {
            if let Speaker::Model(predictor) = &mut self.speaker {
                let n_refits = predictor.n_refits();
                predictor.install(done);
                if predictor.n_refits() > n_refits {
                    self.fitted_at = Some(self.number().wrapping_sub(1));
                }
            }
            return;
        }
        let Some(due) = self.due.take() else { return };
        match done.result {
            Ok(model) => self.take_model(model, due),
            Err(error) => self.fail(error, due),
        }
    }

    /// Says that the task that is out will not come back. Whoever forecasts goes on, the next fit is tried when it
    /// is due, and [`Live::cancelled`] remembers it.
    pub fn cancel_task(&mut self) {
        if let Some(ticket) = self.out.take() {
            self.leave_out(ticket);
        }
    }

    /// The numbers of the samples after which fits were cancelled, ascending; with them ([`Live::with_cancelled`]) a
    /// replay of the samples comes to the same state.
    pub fn cancelled(&self) -> impl Iterator<Item = u64> {
        self.cancelled.iter().copied()
    }

    /// The forecast for leads 1 to `n_leads`; `None` before two known samples.
    #[must_use]
    pub fn forecast(&self, n_leads: usize) -> Option<Forecast> {
        let mut forecast = Forecast::default();
        self.forecast_into(n_leads, &mut forecast).then_some(forecast)
    }

    /// Writes the forecast of [`Live::forecast`] into memory that is already there; `false` and nothing in it if there
    /// is none.
    pub fn forecast_into(&self, n_leads: usize, forecast: &mut Forecast) -> bool {
        let speaking = self.speaking();
        match speaking {
            Some(predictor) => predictor.forecast_into(n_leads, forecast),
            None => *forecast = Forecast::default(),
        }
        forecast.cut(self.range.0, self.range.1);
        speaking.is_some()
    }

    /// Returns the predictor that forecasts: the model, LAST for want of one, none before two known samples. Its
    /// forecasts are not cut.
    #[must_use]
    pub fn speaking(&self) -> Option<&Predictor> {
        match &self.speaker {
            Speaker::Nobody => None,
            Speaker::StandIn(predictor) | Speaker::Model(predictor) => Some(predictor),
        }
    }

    /// The predictor of the policy's model, when it forecasts.
    #[must_use]
    pub fn model(&self) -> Option<&Predictor> {
        match &self.speaker {
            Speaker::Model(predictor) => Some(predictor),
            _ => None,
        }
    }

    /// Returns the reason why the model does not forecast, if it does not.
    #[must_use]
    pub fn refused(&self) -> Option<FitError> {
        let too_short = || {
            let (spec, have, need) = (self.policy.model.clone(), self.n_known(), self.policy.known);
            FitError::TooShort { spec, have, need }
        };
        self.model().is_none().then(|| self.refused.clone().unwrap_or_else(too_short))
    }

    /// The number of the sample after which the model was fitted, or a candidate of an `AUTO` last.
    #[must_use]
    pub fn fitted_at(&self) -> Option<u64> {
        self.model().and(self.fitted_at)
    }

    /// Returns the number of times that the model was fitted after the first, and the candidates of an `AUTO` at all.
    #[must_use]
    pub fn n_refits(&self) -> u64 {
        self.n_fits.saturating_sub(1) + self.model().map_or(0, Predictor::n_refits)
    }

    /// Returns the number of times that the model had to go because a fit failed.
    #[must_use]
    pub fn n_lost(&self) -> u64 {
        self.n_lost
    }

    /// Returns the policy that the series follows.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The number of the next sample.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.course.number()
    }

    /// The latest samples, oldest first, NaN for a gap: a window, as many as are kept, or all there were.
    #[must_use]
    pub fn samples(&self) -> &VecDeque<f64> {
        &self.samples
    }

    /// Samples that a fit would use and that are no gaps.
    #[must_use]
    pub fn n_known(&self) -> usize {
        self.window(self.number()).filter(|sample| !sample.is_nan()).count()
    }

    fn capacity(&self) -> usize {
        self.policy.window.max(self.n_kept)
    }

    fn keep(&mut self, sample: f64) {
        if self.samples.is_empty() && sample.is_nan() {
            return;
        }
        while self.samples.len() >= self.capacity() {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// The samples of this life that a fit due before the sample of `number` uses, as far as they are kept.
    fn window(&self, number: u64) -> impl Iterator<Item = f64> {
        let behind = self.number().wrapping_sub(number);
        let most = usize::try_from(self.course.length().saturating_sub(behind)).unwrap_or(usize::MAX);
        let end = self.samples.len().saturating_sub(usize::try_from(behind).unwrap_or(usize::MAX));
        self.samples.range(end - end.min(most).min(self.policy.window)..end).copied()
    }

    /// The samples that came since that of `number`.
    fn since(&self, number: u64) -> impl Iterator<Item = f64> {
        let behind = usize::try_from(self.number().wrapping_sub(number)).unwrap_or(usize::MAX);
        self.samples.range(self.samples.len().saturating_sub(behind)..).copied()
    }

    fn begin_anew(&mut self) {
        (self.speaker, self.due, self.out) = (Speaker::Nobody, None, None);
        (self.fitted_at, self.refused, self.n_fits) = (None, None, 0);
    }

    fn plan_fit(&mut self, is_scheduled: bool) {
        if !is_scheduled && (self.model().is_some() || self.due.is_some()) {
            return;
        }
        let last = self.number().wrapping_sub(1);
        if self.cancelled.contains(&last) {
            return;
        }
        match self.due {
            // The one before is still under way, and this one comes to nothing.
            Some(_) if self.out.is_some() => return self.remember_cancelled(last),
            Some(before) => self.remember_cancelled(before.number.wrapping_sub(1)),
            None => {}
        }
        self.due = None;
        let due = DueFit { number: self.number(), is_scheduled };
        match self.policy.refuses(self.window(due.number)) {
            Some(refused) => self.fail(refused, due),
            None => {
                self.due = Some(due);
                // A fit that is made elsewhere may take its time.
                if self.fits == Fits::Elsewhere && self.speaking().is_none() {
                    self.stand_in(due.number);
                }
            }
        }
    }

    fn fit_here(&mut self) {
        if let Some(task) = self.next_task() {
            self.install(task.run());
        }
    }

    fn next_task(&mut self) -> Option<Task> {
        let task = match (self.due, &self.speaker) {
            (Some(due), _) => {
                let (spec, samples) = (self.policy.model.clone(), self.window(due.number).collect());
                let ticket = Ticket { model_idx: Ticket::WHOLE, clock: due.number };
                Task { spec, samples, ticket, range: self.range, limit: self.policy.limit }
            }
            (None, Speaker::Model(predictor)) => predictor.due_task()?,
            _ => return None,
        };
        if task.ticket.model_idx != Ticket::WHOLE && self.cancelled.contains(&self.number().wrapping_sub(1)) {
            self.leave_out(task.ticket);
            return None;
        }
        self.out = Some(task.ticket);
        Some(task)
    }

    fn leave_out(&mut self, ticket: Ticket) {
        let number = match (self.due.take_if(|_| ticket.model_idx == Ticket::WHOLE), &mut self.speaker) {
            (Some(due), _) => due.number,
            (None, Speaker::Model(predictor)) => {
                predictor.skip(ticket);
                self.number()
            }
            _ => return,
        };
        self.remember_cancelled(number.wrapping_sub(1));
    }

    fn remember_cancelled(&mut self, number: u64) {
        if let Err(place) = self.cancelled.binary_search(&number) {
            self.cancelled.insert(place, number);
        }
        while self.cancelled.len() > N_CANCELLED_MAX {
            self.cancelled.pop_front();
        }
    }

    fn take_model(&mut self, model: Model, due: DueFit) {
        let mut predictor = model.predictor().with_deferred_fits();
        self.since(due.number).for_each(|sample| predictor.step(sample));
        (self.speaker, self.refused) = (Speaker::Model(predictor), None);
        self.n_fits = self.n_fits.saturating_add(1);
        self.fitted_at = Some(due.number.wrapping_sub(1));
    }

    fn fail(&mut self, error: FitError, due: DueFit) {
        self.n_lost += u64::from(self.model().is_some());
        self.refused = Some(error);
        if due.is_scheduled || self.speaking().is_none() {
            self.stand_in(due.number);
        }
    }

    /// LAST forecasts, by the samples before that of `number`; nobody while there are not two.
    fn stand_in(&mut self, number: u64) {
        self.speaker = match stand_in(self.window(number)) {
            Some(mut predictor) => {
                self.since(number).for_each(|sample| predictor.step(sample));
                Speaker::StandIn(predictor)
            }
            None => Speaker::Nobody,
        };
    }

    /// Whether the parts fit together, as a decoder must check.
    pub(crate) fn is_sound(&self) -> bool {
        let is_of = |predictor: &Predictor, spec: &Spec| predictor.model().spec() == spec && predictor.is_sound();
        let is_speaker_sound = match &self.speaker {
            Speaker::Nobody => true,
            Speaker::StandIn(predictor) => is_of(predictor, &Spec::Last),
            Speaker::Model(predictor) => is_of(predictor, &self.policy.model),
        };
        is_speaker_sound
            && self.range.0 <= self.range.1
            && self.course.is_sound(&self.policy)
            && self.samples.len() <= self.capacity()
            && !self.samples.iter().any(|sample| sample.is_infinite())
            && self.due.is_none_or(|due| self.number().wrapping_sub(due.number) <= self.course.length())
            && self.n_kept <= N_KEPT_MAX
            && self.cancelled.len() <= N_CANCELLED_MAX
            && self.cancelled.iter().is_sorted_by(|one, next| one < next)
    }
}

/// LAST, if these samples tell how wrong it is.
fn stand_in(samples: impl Iterator<Item = f64>) -> Option<Predictor> {
    Some(fit(&Spec::Last, &samples.collect::<Vec<_>>()).ok()?.predictor())
}

/// NaN where nobody forecasts.
impl Forecaster for Live {
    type Error = Infallible;

    fn forecast_into(&mut self, n_leads: usize, forecast: &mut Forecast) -> Result<(), Infallible> {
        if !Self::forecast_into(self, n_leads, forecast) {
            *forecast = Forecast::new(vec![f64::NAN; n_leads], vec![f64::NAN; n_leads]);
        }
        Ok(())
    }

    fn step(&mut self, sample: f64) -> Result<(), Infallible> {
        Self::step(self, sample);
        Ok(())
    }
}
