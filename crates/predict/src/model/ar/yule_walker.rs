//! Autoregressive coefficients from the autocovariances: Yule-Walker equations, solved by Levinson's recursion.

use super::dot;

/// Biased autocovariances (divided by the number of known samples), so that the equations are positive
/// definite and the result is stationary. A product with a gap in it counts as 0, which keeps it so and
/// draws the coefficients toward 0 the more is missing.
pub(super) fn estimate(deviations: &[f64], n_known: usize, order: usize) -> (Vec<f64>, f64) {
    let filled: Vec<f64>;
    let known = if n_known == deviations.len() {
        deviations
    } else {
        filled = deviations.iter().map(|deviation| if deviation.is_nan() { 0.0 } else { *deviation }).collect();
        &filled
    };
    let mut autocovariances = if order <= N_LAGS_DIRECT { products(known, order) } else { fast_products(known, order) };
    autocovariances.iter_mut().for_each(|sum| *sum /= n_known as f64);
    levinson(&autocovariances)
}

/// More lags than this are cheaper by FFT, of which the plan alone costs some ten microseconds.
const N_LAGS_DIRECT: usize = 96;

/// Returns the sums of products at lags 0 to `order`.
fn products(deviations: &[f64], order: usize) -> Vec<f64> {
    (0..=order).map(|lag| dot(&deviations[..deviations.len() - lag], &deviations[lag..])).collect()
}

/// The same by FFT.
fn fast_products(deviations: &[f64], order: usize) -> Vec<f64> {
    let mut products = statistics::autocovariances(deviations, order);
    products.iter_mut().for_each(|mean| *mean *= deviations.len() as f64);
    products
}

/// Levinson-Durbin (Brockwell and Davis 1991, proposition 5.2.1).
///
/// Stops early when the errors vanish to rounding: then the series is a sum of few sinusoids, and further
/// coefficients are 0.
fn levinson(autocovariances: &[f64]) -> (Vec<f64>, f64) {
    let order = autocovariances.len() - 1;
    let mut coefficients = vec![0.0; order];
    let mut previous = vec![0.0; order];
    let mut variance = autocovariances[0];
    let least = variance * f64::EPSILON;
    for k in 0..order {
        if variance <= least {
            break;
        }
        let known: f64 = (0..k).map(|i| coefficients[i] * autocovariances[k - i]).sum();
        let reflection = (autocovariances[k + 1] - known) / variance;
        previous[..k].copy_from_slice(&coefficients[..k]);
        for i in 0..k {
            coefficients[i] = previous[i] - reflection * previous[k - 1 - i];
        }
        coefficients[k] = reflection;
        variance *= 1.0 - reflection * reflection;
    }
    (coefficients, variance.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_about_zero_gives_the_numbers_of_statsmodels() {
        let ramp: Vec<f64> = (1..=11).map(f64::from).collect();
        let (coefficients, _) = estimate(&ramp, ramp.len(), 2);
        // They print eleven digits.
        assert!((coefficients[0] - 0.923_185_341_79).abs() < 1e-11);
        assert!((coefficients[1] + 0.061_663_143_06).abs() < 1e-11);
    }

    #[test]
    fn autocovariances_of_the_dow_jones_are_those_of_brockwell_and_davis() {
        let text = include_str!("../../../../../testdata/predict/ar/dow_jones.csv");
        let samples: Vec<f64> = text.lines().skip(1).map(|line| line.parse().unwrap()).collect();
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        let deviations: Vec<f64> = samples.iter().map(|sample| sample - mean).collect();
        for (ours, theirs) in products(&deviations, 2).iter().map(|sum| sum / 77.0).zip([0.17992, 0.07590, 0.04885]) {
            // They print five digits.
            assert!((ours - theirs).abs() < 5e-6, "{ours} is not {theirs}");
        }
    }

    #[test]
    fn both_ways_to_the_products_agree() {
        let row: Vec<f64> = (0..300).map(|t| (f64::from(t) * 0.9).sin() + f64::from(t * 31 % 17) / 10.0).collect();
        let mean = row.iter().sum::<f64>() / 300.0;
        let deviations: Vec<f64> = row.iter().map(|value| value - mean).collect();
        for (direct, fast) in products(&deviations, 200).iter().zip(fast_products(&deviations, 200)) {
            // Of a sum of squares of about 400.
            assert!((direct - fast).abs() < 1e-11, "{direct} is not {fast}");
        }
    }

    #[test]
    fn equations_without_a_solution_stop_at_the_order_that_explains_all() {
        let (coefficients, variance) = levinson(&[1.0, 1.0, 1.0]);
        assert_eq!((coefficients, variance), (vec![1.0, 0.0], 0.0));
    }
}
