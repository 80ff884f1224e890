//! The greatest exact likelihood of an ARMA model.
//!
//! With the mean and the innovation variance put where they make it greatest, -2 log L is n log S plus the sum of log
//! F(t), but for a constant: the logarithm of the sum of squares of e(t) / sqrt(F(t)) times the n-th root of the
//! product of all sqrt(F) (Ansley 1979). So the search for it is the search for a least sum of squares, in the same box
//! of reflection coefficients. The likelihood is level across the unit circle in theta, so a walk to the wall of the
//! box loses nothing.

use super::css::{Css, REFLECTION_MAX, phi_and_theta};
use super::innovations::expected_errors;
use super::likelihood::{Likelihood, Mean, likelihood};
use super::process::Process;
use super::{Gaps, bridge, counts, difference, unit};
use crate::effort::spend;
use crate::fit::FitError;
use crate::model::linear::{Estimates, Linear, dot};
use crate::model::sample::{Centred, power_of_differences};
use crate::optimize::levenberg_marquardt::{Problem, minimize};
use crate::optimize::positive_definite::inverse;
use crate::spec::{Orders, Spec};

/// Steps of each search for a least conditional sum, which costs a hundredth of one step of this search.
const N_STEPS_CONDITIONAL: usize = 60;

/// Number of the likeliest starts that get a short search; by its end it shows which leads highest.
const N_STARTS: usize = 3;
const N_STEPS_SHORT: usize = 12;

/// Most fits take 5 to 40; an over-parametrized one hundreds.
const N_STEPS_MAX: usize = 1000;

/// Step of difference quotients by reflection coefficients: the cube root of rounding, where its error is least.
const STEP: f64 = 1e-5;

pub(super) fn fit(spec: &Spec, samples: &[f64], orders: Orders) -> Result<Linear, FitError> {
    let centred = Centred::of(spec, samples)?;
    let row = difference(&centred.deviations, orders.n_differences);
    let have = row.iter().filter(|value| !value.is_nan()).count();
    let need = spec.n_samples_min() - orders.n_differences;
    if have < need {
        return Err(FitError::TooBroken { spec: spec.clone(), have, need });
    }
    let unit = unit(power_of_differences(spec, &row, orders.n_differences)?);
    let row = row.iter().map(|value| value / unit).collect();
    let mean = if orders.n_differences == 0 { Mean::Free } else { Mean::Known(0.0) };
    let problem = Exact { row, n_phi: orders.n_phi, mean };
    let scaled: Vec<f64> = centred.deviations.iter().map(|deviation| deviation / unit).collect();
    let starts = starts(&scaled, orders);
    let (phi, theta, best) = problem.solve(starts).ok_or_else(|| FitError::DidNotConverge { spec: spec.clone() })?;
    let estimates = Estimates {
        phi,
        theta,
        n_differences: orders.n_differences,
        mean: centred.mean + unit * best.mean,
        innovation_variance: unit * unit * best.innovation_variance(),
        fraction: None,
    };
    Ok(resumed(estimates, samples))
}

/// The state after `samples` as all of them together let expect it.
fn resumed(estimates: Estimates, samples: &[f64]) -> Linear {
    if estimates.theta.is_empty() {
        return Linear::new(estimates, samples);
    }
    let deviations: Vec<f64> = samples.iter().map(|sample| sample - estimates.mean).collect();
    let row = difference(&deviations, estimates.n_differences);
    match Process::new(&estimates.phi, &estimates.theta) {
        Some(process) => {
            let mut errors = vec![0.0; estimates.n_differences];
            errors.extend(expected_errors(&process, &row));
            Linear::with_errors(estimates, samples, &errors)
        }
        None => Linear::new(estimates, samples),
    }
}

/// Returns the parameters where the conditional sum of squares is low.
fn starts(deviations: &[f64], orders: Orders) -> Vec<Vec<f64>> {
    let bridged = difference(&bridge(deviations), orders.n_differences);
    let css = Css::new(bridged, counts(deviations, orders, Gaps::Bridged), orders, false);
    css.ends(N_STEPS_CONDITIONAL).into_iter().map(|end| end.parameters).collect()
}

/// A row of samples, NaN in gaps, and the orders to fit to it.
struct Exact {
    row: Vec<f64>,
    n_phi: usize,
    mean: Mean,
}

