//! Equations with a positive definite matrix, by Cholesky's factor.

/// The lower factor of a positive definite matrix of `n` rows, in the place of its lower half, with its transpose
/// above; `None` when it is not one.
pub(crate) fn cholesky(matrix: &mut [f64], n: usize) -> Option<()> {
    for j in 0..n {
        let (done, below) = matrix.split_at_mut((j + 1) * n);
        let row = &mut done[j * n..];
        let pivot = row[j];
        if pivot.is_nan() || pivot <= 0.0 {
            return None;
        }
        row[j] = pivot.sqrt();
        for (i, other) in (j + 1..n).zip(below.chunks_exact_mut(n)) {
            other[j] /= row[j];
            row[i] = other[j];
            let taken = row[j + 1..=i].iter().map(|factor| factor * row[i]);
            other[j + 1..=i].iter_mut().zip(taken).for_each(|(value, taken)| *value -= taken);
        }
    }
    Some(())
}

/// Solves with what [`cholesky`] leaves, forward and back, in the place of the right-hand side.
pub(crate) fn solve(factor: &[f64], n: usize, side: &mut [f64]) {
    let rows = || factor.chunks_exact(n.max(1)).enumerate();
    for (i, row) in rows() {
        side[i] /= row[i];
        let known = side[i];
        side[i + 1..].iter_mut().zip(&row[i + 1..]).for_each(|(rest, factor)| *rest -= factor * known);
    }
    for (i, row) in rows().rev() {
        side[i] /= row[i];
        let known = side[i];
        side[..i].iter_mut().zip(&row[..i]).for_each(|(rest, factor)| *rest -= factor * known);
    }
}

/// Inverts a positive definite matrix of `n` rows, of which the lower half is read; `None` when it is not one, or when
/// rounding has taken more than half of the digits of a pivot.
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
