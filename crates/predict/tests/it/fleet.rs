//! A fleet says, for each of its series, what a predictor of that series alone says, to the last bit.

use predict::{FitError, Fleet, Predictor, Spec, fit};
use proptest::prelude::*;

use crate::testdata::{Noise, ar1, fitted};

const N_LEADS: usize = 30;

/// Linear models, whose series lie side by side, and others, which step one by one.
const MODELS: [&str; 15] = [
    "AR(1)",
    "AR(4)",
    "AR(6,method=burg)",
    "MA(3)",
    "ARMA(2,1)",
    "ARIMA(1,1,1)",
    "ARIMA(0,2,5)",
    "LAST",
    "BM(8)",
    "ARFIMA(1,d,0)",
    "ETS(A,N,N)",
    "TAR(2)",
    "NWS",
    "AUTO(every=9,window=80)",
    "REFIT(AR(3),every=7,window=40)",
];

fn rows(n_series: usize, n_samples: usize) -> Vec<Vec<f64>> {
    (0..n_series).map(|idx| ar1(0.9 - 0.03 * (idx % 40) as f64, n_samples, 100 + idx as u64)).collect()
}

/// Each row by itself.
fn predictors(spec: &Spec, rows: &[Vec<f64>]) -> Vec<Result<Predictor, FitError>> {
    rows.iter().map(|row| fit(spec, row).map(|model| model.predictor())).collect()
}

