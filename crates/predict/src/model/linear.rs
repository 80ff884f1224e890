//! The predictor that all linear models share: RPS's eta-theta predictor (section 5.2.1).
//!
//! eta(B) (z(t) - mu) = theta(B) a(t) with eta(B) = phi(B) (1 - B)^(D+d), so that
//! z(t) - mu = eta(1) (z(t-1) - mu) + … + eta(n) (z(t-n) - mu) + a(t) + theta(1) a(t-1) + … + theta(q) a(t-q).
//! D is a whole number. A fraction d makes eta endless; it is cut off at a given n, 300 as in RPS unless the text says
//! otherwise. The signs of theta are those of R, and of Brockwell and Davis.

use serde::{Deserialize, Serialize};

use super::ring::Ring;

/// Standard errors kept ready. More are worked out when somebody asks for them; most ask for fewer.
const N_LEADS_READY: usize = 64;

/// Fitted coefficients, the last deviations from the mean, and the last one-step errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Linear {
    estimates: Estimates,
    /// eta(n), …, eta(1): in the order of `history`, so that a prediction is one dot product.
    eta: Vec<f64>,
    /// theta(q), …, theta(1).
    theta: Vec<f64>,
    history: Ring,
    errors: Ring,
    /// Standard errors of leads 1, 2, …, [`N_LEADS_READY`].
    ready: Vec<f64>,
}

/// Estimates of a fit of a linear model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Estimates {
    /// phi(1), …, phi(p): stationary.
    pub(crate) phi: Vec<f64>,
    /// theta(1), …, theta(q): invertible.
    pub(crate) theta: Vec<f64>,
    /// Number of whole times that the series is differenced.
    pub(crate) n_differences: usize,
    /// Part of a time by which the series is differenced besides.
    pub(crate) fraction: Option<Fraction>,
    /// mu, in the unit of the series; with differences it is only where deviations are counted from.
    pub(crate) mean: f64,
    /// Variance of a(t), in squared units.
    pub(crate) innovation_variance: f64,
}

/// A fractional difference, (1 - B)^d.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fraction {
    /// Order of the difference, between -0.5 and 0.5: there the process is stationary and invertible.
    pub(crate) d: f64,
    /// Number of weights of past samples that are kept, the others being left out.
    pub(crate) truncation: usize,
}

/// Coefficients and state of a linear predictor, each oldest first.
pub(crate) struct Filter<'a> {
    pub(crate) eta: &'a [f64],
    pub(crate) theta: &'a [f64],
    pub(crate) mean: f64,
    pub(crate) history: &'a [f64],
    pub(crate) errors: &'a [f64],
}

impl Estimates {
    /// Returns the means that a predictor with these coefficients forecasts after `samples`.
    pub(crate) fn means_after(self, samples: &[f64], n_leads: usize) -> Vec<f64> {
        let mut linear = Linear::at_rest(self);
        linear.run_in(samples);
        let mut means = Vec::new();
        linear.means_into(n_leads, &mut means);
        means
    }
}

impl Linear {
    /// Builds the model with the state that `samples` lead to, from zeros.
    ///
    /// Without moving averages the state forgets everything but the last samples, and only those are run through.
    pub(crate) fn new(estimates: Estimates, samples: &[f64]) -> Self {
        let mut linear = Self::at_rest(estimates);
        linear.run_in(samples);
        linear.get_ready()
    }

    /// Builds the model with the state after `samples` whose one-step errors are known: one per sample, whatever in
    /// gaps.
    pub(crate) fn with_errors(estimates: Estimates, samples: &[f64], errors: &[f64]) -> Self {
        let mut linear = Self::at_rest(estimates);
        for (sample, error) in samples.iter().zip(errors) {
            let deviation = sample - linear.estimates.mean;
            if deviation.is_nan() {
                linear.push(deviation);
            } else {
                linear.history.push(deviation);
                linear.errors.push(*error);
            }
        }
        linear.get_ready()
    }

    fn at_rest(estimates: Estimates) -> Self {
        let eta = reversed(&expand(&estimates));
        let theta = reversed(&estimates.theta);
        let (history, errors) = (Ring::new(eta.len()), Ring::new(theta.len()));
        Self { estimates, eta, theta, history, errors, ready: vec![0.0; N_LEADS_READY] }
    }

    fn get_ready(mut self) -> Self {
        let linear = &mut self;
        let mut ready = std::mem::take(&mut linear.ready);
        linear.standard_errors_into(0, &mut ready);
        linear.ready = ready;
        self
    }

