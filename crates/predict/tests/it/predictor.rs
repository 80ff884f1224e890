//! Stepping: the same as fitting anew, any number of leads, refits when they are due.

use predict::{Forecast, Spec, fit};

use crate::testdata::{ar1, fitted, samples};

#[track_caller]
fn check_means(spec: &str, history: &[f64], expected: f64) {
    let forecast = fitted(spec, history).predictor().forecast(5);
    assert_eq!(forecast.means(), [expected; 5]);
}

#[test]
fn simple_models_say_the_same_for_every_lead() {
    let history = [4.0, 8.0, 6.0, 2.0, 5.0];
    check_means("MEAN", &history, 5.0);
    check_means("LAST", &history, 5.0);
    check_means("BM(1)", &history, 5.0);
}

#[test]
fn last_is_best_mean_of_one() {
    let trace = samples("nab/rds_cpu_utilization_e47b3b.csv");
    let (mut last, mut best_mean) =
        (fitted("LAST", &trace[..99]).predictor(), fitted("BM(1)", &trace[..99]).predictor());
    for sample in &trace[99..300] {
        last.step(*sample);
        best_mean.step(*sample);
        assert_eq!(last.forecast(30), best_mean.forecast(30));
    }
}

#[test]
fn a_window_follows_the_samples() {
    let alternating: Vec<f64> = (0..40).map(|t| f64::from(t % 2)).collect();
    let mut predictor = fitted("BM(8)", &alternating).predictor();
    assert_eq!(predictor.model().coefficients().len(), 2);
    predictor.step(10.0);
    predictor.step(20.0);
    assert_eq!(predictor.forecast(1).means(), [15.0]);
}

#[test]
fn the_running_mean_takes_every_sample() {
    let mut predictor = fitted("MEAN", &[1.0, 3.0]).predictor();
    predictor.step(8.0);
    let forecast = predictor.forecast(2);
    assert_eq!(forecast.means(), [4.0, 4.0]);
    // Variance 13 about the mean, and a third of it for the mean of three.
    assert!((forecast.standard_errors()[0] - (13.0_f64 * 4.0 / 3.0).sqrt()).abs() < 1e-12);
}

#[test]
fn stepping_reaches_the_state_that_priming_would() {
    let trace = samples("nab/ec2_cpu_utilization_5f5533.csv");
    let mut stepped = fitted("AR(16)", &trace[..600]).predictor();
    let coefficients = stepped.model().coefficients();
    trace[600..700].iter().for_each(|sample| stepped.step(*sample));
    let mean = stepped.model().mean();
    let by_hand: f64 = coefficients.iter().enumerate().map(|(i, phi)| phi * (trace[699 - i] - mean)).sum();
    // The same sixteen products in another order.
    assert!((stepped.forecast(1).means()[0] - (mean + by_hand)).abs() < 1e-12);
}

#[test]
fn any_horizon_at_any_time_agrees_with_any_other() {
    let predictor = fitted("AR(16)", &samples("nab/ec2_cpu_utilization_5f5533.csv")[..600]).predictor();
    let long = predictor.forecast(1000);
    for n_leads in [0, 1, 63, 64, 65, 300] {
        let short = predictor.forecast(n_leads);
        assert_eq!(short.n_leads(), n_leads);
        assert_eq!(short.means(), &long.means()[..n_leads]);
        assert_eq!(short.standard_errors(), &long.standard_errors()[..n_leads]);
    }
}

#[test]
fn reused_memory_gives_the_same_forecast() {
    let predictor = fitted("AR(4)", &ar1(0.8, 200, 1)).predictor();
    let mut reused = Forecast::default();
    for n_leads in [100, 3, 40] {
        predictor.forecast_into(n_leads, &mut reused);
        assert_eq!(reused, predictor.forecast(n_leads));
    }
}

#[test]
fn a_refit_is_the_fit_of_its_window() {
    let series = ar1(0.7, 400, 2);
    let mut refitting = fitted("REFIT(AR(4),every=50,window=200)", &series[..200]).predictor();
    series[200..300].iter().for_each(|sample| refitting.step(*sample));
    assert_eq!(refitting.n_refits(), 2);
    let anew = fitted("AR(4)", &series[100..300]);
    assert_eq!(refitting.model().coefficients(), anew.coefficients());
    assert_eq!(refitting.forecast(30), anew.predictor().forecast(30));
}

#[test]
fn a_refit_starts_from_the_last_window_of_the_fit() {
    let series = ar1(0.7, 400, 3);
    let windowed = fitted("REFIT(AR(4),every=1000,window=100)", &series);
    assert_eq!(windowed.coefficients(), fitted("AR(4)", &series[300..]).coefficients());
}

#[test]
fn a_refit_that_fails_keeps_the_model() {
    let series = ar1(0.5, 100, 4);
    let mut predictor = fitted("REFIT(AR(2),every=60,window=60)", &series).predictor();
    let before = predictor.model().coefficients();
    (0..60).for_each(|_| predictor.step(1.0));
    assert_eq!((predictor.n_refits(), predictor.n_failed_refits()), (0, 1));
    assert_eq!(predictor.model().coefficients(), before);
}

#[test]
fn a_clone_goes_its_own_way() {
    let mut one = fitted("AR(2)", &ar1(0.5, 100, 5)).predictor();
    let other = one.clone();
    one.step(9.0);
    assert_ne!(one.forecast(3), other.forecast(3));
}

#[test]
fn a_fitted_model_prints_what_it_found() {
    let model = fitted("AR(2)", &samples("predict/ar/lake_huron.csv"));
    assert_eq!(
        model.to_string(),
        "AR(2)  phi 1.053825 -0.266752  mean 579.004082  innovation variance 0.491993  from 98 samples"
    );
}

#[test]
fn every_model_of_the_catalogue_can_be_written_and_fitted() {
    let series = ar1(0.5, 700, 6);
    let concrete = |text: &str| {
        let orders = [
            ("FIMA(p,d,q", "FIMA(2,d,2"),
            ("p,d,q", "2,1,2"),
            ("p,q", "2,2"),
            ("s,t", "24,168"),
            ("(p", "(4"),
            ("(q", "(2"),
        ];
        let text = orders.iter().fold(text.to_owned(), |text, (letters, numbers)| text.replace(letters, numbers));
        text.replace("model", "AR(4)").replace("every=n", "every=100").replace("window=n", "window=600")
    };
    for (text, _) in Spec::catalogue() {
        let text = concrete(text).replace("AR(4),AR(4)", "AR(4)");
        let spec: Spec = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(fit(&spec, &series).is_ok(), "{spec}");
    }
}
