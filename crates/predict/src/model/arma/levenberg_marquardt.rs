//! The least sum of squares of a smooth vector function, by Levenberg and Marquardt's method (Moré 1978).

/// What is to be made small.
pub(super) trait Problem {
    /// Writes the residuals at `parameters`; false where the function is not defined.
    fn residuals(&self, parameters: &[f64], residuals: &mut Vec<f64>) -> bool;

    /// Writes the derivatives of every residual by all parameters, one residual after the other.
    fn jacobian(&self, parameters: &[f64], residuals: &[f64], rows: &mut Vec<f64>);
}

/// Where the search ended.
pub(super) struct Minimum {
    pub(super) parameters: Vec<f64>,
    pub(super) sum_of_squares: f64,
    /// Whether the gradient vanishes there, rather than the search having run out of steps.
    pub(super) has_converged: bool,
}

/// The cosine between the residuals and every column of the Jacobian (MINPACK's gtol).
const COSINE_MAX: f64 = 1e-8;

/// A relative gain this small is rounding.
const GAIN_MIN: f64 = 1e-14;

/// With so much damping a step is shorter than rounding.
const DAMPING_MAX: f64 = 1e16;

/// In at most so many steps. `None` when the function is not defined at `start`.
pub(super) fn minimize(problem: &impl Problem, start: Vec<f64>, n_steps_max: usize) -> Option<Minimum> {
    let mut search = Search::start(problem, start)?;
    for _ in 0..n_steps_max {
        if search.is_at_minimum() {
            return Some(search.finish(true));
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
    /// The Jacobian of the current point, and the normal equations that follow from it, lower half.
    rows: Vec<f64>,
    gram: Vec<f64>,
    gradient: Vec<f64>,
}

impl Search {
    fn start(problem: &impl Problem, parameters: Vec<f64>) -> Option<Self> {
        let mut residuals = Vec::new();
        if !problem.residuals(&parameters, &mut residuals) {
            return None;
        }
        let sum_of_squares = squares(&residuals);
        let (rows, gram, gradient) = (Vec::new(), Vec::new(), Vec::new());
        let mut search = Self { parameters, residuals, sum_of_squares, damping: 1e-3, rows, gram, gradient };
        search.derive(problem);
        sum_of_squares.is_finite().then_some(search)
    }

    fn derive(&mut self, problem: &impl Problem) {
        problem.jacobian(&self.parameters, &self.residuals, &mut self.rows);
        let n = self.parameters.len();
        self.gram.clear();
        self.gram.resize(n * n, 0.0);
        self.gradient.clear();
        self.gradient.resize(n, 0.0);
        for (row, residual) in self.rows.chunks_exact(n).zip(&self.residuals) {
            for (i, slope) in row.iter().enumerate() {
                self.gradient[i] += slope * residual;
                let products = &mut self.gram[i * n..i * n + i + 1];
                products.iter_mut().zip(row).for_each(|(product, other)| *product += slope * other);
            }
        }
    }

    fn is_at_minimum(&self) -> bool {
        let n = self.parameters.len();
        let cosine = |i: usize| self.gradient[i].abs() / (self.gram[i * n + i] * self.sum_of_squares).sqrt();
        // A column of zeros, or residuals of zeros, leaves nothing to gain.
        (0..n).all(|i| cosine(i) < COSINE_MAX || cosine(i).is_nan())
    }

    fn advance(&mut self, problem: &impl Problem) -> Advance {
        let mut trial = Vec::new();
        while self.damping < DAMPING_MAX {
            if let Some(step) = self.step() {
                let parameters: Vec<f64> = self.parameters.iter().zip(&step).map(|(at, step)| at + step).collect();
                let is_defined = problem.residuals(&parameters, &mut trial);
                let sum_of_squares = squares(&trial);
                if is_defined && sum_of_squares < self.sum_of_squares {
                    let gain = 1.0 - sum_of_squares / self.sum_of_squares;
                    self.parameters = parameters;
                    self.sum_of_squares = sum_of_squares;
                    std::mem::swap(&mut self.residuals, &mut trial);
                    self.damping = (self.damping * 0.1).max(1e-12);
                    self.derive(problem);
                    return if gain < GAIN_MIN { Advance::Short } else { Advance::Far };
                }
            }
            self.damping *= 4.0;
        }
        Advance::Stuck
    }

    /// Solves (G + damping * diag G) step = -gradient by Cholesky; `None` where rounding makes G indefinite.
    fn step(&self) -> Option<Vec<f64>> {
        let n = self.parameters.len();
        let mut factor = self.gram.clone();
        for i in 0..n {
            factor[i * n + i] += self.damping * self.gram[i * n + i].max(f64::MIN_POSITIVE);
        }
        cholesky(&mut factor, n)?;
        let mut step: Vec<f64> = self.gradient.iter().map(|slope| -slope).collect();
        solve(&factor, n, &mut step);
        Some(step)
    }

    fn finish(self, has_converged: bool) -> Minimum {
        Minimum { parameters: self.parameters, sum_of_squares: self.sum_of_squares, has_converged }
    }
}

fn squares(residuals: &[f64]) -> f64 {
    super::super::linear::dot(residuals, residuals)
}

/// The lower factor of a positive definite matrix of `n` rows, in its place; `None` when it is not one.
pub(crate) fn cholesky(matrix: &mut [f64], n: usize) -> Option<()> {
    for i in 0..n {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| matrix[i * n + k] * matrix[j * n + k]).sum();
            let rest = matrix[i * n + j] - known;
            if i == j {
                if rest.is_nan() || rest <= 0.0 {
                    return None;
                }
                matrix[i * n + i] = rest.sqrt();
            } else {
                matrix[i * n + j] = rest / matrix[j * n + j];
            }
        }
    }
    Some(())
}

/// Solves with a lower factor, forward and back, in the place of the right-hand side.
pub(crate) fn solve(factor: &[f64], n: usize, side: &mut [f64]) {
    for i in 0..n {
        let known: f64 = (0..i).map(|k| factor[i * n + k] * side[k]).sum();
        side[i] = (side[i] - known) / factor[i * n + i];
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|k| factor[k * n + i] * side[k]).sum();
        side[i] = (side[i] - known) / factor[i * n + i];
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

    #[test]
    fn equations_are_solved_by_their_factor() {
        let mut matrix = vec![4.0, 2.0, 2.0, 3.0];
        cholesky(&mut matrix, 2).unwrap();
        let mut side = vec![8.0, 7.0];
        solve(&matrix, 2, &mut side);
        assert!((side[0] - 1.25).abs() < 1e-12 && (side[1] - 1.5).abs() < 1e-12);
        assert_eq!(cholesky(&mut [1.0, 2.0, 2.0, 1.0], 2), None);
    }
}
