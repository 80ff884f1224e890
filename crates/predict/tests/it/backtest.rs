//! Scoring many forecasts at once comes to what scoring them one at a time comes to.

use predict::{Backtest, Evaluator, Intervals, LeadScore, Predictor, Spec, fit};
use proptest::prelude::*;

const LEADS: [usize; 4] = [1, 2, 7, 20];

/// A noisy wave with a gap here and there.
fn samples(n: usize) -> Vec<f64> {
    let noise = |t: usize| ((t * 7919 + t * t * 31) % 1009) as f64 / 1009.0;
    let sample = |t: usize| if noise(t) < 0.04 { f64::NAN } else { (t as f64 * 0.1).sin() + noise(t + 1) };
    (0..n).map(sample).collect()
}

fn predictor(text: &str, fitted_to: &[f64]) -> Predictor {
    fit(&text.parse::<Spec>().expect("a model"), fitted_to).expect("a fit").predictor()
}

fn one_at_a_time(mut predictor: Predictor, fitted_to: &[f64], test: &[f64]) -> Vec<LeadScore> {
    let mut evaluator = Evaluator::with_window(&LEADS, usize::MAX).scaled_on(fitted_to);
    let mut sample = f64::NAN;
    for next in test {
        evaluator.step(sample, Some(&predictor.forecast(20)));
        predictor.step(*next);
        sample = *next;
    }
    evaluator.step(sample, None);
    evaluator.scores()
}

/// Everything in a score, in one row.
fn figures(score: &LeadScore) -> Vec<f64> {
    let errors = score.errors.expect("some errors");
    let (inside, intervals) = (score.coverage.expect("likewise"), score.interval_scores.expect("likewise"));
    vec![
        score.n as f64,
        score.n_unscored as f64,
        errors.min,
        errors.median,
        errors.max,
        errors.mean,
        errors.mean_absolute,
        errors.mean_squared,
        inside.p50,
        inside.p80,
        inside.p95,
        intervals.p50,
        intervals.p80,
        intervals.p95,
        score.crps.expect("likewise"),
        score.mean_absolute_scaled.expect("likewise"),
    ]
}

#[track_caller]
fn check_agrees(predictor: Predictor, fitted_to: &[f64], test: &[f64]) {
    let slow = one_at_a_time(predictor.clone(), fitted_to, test);
    let fast = Backtest::new(&LEADS).run(&mut predictor.clone(), test, fitted_to);
    for (slow, fast) in slow.iter().zip(&fast) {
        for (idx, (slow, fast)) in figures(slow).into_iter().zip(figures(fast)).enumerate() {
            // Sums in another order; an evaluator keeps interval scores to six digits.
            assert!((slow - fast).abs() <= 1e-6 * slow.abs().max(1e-6), "figure {idx}: {slow} and {fast}");
        }
    }
}

#[test]
fn every_kind_of_model_is_scored_as_by_an_evaluator() {
    let samples = samples(900);
    let (fitted_to, test) = samples.split_at(400);
    for text in ["MEAN", "LAST", "BM(8)", "AR(4)", "ARMA(1,1)", "NWS", "HOLT", "REFIT(AR(2),every=50,window=200)"] {
        check_agrees(predictor(text, fitted_to), fitted_to, test);
    }
}

#[test]
fn learned_intervals_are_scored_as_by_an_evaluator() {
    let samples = samples(900);
    let (fitted_to, test) = samples.split_at(400);
    for intervals in [Intervals::Empirical, Intervals::Adaptive] {
        check_agrees(predictor("AR(4)", fitted_to).with_intervals(intervals), fitted_to, test);
    }
}

#[test]
fn a_backtest_runs_again_as_if_it_had_not_run() {
    let samples = samples(900);
    let (fitted_to, test) = samples.split_at(400);
    let mut backtest = Backtest::new(&LEADS);
    let first = backtest.run(&mut predictor("AR(4)", fitted_to), test, fitted_to);
    backtest.run(&mut predictor("MEAN", fitted_to), &test[..100], fitted_to);
    assert_eq!(backtest.run(&mut predictor("AR(4)", fitted_to), test, fitted_to), first);
}

#[test]
fn nothing_to_score_scores_nothing() {
    let scores = Backtest::new(&LEADS).run(&mut predictor("LAST", &[1.0, 2.0]), &[3.0, f64::NAN], &[1.0, 2.0]);
    let counts: Vec<_> = scores.iter().map(|score| (score.n, score.n_unscored)).collect();
    assert_eq!(counts, [(1, 1), (0, 1), (0, 0), (0, 0)]);
    assert!(scores[1].errors.is_none() && scores[1].coverage.is_none() && scores[1].crps.is_none());
}

proptest! {
    #[test]
    fn any_samples_are_taken(test in prop::collection::vec(any::<f64>(), 0..60)) {
        let mut predictor = predictor("AR(1)", &samples(100));
        let scores = Backtest::new(&LEADS).run(&mut predictor, &test, &[]);
        prop_assert!(scores.iter().all(|score| score.n as u64 + score.n_unscored == (test.len() + 1).saturating_sub(score.lead) as u64));
    }
}
