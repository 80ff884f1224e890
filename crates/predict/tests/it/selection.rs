//! Selection among candidates.

use predict::{Criterion, NoScore, Spec, select};

use crate::testdata::{ar1, named};

fn specs(texts: &[&str]) -> Vec<Spec> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn aic_picks_the_order_that_r_picks() {
    // ar.mle(lh)$order.
    let ranked = select(&Spec::expand("AR(1..8,method=ml)").unwrap(), &named("lh"), Criterion::Aic);
    assert_eq!(ranked[0].spec.to_string(), "AR(3,method=ml)");
    assert!(ranked.windows(2).all(|pair| pair[0].score.as_ref().unwrap() <= pair[1].score.as_ref().unwrap()));
}

#[test]
fn bic_takes_no_more_coefficients_than_aic() {
    let samples = named("sunspot_year");
    let order = |criterion| {
        let ranked = select(&Spec::expand("AR(1..12,method=burg)").unwrap(), &samples, criterion);
        ranked[0].spec.n_coefficients()
    };
    assert_eq!((order(Criterion::Aic), order(Criterion::Aicc)), (9, 9));
    assert!(order(Criterion::Bic) <= 9);
}

#[test]
fn an_autoregression_is_told_from_noise_and_from_a_walk() {
    let samples = ar1(0.7, 1500, 3);
    let candidates = specs(&["MEAN", "AR(1)", "AR(6)", "LAST"]);
    let by_likelihood = select(&candidates, &samples, Criterion::Bic);
    assert_eq!(by_likelihood[0].spec.to_string(), "AR(1)");
    assert!(matches!(by_likelihood[3].score, Err(NoScore::NoLikelihood { .. })));
    let by_errors = select(&candidates, &samples, Criterion::OutOfSample { n_train: 600, lead: 1 });
    assert_eq!(by_errors[0].spec.n_coefficients().min(1), 1);
    // Unit innovations; the deviation of a mean of 900 squares is 0.05.
    assert!((by_errors[0].score.as_ref().unwrap() - 1.0).abs() < 0.15);
    assert_eq!(by_errors[3].spec, Spec::Mean);
}

#[test]
fn errors_out_of_sample_grow_with_the_lead() {
    let samples = ar1(0.9, 2000, 8);
    let error = |lead| {
        let ranked = select(&[Spec::ar(1)], &samples, Criterion::OutOfSample { n_train: 500, lead });
        ranked[0].score.clone().unwrap()
    };
    // Variances 1 and (1 - 0.9^20) / (1 - 0.81) at leads 1 and 10.
    assert!((error(1) - 1.0).abs() < 0.15 && (error(10) / 4.62 - 1.0).abs() < 0.3, "{} {}", error(1), error(10));
}

#[test]
fn other_differences_are_other_samples() {
    let ranked = select(&specs(&["ARIMA(1,0,0)", "ARIMA(1,1,1)", "AR(2)"]), &named("nile"), Criterion::Aicc);
    assert_eq!(ranked[2].spec.to_string(), "ARIMA(1,1,1)");
    let Err(NoScore::OtherSamples { n_samples: 99, n_other: 100, .. }) = ranked[2].score else {
        panic!("{:?}", ranked[2].score)
    };
}

#[test]
fn what_cannot_be_fitted_says_why_and_comes_last() {
    let ranked = select(&specs(&["AR(200)", "AR(1)"]), &named("lh"), Criterion::Aic);
    assert_eq!(ranked[0].spec, Spec::ar(1));
    let message = ranked[1].score.as_ref().unwrap_err().to_string();
    assert_eq!(message, "AR(200) needs at least 401 samples that are not gaps, but has 48");
}

#[test]
fn a_fit_on_everything_leaves_nothing_to_score() {
    let ranked = select(&[Spec::Last], &[1.0, 2.0, 3.0], Criterion::OutOfSample { n_train: 3, lead: 1 });
    assert!(matches!(ranked[0].score, Err(NoScore::NothingToScore { n_train: 3, n_samples: 3, .. })));
}
