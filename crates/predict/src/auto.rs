//! AUTO: an ensemble of several models, refitted in turns. At each lead, the members with the smallest recent errors
//! make the forecast. If the series has a season, one member has that season.

mod cost;
mod record;
mod season;
mod standing;

use std::cell::Cell;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::effort::spend;
use crate::forecast::Forecast;
use crate::history::History;
use crate::intervals::{Calibration, Intervals};
use crate::predictor::Predictor;
use crate::spec::Spec;
use crate::task::{Done, Task, Ticket};
use cost::Admitted;
use record::{LADDER, Record, SQUARE_MAX};
use season::Look;

pub(crate) use cost::BUDGET_MIN;
pub use standing::{LeadStanding, SeasonLead, SeasonStanding, Standing};

/// While there are fewer samples than a window, a candidate is fitted again when they have grown by one part in so
/// many.
const GROWTH: usize = 2;

/// Steps between two tries to fit a candidate that could not be fitted.
const RETRY_EVERY: usize = 8;

/// Known samples that a first fit waits for, per coefficient: with fewer than five the fit follows the noise.
const SAMPLES_PER_COEFFICIENT: usize = 5;

/// Independent errors that the variance stated by the models counts for beside the errors that were measured.
const N_STATED: f64 = 10.0;

/// The variance at a lead is no less than this share of that at any shorter one: less is known of what is further away,
/// and what seems to contradict it is the chance of few errors.
const NARROWING: f64 = 0.92;

/// Known samples per lead without which the growth of errors up to it cannot be told.
const SAMPLES_PER_LEAD: f64 = 3.0;

/// Power of the lead with which the variance of a young series is taken to grow: between noise (0) and a random
/// walk (1), nearer to the walk, and as if that had been seen in so many samples.
const GROWTH_POWER: f64 = 0.8;
const N_GROWTH_POWER: f64 = 8.0;

/// Samples from which no growth can be told at all.
const N_GROWTH_UNKNOWN: f64 = 4.0;

/// The managed predictor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Auto {
    every: usize,
    history: History,
    /// Those of the specification, then maybe one that knows the season.
    candidates: Vec<Candidate>,
    record: Record,
    look: Look,
}

/// One of the models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Candidate {
    spec: Spec,
    /// The longest lead that it speaks for.
    reach: usize,
    patience: usize,
    cost: u64,
    predictor: Option<Predictor>,
    /// The step after which it is to be fitted next.
    due: u64,
    n_fits: u64,
    n_failures: u64,
}

impl Auto {
    pub(crate) fn new(every: usize, window: usize, budget: u64) -> Self {
        let candidates: Vec<Candidate> = cost::within(every, window, budget).into_iter().map(Candidate::new).collect();
        let look = Look::new(cost::season(budget, candidates.iter().map(|one| one.cost)));
        Self { every, history: season::history(window), record: Record::new(candidates.len()), candidates, look }
    }

    /// One with the same candidates that has seen nothing.
    pub(crate) fn afresh(&self) -> Self {
        let fresh = |one: &Candidate| Candidate { predictor: None, due: 0, n_fits: 0, n_failures: 0, ..one.clone() };
        let candidates: Vec<Candidate> = self.given().map(fresh).collect();
        let (history, record) = (season::history(self.history.window()), Record::new(candidates.len()));
        Self { every: self.every, history, record, candidates, look: self.look.afresh() }
    }

