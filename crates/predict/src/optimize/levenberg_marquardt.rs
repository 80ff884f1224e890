//! The least sum of squares of a smooth vector function, by Levenberg and Marquardt's method (Moré 1978), within a box.
//!
//! A parameter that stands at its bound and would gain from going beyond it takes no part in a step (Bertsekas 1982,
//! section 2).

use super::positive_definite::{cholesky, solve};
use crate::model::linear::dot;

/// A sum of squares to be minimized.
pub(crate) trait Problem {
    /// Writes the residuals at `parameters`; false where the function is not defined.
    fn residuals(&self, parameters: &[f64], residuals: &mut Vec<f64>) -> bool;

    /// Writes the derivatives of every residual by all parameters, one residual after the other.
    fn jacobian(&self, parameters: &[f64], residuals: &[f64], rows: &mut Vec<f64>);

    /// Writes what a step needs. A problem whose Jacobian has a structure overrides this. The gradient has to be exact;
    /// the products may be off a little, which costs steps and not digits.
    fn normal_equations(&self, parameters: &[f64], residuals: &[f64], equations: &mut NormalEquations) {
        let mut rows = Vec::new();
        self.jacobian(parameters, residuals, &mut rows);
        equations.of(&rows, residuals, parameters.len());
    }

    /// The magnitude that a parameter may not exceed.
    fn bound(&self, _idx: usize) -> f64 {
        f64::INFINITY
    }
}

/// J'J and J'r, of the Jacobian J and the residuals r.
#[derive(Clone, Debug, Default)]
pub(crate) struct NormalEquations {
    /// Row after row; only the lower half is read.
    pub(crate) products: Vec<f64>,
    pub(crate) gradient: Vec<f64>,
}

impl NormalEquations {
    /// Computes the equations of a Jacobian given one residual after the other.
    pub(crate) fn of(&mut self, rows: &[f64], residuals: &[f64], n: usize) {
        self.clear(n);
        for (row, residual) in rows.chunks_exact(n.max(1)).zip(residuals) {
            for (i, slope) in row.iter().enumerate() {
                self.gradient[i] += slope * residual;
                let products = &mut self.products[i * n..=i * n + i];
                products.iter_mut().zip(row).for_each(|(product, other)| *product += slope * other);
            }
        }
    }

    /// Zeros for `n` parameters.
    pub(crate) fn clear(&mut self, n: usize) {
        self.products.clear();
        self.products.resize(n * n, 0.0);
        self.gradient.clear();
        self.gradient.resize(n, 0.0);
    }
}

/// The place where the search ended.
pub(crate) struct Minimum {
    pub(crate) parameters: Vec<f64>,
    pub(crate) sum_of_squares: f64,
    /// Whether the gradient vanishes there, rather than the search having run out of steps.
    pub(crate) has_converged: bool,
}

/// The cosine between the residuals and every column of the Jacobian (MINPACK's gtol).
const COSINE_MAX: f64 = 1e-8;

/// A relative gain this small is rounding.
const GAIN_MIN: f64 = 1e-14;

/// A full step that promises to lower the sum by less than this share of it is the last one. It moves the parameters by
/// n times this, squared, in standard errors (the idea of Bates and Watts 1981), and what it leaves is less by far.
const PROMISE_MIN: f64 = 1e-10;

/// Steps that end the search if together they gain less than the share [`GAIN_OF_PATIENCE`]: for 1,000 samples that is
/// 0.00005 of log-likelihood. In an over-parametrized model whole directions leave the sum level, and a search could
/// wander there for thousands of steps. R's optimizer stops when a single step gains less than 1e-8.
const PATIENCE: usize = 20;
const GAIN_OF_PATIENCE: f64 = 1e-7;

/// The least damping that keeps the equations solvable.
const UNDAMPED: f64 = 1e-10;

/// Limit on the damping: with so much of it a step is shorter than rounding.
const DAMPING_MAX: f64 = 1e16;

/// Minimizes in at most so many steps. `None` when the function is not defined at `start`.
pub(crate) fn minimize(problem: &impl Problem, start: Vec<f64>, n_steps_max: usize) -> Option<Minimum> {
    let mut search = Search::start(problem, start)?;
    let mut milestone = search.sum_of_squares;
    for idx in 0..n_steps_max {
        if search.is_at_minimum() {
            return Some(search.finish(true));
        }
        if (idx + 1) % PATIENCE == 0 {
            if search.sum_of_squares > milestone * (1.0 - GAIN_OF_PATIENCE) {
                return Some(search.finish(true));
            }
            milestone = search.sum_of_squares;
        }
        match search.advance(problem) {
            Advance::Far => {}
            // What is left to gain, or to move, is rounding: the gradient is as small as it gets.
            Advance::Short | Advance::Stuck => return Some(search.finish(true)),
        }
    }
    Some(search.finish(false))
}