impl Exact {
    /// phi, theta and what the samples say to them.
    fn solve(&self, starts: Vec<Vec<f64>>) -> Option<(Vec<f64>, Vec<f64>, Likelihood)> {
        let mut residuals = Vec::new();
        let mut rated: Vec<(f64, Vec<f64>)> = Vec::new();
        for start in starts {
            if self.residuals(&start, &mut residuals) {
                rated.push((dot(&residuals, &residuals), start));
            }
        }
        rated.sort_by(|one, other| one.0.total_cmp(&other.0));
        let short = rated.into_iter().take(N_STARTS).filter_map(|(_, start)| minimize(self, start, N_STEPS_SHORT));
        let best = short.min_by(|one, other| one.sum_of_squares.total_cmp(&other.sum_of_squares))?;
        let found = if best.has_converged { best } else { minimize(self, best.parameters, N_STEPS_MAX)? };
        if !found.has_converged {
            return None;
        }
        let (phi, theta) = phi_and_theta(&found.parameters, self.n_phi);
        let best = likelihood(&self.row, &phi, &theta, self.mean)?;
        Some((phi, theta, best))
    }
}

impl Problem for Exact {
    fn residuals(&self, parameters: &[f64], residuals: &mut Vec<f64>) -> bool {
        // The filter takes a step for each sample, and the covariances that it starts from are a system of equations.
        let n = parameters.len() + 1;
        if !spend(4 * self.row.len() * n + n.pow(3)) {
            return false;
        }
        let (phi, theta) = phi_and_theta(parameters, self.n_phi);
        let Some(found) = likelihood(&self.row, &phi, &theta, self.mean) else {
            return false;
        };
        let root = (0.5 * found.log_variances / found.n() as f64).exp();
        let innovations = found.innovations.errors.iter().zip(&found.innovations.variances);
        residuals.clear();
        residuals.extend(innovations.map(|(error, variance)| error / variance.sqrt() * root));
        residuals.iter().all(|residual| residual.is_finite())
    }

    fn jacobian(&self, parameters: &[f64], residuals: &[f64], rows: &mut Vec<f64>) {
        let n = parameters.len();
        rows.clear();
        rows.resize(residuals.len() * n, 0.0);
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for idx in 0..n {
            // An autoregression does not exist beyond the box; a moving average does.
            let room = if idx < self.n_phi { 0.5 * (1.0 - parameters[idx].abs()) } else { STEP };
            let step = STEP.min(room);
            let mut aside = parameters.to_vec();
            aside[idx] = parameters[idx] + step;
            let is_above = self.residuals(&aside, &mut above);
            aside[idx] = parameters[idx] - step;
            if !is_above || !self.residuals(&aside, &mut below) {
                continue;
            }
            for (t, (above, below)) in above.iter().zip(&below).enumerate() {
                rows[t * n + idx] = (above - below) / (2.0 * step);
            }
        }
    }

    fn bound(&self, _idx: usize) -> f64 {
        REFLECTION_MAX
    }
}

