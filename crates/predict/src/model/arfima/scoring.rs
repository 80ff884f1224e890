//! The greatest value of a log-likelihood inside a box, by damped scoring (Fisher 1925; Levenberg 1944).

use super::super::arma::levenberg_marquardt::{cholesky, solve};
use super::coordinates::{Coordinates, Point};

/// A log-likelihood, or a function that is used as one: constants are left out.
pub(super) trait Objective {
    /// `None` where it has no finite value.
    fn value(&mut self, at: &Point) -> Option<f64>;

    /// The derivatives where `value` was asked for last.
    fn derivatives(&mut self, at: &Point) -> Derivatives;
}

/// By phi, theta, d and, where it is free, the mean.
pub(super) struct Derivatives {
    pub(super) gradient: Vec<f64>,
    /// The information matrix, row after row, or what stands for it.
    pub(super) information: Vec<f64>,
}

/// Where a search ended.
#[derive(Clone, Debug)]
pub(super) struct Maximum {
    pub(super) point: Point,
    pub(super) value: f64,
    /// Whether no more than a negligible gain is left inside the box.
    pub(super) has_converged: bool,
}

/// A log-likelihood this close to its greatest value puts every coefficient within a thousandth of its standard error.
const GAIN_LEFT_MAX: f64 = 5e-7;

/// What may be left where rounding ends the search: a fiftieth of a standard error.
const GAIN_LEFT_STUCK_MAX: f64 = 2e-4;

/// With so much damping a step is shorter than rounding.
const DAMPING_MAX: f64 = 1e12;

/// In at most `n_steps_max` steps. `None` when the objective has no value at the start.
pub(super) fn maximize(objective: &mut impl Objective, start: Coordinates, n_steps_max: usize) -> Option<Maximum> {
    let mut search = Search::start(objective, start)?;
    for _ in 0..n_steps_max {
        let gain_left = search.gain_left();
        if gain_left < GAIN_LEFT_MAX {
            return Some(search.finish(true));
        }
        if !search.advance(objective) {
            return Some(search.finish(gain_left < GAIN_LEFT_STUCK_MAX));
        }
    }
    Some(search.finish(false))
}

struct Search {
    at: Coordinates,
    point: Point,
    value: f64,
    /// By the coordinates.
    gradient: Vec<f64>,
    information: Vec<f64>,
    /// Coordinates that the box does not hold.
    free: Vec<usize>,
    damping: f64,
}

impl Search {
    fn start(objective: &mut impl Objective, at: Coordinates) -> Option<Self> {
        let point = at.point();
        let value = objective.value(&point)?;
        let (gradient, information, free) = (Vec::new(), Vec::new(), Vec::new());
        let mut search = Self { at, point, value, gradient, information, free, damping: 1e-3 };
        search.derive(objective);
        Some(search)
    }

    /// By the chain rule from the coefficients to the coordinates.
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
        self.free = (0..n).filter(|idx| !self.at.is_held(*idx, self.gradient[*idx])).collect();
    }

    /// How much a quadratic function with this gradient and information would still gain: half of g' I^-1 g.
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
                    (self.at, self.point, self.value) = (there, point, value);
                    self.damping = (self.damping * 0.1).max(1e-9);
                    self.derive(objective);
                    return true;
                }
            }
            self.damping *= 8.0;
        }
        false
    }

    /// Solves (I + damping * diag I) step = gradient over the free coordinates; `None` where rounding makes I indefinite.
    fn step(&self, damping: f64) -> Option<Vec<f64>> {
        let (n, n_free) = (self.at.len(), self.free.len());
        let mut factor: Vec<f64> =
            self.free.iter().flat_map(|i| self.free.iter().map(move |j| self.information[i * n + j])).collect();
        for i in 0..n_free {
            factor[i * n_free + i] += damping * factor[i * n_free + i].max(f64::MIN_POSITIVE);
        }
        cholesky(&mut factor, n_free)?;
        let mut side: Vec<f64> = self.free.iter().map(|idx| self.gradient[*idx]).collect();
        solve(&factor, n_free, &mut side);
        let mut step = vec![0.0; n];
        self.free.iter().zip(side).for_each(|(idx, value)| step[*idx] = value);
        step.iter().all(|value| value.is_finite()).then_some(step)
    }

    fn finish(self, has_converged: bool) -> Maximum {
        Maximum { point: self.point, value: self.value, has_converged }
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
