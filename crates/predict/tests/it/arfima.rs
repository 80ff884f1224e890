//! ARFIMA against fracdiff (Haslett and Raftery 1989), and against exact likelihoods and forecasts from whole matrices
//! of autocovariances (`testdata/predict/arfima/reference.R`).

use predict::{FitError, Inference, Model, Spec, fit};

use crate::testdata::{Noise, fitted, named, samples, text};

/// The series by the names that `reference.csv` uses.
fn series(name: &str) -> Vec<f64> {
    match name {
        "ec2_first_2000" => samples("nab/ec2_cpu_utilization_5f5533.csv")[..2000].to_vec(),
        "rds_first_600" => samples("nab/rds_cpu_utilization_e47b3b.csv")[..600].to_vec(),
        "elb_first_2000" => samples("nab/elb_request_count_8c0756.csv")[..2000].to_vec(),
        name if name.starts_with("simulated") => samples(&format!("predict/arfima/{name}.csv")),
        name => named(name),
    }
}

fn theirs(series: &str, model: &str, quantity: &str) -> f64 {
    let prefix = format!("{series},\"{model}\",{quantity},1,");
    let table = text("predict/arfima/reference.csv");
    let row = table.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap_or_else(|| panic!("no {prefix}"));
    row.parse().unwrap()
}

fn ml(model: &str) -> String {
    model.replace(')', ",method=ml)")
}

fn log_likelihood(model: &Model, samples: &[f64]) -> f64 {
    Inference::of(model, samples).unwrap().log_likelihood.unwrap()
}

/// At its estimates, fracdiff's own coefficients put into the exact likelihood say no more than ours.
#[track_caller]
fn check_no_less_likely_than_fracdiff(name: &str, model: &str) {
    let samples = series(name);
    let ours = log_likelihood(&fitted(&ml(model), &samples), &samples);
    let theirs = theirs(name, model, "fracdiff_exact_log_likelihood");
    // Ours stops when about 1e-4 is left.
    assert!(ours >= theirs - 3e-4, "{name} {model}: {ours} is less than {theirs}");
}

#[test]
fn nile_0_d_0_is_no_less_likely_than_fracdiff() {
    check_no_less_likely_than_fracdiff("nile", "ARFIMA(0,d,0)");
}

#[test]
fn nile_1_d_0_is_no_less_likely_than_fracdiff() {
    check_no_less_likely_than_fracdiff("nile", "ARFIMA(1,d,0)");
}

#[test]
fn ec2_trace_0_d_0_is_no_less_likely_than_fracdiff_that_stops_at_zero() {
    check_no_less_likely_than_fracdiff("ec2_first_600", "ARFIMA(0,d,0)");
    assert!(fitted("ARFIMA(0,d,0,method=ml)", &series("ec2_first_600")).fraction().unwrap() < -0.3);
}

#[test]
fn ec2_trace_1_d_1_is_no_less_likely_than_fracdiff() {
    check_no_less_likely_than_fracdiff("ec2_first_600", "ARFIMA(1,d,1)");
}

#[test]
fn ec2_trace_4_d_4_is_no_less_likely_than_fracdiff() {
    check_no_less_likely_than_fracdiff("ec2_first_600", "ARFIMA(4,d,4)");
}

#[test]
fn ec2_trace_of_2000_4_d_4_is_no_less_likely_than_fracdiff() {
    check_no_less_likely_than_fracdiff("ec2_first_2000", "ARFIMA(4,d,4)");
}

#[test]
fn rds_trace_2_d_2_is_no_less_likely_than_fracdiff() {
    check_no_less_likely_than_fracdiff("rds_first_600", "ARFIMA(2,d,2)");
}

#[test]
fn elb_trace_1_d_1_is_no_less_likely_than_fracdiff() {
    check_no_less_likely_than_fracdiff("elb_first_2000", "ARFIMA(1,d,1)");
}

#[test]
fn elb_trace_4_d_4_is_no_less_likely_than_fracdiff() {
    check_no_less_likely_than_fracdiff("elb_first_2000", "ARFIMA(4,d,4)");
}

#[test]
fn simulated_0_d_0_is_no_less_likely_than_fracdiff() {
    check_no_less_likely_than_fracdiff("simulated_0d0", "ARFIMA(0,d,0)");
}

#[test]
fn simulated_1_d_1_is_no_less_likely_than_fracdiff() {
    check_no_less_likely_than_fracdiff("simulated_1d1", "ARFIMA(1,d,1)");
}

#[test]
fn simulated_2_d_1_is_no_less_likely_than_fracdiff() {
    check_no_less_likely_than_fracdiff("simulated_2d1", "ARFIMA(2,d,1)");
}

