//! The one-step errors of an ARMA process and their variances, exact from the first sample on.
//!
//! Without gaps by the recursion of Morf, Sidhu and Kailath (1974), which for a process that starts stationary carries
//! one column of numbers where Kalman's filter carries a matrix (Pearlman 1980). With gaps by Kalman's filter, as Jones
//! (1980): a missing sample is a step without an update.

use std::ops::Range;

use super::process::Process;

/// Innovations: the part of every known sample that is left after its prediction from those before it.
pub(super) struct Innovations {
    /// Errors, one per known sample.
    pub(super) errors: Vec<f64>,
    /// The errors that a row of ones would have had: how the errors move with the mean. Empty when not asked for.
    pub(super) of_ones: Vec<f64>,
    /// Variances of the errors, in units of the innovation variance.
    pub(super) variances: Vec<f64>,
}

/// Computes the innovations of `row`, deviations from 0 with NaN in gaps; `with_ones` asks for [`Innovations::of_ones`]
/// too.
pub(super) fn innovations(process: &Process, row: &[f64], with_ones: bool) -> Innovations {
    let has_gaps = row.iter().any(|value| value.is_nan());
    if has_gaps { through_gaps(process, row, with_ones) } else { Fast::start(process).run(row, with_ones) }
}

impl Innovations {
    fn with_capacity(n: usize, with_ones: bool) -> Self {
        let reserve = |wanted: bool| Vec::with_capacity(if wanted { n } else { 0 });
        Self { errors: reserve(true), of_ones: reserve(with_ones), variances: reserve(true) }
    }
}

/// Once the variance is this close to its limit, it stays there.
const CHANGE_MIN: f64 = 1e-17;

/// The filter of a row without gaps. The covariances of the state change from step to step by `sign` times the product
/// of `change` with itself; the gain follows from that alone.
struct Fast<'p> {
    process: &'p Process,
    variance: f64,
    /// Times the variance.
    gain: Vec<f64>,
    change: Vec<f64>,
    sign: f64,
    has_settled: bool,
    moved: Vec<f64>,
}

impl<'p> Fast<'p> {
    fn start(process: &'p Process) -> Self {
        let variance = process.covariances[0];
        let mut gain = vec![0.0; process.n_state()];
        process.advance(&process.covariances, &mut gain);
        let (change, moved) = (gain.clone(), gain.clone());
        Self { process, variance, gain, change, sign: -1.0 / variance, has_settled: false, moved }
    }

    fn run(mut self, row: &[f64], with_ones: bool) -> Innovations {
        let mut out = Innovations::with_capacity(row.len(), with_ones);
        let zeros = || vec![0.0; self.gain.len()];
        let (mut state, mut ones) = (zeros(), zeros());
        for value in row {
            out.variances.push(self.variance);
            out.errors.push(self.take(*value, &mut state));
            if with_ones {
                out.of_ones.push(self.take(1.0, &mut ones));
            }
            if !self.has_settled {
                self.settle();
            }
        }
        out
    }

    /// Takes a value into a state, and gives its error.
    fn take(&self, value: f64, state: &mut [f64]) -> f64 {
        let (before, last) = (state[0], state.len() - 1);
        let error = value - before;
        let scaled = error / self.variance;
        let phi = &self.process.phi[..=last];
        let gain = &self.gain[..=last];
        for i in 0..last {
            state[i] = phi[i] * before + state[i + 1] + gain[i] * scaled;
        }
        state[last] = phi[last] * before + gain[last] * scaled;
        error
    }

    /// Advances to the gain and the variance of the next step.
    fn settle(&mut self) {
        let first = self.change[0];
        self.process.advance(&self.change, &mut self.moved);
        let before = self.variance;
        self.variance += self.sign * first * first;
        let (weight, share) = (self.sign * first, first / self.variance);
        for i in 0..self.gain.len() {
            self.gain[i] += weight * self.moved[i];
            self.change[i] = self.moved[i] - share * self.gain[i];
        }
        self.sign *= self.variance / before;
        let size: f64 = self.change.iter().map(|change| change * change).sum();
        self.has_settled = size * self.sign.abs() < CHANGE_MIN;
    }
}

