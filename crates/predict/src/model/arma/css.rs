//! The conditional sum of squares of an ARMA model: errors before the first predictable sample are 0.
//!
//! The search goes over reflection coefficients, among which the stationary and invertible models are a box. The least
//! sum of an over-parametrized model often lies outside of them; the search then ends at a wall of the box.

use std::ops::Range;

use super::hannan_rissanen;
use super::lagged::{Lagged, products};
use super::polynomial::{is_stable, stabilize};
use super::reflection;
use crate::effort::spend;
use crate::model::linear::dot;
use crate::optimize::levenberg_marquardt::{Minimum, NormalEquations, Problem, minimize};
use crate::optimize::positive_definite::{cholesky, inverse, solve};
use crate::spec::Orders;

/// Steps of a short search; by its end it shows which start leads to the least sum.
const N_STEPS_SHORT: usize = 14;

/// Enough for orders of 40; most fits take 5 to 50.
const N_STEPS_MAX: usize = 1000;

/// A root is held this far from the unit circle at least. What such a root remembers takes a million steps to fade,
/// which no series here can tell from never; and all that is computed from it keeps half of its digits.
pub(super) const REFLECTION_MAX: f64 = 1.0 - 1e-6;

/// A row of samples and the orders to fit to it.
pub(super) struct Css {
    row: Vec<f64>,
    /// Whether the error of each sample counts; those in gaps do not.
    counts: Vec<bool>,
    /// The stretches from `n_phi` on that count.
    runs: Vec<Range<usize>>,
    n_phi: usize,
    n_theta: usize,
    mean_is_free: bool,
}

/// The least sum of squares that was found.
pub(super) struct Solution {
    pub(super) phi: Vec<f64>,
    pub(super) theta: Vec<f64>,
    /// Mean of the row; 0 unless it is free.
    pub(super) mean: f64,
    /// Sum of squares over the number of errors that count.
    pub(super) innovation_variance: f64,
}

/// phi(1), …, theta(1), …, and the mean, as one row.
struct Parts {
    phi: Vec<f64>,
    theta: Vec<f64>,
    mean: f64,
}

impl Parts {
    fn joined(self, mean_is_free: bool) -> Vec<f64> {
        self.phi.into_iter().chain(self.theta).chain(mean_is_free.then_some(self.mean)).collect()
    }
}

impl Css {
    pub(super) fn new(row: Vec<f64>, counts: Vec<bool>, orders: Orders, mean_is_free: bool) -> Self {
        let runs = runs(&counts, orders.n_phi);
        Self { row, counts, runs, n_phi: orders.n_phi, n_theta: orders.n_theta, mean_is_free }
    }

    /// A short search from every start, and a long one from the best of their ends; `None` when that does not converge.
    ///
    /// Without moving averages the sum is that of a regression, and its solution is the only minimum. It is the answer
    /// when it is stationary, and where the search starts when it is not.
    pub(super) fn solve(&self) -> Option<Solution> {
        if let Some(found) = self.regression().filter(|found| is_stable(found.phi.iter().copied())) {
            return Some(found);
        }
        let short = self.ends(N_STEPS_SHORT);
        let best = short.into_iter().min_by(|one, other| one.sum_of_squares.total_cmp(&other.sum_of_squares))?;
        let found = if best.has_converged { best } else { self.search(best.parameters, N_STEPS_MAX)? };
        found.has_converged.then(|| self.solution(&found))
    }

    /// Returns the ends of searches of so many steps from every start. The two ways lead into different valleys, and
    /// either may be the deeper.
    pub(super) fn ends(&self, n_steps: usize) -> Vec<Minimum> {
        let both = |start: Vec<f64>| [minimize(self, start.clone(), n_steps), self.search(start, n_steps)];
        self.starts().into_iter().flat_map(both).flatten().collect()
    }