#[test]
fn simulated_1_d_1_with_orders_too_high_is_no_less_likely_than_fracdiff() {
    check_no_less_likely_than_fracdiff("simulated_1d1", "ARFIMA(4,d,4)");
}

/// R's search of one coefficient ends within 1e-9 or so of the maximum; ours leaves a seventieth of a standard error or
/// less.
#[track_caller]
fn check_exact_maximum(name: &str) {
    let samples = series(name);
    let model = fitted("ARFIMA(0,d,0,method=ml)", &samples);
    let inference = Inference::of(&model, &samples).unwrap();
    let error = inference.parameters[0].standard_error.unwrap();
    let d = theirs(name, "ARFIMA(0,d,0)", "exact_d");
    assert!((model.fraction().unwrap() - d).abs() < 0.015 * error, "{name}: {model} is not {d}, error {error}");
    let expected = theirs(name, "ARFIMA(0,d,0)", "exact_log_likelihood");
    assert!((inference.log_likelihood.unwrap() - expected).abs() < 2e-4, "{name}: {inference:?} is not {expected}");
    let mean = theirs(name, "ARFIMA(0,d,0)", "exact_mean");
    assert!((model.mean() - mean).abs() < 1e-3 * inference.parameters[1].standard_error.unwrap(), "{name}: {mean}");
}

#[test]
fn nile_has_the_exact_maximum() {
    check_exact_maximum("nile");
}

#[test]
fn ec2_trace_has_the_exact_maximum() {
    check_exact_maximum("ec2_first_600");
}

#[test]
fn simulated_series_has_the_exact_maximum() {
    check_exact_maximum("simulated_0d0");
}

#[test]
fn nile_has_the_fraction_of_fracdiff() {
    // 0.363912684108 with the sample mean, and with weights cut off at 100; ours weighs the mean. A hundredth of a
    // standard error apart.
    let d = fitted("ARFIMA(0,d,0,method=ml)", &named("nile")).fraction().unwrap();
    assert!((d - 0.363_912_684_108).abs() < 1e-3, "{d}");
}

#[test]
fn a_random_walk_is_told_to_be_differenced() {
    let mut noise = Noise::seeded(31);
    let mut level = 0.0;
    let walk: Vec<f64> = (0..800)
        .map(|_| {
            level += noise.normal();
            level
        })
        .collect();
    for text in ["ARFIMA(0,d,0)", "ARFIMA(0,d,0,method=ml)"] {
        let error = fit(&text.parse().unwrap(), &walk).unwrap_err();
        assert!(matches!(error, FitError::FractionOutside { d, .. } if (d - 1.0).abs() < 0.1), "{error}");
        assert!(error.to_string().contains("difference it first"), "{error}");
    }
}

#[test]
fn noise_differenced_once_too_often_is_told_so() {
    let mut noise = Noise::seeded(32);
    let shocks: Vec<f64> = (0..800).map(|_| noise.normal()).collect();
    let differenced: Vec<f64> = shocks.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let error = fit(&"ARFIMA(0,d,0)".parse().unwrap(), &differenced).unwrap_err();
    assert!(matches!(error, FitError::FractionOutside { d, .. } if d < -0.8), "{error}");
    assert!(error.to_string().contains("once too often"), "{error}");
}

/// (1 - 0.6 B) (1 - B)^d z = (1 + 0.3 B) a or, with `is_plain`, (1 - B)^d z = a; run in over 4,000 steps, about 5.
fn simulated(d: f64, is_plain: bool, n: usize, seed: u64) -> Vec<f64> {
    const N_RUN_IN: usize = 4000;
    let mut noise = Noise::seeded(seed);
    let shocks: Vec<f64> = (0..n + N_RUN_IN).map(|_| noise.normal()).collect();
    let mut weights = vec![1.0];
    for lag in 1..n + N_RUN_IN {
        weights.push(weights[lag - 1] * (lag as f64 - 1.0 + d) / lag as f64);
    }
    let (phi, theta) = if is_plain { (0.0, 0.0) } else { (0.6, 0.3) };
    let (mut arma, mut level) = (Vec::with_capacity(shocks.len()), 0.0);
    for t in 0..shocks.len() {
        level = phi * level + shocks[t] + if t > 0 { theta * shocks[t - 1] } else { 0.0 };
        arma.push(level);
    }
    (N_RUN_IN..arma.len()).map(|t| 5.0 + (0..=t).map(|k| weights[k] * arma[t - k]).sum::<f64>()).collect()
}

