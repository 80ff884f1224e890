//! Exact likelihood against R's `arima(method = "ML")` (`testdata/predict/ml/reference.R`).

use predict::{FitError, Inference, Model, fit};

use crate::testdata::{Noise, fitted, named, text};

fn theirs(series: &str, model: &str, quantity: &str) -> Vec<f64> {
    let prefix = format!("{series},\"{model}\",{quantity},");
    let table = text("predict/ml/reference.csv");
    let rows = table.lines().filter_map(|line| line.strip_prefix(&prefix));
    rows.map(|row| row.split_once(',').unwrap().1.parse().unwrap()).collect()
}

fn log_likelihood(model: &Model, samples: &[f64]) -> f64 {
    Inference::of(model, samples).and_then(|inference| inference.log_likelihood).unwrap()
}

/// `tolerance` is relative to the larger of 1 and their number.
#[track_caller]
fn check_close(what: &str, ours: &[f64], theirs: &[f64], tolerance: f64) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert!((ours - theirs).abs() < tolerance * theirs.abs().max(1.0), "{what}: {ours} is not {theirs}");
    }
}

/// A likelihood can only be won: ours is no less than R's, and where R found the same maximum, so are the estimates and
/// what follows from them, to what its optimizer leaves open.
#[track_caller]
fn check_r(series: &str, order: (usize, usize, usize)) {
    let samples = named(series);
    let name = format!("ARIMA({},{},{})", order.0, order.1, order.2);
    let model = fitted(&name.replace(')', ",method=ml)"), &samples);
    let inference = Inference::of(&model, &samples).unwrap();
    let (ours, best) = (inference.log_likelihood.unwrap(), theirs(series, &name, "log_likelihood")[0]);
    // Both stop where the last digits are rounding.
    assert!(ours > best - 1e-6 * best.abs(), "{series} {name}: {ours} is less than {best}");
    if ours > best + 1e-4 * best.abs() {
        return;
    }
    check_close("phi", &model.coefficients(), &theirs(series, &name, "phi"), 5e-4);
    check_close("theta", model.moving_average(), &theirs(series, &name, "theta"), 5e-4);
    if order.1 == 0 {
        check_close("mean", &[model.mean()], &theirs(series, &name, "mean"), 1e-4);
    }
    check_close("s2", &[model.innovation_variance()], &theirs(series, &name, "innovation_variance"), 1e-4);
    let forecast = model.predictor().forecast(10);
    check_close("forecast", forecast.means(), &theirs(series, &name, "forecast"), 1e-3);
    let standard_errors: Vec<f64> =
        inference.parameters.iter().map(|parameter| parameter.standard_error.unwrap()).collect();
    // R's second differences have steps of 1e-3.
    check_close(
        "standard error of a parameter",
        &standard_errors,
        &theirs(series, &name, "standard_error_of_parameter"),
        2e-3,
    );
    if !series.ends_with("_gaps") {
        check_close("standard error", forecast.standard_errors(), &theirs(series, &name, "standard_error"), 1e-3);
    }
}

#[test]
fn lh_1_0_0_is_that_of_r() {
    check_r("lh", (1, 0, 0));
}

#[test]
fn lh_3_0_0_is_that_of_r() {
    check_r("lh", (3, 0, 0));
}

#[test]
fn lh_0_0_1_is_that_of_r() {
    check_r("lh", (0, 0, 1));
}

#[test]
fn lh_1_0_1_is_that_of_r() {
    check_r("lh", (1, 0, 1));
}

#[test]
fn lh_with_gaps_3_0_0_is_that_of_r() {
    check_r("lh_gaps", (3, 0, 0));
}

#[test]
fn lh_with_gaps_1_0_1_is_that_of_r() {
    check_r("lh_gaps", (1, 0, 1));
}

#[test]
fn lh_with_gaps_0_0_1_is_that_of_r() {
    check_r("lh_gaps", (0, 0, 1));
}

#[test]
fn lake_huron_2_0_0_is_that_of_r() {
    check_r("lake_huron", (2, 0, 0));
}

#[test]
fn lake_huron_1_0_1_is_that_of_r() {
    check_r("lake_huron", (1, 0, 1));
}

#[test]
fn nile_0_1_1_is_that_of_r() {
    check_r("nile", (0, 1, 1));
}

#[test]
fn nile_1_1_1_is_that_of_r() {
    check_r("nile", (1, 1, 1));
}

#[test]
fn sunspot_year_2_0_0_is_that_of_r() {
    check_r("sunspot_year", (2, 0, 0));
}

#[test]
fn sunspot_year_4_0_2_is_that_of_r() {
    check_r("sunspot_year", (4, 0, 2));
}

#[test]
fn lynx_2_0_0_is_that_of_r() {
    check_r("lynx", (2, 0, 0));
}

#[test]
fn lynx_11_0_0_is_that_of_r() {
    check_r("lynx", (11, 0, 0));
}

#[test]
fn lynx_2_0_2_is_that_of_r() {
    check_r("lynx", (2, 0, 2));
}

#[test]
fn www_usage_3_1_0_is_that_of_r() {
    check_r("www_usage", (3, 1, 0));
}

#[test]
fn www_usage_1_1_1_is_that_of_r() {
    check_r("www_usage", (1, 1, 1));
}

#[test]
fn ec2_trace_2_0_0_is_that_of_r() {
    check_r("ec2_first_600", (2, 0, 0));
}