enum Advance {
    Far,
    Short,
    Stuck,
}

struct Search {
    parameters: Vec<f64>,
    residuals: Vec<f64>,
    sum_of_squares: f64,
    damping: f64,
    /// Equations of the current point.
    equations: NormalEquations,
    /// Part of half the second derivatives of the sum that the products lack, as far as the gradients show, row after
    /// row.
    curvature: Vec<f64>,
    /// Whether a parameter stands at its bound and would gain from going beyond it.
    is_held: Vec<bool>,
    trial: Vec<f64>,
}

impl Search {
    fn start(problem: &impl Problem, parameters: Vec<f64>) -> Option<Self> {
        let mut residuals = Vec::new();
        if !problem.residuals(&parameters, &mut residuals) {
            return None;
        }
        let (sum_of_squares, n) = (dot(&residuals, &residuals), parameters.len());
        let mut search = Self {
            is_held: vec![false; parameters.len()],
            parameters,
            residuals,
            sum_of_squares,
            damping: 1e-3,
            equations: NormalEquations::default(),
            curvature: vec![0.0; n * n],
            trial: Vec::new(),
        };
        search.derive(problem);
        sum_of_squares.is_finite().then_some(search)
    }

    fn derive(&mut self, problem: &impl Problem) {
        problem.normal_equations(&self.parameters, &self.residuals, &mut self.equations);
        for (idx, (at, slope)) in self.parameters.iter().zip(&self.equations.gradient).enumerate() {
            self.is_held[idx] = at.abs() >= problem.bound(idx) && at * slope < 0.0;
        }
    }

    fn is_at_minimum(&self) -> bool {
        let NormalEquations { products, gradient } = &self.equations;
        let n = gradient.len();
        let cosine = |i: usize| gradient[i].abs() / (products[i * n + i] * self.sum_of_squares).sqrt();
        // A column of zeros, or residuals of zeros, leaves nothing to gain.
        (0..n).all(|i| self.is_held[i] || cosine(i) < COSINE_MAX || cosine(i).is_nan())
    }

    fn advance(&mut self, problem: &impl Problem) -> Advance {
        let is_last = self.promise() < PROMISE_MIN * self.sum_of_squares;
        while self.damping < DAMPING_MAX {
            if let Some(mut step) = self.step(self.damping) {
                if let Some(gain) = self.try_step(problem, &mut step) {
                    let before = std::mem::take(&mut self.equations.gradient);
                    self.derive(problem);
                    self.learn(&step, &before);
                    return if is_last || gain < GAIN_MIN { Advance::Short } else { Advance::Far };
                }
                if is_last {
                    return Advance::Short;
                }
            }
            self.damping *= 4.0;
        }
        Advance::Stuck
    }

    /// Returns the amount by which a step without damping would lower the sum, if the sum were the parabola that is
    /// known of it.
    fn promise(&self) -> f64 {
        self.step(UNDAMPED).map_or(f64::INFINITY, |step| -dot(&step, &self.equations.gradient))
    }

    /// Updates the curvature that the products leave out by the last step and the change of the gradient over it: the
    /// structured secant update of Dennis, Gay and Welsch (1981), here of rank one. Where residuals stay large, as
    /// those of a time series do, steps would grow shorter and shorter without it.
    fn learn(&mut self, step: &[f64], before: &[f64]) {
        let n = step.len();
        let products = &self.equations.products;
        let product = |i: usize, j: usize| products[i.max(j) * n + i.min(j)];
        let left: Vec<f64> = (0..n)
            .map(|i| self.equations.gradient[i] - before[i] - (0..n).map(|j| product(i, j) * step[j]).sum::<f64>())
            .collect();
        let known: Vec<f64> = self.curvature.chunks_exact(n).map(|row| dot(row, step)).collect();
        let size = (dot(&left, step) / dot(&known, step)).abs().min(1.0);
        let size = if size.is_nan() { 1.0 } else { size };
        let rest: Vec<f64> = left.iter().zip(&known).map(|(left, known)| left - size * known).collect();
        let scale = dot(&rest, step);
        let is_told = scale.abs() > 1e-8 * (dot(&rest, &rest) * dot(step, step)).sqrt();
        for i in 0..n {
            for j in 0..n {
                let change = if is_told { rest[i] * rest[j] / scale } else { 0.0 };
                self.curvature[i * n + j] = size * self.curvature[i * n + j] + change;
            }
        }
    }

