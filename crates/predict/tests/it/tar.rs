//! Threshold autoregression, against brute force in R (`testdata/predict/tar/reference.R`), and what theory says.

use predict::{FitError, Inference, Model, Spec, fit};

use crate::testdata::{Noise, ar1, fitted, samples, text};

fn theirs(series: &str, order: usize, quantity: &str) -> Vec<f64> {
    let prefix = format!("{series},{order},{quantity},");
    let table = text("predict/tar/reference.csv");
    let rows = table.lines().filter_map(|line| line.strip_prefix(&prefix));
    rows.map(|row| row.split_once(',').unwrap().1.parse().unwrap()).collect()
}

/// The numbers after `name` in the line that a model prints, to six digits.
fn printed(model: &Model, name: &str) -> f64 {
    let line = model.to_string();
    let after = line.split(&format!("  {name} ")).nth(1).unwrap_or_else(|| panic!("no {name} in {line}"));
    after.split(' ').next().unwrap().parse().unwrap()
}

/// Delay and threshold are the same, the sum of squares and the coefficients to what lm and printing leave.
#[track_caller]
fn check_brute_force(series: &str, order: usize) -> Model {
    let series_samples = samples(&format!("predict/tar/{series}.csv"));
    let model = fitted(&format!("TAR({order})"), &series_samples);
    let squares = model.innovation_variance() * (series_samples.len() - order) as f64;
    let expected = theirs(series, order, "squares")[0];
    assert!((squares - expected).abs() < 1e-10 * expected, "{squares} is not {expected}");
    let delay_and_threshold = [printed(&model, "delay"), printed(&model, "threshold")];
    assert_eq!(delay_and_threshold[0], theirs(series, order, "delay")[0]);
    assert!((delay_and_threshold[1] - theirs(series, order, "threshold")[0]).abs() < 1e-6);
    for regime in ["phi1", "phi2"] {
        for (lag, expected) in theirs(series, order, regime).iter().enumerate() {
            let ours = printed(&model, &format!("{regime}.{lag}"));
            assert!((ours - expected).abs() < 1e-6, "{regime}.{lag}: {ours} is not {expected}");
        }
    }
    model
}

/// Against 200,000 paths: ours are 256, arranged so that what is linear in them is exact. What a threshold bends leaves
/// a few percent of the standard error.
#[track_caller]
fn check_forecast(series: &str, order: usize) {
    let forecast = check_brute_force(series, order).predictor().forecast(20);
    let (means, deviations) = (theirs(series, order, "mean"), theirs(series, order, "deviation"));
    for lead_idx in 0..20 {
        let (mean, deviation) = (forecast.means()[lead_idx], forecast.standard_errors()[lead_idx]);
        let off = (mean - means[lead_idx]) / deviations[lead_idx];
        assert!(off.abs() < 0.08, "lead {}: mean {mean}, off by {off} standard errors", lead_idx + 1);
        let ratio = deviation / deviations[lead_idx];
        assert!((ratio - 1.0).abs() < 0.08, "lead {}: standard error off by {ratio}", lead_idx + 1);
    }
}

#[test]
fn lynx_of_order_2_is_the_brute_force() {
    let model = check_brute_force("lynx_log", 2);
    // Tong (1990, page 387) has delay 2, 0.62 + 1.25 z(t-1) - 0.43 z(t-2) and 2.25 + 1.52 z(t-1) - 1.24 z(t-2) from a
    // threshold of 3.25. The least squares lie at a threshold a little higher, which moves the upper regime by a fifth.
    for (name, tong) in [("phi1.1", 1.25), ("phi1.2", -0.43), ("phi2.1", 1.52), ("phi2.2", -1.24)] {
        assert!((printed(&model, name) - tong).abs() < 0.25, "{model}");
    }
}

#[test]
fn lynx_of_order_5_is_the_brute_force() {
    check_brute_force("lynx_log", 5);
}

#[test]
fn forecasts_of_lynx_are_those_of_many_paths() {
    check_forecast("lynx_log", 2);
}

#[test]
fn forecasts_of_a_simulated_series_are_those_of_many_paths() {
    check_forecast("simulated", 2);
    check_forecast("simulated", 1);
}

/// -1.5 and 0.4 of the last value below and above 0, unit shocks below and half of that above.
fn two_regimes(n: usize, seed: u64) -> Vec<f64> {
    let mut noise = Noise::seeded(seed);
    let mut last = 0.0;
    let step = |_| {
        last = if last <= 0.0 { 0.3 - 1.5 * last + noise.normal() } else { -0.2 + 0.4 * last + 0.5 * noise.normal() };
        last
    };
    (0..n).map(step).collect()
}

#[test]
fn known_regimes_are_found_again() {
    let model = fitted("TAR(1)", &two_regimes(5_000, 71));
    // Standard errors are about 0.02; the threshold is known to a few samples' distance.
    for (name, truth) in [("threshold", 0.0), ("phi1.0", 0.3), ("phi1.1", -1.5), ("phi2.0", -0.2), ("phi2.1", 0.4)] {
        assert!((printed(&model, name) - truth).abs() < 0.1, "{model}");
    }
}

