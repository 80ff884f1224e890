//! Shape of a series over the phases of one period.

use serde::{Deserialize, Serialize};

use super::super::season::Profile;

/// Periods over which the shape of a found season is remembered.
const MEMORY: f64 = 20.0;

/// Deviations by phase from the mean over the period around them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Shape {
    pub(super) profile: Profile,
    /// Steps of that mean.
    pub(super) width: usize,
    pub(super) sum: f64,
    pub(super) n: f64,
}

impl Shape {
    pub(super) fn new(period: f64, n_cells: usize) -> Self {
        let profile = Profile::new(period, n_cells.min(period.round() as usize), MEMORY);
        Self { profile, width: period.round() as usize, sum: 0.0, n: 0.0 }
    }

    /// Learns the shape of all these samples, the first of which is step `start`.
    pub(super) fn of(samples: &[f64], period: f64, n_cells: usize, start: u64, clip: f64) -> Self {
        let mut shape = Self::new(period, n_cells);
        for idx in 0..samples.len() {
            shape.learn(samples, idx, start, clip);
        }
        shape
    }

    /// Takes sample `idx` of `samples`, the first of which is step `start`. Half a period later than a step its
    /// deviation is known: the step, what it was, and what was expected.
    pub(super) fn learn(&mut self, samples: &[f64], idx: usize, start: u64, clip: f64) -> Option<(u64, f64, f64)> {
        for (place, sign) in [(Some(idx), 1.0), (idx.checked_sub(self.width), -1.0)] {
            if let Some(sample) = place.map(|place| samples[place]).filter(|sample| !sample.is_nan()) {
                self.sum += sign * sample;
                self.n += sign;
            }
        }
        let middle = idx.checked_sub(self.width / 2).filter(|_| idx + 1 >= self.width)?;
        if samples[middle].is_nan() || 2.0 * self.n < self.width as f64 {
            return None;
        }
        let step = start + middle as u64;
        let (deviation, expected) = (samples[middle] - self.sum / self.n, self.profile.value(step as f64));
        // Sums of very large samples may have overflowed.
        deviation.is_finite().then(|| {
            self.profile.learn(step as f64, deviation, clip);
            (step, deviation, expected)
        })
    }
}
