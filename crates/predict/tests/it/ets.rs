//! Exponential smoothing: searches against statsmodels' (`testdata/predict/ets/reference.py`), and what theory says.

use predict::{FitError, Inference, Spec, fit};

use crate::testdata::{Noise, fitted, named, text};

fn theirs(series: &str, trend: &str, quantity: &str) -> f64 {
    let prefix = format!("fitted,{series},{trend},1,{quantity},1,");
    let table = text("predict/ets/reference.csv");
    let row = table.lines().find_map(|line| line.strip_prefix(&prefix).map(str::to_owned));
    row.unwrap_or_else(|| panic!("no row {prefix}")).parse().unwrap()
}

/// Least squares can only be won: the sum has to be no larger than statsmodels', within the same bounds. Where its own
/// search ended may be off by more than ours, so the constants are not compared.
#[track_caller]
fn check_statsmodels(series: &str) {
    let samples = named(series);
    for trend in ["N", "A", "Ad"] {
        let ours = fitted(&format!("ETS(A,{trend},N)"), &samples).innovation_variance() * samples.len() as f64;
        let theirs = theirs(series, trend, "sse");
        // They print all digits; ours is a quotient and a product away from its own.
        assert!(ours <= theirs * (1.0 + 1e-9), "{series} {trend}: {ours} is more than {theirs}");
        // And less by no more than where their search ends beside the minimum, at most 1.9 % on the Nile.
        assert!(ours >= theirs * 0.98, "{series} {trend}: {ours} is much less than {theirs}");
    }
}

#[test]
fn lh_is_no_worse_than_statsmodels() {
    check_statsmodels("lh");
}

#[test]
fn lake_huron_is_no_worse_than_statsmodels() {
    check_statsmodels("lake_huron");
}

#[test]
fn nile_is_no_worse_than_statsmodels() {
    check_statsmodels("nile");
}

#[test]
fn sunspots_are_no_worse_than_statsmodels() {
    check_statsmodels("sunspots");
}

#[test]
fn ec2_trace_is_no_worse_than_statsmodels() {
    check_statsmodels("ec2_first_600");
}

/// A level, and a slope that a step leaves `phi` of, moved by unit errors.
fn simulated(alpha: f64, beta: f64, phi: f64, n: usize, seed: u64) -> Vec<f64> {
    let mut noise = Noise::seeded(seed);
    let (mut level, mut slope) = (50.0, 0.0);
    let step = |_| {
        let (said, error) = (level + phi * slope, noise.normal());
        (level, slope) = (said + alpha * error, phi * slope + beta * error);
        said + error
    };
    (0..n).map(step).collect()
}

#[test]
fn known_constants_are_found_again() {
    let model = fitted("ETS(A,Ad,N)", &simulated(0.5, 0.2, 0.9, 4_000, 61));
    let line = model.to_string();
    let constants: Vec<f64> = ["alpha ", "beta ", "phi "].iter().map(|name| number_after(&line, name)).collect();
    // Standard errors are about 0.02.
    for (ours, truth) in constants.iter().zip([0.5, 0.2, 0.9]) {
        assert!((ours - truth).abs() < 0.08, "{line}");
    }
    assert!((model.innovation_variance() - 1.0).abs() < 0.07, "{line}");
}

