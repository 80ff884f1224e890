//! The distance that mean ranks must have (Nemenyi 1963): the critical difference.

use statrs::distribution::{Continuous, ContinuousCDF, Normal};

/// Beyond this the range of normal values does not lie, for any number of models that a template may have.
const RANGE_MAX: f64 = 12.0;
const N_BISECTIONS: usize = 60;
/// Steps of Simpson's rule over -8 to 8; the integrand is smooth, and more change nothing in ten digits.
const N_STEPS: usize = 400;

/// Mean ranks over `n` blocks of `k` models, at least 2, that are farther apart than this differ at the level
/// `significance`.
pub fn critical_difference(k: usize, n: usize, significance: f64) -> f64 {
    let models = k as f64;
    studentized_range(k, 1.0 - significance) / 2.0_f64.sqrt() * (models * (models + 1.0) / (6.0 * n as f64)).sqrt()
}

/// The quantile of the range of `k` standard normal values.
fn studentized_range(k: usize, probability: f64) -> f64 {
    let (mut low, mut high) = (0.0, RANGE_MAX);
    for _ in 0..N_BISECTIONS {
        let middle = 0.5 * (low + high);
        if range_cdf(k, middle) < probability { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// P(range <= q) = k times the integral of phi(z) (Phi(z) - Phi(z - q))^(k-1) over z.
fn range_cdf(k: usize, range: f64) -> f64 {
    let normal = Normal::standard();
    let exponent = i32::try_from(k - 1).unwrap_or(i32::MAX);
    let value = |z: f64| normal.pdf(z) * (normal.cdf(z) - normal.cdf(z - range)).powi(exponent);
    let step = 16.0 / N_STEPS as f64;
    let weight = |idx: usize| match idx {
        0 | N_STEPS => 1.0,
        odd if odd % 2 == 1 => 4.0,
        _ => 2.0,
    };
    let sum: f64 = (0..=N_STEPS).map(|idx| weight(idx) * value(-8.0 + idx as f64 * step)).sum();
    k as f64 * sum * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_r() {
        // R 4.2: qtukey(0.95, k, Inf), good to about eight digits; see testdata/crossval/tests.R.
        for (k, expected) in [
            (2, 2.771_807_649_019_19),
            (3, 3.314_493_157_553_01),
            (4, 3.633_159_581_795_85),
            (10, 4.474_124_471_263_07),
            (20, 5.011_688_794_686_76),
            (100, 6.084_637_692_727_34),
        ] {
            let ours = studentized_range(k, 0.95);
            assert!((ours - expected).abs() < 1e-6, "{k}: {ours}");
        }
    }

    #[test]
    fn more_blocks_need_less_of_a_difference() {
        // Demsar (2006), section 3.2.2: four models on 14 data sets at 0.05, 2.569 * sqrt(4 * 5 / (6 * 14)) = 1.25.
        assert!((critical_difference(4, 14, 0.05) - 1.25).abs() < 0.005);
        assert!(critical_difference(4, 56, 0.05) < 0.51 * 1.25);
    }
}