    /// Searches among the coefficients themselves, in which the errors bend less, until a wall of the box stops it;
    /// from there among the reflection coefficients, along the wall.
    fn search(&self, start: Vec<f64>, n_steps_max: usize) -> Option<Minimum> {
        let plain = self.parts(&start).joined(self.mean_is_free);
        // Many reflections close to a wall are lost to rounding on their way through the coefficients and back.
        let start = minimize(&Inside(self), plain, n_steps_max).map_or(start, |inside| {
            let Parts { phi, theta, mean } = Inside(self).parts(&inside.parameters);
            self.parameters(&phi, &theta, mean)
        });
        minimize(self, start, n_steps_max)
    }

    /// The least squares of an autoregression, stationary or not; `None` for a model with moving averages, and where
    /// the lagged rows depend on each other.
    fn regression(&self) -> Option<Solution> {
        if self.n_theta > 0 {
            return None;
        }
        let (p, n) = (self.n_phi, self.n_parameters());
        let lagged = Lagged::new(&self.row, p);
        let block = products(&lagged, &lagged, &self.runs);
        let mut equations = NormalEquations::default();
        equations.clear(n);
        let NormalEquations { products: gram, gradient: side } = &mut equations;
        for i in 0..p {
            gram[i * n..=i * n + i].copy_from_slice(&block[i * p..=i * p + i]);
            side[i] = lagged.product(i + 1, &self.row, &self.runs);
        }
        if self.mean_is_free {
            let ones = vec![1.0; self.row.len()];
            (0..p).for_each(|i| gram[p * n + i] = lagged.product(i + 1, &ones, &self.runs));
            gram[p * n + p] = self.n_errors() as f64;
            side[p] = self.runs.iter().flat_map(|run| &self.row[run.clone()]).sum();
        }
        // A factor with a pivot lost to rounding would solve other equations than these.
        let diagonal: Vec<f64> = (0..n).map(|i| gram[i * n + i]).collect();
        cholesky(gram, n)?;
        let is_regular = (0..n).all(|i| gram[i * n + i].powi(2) > 1e-12 * diagonal[i]);
        solve(gram, n, side);
        let mean = if self.mean_is_free { side[p] / (1.0 - side[..p].iter().sum::<f64>()) } else { 0.0 };
        let parts = Parts { phi: side[..p].to_vec(), theta: Vec::new(), mean };
        let mut errors = Vec::new();
        self.errors(&parts, &mut errors);
        let innovation_variance = dot(&errors, &errors) / self.n_errors() as f64;
        (is_regular && innovation_variance.is_finite()).then_some(Solution {
            phi: parts.phi,
            theta: Vec::new(),
            mean,
            innovation_variance,
        })
    }

    /// Hannan and Rissanen's estimates with two lengths of the long autoregression, near which the least sum usually
    /// lies, and zeros, which are never far from some minimum.
    fn starts(&self) -> Vec<Vec<f64>> {
        let zeros = vec![0.0; self.n_parameters()];
        let long = self.n_phi.max(self.n_theta) + (10.0 * (self.row.len() as f64).log10()) as usize;
        let regressed = [long, 2 * long].into_iter().filter_map(|n_long| {
            let start = hannan_rissanen::estimate(&self.row, self.n_phi, self.n_theta, n_long)?;
            Some(self.parameters(&start[..self.n_phi], &start[self.n_phi..], 0.0))
        });
        regressed.chain(std::iter::once(zeros)).collect()
    }

    pub(super) fn n_parameters(&self) -> usize {
        self.n_phi + self.n_theta + usize::from(self.mean_is_free)
    }

    /// Returns the cost of one look at the errors, and at their slopes, without which there is none: in operations.
    fn look_cost(&self) -> usize {
        let n = self.n_parameters() + 1;
        8 * self.row.len() * n + n.pow(3)
    }

    /// Returns the number of errors to be minimized.
    pub(super) fn n_errors(&self) -> usize {
        self.runs.iter().map(ExactSizeIterator::len).sum()
    }

