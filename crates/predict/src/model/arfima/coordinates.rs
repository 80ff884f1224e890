//! Coordinates of a search: Fisher's z of partial autocorrelations in the place of coefficients, each inside a box.
//!
//! A polynomial has its roots outside the unit circle exactly when its partial autocorrelations r lie in (-1, 1)
//! (Barndorff-Nielsen and Schou 1973), so that a box keeps the process stationary and invertible. Close to the circle
//! what counts is by which factor 1 - |r| changes, and that is what z = artanh r measures.
//!
//! Several partial autocorrelations near 1 bring roots far nearer to the circle than any of them is to 1. So that no
//! process takes longer to forget than anyone watches it for, the polynomial with these partial autocorrelations is one
//! in rho B.

use super::super::arma::polynomial::stabilize;
use super::super::arma::reflection;

/// The coefficients of an ARFIMA, in the order of every gradient here: phi, theta, d, and the mean where it is free.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) phi: Vec<f64>,
    pub(super) theta: Vec<f64>,
    pub(super) d: f64,
    pub(super) mean: Option<f64>,
}

impl Point {
    pub(super) fn n_parameters(&self) -> usize {
        self.phi.len() + self.theta.len() + 1 + usize::from(self.mean.is_some())
    }
}

/// rho: a process with its root there takes 2,000 steps to forget two thirds. On host load sampled once a second, which
/// the kernel averages over 15 minutes, the root is 0.9989.
const ROOT_MAX: f64 = 0.9995;

/// Limit on the partial autocorrelations of the polynomial in rho B; 1 itself is infinitely far away.
const REFLECTION_MAX: f64 = 0.9999;

/// A place in the box.
#[derive(Clone, Debug)]
pub(super) struct Coordinates {
    n_phi: usize,
    n_theta: usize,
    /// z of phi(B), then of theta(-B), d, and the mean where it is free.
    values: Vec<f64>,
    d_range: (f64, f64),
}

impl Coordinates {
    /// The place of a point, drawn into the box where it lies outside.
    pub(super) fn of(point: &Point, d_range: (f64, f64)) -> Self {
        let negated: Vec<f64> = point.theta.iter().map(|coefficient| -coefficient).collect();
        let mut values: Vec<f64> = transformed(&point.phi).chain(transformed(&negated)).collect();
        values.push(point.d);
        values.extend(point.mean);
        let mut coordinates = Self { n_phi: point.phi.len(), n_theta: point.theta.len(), values, d_range };
        coordinates.clamp();
        coordinates
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn point(&self) -> Point {
        let (phi, theta) = (self.phi().0, self.theta().0);
        let (d, mean) =
            (self.values[self.n_phi + self.n_theta], self.values.get(self.n_phi + self.n_theta + 1).copied());
        Point { phi, theta, d, mean }
    }

    /// Moved by `step`, as far as the box allows.
    pub(super) fn moved(&self, step: &[f64]) -> Self {
        let mut moved = self.clone();
        moved.values.iter_mut().zip(step).for_each(|(value, step)| *value += step);
        moved.clamp();
        moved
    }

    /// The step from another place to here.
    pub(super) fn minus(&self, other: &Self) -> Vec<f64> {
        self.values.iter().zip(&other.values).map(|(here, there)| here - there).collect()
    }

    /// Whether the box is in the way of moving coordinate `idx` along a slope.
    pub(super) fn is_held(&self, idx: usize, slope: f64) -> bool {
        let (low, high) = self.range(idx);
        (self.values[idx] <= low && slope < 0.0) || (self.values[idx] >= high && slope > 0.0)
    }

    /// d(point) / d(coordinates), row after row: block-diagonal, square.
    pub(super) fn slopes(&self) -> Vec<f64> {
        let n = self.len();
        let mut slopes = vec![0.0; n * n];
        for idx in self.n_phi + self.n_theta..n {
            slopes[idx * n + idx] = 1.0;
        }
        let mut place = |start: usize, block: &[f64], n_block: usize| {
            for (row, values) in block.chunks_exact(n_block.max(1)).enumerate() {
                slopes[(start + row) * n + start..][..n_block].copy_from_slice(values);
            }
        };
        place(0, &self.phi().1, self.n_phi);
        place(self.n_phi, &self.theta().1, self.n_theta);
        slopes
    }

    fn phi(&self) -> (Vec<f64>, Vec<f64>) {
        coefficients(&self.values[..self.n_phi])
    }

    fn theta(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut theta, mut slopes) = coefficients(&self.values[self.n_phi..][..self.n_theta]);
        theta.iter_mut().chain(&mut slopes).for_each(|value| *value = -*value);
        (theta, slopes)
    }

