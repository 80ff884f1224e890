//! SEASONAL: an outlook by text, saved and restored like any other model.

use predict::{FitError, Predictor, Spec, fit};
use proptest::prelude::*;

use crate::testdata::{ar1, fitted};

/// High for the first quarter of so many steps, and errors that last.
fn with_shape(period: f64, n: usize, seed: u64) -> Vec<f64> {
    let shape = |t: usize| if (t as f64 / period).fract() < 0.25 { 20.0 } else { 0.0 };
    ar1(0.7, n, seed).iter().enumerate().map(|(t, error)| 50.0 + shape(t) + error).collect()
}

#[test]
fn half_a_period_ahead_it_errs_far_less_than_what_knows_no_season() {
    let series = with_shape(96.0, 96 * 36, 71);
    let error = |text: &str| {
        let mut predictor = fitted(text, &series[..96 * 25]).predictor();
        let mut sum = 0.0;
        for t in 96 * 25..series.len() - 48 {
            predictor.step(series[t]);
            sum += (predictor.forecast(48).means()[47] - series[t + 48]).abs();
        }
        sum
    };
    let (seasonal, found) = (error("SEASONAL(96)"), error("SEASONAL"));
    assert!(
        seasonal < 0.4 * error("AR(16)") && seasonal < 0.4 * error("LAST"),
        "{seasonal}, {}, {}",
        error("AR(16)"),
        error("LAST")
    );
    assert!(found < 1.3 * seasonal, "{found} without being told, {seasonal} otherwise");
}

#[test]
fn its_standard_errors_hold_what_a_normal_distribution_would() {
    let series = with_shape(96.0, 96 * 30, 72);
    let mut predictor = fitted("SEASONAL(96)", &series[..96 * 15]).predictor();
    let (mut n_held, mut n) = (0, 0);
    for t in 96 * 15..series.len() - 24 {
        predictor.step(series[t]);
        let forecast = predictor.forecast(24);
        let away = (forecast.means()[23] - series[t + 24]).abs();
        n_held += usize::from(away <= forecast.standard_errors()[23]);
        n += 1;
    }
    let held = n_held as f64 / n as f64;
    assert!((held - 0.683).abs() < 0.1, "{held}");
}

#[test]
fn it_says_which_seasons_it_was_given_and_found() {
    let periods = |text: &str| -> Vec<(String, f64)> {
        let model = fitted(text, &with_shape(100.0, 2048, 73));
        model.parameters().into_iter().map(|parameter| (parameter.name, parameter.value)).collect()
    };
    assert_eq!(periods("SEASONAL(100,700)"), [("period1".to_owned(), 100.0), ("period2".to_owned(), 700.0)]);
    let found = periods("SEASONAL");
    assert!(found.len() == 1 && found[0].0 == "found1" && (found[0].1 - 100.0).abs() < 1.0, "{found:?}");
}

#[track_caller]
fn check_text(text: &str, expected: Result<&str, &str>) {
    let spec: Result<Spec, _> = text.parse();
    let said = spec.map(|spec| spec.to_string()).map_err(|error| error.to_string());
    assert_eq!(said.as_deref().map_err(String::as_str), expected);
}

#[test]
fn its_text_has_up_to_two_lengths_in_steps() {
    check_text("seasonal", Ok("OUTLOOK"));
    check_text("outlook", Ok("OUTLOOK"));
    check_text(" SEASONAL( 288, 2016 )", Ok("SEASONAL(288,2016)"));
    check_text("SEASONAL(365.25)", Ok("SEASONAL(365.25)"));
    check_text(
        "SEASONAL(1d)",
        Err("a season of `SEASONAL` is `1d`; it must be a length in steps, as in SEASONAL(288,2016)"),
    );
    check_text("SEASONAL(3)", Err("SEASONAL: a period is 3 steps; it must be from 4 to 1,000,000"));
    check_text("SEASONAL(NaN)", Err("SEASONAL: a period is NaN steps; it must be from 4 to 1,000,000"));
    check_text(
        "SEASONAL(24,30)",
        Err("SEASONAL: the periods are 24 and 30 steps; the second must be at least twice the first"),
    );
    check_text(
        "SEASONAL(24,168,720)",
        Err(
            "`SEASONAL` does not take `720`; it is written SEASONAL(288), SEASONAL(288,2016), or OUTLOOK without a season",
        ),
    );
}

#[test]
fn a_restored_one_goes_on_to_the_same_digits() {
    let series = with_shape(24.0, 800, 74);
    for text in ["SEASONAL(24)", "SEASONAL(24,168)", "SEASONAL", "REFIT(SEASONAL(24),every=90,window=200)"] {
        let mut kept = fitted(text, &series[..500]).predictor();
        kept.step(f64::NAN);
        let mut restored = Predictor::restore(&kept.save()).unwrap();
        for sample in &series[500..] {
            assert_eq!(restored.forecast(70), kept.forecast(70), "{text}");
            restored.step(*sample);
            kept.step(*sample);
        }
        assert_eq!(restored.save(), kept.save(), "{text}");
    }
}

#[test]
fn a_young_one_and_gaps_are_defined() {
    let spec: Spec = "SEASONAL(24)".parse().unwrap();
    assert_eq!(fit(&spec, &[1.0, f64::NAN, 2.0, 3.0]).unwrap_err(), FitError::TooShort { spec, have: 3, need: 4 });
    let mut predictor = fitted("SEASONAL(24)", &[1.0, 2.0, 1.0, 2.0]).predictor();
    (0..3000).for_each(|_| predictor.step(f64::NAN));
    let forecast = predictor.forecast(2000);
    assert!(forecast.means().iter().chain(forecast.standard_errors()).all(|number| number.is_finite()));
}

#[test]
fn samples_that_cannot_be_squared_are_gaps() {
    let mut predictor = fitted("SEASONAL(24)", &with_shape(24.0, 200, 75)).predictor();
    let mut of_gaps = predictor.clone();
    for sample in [1e300, -f64::MAX, f64::INFINITY] {
        predictor.step(sample);
        of_gaps.step(f64::NAN);
    }
    assert_eq!(predictor.forecast(48), of_gaps.forecast(48));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn changed_bytes_are_refused_or_harmless(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        n_lost in 0_usize..3,
    ) {
        let mut bytes = fitted("SEASONAL(8)", &with_shape(8.0, 200, 76)).predictor().save();
        for (place, byte) in changes {
            let idx = place.index(bytes.len());
            bytes[idx] = byte;
        }
        bytes.truncate(bytes.len() - n_lost);
        if let Ok(mut predictor) = Predictor::restore(&bytes) {
            (0..20).for_each(|t| predictor.step(f64::from(t)));
            let _ = predictor.forecast(70);
        }
    }
}
