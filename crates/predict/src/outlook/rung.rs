//! One lead that is watched: a regression that learns what the future makes of the present, and how wrong it was.

mod persistence;
mod regression;

use serde::{Deserialize, Serialize};

use crate::intervals::Tails;

use super::extremes::Extremes;
use super::means::Means;
use super::scale::Transform;
use super::season::N_SEASON;
use super::{N_FEATURES, N_LEVELS};

pub(super) use persistence::Persistence;

/// Forecasts of one lead under way at once, at most: neighbouring ones of a long lead say nearly the same.
const N_UNDER_WAY_MAX: usize = 32;

/// Number of candidates: two ways to fit the regression, the last sample, the last ones at the same phase of the
/// shortest and the longer period, the forecast of an ensemble of other models, and the line that the series follows.
pub(super) const N_CANDIDATES: usize = 7;

/// Indices of the last sample among the candidates, of the last ones at the same phase, of the ensemble, and the line.
pub(super) const OF_LAST: usize = 2;
pub(super) const OF_NAIVE: usize = 3;
pub(super) const OF_LONG_NAIVE: usize = 4;
pub(super) const OF_ENSEMBLE: usize = 5;
pub(super) const OF_LINE: usize = 6;

/// Longest lead at which the ensemble is a candidate: models of the last minutes have returned to their mean there.
pub(crate) const ENSEMBLE_LEAD_MAX: usize = 256;

/// Weight of what is expected of the coefficients before there are samples, in independent samples.
const RIDGE: f64 = 10.0;

/// Errors without which the mean absolute error is not known well enough to hold anything against it.
const N_ERRORS_MIN: f64 = 50.0;

/// Periods that the regression remembers, and the record of candidates.
pub(super) const MEMORY: f64 = 10.0;
const MEMORY_RECORD: f64 = 5.0;

/// Steps over which the mean absolute error is taken by which intervals are wide, or for long leads so many of these:
/// on a noisy afternoon wider than over a calm night.
const LATELY: f64 = 64.0;
const LATELY_LEADS: f64 = 8.0;

/// No error counts in it for more than so many of it.
const SPIKE: f64 = 20.0;

/// Errors of this share of the sample are rounding.
const ROUNDING: f64 = 1e-12;

/// The weight of a candidate goes with this power of one over its mean absolute error.
const SHARPNESS: i32 = 20;

/// Errors are remembered for so many leads at least.
const MEMORY_LEADS: f64 = 3.0;

/// An error counts for one over so many times the number of forecasts under way with it.
const OVERLAP: f64 = 1.5;

/// A mean error is more than chance beyond the square root of so many squared standard errors.
const BY_CHANCE: f64 = 1.0;

/// Beyond so many mean absolute errors one counts no more for how errors go together.
const CORRELATED_MAX: f64 = 3.0;

/// The standard deviation of normal errors of mean absolute value 1.
pub(super) const NORMAL_DEVIATION: f64 = 1.253_314_137_315_5;

/// One watched lead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Rung {
    pub(super) lead: usize,
    /// Steps between two forecasts that are watched.
    spacing: u64,
    /// A ring of what was said.
    said: Vec<Said>,
    /// Discounted products of features with each other, lower half, and with what came.
    products: [[f64; N_FEATURES]; N_FEATURES],
    targets: [f64; N_FEATURES],
    /// Forecasts that were compared with what came.
    n: f64,
    /// Coefficients that expect levels to last, and coefficients that expect nothing.
    pub(super) lasting: [f64; N_FEATURES],
    pub(super) plain: [f64; N_FEATURES],
    /// Absolute errors of each candidate.
    record: Means<N_CANDIDATES>,
    /// Absolute errors of all together, over fewer forecasts.
    lately: Means<1>,
    pub(super) weights: [f64; N_CANDIDATES],
    /// Amount by which the external forecast moves the forecast.
    pub(super) pull: f64,
    /// Weighted mean distance of the candidates from their combination, at the last forecast that is watched.
    pub(super) disagreement: f64,
    /// Squares of the errors of the candidates together and of the external forecast, their products, and errors of the
    /// external forecast.
    others: Means<4>,
    pub(super) tails: Tails,
    /// Products of errors with those of the next shorter watched lead, and squares of both.
    together: Means<3>,
    /// The last error, in mean absolute ones, and its origin.
    last: (u64, f64),
    /// Products of errors with the ones before, and squares.
    in_row: Means<2>,
    pub(super) extremes: Extremes,
}