    fn range(&self, idx: usize) -> (f64, f64) {
        match idx.checked_sub(self.n_phi + self.n_theta) {
            None => (-REFLECTION_MAX.atanh(), REFLECTION_MAX.atanh()),
            Some(0) => self.d_range,
            Some(_) => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    fn clamp(&mut self) {
        for idx in 0..self.len() {
            let (low, high) = self.range(idx);
            self.values[idx] = self.values[idx].clamp(low, high);
        }
    }
}

/// The coefficients in B of the polynomial with partial autocorrelations tanh z in rho B, and their derivatives by z,
/// row after row.
fn coefficients(z: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let partial: Vec<f64> = z.iter().map(|z| z.tanh()).collect();
    let (mut values, mut slopes) = (reflection::coefficients(&partial), reflection::slopes(&partial));
    for ((value, row), power) in values.iter_mut().zip(slopes.chunks_exact_mut(z.len().max(1))).zip(powers(ROOT_MAX)) {
        *value *= power;
        row.iter_mut().zip(&partial).for_each(|(slope, partial)| *slope *= power * (1.0 - partial * partial));
    }
    (values, slopes)
}

/// The way back; coefficients with roots too far in are drawn outward.
fn transformed(coefficients: &[f64]) -> impl Iterator<Item = f64> {
    let mut drawn: Vec<f64> =
        coefficients.iter().zip(powers(1.0 / ROOT_MAX)).map(|(value, power)| value * power).collect();
    stabilize(&mut drawn);
    let partial = reflection::reflections(&drawn).unwrap_or_else(|| vec![0.0; drawn.len()]);
    partial.into_iter().map(f64::atanh)
}

/// base, base^2, …
fn powers(base: f64) -> impl Iterator<Item = f64> {
    std::iter::successors(Some(base), move |power| Some(power * base))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point() -> Point {
        Point { phi: vec![1.2, -0.5, 0.1], theta: vec![0.4, 0.3], d: 0.2, mean: Some(3.0) }
    }

    #[test]
    fn a_point_is_found_again() {
        let again = Coordinates::of(&point(), (-0.5, 0.5)).point();
        let flat = |point: &Point| [&point.phi[..], &point.theta, &[point.d, point.mean.unwrap()]].concat();
        // A few operations of rounding.
        assert!(flat(&again).iter().zip(flat(&point())).all(|(one, other)| (one - other).abs() < 1e-14), "{again:?}");
    }

    #[test]
    fn slopes_are_those_of_the_coefficients() {
        let at = Coordinates::of(&point(), (-0.5, 0.5));
        let (n, slopes) = (at.len(), at.slopes());
        let flat = |point: Point| [&point.phi[..], &point.theta, &[point.d, point.mean.unwrap()]].concat();
        let here = flat(at.point());
        for column in 0..n {
            let mut step = vec![0.0; n];
            step[column] = 1e-7;
            let there = flat(at.moved(&step).point());
            for row in 0..n {
                // The polynomials' second derivatives are of order 1, and so is rounding over the step.
                let quotient = (there[row] - here[row]) / 1e-7;
                assert!((slopes[row * n + column] - quotient).abs() < 1e-6, "{row} by {column}");
            }
        }
    }

    #[test]
    fn explosive_coefficients_are_drawn_into_the_box() {
        let explosive = Point { phi: vec![3.0, -4.0], theta: vec![f64::NAN, -7.0], d: 0.9, mean: None };
        let drawn = Coordinates::of(&explosive, (-0.4, 0.4)).point();
        assert!(drawn.phi[1].abs() < 1.0 && drawn.theta.iter().all(|coefficient| coefficient.abs() < 2.0), "{drawn:?}");
        assert_eq!(drawn.d, 0.4);
    }
}