fn through_gaps(process: &Process, row: &[f64], with_ones: bool) -> Innovations {
    let mut out = Innovations::with_capacity(row.len(), with_ones);
    let mut filter = Kalman::start(process);
    let zeros = vec![0.0; process.n_state()];
    let (mut state, mut ones) = (zeros.clone(), zeros);
    for value in row {
        filter.pass(*value, &mut state, |filter, error, is_known| {
            if is_known {
                out.variances.push(filter.variance());
                out.errors.push(error);
            }
            if is_known && with_ones {
                out.of_ones.push(filter.correct(&mut ones, 1.0));
            }
            filter.carry(&mut ones);
        });
    }
    out
}

/// The innovations of the last samples of `row`, as many as the state has numbers, as all samples together let expect
/// them; 0 for the others, and in gaps.
///
/// What all samples say of the state that a stretch without gaps began from is carried forward through the stretch.
/// Where theta is close to the unit circle the beginning is remembered to the end, and zeros in its place would be
/// forecast from for ever.
pub(super) fn expected_errors(process: &Process, row: &[f64]) -> Vec<f64> {
    let mut errors = vec![0.0; row.len()];
    let n_needless = row.len().saturating_sub(process.n_state());
    for stretch in stretches(row).into_iter().filter(|stretch| stretch.end > n_needless) {
        // From the gap before it, whose state holds no innovation of the stretch.
        let origin = stretch.start.saturating_sub(1);
        let mut state = expected_state(process, row, origin);
        let mut next = state.clone();
        for t in origin + 1..stretch.end {
            process.advance(&state, &mut next);
            errors[t] = row[t] - next[0];
            next.iter_mut().zip(&process.shock).for_each(|(state, shock)| *state += shock * errors[t]);
            std::mem::swap(&mut state, &mut next);
        }
    }
    errors
}

/// Returns the stretches in which no sample is missing.
fn stretches(row: &[f64]) -> Vec<Range<usize>> {
    let mut stretches: Vec<Range<usize>> = Vec::new();
    for (t, _) in row.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
        match stretches.last_mut() {
            Some(stretch) if stretch.end == t => stretch.end += 1,
            _ => stretches.push(t..t + 1),
        }
    }
    stretches
}

/// The state at `origin`, given all samples (fixed-point smoothing, Anderson and Moore 1979, section 7.2).
fn expected_state(process: &Process, row: &[f64], origin: usize) -> Vec<f64> {
    let n = process.n_state();
    let mut filter = Kalman::start(process);
    let mut state = vec![0.0; n];
    for value in &row[..origin] {
        filter.pass(*value, &mut state, |_, _, _| {});
    }
    let mut expected = state.clone();
    // The covariances of the state at `origin` with what is unknown of the present one; they fade, and then nothing is
    // left to learn.
    let mut shared = filter.covariances.clone();
    for value in &row[origin..] {
        if shared.iter().all(|covariance| covariance.abs() < 1e-14) {
            break;
        }
        filter.pass(*value, &mut state, |filter, error, is_known| {
            for (expected, row) in expected.iter_mut().zip(shared.chunks_exact_mut(n)) {
                if is_known {
                    *expected += row[0] * error / filter.variance();
                    filter.correct(row, 0.0);
                }
                filter.carry(row);
            }
        });
    }
    expected
}

/// Kalman's filter of the whole matrix.
struct Kalman<'p> {
    process: &'p Process,
    /// Row after row: how unsure the state is.
    covariances: Vec<f64>,
    spare: Vec<f64>,
}

impl<'p> Kalman<'p> {
    fn start(process: &'p Process) -> Self {
        let covariances = process.state_covariances();
        Self { process, spare: covariances.clone(), covariances }
    }

    /// One step with a sample or, for NaN, without; `beside` sees the filter before it learns, the error, and whether
    /// there was one.
    fn pass(&mut self, value: f64, state: &mut [f64], beside: impl FnOnce(&mut Self, f64, bool)) {
        let is_known = !value.is_nan();
        let error = if is_known { self.correct(state, value) } else { 0.0 };
        beside(self, error, is_known);
        if is_known {
            self.learn();
        }
        self.carry(state);
        self.advance();
    }

    /// Returns the variance of the sample to come.
    fn variance(&self) -> f64 {
        self.covariances[0]
    }

    /// The covariances of the sample to come with the state.
    fn first_row(&self) -> &[f64] {
        &self.covariances[..self.process.n_state()]
    }