#[test]
fn errors_depend_on_the_regime() {
    let mut predictor = fitted("TAR(1)", &two_regimes(5_000, 72)).predictor();
    let mut error_after = |sample: f64| {
        predictor.step(sample);
        predictor.forecast(1).standard_errors()[0]
    };
    assert!((error_after(-1.0) - 1.0).abs() < 0.05 && (error_after(1.0) - 0.5).abs() < 0.05);
}

#[test]
fn a_linear_series_is_forecast_as_by_an_ar() {
    let series = ar1(0.8, 3_000, 73);
    let (tar, ar) =
        (fitted("TAR(1)", &series).predictor().forecast(30), fitted("AR(1)", &series).predictor().forecast(30));
    for lead_idx in 0..30 {
        let (tar, ar, error) = (tar.means()[lead_idx], ar.means()[lead_idx], ar.standard_errors()[lead_idx]);
        assert!((tar - ar).abs() < 0.15 * error, "lead {}: {tar} is not {ar}", lead_idx + 1);
    }
}

#[test]
fn forecasts_stay_where_the_series_does() {
    let mut predictor = fitted("TAR(2)", &samples("predict/tar/lynx_log.csv")).predictor();
    for start in [1e6, -1e6, 3.0] {
        (0..2).for_each(|_| predictor.step(start));
        let far = predictor.forecast(2_000);
        assert!((far.means()[1_999] - 2.9).abs() < 0.5, "{}", far.means()[1_999]);
    }
}

#[test]
fn what_runs_away_is_refused() {
    let mut level = 1.0;
    let growing: Vec<f64> = (0..200_u32)
        .map(|t| {
            level = 1.1 * level + f64::from(t * 7919 % 13);
            level
        })
        .collect();
    let spec: Spec = "TAR(1)".parse().unwrap();
    assert_eq!(fit(&spec, &growing), Err(FitError::Explosive { spec }));
}

#[test]
fn too_many_gaps_are_told_from_too_few_samples() {
    let spec: Spec = "TAR(2)".parse().unwrap();
    let every_other: Vec<f64> =
        ar1(0.5, 400, 74).iter().enumerate().map(|(t, sample)| if t % 2 == 0 { *sample } else { f64::NAN }).collect();
    assert_eq!(
        fit(&spec, &every_other).unwrap_err().to_string(),
        "gaps leave TAR(2) 0 samples whose predecessors are known too, but it needs 10; AR with method=ml or burg skips gaps"
    );
}

#[test]
fn a_series_of_two_numbers_has_no_threshold_if_one_is_rare() {
    let spikes: Vec<f64> = (0..200).map(|t| f64::from(u8::from(t % 20 == 0))).collect();
    let spec: Spec = "TAR(1)".parse().unwrap();
    assert_eq!(fit(&spec, &spikes), Err(FitError::NoThreshold { spec }));
    let halves: Vec<f64> = ar1(0.3, 200, 75).iter().map(|sample| f64::from(u8::from(*sample > 0.0))).collect();
    assert!(fit(&"TAR(1)".parse().unwrap(), &halves).is_ok());
}

/// Standard errors are those of `lm`, the likelihood that of two regressions, to what six printed digits leave.
#[track_caller]
fn check_inference(series: &str, order: usize) {
    let samples = samples(&format!("predict/tar/{series}.csv"));
    let inference = Inference::of(&fitted(&format!("TAR({order})"), &samples), &samples).unwrap();
    let close = |ours: f64, theirs: f64| (ours - theirs).abs() < 1e-8 * theirs.abs().max(1.0);
    assert!(close(inference.log_likelihood.unwrap(), theirs(series, order, "log_likelihood")[0]), "{inference:?}");
    let errors: Vec<f64> = inference.parameters.iter().filter_map(|parameter| parameter.standard_error).collect();
    let expected = [theirs(series, order, "error1"), theirs(series, order, "error2")].concat();
    assert_eq!(errors.len(), expected.len());
    assert!(errors.iter().zip(&expected).all(|(ours, theirs)| close(*ours, *theirs)), "{errors:?} {expected:?}");
    assert_eq!(inference.n_samples, samples.len() - order);
}

#[test]
fn standard_errors_and_likelihood_are_those_of_two_regressions() {
    check_inference("lynx_log", 2);
    check_inference("lynx_log", 5);
    check_inference("simulated", 2);
}

#[test]
fn one_step_errors_have_the_variance_of_the_fit() {
    let samples = samples("predict/tar/lynx_log.csv");
    let model = fitted("TAR(2)", &samples);
    let errors = model.one_step_errors(&samples);
    assert!(errors[..2].iter().all(|error| error.is_nan()));
    let squares: f64 = errors[2..].iter().map(|error| error * error).sum();
    assert!((squares / 112.0 - model.innovation_variance()).abs() < 1e-12);
}
