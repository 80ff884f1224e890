//! Reconciliation: forecasts of quantities that add up, made to add up too.

use crate::forecast::Forecast;

/// Sweeps over all sums at most. Sums that share few quantities take about ten.
const N_SWEEPS_MAX: usize = 200;

/// Difference that a sum may have at the end, as a share of the largest of its terms.
const TOLERANCE: f64 = 1e-7;

/// A standard error that is not known counts as this many times the largest that is.
const UNKNOWN: f64 = 1e3;

/// A sum that holds at any moment: weighted quantities that make `total` together.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// The places of forecasts, and their weights.
    pub terms: Vec<(usize, f64)>,
    /// The value of the weighted sum.
    pub total: f64,
}

/// Returns for each forecast, lead by lead, the means at which all sums hold and no mean is outside its range.
///
/// Of all such means it takes the nearest, with squared distances in units of the squared standard errors of their
/// lead; forecasts that are certain (a standard error of 0) stay. That is minimum trace (Wickramasuriya, Athanasopoulos
/// and Hyndman 2019) with the covariance of errors shrunk wholly to its diagonal, found by Dykstra's alternating
/// projections, which heed ranges too. Leads that not all forecasts have are left out, and so are sums with a mean that
/// is not finite.
///
/// Intervals have no part in it: ends that each hold for one quantity do not add up.
#[must_use]
pub fn reconcile(forecasts: &[&Forecast], sums: &[Constraint]) -> Vec<Vec<f64>> {
    let n_leads = forecasts.iter().map(|forecast| forecast.n_leads()).min().unwrap_or(0);
    let mut means = vec![Vec::with_capacity(n_leads); forecasts.len()];
    let mut moving = vec![Moving::default(); forecasts.len()];
    for lead_idx in 0..n_leads {
        let known = |forecast: &&Forecast| Some(forecast.standard_errors[lead_idx]).filter(|error| error.is_finite());
        let largest = forecasts.iter().filter_map(known).fold(f64::MIN_POSITIVE, f64::max);
        for (moving, forecast) in moving.iter_mut().zip(forecasts) {
            let error = known(forecast).map_or(UNKNOWN, |error| error / largest);
            let (min, max) =
                forecast.range.map_or((f64::NEG_INFINITY, f64::INFINITY), |range| (range.lower, range.upper));
            *moving = Moving { mean: forecast.means[lead_idx], variance: error * error, min, max, beyond: 0.0 };
        }
        project(&mut moving, sums);
        for (means, moving) in means.iter_mut().zip(&moving) {
            means.push(moving.mean.clamp(moving.min, moving.max));
        }
    }
    means
}

/// The mean of one forecast at one lead, on its way.
#[derive(Clone, Copy, Debug, Default)]
struct Moving {
    mean: f64,
    variance: f64,
    min: f64,
    max: f64,
    /// Part of the mean that its range cut off in the last sweep.
    beyond: f64,
}

/// Projects means alternately on each sum and on the ranges.
fn project(places: &mut [Moving], sums: &[Constraint]) {
    for _ in 0..N_SWEEPS_MAX {
        let mut is_settled = true;
        for sum in sums {
            let (mut missing, mut variance, mut scale) = (sum.total, 0.0, sum.total.abs());
            for (idx, weight) in &sum.terms {
                let term = weight * places[*idx].mean;
                missing -= term;
                scale = term.abs().max(scale);
                variance += weight * weight * places[*idx].variance;
            }
            if variance == 0.0 || !missing.is_finite() || missing.abs() <= TOLERANCE * scale {
                continue;
            }
            is_settled = false;
            for (idx, weight) in &sum.terms {
                let place = &mut places[*idx];
                place.mean += place.variance * weight / variance * missing;
            }
        }
        if is_settled {
            return;
        }
        for place in places.iter_mut().filter(|place| place.variance > 0.0) {
            let apart = place.mean + place.beyond;
            place.mean = apart.clamp(place.min, place.max);
            place.beyond = apart - place.mean;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reconciled<const N: usize>(given: [(f64, f64); N], sums: &[Constraint]) -> [f64; N] {
        let forecasts = given.map(|(mean, error)| {
            let mut forecast = Forecast::new(vec![mean], vec![error]);
            forecast.cut(0.0, 1.0);
            forecast
        });
        let means = reconcile(&forecasts.each_ref(), sums);
        std::array::from_fn(|idx| means[idx][0])
    }

    #[track_caller]
    fn check<const N: usize>(given: [(f64, f64); N], sums: &[Constraint], right: [f64; N]) {
        let means = reconciled(given, sums);
        assert!(means.iter().zip(right).all(|(mean, right)| (mean - right).abs() < 1e-6), "{means:?}, not {right:?}");
    }

    /// A whole, and two parts.
    fn parts() -> Constraint {
        Constraint { terms: vec![(0, -1.0), (1, 1.0), (2, 1.0)], total: 0.0 }
    }

    #[test]
    fn means_move_by_their_variances() {
        check([(0.5, 0.1), (0.2, 0.1), (0.0, 0.1)], &[parts()], [0.4, 0.3, 0.1]);
        check([(0.5, 0.2), (0.2, 0.1), (0.0, 0.1)], &[parts()], [0.3, 0.25, 0.05]);
        check([(0.5, 0.1), (0.2, f64::INFINITY), (0.0, 0.1)], &[parts()], [0.499_999_7, 0.499_999_4, 0.000_000_3]);
    }

    #[test]
    fn what_is_certain_stays() {
        check([(0.5, 0.1), (0.2, 0.1), (0.0, 0.0)], &[parts()], [0.35, 0.35, 0.0]);
        check([(0.5, 0.0), (0.2, 0.0), (0.0, 0.0)], &[parts()], [0.5, 0.2, 0.0]);
        let means = reconciled([(0.5, 0.1), (f64::NAN, 0.1), (0.0, 0.1)], &[parts()]);
        assert!(means[0] == 0.5 && means[1].is_nan() && means[2] == 0.0, "{means:?}");
    }

    /// Without ranges the parts would be 0.3 and -0.2.
    #[test]
    fn nothing_leaves_its_range() {
        check([(0.1, 0.0), (0.5, 0.1), (0.0, 0.1)], &[parts()], [0.1, 0.1, 0.0]);
        check([(1.0, 0.1), (0.9, 0.1), (0.4, 0.1)], &[parts()], [1.0, 0.75, 0.25]);
    }

    #[test]
    fn several_sums_hold_at_once() {
        let rest = Constraint { terms: vec![(0, 1.0), (3, 1.0)], total: 1.0 };
        let [whole, one, other, idle] =
            reconciled([(0.106, 0.1), (0.624, 0.2), (0.05, 0.02), (0.5, 0.1)], &[parts(), rest]);
        assert!((one + other - whole).abs() < 1e-6 && (whole + idle - 1.0).abs() < 1e-6);
        assert!(whole > 0.106 && one < 0.624, "{whole} {one}");
    }
}
