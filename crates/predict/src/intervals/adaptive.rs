//! Intervals that begin as normal ones and take the shape of the errors as evidence grows.
//!
//! Errors are counted in standard units: divided by the standard error of their forecast, and by how much wider an
//! interval has to be whose standard error is itself known from few samples. At each lead the counts make a
//! distribution. It is mixed with that of the next shorter lead, and at lead 1 with the normal one. So neighbouring
//! leads have intervals of similar shape, long leads move slowly, and no end lies beyond the last edge.

use serde::{Deserialize, Serialize};

use super::reach::Reach;
use super::tails::{Shares, Tails};
use crate::ladder::{DENSE, Due};

/// Errors that the normal distribution counts for at lead 1. With 60, intervals of skewed errors are 5 % worse.
const N_FIRST: f64 = 30.0;

/// Errors that the distribution at the next shorter lead counts for. With 20, intervals of a random walk wander by a
/// third at lead 30, where 600 samples hold 20 errors that do not overlap.
const N_SHORTER: f64 = 80.0;

/// Errors over which the distribution is remembered.
const MEMORY: f64 = 600.0;

/// Memory at long leads, in leads, because errors that overlap are nearly the same.
const MEMORY_LEADS: f64 = 30.0;

/// An error counts for one over so many times the number of forecasts under way with it.
const OVERLAP: f64 = 1.5;

/// Errors over which the mean squared one is taken that corrects the standard errors of the model.
const MEMORY_SCALE: f64 = 200.0;

/// Independent errors that the stated variance counts for beside the measured one.
const N_STATED: f64 = 10.0;

/// No correction is larger: a model that states errors a million times too small is no model.
const CORRECTION_MAX: f64 = 1e6;

/// A forecast counts that was made with so many samples known, and [`AGE_LEADS`] times its lead more: the standard
/// errors of a younger series are too wrong to measure anything by.
const AGE: u64 = 10;
const AGE_LEADS: u64 = 4;

/// The distributions of one predictor's errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Adaptive {
    /// Known samples so far.
    n_known: u64,
    leads: Vec<Counts>,
}

/// The errors at one watched lead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Counts {
    /// Discounted mean squared error, in standard errors as the model states them, and the number of errors in it.
    square: f64,
    n_squares: f64,
    tails: Tails,
}

impl Adaptive {
    pub(crate) fn new(n_known: usize) -> Self {
        let nothing = Counts { square: 0.0, n_squares: 0.0, tails: Tails::default() };
        Self { n_known: n_known as u64, leads: vec![nothing; DENSE.leads.len()] }
    }

    pub(crate) fn know(&mut self) {
        self.n_known += 1;
    }

    /// Takes an error in standard errors, of a forecast whose unit ([`Adaptive::unit`]) was `unit` when it was made.
    pub(crate) fn learn(&mut self, due: &Due, error: f64, unit: f64) {
        let counts = &mut self.leads[due.idx];
        let n_under_way = due.n_under_way as f64;
        counts.n_squares = (counts.n_squares + 1.0).min(MEMORY_SCALE.max(8.0 * n_under_way));
        counts.square += (error.powi(2).min(CORRECTION_MAX.powi(2)) - counts.square) / counts.n_squares;
        let weight = 1.0 / (OVERLAP * n_under_way).max(1.0);
        let memory = MEMORY.max(MEMORY_LEADS * due.lead as f64) * n_under_way / due.lead as f64;
        counts.tails.learn(error / unit, weight, 1.0 - 1.0 / memory);
    }

    /// Whether the series is old enough for a forecast of this lead to count.
    pub(crate) fn counts(&self, lead: usize) -> bool {
        self.n_known >= AGE + AGE_LEADS * lead as u64
    }

    /// The standard unit at the watched lead of this index, in standard errors of a forecast.
    pub(crate) fn unit(&self, idx: usize) -> f64 {
        let Counts { square, n_squares, .. } = self.leads[idx];
        let lead = DENSE.leads[idx] as f64;
        let stretch = stretch(1.0 + 2.0 * self.n_known as f64 / lead);
        let n = n_squares / DENSE.n_under_way(idx) as f64;
        stretch * ((N_STATED + n * square) / (N_STATED + n)).sqrt()
    }

    /// One for each watched lead.
    pub(crate) fn reaches_into(&self, reaches: &mut Vec<Reach>) {
        let mut shares = Shares::NORMAL;
        for (idx, counts) in self.leads.iter().enumerate() {
            // At lead 1 there is no shorter one but the normal distribution.
            counts.tails.mix_into(&mut shares, if idx == 0 { N_FIRST } else { N_SHORTER });
            let unit = self.unit(idx);
            let [lower, upper] = shares.ends();
            reaches.push(Reach { lower: lower.map(|end| end * unit), upper: upper.map(|end| end * unit) }.nested());
        }
    }

    pub(crate) fn is_sound(&self) -> bool {
        let is_sound = |counts: &Counts| {
            counts.tails.is_sound()
                && (0.0..=CORRECTION_MAX.powi(2)).contains(&counts.square)
                && (0.0..=1e6).contains(&counts.n_squares)
        };
        self.leads.len() == DENSE.leads.len() && self.leads.iter().all(is_sound)
    }
}

/// Returns the factor by which a 95 % interval by Student's t with so many degrees of freedom is wider than a normal
/// one (Abramowitz and Stegun 1964, 26.7.5), good to 2 % from 1.5 degrees on.
pub(crate) fn stretch(degrees: f64) -> f64 {
    1.0 + 1.2104 / degrees + 1.4415 / degrees.powi(2) + 1.5719 / degrees.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::reach::HALF_WIDTHS;

    #[test]
    fn without_errors_intervals_of_a_long_series_are_normal() {
        let mut reaches = Vec::new();
        Adaptive::new(1_000_000).reaches_into(&mut reaches);
        for (reach, half_width) in reaches[0].upper.iter().zip(HALF_WIDTHS) {
            assert!((reach / half_width - 1.0).abs() < 1e-5, "{reach} is not {half_width}");
        }
        assert_eq!(reaches[0].lower, reaches[0].upper);
    }

    #[test]
    fn student_s_t_is_as_wide_as_tabulated() {
        for (degrees, quantile) in [(2.0, 4.303), (3.0, 3.182), (5.0, 2.571), (10.0, 2.228), (30.0, 2.042)] {
            let ratio = stretch(degrees) * 1.959_964 / quantile;
            assert!((ratio - 1.0).abs() < 0.02, "{degrees}: {ratio}");
        }
    }
}