    /// Computes the errors from the state at rest. The first samples stand in the history before there is anything to
    /// predict them by.
    pub(crate) fn one_step_errors(&self, samples: &[f64]) -> Vec<f64> {
        let mut linear = Self::at_rest(self.estimates.clone());
        let n_given = linear.n_given();
        let error = |(idx, sample): (usize, &f64)| {
            let deviation = sample - linear.estimates.mean;
            let predicted = linear.predicted();
            if idx < n_given {
                linear.begin(deviation);
                return f64::NAN;
            }
            linear.push(deviation);
            deviation - predicted
        };
        samples.iter().enumerate().map(error).collect()
    }

    /// Gaps among the last samples are filled by the predictions in their place; twice the order of known samples
    /// before them lets those predictions rest on real ones.
    fn run_in(&mut self, samples: &[f64]) {
        let n_until_gap = samples.iter().rposition(|sample| !sample.is_nan()).map_or(0, |last| last + 1);
        let start = if self.theta.is_empty() { n_until_gap.saturating_sub(2 * self.eta.len()) } else { 0 };
        let n_given = if self.theta.is_empty() { 0 } else { self.n_given() };
        for (idx, sample) in samples[start..].iter().enumerate() {
            let deviation = sample - self.estimates.mean;
            if idx < n_given {
                self.begin(deviation);
            } else {
                self.push(deviation);
            }
        }
    }

    /// Returns the number of first samples that there is nothing to predict by. A fraction reaches back past every
    /// start, and finds the mean there: predictions from the first sample on are worse than later ones, and are
    /// predictions all the same.
    fn n_given(&self) -> usize {
        if self.estimates.fraction.is_some() { 0 } else { self.eta.len() }
    }

    /// Takes one of the first samples, before there is anything to predict it by.
    fn begin(&mut self, deviation: f64) {
        if deviation.is_nan() {
            self.push(deviation);
        } else {
            self.history.push(deviation);
            self.errors.push(0.0);
        }
    }

    /// The next deviation as expected.
    fn predicted(&self) -> f64 {
        dot(&self.eta, self.history.recent()) + dot(&self.theta, self.errors.recent())
    }

    /// The estimates with one of them moved, by its name in an [`Inference`](crate::Inference); `None` for a name that
    /// they do not have.
    pub(crate) fn moved(&self, name: &str, by: f64) -> Option<Estimates> {
        let mut estimates = self.estimates.clone();
        let numbered = |letters: &str| name.strip_prefix(letters).and_then(|digits| digits.parse::<usize>().ok());
        let slot = match (name, numbered("phi"), numbered("theta")) {
            ("mean", ..) => &mut estimates.mean,
            ("d", ..) => &mut estimates.fraction.as_mut()?.d,
            (_, Some(number), _) => estimates.phi.get_mut(number.checked_sub(1)?)?,
            (.., Some(number)) => estimates.theta.get_mut(number.checked_sub(1)?)?,
            _ => return None,
        };
        *slot += by;
        Some(estimates)
    }

    pub(crate) fn estimates(&self) -> &Estimates {
        &self.estimates
    }

    /// NaN is a gap: the prediction takes its place, and its error is 0.
    pub(crate) fn step(&mut self, sample: f64) {
        self.push(sample - self.estimates.mean);
    }

    fn push(&mut self, deviation: f64) {
        if deviation.is_nan() || !self.theta.is_empty() {
            let predicted = self.predicted();
            let deviation = if deviation.is_nan() { predicted } else { deviation };
            self.errors.push(deviation - predicted);
            self.history.push(deviation);
        } else {
            self.history.push(deviation);
        }
    }

    /// `n_missing` is how many samples are missing since the last known one; predictions stand in their place.
    pub(crate) fn forecast_into(&self, n_missing: usize, means: &mut Vec<f64>, standard_errors: &mut [f64]) {
        self.means_into(standard_errors.len(), means);
        self.spread_into(n_missing, standard_errors);
    }

    /// The standard errors alone: they depend on the fit and on how many samples are missing, not on any sample.
    pub(crate) fn spread_into(&self, n_missing: usize, standard_errors: &mut [f64]) {
        match self.ready.get(n_missing..n_missing + standard_errors.len()) {
            Some(ready) => standard_errors.copy_from_slice(ready),
            None => self.standard_errors_into(n_missing, standard_errors),
        }
    }

