//! Means of several quantities at once, over what is remembered.

use serde::{Deserialize, Serialize};

/// Means over the last values, as many as are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(serialize = "[f64; N]: Serialize", deserialize = "[f64; N]: Deserialize<'de>"))]
pub(super) struct Means<const N: usize> {
    pub(super) means: [f64; N],
    /// Number for which the means count.
    pub(super) n: f64,
}

impl<const N: usize> Means<N> {
    pub(super) const NONE: Self = Self { means: [0.0; N], n: 0.0 };

    pub(super) fn is_sound(&self) -> bool {
        self.n.is_finite() && self.n >= 0.0 && self.means.iter().all(|mean| mean.is_finite())
    }

    pub(super) fn learn(&mut self, values: [f64; N], memory: f64) {
        self.n = (self.n + 1.0).min(memory.max(1.0));
        for (mean, value) in self.means.iter_mut().zip(values) {
            *mean += (value - *mean) / self.n;
        }
    }
}