/// A forecast under way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Said {
    /// The step at which it was made; `u64::MAX` for none.
    pub(super) origin: u64,
    pub(super) level: f64,
    pub(super) features: [f64; N_FEATURES],
    pub(super) candidates: [f64; N_CANDIDATES],
    pub(super) combined: f64,
    /// The candidates' combined forecast, and the external forecast; NaN for none.
    pub(super) own: f64,
    pub(super) heard: f64,
    /// The error at the next shorter watched lead, in mean absolute ones; NaN while it is not known.
    pub(super) shorter: f64,
}

impl Rung {
    pub(super) fn new(lead: usize) -> Self {
        let spacing = lead.div_ceil(N_UNDER_WAY_MAX);
        let nothing = Said {
            origin: u64::MAX,
            level: 0.0,
            features: [0.0; N_FEATURES],
            candidates: [0.0; N_CANDIDATES],
            combined: 0.0,
            own: 0.0,
            heard: f64::NAN,
            shorter: f64::NAN,
        };
        let mut lasting = [0.0; N_FEATURES];
        lasting[0] = 1.0;
        Self {
            lead,
            spacing: spacing as u64,
            said: vec![nothing; lead / spacing + 1],
            products: [[0.0; N_FEATURES]; N_FEATURES],
            targets: [0.0; N_FEATURES],
            n: 0.0,
            lasting,
            plain: [0.0; N_FEATURES],
            record: Means::NONE,
            lately: Means::NONE,
            weights: std::array::from_fn(|idx| match idx {
                OF_LONG_NAIVE | OF_LINE => 0.0,
                _ => 1.0 / (N_CANDIDATES - 2) as f64,
            }),
            pull: 0.0,
            disagreement: 0.0,
            others: Means::NONE,
            tails: Tails::default(),
            together: Means::NONE,
            last: (u64::MAX, 0.0),
            in_row: Means::NONE,
            extremes: Extremes::default(),
        }
    }

    /// Whether this can be what became of `fresh`.
    pub(super) fn is_like(&self, fresh: &Self) -> bool {
        let are_finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        (self.lead, self.spacing, self.said.len()) == (fresh.lead, fresh.spacing, fresh.said.len())
            && self.said.iter().all(|said| {
                let Said { level, features, candidates, combined, own, .. } = said;
                are_finite(features) && are_finite(candidates) && are_finite(&[*level, *combined, *own])
            })
            && self.products.iter().all(|row| are_finite(row))
            && [&self.targets, &self.lasting, &self.plain].iter().all(|row| are_finite(*row))
            && are_finite(&self.weights)
            && self.pull.is_finite()
            && (0.0..f64::INFINITY).contains(&self.disagreement)
            && self.others.is_sound()
            && self.record.is_sound()
            && self.lately.is_sound()
            && self.together.is_sound()
            && self.in_row.is_sound()
            && self.extremes.is_sound()
            && self.tails.is_sound()
            && self.n.is_finite()
            && self.n >= 0.0
            && self.last.1.is_finite()
    }

    /// Whether the forecast made at `step` is watched.
    pub(super) fn is_due(&self, step: u64) -> bool {
        step.is_multiple_of(self.spacing)
    }

    fn place(&self, origin: u64) -> usize {
        (origin / self.spacing % self.said.len() as u64) as usize
    }

    pub(super) fn note(&mut self, said: Said) {
        let place = self.place(said.origin);
        self.said[place] = said;
    }