    /// The candidates of the specification.
    fn given(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|candidate| !candidate.is_seasonal())
    }

    /// Computes the difference of each sample from the forecast made one step before.
    pub(crate) fn one_step_errors(mut self, samples: &[f64]) -> Vec<f64> {
        let mut n_missing = 0;
        let error = |sample: &f64| {
            let mut mean = [f64::NAN];
            if self.is_ready() {
                self.forecast_into(n_missing, &mut mean, &mut [0.0]);
            }
            self.step(*sample);
            n_missing = if sample.is_nan() { n_missing + 1 } else { 0 };
            sample - mean[0]
        };
        samples.iter().map(error).collect()
    }

    /// Takes a sample, NaN for a gap, and makes the fit that is due first.
    pub(crate) fn step(&mut self, sample: f64) {
        self.take(sample);
        if let Some(task) = self.task() {
            self.install(task.run());
        }
        self.note();
    }

    /// Takes a sample, NaN for a gap. Fits that are due, and [`Auto::note`] after them, are up to the caller.
    pub(crate) fn take(&mut self, sample: f64) {
        self.record.score(sample);
        self.history.push(sample);
        self.candidates.iter_mut().filter_map(|one| one.predictor.as_mut()).for_each(|one| one.step(sample));
    }

    /// Makes the forecasts by which candidates are going to be judged, and weighs their words.
    pub(crate) fn note(&mut self) {
        let n_leads = self.record.n_leads_due();
        let mut forecast = Forecast::default();
        for (idx, candidate) in self.candidates.iter_mut().enumerate() {
            forecast.means.clear();
            if let Some(predictor) = &candidate.predictor {
                predictor.forecast_into(n_leads.min(candidate.reach), &mut forecast);
                // Samples whose squares overflow leave a model that says nothing any more. Its next fit may do better.
                if !forecast.means.iter().chain(&forecast.standard_errors).all(|number| number.is_finite()) {
                    candidate.predictor = None;
                    forecast.means.clear();
                }
            }
            self.record.note(idx, &forecast.means);
        }
        self.weigh();
        self.record.note_combination();
    }

    fn weigh(&mut self) {
        let candidates = &self.candidates;
        self.record.weigh(|idx, lead| candidates[idx].predictor.is_some() && lead <= candidates[idx].reach);
    }

    /// The fit that is due first, or the look for a season, if there is one.
    pub(crate) fn task(&self) -> Option<Task> {
        let (clock, n_known) = (self.history.clock(), self.history.n_known());
        let is_due = |candidate: &&Candidate| candidate.due <= clock && n_known >= candidate.n_needed();
        let due = self.candidates.iter().enumerate().filter(|(_, candidate)| is_due(candidate));
        let first = due.min_by_key(|(_, candidate)| candidate.due);
        if self.look_due().is_some_and(|look| first.is_none_or(|(_, candidate)| look < candidate.due)) {
            return Some(self.look());
        }
        let (model_idx, candidate) = first?;
        let ticket = Ticket { model_idx, clock };
        Some(Task { spec: candidate.spec.clone(), samples: self.history.to_vec(), ticket, limit: u64::MAX })
    }

    /// Takes what a task came to, and runs it over the samples that came since.
    pub(crate) fn install(&mut self, done: Done) {
        let Done { spec, result, ticket } = done;
        if ticket.model_idx == Ticket::SEASON {
            return self.take_season(result.ok(), ticket.clock);
        }
        let Some(candidate) = self.candidates.get_mut(ticket.model_idx).filter(|candidate| candidate.spec == spec)
        else {
            return;
        };
        let wait = match result {
            Ok(model) => {
                let wait =
                    if self.history.is_full() { self.every } else { (model.n_samples() / GROWTH).clamp(1, self.every) };
                let mut predictor = model.predictor();
                self.history.since(ticket.clock).for_each(|sample| predictor.step(sample));
                candidate.predictor = Some(predictor);
                candidate.n_fits += 1;
                wait * candidate.patience
            }
            Err(_) => {
                candidate.n_failures += 1;
                RETRY_EVERY
            }
        };
        candidate.due = ticket.clock + wait as u64;
    }

    /// Says that a task will not come back, so that its candidate is tried again later.
    pub(crate) fn give_up(&mut self, ticket: Ticket) {
        if ticket.model_idx == Ticket::SEASON {
            self.look.is_made(ticket.clock);
        } else if let Some(candidate) = self.candidates.get_mut(ticket.model_idx) {
            candidate.due = ticket.clock + RETRY_EVERY as u64;
        }
    }

    /// Means and standard errors; `n_missing` is how many samples are missing since the last known one.
    ///
    /// The variance is that of the candidates' mixture, by which their disagreement counts too, blended with the
    /// measured squared errors of what they said together.
    pub(crate) fn forecast_into(&self, n_missing: usize, means: &mut [f64], standard_errors: &mut [f64]) {
        let n_leads = means.len();
        means.fill(0.0);
        standard_errors.fill(0.0);
        let mut forecast = Forecast::default();
        let places: Vec<(usize, f64)> = (1..=n_leads).map(|lead| LADDER.place(lead)).collect();
        let mut weights = vec![0.0; n_leads];
        for (idx, candidate) in self.candidates.iter().enumerate() {
            let n_heard = self.record.n_leads_heard(idx).min(n_leads);
            let Some(predictor) = candidate.predictor.as_ref().filter(|_| n_heard > 0) else {
                continue;
            };
            predictor.forecast_into(n_heard, &mut forecast);
            for (lead_idx, place) in places[..n_heard].iter().enumerate() {
                let weight = self.record.weight(idx, *place);
                if weight > 0.0 {
                    // Moments as they come, by West (1979), because a sum of squares would lose them in the level.
                    weights[lead_idx] += weight;
                    let away = forecast.means[lead_idx] - means[lead_idx];
                    means[lead_idx] += away * weight / weights[lead_idx];
                    let spread = away * (forecast.means[lead_idx] - means[lead_idx]);
                    standard_errors[lead_idx] +=
                        weight * (forecast.standard_errors[lead_idx].powi(2) + spread).min(SQUARE_MAX);
                }
            }
        }
        for (lead_idx, variance) in standard_errors.iter_mut().enumerate() {
            let (measured, n) = self.record.combined(LADDER.place(n_missing + lead_idx + 1));
            *variance = (N_STATED * *variance + n * measured) / (N_STATED + n);
        }
        widen_where_young(standard_errors, self.history.n_known());
        let mut widest: f64 = 0.0;
        for variance in standard_errors {
            widest = widest.max(*variance);
            *variance = variance.max(NARROWING * widest).sqrt();
        }
    }

    /// Samples in the window that are no gaps.
    pub(crate) fn n_known(&self) -> usize {
        self.history.n_known()
    }

    /// Whether there is a candidate that can speak.
    pub(crate) fn is_ready(&self) -> bool {
        self.candidates.iter().any(|candidate| candidate.predictor.is_some())
    }

    /// Returns the mean of the samples kept.
    pub(crate) fn mean(&self) -> f64 {
        let known = || self.history.in_window().filter(|sample| !sample.is_nan());
        known().map(|sample| sample / self.history.n_known().max(1) as f64).sum()
    }

    pub(crate) fn innovation_variance(&self) -> f64 {
        let mut standard_error = [0.0];
        self.forecast_into(0, &mut [0.0], &mut standard_error);
        standard_error[0].powi(2)
    }

    /// The candidate whose word weighs most at `lead`.
    pub(crate) fn speaking(&self, lead: usize) -> Option<&Spec> {
        let place = LADDER.place(lead);
        let weight = |idx: &usize| self.record.weight(*idx, place);
        let best = (0..self.candidates.len()).max_by(|one, other| weight(one).total_cmp(&weight(other)))?;
        Some(&self.candidates[best].spec)
    }

    pub(crate) fn n_fits(&self) -> (u64, u64) {
        self.candidates.iter().fold((0, 0), |(fits, failures), one| (fits + one.n_fits, failures + one.n_failures))
    }

    /// Whether this is the AUTO of these numbers, and could have come about.
    pub(crate) fn is_sound(&self, every: usize, window: usize, budget: u64) -> bool {
        let fresh = Self::new(every, window, budget);
        let n_given = fresh.candidates.len();
        let is_of = |(one, other): (&Candidate, &Candidate)| one.is_sound(other);
        self.every == every
            && self.history.is_like(&fresh.history)
            && self.candidates.len() >= n_given
            && self.candidates.iter().zip(&fresh.candidates).all(is_of)
            && self.is_season_sound(&self.candidates[n_given..], &fresh.look)
            && self.record.is_sound(self.candidates.len())
    }
}