#[test]
fn ec2_trace_4_0_0_is_that_of_r() {
    check_r("ec2_first_600", (4, 0, 0));
}

#[test]
fn ec2_trace_1_0_1_is_that_of_r() {
    check_r("ec2_first_600", (1, 0, 1));
}

#[test]
fn ec2_trace_2_0_2_is_no_less_likely_than_r() {
    check_r("ec2_first_600", (2, 0, 2));
}

#[test]
fn ec2_trace_4_1_4_is_no_less_likely_than_r() {
    check_r("ec2_first_600", (4, 1, 4));
}

#[test]
fn ec2_trace_8_0_8_is_about_as_likely_as_r_has_it() {
    // Seventeen parameters have many valleys, and within a unit of the best the samples do not tell one from the other.
    let samples = named("ec2_first_600");
    let ours = log_likelihood(&fitted("ARMA(8,8,method=ml)", &samples), &samples);
    let theirs = theirs("ec2_first_600", "ARIMA(8,0,8)", "log_likelihood")[0];
    assert!(ours > theirs - 1.0, "{ours} is less than {theirs}");
}

#[test]
fn a_series_differenced_once_too_often_is_forecast_by_its_mean() {
    let samples = named("ec2_first_600");
    let model = fitted("ARIMA(0,1,1,method=ml)", &samples);
    // The likelihood is greatest on the unit circle; the fit lands inside.
    let theta = model.moving_average()[0];
    assert!(theta > -1.0 && theta < -0.9999, "{theta}");
    assert!(log_likelihood(&model, &samples) > theirs("ec2_first_600", "ARIMA(0,1,1)", "log_likelihood")[0] - 1e-3);
    let mean = samples.iter().sum::<f64>() / 600.0;
    for forecast in model.predictor().forecast(10).means() {
        // Theta is a millionth off the circle, and 600 samples long that is remembered.
        assert!((forecast - mean).abs() < 0.01, "{forecast} is not {mean}");
    }
}

#[test]
fn autoregressions_are_armas_without_moving_averages() {
    let samples = named("lake_huron");
    let (ar, arma) = (fitted("AR(2,method=ml)", &samples), fitted("ARMA(2,0,method=ml)", &samples));
    assert_eq!(ar.coefficients(), arma.coefficients());
    assert_eq!(
        fitted("MA(1,method=ml)", &samples).moving_average(),
        fitted("ARMA(0,1,method=ml)", &samples).moving_average()
    );
}

#[test]
fn least_squares_of_an_autoregression_are_those_of_the_conditional_sum() {
    // R's CSS fit of lh; its optimizer stops five digits in.
    let model = fitted("AR(3,method=ls)", &named("lh"));
    check_close("phi", &model.coefficients(), &[0.657_823_4, -0.065_812_8, -0.234_835_8], 1e-5);
    check_close("mean", &[model.mean()], &[2.391_819_4], 1e-5);
    check_close("s2", &[model.innovation_variance()], &[0.190_469_228_823], 1e-10);
}

#[test]
fn least_squares_leave_out_what_a_gap_has_a_part_in() {
    // A noiseless recursion is found again exactly, whatever is missing.
    let mut samples = vec![3.0, -1.0];
    for t in 2..80 {
        samples.push(5.0 + 1.2 * samples[t - 1] - 0.9 * samples[t - 2]);
    }
    [10, 11, 40, 62].into_iter().for_each(|idx: usize| samples[idx] = f64::NAN);
    let model = fitted("AR(2,method=ls)", &samples);
    check_close("phi", &model.coefficients(), &[1.2, -0.9], 1e-9);
    check_close("mean", &[model.mean()], &[5.0 / 0.7], 1e-9);
}

#[test]
fn least_squares_of_an_explosion_stay_stationary() {
    let samples: Vec<f64> = (0..60).map(|t| 1.05_f64.powi(t)).collect();
    let phi = fitted("AR(1,method=ls)", &samples).coefficients()[0];
    assert!(phi < 1.0 && phi > 0.999, "{phi}");
}

#[test]
fn gaps_leave_too_few_differences_or_errors() {
    let samples: Vec<f64> = (0..40).map(|t| if t % 2 == 0 { f64::from(t * 7 % 11) } else { f64::NAN }).collect();
    for (text, need) in [("ARIMA(1,1,0,method=ml)", 5), ("AR(2,method=ls)", 4)] {
        let error = fit(&text.parse().unwrap(), &samples).unwrap_err();
        assert!(matches!(error, FitError::TooBroken { have: 0, need: given, .. } if given == need), "{error}");
    }
    fitted("AR(2,method=ml)", &samples);
    fitted("AR(2,method=burg)", &samples);
}

#[test]
fn half_of_the_samples_missing_leaves_the_coefficients_where_they_were() {
    let mut noise = Noise::seeded(11);
    let mut level = 0.0;
    let mut samples: Vec<f64> = (0..20_000)
        .map(|_| {
            level = 0.9 * level + noise.normal();
            level
        })
        .collect();
    samples.iter_mut().skip(1).step_by(2).for_each(|sample| *sample = f64::NAN);
    let phi = fitted("AR(1,method=ml)", &samples).coefficients()[0];
    // The standard error is 0.004.
    assert!((phi - 0.9).abs() < 0.016, "{phi}");
}
