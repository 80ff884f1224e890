//! A fit gives a model that holds finite numbers, or a typed error. It never panics.

use predict::{FitError, Inference, Spec, fit};
use proptest::prelude::*;

use crate::testdata::ar1;

#[track_caller]
fn check_refused(text: &str, samples: &[f64], message: &str) {
    let spec: Spec = text.parse().unwrap();
    assert_eq!(fit(&spec, samples).unwrap_err().to_string(), message);
}

#[test]
fn too_short_says_how_many_are_needed() {
    check_refused("AR(16)", &[1.0; 20], "AR(16) needs at least 33 samples that are not gaps, but has 20");
    check_refused("LAST", &[], "LAST needs at least 2 samples that are not gaps, but has 0");
    check_refused(
        "REFIT(AR(2),every=5,window=9)",
        &[1.0; 4],
        "AR(2) needs at least 5 samples that are not gaps, but has 4",
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
fn a_line_has_constant_differences() {
    let line: Vec<f64> = (1..=100).map(f64::from).collect();
    for (spec, order, value) in [("ARIMA(1,1,1)", 1, 1), ("ARIMA(1,1,1,method=ml)", 1, 1), ("ARIMA(0,2,1)", 2, 0)] {
        check_refused(
            spec,
            &line,
            &format!(
                "{spec} cannot be fitted to a series whose differences of order {order} are constant (every one is {value}); \
                 AUTO goes on with a straight line"
            ),
        );
    }
}

#[test]
fn a_spike_at_the_end_makes_no_autoregression_explode() {
    let mut spike: Vec<f64> = (0..60_u32).map(|t| f64::from(t.wrapping_mul(2_654_435_769) >> 29)).collect();
    spike.push(900.0);
    check_refused(
        "AR(4,method=ls)",
        &spike,
        "the best coefficients of AR(4,method=ls) are unstable, so forecasts would grow without bound; try lower orders, or ARIMA on \
         its differences",
    );
    let line: Vec<f64> = (0..60).map(|t| f64::from(t * 2) + f64::from(t * 7 % 5)).collect();
    assert!(fit(&"AR(4,method=ls)".parse().unwrap(), &line).is_ok(), "a line does not explode");
}

#[test]
fn a_season_needs_samples_whose_squares_are_numbers() {
    let day = |unit: f64| (0..100).map(|t| unit * f64::from(t % 24)).collect::<Vec<f64>>();
    check_refused(
        "SEASONAL(24)",
        &day(1e100),
        "samples up to 2.3e101 are too large to fit SEASONAL(24): their variance overflows; divide them by a constant",
    );
    let error = fit(&"SEASONAL(24)".parse().unwrap(), &day(1e-160)).unwrap_err();
    assert!(matches!(error, FitError::TooSmall { .. }), "{error}");
    assert!(fit(&"SEASONAL(24)".parse().unwrap(), &[5.0; 100]).is_ok(), "a constant is none of these");
}

#[test]
fn infinity_is_no_measurement() {
    check_refused(
        "MEAN",
        &[1.0, 2.0, f64::INFINITY],
        "sample 2 is inf, which is not a measurement; mark a missing sample as NaN",
    );
}

#[test]
fn squares_that_overflow_are_refused() {
    for text in ["AR(1)", "AR(1,method=burg)", "LAST", "MEAN", "NWS", "ETS(A,N,N)", "HOLT", "TAR(2)"] {
        // The second lot's sum overflows already.
        for size in [1e300, 1.7e308] {
            let huge: Vec<f64> = (0..50).map(|t| if t % 3 == 0 { size } else { -size }).collect();
            let error = fit(&text.parse().unwrap(), &huge).unwrap_err();
            assert!(matches!(error, FitError::TooLarge { largest, .. } if largest == size), "{text}: {error}");
        }
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
        (1..20).prop_map(|order| format!("AR({order},method=ls)")),
        (1..4).prop_map(|order| format!("AR({order},method=ml)")),
        (0..3, 0..3, 1..3).prop_map(|(p, d, q)| format!("ARIMA({p},{d},{q})")),
        (0..3, 0..2, 1..3).prop_map(|(p, d, q)| format!("ARIMA({p},{d},{q},method=ml)")),
        (0..3, 0..3).prop_map(|(n_phi, n_theta)| format!("ARFIMA({n_phi},d,{n_theta})")),
        (0..3, 0..3).prop_map(|(n_phi, n_theta)| format!("ARFIMA({n_phi},d,{n_theta},method=ml,truncation=50)")),
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

/// One of each linear family and method.
const LINEAR: [&str; 9] = [
    "AR(3)",
    "AR(3,method=burg)",
    "AR(3,method=ls)",
    "AR(3,method=ml)",
    "MA(2)",
    "MA(2,method=ml)",
    "ARMA(2,1)",
    "ARMA(1,1,method=ml)",
    "ARIMA(1,1,1,method=ml)",
];

#[test]
fn the_unit_of_the_samples_is_no_part_of_the_coefficients() {
    let series = ar1(0.6, 300, 21);
    for text in LINEAR {
        let plain = fit(&text.parse().unwrap(), &series).unwrap();
        let inference = Inference::of(&plain, &series).unwrap();
        for unit in [1e-140, 1e-60, 1e60, 1e140] {
            let samples: Vec<f64> = series.iter().map(|sample| sample * unit).collect();
            let scaled = fit(&text.parse().unwrap(), &samples).unwrap();
            for (plain, scaled) in plain.coefficients().iter().zip(scaled.coefficients()) {
                assert!((plain - scaled).abs() < 1e-6, "{text} in {unit:e}: {scaled} is not {plain}");
            }
            let ratio = scaled.innovation_variance() / plain.innovation_variance() / unit / unit;
            assert!((ratio - 1.0).abs() < 1e-6, "{text} in {unit:e}: {ratio}");
            let of_scaled = Inference::of(&scaled, &samples).unwrap();
            let shift = of_scaled.n_samples as f64 * unit.ln();
            let ours = of_scaled.log_likelihood.unwrap() + shift;
            assert!((ours - inference.log_likelihood.unwrap()).abs() < 1e-6 * shift.abs(), "{text} in {unit:e}");
            let last = |inference: &Inference| inference.parameters.last().unwrap().clone();
            let ratio = last(&of_scaled).standard_error.unwrap() / last(&inference).standard_error.unwrap();
            let expected = if text.starts_with("ARIMA") { 1.0 } else { unit };
            assert!((ratio / expected - 1.0).abs() < 1e-3, "{text} in {unit:e}: {ratio}");
        }
    }
}

#[test]
fn what_is_too_small_to_square_is_told_from_a_constant() {
    let tiny: Vec<f64> = ar1(0.6, 100, 21).iter().map(|sample| sample * 1e-300).collect();
    for text in LINEAR {
        let error = fit(&text.parse().unwrap(), &tiny).unwrap_err();
        assert!(matches!(error, FitError::TooSmall { .. }), "{text}: {error}");
        assert!(error.to_string().contains("multiply them by a constant"), "{error}");
    }
}

#[test]
fn what_is_too_large_to_square_is_refused_by_every_method() {
    let huge: Vec<f64> = ar1(0.6, 100, 21).iter().map(|sample| sample * 1e300).collect();
    for text in LINEAR {
        let error = fit(&text.parse().unwrap(), &huge).unwrap_err();
        assert!(matches!(error, FitError::TooLarge { .. }), "{text}: {error}");
    }
}

#[test]
fn every_method_says_what_is_constant_and_what_is_too_short() {
    for text in LINEAR {
        let error = fit(&text.parse().unwrap(), &[0.1; 50]).unwrap_err();
        assert!(matches!(error, FitError::Constant { .. }), "{text}: {error}");
        let error = fit(&text.parse().unwrap(), &[1.0, 2.0, 4.0]).unwrap_err();
        assert!(matches!(error, FitError::TooShort { have: 3, .. }), "{text}: {error}");
    }
}

#[test]
fn small_integers_fit() {
    let integers: Vec<f64> = ar1(0.6, 300, 21).iter().map(|sample| sample.round()).collect();
    let of_two: Vec<f64> = ar1(0.6, 300, 21).iter().map(|sample| f64::from(*sample > 0.0)).collect();
    for text in LINEAR {
        for samples in [&integers, &of_two] {
            let model = fit(&text.parse().unwrap(), samples).unwrap();
            assert!(model.innovation_variance() > 0.0 && Inference::of(&model, samples).is_some(), "{text}");
        }
    }
}

#[test]
fn a_random_walk_in_an_arma_comes_out_all_but_unpredictable() {
    let mut level = 0.0;
    let walk: Vec<f64> = ar1(0.0, 500, 4)
        .iter()
        .map(|step| {
            level += step;
            level
        })
        .collect();
    for text in ["AR(1,method=ls)", "AR(2,method=ml)", "ARMA(1,1)", "ARMA(1,1,method=ml)", "ARMA(2,0)"] {
        let model = fit(&text.parse().unwrap(), &walk).unwrap();
        let sum: f64 = model.coefficients().iter().sum();
        assert!(sum > 0.95 && sum < 1.0, "{text}: {sum}");
        // Unit innovations, of which 500 tell the variance to 6 %.
        assert!((model.innovation_variance() - 1.0).abs() < 0.2, "{text}");
        let far = model.predictor().forecast(50);
        assert!((far.means()[49] - walk[499]).abs() < 3.0 * far.standard_errors()[49], "{text}");
    }
}

#[test]
fn noise_differenced_twice_stays_invertible() {
    let noise = ar1(0.0, 300, 4);
    for text in ["ARIMA(0,2,2)", "ARIMA(0,2,2,method=ml)", "ARIMA(1,2,1)", "ARIMA(1,1,1,method=ml)"] {
        match fit(&text.parse().unwrap(), &noise) {
            Ok(model) => {
                let theta = model.moving_average();
                // At 1 the polynomial of an invertible model is positive.
                assert!(1.0 + theta.iter().sum::<f64>() > 0.0, "{text}: {theta:?}");
                assert!(theta.iter().all(|theta| theta.abs() < 2.0));
            }
            Err(error) => assert!(matches!(error, FitError::DidNotConverge { .. }), "{text}: {error}"),
        }
    }
}

#[test]
fn forty_coefficients_are_found_or_refused() {
    for (samples, text) in [
        (ar1(0.8, 400, 6), "ARMA(20,20)"),
        (ar1(0.0, 150, 7), "ARMA(20,20)"),
        (ar1(0.8, 400, 6), "ARMA(38,2)"),
        (ar1(0.8, 400, 6), "AR(40,method=ls)"),
    ] {
        match fit(&text.parse().unwrap(), &samples) {
            Ok(model) => {
                let power =
                    samples.iter().map(|sample| (sample - model.mean()).powi(2)).sum::<f64>() / samples.len() as f64;
                assert!(model.innovation_variance() < power, "{text}: {model}");
            }
            Err(error) => assert!(error.to_string().contains("lower orders"), "{error}"),
        }
    }
}

#[test]
fn a_wave_is_all_there_is_to_a_wave() {
    let wave: Vec<f64> = (0..300).map(|t| 5.0 + (f64::from(t) * 0.2).sin()).collect();
    for text in ["AR(2,method=ls)", "AR(5,method=ls)", "ARMA(2,1)", "AR(2,method=ml)", "ARMA(2,1,method=ml)"] {
        match fit(&text.parse().unwrap(), &wave) {
            Ok(model) => {
                let forecast = model.predictor().forecast(10);
                for (lead_idx, mean) in forecast.means().iter().enumerate() {
                    let truth = 5.0 + (f64::from(300 + lead_idx as u32) * 0.2).sin();
                    assert!((mean - truth).abs() < 0.05, "{text} lead {}: {mean} for {truth}", lead_idx + 1);
                }
            }
            Err(error) => assert!(matches!(error, FitError::DidNotConverge { .. }), "{text}: {error}"),
        }
    }
}
