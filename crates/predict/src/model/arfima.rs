//! ARFIMA: an ARMA of the series differenced a fraction d of a time, -0.5 < d < 0.5, which the fit estimates.
//!
//! Both methods start alike: Whittle's approximate likelihood is searched from several fractions, and the conditional
//! sum of squares from where that led. `css` ends there; `ml` goes on to the exact Gaussian likelihood.

mod autocovariance;
mod coordinates;
mod css;
pub(crate) mod inference;
mod likelihood;
mod scoring;
mod toeplitz;
mod whittle;

use super::arma::{bridge, hannan_rissanen};
use super::linear::{Estimates, Fraction, Linear};
use super::sample::Centred;
use crate::fit::FitError;
use crate::spec::{Method, Orders, Spec};
use coordinates::{Coordinates, Point};
use css::Css;
use likelihood::Likelihood;
use scoring::{Limits, Maximum, maximize, maximize_knowing};
use whittle::Whittle;

/// The fractions that are taken: at 0.5 the process is no longer stationary, at -0.5 no longer invertible.
const FRACTION_RANGE: (f64, f64) = (-0.499, 0.499);

/// Range in which the sum of squares is searched to tell a fraction near the edge from one beyond it.
const FRACTION_RANGE_WIDE: (f64, f64) = (-1.2, 1.5);

/// Log-likelihood ratio that a fraction beyond the edge needs over the edge itself: a likelihood ratio test at 1 in
/// 100.
const LOG_RATIO_MIN: f64 = 3.32;

/// Fractions that searches start from.
const STARTS: [f64; 4] = [0.0, 0.2, 0.45, -0.25];

/// Limits of a short search; by its end it shows where a start leads.
const SHORT: Limits = Limits { n_steps: 4, gain_left: 1e-2 };

/// Whittle's steps cost a fifth of those that come after.
const ROUGH: Limits = Limits { n_steps: 30, gain_left: 1e-2 };

/// Most searches take 5 to 30 steps. What may be left puts every coefficient within a thousandth of its standard error.
const LONG: Limits = Limits { n_steps: 150, gain_left: 5e-7 };

/// Near enough to go on with another likelihood.
const NEAR: Limits = Limits { n_steps: 150, gain_left: 5e-4 };

/// Steps of the exact likelihood are dear. What may be left is a seventieth of a standard error.
const EXACT: Limits = Limits { n_steps: 80, gain_left: 1e-4 };

/// Beyond so many samples a Levinson recursion takes a tenth of a second, and the exact likelihood and the sum of
/// squares are greatest at the same coefficients to a small part of their standard errors: `ml` stops at the latter.
const N_EXACT_MAX: usize = 20_000;

/// Samples in gaps are bridged by straight lines; their errors do not count in the sum of squares, and the exact
/// likelihood takes them for measured.
pub(crate) fn fit(
    spec: &Spec,
    samples: &[f64],
    orders: Orders,
    method: Method,
    truncation: usize,
) -> Result<Linear, FitError> {
    let Scaled { row, is_known, scale, level } = Scaled::of(spec, samples)?;
    let found = Search { spec, orders, row: &row }.solve(&is_known, method)?;
    let estimates = Estimates {
        fraction: Some(Fraction { d: found.point.d, truncation }),
        mean: level + found.mean * scale,
        innovation_variance: found.innovation_variance * scale * scale,
        phi: found.point.phi,
        theta: found.point.theta,
        n_differences: 0,
    };
    Ok(Linear::new(estimates, samples))
}

/// Samples as level + scale * row.
struct Scaled {
    /// Samples of mean 0 and power 1, gaps bridged.
    row: Vec<f64>,
    is_known: Vec<bool>,
    scale: f64,
    level: f64,
}

impl Scaled {
    /// # Errors
    /// Samples that do not vary, or whose squares overflow.
    fn of(spec: &Spec, samples: &[f64]) -> Result<Self, FitError> {
        let centred = Centred::of(spec, samples)?;
        let scale = centred.power.sqrt();
        let row = bridge(&centred.deviations).iter().map(|deviation| deviation / scale).collect();
        let is_known = samples.iter().map(|sample| !sample.is_nan()).collect();
        Ok(Self { row, is_known, scale, level: centred.mean })
    }
}

/// The subject of a fit: a row of samples, scaled.
struct Search<'a> {
    spec: &'a Spec,
    orders: Orders,
    row: &'a [f64],
}

/// A solution in units of the row.
struct Solution {
    point: Point,
    mean: f64,
    innovation_variance: f64,
}

