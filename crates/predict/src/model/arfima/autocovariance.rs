//! Exact autocovariances of an ARFIMA process with innovations of variance 1, and their slopes by its coefficients.
//!
//! Those of (1 - B)^-d noise are known (Hosking 1981). The rest of the process is a filter over them in both
//! directions, |theta(B)|^2 / |phi(B)|^2, run as recursions over lags -K to K. They start where 1/phi has died out
//! before it reaches a lag that is asked for, and from what a filter makes of a row that hardly changes there.

use statrs::function::gamma::{digamma, ln_gamma};

use super::coordinates::Point;

/// An impulse response below this no longer shows beside 1.
const RESPONSE_MIN: f64 = 1e-10;

/// The farthest that a response is followed; a partial autocorrelation at the edge of the box is down to 1e-9 there.
const N_RESPONSE_MAX: usize = 50_000;

/// Rows over lags -K to K that autocovariances and slopes are taken from.
pub(super) struct Autocovariances {
    n: usize,
    /// Position of lag 0.
    origin: usize,
    /// gamma.
    whole: Vec<f64>,
    /// theta(F) / |phi|^2 over those of the noise: gamma before its last filter.
    before_theta: Vec<f64>,
}

impl Autocovariances {
    /// Computes the autocovariances of lags up to `n - 1`. `point.d` lies in (-0.5, 0.5), its polynomials in the box.
    pub(super) fn new(point: &Point, n: usize) -> Self {
        let reach = n + n_response(&point.phi) + point.phi.len() + 2 * point.theta.len();
        let mut row = mirrored(&noise(point.d, reach));
        divide_both_ways(&mut row, &point.phi);
        let before_theta = ahead(&row, &point.theta);
        let whole = behind(&before_theta, &point.theta);
        Self { n, origin: reach, whole, before_theta }
    }

    /// gamma(0), …, gamma(n - 1).
    pub(super) fn values(&self) -> &[f64] {
        &self.whole[self.origin..][..self.n]
    }

    /// The sum over lags of a weight times the slope of gamma, by phi, theta and d.
    pub(super) fn weighted_slopes(&self, point: &Point, weights: &[f64]) -> Vec<f64> {
        // d gamma(k) / d phi(i) = c(k - i) + c(-k - i) with c = gamma / phi(B); by theta(j) alike.
        let mut before_phi = self.whole.clone();
        divide_forward(&mut before_phi, &point.phi);
        let slope = |row: &[f64], lag: usize| -> f64 {
            let sum = |k: usize| row[self.origin + k - lag] + row[self.origin - k - lag];
            weights.iter().enumerate().map(|(k, weight)| weight * sum(k)).sum()
        };
        let by_phi = (1..=point.phi.len()).map(|lag| slope(&before_phi, lag));
        let by_theta = (1..=point.theta.len()).map(|lag| slope(&self.before_theta, lag));
        let mut by_d = mirrored(&noise_slope(point.d, self.origin));
        divide_both_ways(&mut by_d, &point.phi);
        let by_d = behind(&ahead(&by_d, &point.theta), &point.theta);
        let by_d = weights.iter().zip(&by_d[self.origin..]).map(|(weight, slope)| weight * slope).sum();
        by_phi.chain(by_theta).chain([by_d]).collect()
    }
}

/// gamma(0), …, gamma(n) of (1 - B)^-d a: gamma(0) = G(1 - 2d) / G(1 - d)^2, gamma(k) = gamma(k-1) (k - 1 + d) / (k -
/// d).
fn noise(d: f64, n: usize) -> Vec<f64> {
    let mut row = vec![(ln_gamma(1.0 - 2.0 * d) - 2.0 * ln_gamma(1.0 - d)).exp()];
    for k in 1..=n {
        row.push(row[k - 1] * (k as f64 - 1.0 + d) / (k as f64 - d));
    }
    row
}

/// The derivatives of `noise` by d.
fn noise_slope(d: f64, n: usize) -> Vec<f64> {
    let row = noise(d, n);
    let mut slopes = vec![2.0 * row[0] * (digamma(1.0 - d) - digamma(1.0 - 2.0 * d))];
    for k in 1..=n {
        let (up, down) = (k as f64 - 1.0 + d, k as f64 - d);
        slopes.push(slopes[k - 1] * up / down + row[k - 1] * (1.0 / down + up / (down * down)));
    }
    slopes
}

/// Lags -K to K from lags 0 to K.
fn mirrored(row: &[f64]) -> Vec<f64> {
    row.iter().skip(1).rev().chain(row).copied().collect()
}

/// Returns the number of lags that 1/phi(B) takes to die out.
fn n_response(phi: &[f64]) -> usize {
    let p = phi.len();
    if p == 0 {
        return 0;
    }
    let mut response = vec![0.0_f64; p];
    response[p - 1] = 1.0;
    while response.len() < N_RESPONSE_MAX {
        let latest = &response[response.len() - p..];
        if latest.iter().all(|value| value.abs() < RESPONSE_MIN) {
            break;
        }
        response.push(phi.iter().zip(latest.iter().rev()).map(|(phi, value)| phi * value).sum());
    }
    response.len()
}

fn divide_both_ways(row: &mut [f64], phi: &[f64]) {
    row.reverse();
    divide_forward(row, phi);
    row.reverse();
    divide_forward(row, phi);
}

/// 1/phi(B) over a row; before it, the row is as it begins.
fn divide_forward(row: &mut [f64], phi: &[f64]) {
    let p = phi.len();
    if p == 0 {
        return;
    }
    let start = row[0] / (1.0 - phi.iter().sum::<f64>());
    for t in 0..p {
        let known: f64 = phi.iter().enumerate().map(|(i, phi)| phi * if i < t { row[t - 1 - i] } else { start }).sum();
        row[t] += known;
    }
    for t in p..row.len() {
        // The latest value comes last, so that the older products are ready when it is.
        let known: f64 = phi.iter().enumerate().rev().map(|(i, phi)| phi * row[t - 1 - i]).sum();
        row[t] += known;
    }
}

/// theta(B) over a row; its first values, which lack a past, are out of everyone's reach.
fn behind(row: &[f64], theta: &[f64]) -> Vec<f64> {
    let mut product = row.to_vec();
    for (idx, coefficient) in theta.iter().enumerate() {
        product.iter_mut().skip(idx + 1).zip(row).for_each(|(value, other)| *value += coefficient * other);
    }
    product
}

/// theta(F) over a row: as `behind`, with the lags ahead.
fn ahead(row: &[f64], theta: &[f64]) -> Vec<f64> {
    let mut product = row.to_vec();
    for (idx, coefficient) in theta.iter().enumerate() {
        product.iter_mut().zip(&row[idx + 1..]).for_each(|(value, other)| *value += coefficient * other);
    }
    product
}
