//! Whether forecasts return from wherever the series may get.

use super::Regimes;
use crate::random::Random;

/// Directions that are tried beside those along the axes.
const N_DIRECTIONS: usize = 128;

/// Number of steps for which each direction is followed.
const N_STEPS: usize = 1000;

/// A direction that has shrunk to this has returned.
const RETURNED: f64 = 1e-2;

/// One that has grown to this is taken not to, though it might after all: a forecast would get as far.
const GONE: f64 = 1e6;

impl Regimes {
    /// Far out the intercepts and the threshold vanish beside the deviations, and what is left of the skeleton is the
    /// same at every scale: z(t) = phi z with the phi of the side that z(t-d) is on. If it brings every direction
    /// closer to the origin, the series with its shocks comes back from anywhere (Tong 1990, section 4.1). It is
    /// followed from both ends of each axis and from [`N_DIRECTIONS`] fixed directions at random; for order 1, where
    /// those are all there are, that is the exact condition of Petruccelli and Woolford (1984).
    pub(super) fn is_stable(&self) -> bool {
        let order = self.low.phi.len();
        let mut random = Random::seeded(0x7a5);
        let axes = (0..2 * order).map(|idx| {
            let mut direction = vec![0.0; order];
            direction[idx / 2] = if idx % 2 == 0 { 1.0 } else { -1.0 };
            direction
        });
        let others = (0..N_DIRECTIONS).map(|_| (0..order).map(|_| 2.0 * random.uniform() - 1.0).collect());
        axes.chain(others.collect::<Vec<_>>()).all(|direction| self.returns(direction))
    }

    /// `direction` is the latest deviation first.
    fn returns(&self, mut direction: Vec<f64>) -> bool {
        let start = norm(&direction);
        for _ in 0..N_STEPS {
            let regime = if direction[self.delay - 1] <= 0.0 { &self.low } else { &self.high };
            let next: f64 = regime.phi.iter().zip(&direction).map(|(weight, value)| weight * value).sum();
            direction.rotate_right(1);
            direction[0] = next;
            let distance = norm(&direction) / start;
            if !(RETURNED..=GONE).contains(&distance) {
                return distance < RETURNED;
            }
        }
        norm(&direction) < start
    }
}

fn norm(direction: &[f64]) -> f64 {
    direction.iter().fold(0.0, |most: f64, value| if value.is_nan() { f64::INFINITY } else { most.max(value.abs()) })
}

#[cfg(test)]
mod tests {
    use super::super::Regime;

    use super::*;

    fn regimes(low: &[f64], high: &[f64], delay: usize) -> Regimes {
        let regime = |phi: &[f64]| Regime { intercept: 0.0, phi: phi.to_vec(), variance: 1.0, n_rows: 10 };
        Regimes { delay, threshold: 0.0, low: regime(low), high: regime(high) }
    }

    #[test]
    fn order_one_is_stable_where_petruccelli_and_woolford_say() {
        for low in [-3.0, -1.1, -0.5, 0.0, 0.9, 1.1] {
            for high in [-3.0, -1.1, -0.5, 0.0, 0.9, 1.1] {
                let expected = low < 1.0 && high < 1.0 && low * high < 1.0;
                assert_eq!(regimes(&[low], &[high], 1).is_stable(), expected, "{low} {high}");
            }
        }
    }

    #[test]
    fn an_explosive_regime_is_taken_if_the_other_brings_it_back() {
        assert!(regimes(&[1.25, -0.43], &[1.52, -1.24], 2).is_stable());
        assert!(!regimes(&[1.25, -0.43], &[1.9, -0.8], 2).is_stable());
    }
}