    /// Compares the sample of `step`, no gap, with what was said of it `lead` steps before. The origin of that, and the
    /// error in mean absolute ones. `cut` is what was cut off the sample.
    ///
    /// `period` is the length in steps by which memory is counted, `transform` that from the unit of the series.
    pub(super) fn score(
        &mut self,
        step: u64,
        sample: f64,
        cut: f64,
        period: f64,
        transform: Transform,
    ) -> Option<(u64, f64)> {
        let origin = step.checked_sub(self.lead as u64).filter(|origin| self.is_due(*origin))?;
        let said = self.said[self.place(origin)];
        if said.origin != origin {
            return None;
        }
        self.n += 1.0;
        let [value, forecast, before] =
            [sample + cut, said.combined, said.candidates[OF_LAST]].map(|scaled| transform.to_value(scaled));
        self.extremes.learn(value, forecast, before);
        let (memory, of_record) = (self.memory(MEMORY * period), self.memory(MEMORY_RECORD * period));
        let error = beyond_rounding(sample - said.combined, sample);
        let scaled = if self.typical() > 0.0 { error / self.typical() } else { 0.0 };
        if self.typical() > 0.0 && self.n > 2.0 {
            let weight = 1.0 / (OVERLAP * self.n_under_way()).max(1.0);
            self.tails.learn(scaled / NORMAL_DEVIATION, weight, kept_of(2.0 * memory));
            self.go_together(scaled, said.shorter, memory);
            self.go_on(origin, scaled, memory);
            self.compare(sample - said.own, sample - said.heard, memory);
        }
        self.record.learn(said.candidates.map(|candidate| (sample - candidate).abs()), of_record);
        // Without an error so far, none is too large.
        let most = if self.typical() > 0.0 { SPIKE * self.typical() } else { f64::INFINITY };
        let n_lately = LATELY.max(LATELY_LEADS * self.lead as f64) / self.spacing as f64;
        self.lately.learn([error.abs().min(most)], n_lately.min(of_record));
        self.learn(&said, sample, kept_of(memory));
        Some((origin, scaled))
    }

    /// The level from which forecasts under way were made has moved. They are as wrong as they are, but nothing is
    /// learned from that. If it was not there a longer period ago, forecasts from then are as wrong as it has moved.
    pub(super) fn shift(&mut self, by: f64, was_there: bool) {
        self.said.iter_mut().for_each(|said| said.level += by);
        if !was_there {
            self.record.means[OF_LONG_NAIVE] += by.abs();
        }
    }

    /// Sees what is under way from this level, and with these regressors of seasons by the step at which it was said.
    pub(super) fn restate(&mut self, level: f64, season: impl Fn(u64) -> [f64; N_SEASON]) {
        for said in self.said.iter_mut().filter(|said| said.origin != u64::MAX) {
            let by = said.level - level;
            said.features[..N_LEVELS - 1].iter_mut().for_each(|deviation| *deviation += by);
            said.features[N_LEVELS..].copy_from_slice(&season(said.origin));
            said.level = level;
        }
    }

    /// Begins anew with a regressor that means something else from here on.
    pub(super) fn forget(&mut self, feature: usize) {
        for idx in 0..N_FEATURES {
            self.products[idx][feature] = 0.0;
            self.products[feature][idx] = 0.0;
        }
        for row in [&mut self.targets, &mut self.lasting, &mut self.plain] {
            row[feature] = 0.0;
        }
        self.said.iter_mut().for_each(|said| said.features[feature] = 0.0);
    }

    /// Forecasts that are remembered where it is for so many steps.
    pub(super) fn memory(&self, n_steps: f64) -> f64 {
        n_steps.max(MEMORY_LEADS * self.lead as f64) / self.spacing as f64
    }

    /// The error, in mean absolute ones, of what was said of the sample of step `clock`, if that is the last that is
    /// known.
    pub(super) fn error_at(&self, clock: u64) -> Option<f64> {
        let (origin, error) = self.last;
        (origin.checked_add(self.lead as u64) == Some(clock)).then_some(error)
    }

    pub(super) fn n_under_way(&self) -> f64 {
        (self.said.len() - 1) as f64
    }

    /// The mean absolute error of what all said together lately.
    fn typical(&self) -> f64 {
        self.lately.means[0]
    }

    fn compare(&mut self, own: f64, heard: f64, memory: f64) {
        if !heard.is_nan() {
            let most = CORRELATED_MAX * self.typical();
            let [own, heard] = [own, heard].map(|error| error.clamp(-most, most));
            let unbiased = heard - self.bias();
            self.others.learn([own * own, unbiased * unbiased, own * unbiased, heard], memory);
        }
    }

    /// Returns the bias of the external forecast, as far as it is more than chance: a mean of medians is no median of
    /// means where errors are skewed.
    pub(super) fn bias(&self) -> f64 {
        let [_, square, _, bias] = self.others.means;
        let n_independent = self.others.n / self.n_under_way();
        let by_chance = BY_CHANCE * square / n_independent.max(1.0);
        if bias * bias > by_chance { bias * (1.0 - by_chance / (bias * bias)) } else { 0.0 }
    }

