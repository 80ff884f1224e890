//! An ARMA process before its first sample is known: how far its state may lie from its mean.
//!
//! The state is Harvey's (1981), the one of R: of r = max(p, q + 1) numbers, the first the deviation z(t) itself, the
//! i-th what z(t) and a(t) and their past contribute to z(t + i - 1). It moves by state(i) = phi(i) z + state(i + 1) +
//! theta(i - 1) a.

use super::reflection;

/// A stationary process, with innovations of variance 1.
pub(super) struct Process {
    /// phi(1), …, phi(r), zeros behind p.
    pub(super) phi: Vec<f64>,
    /// 1, theta(1), …, theta(r - 1), zeros behind q.
    pub(super) shock: Vec<f64>,
    /// The covariances of z(t) with every number of the state; the first is its variance.
    pub(super) covariances: Vec<f64>,
}

impl Process {
    /// `None` when phi is not stationary, or so close to it that the variance is no number.
    pub(super) fn new(phi: &[f64], theta: &[f64]) -> Option<Self> {
        let n = phi.len().max(theta.len() + 1);
        let padded = |values: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
            values.chain(std::iter::repeat(0.0)).take(n).collect()
        };
        let shock = padded(&mut std::iter::once(1.0).chain(theta.iter().copied()));
        let autocovariances = autocovariances(phi, &shock[..=theta.len()], n)?;
        let phi = padded(&mut phi.iter().copied());
        let psi = psi(&phi, &shock);
        let covariance = |i: usize| -> f64 {
            if i == 0 {
                return autocovariances[0];
            }
            (i..n).map(|k| phi[k] * autocovariances[1 + k - i] + shock[k] * psi[k - i]).sum()
        };
        let covariances: Vec<f64> = (0..n).map(covariance).collect();
        covariances.iter().all(|covariance| covariance.is_finite()).then_some(Self { phi, shock, covariances })
    }

    pub(super) fn n_state(&self) -> usize {
        self.phi.len()
    }

    /// `next` = T `state`, where the state stands one step later if nothing happens. The two may not be the same.
    pub(super) fn advance(&self, state: &[f64], next: &mut [f64]) {
        let n = state.len();
        for i in 0..n - 1 {
            next[i] = self.phi[i] * state[0] + state[i + 1];
        }
        next[n - 1] = self.phi[n - 1] * state[0];
    }

    /// The covariances of all numbers of the state, row after row (Gardner 1980): where P = T P T' + R R', each element
    /// follows from the one below it to the right and the first row.
    pub(super) fn state_covariances(&self) -> Vec<f64> {
        let n = self.n_state();
        let first = &self.covariances;
        let beyond = |i: usize| first.get(i + 1).copied().unwrap_or(0.0);
        let mut matrix = vec![0.0; n * n];
        for i in (0..n).rev() {
            for j in (0..n).rev() {
                let below = if i + 1 < n && j + 1 < n { matrix[(i + 1) * n + j + 1] } else { 0.0 };
                matrix[i * n + j] = self.phi[i] * self.phi[j] * first[0]
                    + self.phi[i] * beyond(j)
                    + self.phi[j] * beyond(i)
                    + below
                    + self.shock[i] * self.shock[j];
            }
        }
        matrix
    }
}

/// psi(0), …: the weights of past innovations in z(t), as many as `shock` has.
fn psi(phi: &[f64], shock: &[f64]) -> Vec<f64> {
    let mut psi: Vec<f64> = Vec::with_capacity(shock.len());
    for (j, shock) in shock.iter().enumerate() {
        psi.push(shock + (0..j).map(|i| phi[i] * psi[j - 1 - i]).sum::<f64>());
    }
    psi
}

/// Autocovariances at lags 0 to `lag_max` of theta(B) over phi(B): those of 1 over phi(B), each lag weighed by the
/// products of 1, theta(1), …, theta(q) that lead to it.
fn autocovariances(phi: &[f64], shock: &[f64], lag_max: usize) -> Option<Vec<f64>> {
    let n_theta = shock.len() - 1;
    let autoregressive = autoregressive_covariances(phi, lag_max + n_theta)?;
    let product = |distance: usize| -> f64 { (distance..=n_theta).map(|j| shock[j] * shock[j - distance]).sum() };
    let products: Vec<f64> = (0..=n_theta).map(product).collect();
    let at = |lag: usize| -> f64 {
        let aside = |distance: usize| autoregressive[lag + distance] + autoregressive[lag.abs_diff(distance)];
        products[0] * autoregressive[lag] + (1..=n_theta).map(|d| products[d] * aside(d)).sum::<f64>()
    };
    Some((0..=lag_max).map(at).collect())
}

/// Computes the covariances of 1 over phi(B): up to lag p each from the predictor of the order below, which is
/// Levinson's recursion read the other way.
fn autoregressive_covariances(phi: &[f64], lag_max: usize) -> Option<Vec<f64>> {
    let mut row: Vec<f64> = Vec::with_capacity(phi.len());
    let (mut correlations, mut variance) = (vec![1.0], 1.0);
    for reflection in reflection::reflections(phi)? {
        let lag = correlations.len();
        let predicted: f64 = row.iter().enumerate().map(|(i, weight)| weight * correlations[lag - 1 - i]).sum();
        correlations.push(predicted + reflection * variance);
        variance *= 1.0 - reflection * reflection;
        reflection::step_up(&mut row, reflection);
    }
    for lag in correlations.len()..=lag_max {
        let next = phi.iter().enumerate().map(|(i, phi)| phi * correlations[lag - 1 - i]).sum();
        correlations.push(next);
    }
    correlations.iter_mut().for_each(|correlation| *correlation /= variance);
    Some(correlations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mixed_process_has_the_textbook_variance() {
        // ARMA(1,1): (1 + 2 phi theta + theta^2) / (1 - phi^2), and phi times that plus theta one lag on.
        let process = Process::new(&[0.5], &[0.4]).unwrap();
        let variance = (1.0 + 2.0 * 0.5 * 0.4 + 0.16) / 0.75;
        assert!((process.covariances[0] - variance).abs() < 1e-14);
        assert!((process.covariances[1] - 0.4).abs() < 1e-14);
    }

    #[test]
    fn the_covariances_of_the_state_stay_as_it_moves() {
        let process = Process::new(&[1.1, -0.6, 0.2], &[0.5, -0.3, 0.2, 0.1]).unwrap();
        let (n, matrix) = (process.n_state(), process.state_covariances());
        assert!((0..n).all(|i| (matrix[i] - process.covariances[i]).abs() < 1e-12));
        let mut half = vec![0.0; n * n];
        for j in 0..n {
            let (column, mut next): (Vec<f64>, _) = ((0..n).map(|i| matrix[i * n + j]).collect(), vec![0.0; n]);
            process.advance(&column, &mut next);
            (0..n).for_each(|i| half[j * n + i] = next[i]);
        }
        for i in 0..n {
            let (column, mut next): (Vec<f64>, _) = ((0..n).map(|j| half[j * n + i]).collect(), vec![0.0; n]);
            process.advance(&column, &mut next);
            for j in 0..n {
                let moved = next[j] + process.shock[i] * process.shock[j];
                assert!((moved - matrix[i * n + j]).abs() < 1e-12, "{i} {j}");
            }
        }
    }

    #[test]
    fn a_process_that_wanders_has_no_variance() {
        assert!(Process::new(&[1.0], &[]).is_none());
        assert!(Process::new(&[], &[1.0]).is_some());
    }
}
