//! Quantiles of the last errors, kept in order as errors come and go.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::reach::{HALF_WIDTHS, LEVELS, N_LEVELS, REACH_MAX, Reach};

/// Errors that quantiles are taken of: enough that six of them lie beyond each end of a 95 % interval.
const N_ERRORS: usize = 256;

/// Minimum number of errors; with fewer, the intervals are the normal ones.
const N_ERRORS_MIN: usize = 20;

/// The last errors at one lead, in standard errors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sorted {
    in_order_of_coming: VecDeque<f64>,
    ascending: Vec<f64>,
}

impl Sorted {
    /// Takes an error that is not NaN.
    pub(crate) fn learn(&mut self, error: f64) {
        if self.in_order_of_coming.len() == N_ERRORS
            && let Some(oldest) = self.in_order_of_coming.pop_front()
        {
            let place = self.ascending.partition_point(|known| known.total_cmp(&oldest).is_lt());
            self.ascending.remove(place);
        }
        let error = error.clamp(-REACH_MAX, REACH_MAX);
        let place = self.ascending.partition_point(|known| known.total_cmp(&error).is_lt());
        self.ascending.insert(place, error);
        self.in_order_of_coming.push_back(error);
    }

    /// The errors kept, least first.
    pub(crate) fn ascending(&self) -> &[f64] {
        &self.ascending
    }

    pub(crate) fn reach(&self) -> Reach {
        if self.ascending.len() < N_ERRORS_MIN {
            return Reach::NORMAL;
        }
        let mut reach = Reach::NORMAL;
        for level in 0..N_LEVELS {
            let tail = 0.5 * (1.0 - LEVELS[level]);
            match (self.quantile(tail), self.quantile(1.0 - tail)) {
                (Some(low), Some(high)) => (reach.lower[level], reach.upper[level]) = (-low, high),
                // Too far out for so few errors: as much further than the level before as in a normal distribution.
                _ => {
                    let ratio = HALF_WIDTHS[level] / HALF_WIDTHS[level - 1];
                    let (lower, upper) = (reach.lower[level - 1], reach.upper[level - 1]);
                    (reach.lower[level], reach.upper[level]) = (lower.max(lower * ratio), upper.max(upper * ratio));
                }
            }
        }
        reach.nested()
    }

    /// The value at rank `(n + 1) share`, which a next error falls short of with this probability if all are
    /// exchangeable, between its neighbours along a straight line; `None` beyond the first and the last.
    fn quantile(&self, share: f64) -> Option<f64> {
        let rank = (self.ascending.len() + 1) as f64 * share - 1.0;
        let below = rank.floor();
        let (low, high) = (*self.ascending.get(below as usize)?, self.ascending.get(rank.ceil() as usize));
        let high = high?;
        (rank >= 0.0).then(|| low + (rank - below) * (high - low))
    }

    pub(crate) fn is_sound(&self) -> bool {
        let mut sorted: Vec<f64> = self.in_order_of_coming.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        sorted == self.ascending && sorted.len() <= N_ERRORS && sorted.iter().all(|error| error.abs() <= REACH_MAX)
    }
}