/// The inverse of the curvature of -log L at the estimates, by phi, theta and the mean, as R's `arima`; `row` is about
/// the mean. `None` where the likelihood is level, as on the unit circle.
pub(super) fn covariances(estimates: &Estimates, row: &[f64]) -> Option<Vec<f64>> {
    let Estimates { phi, theta, n_differences, .. } = estimates;
    let mean_is_free = *n_differences == 0;
    let mut at: Vec<f64> = phi.iter().chain(theta).copied().collect();
    let mut steps = vec![1e-4; at.len()];
    if mean_is_free {
        let free = likelihood(row, phi, theta, Mean::Free)?;
        at.push(0.0);
        // A small part of the standard error, so that the step has the unit of the samples.
        steps.push(0.01 * (free.innovation_variance() / free.mean_weight).sqrt());
    }
    let n = at.len();
    let surprise = |at: &[f64]| -> Option<f64> {
        let (phi, rest) = at.split_at(phi.len());
        let (theta, mean) = rest.split_at(theta.len());
        let mean = mean.first().copied().unwrap_or(0.0);
        Some(-likelihood(row, phi, theta, Mean::Known(mean))?.logarithm())
    };
    let moved = |moves: &[(usize, f64)]| {
        let mut aside = at.clone();
        moves.iter().for_each(|(idx, times)| aside[*idx] += times * steps[*idx]);
        surprise(&aside)
    };
    let here = surprise(&at)?;
    let mut aside = Vec::with_capacity(n);
    for i in 0..n {
        aside.push(moved(&[(i, 1.0)])? + moved(&[(i, -1.0)])?);
    }
    let mut curvature = vec![0.0; n * n];
    for i in 0..n {
        curvature[i * n + i] = (aside[i] - 2.0 * here) / (steps[i] * steps[i]);
        for j in 0..i {
            let both = moved(&[(i, 1.0), (j, 1.0)])? + moved(&[(i, -1.0), (j, -1.0)])?;
            curvature[i * n + j] = (both - aside[i] - aside[j] + 2.0 * here) / (2.0 * steps[i] * steps[j]);
        }
    }
    inverse(curvature, n)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = include_str!("../../../../../testdata/predict/ml/reference.csv");

    fn theirs(series: &str, model: &str, quantity: &str) -> Vec<f64> {
        let prefix = format!("{series},\"{model}\",{quantity},");
        let rows = TABLE.lines().filter_map(|line| line.strip_prefix(&prefix));
        rows.map(|row| row.split_once(',').unwrap().1.parse().unwrap()).collect()
    }

    fn samples(name: &str) -> Vec<f64> {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/");
        let (path, n) = match name {
            "lynx" | "www_usage" => (format!("{root}predict/ml/{name}.csv"), usize::MAX),
            "ec2_first_600" => (format!("{root}nab/ec2_cpu_utilization_5f5533.csv"), 600),
            "lh_gaps" => (format!("{root}predict/ar/lh.csv"), usize::MAX),
            _ => (format!("{root}predict/ar/{name}.csv"), usize::MAX),
        };
        let text = std::fs::read_to_string(path).unwrap();
        let values = text.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse().unwrap());
        let mut samples: Vec<f64> = values.take(n).collect();
        if name == "lh_gaps" {
            [4, 5, 19, 32, 33, 34, 35].into_iter().for_each(|idx: usize| samples[idx] = f64::NAN);
        }
        samples
    }

    /// The likelihood and the forecasts at R's estimates.
    #[track_caller]
    fn check_at_estimates_of_r(series: &str, (p, d, q): (usize, usize, usize)) {
        let (model, samples) = (format!("ARIMA({p},{d},{q})"), samples(series));
        let get = |quantity: &str| theirs(series, &model, quantity);
        let (phi, theta, mean) = (get("phi"), get("theta"), get("mean").first().copied().unwrap_or(0.0));
        assert_eq!((phi.len(), theta.len()), (p, q));
        let deviations: Vec<f64> = samples.iter().map(|sample| sample - mean).collect();
        let found = likelihood(&difference(&deviations, d), &phi, &theta, Mean::Known(0.0)).unwrap();
        let expected = get("log_likelihood")[0];
        // R's start of the filter is good to about this; its differenced likelihood is exact.
        assert!(
            (found.logarithm() - expected).abs() < 1e-8 * expected.abs(),
            "{model}: {} is not {expected}",
            found.logarithm()
        );
        let estimates = Estimates {
            phi,
            theta,
            n_differences: d,
            mean,
            innovation_variance: found.innovation_variance(),
            fraction: None,
        };
        let (mut means, mut standard_errors) = (Vec::new(), vec![0.0; 10]);
        resumed(estimates, &samples).forecast_into(0, &mut means, &mut standard_errors);
        // With differences R's first level is uncertain by a variance of a million, not of infinity.
        let tolerance = if d == 0 { 1e-8 } else { 1e-5 };
        for (ours, theirs) in means.iter().zip(get("forecast")) {
            assert!((ours - theirs).abs() < tolerance * theirs.abs(), "{series} {model}: {ours} is not {theirs}");
        }
    }

    #[test]
    fn short_series_are_as_likely_as_r_says() {
        for order in [(1, 0, 0), (3, 0, 0), (0, 0, 1), (1, 0, 1)] {
            check_at_estimates_of_r("lh", order);
        }
        check_at_estimates_of_r("lake_huron", (2, 0, 0));
        check_at_estimates_of_r("lake_huron", (1, 0, 1));
    }

    #[test]
    fn series_with_gaps_are_as_likely_as_r_says() {
        for order in [(3, 0, 0), (1, 0, 1), (0, 0, 1)] {
            check_at_estimates_of_r("lh_gaps", order);
        }
    }

    #[test]
    fn differenced_series_are_as_likely_as_r_says() {
        check_at_estimates_of_r("nile", (0, 1, 1));
        check_at_estimates_of_r("nile", (1, 1, 1));
        check_at_estimates_of_r("www_usage", (3, 1, 0));
        check_at_estimates_of_r("www_usage", (1, 1, 1));
        check_at_estimates_of_r("ec2_first_600", (4, 1, 4));
    }

    #[test]
    fn high_orders_and_cycles_are_as_likely_as_r_says() {
        check_at_estimates_of_r("sunspot_year", (2, 0, 0));
        check_at_estimates_of_r("sunspot_year", (4, 0, 2));
        check_at_estimates_of_r("lynx", (11, 0, 0));
        check_at_estimates_of_r("ec2_first_600", (2, 0, 2));
        check_at_estimates_of_r("ec2_first_600", (8, 0, 8));
    }
}
