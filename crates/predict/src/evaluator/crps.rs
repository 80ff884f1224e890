//! The continuous ranked probability score of normal forecasts (Gneiting and Raftery 2007, section 4.2), by a table.
//!
//! Of a standard normal forecast that was off by `r` it is r (2 Phi(r) - 1) + 2 phi(r) - 1 / sqrt(pi), an even function
//! of which the slope, 2 Phi(r) - 1, is known too. Cubics through values and slopes are as good as the error function
//! is, and ten times as fast: every forecast at every lead is scored.

use std::sync::LazyLock;

use statrs::distribution::{Continuous, ContinuousCDF, Normal};

/// Cubics a unit. The fourth derivative is at most 0.8, so a cubic is off by at most 0.8 / 384 / 64^4 = 1.2e-10.
const N_PER_UNIT: usize = 64;

/// The ratio from which on the score is r - 1 / sqrt(pi) to the last place.
const REACH_MAX: f64 = 8.5;

const ONE_OVER_ROOT_PI: f64 = 0.564_189_583_547_756_3;

/// Coefficients of each cubic, constant first, over [0, 1) of its stretch.
static TABLE: LazyLock<Table> = LazyLock::new(Table::new);

/// The score of standard normal forecasts at every distance.
#[derive(Clone, Debug)]
pub(super) struct Table {
    cubics: Vec<[f64; 4]>,
}

impl Table {
    /// The one that all share.
    pub(super) fn get() -> &'static Self {
        &TABLE
    }

    fn new() -> Self {
        let step = 1.0 / N_PER_UNIT as f64;
        let cubic = |idx: usize| {
            let (low, low_slope) = standard(idx as f64 * step);
            let (high, high_slope) = standard((idx + 1) as f64 * step);
            let (low_slope, high_slope) = (low_slope * step, high_slope * step);
            let rise = high - low;
            [low, low_slope, 3.0 * rise - 2.0 * low_slope - high_slope, low_slope + high_slope - 2.0 * rise]
        };
        Self { cubics: (0..(REACH_MAX * N_PER_UNIT as f64) as usize).map(cubic).collect() }
    }

    /// Returns the score of a normal forecast that was off by `error`, in the unit of both arguments; the magnitude of
    /// the error if the standard error is 0.
    #[inline]
    pub(super) fn score(&self, error: f64, standard_error: f64) -> f64 {
        let place = error.abs() / standard_error * N_PER_UNIT as f64;
        // Not for a place that is NaN either, where both are 0.
        let idx = place as usize;
        match self.cubics.get(idx) {
            Some([constant, linear, square, cube]) if standard_error > 0.0 => {
                // Without a vector instruction for it, `trunc` is a call.
                let share = place - idx as f64;
                standard_error * (constant + share * (linear + share * (square + share * cube)))
            }
            _ => error.abs() - standard_error * ONE_OVER_ROOT_PI,
        }
    }
}

/// The score of a standard normal forecast that was off by `reach`, and its slope there.
fn standard(reach: f64) -> (f64, f64) {
    let normal = Normal::standard();
    let slope = 2.0 * normal.cdf(reach) - 1.0;
    (reach * slope + 2.0 * normal.pdf(reach) - ONE_OVER_ROOT_PI, slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crps_is_the_integral_that_it_stands_for() {
        // The integral of (Phi(x) - [x >= error])^2 by R: integrate(…, rel.tol = 1e-12).
        for (error, expected) in [
            (0.0, 0.233_694_977_255_109),
            (0.5, 0.331_403_531_254_856),
            (-2.0, 1.452_791_821_685_9),
            (6.0, 5.435_810_416_764_96),
        ] {
            // Good to what statrs' error function is good to.
            let table = Table::get();
            assert!((table.score(error, 1.0) - expected).abs() < 1e-9, "{error}: {}", table.score(error, 1.0));
            assert!((table.score(3.0 * error, 3.0) - 3.0 * expected).abs() < 1e-9);
        }
    }

    #[test]
    fn between_the_places_of_the_table_the_score_is_as_good() {
        for number in 0..20_000 {
            let error = f64::from(number) * 0.000_613;
            let off = (Table::get().score(error, 1.0) - standard(error).0).abs();
            assert!(off < 3e-10, "{error} is off by {off}");
        }
    }

    #[test]
    fn a_forecast_without_doubt_scores_its_error() {
        assert_eq!((Table::get().score(-2.0, 0.0), Table::get().score(0.0, 0.0)), (2.0, 0.0));
    }

    #[test]
    fn a_forecast_that_says_nothing_scores_without_end() {
        assert_eq!(Table::get().score(1.0, f64::INFINITY), f64::INFINITY);
    }
}