    /// All that a prediction is made of.
    pub(crate) fn filter(&self) -> Filter<'_> {
        Filter {
            eta: &self.eta,
            theta: &self.theta,
            mean: self.estimates.mean,
            history: self.history.recent(),
            errors: self.errors.recent(),
        }
    }

    /// Puts other deviations and errors in the place of those it has, as many of each, oldest first.
    pub(crate) fn set_state(&mut self, history: impl Iterator<Item = f64>, errors: impl Iterator<Item = f64>) {
        history.for_each(|deviation| self.history.push(deviation));
        errors.for_each(|error| self.errors.push(error));
    }

    /// Each predicted deviation is appended to the known ones, where the next prediction finds it. Errors to come are
    /// expected to be 0, so of theta only what reaches back to known errors counts.
    pub(crate) fn means_into(&self, n_leads: usize, means: &mut Vec<f64>) {
        let order = self.eta.len();
        means.clear();
        means.reserve(order + n_leads);
        means.extend_from_slice(self.history.recent());
        match order % 4 {
            _ if order < 4 => (0..n_leads).for_each(|lead_idx| {
                let predicted = dot(&self.eta, &means[lead_idx..]);
                means.push(predicted + self.known_errors(lead_idx));
            }),
            0 => self.append_means::<0>(n_leads, means),
            1 => self.append_means::<1>(n_leads, means),
            2 => self.append_means::<2>(n_leads, means),
            _ => self.append_means::<3>(n_leads, means),
        }
        means.copy_within(order.., 0);
        means.truncate(n_leads);
        means.iter_mut().for_each(|deviation| *deviation += self.estimates.mean);
    }

    /// The same additions in the same order as with [`dot`], for an order of at least 4 that leaves `R` by 4. The
    /// newest deviations stay in registers: to load several at a time, one of which was just stored, takes longer than
    /// all else.
    fn append_means<const R: usize>(&self, n_leads: usize, means: &mut Vec<f64>) {
        let (weights, rest_weights) = self.eta.split_last_chunk::<R>().expect("the order is at least 4");
        let (weights, last_weights) = weights.split_last_chunk::<4>().expect("the order is at least 4");
        let newest: [f64; 4] = std::array::from_fn(|lane| means[weights.len() + lane]);
        let (mut last, mut rest) = (newest, std::array::from_fn::<f64, R, _>(|idx| means[weights.len() + 4 + idx]));
        for lead_idx in 0..n_leads {
            let mut sums = sums_by_lane(weights, &means[lead_idx..]);
            for lane in 0..4 {
                sums[lane] += last_weights[lane] * last[lane];
            }
            let rest_sum: f64 = rest_weights.iter().zip(&rest).map(|(weight, value)| weight * value).sum();
            let predicted = (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest_sum + self.known_errors(lead_idx);
            last = [last[1], last[2], last[3], rest.first().copied().unwrap_or(predicted)];
            rest = std::array::from_fn(|idx| rest.get(idx + 1).copied().unwrap_or(predicted));
            means.push(predicted);
        }
    }

    /// Returns the part that known errors add to the forecast at a lead.
    fn known_errors(&self, lead_idx: usize) -> f64 {
        let errors = self.errors.recent();
        // -0 leaves any number as it is.
        let known = errors.get(lead_idx..).filter(|known| !known.is_empty());
        known.map_or(-0.0, |known| dot(&self.theta[..known.len()], known))
    }

    /// Var(lead h) = s2 (psi(0)^2 + … + psi(h-1)^2), with psi(0) = 1 and psi(j) = theta(j) + sum of eta(i) psi(j-i)
    /// (Box, Jenkins and Reinsel 1994, section 5.1). Leads count from `n_missing + 1`.
    fn standard_errors_into(&self, n_missing: usize, standard_errors: &mut [f64]) {
        let order = self.eta.len();
        let n_leads = n_missing + standard_errors.len();
        let mut psi: Vec<f64> = Vec::with_capacity(order + n_leads);
        psi.resize(order, 0.0);
        let mut sum = 0.0;
        for lead_idx in 0..n_leads {
            let shock = match lead_idx {
                0 => 1.0,
                j => self.estimates.theta.get(j - 1).copied().unwrap_or(0.0),
            };
            let weight = shock + dot(&self.eta, &psi[lead_idx..]);
            psi.push(weight);
            sum += weight * weight;
            if let Some(out) = lead_idx.checked_sub(n_missing) {
                standard_errors[out] = (self.estimates.innovation_variance * sum).sqrt();
            }
        }
    }

    /// Whether every estimate is a finite number, and the parts fit together.
    pub(crate) fn is_sound(&self) -> bool {
        let Estimates { phi, theta, n_differences, fraction, mean, innovation_variance } = &self.estimates;
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        let n_eta = fraction.map_or(phi.len() + n_differences, |fraction| fraction.truncation);
        self.eta.len() == n_eta
            && fraction.is_none_or(|fraction| fraction.d.abs() < 0.5)
            && self.theta.len() == theta.len()
            && self.history.is_sound(self.eta.len())
            && self.errors.is_sound(theta.len())
            && self.ready.len() == N_LEADS_READY
            && mean.is_finite()
            && innovation_variance.is_finite()
            && *innovation_variance >= 0.0
            && [phi, theta, &self.eta, &self.theta, &self.ready].into_iter().all(|values| finite(values))
    }
}

