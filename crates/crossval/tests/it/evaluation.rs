//! Cases are evaluated as a system on line would run them, and know nothing of what is to come.

use std::sync::atomic::AtomicBool;

use crossval::{Campaign, CaseResult, Template, Trace, Worker};
use predict::fit;

use crate::drawing::{TEMPLATE, campaign, trace};

fn results(campaign: &Campaign, cases: std::ops::Range<u64>, n_workers: usize) -> Vec<CaseResult> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_workers).build().unwrap();
    let done = pool.install(|| campaign.evaluate(cases, &AtomicBool::new(false), |_| {})).unwrap();
    done.into_iter().map(|(result, _)| result).collect()
}

#[test]
fn results_are_the_same_for_any_number_of_workers_and_any_parting() {
    let campaign = campaign(TEMPLATE, 3);
    let whole = results(&campaign, 0..101, 1);
    assert_eq!(whole.iter().map(|result| result.case.number).collect::<Vec<_>>(), (0..101).collect::<Vec<_>>());
    for n_workers in [2, 8] {
        let parts: Vec<CaseResult> =
            [0..1, 1..50, 50..50, 50..101].into_iter().flat_map(|part| results(&campaign, part, n_workers)).collect();
        assert!(parts == whole, "{n_workers} workers");
    }
}

#[test]
fn an_evaluation_that_is_stopped_gives_nothing() {
    assert_eq!(campaign(TEMPLATE, 3).evaluate(0..10, &AtomicBool::new(true), |_| {}), None);
}

/// One window of 100 samples to fit and `n_test` to test on, at the start of `samples`.
fn one_case(samples: Vec<f64>, model: &str, lead: usize, n_test: usize) -> CaseResult {
    let template = format!("models = [{model:?}]\nfit = 100\ntest = {n_test}\nleads = {lead}");
    let cut = samples[..100 + n_test].to_vec();
    let traces = vec![Trace::new("poisoned", cut).unwrap()];
    let campaign = Campaign::new(Template::read(&template).unwrap(), traces, 1).unwrap();
    Worker::new(&campaign).evaluate(0, 0..1).remove(0).0
}

/// The forecast that was made for the last sample, told from its error: by far the largest.
fn last_forecast(poisoned: &[f64], model: &str, lead: usize, n_test: usize) -> f64 {
    let result = one_case(poisoned.to_vec(), model, lead, n_test);
    let scored = result.outcome.unwrap();
    poisoned[100 + n_test - 1] - scored.leads[0].errors.unwrap().max
}

#[test]
fn what_comes_after_the_origin_changes_no_forecast_made_at_it() {
    let clean = trace("clean", 400).samples().to_vec();
    for model in
        ["MEAN", "LAST", "BM(8)", "AR(4)", "ARMA(1,1)", "NWS", "HOLT", "REFIT(AR(2),every=3,window=80)", "AUTO"]
    {
        for (lead, origin) in [(1, 0), (5, 0), (1, 7), (5, 7), (12, 31)] {
            let n_test = origin + lead;
            let forecast = |poison: f64| {
                let mut samples = clean.clone();
                samples[100 + origin..].fill(poison);
                samples[100 + n_test - 1] = 4.0 * poison;
                last_forecast(&samples, model, lead, n_test)
            };
            // What is left of a forecast of about 2 beside an error of 4 million is good to 1e-9.
            let (one, other) = (forecast(1e6), forecast(3e5));
            assert!((one - other).abs() < 1e-8, "{model}, lead {lead} from {origin}: {one} and {other}");
            let mut predictor = fit(&model.parse().unwrap(), &clean[..100]).unwrap().predictor();
            clean[100..100 + origin].iter().for_each(|sample| predictor.step(*sample));
            let direct = predictor.forecast(lead).means()[lead - 1];
            assert!((one - direct).abs() < 1e-8, "{model}, lead {lead} from {origin}: {one} and {direct}");
        }
    }
}

#[test]
fn a_case_scores_what_its_model_forecast() {
    // LAST on a ramp is off by the lead; so is the naive last value, and the scale of LAST is 1.
    let result = one_case((0..400).map(f64::from).collect(), "LAST", 7, 40);
    let score = &result.outcome.unwrap().leads[0];
    let errors = score.errors.unwrap();
    assert_eq!((score.n, errors.min, errors.median, errors.max), (34, 7.0, 7.0, 7.0));
    assert_eq!(errors.mean_squared, 49.0);
    // A mean of 99 ones, each divided by their number first.
    assert!((score.mean_absolute_scaled.unwrap() - 7.0).abs() < 1e-12);
    assert_eq!(result.window.naive[0].mean_squared_of_last, 49.0);
    // Of 0..40: (40^2 - 1) / 12.
    assert!((result.window.test_variance - 133.25).abs() < 1e-9);
}

#[test]
fn a_constant_stretch_is_a_reason_to_fail_and_not_to_stop() {
    let result = one_case(vec![3.0; 400], "AR(2)", 1, 40);
    assert!(result.outcome.unwrap_err().to_string().contains("cannot be fitted to a constant series"));
    let last = one_case(vec![3.0; 400], "LAST", 1, 40).outcome.unwrap();
    assert_eq!(last.leads[0].errors.unwrap().mean_squared, 0.0);
    assert_eq!(result.window.test_variance, 0.0);
}

#[test]
fn gaps_are_counted_and_not_scored() {
    let mut samples = trace("gaps", 400).samples().to_vec();
    samples[20..25].fill(f64::NAN);
    samples[110..120].fill(f64::NAN);
    let result = one_case(samples, "AR(2)", 3, 40);
    let score = &result.outcome.unwrap().leads[0];
    assert_eq!((result.window.n_fit_gaps, result.window.n_test_gaps), (5, 10));
    assert_eq!((score.n, score.n_unscored), (28, 10));
}

#[test]
fn a_stretch_of_gaps_fails_and_has_no_naive_error() {
    let mut samples = trace("gaps", 400).samples().to_vec();
    samples[..100].fill(f64::NAN);
    let result = one_case(samples, "LAST", 1, 40);
    assert!(result.outcome.is_err());
    assert!(result.window.naive[0].mean_squared_of_mean.is_nan());
}
