//! A fit gives a model that holds finite numbers, or a typed error. It never panics.

use predict::{FitError, Spec, fit};
use proptest::prelude::*;

use crate::testdata::ar1;

#[track_caller]
fn check_refused(text: &str, samples: &[f64], message: &str) {
    let spec: Spec = text.parse().unwrap();
    assert_eq!(fit(&spec, samples).unwrap_err().to_string(), message);
}

#[test]
fn too_short_says_how_many_are_needed() {
    check_refused("AR(16)", &[1.0; 20], "AR(16) needs at least 33 samples that are not gaps, and has 20");
    check_refused("LAST", &[], "LAST needs at least 2 samples that are not gaps, and has 0");
    check_refused(
        "REFIT(AR(2),every=5,window=9)",
        &[1.0; 4],
        "AR(2) needs at least 5 samples that are not gaps, and has 4",
    );
}

#[test]
fn a_constant_has_nothing_to_fit() {
    check_refused(
        "AR(2)",
        &[0.1; 50],
        "AR(2) cannot be fitted to a constant series (every sample is 0.1); LAST predicts it without error",
    );
    let last = fit(&Spec::Last, &[0.1; 50]).unwrap().predictor().forecast(3);
    assert_eq!((last.means(), last.standard_errors()), (&[0.1; 3][..], &[0.0; 3][..]));
}

#[test]
fn infinity_is_no_measurement() {
    check_refused(
        "MEAN",
        &[1.0, 2.0, f64::INFINITY],
        "sample 2 is inf, which is no measurement; mark a missing sample as NaN",
    );
}

#[test]
fn squares_that_overflow_are_refused() {
    for text in ["AR(1)", "AR(1,method=burg)", "LAST", "MEAN", "NWS", "ETS(A,N,N)", "HOLT", "TAR(2)"] {
        let huge: Vec<f64> = (0..50).map(|t| if t % 3 == 0 { 1e300 } else { -1e300 }).collect();
        let error = fit(&text.parse().unwrap(), &huge).unwrap_err();
        assert!(matches!(error, FitError::TooLarge { largest: 1e300, .. }), "{text}: {error}");
    }
}

#[test]
fn tiny_scales_fit_like_any_other() {
    let series = ar1(0.6, 300, 21);
    let tiny: Vec<f64> = series.iter().map(|sample| sample * 1e-100).collect();
    for text in ["AR(3)", "AR(3,method=burg)"] {
        let spec: Spec = text.parse().unwrap();
        let (plain, tiny) = (fit(&spec, &series).unwrap(), fit(&spec, &tiny).unwrap());
        for (plain, tiny) in plain.coefficients().iter().zip(tiny.coefficients()) {
            assert!((plain - tiny).abs() < 1e-9);
        }
    }
}

#[test]
fn a_pure_wave_is_predicted_and_not_divided_by_nothing() {
    let wave: Vec<f64> = (0..400).map(|t| (f64::from(t) * 0.2).sin()).collect();
    for text in ["AR(16)", "AR(16,method=burg)", "AR(64,method=burg)"] {
        let forecast = fit(&text.parse().unwrap(), &wave).unwrap().predictor().forecast(20);
        for (lead_idx, mean) in forecast.means().iter().enumerate() {
            let truth = (f64::from(400 + lead_idx as u32) * 0.2).sin();
            // Yule-Walker tapers a wave; Burg follows it.
            assert!((mean - truth).abs() < 0.2, "{text} lead {}: {mean} for {truth}", lead_idx + 1);
        }
    }
}

fn any_sample() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => -1e6..1e6,
        2 => Just(f64::NAN),
        1 => Just(0.0),
        1 => any::<f64>(),
    ]
}

fn any_spec() -> impl Strategy<Value = Spec> {
    let plain = prop_oneof![
        Just("MEAN".to_owned()),
        Just("LAST".to_owned()),
        (1..40).prop_map(|window| format!("BM({window})")),
        (1..40).prop_map(|order| format!("AR({order})")),
        (1..40).prop_map(|order| format!("AR({order},method=burg)")),
        Just("NWS".to_owned()),
        (1..9).prop_map(|order| format!("TAR({order})")),
        prop::sample::select(vec!["ETS(A,N,N)", "ETS(A,A,N)", "ETS(A,Ad,N)", "ETS(A,Ad,N,bounds=admissible)"])
            .prop_map(str::to_owned),
        (1..40).prop_map(|recent| format!("NWS(by=mae,recent={recent})")),
    ];
    (plain, prop::option::of((1..50, 100..200))).prop_map(|(plain, refit)| {
        let text =
            refit.map_or(plain.clone(), |(every, window)| format!("REFIT({plain},every={every},window={window})"));
        text.parse().expect("built to be read")
    })
}

proptest! {
    #[test]
    fn whatever_comes_forecasts_are_numbers(
        spec in any_spec(),
        history in prop::collection::vec(any_sample(), 0..200),
        coming in prop::collection::vec(-1e9..1e9_f64, 0..100),
    ) {
        let Ok(model) = fit(&spec, &history) else { return Ok(()) };
        let mut predictor = model.predictor();
        for sample in coming {
            predictor.step(sample);
        }
        let forecast = predictor.forecast(70);
        prop_assert!(forecast.means().iter().all(|mean| mean.is_finite()), "{spec} {model:?}");
        prop_assert!(forecast.standard_errors().iter().all(|error| error.is_finite() && *error >= 0.0), "{spec}");
    }

    #[test]
    fn a_specification_survives_its_text(spec in any_spec()) {
        prop_assert_eq!(spec.to_string().parse::<Spec>(), Ok(spec));
    }

    #[test]
    fn no_text_panics_the_parser(text in "\\PC{0,40}", shape in "[A-Za-z]{0,6}\\(?[0-9a-z=,() ]{0,20}\\)?") {
        let _ = text.parse::<Spec>();
        if let Ok(spec) = shape.parse::<Spec>() {
            prop_assert_eq!(spec.to_string().parse::<Spec>(), Ok(spec));
        }
    }

    #[test]
    fn yule_walker_and_burg_are_stationary(samples in prop::collection::vec(-1e3..1e3_f64, 60..200), order in 1..20_usize) {
        for text in [format!("AR({order})"), format!("AR({order},method=burg)")] {
            let Ok(model) = fit(&text.parse().unwrap(), &samples) else { continue };
            let far = model.predictor().forecast(4000);
            let spread = samples.iter().fold(0.0_f64, |most, sample| most.max((sample - model.mean()).abs()));
            // A stationary model's forecast never leaves the scale of its data, however far ahead.
            prop_assert!((far.means()[3999] - model.mean()).abs() <= 10.0 * spread, "{text}");
        }
    }
}
