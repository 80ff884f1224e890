//! Many series that are sampled together, each as a [`Live`](super::Live) would go on.

use std::collections::VecDeque;

use super::course::{Course, Due};
use super::{Policy, stand_in};
use crate::fleet::Fleet;
use crate::forecast::Forecast;
use crate::outlook::UNBOUNDED;
use crate::predictor::Predictor;

/// Series of one policy that take a sample at the same moments, moved together by a [`Fleet`]. Their life is one: it
/// begins with the first row that has a known sample, ends with a window of rows that have none, and fits of all series
/// are due at once.
///
/// [`LiveFleet::replay`] makes no fits; the next step makes those that are not in vain by then. So a series can be
/// taken over from its last [`Policy::n_replayed`] rows at the price of one fit.
#[derive(Clone, Debug)]
pub struct LiveFleet {
    policy: Policy,
    course: Course,
    /// The latest samples, row after row.
    samples: VecDeque<f64>,
    fleet: Fleet,
    /// LAST in the place of each series without a model, once there are samples for it.
    stand_ins: Vec<Option<Predictor>>,
    /// Rows that were replayed and not stepped yet, and what is due after the first of them.
    behind: Option<(usize, Due)>,
}

impl LiveFleet {
    /// Builds a fleet of so many series, the first row of which has this number.
    #[must_use]
    pub fn new(policy: Policy, n_series: usize, number: u64) -> Self {
        Self {
            course: Course::new(number, &policy),
            samples: VecDeque::new(),
            fleet: Fleet::vacant(&policy.model, n_series),
            stand_ins: vec![None; n_series],
            behind: None,
            policy,
        }
    }

    /// Returns the number of series.
    #[must_use]
    pub fn len(&self) -> usize {
        self.stand_ins.len()
    }