    /// The reflection coefficients of phi and of -theta, drawn into the box where they lie outside, and the mean.
    fn parameters(&self, phi: &[f64], theta: &[f64], mean: f64) -> Vec<f64> {
        let reflections = |coefficients: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
            let mut coefficients: Vec<f64> = coefficients.collect();
            stabilize(&mut coefficients);
            let found = reflection::reflections(&coefficients).unwrap_or_else(|| vec![0.0; coefficients.len()]);
            found.into_iter().map(|reflection| reflection.clamp(-REFLECTION_MAX, REFLECTION_MAX)).collect()
        };
        let mut parameters = reflections(&mut phi.iter().copied());
        parameters.extend(reflections(&mut theta.iter().map(|coefficient| -coefficient)));
        parameters.extend(self.mean_is_free.then_some(mean));
        parameters
    }

    fn parts(&self, parameters: &[f64]) -> Parts {
        let (reflections, mean) = parameters.split_at(self.n_phi + self.n_theta);
        let (phi, theta) = phi_and_theta(reflections, self.n_phi);
        Parts { phi, theta, mean: mean.first().copied().unwrap_or(0.0) }
    }

    fn solution(&self, minimum: &Minimum) -> Solution {
        let Parts { phi, theta, mean } = self.parts(&minimum.parameters);
        Solution { phi, theta, mean, innovation_variance: minimum.sum_of_squares / self.n_errors() as f64 }
    }

    /// The errors of all samples, 0 where they do not count.
    fn errors(&self, parts: &Parts, errors: &mut Vec<f64>) {
        let p = self.n_phi;
        errors.clear();
        errors.resize(p, 0.0);
        let constant = parts.mean * (1.0 - parts.phi.iter().sum::<f64>());
        errors.extend(self.row[p..].iter().map(|value| value - constant));
        for (i, phi) in parts.phi.iter().enumerate() {
            let lagged = &self.row[p - 1 - i..];
            errors[p..].iter_mut().zip(lagged).for_each(|(error, value)| *error -= phi * value);
        }
        divide(&parts.theta, &self.counts, [errors]);
    }

    /// The derivatives of all errors by phi, theta and the mean themselves, one error after the other.
    fn slopes(&self, parts: &Parts, errors: &[f64]) -> Vec<f64> {
        let Parts { phi, theta, mean } = parts;
        let (n, n_columns) = (self.row.len(), self.n_parameters());
        let mut rows = vec![0.0; n * n_columns];
        for t in (self.n_phi..n).filter(|t| self.counts[*t]) {
            let (earlier, row) = rows[..(t + 1) * n_columns].split_at_mut(t * n_columns);
            for lag in 1..=self.n_phi {
                row[lag - 1] = mean - self.row[t - lag];
            }
            for lag in 1..=self.n_theta.min(t) {
                row[self.n_phi + lag - 1] = -errors[t - lag];
            }
            if self.mean_is_free {
                row[n_columns - 1] = phi.iter().sum::<f64>() - 1.0;
            }
            // 1/theta(B) runs over all derivatives side by side.
            for (lag, coefficient) in theta.iter().enumerate().take(t - self.n_phi) {
                let known = &earlier[(t - 1 - lag) * n_columns..][..n_columns];
                row.iter_mut().zip(known).for_each(|(slope, known)| *slope -= coefficient * known);
            }
        }
        rows
    }

    /// (J'J)^-1 by phi, theta and the mean, where the mean is 0; `None` when the errors do not depend on all of them.
    pub(super) fn inverse_products(&self, phi: &[f64], theta: &[f64]) -> Option<Vec<f64>> {
        let parts = Parts { phi: phi.to_vec(), theta: theta.to_vec(), mean: 0.0 };
        let (mut errors, mut equations) = (Vec::new(), NormalEquations::default());
        self.errors(&parts, &mut errors);
        equations.of(&self.slopes(&parts, &errors), &errors, self.n_parameters());
        inverse(equations.products, self.n_parameters())
    }

    /// Writes the normal equations by phi, theta and the mean themselves.
    fn equations(&self, parts: &Parts, errors: &[f64], equations: &mut NormalEquations) {
        equations.gradient = self.gradient(parts, errors);
        equations.products = self.products(parts, errors);
    }

    /// The derivatives of the sum of squares, halved, by phi, theta and the mean: 1/theta(B) runs backward over the
    /// errors, and what it leaves meets the lagged rows.
    fn gradient(&self, parts: &Parts, errors: &[f64]) -> Vec<f64> {
        let p = self.n_phi;
        let (by_values, by_errors) = (Lagged::new(&self.row, p), Lagged::new(errors, self.n_theta));
        let mut adjoint: Vec<f64> = errors[p..].iter().rev().copied().collect();
        let counts: Vec<bool> = self.counts[p..].iter().rev().copied().collect();
        divide(&parts.theta, &counts, [&mut adjoint]);
        adjoint.extend(std::iter::repeat_n(0.0, p));
        adjoint.reverse();
        let all = p..self.row.len();
        let sum: f64 = adjoint.iter().sum();
        let meets = |lagged: &Lagged, lag: usize| lagged.product(lag, &adjoint, std::slice::from_ref(&all));
        let mut gradient: Vec<f64> = (1..=p).map(|lag| parts.mean * sum - meets(&by_values, lag)).collect();
        gradient.extend((1..=self.n_theta).map(|lag| -meets(&by_errors, lag)));
        gradient.extend(self.mean_is_free.then(|| sum * (parts.phi.iter().sum::<f64>() - 1.0)));
        gradient
    }

    /// J'J by phi, theta and the mean, lower half. The derivatives by phi(i) and theta(j) are two rows that 1/theta(B)
    /// has run over once, read at lags i and j. For theta that is exact. For phi it takes the first p samples for
    /// predictable too, a difference that fades as errors do.
    fn products(&self, parts: &Parts, errors: &[f64]) -> Vec<f64> {
        let (p, q, n) = (self.n_phi, self.n_theta, self.n_parameters());
        let mut by_phi: Vec<f64> = self.row.iter().map(|value| parts.mean - value).collect();
        let mut by_theta: Vec<f64> = errors.iter().map(|error| -error).collect();
        let mut by_mean = vec![0.0; p];
        by_mean.resize(self.row.len(), parts.phi.iter().sum::<f64>() - 1.0);
        divide(&parts.theta, &self.counts, [&mut by_phi, &mut by_theta, &mut by_mean]);
        let (by_phi, by_theta) = (Lagged::new(&by_phi, p), Lagged::new(&by_theta, q));
        let mut matrix = vec![0.0; n * n];
        let mut place = |(i0, j0): (usize, usize), block: &[f64], width: usize| {
            for (i, values) in block.chunks_exact(width.max(1)).enumerate() {
                matrix[(i0 + i) * n + j0..][..width].copy_from_slice(values);
            }
        };
        place((0, 0), &products(&by_phi, &by_phi, &self.runs), p);
        place((p, 0), &products(&by_theta, &by_phi, &self.runs), p);
        place((p, p), &products(&by_theta, &by_theta, &self.runs), q);
        if self.mean_is_free {
            let last = &mut matrix[(n - 1) * n..];
            (0..p).for_each(|i| last[i] = by_phi.product(i + 1, &by_mean, &self.runs));
            (0..q).for_each(|j| last[p + j] = by_theta.product(j + 1, &by_mean, &self.runs));
            last[n - 1] = dot(&by_mean, &by_mean);
        }
        matrix
    }

    /// Returns the matrix that turns derivatives by phi and theta into derivatives by reflection coefficients: the two
    /// blocks of a block diagonal matrix, each with where it starts.
    fn turns(&self, parameters: &[f64]) -> [(Range<usize>, Vec<f64>); 2] {
        let (p, n) = (self.n_phi, self.n_phi + self.n_theta);
        let mut of_theta = reflection::slopes(&parameters[p..n]);
        of_theta.iter_mut().for_each(|slope| *slope = -*slope);
        [(0..p, reflection::slopes(&parameters[..p])), (p..n, of_theta)]
    }
}

