//! Error bars are honest: intervals cover what they say on series whose law is known.

use predict::{Evaluator, LeadScore};

use crate::testdata::{ar1, fitted};

/// Scores of leads 1 to 30 over `n` steps after a fit on 600 samples.
fn scores(text: &str, coefficient: f64, n: usize) -> Vec<LeadScore> {
    let series = ar1(coefficient, 600 + n, 41);
    let mut predictor = fitted(text, &series[..600]).predictor();
    let mut evaluator = Evaluator::new(30);
    evaluator.step(f64::NAN, Some(&predictor.forecast(30)));
    for sample in &series[600..] {
        predictor.step(*sample);
        evaluator.step(*sample, Some(&predictor.forecast(30)));
    }
    evaluator.scores()
}

/// `tolerance` is about three standard deviations of a coverage over 20,000 strongly overlapping forecasts.
#[track_caller]
fn check_coverage(text: &str, coefficient: f64, tolerance: f64) {
    for score in scores(text, coefficient, 20_000) {
        let coverage = score.coverage.expect("20,000 forecasts were scored");
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
    let one_step = &scores("AR(1)", 0.8, 20_000)[0];
    let mean_squared = one_step.errors.map(|errors| errors.mean_squared).unwrap_or_default();
    // Unit innovations; the deviation of a mean of 20,000 squares is 0.01.
    assert!((mean_squared - 1.0).abs() < 0.04, "{mean_squared}");
}