    /// Whether there is no series at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stand_ins.is_empty()
    }

    /// The number of the next row.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.course.number()
    }

    /// Takes the next row. A sample that is not finite is a gap.
    ///
    /// # Panics
    /// When it has more or fewer samples than there are series.
    pub fn step(&mut self, row: &[f64]) {
        self.catch_up();
        let due = self.take(row);
        self.advance(0, due);
    }

    /// Takes the next row, whose forecasts nobody asks for.
    ///
    /// # Panics
    /// When it has more or fewer samples than there are series.
    pub fn replay(&mut self, row: &[f64]) {
        // Without an end to the steps after a fit, they would have to be kept for ever.
        if self.policy.every.is_none() {
            return self.step(row);
        }
        let due = self.take(row);
        let n_behind = self.behind.map_or(0, |(n_behind, _)| n_behind);
        self.behind = match (due, self.behind) {
            (Due::NewLife, _) => {
                self.advance(0, due);
                None
            }
            (Due::Fit | Due::StandIn, _) | (_, None) => Some((1, due)),
            (_, Some((_, due))) => Some((n_behind + 1, due)),
        };
        if matches!(due, Due::Fit | Due::StandIn) {
            self.forget();
        }
    }

    /// Takes `n` rows of gaps.
    pub fn skip(&mut self, n: u64) {
        let n_felt = n.min(self.policy.window as u64);
        let row = vec![f64::NAN; self.len()];
        (0..n_felt).for_each(|_| self.replay(&row));
        self.course.pass(n - n_felt);
    }

    /// Means and standard errors for leads 1 to `n_leads`: a row for each series, one after the other; NaN where nobody
    /// forecasts. Steps that a replay left out are made first.
    ///
    /// # Panics
    /// When an output does not have [`LiveFleet::len`] times `n_leads` places.
    pub fn forecast_into(&mut self, n_leads: usize, means: &mut [f64], standard_errors: &mut [f64]) {
        self.catch_up();
        self.fleet.forecast_into(n_leads, means, standard_errors);
        let mut forecast = Forecast::default();
        for (idx, stand_in) in self.stand_ins.iter().enumerate() {
            if let Some(predictor) = stand_in {
                predictor.forecast_into(n_leads, &mut forecast);
                means[idx * n_leads..][..n_leads].copy_from_slice(forecast.means());
                standard_errors[idx * n_leads..][..n_leads].copy_from_slice(forecast.standard_errors());
            }
        }
    }

    /// Whether anybody forecasts series `idx`, the model or LAST.
    ///
    /// # Panics
    /// When there is no such series.
    #[must_use]
    pub fn speaks(&self, idx: usize) -> bool {
        self.stand_ins[idx].is_some() || self.fleet.failure(idx).is_none()
    }

    fn n_rows(&self) -> usize {
        self.samples.len() / self.len().max(1)
    }

    fn take(&mut self, row: &[f64]) -> Due {
        let (n_given, n_series) = (row.len(), self.len());
        assert!(n_given == n_series, "a row of {n_series} series has as many samples, not {n_given}");
        // Rows behind need the window before the first of them as well.
        let n_rows_max = self.policy.window + self.behind.map_or(0, |(n_behind, _)| n_behind);
        if self.n_rows() >= n_rows_max {
            self.samples.drain(..n_series);
        }
        self.samples.extend(row.iter().map(|sample| if sample.is_finite() { *sample } else { f64::NAN }));
        let is_known = row.iter().any(|sample| sample.is_finite());
        self.course.step(if is_known { 0.0 } else { f64::NAN }, &self.policy)
    }

    /// Steps by the rows that were replayed; a fit is due after the first of them at most.
    fn catch_up(&mut self) {
        let Some((n_behind, due)) = self.behind.take() else { return };
        self.advance(n_behind - 1, due);
        for behind in (0..n_behind - 1).rev() {
            let number = self.number().wrapping_sub(behind as u64);
            let is_retry = self.course.length() > self.policy.first + behind as u64 && self.policy.is_retry(number);
            self.advance(behind, if is_retry { Due::Retry } else { Due::Nothing });
        }
        let n_rows = self.n_rows();
        self.samples.drain(..n_rows.saturating_sub(self.policy.window) * self.len());
    }

    /// Moves the models by the row that so many came after, and does what is due then.
    fn advance(&mut self, behind: usize, due: Due) {
        let n_series = self.len();
        let end = self.samples.len() - behind * n_series;
        let row: Vec<f64> = self.samples.range(end - n_series..end).copied().collect();
        self.fleet.step(&row);
        let stand_ins = self.stand_ins.iter_mut().zip(&row);
        stand_ins.for_each(|(stand_in, sample)| stand_in.iter_mut().for_each(|predictor| predictor.step(*sample)));
        match due {
            Due::Nothing => {}
            Due::NewLife => {
                self.forget();
                self.samples.clear();
            }
            Due::StandIn => {
                for idx in 0..n_series {
                    self.stand_ins[idx] = stand_in(self.column(idx, behind).into_iter());
                }
            }
            Due::Fit => (0..n_series).for_each(|idx| self.fit(idx, behind, true)),
            Due::Retry => {
                for idx in 0..n_series {
                    if self.fleet.failure(idx).is_some() {
                        self.fit(idx, behind, false);
                    }
                }
            }
        }
    }

    fn fit(&mut self, idx: usize, behind: usize, is_scheduled: bool) {
        let column = self.column(idx, behind);
        let refused = self.policy.refuses(column.iter().copied());
        match refused.map_or_else(|| self.policy.fit(&column, UNBOUNDED), Err) {
            Ok(model) => {
                self.fleet.replace(idx, model.predictor());
                self.stand_ins[idx] = None;
            }
            Err(error) => {
                self.fleet.vacate(idx, error);
                if is_scheduled || self.stand_ins[idx].is_none() {
                    self.stand_ins[idx] = stand_in(column.into_iter());
                }
            }
        }
    }

    /// The samples of this life of one series that a fit uses, without so many of the latest rows.
    fn column(&self, idx: usize, behind: usize) -> Vec<f64> {
        let end = self.n_rows() - behind;
        let length = usize::try_from(self.course.length()).unwrap_or(usize::MAX).saturating_sub(behind);
        let first = end - end.min(length).min(self.policy.window);
        (first..end).map(|row| self.samples[row * self.len() + idx]).collect()
    }

    /// Nobody forecasts any more.
    fn forget(&mut self) {
        self.fleet = Fleet::vacant(&self.policy.model, self.len());
        self.stand_ins.fill(None);
    }
}