/// The coefficients that belong to reflection coefficients, those of phi first.
pub(super) fn phi_and_theta(reflections: &[f64], n_phi: usize) -> (Vec<f64>, Vec<f64>) {
    let (phi, theta) = reflections.split_at(n_phi);
    let mut theta = reflection::coefficients(theta);
    theta.iter_mut().for_each(|coefficient| *coefficient = -*coefficient);
    (reflection::coefficients(phi), theta)
}

/// `row` times a block of [`Css::turns`], in its place.
fn turn(row: &mut [f64], block: &[f64]) {
    let n = row.len();
    let turned = |k: usize| (0..n).map(|i| row[i] * block[i * n + k]).sum();
    let turned: Vec<f64> = (0..n).map(turned).collect();
    row.copy_from_slice(&turned);
}

impl Problem for Css {
    fn residuals(&self, parameters: &[f64], residuals: &mut Vec<f64>) -> bool {
        let may_look = spend(self.look_cost());
        if may_look {
            self.errors(&self.parts(parameters), residuals);
        }
        may_look
    }

    fn jacobian(&self, parameters: &[f64], residuals: &[f64], rows: &mut Vec<f64>) {
        *rows = self.slopes(&self.parts(parameters), residuals);
        for (range, block) in &self.turns(parameters) {
            rows.chunks_exact_mut(self.n_parameters().max(1)).for_each(|row| turn(&mut row[range.clone()], block));
        }
    }

