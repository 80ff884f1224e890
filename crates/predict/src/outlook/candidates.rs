//! Candidates of a forecast at one lead, and the regressors that two of them are made of.

use super::rung::N_CANDIDATES;
use super::{N_FEATURES, N_LEVELS, N_PERIODS_MIN, Outlook, Seasonal, dot};

impl Outlook {
    /// The deviation from the level that is expected at a lead because of its phase.
    pub(super) fn seasonal_at(&self, lead: usize) -> f64 {
        match self.seasonal {
            Some(Seasonal { period, idx }) if self.clock as f64 >= N_PERIODS_MIN * period => {
                dot(&self.season.phase(self.clock, lead).features, &self.rungs[idx].lasting[N_LEVELS..])
            }
            _ => 0.0,
        }
    }

    /// Returns the place that a series on its way to where it has never been gets to by a lead, with a probability at
    /// most; `None` for any other.
    pub(super) fn drift(&self) -> Option<impl Fn(usize, f64) -> f64> {
        let (drift, last) = (self.level.drift()?, self.level.last_without_season());
        Some(move |lead, probability| last + self.seasonal_at(lead) + drift.quantile(lead, probability))
    }

    /// All regressors of a lead, and the last samples at the same phase.
    pub(super) fn features(&self, lead: usize) -> ([f64; N_FEATURES], [Option<f64>; 2]) {
        let phase = self.season.phase(self.clock, lead);
        let mut features = [0.0; N_FEATURES];
        features[..N_LEVELS].copy_from_slice(&self.level.features());
        features[N_LEVELS..].copy_from_slice(&phase.features);
        (features, phase.naive)
    }

    pub(super) fn candidates(
        &self,
        features: &[f64; N_FEATURES],
        naive: [Option<f64>; 2],
        [ensemble, line]: [Option<f64>; 2],
        lasting: &[f64; N_FEATURES],
        plain: &[f64; N_FEATURES],
    ) -> [f64; N_CANDIDATES] {
        let by = |coefficients| self.level.mean() + dot(features, coefficients);
        let lasting = by(lasting);
        let short = naive[0].unwrap_or(lasting);
        let last = self.level.last();
        let ensemble = ensemble.unwrap_or(lasting);
        [lasting, by(plain), last, short, naive[1].unwrap_or(short), ensemble, line.unwrap_or(last)]
    }
}
