//! Work that is cut into units, in a fixed order: a part of it is a range of units.

use std::ops::Range;

/// Units and what they are expected to cost, in seconds of processor time on a worker of speed 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Cost of all units before each unit; in the end, of the whole.
    sums: Vec<f64>,
    error: f64,
}

/// Reasons why units are no work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkError {
    /// Nothing to do.
    #[error("there are no units of work; at least one is needed")]
    NoUnits,
    /// A cost that is none.
    #[error("unit {unit} costs {cost} s; a cost is more than 0 s and finite")]
    Cost {
        /// Number of the unit, from 0.
        unit: usize,
        /// The cost as given.
        cost: f64,
    },
}

impl Work {
    /// Builds work from the cost of each unit, in seconds.
    ///
    /// # Errors
    /// [`WorkError`]: no units, or a cost that is not positive and finite.
    pub fn new(costs: impl IntoIterator<Item = f64>) -> Result<Self, WorkError> {
        let mut sums = vec![0.0];
        let mut sum = 0.0;
        for (unit, cost) in costs.into_iter().enumerate() {
            if !(cost > 0.0 && cost.is_finite()) {
                return Err(WorkError::Cost { unit, cost });
            }
            sum += cost;
            sums.push(sum);
        }
        if sums.len() == 1 { Err(WorkError::NoUnits) } else { Ok(Self { sums, error: 0.0 }) }
    }

    /// The same, where each unit's real cost is off by a factor whose logarithm has this standard deviation.
    #[must_use]
    pub fn with_error(self, error: f64) -> Self {
        Self { error, ..self }
    }

    /// The standard deviation of the logarithm of what so many units really cost together, beside what they are
    /// expected to.
    #[must_use]
    pub fn error(&self, n_units: usize) -> f64 {
        self.error / (n_units.max(1) as f64).sqrt()
    }

    /// Returns the number of units.
    #[must_use]
    pub fn n_units(&self) -> usize {
        self.sums.len() - 1
    }

    /// Returns the cost of some units together, in seconds.
    #[must_use]
    pub fn cost(&self, units: &Range<usize>) -> f64 {
        self.sums[units.end] - self.sums[units.start]
    }

    /// Returns the cost of all units, in seconds.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.sums[self.n_units()]
    }

    /// The end of the part that begins with `start`, ends no later than `end`, and comes nearest to `cost`.
    #[must_use]
    pub fn end_of(&self, start: usize, end: usize, cost: f64) -> usize {
        let wanted = self.sums[start] + cost;
        let after = start + self.sums[start..=end].partition_point(|sum| *sum < wanted);
        if after > end {
            return end;
        }
        let is_nearer_before = after > start && wanted - self.sums[after - 1] < self.sums[after] - wanted;
        if is_nearer_before { after - 1 } else { after }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_where_their_cost_is_nearest() {
        let work = Work::new([1.0, 2.0, 3.0, 4.0]).unwrap();
        let ends = [0.0, 0.4, 0.6, 2.0, 3.0, 9.0, 99.0].map(|cost| work.end_of(0, 4, cost));
        assert_eq!(ends, [0, 0, 1, 2, 2, 4, 4]);
        assert_eq!((work.end_of(2, 3, 99.0), work.cost(&(1..3)), work.total()), (3, 5.0, 10.0));
    }

    #[test]
    fn costs_are_positive() {
        assert_eq!(Work::new([]), Err(WorkError::NoUnits));
        assert_eq!(Work::new([1.0, 0.0]), Err(WorkError::Cost { unit: 1, cost: 0.0 }));
        assert!(Work::new([f64::NAN]).is_err());
    }
}