    /// The weight of somebody else's word: the one that has the least squared error (Bates and Granger 1969), and as
    /// long as little is known, nearly 1: who sees finer steps has more samples to learn from. 0 before anything was
    /// heard.
    pub(super) fn weight_of_heard(&self) -> f64 {
        if self.others.n <= 0.0 {
            return 0.0;
        }
        let [of_own, of_heard, product, _] = self.others.means;
        let apart = of_own + of_heard - 2.0 * product;
        let seen = if apart > 0.0 { ((of_own - product) / apart).clamp(0.0, 1.0) } else { 1.0 };
        let n_independent = self.others.n / self.n_under_way();
        (RIDGE + n_independent * seen) / (RIDGE + n_independent)
    }

    /// Says how wrong the forecast of the next shorter watched lead was that was made at `origin`, in mean absolute
    /// errors.
    pub(super) fn hear(&mut self, origin: u64, error: f64) {
        if self.is_due(origin) {
            let place = self.place(origin);
            if self.said[place].origin == origin {
                self.said[place].shorter = error;
            }
        }
    }

    /// Returns the standard unit of [`Rung::tails`], in the unit of the series: by the mean absolute error of recent
    /// forecasts, or by the distances of the candidates if these are larger. After a first spike nothing has shown yet
    /// which candidate is right.
    pub(super) fn unit(&self) -> f64 {
        self.usual_unit().max(NORMAL_DEVIATION * self.disagreement)
    }

    /// Returns the same by recent errors alone.
    pub(super) fn usual_unit(&self) -> f64 {
        NORMAL_DEVIATION * self.typical()
    }

    /// Returns the time for which errors were seen, in multiples of the lead.
    pub(super) fn n_leads(&self) -> f64 {
        self.n / self.n_under_way()
    }

    /// Errors that were seen.
    pub(super) fn n(&self) -> f64 {
        self.n
    }

    /// Returns the mean absolute error of the best candidate over that of the ensemble; `None` before any forecast came
    /// due.
    pub(super) fn error_ratio(&self) -> Option<f64> {
        let (own, of_ensemble) = self.record.means.split_at(OF_ENSEMBLE);
        let least = own.iter().copied().fold(f64::INFINITY, f64::min);
        (self.n > 0.0 && of_ensemble[0] > 0.0).then(|| least / of_ensemble[0])
    }

    /// Finds the weights of the candidates anew; that of the last sample is `of_last_max` at most. The phase of a
    /// longer period has no weight until that is known, and a line has none if the series follows none.
    pub(super) fn weigh(&mut self, of_last_max: f64, is_long_known: bool, has_line: bool) {
        let mut errors = self.record.means;
        if !is_long_known {
            errors[OF_LONG_NAIVE] = f64::INFINITY;
        }
        if !has_line {
            errors[OF_LINE] = f64::INFINITY;
        }
        let least = errors.into_iter().fold(f64::INFINITY, f64::min);
        if self.n > 0.0 {
            // Where the least is 0, only those without an error have any weight.
            let weight = |error: f64| if error == least { 1.0 } else { (least / error).powi(SHARPNESS) };
            let mut weights = errors.map(weight);
            let others: f64 = weights.iter().sum::<f64>() - weights[OF_LAST];
            if of_last_max < 1.0 {
                weights[OF_LAST] = weights[OF_LAST].min(others * of_last_max / (1.0 - of_last_max));
            }
            let sum: f64 = weights.iter().sum();
            if sum > 0.0 {
                self.weights = weights.map(|weight| weight / sum);
            }
        }
    }
}

/// Returns an error of a forecast of `sample`, and 0 for one that rounding explains: a signal that stood still would
/// have a mean absolute error that the first error after it wakes up exceeds by far.
fn beyond_rounding(error: f64, sample: f64) -> f64 {
    if error.abs() <= ROUNDING * sample.abs() { 0.0 } else { error }
}

/// Returns the share that a step leaves of the weight of what is remembered for so many.
fn kept_of(memory: f64) -> f64 {
    1.0 - 1.0 / memory.max(2.0)
}
