//! Whatever the samples are, a statistic is a number or a reason.

use proptest::prelude::*;
use statistics::{
    Hurst, StatisticError, Whiteness, aggregated_variance, autocorrelations, geweke_porter_hudak, normality,
    partial_autocorrelations, periodogram, pox_plot, rescaled_range, stationarity, summary, whittle,
};

/// Rows of any floats, of one scale or of all, with or without gaps, long enough for every statistic or not.
fn samples() -> impl Strategy<Value = Vec<f64>> {
    let scales = prop_oneof![Just(1e300), Just(1e-300), Just(1.0), Just(5e-324)];
    let plain = (prop::collection::vec(-1.0..1.0_f64, 0..200), scales)
        .prop_map(|(row, scale)| row.into_iter().map(|sample| sample * scale).collect());
    let integers = prop::collection::vec((0..3).prop_map(f64::from), 0..200);
    let any = prop::collection::vec(any::<f64>(), 0..200);
    let gappy = prop::collection::vec(prop_oneof![Just(f64::NAN), -1.0..1.0_f64], 0..200);
    prop_oneof![plain, integers, any, gappy]
}

fn is_no_number(result: Result<Hurst, StatisticError>) -> bool {
    result.is_ok_and(|hurst| !hurst.exponent.is_finite())
}

proptest! {
    #[test]
    fn statistics_are_numbers_or_reasons(samples in samples(), n_lags in 1..40_usize) {
        for method in [rescaled_range, aggregated_variance, geweke_porter_hudak, whittle] {
            prop_assert!(!is_no_number(method(&samples)));
        }
        if let Ok(points) = pox_plot(&samples) {
            prop_assert!(points.iter().all(|point| point.rescaled_range.is_finite()));
        }
        if let Ok(spectrum) = periodogram(&samples) {
            prop_assert!(spectrum.powers.iter().all(|power| power.is_finite()));
        }
        if let Ok(tested) = stationarity(&samples) {
            prop_assert!(tested.level.statistic.is_finite() && tested.trend.statistic.is_finite());
        }
        if let Ok(line) = normality(&samples) {
            prop_assert!((0.0..=1.0).contains(&line.r_squared) && line.p_value.is_none_or(|p| (0.0..=1.0).contains(&p)));
        }
        if let Ok(tests) = Whiteness::test(&samples, n_lags, 1) {
            for p in [tests.ljung_box.p_value, tests.box_pierce.p_value, tests.turning_points.p_value, tests.rises.p_value] {
                prop_assert!((0.0..=1.0).contains(&p));
            }
        }
        if let Some(summary) = summary(&samples) {
            prop_assert!(summary.min <= summary.max && summary.mean.is_finite() && summary.variance >= 0.0);
        }
        // Rounding aside: a biased autocorrelation is positive semidefinite, and so are its partial ones bounded.
        let correlations = [autocorrelations(&samples, n_lags), partial_autocorrelations(&samples, n_lags)].concat();
        prop_assert!(correlations.iter().all(|correlation| correlation.is_nan() || correlation.abs() <= 1.0 + 1e-6));
    }
}