/// Estimates within three of their own standard errors of the truth: one in 370 is outside by chance, and the seed is
/// fixed.
#[track_caller]
fn check_within_standard_errors(model: &str, d: f64) {
    let is_plain = model.starts_with("ARFIMA(0");
    let truth = if is_plain { vec![d] } else { vec![0.6, 0.3, d] };
    let samples = simulated(d, is_plain, 1000, 77);
    let inference = Inference::of(&fitted(model, &samples), &samples).unwrap();
    for (parameter, truth) in inference.parameters.iter().zip(truth) {
        let error = parameter.standard_error.unwrap();
        assert!((parameter.value - truth).abs() < 3.0 * error, "{model} {parameter:?} for {truth}");
    }
    // pi^2 / 6 is the information of d alone (Hosking 1981); next to an ARMA it can only be less.
    let d_error = inference.parameters.iter().find(|parameter| parameter.name == "d").unwrap().standard_error.unwrap();
    let alone = (6.0 / (std::f64::consts::PI.powi(2) * 1000.0)).sqrt();
    assert!(if is_plain { (d_error / alone - 1.0).abs() < 0.1 } else { d_error > alone }, "{d_error} for {alone}");
}

#[test]
fn antipersistent_noise_is_found_again() {
    check_within_standard_errors("ARFIMA(0,d,0)", -0.3);
    check_within_standard_errors("ARFIMA(0,d,0,method=ml)", -0.3);
}

#[test]
fn mild_long_memory_is_found_again() {
    check_within_standard_errors("ARFIMA(0,d,0)", 0.2);
    check_within_standard_errors("ARFIMA(0,d,0,method=ml)", 0.2);
}

#[test]
fn strong_long_memory_is_found_again() {
    check_within_standard_errors("ARFIMA(0,d,0)", 0.4);
    check_within_standard_errors("ARFIMA(0,d,0,method=ml)", 0.4);
}

#[test]
fn antipersistence_beside_an_arma_is_found_again() {
    check_within_standard_errors("ARFIMA(1,d,1)", -0.3);
    check_within_standard_errors("ARFIMA(1,d,1,method=ml)", -0.3);
}

#[test]
fn mild_long_memory_beside_an_arma_is_found_again() {
    check_within_standard_errors("ARFIMA(1,d,1)", 0.2);
    check_within_standard_errors("ARFIMA(1,d,1,method=ml)", 0.2);
}

#[test]
fn strong_long_memory_beside_an_arma_is_found_again() {
    check_within_standard_errors("ARFIMA(1,d,1)", 0.4);
    check_within_standard_errors("ARFIMA(1,d,1,method=ml)", 0.4);
}

#[test]
fn scale_and_offset_do_not_matter() {
    let plain = series("simulated_1d1");
    for text in ["ARFIMA(1,d,1)", "ARFIMA(1,d,1,method=ml)"] {
        let expected = fitted(text, &plain);
        for (scale, offset) in [(1e-140, 0.0), (1e100, 0.0), (1.0, 1e6)] {
            let changed: Vec<f64> = plain.iter().map(|sample| offset + scale * sample).collect();
            let model = fitted(text, &changed);
            // An offset of a million takes six of sixteen digits, and the search stops where it stops.
            assert!((model.fraction().unwrap() - expected.fraction().unwrap()).abs() < 1e-4, "{text} {scale} {model}");
            let ratio = model.innovation_variance() / (expected.innovation_variance() * scale * scale);
            assert!((ratio - 1.0).abs() < 1e-6, "{text} {scale} {ratio}");
        }
    }
}

#[test]
fn whole_numbers_and_gaps_fit() {
    let counts: Vec<f64> = simulated(0.3, true, 600, 5).iter().map(|sample| (3.0 * sample).round()).collect();
    let mut gappy = counts.clone();
    gappy.iter_mut().skip(10).step_by(40).for_each(|sample| *sample = f64::NAN);
    for text in ["ARFIMA(0,d,0)", "ARFIMA(0,d,0,method=ml)"] {
        let (whole, gappy) = (fitted(text, &counts).fraction().unwrap(), fitted(text, &gappy).fraction().unwrap());
        // The standard error is 0.03, and 1 in 40 samples is bridged.
        assert!((whole - 0.3).abs() < 0.1 && (whole - gappy).abs() < 0.05, "{text}: {whole} became {gappy}");
    }
}

#[test]
fn what_cannot_be_fitted_is_refused() {
    let spec: Spec = "ARFIMA(1,d,1)".parse().unwrap();
    let error = |samples: &[f64]| fit(&spec, samples).unwrap_err();
    assert!(matches!(error(&[1.0; 25]), FitError::TooShort { need: 26, have: 25, .. }));
    assert!(matches!(error(&[4.0; 100]), FitError::Constant { value: 4.0, .. }));
    let huge: Vec<f64> = (0..100).map(|t| if t % 3 == 0 { 1e300 } else { -1e300 }).collect();
    assert!(matches!(error(&huge), FitError::TooLarge { .. }));
}
