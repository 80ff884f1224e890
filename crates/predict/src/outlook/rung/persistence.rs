//! Dependence of errors: of one origin at neighbouring leads, and of one lead at neighbouring origins.

use super::{CORRELATED_MAX, N_ERRORS_MIN, RIDGE, Rung};

/// The lead from which on forecasts made one after the other are nearly the same.
const LEAD_LONG: usize = 16;

/// Dependence of errors at one lead on those one step before, for the same origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Persistence {
    /// Share of the lasting part that is left after a step.
    pub(in super::super) kept: f64,
    /// The share of the variance that is new at every step and gone at the next.
    pub(in super::super) passing: f64,
}

impl Rung {
    pub(super) fn go_together(&mut self, error: f64, shorter: f64, memory: f64) {
        if !shorter.is_nan() {
            let [one, other] = [error, shorter].map(|error| error.clamp(-CORRELATED_MAX, CORRELATED_MAX));
            self.together.learn([one * other, one * one, other * other], memory);
        }
    }

    /// The correlation of errors with those of the next shorter watched lead, which is `shorter`, of the same origins.
    /// As long as little is known, that of a random walk.
    pub(super) fn correlation(&self, shorter: usize) -> f64 {
        let walk = (shorter as f64 / self.lead as f64).sqrt();
        let [product, one, other] = self.together.means;
        let n_independent = self.together.n / self.n_under_way();
        let seen = if one * other > 0.0 { product / (one * other).sqrt() } else { walk };
        ((RIDGE * walk + n_independent * seen) / (RIDGE + n_independent)).clamp(0.0, 0.999_9)
    }

    /// Compares the error of a forecast with that of the one noted before it.
    pub(super) fn go_on(&mut self, origin: u64, error: f64, memory: f64) {
        let error = error.clamp(-CORRELATED_MAX, CORRELATED_MAX);
        let (before, last) = std::mem::replace(&mut self.last, (origin, error));
        if before.checked_add(self.spacing) == Some(origin) {
            self.in_row.learn([last * error, error * error], memory);
        }
    }

    /// Returns the persistence of errors on the way here from the next shorter watched lead.
    ///
    /// Forecasts of a long lead made one after the other say nearly the same, so that their errors go together as those
    /// of one forecast at neighbouring leads do. What is missing from that to 1 while errors further apart go together
    /// nearly as well is noise of the samples themselves.
    pub(in super::super) fn persistence(&self, shorter: usize) -> Persistence {
        let n_steps = (self.lead - shorter) as f64;
        let far = self.correlation(shorter);
        let lasting = Persistence { kept: far.powf(1.0 / n_steps), passing: 0.0 };
        let [product, square] = self.in_row.means;
        let spacing = self.spacing as f64;
        if self.lead < LEAD_LONG || square <= 0.0 || self.in_row.n < N_ERRORS_MIN || spacing >= n_steps {
            return lasting;
        }
        let near = (product / square).clamp(far, 1.0);
        // Errors that have nothing to do with each other: neither does their ratio say anything.
        if near <= 0.0 {
            return lasting;
        }
        let kept = (far / near).powf(1.0 / (n_steps - spacing));
        Persistence { kept: kept.max(lasting.kept), passing: (1.0 - near / kept.powf(spacing)).clamp(0.0, 1.0) }
    }
}
