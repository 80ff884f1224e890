//! Fits that take too long, or that somebody cancels.

use predict::{Cancel, FitError, Spec, fit, fit_within};

/// A search over many more coefficients than the samples tell apart. It is taken to cost 1.1e8 operations, and takes
/// 3.1e8.
const LONG: &str = "ARMA(16,16)";

/// An autoregression with uniform errors.
fn samples(n: usize) -> Vec<f64> {
    let mut state = 1_u64;
    let mut level = 0.0;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        level = 0.8 * level + (state >> 33) as f64 / (1_u64 << 31) as f64 - 0.5;
        level
    };
    (0..n).map(|_| next()).collect()
}

#[test]
fn a_fit_ends_after_as_many_operations_as_it_may_take() {
    let (spec, samples): (Spec, _) = (LONG.parse().unwrap(), samples(600));
    let within = |limit| fit_within(&spec, &samples, limit, &Cancel::new()).map(|_| ());
    let n_samples = samples.len();
    assert!(matches!(within(100_000_000), Err(FitError::TooDear { limit: 100_000_000, .. })));
    assert_eq!(within(150_000_000), Err(FitError::TooLong { spec: spec.clone(), n_samples, limit: 150_000_000 }));
    assert_eq!(within(1_000_000_000), fit(&spec, &samples).map(|_| ()), "it is done by then");
}

#[test]
fn a_cancelled_fit_says_so_whatever_it_searches() {
    let samples = samples(600);
    let cancel = Cancel::new();
    cancel.cancel();
    for text in
        [LONG, "AR(4,method=ml)", "ARMA(2,2,method=ml)", "ARFIMA(1,d,1)", "ETS(A,A,N)", "TAR(3)", "BM(100)", "AUTO"]
    {
        let spec: Spec = text.parse().unwrap();
        assert!(fit(&spec, &samples).is_ok() || text == LONG);
        let cancelled = fit_within(&spec, &samples, u64::MAX, &cancel).map(|_| ());
        assert_eq!(cancelled, Err(FitError::Cancelled { spec }));
    }
}
