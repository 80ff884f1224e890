//! One lead time: what was said and is not due yet, and how wrong it turned out.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use statistics::Interval;
use units::Confidence;

use super::crps::Table;
use super::score::{Coverage, Errors, IntervalScores, LeadScore};
use crate::forecast::Forecast;

/// The intervals that are scored.
const CONFIDENCES: [Confidence; 3] = [Confidence::P50, Confidence::P80, Confidence::P95];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Track {
    lead: usize,
    /// Number of samples so far.
    clock: u64,
    /// Forecasts of the last `lead` steps, oldest first, each with the number of the sample that it is for.
    pending: VecDeque<(u64, Said)>,
    scored: VecDeque<Scored>,
    n_unscored: u64,
    /// Moments in a row, up to now, that were not scored.
    n_gaps: u8,
}

/// A forecast for one moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Said {
    mean: f64,
    standard_error: f64,
    intervals: [Interval; CONFIDENCES.len()],
}

/// The score of a forecast, in 32 bytes: a node keeps 512 of these for each lead of each signal, three times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Scored {
    error: f64,
    standard_error: f64,
    /// Interval scores in units of [`Scored::unit`], by which they fit a 32-bit float whatever the unit of the series.
    interval_scores: [f32; CONFIDENCES.len()],
    is_inside: [bool; CONFIDENCES.len()],
    /// Moments right before this one that were not scored. Of more than it can count, that there are many is enough:
    /// no test looks at lags as long.
    n_gaps_before: u8,
}

impl Track {
    pub(super) fn new(lead: usize) -> Self {
        assert!(lead > 0, "lead 0 is the sample itself");
        Self { lead, clock: 0, pending: VecDeque::new(), scored: VecDeque::new(), n_unscored: 0, n_gaps: 0 }
    }

    pub(super) fn lead(&self) -> usize {
        self.lead
    }

    pub(super) fn errors(&self) -> Vec<f64> {
        self.scored.iter().map(|scored| scored.error).collect()
    }

    /// Returns the errors as [`Track::errors`] does, with NaN for moments between them that were not scored.
    pub(super) fn errors_and_gaps(&self) -> Vec<f64> {
        let mut errors = Vec::with_capacity(self.scored.len());
        for scored in &self.scored {
            let n_gaps = if errors.is_empty() { 0 } else { usize::from(scored.n_gaps_before) };
            errors.extend(std::iter::repeat_n(f64::NAN, n_gaps));
            errors.push(scored.error);
        }
        errors
    }

    pub(super) fn score(&mut self, sample: f64, n_errors_max: usize) {
        self.clock += 1;
        let said = self.pending.pop_front_if(|(of, _)| *of == self.clock);
        let is_due = said.is_some();
        let Some((_, said)) = said.filter(|(_, said)| (sample - said.mean).is_finite()) else {
            self.n_unscored += u64::from(is_due);
            self.n_gaps = self.n_gaps.saturating_add(1);
            return;
        };
        if self.scored.len() == n_errors_max {
            self.scored.pop_front();
        }
        let n_gaps_before = std::mem::take(&mut self.n_gaps);
        self.scored.push_back(Scored { n_gaps_before, ..said.score(sample) });
    }

    pub(super) fn note(&mut self, forecast: Option<&Forecast>) {
        let Some(forecast) = forecast.filter(|forecast| forecast.n_leads() >= self.lead) else { return };
        let said = Said {
            mean: forecast.means()[self.lead - 1],
            standard_error: forecast.standard_errors()[self.lead - 1],
            intervals: CONFIDENCES.map(|confidence| forecast.interval(self.lead, confidence)),
        };
        self.pending.push_back((self.clock + self.lead as u64, said));
    }

    /// `naive_error` is what absolute errors are scaled by.
    pub(super) fn to_score(&self, naive_error: Option<f64>) -> LeadScore {
        let (n, table) = (self.scored.len(), Table::get());
        let errors = (n > 0).then(|| Errors::of(self.errors()));
        let mean = |of: &dyn Fn(&Scored) -> f64| self.scored.iter().map(|scored| of(scored) / n as f64).sum::<f64>();
        let covered = |idx: usize| self.scored.iter().filter(|scored| scored.is_inside[idx]).count() as f64 / n as f64;
        let interval_score = |idx: usize| mean(&|scored| f64::from(scored.interval_scores[idx]) * scored.unit());
        let scale = naive_error.filter(|scale| *scale > 0.0);
        LeadScore {
            lead: self.lead,
            n,
            n_unscored: self.n_unscored,
            errors,
            expected_mean_squared: (n > 0).then(|| mean(&|scored| scored.standard_error.powi(2))),
            coverage: (n > 0).then(|| Coverage { p50: covered(0), p80: covered(1), p95: covered(2) }),
            interval_scores: (n > 0).then(|| IntervalScores {
                p50: interval_score(0),
                p80: interval_score(1),
                p95: interval_score(2),
            }),
            crps: (n > 0).then(|| mean(&|scored| table.score(scored.error, scored.standard_error))),
            mean_absolute_scaled: errors.zip(scale).map(|(errors, scale)| errors.mean_absolute / scale),
        }
    }
}

impl Said {
    fn score(&self, sample: f64) -> Scored {
        let is_inside = self.intervals.map(|interval| interval.contains(sample));
        let mut scored = Scored {
            error: sample - self.mean,
            standard_error: self.standard_error,
            interval_scores: [0.0; CONFIDENCES.len()],
            is_inside,
            n_gaps_before: 0,
        };
        let unit = scored.unit();
        for ((score, interval), confidence) in scored.interval_scores.iter_mut().zip(self.intervals).zip(CONFIDENCES) {
            *score = interval_score(interval, sample, unit, confidence) as f32;
        }
        scored
    }
}

impl Scored {
    /// The larger of error and standard error, to which everything else is in a proportion that a 32-bit float can
    /// hold.
    fn unit(&self) -> f64 {
        let unit = self.error.abs().max(self.standard_error);
        if unit > 0.0 && unit.is_finite() { unit } else { 1.0 }
    }
}

/// Returns the interval score in units of `unit`, by which each term is divided before anything can overflow.
fn interval_score(interval: Interval, sample: f64, unit: f64, confidence: Confidence) -> f64 {
    let Interval { lower, upper } = interval;
    let outside = (lower / unit - sample / unit).max(sample / unit - upper / unit).max(0.0);
    (upper / unit - lower / unit) + 2.0 / (1.0 - confidence.probability()) * outside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_scored_forecast_is_as_small_as_said() {
        assert_eq!(size_of::<Scored>(), 32);
    }
}