    /// Goes there if the sum is less there; by which share.
    fn try_step(&mut self, problem: &impl Problem, step: &mut [f64]) -> Option<f64> {
        let n = step.len();
        let promise = 0.5
            * (0..n)
                .map(|i| {
                    step[i] * (self.damping * self.equations.products[i * n + i] * step[i] - self.equations.gradient[i])
                })
                .sum::<f64>();
        let moved = self.parameters.iter().zip(&*step).map(|(at, step)| at + step);
        let inside = moved.enumerate().map(|(idx, at)| at.clamp(-problem.bound(idx), problem.bound(idx)));
        let parameters: Vec<f64> = inside.collect();
        step.iter_mut().zip(&parameters).zip(&self.parameters).for_each(|((step, to), from)| *step = to - from);
        if !problem.residuals(&parameters, &mut self.trial) {
            return None;
        }
        let sum_of_squares = dot(&self.trial, &self.trial);
        (sum_of_squares < self.sum_of_squares).then(|| {
            let gain = 1.0 - sum_of_squares / self.sum_of_squares;
            let ratio = 0.5 * (self.sum_of_squares - sum_of_squares) / promise;
            self.damping *= (1.0 - (2.0 * ratio - 1.0).powi(3)).clamp(0.1, 2.0);
            self.damping = self.damping.max(1e-12);
            self.parameters = parameters;
            self.sum_of_squares = sum_of_squares;
            std::mem::swap(&mut self.residuals, &mut self.trial);
            gain
        })
    }

    /// Solves (J'J + damping * diag J'J) step = -J'r by Cholesky, for the parameters that are not held; `None` where
    /// rounding makes the matrix indefinite.
    fn step(&self, damping: f64) -> Option<Vec<f64>> {
        let NormalEquations { products, gradient } = &self.equations;
        let n = gradient.len();
        let mut factor: Vec<f64> = products.iter().zip(&self.curvature).map(|(product, rest)| product + rest).collect();
        let mut step: Vec<f64> = gradient.iter().map(|slope| -slope).collect();
        for i in 0..n {
            factor[i * n + i] += damping * products[i * n + i].max(f64::MIN_POSITIVE);
        }
        for i in (0..n).filter(|i| self.is_held[*i]) {
            (0..i).for_each(|j| factor[i * n + j] = 0.0);
            (i + 1..n).for_each(|j| factor[j * n + i] = 0.0);
            (factor[i * n + i], step[i]) = (1.0, 0.0);
        }
        cholesky(&mut factor, n)?;
        solve(&factor, n, &mut step);
        Some(step)
    }

    fn finish(self, has_converged: bool) -> Minimum {
        Minimum { parameters: self.parameters, sum_of_squares: self.sum_of_squares, has_converged }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's valley: residuals 10 (y - x^2) and 1 - x.
    struct Valley;

    impl Problem for Valley {
        fn residuals(&self, at: &[f64], residuals: &mut Vec<f64>) -> bool {
            *residuals = vec![10.0 * (at[1] - at[0] * at[0]), 1.0 - at[0]];
            true
        }

        fn jacobian(&self, at: &[f64], _: &[f64], rows: &mut Vec<f64>) {
            *rows = vec![-20.0 * at[0], 10.0, -1.0, 0.0];
        }
    }

    #[test]
    fn the_valley_is_followed_to_its_end() {
        let minimum = minimize(&Valley, vec![-1.2, 1.0], 100).unwrap();
        assert!(minimum.has_converged && minimum.sum_of_squares < 1e-20);
        assert!((minimum.parameters[0] - 1.0).abs() < 1e-8 && (minimum.parameters[1] - 1.0).abs() < 1e-8);
    }

    /// The same valley with a wall across it at x = 0.5.
    struct Walled;

    impl Problem for Walled {
        fn residuals(&self, at: &[f64], residuals: &mut Vec<f64>) -> bool {
            Valley.residuals(at, residuals)
        }

        fn jacobian(&self, at: &[f64], residuals: &[f64], rows: &mut Vec<f64>) {
            Valley.jacobian(at, residuals, rows);
        }

        fn bound(&self, idx: usize) -> f64 {
            if idx == 0 { 0.5 } else { f64::INFINITY }
        }
    }

    #[test]
    fn the_search_ends_at_a_wall_and_runs_along_it() {
        let minimum = minimize(&Walled, vec![-0.4, 1.0], 100).unwrap();
        assert!(minimum.has_converged, "{:?}", minimum.parameters);
        assert_eq!(minimum.parameters[0], 0.5);
        assert!((minimum.parameters[1] - 0.25).abs() < 1e-7, "{:?}", minimum.parameters);
    }
}
