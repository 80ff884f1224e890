//! The greatest value of a log-likelihood inside a box, by damped scoring (Fisher 1925; Levenberg 1944).
//!
//! The information matrix is the curvature that is expected, not the one that is there. What it lacks is learned from
//! the gradients along the way, as NL2SOL does for least squares (Dennis, Gay and Welsch 1981, section 4).

use super::super::linear::dot;
use super::coordinates::{Coordinates, Point};
use crate::optimize::positive_definite::{cholesky, solve};

/// A log-likelihood, or a function that is used as one: constants are left out.
pub(super) trait Objective {
    /// `None` where it has no finite value.
    fn value(&mut self, at: &Point) -> Option<f64>;

    /// The derivatives where `value` was asked for last.
    fn derivatives(&mut self, at: &Point) -> Derivatives;
}

/// Derivatives by phi, theta, d and, if it is free, the mean.
pub(super) struct Derivatives {
    pub(super) gradient: Vec<f64>,
    /// The information matrix, row after row, or what stands for it.
    pub(super) information: Vec<f64>,
}

/// The place where a search ended.
#[derive(Clone, Debug)]
pub(super) struct Maximum {
    pub(super) point: Point,
    pub(super) value: f64,
    /// Whether no more than a negligible gain is left inside the box.
    pub(super) has_converged: bool,
    /// Excess of the curvature over the information, row after row, as far as the search has shown it.
    pub(super) excess: Vec<f64>,
}

impl Maximum {
    /// Returns the excess by the other coordinates, for a point with a free mean.
    pub(super) fn excess_without_mean(&self) -> Vec<f64> {
        let n = self.point.n_parameters();
        self.excess.chunks_exact(n).take(n - 1).flat_map(|row| row[..n - 1].iter().copied()).collect()
    }
}

/// Limits at which a search ends.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) n_steps: usize,
    /// Gain in log-likelihood that may be left: e^2 / 2 leaves every coefficient within e standard errors.
    pub(super) gain_left: f64,
}

/// Limit on the gain left where rounding ends the search: a fiftieth of a standard error.
const GAIN_LEFT_STUCK_MAX: f64 = 2e-4;

/// Steps that end a search if together they gain less than [`GAIN_OF_PATIENCE`], a tenth of a standard error: in a
/// model with more coefficients than the samples tell apart whole directions leave the likelihood level, and a search
/// could wander there for thousands of steps.
const PATIENCE: usize = 20;
const GAIN_OF_PATIENCE: f64 = 5e-3;

/// Limit on the damping: with so much of it a step is shorter than rounding.
const DAMPING_MAX: f64 = 1e12;

/// `None` when the objective has no value at the start.
pub(super) fn maximize(objective: &mut impl Objective, start: Coordinates, limits: Limits) -> Option<Maximum> {
    let excess = vec![0.0; start.len() * start.len()];
    maximize_knowing(objective, start, excess, limits)
}

/// Maximizes with the curvature that the search of a similar function has shown.
pub(super) fn maximize_knowing(
    objective: &mut impl Objective,
    start: Coordinates,
    excess: Vec<f64>,
    limits: Limits,
) -> Option<Maximum> {
    let mut search = Search::start(objective, start, excess)?;
    let mut milestone = search.value;
    for idx in 1..=limits.n_steps {
        let gain_left = search.gain_left();
        if gain_left < limits.gain_left {
            return Some(search.finish(true));
        }
        if !search.advance(objective) {
            return Some(search.finish(gain_left < GAIN_LEFT_STUCK_MAX));
        }
        if idx % PATIENCE == 0 {
            if search.value - milestone < GAIN_OF_PATIENCE {
                return Some(search.finish(true));
            }
            milestone = search.value;
        }
    }
    Some(search.finish(false))
}

struct Search {
    at: Coordinates,
    point: Point,
    value: f64,
    /// Gradient by the coordinates.
    gradient: Vec<f64>,
    information: Vec<f64>,
    excess: Vec<f64>,
    damping: f64,
}

impl Search {
    fn start(objective: &mut impl Objective, at: Coordinates, excess: Vec<f64>) -> Option<Self> {
        let point = at.point();
        let value = objective.value(&point)?;
        let (gradient, information) = (Vec::new(), Vec::new());
        let mut search = Self { at, point, value, gradient, information, excess, damping: 1e-3 };
        search.derive(objective);
        Some(search)
    }

    /// Computes the derivatives by the coordinates from those by the coefficients, by the chain rule.
    fn derive(&mut self, objective: &mut impl Objective) {
        let Derivatives { gradient, information } = objective.derivatives(&self.point);
        let (n, slopes) = (self.at.len(), self.at.slopes());
        let transposed_times = |matrix: &[f64]| -> Vec<f64> {
            let n_columns = matrix.len() / n;
            let mut product = vec![0.0; matrix.len()];
            for (k, row) in matrix.chunks_exact(n_columns).enumerate() {
                for i in (0..n).filter(|i| slopes[k * n + i] != 0.0) {
                    let slope = slopes[k * n + i];
                    product[i * n_columns..][..n_columns]
                        .iter_mut()
                        .zip(row)
                        .for_each(|(sum, value)| *sum += slope * value);
                }
            }
            product
        };
        self.gradient = transposed_times(&gradient);
        self.information = transposed_times(&transpose(&transposed_times(&information), n));
    }

