//! Cost of a fit, counted in operations and never in seconds, so that the same text has the same cost everywhere.
//!
//! An operation is a multiplication with an addition, about one to a nanosecond. The constants come from timing each
//! fit on 600 samples; searches are taken to be as long as they are on series that the model suits.

use crate::spec::{ArMethod, Method, Orders, Spec};

/// A step of an outlook: at each of some twenty watched leads, and now and then a fit of all.
pub(crate) const OF_OUTLOOK: u64 = 6_000;

/// A fit to so many samples.
pub(crate) fn of_fit(spec: &Spec, n_samples: usize) -> u64 {
    let n = n_samples as u64;
    let square = |n: usize| (n as u64).saturating_pow(2);
    let search = |n_coefficients: usize| 170 * square(n_coefficients + 1);
    let per_sample = match spec {
        Spec::Mean => 6,
        Spec::Last => 40,
        Spec::BestMean { window_max } => 40 + *window_max as u64,
        Spec::Ar { order, method: ArMethod::MaximumLikelihood } => 10 * search(*order),
        Spec::Ar { order, method: ArMethod::LeastSquares } => square(*order + 1),
        Spec::Ar { order, .. } => *order as u64,
        Spec::Nws { .. } => 320,
        Spec::Seasonal { .. } => OF_OUTLOOK,
        Spec::Ets { .. } => 1500,
        Spec::Tar { order, .. } => 40 * square(order + 1),
        // The ensemble and the outlook, twice over the window.
        Spec::Auto { budget, .. } => *budget + OF_OUTLOOK,
        Spec::Arfima { n_phi, n_theta, .. } => 40 * search(n_phi + n_theta),
        Spec::Arma { method: Method::MaximumLikelihood, .. }
        | Spec::Arima { method: Method::MaximumLikelihood, .. }
        | Spec::Ma { method: Method::MaximumLikelihood, .. } => 10 * search(spec.n_coefficients()),
        Spec::Refit { model, window, .. } => return of_fit(model, n_samples.min(*window)),
        Spec::Ma { .. } | Spec::Arma { .. } | Spec::Arima { .. } => match spec.orders() {
            Some(Orders { n_phi, n_theta: 0, .. }) => 2 * (n_phi as u64 + 1),
            Some(Orders { n_phi, n_theta, .. }) => search(n_phi + n_theta),
            None => 0,
        },
    };
    per_sample.saturating_mul(n)
}

/// A sample on the way through a predictor, the intervals that are learned from it included, fits aside.
pub(crate) fn of_step(spec: &Spec) -> u64 {
    const COMMON: u64 = 20_000;
    let own = match spec {
        Spec::Auto { budget, .. } => *budget + OF_OUTLOOK,
        Spec::Arfima { truncation, .. } => 4 * *truncation as u64,
        Spec::Nws { .. } => 500,
        Spec::Seasonal { .. } => OF_OUTLOOK,
        Spec::Refit { model, .. } => return of_step(model),
        // 256 paths for each of the leads that are judged.
        Spec::Tar { order, .. } => 256 * 32 * (*order as u64 + 4),
        _ => 32 * spec.n_coefficients() as u64,
    };
    COMMON + own
}

/// Members of an `NWS`, each with a cost a step.
const N_MEMBERS: usize = 22;

/// The bytes that a predictor takes at most, samples for fits to come aside.
pub(crate) fn bytes_of_predictor(spec: &Spec) -> usize {
    const NUMBER: usize = size_of::<f64>();
    /// Bytes of what all predictors have: intervals that are learned, standard errors that are ready.
    const COMMON: usize = 16 << 10;
    let own = match spec {
        Spec::Nws { recent, .. } => NUMBER * N_MEMBERS * recent.unwrap_or(1),
        Spec::BestMean { window_max } => 2 * NUMBER * window_max,
        // Weights, and what they are applied to: written twice.
        Spec::Arfima { truncation, .. } => 3 * NUMBER * truncation,
        // Its candidates, what the weights are made from, and what seasons are found in; then the outlook of one.
        Spec::Auto { window, .. } => (600 << 10) + 6 * NUMBER * window,
        // What was said at each watched lead, the last samples, and those of the longest period.
        Spec::Seasonal { periods } => (400 << 10) + 6 * NUMBER * periods.steps().fold(0.0, f64::max) as usize,
        Spec::Refit { model, window, .. } => return bytes_of_predictor(model) + NUMBER * window,
        _ => 4 * NUMBER * spec.n_coefficients(),
    };
    COMMON + own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_at_least(dear: &str, times: u64, cheap: &str) {
        let cost = |text: &str| of_fit(&text.parse().unwrap(), 600);
        assert!(cost(dear) >= times * cost(cheap), "{dear}: {}, {cheap}: {}", cost(dear), cost(cheap));
    }

    #[test]
    fn searches_cost_more_than_recursions() {
        check_at_least("ARMA(4,4)", 100, "AR(16)");
        check_at_least("ARFIMA(4,d,4)", 10, "ARMA(4,4)");
        check_at_least("AR(4,method=ml)", 100, "AR(4,method=burg)");
    }

    #[test]
    fn a_refit_costs_what_its_window_does() {
        let cost = |text: &str| of_fit(&text.parse().unwrap(), 10_000);
        assert_eq!(cost("REFIT(AR(16),every=100,window=600)"), 16 * 600);
    }
}
