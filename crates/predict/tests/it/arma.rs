//! MA, ARMA and ARIMA by least squares, against R's `arima(method = "CSS")` (`testdata/predict/arma/reference.R`).

use predict::{FitError, fit};

use crate::testdata::{Noise, fitted, named, text};

/// Values of one quantity for one series and model.
fn theirs(series: &str, model: &str, quantity: &str) -> Vec<f64> {
    let prefix = format!("{series},\"{model}\",{quantity},");
    let table = text("predict/arma/reference.csv");
    let rows = table.lines().filter_map(|line| line.strip_prefix(&prefix));
    rows.map(|row| row.split_once(',').unwrap().1.parse().unwrap()).collect()
}

/// Least squares can only be won: the sum found has to be no larger than R's. `is_same` where R found the same
/// minimum, so that coefficients and forecasts have to agree too, to what its optimizer leaves open.
#[track_caller]
fn check_r(series: &str, model: &str, is_same: bool) {
    let ours = fitted(model, &named(series));
    let variance = theirs(series, model, "innovation_variance")[0];
    assert!(
        ours.innovation_variance() <= variance * (1.0 + 1e-7),
        "{series} {model}: {} is more than {variance}",
        ours.innovation_variance()
    );
    if is_same {
        check_close("phi", &ours.coefficients(), &theirs(series, model, "phi"));
        check_close("theta", ours.moving_average(), &theirs(series, model, "theta"));
        let forecast = ours.predictor().forecast(10);
        check_close("forecast", forecast.means(), &theirs(series, model, "forecast"));
        check_close("standard error", forecast.standard_errors(), &theirs(series, model, "standard_error"));
    }
}

/// To 1 in 1,000: R stops where its numeric gradient is lost in rounding, and its filter starts from the stationary
/// distribution where ours starts from zeros.
#[track_caller]
fn check_close(what: &str, ours: &[f64], theirs: &[f64]) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert!((ours - theirs).abs() < 1e-3 * theirs.abs().max(1.0), "{what}: {ours} is not {theirs}");
    }
}

#[test]
fn lh_3_0_0_is_that_of_r() {
    check_r("lh", "ARIMA(3,0,0)", true);
}

#[test]
fn lh_1_0_1_is_that_of_r() {
    check_r("lh", "ARIMA(1,0,1)", true);
}

#[test]
fn lake_huron_1_0_1_is_that_of_r() {
    check_r("lake_huron", "ARIMA(1,0,1)", true);
}

#[test]
fn lake_huron_2_0_0_is_that_of_r() {
    check_r("lake_huron", "ARIMA(2,0,0)", true);
}

#[test]
fn nile_0_1_1_is_that_of_r() {
    check_r("nile", "ARIMA(0,1,1)", true);
}

#[test]
fn nile_1_1_1_is_that_of_r() {
    check_r("nile", "ARIMA(1,1,1)", true);
}

#[test]
fn sunspots_4_0_2_is_no_worse_than_r() {
    check_r("sunspots", "ARIMA(4,0,2)", false);
}

#[test]
fn ec2_trace_2_0_2_is_no_worse_than_r() {
    check_r("ec2_first_600", "ARIMA(2,0,2)", false);
}

#[test]
fn ec2_trace_4_0_4_is_no_worse_than_r() {
    check_r("ec2_first_600", "ARIMA(4,0,4)", false);
}

#[test]
fn ec2_trace_8_0_8_is_close_to_r_though_invertible() {
    // R's minimum lies where theta is not invertible, which a predictor cannot use. Ours may be a little higher.
    let (series, model) = ("ec2_first_600", "ARIMA(8,0,8)");
    let ratio = fitted(model, &named(series)).innovation_variance() / theirs(series, model, "innovation_variance")[0];
    assert!(ratio < 1.01, "{ratio}");
}

#[test]
fn ec2_trace_4_1_4_is_no_worse_than_r() {
    check_r("ec2_first_600", "ARIMA(4,1,4)", false);
}

#[test]
fn ec2_trace_0_0_8_is_no_worse_than_r() {
    check_r("ec2_first_600", "ARIMA(0,0,8)", false);
}