    fn normal_equations(&self, parameters: &[f64], residuals: &[f64], equations: &mut NormalEquations) {
        let n = self.n_parameters();
        self.equations(&self.parts(parameters), residuals, equations);
        mirror(&mut equations.products, n);
        for (range, block) in &self.turns(parameters) {
            turn(&mut equations.gradient[range.clone()], block);
            equations.products.chunks_exact_mut(n.max(1)).for_each(|row| turn(&mut row[range.clone()], block));
            let mut column = vec![0.0; range.len()];
            for j in 0..n {
                (0..column.len()).for_each(|i| column[i] = equations.products[(range.start + i) * n + j]);
                turn(&mut column, block);
                (0..column.len()).for_each(|i| equations.products[(range.start + i) * n + j] = column[i]);
            }
        }
    }

    fn bound(&self, idx: usize) -> f64 {
        if idx < self.n_phi + self.n_theta { REFLECTION_MAX } else { f64::INFINITY }
    }
}

/// The same sum of squares, among the coefficients themselves.
struct Inside<'c>(&'c Css);

impl Inside<'_> {
    fn parts(&self, at: &[f64]) -> Parts {
        let (phi, rest) = at.split_at(self.0.n_phi);
        let (theta, mean) = rest.split_at(self.0.n_theta);
        Parts { phi: phi.to_vec(), theta: theta.to_vec(), mean: mean.first().copied().unwrap_or(0.0) }
    }
}

impl Problem for Inside<'_> {
    fn residuals(&self, at: &[f64], residuals: &mut Vec<f64>) -> bool {
        let parts = self.parts(at);
        let negative: Vec<f64> = parts.theta.iter().map(|coefficient| -coefficient).collect();
        let is_inside = [&parts.phi, &negative].into_iter().all(|coefficients| {
            let reflections = reflection::reflections(coefficients);
            reflections.is_some_and(|them| them.iter().all(|reflection| reflection.abs() <= REFLECTION_MAX))
        });
        let is_inside = is_inside && spend(self.0.look_cost());
        if is_inside {
            self.0.errors(&parts, residuals);
        }
        is_inside
    }

    fn jacobian(&self, at: &[f64], residuals: &[f64], rows: &mut Vec<f64>) {
        *rows = self.0.slopes(&self.parts(at), residuals);
    }

    fn normal_equations(&self, at: &[f64], residuals: &[f64], equations: &mut NormalEquations) {
        self.0.equations(&self.parts(at), residuals, equations);
    }
}

fn mirror(matrix: &mut [f64], n: usize) {
    for i in 0..n {
        (i + 1..n).for_each(|j| matrix[i * n + j] = matrix[j * n + i]);
    }
}