fn forecast(fleet: &Fleet, n_leads: usize) -> (Vec<f64>, Vec<f64>) {
    // Nothing that is there before may remain.
    let (mut means, mut errors) = (vec![7.0; fleet.len() * n_leads], vec![7.0; fleet.len() * n_leads]);
    fleet.forecast_into(n_leads, &mut means, &mut errors);
    (means, errors)
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

#[track_caller]
fn check_alike(fleet: &Fleet, singles: &[Result<Predictor, FitError>], n_leads: usize) {
    let (means, errors) = forecast(fleet, n_leads);
    for (idx, single) in singles.iter().enumerate() {
        let of_series = idx * n_leads..(idx + 1) * n_leads;
        let (means, errors) = (&means[of_series.clone()], &errors[of_series]);
        match single {
            Ok(single) => {
                let expected = single.forecast(n_leads);
                assert_eq!(bits(means), bits(expected.means()), "means of series {idx} under {}", fleet.spec());
                assert_eq!(bits(errors), bits(expected.standard_errors()), "errors of series {idx}");
                assert_eq!(fleet.predictor(idx).unwrap().forecast(n_leads), expected);
            }
            Err(error) => {
                assert_eq!(fleet.failure(idx), Some(error));
                assert!(means.iter().chain(errors).all(|number| number.is_nan()), "series {idx} has no model");
            }
        }
    }
}

fn step_alike(fleet: &mut Fleet, singles: &mut [Result<Predictor, FitError>], samples: &[f64]) {
    fleet.step(samples);
    for (single, sample) in singles.iter_mut().zip(samples) {
        if let Ok(single) = single {
            single.step(*sample);
        }
    }
}

/// A sample, or sometimes a gap, or sometimes something that is no measurement.
fn sample() -> impl Strategy<Value = f64> {
    prop_oneof![8 => -9.0..9.0_f64, 2 => Just(f64::NAN), 1 => Just(f64::INFINITY), 1 => Just(0.0)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_fleet_is_its_predictors(
        model in prop::sample::select(MODELS.to_vec()),
        n_series in 0_usize..10,
        without_model in prop::option::of(0_usize..10),
        stream in prop::collection::vec(prop::collection::vec(sample(), 10), 0..30),
        n_leads in 0_usize..80,
    ) {
        let mut rows = rows(n_series, 60);
        if let Some(row) = without_model.and_then(|idx| rows.get_mut(idx)) {
            row.truncate(1);
        }
        let spec: Spec = model.parse().unwrap();
        let mut fleet = Fleet::fit(&spec, &rows);
        let mut singles = predictors(&spec, &rows);
        check_alike(&fleet, &singles, n_leads);
        for samples in &stream {
            step_alike(&mut fleet, &mut singles, &samples[..n_series]);
        }
        check_alike(&fleet, &singles, n_leads);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    // So many series that the work is divided.
    for (model, n_series) in [("AR(3)", 5000), ("REFIT(AR(2),every=2,window=30)", 100)] {
        let rows = rows(n_series, 40);
        let with_threads = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            pool.install(|| {
                let mut fleet = Fleet::fit(&model.parse().unwrap(), &rows);
                let mut noise = Noise::seeded(5);
                for _ in 0..3 {
                    fleet.step(&(0..rows.len()).map(|_| noise.normal()).collect::<Vec<_>>());
                }
                let (means, errors) = forecast(&fleet, 5);
                (bits(&means), bits(&errors))
            })
        };
        let alone = with_threads(1);
        assert!(alone == with_threads(2) && alone == with_threads(4), "{model}");
    }
}

#[test]
fn a_long_gap_in_one_series_widens_its_errors_alone() {
    let rows = rows(6, 100);
    let spec: Spec = "ARIMA(1,1,1)".parse().unwrap();
    let (mut fleet, mut singles) = (Fleet::fit(&spec, &rows), predictors(&spec, &rows));
    for _ in 0..100 {
        step_alike(&mut fleet, &mut singles, &[0.5, 0.5, 0.5, f64::NAN, 0.5, 0.5]);
    }
    check_alike(&fleet, &singles, N_LEADS);
    let (_, errors) = forecast(&fleet, 1);
    assert!(errors[3] > 1.5 * errors[2], "{errors:?}");
}

#[test]
fn a_series_without_a_model_joins_when_its_fit_succeeds() {
    let mut rows = rows(5, 80);
    let whole = std::mem::take(&mut rows[2]);
    let spec: Spec = "ARMA(1,1)".parse().unwrap();
    let (mut fleet, mut singles) = (Fleet::fit(&spec, &rows), predictors(&spec, &rows));
    for t in 0..7 {
        step_alike(&mut fleet, &mut singles, &[f64::from(t); 5]);
    }
    assert!(matches!(fleet.failure(2), Some(FitError::TooShort { have: 0, .. })));
    assert_eq!(fleet.refit(2, &whole), Ok(()));
    singles[2] = Ok(fitted("ARMA(1,1)", &whole).predictor());
    assert_eq!(fleet.failure(2), None);
    for t in 0..7 {
        step_alike(&mut fleet, &mut singles, &[f64::from(t), 1.0, 2.0, f64::NAN, 0.0]);
        check_alike(&fleet, &singles, N_LEADS);
    }
}

#[test]
fn a_refit_that_fails_leaves_the_series_as_it_was() {
    for model in ["AR(2)", "LAST"] {
        let mut fleet = Fleet::fit(&model.parse().unwrap(), &rows(3, 50));
        let before = forecast(&fleet, N_LEADS);
        assert!(fleet.refit(1, &[1.0]).is_err());
        assert_eq!(forecast(&fleet, N_LEADS), before, "{model}");
    }
}

#[test]
#[should_panic(expected = "a predictor of AR(2) cannot join a fleet of AR(1)")]
fn a_predictor_of_another_specification_is_kept_out() {
    let mut fleet = Fleet::fit(&Spec::ar(1), &rows(2, 50));
    fleet.replace(0, fitted("AR(2)", &ar1(0.5, 50, 1)).predictor());
}

#[test]
fn a_predictor_taken_out_and_put_back_changes_nothing() {
    let mut fleet = Fleet::fit(&"ARMA(1,2)".parse().unwrap(), &rows(6, 80));
    (0..5).for_each(|t| fleet.step(&[f64::from(t); 6]));
    let before = forecast(&fleet, N_LEADS);
    let taken = fleet.predictor(4).unwrap();
    assert_eq!(fleet.replace(4, taken), None);
    assert_eq!(forecast(&fleet, N_LEADS), before);
}

#[test]
fn a_fleet_is_saved_and_restored_predictor_by_predictor() {
    let spec: Spec = "ARMA(1,1)".parse().unwrap();
    let mut fleet = Fleet::fit(&spec, &rows(5, 80));
    (0..5).for_each(|t| fleet.step(&[f64::from(t); 5]));
    let mut restored = Fleet::vacant(&spec, 5);
    for idx in 0..5 {
        let saved = fleet.predictor(idx).unwrap().save();
        let reason = restored.replace(idx, Predictor::restore(&saved).unwrap());
        assert!(matches!(reason, Some(FitError::TooShort { have: 0, .. })));
    }
    assert_eq!(forecast(&restored, N_LEADS), forecast(&fleet, N_LEADS));
}
