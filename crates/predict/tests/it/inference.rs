//! What a fit says of itself.

use predict::{Inference, Spec, fit};

use crate::testdata::{Noise, ar1, fitted, named};

#[track_caller]
fn inference(text: &str, samples: &[f64]) -> Inference {
    Inference::of(&fitted(text, samples), samples).unwrap_or_else(|| panic!("{text} has no inference"))
}

fn names(inference: &Inference) -> Vec<&str> {
    inference.parameters.iter().map(|parameter| parameter.name.as_str()).collect()
}

#[test]
fn parameters_are_named_in_order() {
    let samples = named("lake_huron");
    assert_eq!(names(&inference("ARMA(2,1)", &samples)), ["phi1", "phi2", "theta1", "mean"]);
    assert_eq!(names(&inference("ARIMA(0,1,1)", &samples)), ["theta1"]);
    assert_eq!(names(&inference("MEAN", &samples)), ["mean"]);
}

#[test]
fn yule_walker_has_the_standard_errors_of_r() {
    // sqrt(diag(ar.yw(lh, aic = FALSE, order.max = 3)$asy.var.coef)), which R scales by n / (n - p - 1).
    let theirs = [0.146_822_259_960, 0.176_544_115_515, 0.146_822_259_960];
    let ours = inference("AR(3)", &named("lh"));
    for (parameter, theirs) in ours.parameters.iter().zip(theirs) {
        let scaled = parameter.standard_error.unwrap() * (48.0_f64 / 44.0).sqrt();
        assert!((scaled - theirs).abs() < 1e-8, "{}: {scaled} is not {theirs}", parameter.name);
    }
}

#[test]
fn methods_agree_on_how_sure_a_long_series_makes() {
    let samples = ar1(0.6, 4000, 17);
    for text in ["AR(1)", "AR(1,method=burg)", "AR(1,method=ls)", "AR(1,method=ml)", "ARMA(1,0)"] {
        let ours = inference(text, &samples);
        let errors: Vec<f64> = ours.parameters.iter().map(|parameter| parameter.standard_error.unwrap()).collect();
        // sqrt((1 - 0.6^2) / n), and 1 / (1 - 0.6) / sqrt(n).
        assert!((errors[0] - 0.012_65).abs() < 4e-4, "{text}: {errors:?}");
        assert!((errors[1] - 0.039_5).abs() < 2.5e-3, "{text}: {errors:?}");
    }
}

#[test]
fn standard_errors_are_the_spread_of_estimates_over_many_series() {
    let mut noise = Noise::seeded(29);
    let (mut spread, mut said) = ([0.0; 3], [0.0; 3]);
    for _ in 0..200 {
        let (mut level, mut error) = (0.0, 0.0);
        let samples: Vec<f64> = (0..500)
            .map(|_| {
                let shock = noise.normal();
                level = 0.7 * level + shock + 0.4 * error;
                error = shock;
                level
            })
            .collect();
        let ours = inference("ARMA(1,1)", &samples[100..]);
        for (idx, truth) in [0.7, 0.4, 0.0].into_iter().enumerate() {
            spread[idx] += (ours.parameters[idx].value - truth).powi(2) / 200.0;
            said[idx] += ours.parameters[idx].standard_error.unwrap().powi(2) / 200.0;
        }
    }
    for idx in 0..3 {
        // A variance over 200 series is good to 10 %.
        let ratio = spread[idx] / said[idx];
        assert!((0.7..1.4).contains(&ratio), "parameter {idx}: {ratio}");
    }
}

#[test]
fn maximum_likelihood_is_the_most_likely_of_all_methods() {
    let samples = named("lh");
    let best = inference("AR(3,method=ml)", &samples).log_likelihood.unwrap();
    for text in ["AR(3)", "AR(3,method=burg)", "AR(3,method=ls)", "ARMA(3,0)"] {
        let other = inference(text, &samples).log_likelihood.unwrap();
        assert!(other < best && other > best - 1.0, "{text}: {other} of {best}");
    }
}

#[test]
fn criteria_are_those_of_r() {
    let ours = inference("AR(3,method=ml)", &named("lh"));
    // AIC(arima(lh, order = c(3, 0, 0))), and BIC.
    assert!((ours.aic().unwrap() - 64.184_822).abs() < 1e-5);
    assert!((ours.bic().unwrap() - 73.540_827).abs() < 1e-4);
    assert!(ours.aicc().unwrap() > ours.aic().unwrap());
}

#[test]
fn white_noise_is_as_likely_by_its_mean_as_by_an_autoregression_of_nothing() {
    let samples = named("nile");
    let mean = inference("MEAN", &samples);
    let n = 100.0_f64;
    let expected = -0.5 * n * ((std::f64::consts::TAU * 28_351.567_5).ln() + 1.0);
    assert!((mean.log_likelihood.unwrap() - expected).abs() < 1e-9);
    assert!((mean.parameters[0].standard_error.unwrap() - (28_351.567_5_f64 / 99.0).sqrt()).abs() < 1e-9);
}

#[test]
fn a_window_assumes_no_distribution() {
    let samples = named("nile");
    for text in ["LAST", "BM(8)"] {
        assert_eq!(Inference::of(&fitted(text, &samples), &samples), None);
    }
}