    /// Returns the gain still left for a quadratic function with this gradient and information: half of g' I^-1 g.
    fn gain_left(&self) -> f64 {
        // The least damping that makes the matrix regular also where coefficients say the same thing twice.
        let Some(step) = (-12..0).find_map(|power| self.step(10.0_f64.powi(power))) else {
            return f64::INFINITY;
        };
        0.5 * step.iter().zip(&self.gradient).map(|(step, slope)| step * slope).sum::<f64>()
    }

    /// Whether a step was found that gains anything.
    fn advance(&mut self, objective: &mut impl Objective) -> bool {
        while self.damping < DAMPING_MAX {
            if let Some(step) = self.step(self.damping) {
                let there = self.at.moved(&step);
                let point = there.point();
                if let Some(value) = objective.value(&point).filter(|value| *value > self.value) {
                    let moved = there.minus(&self.at);
                    let gradient = std::mem::take(&mut self.gradient);
                    (self.at, self.point, self.value) = (there, point, value);
                    self.damping = (self.damping * 0.1).max(1e-9);
                    self.derive(objective);
                    self.learn(&moved, &gradient);
                    return true;
                }
            }
            self.damping *= 8.0;
        }
        false
    }

    /// The least change of the excess with which the curvature explains how the gradient changed over the last step.
    fn learn(&mut self, moved: &[f64], gradient: &[f64]) {
        let n = moved.len();
        let change: Vec<f64> = gradient.iter().zip(&self.gradient).map(|(before, after)| before - after).collect();
        let along = dot(&change, moved);
        if along.is_nan() || along <= 0.0 {
            return;
        }
        let times = |matrix: &[f64]| -> Vec<f64> { matrix.chunks_exact(n).map(|row| dot(row, moved)).collect() };
        let expected = times(&self.information);
        let missing: Vec<f64> = change.iter().zip(&expected).map(|(change, expected)| change - expected).collect();
        // An excess from far away says too much about here.
        let (old, needed) = (dot(&times(&self.excess), moved).abs(), dot(&missing, moved).abs());
        let size = if old > needed { needed / old } else { 1.0 };
        self.excess.iter_mut().for_each(|value| *value *= size);
        let known = times(&self.excess);
        let rest: Vec<f64> = missing.iter().zip(&known).map(|(missing, known)| missing - known).collect();
        let rest_along = dot(&rest, moved) / along;
        for i in 0..n {
            for j in 0..n {
                self.excess[i * n + j] +=
                    (rest[i] * change[j] + change[i] * rest[j] - rest_along * change[i] * change[j]) / along;
            }
        }
    }

    /// Solves (I + damping * diag I) step = gradient over the coordinates that the box does not hold; `None` where the
    /// curvature is no hill.
    fn step(&self, damping: f64) -> Option<Vec<f64>> {
        let n = self.at.len();
        let free: Vec<usize> = (0..n).filter(|idx| !self.at.is_held(*idx, self.gradient[*idx])).collect();
        let curvature = |i: &usize, j: &usize| self.information[i * n + j] + self.excess[i * n + j];
        let mut factor: Vec<f64> = free.iter().flat_map(|i| free.iter().map(move |j| curvature(i, j))).collect();
        for (row, idx) in free.iter().enumerate() {
            factor[row * (free.len() + 1)] += damping * self.information[idx * (n + 1)].max(f64::MIN_POSITIVE);
        }
        cholesky(&mut factor, free.len())?;
        let mut side: Vec<f64> = free.iter().map(|idx| self.gradient[*idx]).collect();
        solve(&factor, free.len(), &mut side);
        let mut step = vec![0.0; n];
        free.iter().zip(side).for_each(|(idx, value)| step[*idx] = value);
        step.iter().all(|value| value.is_finite()).then_some(step)
    }

    fn finish(self, has_converged: bool) -> Maximum {
        Maximum { point: self.point, value: self.value, has_converged, excess: self.excess }
    }
}

fn transpose(matrix: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|idx| matrix[(idx % n) * n + idx / n]).collect()
}

/// Holds the analytic gradient against a central difference of the value, to `tolerance` of its largest slope.
#[cfg(test)]
#[track_caller]
pub(super) fn check_gradient(objective: &mut impl Objective, at: &Point, tolerance: f64) {
    const STEP: f64 = 1e-5;
    objective.value(at).unwrap();
    let gradient = objective.derivatives(at).gradient;
    let scale = gradient.iter().fold(0.0_f64, |most, slope| most.max(slope.abs()));
    let mut moved = |idx: usize, by: f64| {
        let mut there = at.clone();
        let Point { phi, theta, d, mean } = &mut there;
        *phi.iter_mut().chain(theta).chain([d]).chain(mean).nth(idx).unwrap() += by;
        objective.value(&there).unwrap()
    };
    for (idx, slope) in gradient.iter().enumerate() {
        let quotient = (moved(idx, STEP) - moved(idx, -STEP)) / (2.0 * STEP);
        assert!((slope - quotient).abs() < tolerance * scale, "parameter {idx}: {slope} is not {quotient}");
    }
}