/// 1.2 and -0.5 on past values, 0.4 on the past error, about 10.
fn arma21(n: usize) -> Vec<f64> {
    let mut noise = Noise::seeded(7);
    let (mut one, mut two, mut error) = (0.0, 0.0, 0.0);
    (0..n)
        .map(|_| {
            let shock = noise.normal();
            let value = 1.2 * one - 0.5 * two + shock + 0.4 * error;
            (two, one, error) = (one, value, shock);
            10.0 + value
        })
        .collect()
}

#[test]
fn known_coefficients_are_found_again() {
    let model = fitted("ARMA(2,1)", &arma21(20_000));
    // Standard errors are below 0.01.
    let close = |ours: f64, truth: f64| (ours - truth).abs() < 0.04;
    assert!(close(model.coefficients()[0], 1.2) && close(model.coefficients()[1], -0.5), "{model}");
    assert!(close(model.moving_average()[0], 0.4) && close(model.innovation_variance(), 1.0), "{model}");
}

#[test]
fn an_arma_without_moving_average_is_a_regression_on_the_past() {
    let samples = arma21(500);
    let model = fitted("ARMA(2,0)", &samples);
    let mean = model.mean();
    for lag in [1, 2] {
        // At the least sum of squares, errors are orthogonal to what they were predicted from.
        let phi = model.coefficients();
        let error =
            |t: usize| (samples[t] - mean) - phi[0] * (samples[t - 1] - mean) - phi[1] * (samples[t - 2] - mean);
        let product: f64 = (2..500).map(|t| error(t) * (samples[t - lag] - mean)).sum();
        assert!(product.abs() < 1e-4, "lag {lag}: {product}");
    }
}

#[test]
fn one_difference_and_one_moving_average_smooth_exponentially() {
    let samples: Vec<f64> = arma21(300)
        .iter()
        .scan(0.0, |level, step| {
            *level += step - 10.0;
            Some(*level)
        })
        .collect();
    let model = fitted("ARIMA(0,1,1)", &samples);
    let gain = 1.0 + model.moving_average()[0];
    let mut predictor = model.predictor();
    let before = predictor.forecast(1).means()[0];
    predictor.step(123.0);
    let after = predictor.forecast(3);
    for mean in after.means() {
        assert!((mean - (before + gain * (123.0 - before))).abs() < 1e-9);
    }
}

#[test]
fn a_moving_average_forgets_after_its_order() {
    let model = fitted("MA(3)", &arma21(300));
    let forecast = model.predictor().forecast(6);
    assert!((forecast.means()[2] - model.mean()).abs() > 1e-6);
    assert_eq!(forecast.means()[3..], [model.mean(); 3]);
}

#[test]
fn gaps_move_the_coefficients_little() {
    let mut samples = arma21(5_000);
    let whole = fitted("ARMA(2,1)", &samples);
    samples.iter_mut().skip(20).step_by(50).for_each(|sample| *sample = f64::NAN);
    let gappy = fitted("ARMA(2,1)", &samples);
    for (whole, gappy) in whole.coefficients().iter().zip(gappy.coefficients()) {
        assert!((whole - gappy).abs() < 0.1, "{whole} became {gappy}");
    }
}

#[test]
fn a_straight_line_has_nothing_left_after_a_difference() {
    let line: Vec<f64> = (0..100).map(f64::from).collect();
    let error = fit(&"ARIMA(1,1,1)".parse().unwrap(), &line).unwrap_err();
    assert!(matches!(error, FitError::ConstantDifferences { order: 1, value: 1.0, .. }), "{error}");
}

#[test]
fn a_model_with_more_than_it_needs_is_still_invertible() {
    // White noise differenced once too often: theta runs toward the unit circle and must stay inside.
    let mut noise = Noise::seeded(3);
    let samples: Vec<f64> = (0..400).map(|_| noise.normal()).collect();
    let theta = fitted("ARIMA(0,1,1)", &samples).moving_average()[0];
    assert!(theta > -1.0 && theta < -0.9, "{theta}");
}
