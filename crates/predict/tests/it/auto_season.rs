//! AUTO where there is a season, and where there is none.

use predict::{Live, Policy, Predictor, SeasonStanding, fit};

use crate::testdata::{Noise, ar1, fitted};

/// A model that knows no season.
const WITHOUT: &str = "REFIT(AR(16),every=100,window=600)";

/// A wave of so many steps and errors that last.
fn wave(period: f64, n: usize, seed: u64) -> Vec<f64> {
    let shape = |t: usize| 10.0 * (std::f64::consts::TAU * t as f64 / period).sin();
    ar1(0.7, n, seed).iter().enumerate().map(|(t, error)| 50.0 + shape(t) + error).collect()
}

/// A job that takes five steps, and errors that last.
fn timer(period: usize, n: usize, seed: u64) -> Vec<f64> {
    let job = |t: usize| if t % period < 5 { 12.0 } else { 0.0 };
    ar1(0.7, n, seed).iter().enumerate().map(|(t, error)| 50.0 + job(t) + error).collect()
}

fn without_season() -> Vec<(&'static str, Vec<f64>)> {
    let mut noise = Noise::seeded(81);
    let white = (0..2600).map(|_| noise.normal()).collect();
    let mut level = 0.0;
    let walk = (0..2600)
        .map(|_| {
            level += noise.normal();
            level
        })
        .collect();
    vec![
        ("white noise", white),
        ("a random walk", walk),
        ("AR(1)", ar1(0.9, 2600, 82)),
        ("a constant", vec![7.0; 2600]),
    ]
}

#[track_caller]
fn season(predictor: &Predictor, text: &str) -> SeasonStanding {
    let season = predictor.model().season().expect("the season is found");
    assert_eq!(season.spec.to_string(), text);
    assert!(predictor.standings().iter().any(|standing| standing.spec == season.spec));
    season
}

/// The mean absolute error at `lead` on the samples after the first `n_fit`, and the predictor at the end.
fn error(text: &str, series: &[f64], n_fit: usize, lead: usize) -> (f64, Predictor) {
    let mut predictor = fitted(text, &series[..n_fit]).predictor();
    let mut sum = 0.0;
    for t in n_fit..series.len() - lead {
        predictor.step(series[t]);
        sum += (predictor.forecast(lead).means()[lead - 1] - series[t + lead]).abs();
    }
    (sum / (series.len() - lead - n_fit) as f64, predictor)
}

#[test]
fn a_day_is_found_in_a_week_that_is_fitted_to() {
    let series = wave(288.0, 288 * 8, 83);
    let ((with, predictor), (without, _)) = (error("AUTO", &series, 2016, 144), error(WITHOUT, &series, 2016, 144));
    let season = season(&predictor, "SEASONAL(288)");
    assert!(with < 0.6 * without, "{with}, {without} without a season");
    let best = season.best().unwrap();
    assert!(best.lead >= 32 && best.error_ratio < 0.7 && best.weight > 0.9, "{best:?}");
}

#[test]
fn a_timer_is_found_while_samples_come_in() {
    let series = timer(100, 2600, 84);
    let ((with, predictor), (without, _)) = (error("AUTO", &series, 80, 60), error(WITHOUT, &series, 80, 60));
    season(&predictor, "SEASONAL(100)");
    // Over the whole series, of which a third was over before six jobs had run.
    assert!(with < without, "{with}, {without} without a season");
}

#[test]
fn what_has_no_season_gets_none() {
    for (what, series) in without_season() {
        for n_fit in [2, 400, 2000] {
            let mut predictor = fitted("AUTO", &series[..n_fit]).predictor();
            series[n_fit..].iter().for_each(|sample| predictor.step(*sample));
            assert_eq!(predictor.model().season(), None, "{what}, {n_fit}");
        }
    }
}

#[test]
fn a_season_that_is_gone_costs_nothing_later() {
    let n = 1500;
    let mut series = timer(40, n, 85);
    series.extend(ar1(0.7, 6000, 86).iter().map(|error| 50.0 + error));
    season(&fitted("AUTO", &series[..n]).predictor(), "SEASONAL(40)");
    let mut predictor = fitted("AUTO", &series[..n]).predictor();
    series[n..6500].iter().for_each(|sample| predictor.step(*sample));
    let mut fresh = fitted("AUTO", &series[n..6500]).predictor();
    let (mut with, mut without) = (0.0, 0.0);
    for t in 6500..series.len() - 20 {
        [(&mut predictor, &mut with), (&mut fresh, &mut without)].into_iter().for_each(|(predictor, sum)| {
            predictor.step(series[t]);
            *sum += (predictor.forecast(20).means()[19] - series[t + 20]).abs();
        });
    }
    assert!(with < 1.03 * without, "{with}, {without} without a season ever");
}

#[test]
fn a_season_that_is_given_is_used_from_the_start() {
    let series = wave(24.0, 24 * 8, 92);
    let ((given, predictor), (found, _)) = (error("AUTO(24)", &series, 24 * 4, 12), error("AUTO", &series, 24 * 4, 12));
    season(&predictor, "SEASONAL(24)");
    assert!(given < found, "{given}, {found} without");
    assert_eq!(predictor.model().spec().to_string(), "AUTO(24)");
}

#[test]
fn it_is_found_across_gaps() {
    let mut noise = Noise::seeded(87);
    let mut series = wave(288.0, 288 * 9, 88);
    series.iter_mut().for_each(|sample| *sample = if noise.uniform() < 0.1 { f64::NAN } else { *sample });
    series[700..1000].fill(f64::NAN);
    let predictor = fitted("AUTO", &series).predictor();
    season(&predictor, "SEASONAL(288)");
    assert!(predictor.forecast(288).means().iter().all(|mean| (30.0..70.0).contains(mean)));
}

#[test]
fn it_is_saved_and_restored_to_the_digit() {
    for (text, n_fit) in [("SEASONAL(288)", 2304), ("SEASONAL(50)", 1100)] {
        let series = if n_fit == 2304 { wave(288.0, 2600, 89) } else { timer(50, 2600, 89) };
        let mut kept = fitted("AUTO", &series[..n_fit]).predictor();
        season(&kept, text);
        let mut restored = Predictor::restore(&kept.save()).unwrap();
        for sample in &series[n_fit..] {
            kept.step(*sample);
            restored.step(*sample);
        }
        assert_eq!(restored.forecast(300), kept.forecast(300), "{text}");
        assert_eq!(restored.save(), kept.save(), "{text}");
    }
}

#[test]
fn a_live_series_finds_it_where_fits_are_made_elsewhere_too() {
    let series = timer(50, 1500, 90);
    let policy: Policy = "AUTO".parse().unwrap();
    let mut here = Live::new(policy.clone());
    let mut elsewhere = Live::new(policy).with_deferred_fits();
    for sample in &series {
        here.step(*sample);
        elsewhere.step(*sample);
        if let Some(task) = elsewhere.take_task() {
            elsewhere.install(task.run());
        }
    }
    season(here.model().unwrap(), "SEASONAL(50)");
    assert_eq!(elsewhere.model().unwrap().model().season(), here.model().unwrap().model().season());
    assert_eq!(elsewhere.forecast(100), here.forecast(100));
}

#[test]
fn infinities_before_the_samples_that_count_are_gaps() {
    let mut series = wave(288.0, 2016, 91);
    series[100] = f64::INFINITY;
    season(&fitted("AUTO", &series).predictor(), "SEASONAL(288)");
    series[2000] = f64::INFINITY;
    assert!(fit(&"AUTO".parse().unwrap(), &series).is_err());
}