impl Search<'_> {
    /// Solves from the most promising start that leads to convergence, and no lower than any before it led. An end at
    /// the edge of the fraction's range is taken only when no start leads higher.
    fn solve(&self, is_known: &[bool], method: Method) -> Result<Solution, FitError> {
        let mut whittle = Whittle::new(self.row, self.orders.n_phi.max(self.orders.n_theta));
        let mut css = Css::new(self.row, is_known, self.orders.n_phi);
        let is_exact = method == Method::MaximumLikelihood && self.row.len() <= N_EXACT_MAX;
        let (mut edge, mut reached) = (None::<Maximum>, f64::NEG_INFINITY);
        for start in self.starts(&mut whittle, &mut css) {
            let rough = maximize(&mut whittle, Coordinates::of(&start, FRACTION_RANGE), ROUGH);
            let start = Point { mean: Some(0.0), ..rough.map_or(start, |rough| rough.point) };
            let limits = if is_exact { NEAR } else { LONG };
            let Some(least) = maximize(&mut css, Coordinates::of(&start, FRACTION_RANGE), limits) else { continue };
            if edge.as_ref().is_some_and(|edge| least.value < edge.value) {
                continue;
            }
            if least.point.d <= FRACTION_RANGE.0 || least.point.d >= FRACTION_RANGE.1 {
                edge = Some(least);
                continue;
            }
            match self.finish(&mut css, least, is_exact) {
                Some((best, solution)) if best.has_converged && best.value >= reached => return Ok(solution),
                Some((other, _)) => reached = reached.max(other.value),
                None => {}
            }
        }
        if let Some(edge) = &edge {
            self.check_edge(&mut css, edge)?;
        }
        let at_edge = edge.and_then(|edge| self.finish(&mut css, edge, is_exact));
        let converged = at_edge.filter(|(best, _)| best.has_converged).map(|(_, solution)| solution);
        converged.ok_or_else(|| FitError::DidNotConverge { spec: self.spec.clone() })
    }

    /// The ends of short searches of Whittle's likelihood, the likeliest first.
    fn starts(&self, whittle: &mut Whittle, css: &mut Css) -> Vec<Point> {
        let short = STARTS.into_iter().filter_map(|d| {
            let start = Coordinates::of(&self.hannan_rissanen(css, d), FRACTION_RANGE);
            maximize(whittle, start, SHORT)
        });
        let mut ends: Vec<Maximum> = short.collect();
        ends.sort_by(|one, other| other.value.total_cmp(&one.value));
        ends.into_iter().map(|maximum| maximum.point).collect()
    }

    /// The ARMA that Hannan and Rissanen's regressions find in the row differenced `d` times; without coefficients
    /// where they find none.
    fn hannan_rissanen(&self, css: &mut Css, d: f64) -> Point {
        let Orders { n_phi, n_theta, .. } = self.orders;
        let n_long = n_phi.max(n_theta) + (10.0 * (self.row.len() as f64).log10()) as usize;
        let found = match n_phi + n_theta {
            0 => None,
            _ => hannan_rissanen::estimate(&css.differenced(d), n_phi, n_theta, n_long),
        };
        let coefficients = found.unwrap_or_else(|| vec![0.0; n_phi + n_theta]);
        let (phi, theta) = coefficients.split_at(n_phi);
        Point { phi: phi.to_vec(), theta: theta.to_vec(), d, mean: None }
    }

    /// # Errors
    /// A fraction beyond the range fits much better than its edge.
    fn check_edge(&self, css: &mut Css, edge: &Maximum) -> Result<(), FitError> {
        let beyond = maximize(css, Coordinates::of(&edge.point, FRACTION_RANGE_WIDE), LONG);
        match beyond.filter(|beyond| beyond.value - edge.value > LOG_RATIO_MIN) {
            Some(beyond) => Err(FitError::FractionOutside { spec: self.spec.clone(), d: beyond.point.d }),
            None => Ok(()),
        }
    }

    /// The least sum of squares itself or, `is_exact`, the greatest likelihood near it.
    fn finish(&self, css: &mut Css, least: Maximum, is_exact: bool) -> Option<(Maximum, Solution)> {
        if !is_exact {
            let solution = css.solution(&least.point);
            return Some((least, solution));
        }
        let excess = least.excess_without_mean();
        let start = Coordinates::of(&Point { mean: None, ..least.point }, FRACTION_RANGE);
        let mut likelihood = Likelihood::new(self.row, css);
        let best = maximize_knowing(&mut likelihood, start, excess, EXACT)?;
        let solution = likelihood.solution(&best.point)?;
        Some((best, solution))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: &str = include_str!("../../../../testdata/predict/arfima/reference.csv");
    const NILE: &str = include_str!("../../../../testdata/predict/ar/nile.csv");
    const LH: &str = include_str!("../../../../testdata/predict/ar/lh.csv");
    const LONG_MEMORY: (&str, &str) =
        ("simulated_1d1", include_str!("../../../../testdata/predict/arfima/simulated_1d1.csv"));
    const ANTIPERSISTENT: (&str, &str) =
        ("simulated_antipersistent", include_str!("../../../../testdata/predict/arfima/simulated_antipersistent.csv"));

    fn samples(text: &str) -> Vec<f64> {
        text.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect()
    }

    fn theirs(series: &str, at: &str, quantity: &str) -> Vec<f64> {
        let prefix = format!("{series},\"{at}\",{quantity},");
        let rows = REFERENCE.lines().filter_map(|line| line.strip_prefix(&prefix));
        rows.map(|row| row.split_once(',').unwrap().1.parse().unwrap()).collect()
    }

    /// Compares with R, which uses Cholesky's factor instead of Levinson's recursion: both lose a few digits of sixteen
    /// to the sums of n terms.
    #[track_caller]
    fn check_exact(series: &str, text: &str, at: &str, point: &Point) {
        let row = samples(text);
        let mut css = Css::new(&row, &vec![true; row.len()], point.phi.len());
        let mut likelihood = Likelihood::new(&row, &mut css);
        let ours = likelihood.at(point).unwrap();
        let (log_likelihood, mean) =
            (theirs(series, at, "exact_log_likelihood")[0], theirs(series, at, "exact_mean")[0]);
        assert!((ours.log_likelihood - log_likelihood).abs() < 1e-8, "{} is not {log_likelihood}", ours.log_likelihood);
        assert!((ours.mean / mean - 1.0).abs() < 1e-8, "{} is not {mean}", ours.mean);
    }

    #[test]
    fn nile_is_as_likely_as_r_says() {
        let point = Point { phi: vec![0.5, -0.2], theta: vec![0.3], d: 0.2, mean: None };
        check_exact("nile", NILE, "at(0.5,-0.2;0.2;0.3)", &point);
    }

    #[test]
    fn lh_is_as_likely_as_r_says() {
        let point = Point { phi: vec![0.99, -0.05], theta: vec![-0.6], d: -0.35, mean: None };
        check_exact("lh", LH, "at(0.99,-0.05;-0.35;-0.6)", &point);
    }

    /// A predictor that weighs the last 300 samples, and takes the mean for older ones, against the best linear
    /// predictor from all 1,000. A mean that is off by a tenth of the standard error adds a hundredth to the mean
    /// squared error.
    #[track_caller]
    fn check_predictor((name, text): (&str, &str), d: f64, variance_error_max: f64) {
        let at = format!("at(0.5;{d};0.3)");
        let estimates = Estimates {
            phi: vec![0.5],
            theta: vec![0.3],
            fraction: Some(Fraction { d, truncation: 300 }),
            innovation_variance: 1.0,
            ..Estimates::default()
        };
        let (mut means, mut errors) = (Vec::new(), [0.0; 30]);
        Linear::new(estimates, &samples(text)).forecast_into(0, &mut means, &mut errors);
        let (best, variances) = (theirs(name, &at, "forecast"), theirs(name, &at, "forecast_variance"));
        for lead_idx in 0..30 {
            let off = (means[lead_idx] - best[lead_idx]).abs() / errors[lead_idx];
            assert!(off < 0.1, "d {d} lead {}: {off} standard errors", lead_idx + 1);
            let ratio = errors[lead_idx].powi(2) / variances[lead_idx];
            assert!((ratio - 1.0).abs() < variance_error_max, "d {d} lead {}: {ratio}", lead_idx + 1);
        }
    }

    #[test]
    fn antipersistence_loses_little_to_the_truncation() {
        check_predictor(ANTIPERSISTENT, -0.3, 1e-3);
    }

    #[test]
    fn mild_long_memory_loses_little_to_the_truncation() {
        check_predictor(LONG_MEMORY, 0.2, 1e-3);
    }

    #[test]
    fn strong_long_memory_loses_little_to_the_truncation() {
        check_predictor(LONG_MEMORY, 0.45, 5e-3);
    }
}
