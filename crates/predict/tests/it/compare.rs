//! The comparison of two forecasters against R (the script is `testdata/predict/compare/reference.R`).

use predict::{CompareError, Loss, Variance, compare};
use proptest::prelude::*;

use crate::testdata::{named, text};

/// Errors of the mean of the last `width` samples, at most four, `lead` steps ahead.
fn errors(samples: &[f64], lead: usize, width: usize) -> Vec<f64> {
    let origins = 3..samples.len() - lead;
    let mean = |origin: usize| samples[origin + 1 - width..=origin].iter().sum::<f64>() / width as f64;
    origins.map(|origin| samples[origin + lead] - mean(origin)).collect()
}

/// Losses whose plain variance at lead 2 is negative.
fn alternating() -> (Vec<f64>, Vec<f64>) {
    let first = (1..=20).map(|t| if t % 2 == 1 { 1.0 } else { 3.0 } + f64::from(t) / 100.0);
    (first.collect(), vec![2.0; 20])
}

#[track_caller]
fn check(series: &str) {
    let reference = text("predict/compare/reference.csv");
    let lines: Vec<Vec<&str>> = reference.lines().map(|line| line.split(',').collect()).collect();
    let lines: Vec<_> = lines.iter().filter(|line| line[0] == series).collect();
    assert!(!lines.is_empty(), "no line of {series}");
    for line in lines {
        let lead = line[1].parse().unwrap();
        let loss = if line[2] == "squared" { Loss::Squared } else { Loss::Absolute };
        let variance = if line[3] == "bartlett" { Variance::Bartlett } else { Variance::Rectangular };
        let (first, second) = match series {
            "alternating" => alternating(),
            name => (errors(&named(name), lead, 1), errors(&named(name), lead, 4)),
        };
        let ours = compare(&first, &second, lead, loss).unwrap();
        assert_eq!((ours.n.to_string().as_str(), ours.variance), (line[4], variance), "{line:?}");
        for (ours, theirs) in [ours.difference, ours.statistic, ours.p_value].iter().zip(&line[5..]) {
            let theirs: f64 = theirs.parse().unwrap();
            // R prints 15 digits; differences of squares that cancel lose three of them.
            assert!((ours - theirs).abs() < 1e-12 * theirs.abs().max(1.0), "{ours} in {line:?}");
        }
    }
}

#[test]
fn nile_is_as_r_has_it() {
    check("nile");
}

#[test]
fn lake_huron_is_as_r_has_it() {
    check("lake_huron");
}

#[test]
fn sunspots_are_as_r_has_them() {
    check("sunspots");
}

#[test]
fn dow_jones_is_as_r_has_it() {
    check("dow_jones");
}

#[test]
fn a_negative_variance_is_replaced_and_said() {
    check("alternating");
}

#[test]
fn the_order_turns_the_sign_and_nothing_else() {
    let (last, mean) = (errors(&named("nile"), 2, 1), errors(&named("nile"), 2, 4));
    let ours = compare(&last, &mean, 2, Loss::Squared).unwrap();
    let turned = compare(&mean, &last, 2, Loss::Squared).unwrap();
    assert_eq!(
        (turned.difference, turned.statistic, turned.p_value),
        (-ours.difference, -ours.statistic, ours.p_value)
    );
}

#[test]
fn a_moment_without_both_errors_is_a_gap() {
    let (mut first, second) = (errors(&named("nile"), 1, 1), errors(&named("nile"), 1, 4));
    let shorter = compare(&first[1..], &second[1..], 1, Loss::Squared).unwrap();
    first[0] = f64::NAN;
    assert_eq!(compare(&first, &second, 1, Loss::Squared).unwrap(), shorter);
}

#[test]
fn errors_of_any_size_compare_alike() {
    let (first, second) = (errors(&named("nile"), 2, 1), errors(&named("nile"), 2, 4));
    let ours = compare(&first, &second, 2, Loss::Squared).unwrap();
    for scale in [2.0_f64.powi(900), 2.0_f64.powi(-900)] {
        let scaled = |errors: &[f64]| errors.iter().map(|error| error * scale).collect::<Vec<_>>();
        let theirs = compare(&scaled(&first), &scaled(&second), 2, Loss::Squared).unwrap();
        assert_eq!((theirs.statistic, theirs.p_value), (ours.statistic, ours.p_value));
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let refused = |first: &[f64], second: &[f64], lead| compare(first, second, lead, Loss::Squared).unwrap_err();
    assert_eq!(refused(&[1.0; 3], &[1.0; 4], 1), CompareError::Unequal { first: 3, second: 4 });
    assert_eq!(refused(&[1.0; 9], &[1.0; 9], 0), CompareError::NoLead);
    assert_eq!(refused(&[1.0; 9], &[1.0; 9], 5), CompareError::TooShort { lead: 5, have: 9, need: 10 });
    assert_eq!(refused(&[f64::NAN; 9], &[1.0; 9], 1), CompareError::TooShort { lead: 1, have: 0, need: 8 });
    assert_eq!(refused(&[0.1; 9], &[0.3; 9], 1), CompareError::Constant);
    assert_eq!(refused(&[0.0; 9], &[0.0; 9], 1), CompareError::Constant);
}

proptest! {
    #[test]
    fn any_errors_give_a_probability_or_a_reason(
        pairs in prop::collection::vec((any::<f64>(), any::<f64>()), 0..40),
        scale in prop_oneof![Just(1.0), Just(1e-300), Just(f64::NAN)],
        lead in 0..12_usize,
    ) {
        let (first, second): (Vec<f64>, Vec<f64>) = pairs.into_iter().map(|(a, b)| (a * scale, b)).unzip();
        for loss in [Loss::Squared, Loss::Absolute] {
            if let Ok(comparison) = compare(&first, &second, lead, loss) {
                prop_assert!((0.0..=1.0).contains(&comparison.p_value), "{:?}", comparison);
            }
        }
    }
}