impl Candidate {
    fn new(admitted: Admitted) -> Self {
        let Admitted { spec, reach, patience, cost } = admitted;
        Self { spec, reach, patience, cost, predictor: None, due: 0, n_fits: 0, n_failures: 0 }
    }

    fn n_needed(&self) -> usize {
        (SAMPLES_PER_COEFFICIENT * self.spec.n_coefficients()).max(self.spec.n_samples_min())
    }

    fn is_sound(&self, fresh: &Self) -> bool {
        let is_of = |predictor: &Predictor| predictor.model().spec() == &self.spec && predictor.is_sound();
        (&self.spec, self.reach, self.patience, self.cost) == (&fresh.spec, fresh.reach, fresh.patience, fresh.cost)
            && self.predictor.as_ref().is_none_or(is_of)
    }
}

/// Lets the variances of leads 1, 2, … go on growing beyond the lead to which errors can be known from so many samples.
fn widen_where_young(variances: &mut [f64], n_known: usize) {
    let n_known = n_known as f64;
    let lead_known = (n_known / SAMPLES_PER_LEAD).floor().max(1.0);
    if lead_known >= variances.len() as f64 {
        return;
    }
    let (shortest, known) = (variances[0], variances[lead_known as usize - 1]);
    let seen = if lead_known > 1.0 && shortest > 0.0 {
        ((known / shortest).ln() / lead_known.ln()).clamp(0.0, 1.0)
    } else {
        GROWTH_POWER
    };
    let n_seen = (n_known - N_GROWTH_UNKNOWN).max(0.0);
    let power = (N_GROWTH_POWER * GROWTH_POWER + n_seen * seen) / (N_GROWTH_POWER + n_seen);
    for (lead, variance) in (1..).map(f64::from).zip(variances).skip(lead_known as usize) {
        *variance = variance.max(known * (lead / lead_known).powf(power));
    }
}

