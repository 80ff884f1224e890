//! Equations with a positive definite matrix, by Cholesky's factor.

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

/// Of a positive definite matrix of `n` rows, of which the lower half is read; `None` when it is not one, or when rounding has
/// taken more than half of the digits of a pivot.
pub(crate) fn inverse(mut matrix: Vec<f64>, n: usize) -> Option<Vec<f64>> {
    const PIVOT_MIN: f64 = 1e-14;
    let diagonal: Vec<f64> = (0..n).map(|i| matrix[i * n + i]).collect();
    cholesky(&mut matrix, n)?;
    if (0..n).any(|i| matrix[i * n + i].powi(2) < PIVOT_MIN * diagonal[i]) {
        return None;
    }
    let mut inverse = vec![0.0; n * n];
    for (i, row) in inverse.chunks_exact_mut(n.max(1)).enumerate() {
        row[i] = 1.0;
        solve(&matrix, n, row);
    }
    Some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

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
