//! The inverse of a matrix of autocovariances, in the form that Levinson's recursion leaves it in.

use statistics::transform::{Spectrum, Transform, correlation, product};

use super::super::linear::dot;

/// Gamma^-1 = (A A' - C C') / v of a symmetric positive definite Toeplitz matrix (Gohberg and Semencul 1972): A is
/// lower triangular and Toeplitz with first column 1, -phi(1), …, -phi(n-1), C likewise with 0, -phi(n-1), …, -phi(1),
/// where phi predicts one step from all n - 1 before it with error variance v.
pub(super) struct Inverse {
    filter: Vec<f64>,
    variance: f64,
    /// log det Gamma.
    pub(super) log_determinant: f64,
    /// Spectra of the first columns of A and C.
    spectra: (Spectrum, Spectrum),
}

impl Inverse {
    /// `None` when the autocovariances belong to no process.
    pub(super) fn new(autocovariances: &[f64], transform: &mut Transform) -> Option<Self> {
        let (filter, variance, log_determinant) = levinson(autocovariances)?;
        let mirror: Vec<f64> = std::iter::once(0.0).chain(filter[1..].iter().rev().copied()).collect();
        let spectra = (transform.spectrum(&filter), transform.spectrum(&mirror));
        Some(Self { filter, variance, log_determinant, spectra })
    }

    /// Gamma^-1 times a vector.
    pub(super) fn times(&self, vector: &[f64], transform: &mut Transform) -> Vec<f64> {
        let n = vector.len();
        let spectrum = transform.spectrum(vector);
        let mut half = |column: &Spectrum| {
            let inner = transform.row(correlation(column, &spectrum), n);
            product(column, &transform.spectrum(&inner))
        };
        let (left, right) = (half(&self.spectra.0), half(&self.spectra.1));
        let difference = left.iter().zip(&right).map(|(left, right)| (left - right) / self.variance).collect();
        transform.row(difference, n)
    }

    /// The sums along the diagonals of Gamma^-1, the main one first.
    ///
    /// With a for the first column of A, that of lag k is the sum over j of (n - k - 2j) a(j) a(j + k), over v.
    pub(super) fn diagonal_sums(&self, transform: &mut Transform) -> Vec<f64> {
        let n = self.filter.len();
        let weighted: Vec<f64> = self.filter.iter().enumerate().map(|(j, value)| j as f64 * value).collect();
        let weighted = transform.spectrum(&weighted);
        let plain = transform.row(correlation(&self.spectra.0, &self.spectra.0), n);
        let weighted = transform.row(correlation(&weighted, &self.spectra.0), n);
        let sum = |k: usize| ((n - k) as f64 * plain[k] - 2.0 * weighted[k]) / self.variance;
        (0..n).map(sum).collect()
    }
}

/// 1, -phi(1), …, -phi(n-1); their error variance; and the sum of the logarithms of the error variances of all orders.
fn levinson(autocovariances: &[f64]) -> Option<(Vec<f64>, f64, f64)> {
    let n = autocovariances.len();
    let reversed: Vec<f64> = autocovariances.iter().rev().copied().collect();
    let mut variance = *autocovariances.first()?;
    let mut log_determinant = variance.ln();
    let mut phi: Vec<f64> = Vec::with_capacity(n);
    for order in 1..n {
        let reflection = (autocovariances[order] - dot(&phi, &reversed[n - order..])) / variance;
        let (first, last) = phi.split_at_mut((order - 1).div_ceil(2));
        if (order - 1) % 2 == 1 {
            first[order / 2 - 1] *= 1.0 - reflection;
        }
        for (one, other) in first.iter_mut().zip(last.iter_mut().rev()) {
            (*one, *other) = (*one - reflection * *other, *other - reflection * *one);
        }
        phi.push(reflection);
        variance *= 1.0 - reflection * reflection;
        if variance.is_nan() || variance <= 0.0 {
            return None;
        }
        log_determinant += variance.ln();
    }
    let filter = std::iter::once(1.0).chain(phi.iter().map(|phi| -phi)).collect();
    Some((filter, variance, log_determinant))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAMMA: [f64; 4] = [2.0, 0.9, -0.3, 0.4];

    /// Columns of the inverse from unit vectors.
    fn columns() -> Vec<Vec<f64>> {
        let mut transform = Transform::for_rows_of(4);
        let inverse = Inverse::new(&GAMMA, &mut transform).unwrap();
        (0..4)
            .map(|idx| {
                let mut unit = [0.0; 4];
                unit[idx] = 1.0;
                inverse.times(&unit, &mut transform)
            })
            .collect()
    }

    #[test]
    fn the_inverse_undoes_the_matrix() {
        for (j, column) in columns().iter().enumerate() {
            for i in 0..4_usize {
                let entry: f64 = (0..4_usize).map(|k| GAMMA[i.abs_diff(k)] * column[k]).sum();
                // A dozen operations on numbers of order 1.
                assert!((entry - f64::from(u8::from(i == j))).abs() < 1e-13, "{i}, {j}: {entry}");
            }
        }
    }

    #[test]
    fn diagonals_are_summed() {
        let mut transform = Transform::for_rows_of(4);
        let sums = Inverse::new(&GAMMA, &mut transform).unwrap().diagonal_sums(&mut transform);
        let columns = columns();
        for (k, sum) in sums.iter().enumerate() {
            let expected: f64 = (0..4 - k).map(|i| columns[i][i + k]).sum();
            assert!((sum - expected).abs() < 1e-13, "{k}: {sum} is not {expected}");
        }
    }

    #[test]
    fn the_determinant_is_that_of_the_matrix() {
        let mut transform = Transform::for_rows_of(2);
        let inverse = Inverse::new(&[2.0, 0.5], &mut transform).unwrap();
        assert!((inverse.log_determinant - 3.75_f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn what_is_no_autocovariance_has_no_inverse() {
        assert!(Inverse::new(&[1.0, 1.2], &mut Transform::for_rows_of(2)).is_none());
    }
}
