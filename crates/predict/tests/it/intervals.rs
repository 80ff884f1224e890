//! Error bars are honest: intervals cover what they say on series whose law is known.

use predict::{Evaluator, LeadScore};

use crate::testdata::{Noise, ar1, fitted};

/// Scores of leads 1 to 30 over all steps after a fit on the first `n_fit`.
fn scores(text: &str, series: &[f64], n_fit: usize) -> Vec<LeadScore> {
    let mut predictor = fitted(text, &series[..n_fit]).predictor();
    let mut evaluator = Evaluator::new(30);
    evaluator.step(f64::NAN, Some(&predictor.forecast(30)));
    for sample in &series[n_fit..] {
        predictor.step(*sample);
        evaluator.step(*sample, Some(&predictor.forecast(30)));
    }
    evaluator.scores()
}

/// `tolerance` is about three standard deviations of a coverage over 20,000 strongly overlapping forecasts.
#[track_caller]
fn check_coverage(text: &str, coefficient: f64, tolerance: f64) {
    check_coverage_of(text, &ar1(coefficient, 20_600, 41), 600, tolerance);
}

#[track_caller]
fn check_coverage_of(text: &str, series: &[f64], n_fit: usize, tolerance: f64) {
    for score in scores(text, series, n_fit) {
        let coverage = score.coverage.expect("forecasts were scored");
        for (covered, nominal) in [(coverage.p50, 0.5), (coverage.p80, 0.8), (coverage.p95, 0.95)] {
            assert!((covered - nominal).abs() < tolerance, "{text} lead {}: {covered} for {nominal}", score.lead);
        }
    }
}

#[test]
fn ar_covers_what_it_says_at_every_lead() {
    check_coverage("AR(1)", 0.8, 0.03);
}

#[test]
fn mean_covers_what_it_says_on_noise() {
    check_coverage("MEAN", 0.0, 0.03);
}

#[test]
fn last_covers_what_it_says_though_the_series_returns_to_its_mean() {
    // Its errors are measured on 600 samples, so they are known only to a few percent themselves.
    check_coverage("LAST", 0.8, 0.06);
}

#[test]
fn the_evaluator_finds_the_innovation_variance_at_lead_one() {
    let one_step = &scores("AR(1)", &ar1(0.8, 20_600, 41), 600)[0];
    let mean_squared = one_step.errors.map(|errors| errors.mean_squared).unwrap_or_default();
    // Unit innovations; the deviation of a mean of 20,000 squares is 0.01.
    assert!((mean_squared - 1.0).abs() < 0.04, "{mean_squared}");
}

#[test]
fn nws_covers_what_it_says_on_a_series_that_returns() {
    // As for LAST, errors are measured on 600 samples; and who speaks changes.
    check_coverage("NWS", 0.8, 0.06);
}

#[test]
fn exponential_smoothing_covers_what_it_says_on_a_level_that_wanders() {
    let mut noise = Noise::seeded(42);
    let mut level = 0.0;
    let step = |_| {
        let error = noise.normal();
        level += 0.3 * error;
        level + 0.7 * error
    };
    let series: Vec<f64> = (0..20_600).map(step).collect();
    // Errors at lead 30 follow alpha, which takes thousands to be known well; and those of a level that wanders agree with
    // each other over all 30 leads, which leaves a deviation of 0.02.
    check_coverage_of("ETS(A,N,N)", &series, 3_000, 0.05);
    check_coverage_of("ETS(A,Ad,N)", &series[1_500..], 1_500, 0.06);
}

#[test]
fn threshold_autoregression_covers_what_it_says_in_both_regimes() {
    let mut noise = Noise::seeded(43);
    let mut last = 0.0;
    let step = |_| {
        last = if last <= 0.0 { 0.5 - 0.9 * last + noise.normal() } else { 0.7 * last + 0.5 * noise.normal() };
        last
    };
    let series: Vec<f64> = (0..3_600).map(step).collect();
    // Fewer forecasts, each simulated; and the marginal law is not normal, as the intervals are.
    check_coverage_of("TAR(1)", &series, 600, 0.06);
}