/// Runs a fresh one over the last `n_run` of the samples. A season is looked for in all of them.
pub(crate) fn fit(whole: &[f64], n_run: usize, every: usize, window: usize, budget: u64) -> (Auto, Calibration) {
    let mut auto = Auto::new(every, window, budget);
    auto.look_back(whole, n_run);
    let mut calibration = Calibration::new(Intervals::Adaptive, 0, true).expect("adaptive intervals are learned");
    let mut n_missing = 0;
    let per_sample = usize::try_from(budget).unwrap_or(usize::MAX);
    for sample in &whole[whole.len() - n_run..] {
        // The fits of candidates count by themselves.
        if !spend(per_sample / 2) {
            break;
        }
        auto.step(*sample);
        n_missing = if sample.is_nan() { n_missing + 1 } else { 0 };
        calibration.score(*sample);
        if auto.is_ready() {
            let n_leads = calibration.n_leads_due();
            let mut forecast =
                Forecast { means: vec![0.0; n_leads], standard_errors: vec![0.0; n_leads], ..Forecast::default() };
            auto.forecast_into(n_missing, &mut forecast.means, &mut forecast.standard_errors);
            calibration.note(&forecast);
        }
    }
    (auto, calibration)
}

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Decodes an AUTO that is no candidate of another one. Bytes that nest them deep enough would exhaust the stack before
/// anybody could see that they contradict each other.
pub(crate) fn outermost<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<Auto>, D::Error> {
    if IS_INSIDE.replace(true) {
        return Err(D::Error::custom("an AUTO within an AUTO"));
    }
    let decoded = Auto::deserialize(deserializer);
    IS_INSIDE.set(false);
    decoded.map(Box::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::fit as fit_spec;
    use crate::model::Fitted;

    #[test]
    fn an_auto_within_an_auto_is_not_even_decoded() {
        let samples: Vec<f64> = (0..50).map(|t| f64::from(t * 7 % 11)).collect();
        let mut model = fit_spec(&Spec::auto(), &samples).expect("AUTO fits");
        let inner = model.predictor();
        let Fitted::Auto(auto) = &mut model.fitted else { unreachable!("AUTO is AUTO") };
        auto.candidates[0].predictor = Some(inner.clone());
        let message = Predictor::restore(&model.predictor().save()).expect_err("it is nested").to_string();
        assert!(message.ends_with("its fields do not decode"), "{message}");
        assert!(Predictor::restore(&inner.save()).is_ok(), "the next one is not inside of anything");
    }
}