fn number_after(line: &str, name: &str) -> f64 {
    line.split(name).nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_level_alone_is_an_arima_0_1_1() {
    let samples = simulated(0.4, 0.0, 0.0, 2_000, 62);
    let (ets, arima) = (fitted("ETS(A,N,N)", &samples), fitted("ARIMA(0,1,1)", &samples));
    // They differ in where they begin, which 2,000 samples make small.
    let alpha = number_after(&ets.to_string(), "alpha ");
    assert!((alpha - (1.0 + arima.moving_average()[0])).abs() < 1e-3, "{ets} {arima}");
    let (ours, theirs) = (ets.predictor().forecast(30), arima.predictor().forecast(30));
    for lead_idx in 0..30 {
        assert!((ours.means()[lead_idx] - theirs.means()[lead_idx]).abs() < 1e-2);
        assert!((ours.standard_errors()[lead_idx] / theirs.standard_errors()[lead_idx] - 1.0).abs() < 1e-2);
    }
}

#[test]
fn admissible_bounds_reach_beyond_the_usual_ones() {
    // Errors that a level of alpha 1.4 leaves: next to each other they turn.
    let samples = simulated(1.4, 0.0, 0.0, 1_500, 63);
    let (usual, wide) = (fitted("ETS(A,N,N)", &samples), fitted("ETS(A,N,N,bounds=admissible)", &samples));
    assert!((number_after(&wide.to_string(), "alpha ") - 1.4).abs() < 0.07, "{wide}");
    assert!(wide.innovation_variance() < 0.95 * usual.innovation_variance());
}

#[test]
fn a_straight_line_goes_on() {
    let line: Vec<f64> = (0..100).map(|t| 3.0 + 2.0 * f64::from(t)).collect();
    let forecast = fitted("HOLT", &line).predictor().forecast(10);
    for (lead_idx, mean) in forecast.means().iter().enumerate() {
        let truth = 3.0 + 2.0 * (100 + lead_idx) as f64;
        assert!((mean - truth).abs() < 1e-6, "{mean} for {truth}");
    }
}

#[test]
fn gaps_move_the_constants_little() {
    let mut samples = simulated(0.5, 0.0, 0.0, 2_000, 64);
    let whole = number_after(&fitted("ETS(A,N,N)", &samples).to_string(), "alpha ");
    samples.iter_mut().skip(7).step_by(20).for_each(|sample| *sample = f64::NAN);
    let gappy = number_after(&fitted("ETS(A,N,N)", &samples).to_string(), "alpha ");
    assert!((whole - gappy).abs() < 0.06, "{whole} became {gappy}");
}

#[test]
fn scale_and_offset_are_the_models_own() {
    let samples = simulated(0.5, 0.1, 0.9, 300, 65);
    let plain = fitted("ETS(A,Ad,N)", &samples);
    for (scale, offset) in [(1e-100, 0.0), (1e100, 0.0), (1.0, 1e9)] {
        let moved: Vec<f64> = samples.iter().map(|sample| offset + scale * sample).collect();
        let ratio = fitted("ETS(A,Ad,N)", &moved).innovation_variance() / plain.innovation_variance() / (scale * scale);
        // An offset of 1e9 leaves seven digits of the samples.
        assert!((ratio - 1.0).abs() < 1e-5, "{scale} {offset}: {ratio}");
    }
}

#[test]
fn a_constant_is_refused() {
    let error = fit(&"HOLT".parse::<Spec>().unwrap(), &[4.0; 100]).unwrap_err();
    assert!(matches!(error, FitError::Constant { value: 4.0, .. }), "{error}");
}

#[test]
fn the_likelihood_is_no_less_than_that_of_statsmodels() {
    for (series, trend) in [("nile", "N"), ("nile", "A"), ("lh", "Ad"), ("sunspots", "A")] {
        let samples = named(series);
        let inference = Inference::of(&fitted(&format!("ETS(A,{trend},N)"), &samples), &samples).unwrap();
        let (ours, theirs) = (inference.log_likelihood.unwrap(), theirs(series, trend, "log_likelihood"));
        // As much more as their sum of squares is larger, by at most 1 in 1,000.
        assert!((-1e-6..0.05).contains(&(ours - theirs)), "{series} {trend}: {ours} is not {theirs}");
    }
}

#[test]
fn the_standard_error_of_a_level_is_that_of_an_arima_0_1_1() {
    let samples = simulated(0.4, 0.0, 0.0, 2_000, 66);
    let error = |text: &str, name: &str| {
        let inference = Inference::of(&fitted(text, &samples), &samples).unwrap();
        let found = inference.parameters.into_iter().find(|parameter| parameter.name == name);
        found.and_then(|parameter| parameter.standard_error).unwrap()
    };
    // They differ in where they begin. A long series has the square root of alpha (2 - alpha) / n.
    let (ets, arima) = (error("ETS(A,N,N)", "alpha"), error("ARIMA(0,1,1)", "theta1"));
    assert!((ets / arima - 1.0).abs() < 0.02, "{ets} {arima}");
    assert!((ets / (0.64_f64 / 2_000.0).sqrt() - 1.0).abs() < 0.1, "{ets}");
}

#[test]
fn a_constant_at_its_bound_has_no_standard_error() {
    let levels = named("lake_huron");
    let model = fitted("ETS(A,N,N)", &levels);
    assert!(number_after(&model.to_string(), "alpha ") > 0.999);
    let inference = Inference::of(&model, &levels).unwrap();
    assert!(inference.covariances.is_empty() && inference.parameters.iter().all(|one| one.standard_error.is_none()));
}

#[test]
fn one_step_errors_have_the_variance_of_the_fit() {
    let nile = named("nile");
    for text in ["ETS(A,N,N)", "HOLT", "ETS(A,Ad,N)"] {
        let model = fitted(text, &nile);
        let squares: f64 = model.one_step_errors(&nile).iter().map(|error| error * error).sum();
        assert!((squares / 100.0 / model.innovation_variance() - 1.0).abs() < 1e-9, "{text}");
    }
}
