//! Least squares that grows by a row at a time, and knows its sum of squared errors after each.

use super::positive_definite::inverse;

/// The triangular factor of the rows so far beside the rotated targets. A row costs the square of the columns (Givens
/// rotations; Golub and Van Loan 1996, section 12.5.3), and nothing is ever subtracted that rounding could spoil.
#[derive(Clone, Debug)]
pub(crate) struct Triangle {
    n_columns: usize,
    /// `n_columns` rows of `n_columns + 1`, the target last; zero below the diagonal.
    rows: Vec<f64>,
    /// The row that is rotated in.
    row: Vec<f64>,
    /// The sums of squares of the columns.
    norms: Vec<f64>,
    squares: f64,
}

impl Triangle {
    pub(crate) fn new(n_columns: usize) -> Self {
        let rows = vec![0.0; n_columns * (n_columns + 1)];
        Self { n_columns, rows, row: Vec::with_capacity(n_columns + 1), norms: vec![0.0; n_columns], squares: 0.0 }
    }

    pub(crate) fn add(&mut self, regressors: impl Iterator<Item = f64>, target: f64) {
        self.row.clear();
        self.row.extend(regressors);
        self.row.push(target);
        self.norms.iter_mut().zip(&self.row).for_each(|(norm, value)| *norm += value * value);
        let width = self.n_columns + 1;
        for column in 0..self.n_columns {
            let kept = &mut self.rows[column * width + column..(column + 1) * width];
            let added = &mut self.row[column..];
            if added[0] == 0.0 {
                continue;
            }
            let length = (kept[0] * kept[0] + added[0] * added[0]).sqrt();
            let (cosine, sine) = (kept[0] / length, added[0] / length);
            for (kept, added) in kept.iter_mut().zip(added) {
                (*kept, *added) = (cosine * *kept + sine * *added, cosine * *added - sine * *kept);
            }
        }
        let rest = self.row[self.n_columns];
        self.squares += rest * rest;
    }

    /// The least sum of squared errors over the rows so far.
    pub(crate) fn squares(&self) -> f64 {
        self.squares
    }

    /// (X'X)^-1 of the rows so far; `None` where columns make each other up.
    pub(crate) fn inverse_products(&self) -> Option<Vec<f64>> {
        let (n, width) = (self.n_columns, self.n_columns + 1);
        let product = |i: usize, j: usize| (0..n).map(|k| self.rows[k * width + i] * self.rows[k * width + j]).sum();
        inverse((0..n * n).map(|idx| product(idx / n, idx % n)).collect(), n)
    }

    /// Returns the coefficients of the least sum of squares. A column that the others make up, to rounding, has the
    /// coefficient 0.
    pub(crate) fn solve(&self) -> Vec<f64> {
        let (n, width) = (self.n_columns, self.n_columns + 1);
        let mut solution = vec![0.0; n];
        for column in (0..n).rev() {
            let row = &self.rows[column * width..(column + 1) * width];
            let known: f64 = (column + 1..n).map(|later| row[later] * solution[later]).sum();
            if row[column].abs() > 1e-10 * self.norms[column].sqrt() {
                solution[column] = (row[n] - known) / row[column];
            }
        }
        solution
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_with_its_errors() {
        // 1 + 2 x with errors 1, -2, 1, which no line explains any of.
        let mut triangle = Triangle::new(2);
        for (x, error) in [(0.0, 1.0), (1.0, -2.0), (2.0, 1.0)] {
            triangle.add([1.0, x].into_iter(), 1.0 + 2.0 * x + error);
        }
        let solution = triangle.solve();
        assert!((solution[0] - 1.0).abs() < 1e-12 && (solution[1] - 2.0).abs() < 1e-12, "{solution:?}");
        assert!((triangle.squares() - 6.0).abs() < 1e-12);
    }

    #[test]
    fn a_column_that_others_make_up_counts_for_nothing() {
        let mut triangle = Triangle::new(2);
        (0..5).for_each(|t| triangle.add([1.0, 3.0].into_iter(), f64::from(t)));
        let solution = triangle.solve();
        assert!((solution[0] + 3.0 * solution[1] - 2.0).abs() < 1e-12, "{solution:?}");
    }
}
