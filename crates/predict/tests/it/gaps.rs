//! Gaps and non-finite samples are defined behaviour, not poison.

use predict::{FitError, Spec, fit};

use crate::testdata::{ar1, fitted};

const MODELS: [&str; 12] = [
    "MEAN",
    "LAST",
    "BM(8)",
    "AR(4)",
    "AR(4,method=burg)",
    "NWS",
    "NWS(by=mae,recent=30)",
    "ETS(A,N,N)",
    "HOLT",
    "ETS(A,Ad,N)",
    "TAR(1)",
    "TAR(3,delay=2)",
];

#[test]
fn a_forecast_after_a_gap_is_the_later_part_of_the_one_before_it() {
    for text in MODELS {
        let mut predictor = fitted(text, &ar1(0.8, 200, 11)).predictor();
        let before = predictor.forecast(40);
        (0..10).for_each(|_| predictor.step(f64::NAN));
        let after = predictor.forecast(30);
        for lead_idx in 0..30 {
            let (after, before) = (after.means()[lead_idx], before.means()[lead_idx + 10]);
            assert!((after - before).abs() < 1e-12, "{text}: mean {after} is not {before}");
        }
        assert_eq!(after.standard_errors(), &before.standard_errors()[10..], "{text}");
    }
}

#[test]
fn a_gap_at_the_end_of_a_fit_counts_like_one_that_was_stepped() {
    let series = ar1(0.8, 200, 12);
    let mut with_gap = series.clone();
    with_gap.extend([f64::NAN; 5]);
    for text in ["MEAN", "LAST", "AR(4)", "NWS", "ETS(A,N,N)", "TAR(2)"] {
        let mut stepped = fitted(text, &series).predictor();
        (0..5).for_each(|_| stepped.step(f64::NAN));
        let (at_once, stepped) = (fitted(text, &with_gap).predictor().forecast(3), stepped.forecast(3));
        for lead_idx in 0..3 {
            assert!((at_once.means()[lead_idx] - stepped.means()[lead_idx]).abs() < 1e-12, "{text}");
        }
    }
}

#[test]
fn infinity_in_a_stream_is_a_gap() {
    for text in MODELS {
        let mut of_gap = fitted(text, &ar1(0.8, 200, 13)).predictor();
        let mut of_infinity = of_gap.clone();
        of_gap.step(f64::NAN);
        of_infinity.step(f64::NEG_INFINITY);
        assert_eq!(of_gap, of_infinity, "{text}");
    }
}

#[test]
fn errors_return_to_normal_when_samples_do() {
    let mut predictor = fitted("AR(2)", &ar1(0.9, 300, 14)).predictor();
    let normal = predictor.forecast(5).standard_errors().to_vec();
    (0..20).for_each(|_| predictor.step(f64::NAN));
    assert!(predictor.forecast(5).standard_errors()[0] > normal[0]);
    predictor.step(0.0);
    assert_eq!(predictor.forecast(5).standard_errors(), normal);
}

#[test]
fn a_gap_of_years_costs_no_more_than_a_long_one() {
    let mut predictor = fitted("AR(2)", &ar1(0.9, 300, 15)).predictor();
    (0..100_000).for_each(|_| predictor.step(f64::NAN));
    let forecast = predictor.forecast(10);
    assert!(forecast.means().iter().chain(forecast.standard_errors()).all(|number| number.is_finite()));
}

#[test]
fn a_tenth_missing_moves_the_coefficient_little() {
    let series = ar1(0.8, 5000, 16);
    let holes: Vec<f64> =
        series.iter().enumerate().map(|(t, sample)| if t % 10 == 3 { f64::NAN } else { *sample }).collect();
    for (text, tolerance) in [
        // Products with a gap count as 0, so a tenth missing draws it down by about a tenth.
        ("AR(1)", 0.1),
        // Burg's sums run between the gaps and lose nothing but data.
        ("AR(1,method=burg)", 0.02),
    ] {
        let (whole, gappy) = (fitted(text, &series).coefficients()[0], fitted(text, &holes).coefficients()[0]);
        assert!((whole - gappy).abs() < tolerance, "{text}: {whole} became {gappy}");
    }
}

#[test]
fn only_known_samples_count_toward_the_least_number() {
    let mut samples = vec![f64::NAN; 100];
    samples[..8].copy_from_slice(&[1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 4.0, 1.0]);
    let spec = Spec::ar(4);
    let error = fit(&spec, &samples).unwrap_err();
    assert_eq!(error, FitError::TooShort { spec, have: 8, need: 9 });
}
