//! NWS: the least wrong of its members speaks.

use predict::Forecast;

use crate::testdata::{Noise, ar1, fitted, named};

#[track_caller]
fn check_speaker(text: &str, samples: &[f64], name: &str) {
    let predictor = fitted(text, samples).predictor();
    assert_eq!(predictor.speaking().as_deref(), Some(name), "{text}");
    assert!(predictor.model().to_string().contains(&format!("speaking {name}")));
}

#[test]
fn a_constant_is_told_by_its_last_value() {
    check_speaker("NWS", &[7.0; 100], "last value");
}

#[test]
fn noise_is_told_by_its_running_mean() {
    check_speaker("NWS", &ar1(0.0, 2_000, 51), "running mean");
}

#[test]
fn a_straight_line_is_told_by_its_last_value() {
    check_speaker("NWS", &(0..300).map(f64::from).collect::<Vec<_>>(), "last value");
}

/// Near 0, and every fifth sample near 10: the median is wrong by much on a few, the mean by a little on all.
#[test]
fn squares_prefer_means_and_magnitudes_medians() {
    let mut noise = Noise::seeded(52);
    let spikes: Vec<f64> =
        (0..3_000).map(|_| if noise.normal() > 0.84 { 10.0 } else { 0.01 * noise.normal() }).collect();
    check_speaker("NWS", &spikes, "running mean");
    check_speaker("NWS(by=mae)", &spikes, "median of 31");
}

#[test]
fn recent_errors_forget_what_was_best_before() {
    // A slope so gentle that the running mean, best on noise, loses little on it.
    let mut samples = ar1(0.0, 4_800, 53);
    samples.extend((0..200).map(|t| 0.001 * f64::from(t)));
    check_speaker("NWS", &samples, "running mean");
    check_speaker("NWS(recent=100)", &samples, "last value");
}

#[test]
fn the_speaker_changes_as_samples_come() {
    let mut predictor = fitted("NWS(recent=50)", &ar1(0.0, 600, 54)).predictor();
    assert_ne!(predictor.speaking().as_deref(), Some("last value"));
    (0..100).for_each(|t| predictor.step(f64::from(t)));
    assert_eq!(predictor.speaking().as_deref(), Some("last value"));
    assert_eq!(predictor.forecast(3).means(), [99.0; 3]);
}

/// The sum of squared one-step errors over the last of a trace, after a fit on 600 samples.
fn squared_errors(text: &str, trace: &[f64]) -> f64 {
    let mut predictor = fitted(text, &trace[..600]).predictor();
    let mut forecast = Forecast::default();
    let errors = trace[600..].iter().map(|sample| {
        predictor.forecast_into(1, &mut forecast);
        predictor.step(*sample);
        (sample - forecast.means()[0]).powi(2)
    });
    errors.sum()
}

#[test]
fn a_recorded_trace_is_told_better_than_by_last_and_mean() {
    let trace = named("ec2");
    let ours = squared_errors("NWS", &trace);
    assert!(ours < squared_errors("LAST", &trace) && ours < squared_errors("MEAN", &trace));
}

#[test]
fn other_models_have_no_speaker() {
    assert_eq!(fitted("AR(2)", &ar1(0.5, 100, 55)).predictor().speaking(), None);
}

#[test]
fn one_step_errors_are_those_of_the_speakers() {
    let samples = [5.0, 7.0, f64::NAN, 6.0];
    let errors = fitted("NWS", &samples).one_step_errors(&samples);
    // After two samples every member was wrong by as much, so the first still speaks: the last value.
    assert!(errors[0].is_nan() && errors[2].is_nan());
    assert_eq!([errors[1], errors[3]], [2.0, -1.0]);
}