/// eta(1), …, eta(n) of phi(B) (1 - B)^(D+d) = 1 - eta(1) B - …; n is p + D, or where a fraction's weights are cut off.
fn expand(estimates: &Estimates) -> Vec<f64> {
    let Estimates { phi, n_differences, fraction, .. } = estimates;
    let n_eta = fraction.map_or(phi.len() + n_differences, |fraction| fraction.truncation);
    let mut polynomial: Vec<f64> = std::iter::once(1.0).chain(phi.iter().map(|coefficient| -coefficient)).collect();
    polynomial.resize(1 + n_eta, 0.0);
    for _ in 0..*n_differences {
        for power in (1..polynomial.len()).rev() {
            polynomial[power] -= polynomial[power - 1];
        }
    }
    if let Some(fraction) = fraction {
        let weights = fractional_difference(fraction.d, n_eta);
        polynomial = (0..=n_eta)
            .map(|power| (0..=power.min(phi.len() + n_differences)).map(|i| polynomial[i] * weights[power - i]).sum())
            .collect();
    }
    polynomial[1..].iter().map(|coefficient| -coefficient).collect()
}

/// pi(0), …, pi(n) of (1 - B)^d = pi(0) + pi(1) B + … (Hosking 1981, equation 3).
pub(crate) fn fractional_difference(d: f64, n: usize) -> Vec<f64> {
    let next = |weight: &f64, lag: usize| weight * (lag as f64 - 1.0 - d) / lag as f64;
    let mut weights = vec![1.0];
    (1..=n).for_each(|lag| weights.push(next(&weights[lag - 1], lag)));
    weights
}

fn reversed(values: &[f64]) -> Vec<f64> {
    values.iter().rev().copied().collect()
}

/// Sum of products over the length of `weights`; `values` may be longer.
///
/// Four sums side by side fill the vector registers. The newest values come last, so that in a recursion the
/// processor works on the older products while the newest is still on its way.
pub(crate) fn dot(weights: &[f64], values: &[f64]) -> f64 {
    let values = &values[..weights.len()];
    let n_whole = weights.len() - weights.len() % 4;
    let sums = sums_by_lane(&weights[..n_whole], values);
    let rest: f64 = weights[n_whole..].iter().zip(&values[n_whole..]).map(|(weight, value)| weight * value).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// Sums of every fourth product, over the length of `weights`, a multiple of 4.
#[inline]
fn sums_by_lane(weights: &[f64], values: &[f64]) -> [f64; 4] {
    let values = &values[..weights.len()];
    let mut sums = [0.0; 4];
    for (weight, value) in weights.as_chunks::<4>().0.iter().zip(values.as_chunks::<4>().0) {
        for lane in 0..4 {
            sums[lane] += weight[lane] * value[lane];
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eta(phi: &[f64], n_differences: usize, fraction: Option<Fraction>) -> Vec<f64> {
        expand(&Estimates { phi: phi.to_vec(), n_differences, fraction, ..Estimates::default() })
    }

    #[test]
    fn differences_fold_into_eta() {
        assert_eq!(eta(&[], 1, None), [1.0]);
        assert_eq!(eta(&[], 2, None), [2.0, -1.0]);
        // (1 - 0.5 B) (1 - B) = 1 - 1.5 B + 0.5 B^2
        assert_eq!(eta(&[0.5], 1, None), [1.5, -0.5]);
    }

    #[test]
    fn a_fraction_has_the_weights_of_fracdiff() {
        let expected = [0.4, 0.12, 0.064, 0.0416, 0.029952, 0.022_963_2, 0.018_370_56, 0.015_155_712, 0.012_798_156_8];
        let weights = eta(&[], 0, Some(Fraction { d: 0.4, truncation: 9 }));
        // The first five are exact; the others are printed to ten digits.
        assert!(weights.iter().zip(expected).all(|(ours, theirs)| (ours - theirs).abs() < 1e-11), "{weights:?}");
    }

    #[test]
    fn a_fraction_multiplies_with_phi() {
        // (1 - 0.5 B) (1 - 0.4 B - 0.12 B^2 - …) = 1 - 0.9 B + 0.08 B^2 - …
        let weights = eta(&[0.5], 0, Some(Fraction { d: 0.4, truncation: 2 }));
        assert!((weights[0] - 0.9).abs() < 1e-15 && (weights[1] + 0.08).abs() < 1e-15, "{weights:?}");
    }
}