fn runs(counts: &[bool], start: usize) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for t in (start..counts.len()).filter(|t| counts[*t]) {
        match runs.last_mut() {
            Some(run) if run.end == t => run.end += 1,
            _ => runs.push(t..t + 1),
        }
    }
    runs
}

/// Runs 1/theta(B) over rows of one length, zeros where nothing counts; what stands before the first error has to be 0.
///
/// Each value waits for the one before it. Rows that go together fill the time.
fn divide<const N: usize>(theta: &[f64], counts: &[bool], mut rows: [&mut [f64]; N]) {
    let newest = theta.first().copied().unwrap_or(0.0);
    let older: Vec<f64> = theta.iter().skip(1).rev().copied().collect();
    for t in 0..counts.len() {
        let n_known = older.len().min(t.saturating_sub(1));
        let older = &older[older.len() - n_known..];
        for row in &mut rows {
            let (past, coming) = row.split_at_mut(t);
            let before = past.last().copied().unwrap_or(0.0);
            let known = dot(older, &past[(t.max(1) - 1 - n_known).min(t)..]);
            // The newest value comes last, because the processor has just begun to work it out.
            coming[0] = if counts[t] { coming[0] - known - newest * before } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(counts: Vec<bool>) -> Css {
        let row: Vec<f64> = (0..60).map(|t| (f64::from(t) * 0.9).sin() + f64::from(t * 31 % 17) / 10.0).collect();
        Css::new(row, counts, Orders { n_phi: 2, n_differences: 0, n_theta: 3, truncation: None }, true)
    }

    const AT: [f64; 6] = [0.4, -0.2, 0.3, 0.25, -0.5, 0.7];

    #[test]
    fn the_jacobian_is_the_slope_of_the_residuals() {
        let css = problem((0..60).map(|t| t != 23).collect());
        let (mut residuals, mut rows, mut moved) = (Vec::new(), Vec::new(), Vec::new());
        assert!(css.residuals(&AT, &mut residuals));
        css.jacobian(&AT, &residuals, &mut rows);
        for idx in 0..AT.len() {
            let mut aside = AT;
            aside[idx] += 1e-7;
            assert!(css.residuals(&aside, &mut moved));
            for t in 0..60 {
                let slope = (moved[t] - residuals[t]) / 1e-7;
                // A difference quotient is good to the square root of rounding.
                assert!((rows[t * AT.len() + idx] - slope).abs() < 1e-5, "parameter {idx}, residual {t}");
            }
        }
    }

    /// `products_max` is how far the products may be off, as a share of the diagonal.
    #[track_caller]
    fn check_equations(counts: Vec<bool>, products_max: f64) {
        let css = problem(counts);
        let (mut residuals, mut rows) = (Vec::new(), Vec::new());
        let (mut fast, mut plain) = (NormalEquations::default(), NormalEquations::default());
        css.residuals(&AT, &mut residuals);
        css.jacobian(&AT, &residuals, &mut rows);
        css.normal_equations(&AT, &residuals, &mut fast);
        plain.of(&rows, &residuals, AT.len());
        for i in 0..AT.len() {
            assert!((fast.gradient[i] - plain.gradient[i]).abs() < 1e-10, "{i}");
            for j in 0..=i {
                let (ours, exact) = (fast.products[i * AT.len() + j], plain.products[i * AT.len() + j]);
                let size = (plain.products[i * (AT.len() + 1)] * plain.products[j * (AT.len() + 1)]).sqrt();
                assert!((ours - exact).abs() < products_max * size, "{i} {j}: {ours} is not {exact}");
            }
        }
    }

    #[test]
    fn the_gradient_is_exact_and_the_products_all_but() {
        // The first two of sixty samples are what the products are off by; a gap of two adds its own.
        check_equations(vec![true; 60], 0.2);
        check_equations((0..60).map(|t| t != 23 && t != 24).collect(), 0.2);
    }

    #[test]
    fn errors_that_do_not_count_part_the_runs() {
        assert_eq!(runs(&[true, true, false, true, true, false], 1), [1..2, 3..5]);
    }
}
