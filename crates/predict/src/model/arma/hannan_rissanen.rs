//! First estimates of ARMA coefficients: a long autoregression gives the errors, a regression on them the coefficients
//! (Hannan and Rissanen 1982; Brockwell and Davis 2016, section 5.1.4).

use super::super::ar::burg_coefficients;
use crate::effort::spend;
use crate::optimize::positive_definite::{cholesky, solve};

/// phi(1), …, phi(p), theta(1), …, theta(q); `None` when the row is too short, the effort spent or the regression has
/// no solution.
pub(crate) fn estimate(row: &[f64], n_phi: usize, n_theta: usize, n_long: usize) -> Option<Vec<f64>> {
    let n = n_phi + n_theta;
    let start = n_long + n_theta.max(n_phi);
    if row.len() < start + 2 * n || !spend(row.len() * (n * n + 4 * n_long)) {
        return None;
    }
    let errors = errors(row, &burg_coefficients(row, n_long));
    let regressor = |t: usize, idx: usize| if idx < n_phi { row[t - 1 - idx] } else { errors[t - 1 - (idx - n_phi)] };
    let (mut gram, mut side) = (vec![0.0; n * n], vec![0.0; n]);
    for t in start..row.len() {
        for i in 0..n {
            side[i] += regressor(t, i) * row[t];
            for j in 0..=i {
                gram[i * n + j] += regressor(t, i) * regressor(t, j);
            }
        }
    }
    cholesky(&mut gram, n)?;
    solve(&gram, n, &mut side);
    Some(side)
}

fn errors(row: &[f64], phi: &[f64]) -> Vec<f64> {
    let error = |t: usize| match t.checked_sub(phi.len()) {
        None => 0.0,
        Some(_) => row[t] - phi.iter().enumerate().map(|(i, phi)| phi * row[t - 1 - i]).sum::<f64>(),
    };
    (0..row.len()).map(error).collect()
}