#[test]
fn gaps_are_no_part_of_the_likelihood() {
    let samples = named("lh_gaps");
    for text in ["AR(3)", "AR(3,method=burg)", "AR(3,method=ls)", "ARMA(1,1)", "MEAN"] {
        let ours = inference(text, &samples);
        assert_eq!(ours.n_samples, 41, "{text}");
        assert!(ours.log_likelihood.unwrap() < -24.2, "{text}");
    }
}

#[test]
fn a_refit_is_judged_on_the_samples_it_was_fitted_to() {
    let samples = ar1(0.5, 600, 5);
    let model = fitted("REFIT(AR(2),every=10,window=100)", &samples);
    assert_eq!(Inference::of(&model, &samples), Some(inference("AR(2)", &samples[500..])));
}

#[test]
fn one_step_errors_are_what_the_predictor_was_off_by() {
    let samples = named("lake_huron");
    for text in ["MEAN", "LAST", "BM(5)", "AR(2)", "ARMA(1,1)", "ARIMA(1,1,1)"] {
        let model = fitted(text, &samples);
        let errors = model.one_step_errors(&samples);
        assert_eq!(errors.len(), samples.len());
        // A model fitted to the first samples with these coefficients does not exist; but what it forecasts at the end
        // is the same as from the start, so one more sample meets the predictor's own forecast.
        let next = model.predictor().forecast(1).means()[0];
        let longer: Vec<f64> = samples.iter().copied().chain([580.0]).collect();
        let last = model.one_step_errors(&longer)[samples.len()];
        assert!((last - (580.0 - next)).abs() < 1e-9, "{text}: {last}");
        assert!(errors[0].is_nan(), "{text}");
    }
}

#[test]
fn the_mean_square_of_one_step_errors_is_the_innovation_variance() {
    let samples = named("ec2_first_600");
    for text in ["AR(4,method=ls)", "ARMA(2,2)", "ARIMA(1,1,1)"] {
        let model = fitted(text, &samples);
        let errors: Vec<f64> = model.one_step_errors(&samples).into_iter().filter(|error| !error.is_nan()).collect();
        let mean_square = errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64;
        assert!((mean_square / model.innovation_variance() - 1.0).abs() < 1e-9, "{text}");
    }
}

#[test]
fn a_gap_has_no_error() {
    let samples = named("lh_gaps");
    for text in ["MEAN", "LAST", "AR(1)", "MA(1)"] {
        let spec: Spec = text.parse().unwrap();
        let errors = fit(&spec, &samples).unwrap().one_step_errors(&samples);
        assert!(errors[4].is_nan() && errors[19].is_nan() && errors[21].is_finite(), "{text}");
    }
}

#[test]
fn widened_errors_are_those_of_forecasts_by_estimated_coefficients() {
    // AR(4) fitted to 40 samples of an AR(1): the true next samples are further off than known coefficients would let
    // expect.
    let n_series = 2000;
    let (mut squares, mut plain, mut widened) = ([0.0; 5], [0.0; 5], [0.0; 5]);
    for seed in 0..n_series {
        let samples = ar1(0.7, 45, 1000 + seed);
        let (past, future) = samples.split_at(40);
        let model = fitted("AR(4,method=ls)", past);
        let mut forecast = model.predictor().forecast(5);
        // Least squares divides by n - p; what is left after five parameters has as many degrees of freedom less.
        let scale = 36.0 / 31.0;
        for lead_idx in 0..5 {
            squares[lead_idx] += (future[lead_idx] - forecast.means()[lead_idx]).powi(2);
            plain[lead_idx] += scale * forecast.standard_errors()[lead_idx].powi(2);
        }
        inference("AR(4,method=ls)", past).widen(&model, past, &mut forecast);
        for lead_idx in 0..5 {
            widened[lead_idx] += scale * forecast.standard_errors()[lead_idx].powi(2);
        }
    }
    for lead_idx in 0..5 {
        let (before, after) = (plain[lead_idx] / squares[lead_idx], widened[lead_idx] / squares[lead_idx]);
        // A mean of 2000 squares is good to 3 %.
        assert!(before < 0.93, "lead {}: {before} before", lead_idx + 1);
        assert!((0.9..1.1).contains(&after), "lead {}: {after} after", lead_idx + 1);
    }
}

#[test]
fn a_mean_that_is_estimated_widens_a_moving_average_by_its_variance() {
    let samples = named("lh");
    let model = fitted("MA(1,method=ml)", &samples);
    let ours = Inference::of(&model, &samples).unwrap();
    let mut forecast = model.predictor().forecast(6);
    let before = forecast.standard_errors().to_vec();
    ours.widen(&model, &samples, &mut forecast);
    // Beyond its order it forecasts the mean, so what is added there is the variance of the mean alone.
    let added = forecast.standard_errors()[5].powi(2) - before[5].powi(2);
    let of_mean = ours.parameters[1].standard_error.unwrap().powi(2);
    assert!((added / of_mean - 1.0).abs() < 1e-6, "{added} for {of_mean}");
}
