//! The regression of one lead: discounted least squares, in which large errors count by their size.

use crate::optimize::positive_definite::{cholesky, solve};

use super::super::{N_FEATURES, N_LEVELS};
use super::{N_ERRORS_MIN, N_UNDER_WAY_MAX, RIDGE, Rung, Said};

/// Samples that count for an independent one, of a lead that is longer than these.
const N_DEPENDENT: f64 = 4.0;

/// Share of the weight of recent levels that is left from one watched lead to the next, as long as nothing else is
/// known.
const DECAY: f64 = 0.95;

/// An error of so many mean absolute ones counts in full; larger ones count for as much, so that the regression goes
/// through the median rather than after rare spikes.
const HUBER: f64 = 2.0;

impl Rung {
    pub(super) fn learn(&mut self, said: &Said, sample: f64, kept: f64) {
        let (error, typical) = ((sample - said.candidates[0]).abs(), self.typical());
        let far = self.n > N_ERRORS_MIN && error > HUBER * typical;
        let weight = if far { HUBER * typical / error } else { 1.0 };
        let target = sample - said.level;
        for (i, feature) in said.features.iter().enumerate() {
            let weighted = weight * feature;
            for (product, other) in self.products[i][..=i].iter_mut().zip(&said.features) {
                *product = kept * *product + weighted * other;
            }
            self.targets[i] = kept * self.targets[i] + weighted * target;
        }
    }

    /// Finds the coefficients anew. `shorter` are the lasting ones at the next shorter watched lead, `deviation` is the
    /// mean absolute deviation of samples from their level.
    pub(in super::super) fn fit(&mut self, shorter: Option<&[f64; N_FEATURES]>, deviation: f64) {
        let dependent = (self.lead.min(N_UNDER_WAY_MAX) as f64 / N_DEPENDENT).max(1.0);
        let typical = if self.n > N_ERRORS_MIN { self.record.means[0] } else { deviation };
        let mut expected = [0.0; N_FEATURES];
        match shorter {
            None => expected[0] = 1.0,
            Some(shorter) => {
                expected = *shorter;
                expected[..N_LEVELS].iter_mut().for_each(|coefficient| *coefficient *= DECAY);
            }
        }
        if let Some(found) = self.solved(RIDGE * dependent * typical.powi(2), &expected) {
            self.lasting = found;
        }
        if let Some(found) = self.solved(RIDGE * dependent * deviation.powi(2), &[0.0; N_FEATURES]) {
            self.plain = found;
        }
    }

    /// The coefficients of least squares that are held to what is expected of them by this weight; `None` where
    /// rounding leaves no solution.
    fn solved(&self, ridge: f64, expected: &[f64; N_FEATURES]) -> Option<[f64; N_FEATURES]> {
        let mut matrix = [0.0; N_FEATURES * N_FEATURES];
        let mut side = self.targets;
        // What is held to nothing at all cannot be told apart from what is always 0.
        let ridge = ridge.max(f64::MIN_POSITIVE);
        for i in 0..N_FEATURES {
            matrix[i * N_FEATURES..][..=i].copy_from_slice(&self.products[i][..=i]);
            matrix[i * N_FEATURES + i] += ridge;
            side[i] += ridge * expected[i];
        }
        cholesky(&mut matrix, N_FEATURES)?;
        solve(&matrix, N_FEATURES, &mut side);
        side.iter().all(|coefficient| coefficient.is_finite()).then_some(side)
    }
}