    /// Takes a value into a state before [`Kalman::learn`] does into the matrix, and gives its error.
    fn correct(&self, state: &mut [f64], value: f64) -> f64 {
        let error = value - state[0];
        let scaled = error / self.variance();
        state.iter_mut().zip(self.first_row()).for_each(|(state, covariance)| *state += covariance * scaled);
        error
    }

    fn learn(&mut self) {
        let (n, variance) = (self.process.n_state(), self.variance());
        let first = self.first_row().to_vec();
        for (row, covariance) in self.covariances.chunks_exact_mut(n).zip(&first) {
            let share = covariance / variance;
            row.iter_mut().zip(&first).for_each(|(value, other)| *value -= share * other);
        }
    }

    fn carry(&mut self, state: &mut [f64]) {
        let n = state.len();
        self.process.advance(state, &mut self.spare[..n]);
        state.copy_from_slice(&self.spare[..n]);
    }

    /// P becomes T P T' + R R'.
    fn advance(&mut self) {
        let n = self.process.n_state();
        let (phi, shock) = (&self.process.phi, &self.process.shock);
        for i in 0..n {
            for j in 0..n {
                let right = if j + 1 < n { self.covariances[j + 1] } else { 0.0 };
                let below = if i + 1 < n { &self.covariances[(i + 1) * n..(i + 2) * n] } else { &[][..] };
                self.spare[i * n + j] = phi[i] * (phi[j] * self.covariances[0] + right)
                    + phi[j] * below.first().copied().unwrap_or(0.0)
                    + below.get(j + 1).copied().unwrap_or(0.0)
                    + shock[i] * shock[j];
            }
        }
        std::mem::swap(&mut self.covariances, &mut self.spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Vec<f64> {
        (0..60).map(|t| (f64::from(t) * 0.9).sin() + f64::from(t * 31 % 17) / 10.0).collect()
    }

    #[track_caller]
    fn check_filters_agree(phi: &[f64], theta: &[f64]) {
        let process = Process::new(phi, theta).unwrap();
        let fast = innovations(&process, &row(), true);
        let kalman = through_gaps(&process, &row(), true);
        for (fast, kalman) in
            [(&fast.errors, &kalman.errors), (&fast.of_ones, &kalman.of_ones), (&fast.variances, &kalman.variances)]
        {
            assert_eq!(fast.len(), 60);
            for (fast, kalman) in fast.iter().zip(kalman) {
                // Both subtract from a variance of up to a few hundred.
                assert!((fast - kalman).abs() < 1e-11, "{phi:?} {theta:?}: {fast} is not {kalman}");
            }
        }
    }

    #[test]
    fn the_fast_filter_is_kalmans() {
        check_filters_agree(&[0.5], &[]);
        check_filters_agree(&[], &[0.9]);
        check_filters_agree(&[], &[-1.0]);
        check_filters_agree(&[0.99], &[0.4, 0.2]);
        check_filters_agree(&[1.1, -0.6, 0.2], &[0.5, -0.3, 0.2, 0.1]);
        check_filters_agree(&[0.2, 0.1, 0.3, -0.4], &[0.5]);
    }

    #[test]
    fn an_over_differenced_row_has_the_errors_of_a_mean() {
        // With theta = -1 the first error is the first sample of variance 2, and each next variance is (t + 1) / t.
        let process = Process::new(&[], &[-1.0]).unwrap();
        for (idx, variance) in innovations(&process, &row(), false).variances.iter().enumerate() {
            let expected = (idx as f64 + 2.0) / (idx as f64 + 1.0);
            assert!((variance - expected).abs() < 1e-12, "{idx}: {variance}");
        }
    }

    #[test]
    fn gaps_change_nothing_but_what_is_known() {
        // An AR(1) seen every other time is an AR(1) with the square of its coefficient.
        let process = Process::new(&[0.8], &[]).unwrap();
        let gappy: Vec<f64> =
            row().iter().enumerate().map(|(t, value)| if t % 2 == 0 { *value } else { f64::NAN }).collect();
        let seen = innovations(&process, &gappy, false);
        let known: Vec<f64> = row().into_iter().step_by(2).collect();
        for (t, error) in seen.errors.iter().enumerate().skip(1) {
            assert!((error - (known[t] - 0.64 * known[t - 1])).abs() < 1e-13);
            assert!((seen.variances[t] - 1.64).abs() < 1e-13);
        }
    }
}
