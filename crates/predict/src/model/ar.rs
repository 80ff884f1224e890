//! AR(p): coefficients by Yule-Walker or Burg, forecasts by recursion, errors by psi weights.
//!
//! z(t) - mu = phi(1) (z(t-1) - mu) + … + phi(p) (z(t-p) - mu) + a(t), with a(t) white of variance s2
//! (Box, Jenkins and Reinsel 1994, chapters 3 and 5; RPS section 5.2.1).

mod burg;
mod yule_walker;

use serde::{Deserialize, Serialize};

use crate::fit::{FitError, too_large};
use crate::spec::{ArMethod, Spec};

/// Standard errors kept ready. More are worked out when somebody asks for them; most ask for fewer.
const N_LEADS_READY: usize = 64;

/// Fitted coefficients, and the last `p` deviations from the mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ar {
    mean: f64,
    innovation_variance: f64,
    /// phi(p), …, phi(1): in the order of `history`, so that a prediction is one dot product.
    reversed: Vec<f64>,
    /// The last p deviations, oldest first, twice in a row: whatever `start` is, `p` of them lie side by side.
    history: Vec<f64>,
    /// Where the oldest deviation stands, below p.
    start: usize,
    /// Standard errors of leads 1, 2, …, [`N_LEADS_READY`].
    ready: Vec<f64>,
}

/// The estimates alone: phi(1), …, phi(p) and the innovation variance.
struct Estimates {
    coefficients: Vec<f64>,
    innovation_variance: f64,
}

pub(crate) fn fit(
    spec: &Spec,
    samples: &[f64],
    n_known: usize,
    order: usize,
    method: ArMethod,
) -> Result<Ar, FitError> {
    let mean = mean(samples, n_known);
    let deviations: Vec<f64> = samples.iter().map(|sample| sample - mean).collect();
    let power = deviations.iter().filter(|deviation| !deviation.is_nan()).map(|d| d * d).sum::<f64>() / n_known as f64;
    if !power.is_finite() {
        return Err(too_large(spec, samples));
    }
    if is_rounding_only(power, mean) {
        return Err(FitError::Constant { spec: spec.clone(), value: mean });
    }
    let estimates = match method {
        ArMethod::YuleWalker => yule_walker::estimate(&deviations, n_known, order),
        ArMethod::Burg => burg::estimate(&deviations, power, order),
    };
    Ok(Ar::new(mean, &estimates, &deviations))
}

/// Two passes: the second takes out what rounding left of a large mean.
fn mean(samples: &[f64], n_known: usize) -> f64 {
    let known = || samples.iter().filter(|sample| !sample.is_nan());
    let rough = known().sum::<f64>() / n_known as f64;
    rough + known().map(|sample| sample - rough).sum::<f64>() / n_known as f64
}

/// A series of equal numbers has deviations of a few units in the last place of its mean, and no more.
fn is_rounding_only(power: f64, mean: f64) -> bool {
    power.sqrt() <= 8.0 * f64::EPSILON * mean.abs() || power < f64::MIN_POSITIVE
}

impl Ar {
    fn new(mean: f64, estimates: &Estimates, deviations: &[f64]) -> Self {
        let order = estimates.coefficients.len();
        let mut ar = Self {
            mean,
            innovation_variance: estimates.innovation_variance,
            reversed: estimates.coefficients.iter().rev().copied().collect(),
            history: vec![0.0; 2 * order],
            start: 0,
            ready: vec![0.0; N_LEADS_READY],
        };
        // Gaps among the last samples are filled by the predictions in their place. The run-in before the
        // last p known ones lets those predictions rest on real samples.
        let n_until_gap = deviations.iter().rposition(|deviation| !deviation.is_nan()).map_or(0, |last| last + 1);
        let tail = n_until_gap.saturating_sub(2 * order);
        deviations[tail..].iter().for_each(|deviation| ar.push(*deviation));
        let mut ready = std::mem::take(&mut ar.ready);
        ar.standard_errors_into(0, &mut ready);
        ar.ready = ready;
        ar
    }

    /// phi(1), …, phi(p).
    pub(crate) fn coefficients(&self) -> impl DoubleEndedIterator<Item = f64> + '_ {
        self.reversed.iter().rev().copied()
    }

    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    pub(crate) fn innovation_variance(&self) -> f64 {
        self.innovation_variance
    }

    /// Whether every estimate is a finite number, and the parts fit together.
    pub(crate) fn is_sound(&self) -> bool {
        let order = self.reversed.len();
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        order > 0
            && self.history.len() == 2 * order
            && self.start < order
            && self.ready.len() == N_LEADS_READY
            && self.mean.is_finite()
            && self.innovation_variance.is_finite()
            && self.innovation_variance >= 0.0
            && finite(&self.reversed)
            && finite(&self.history)
            && finite(&self.ready)
    }

    /// NaN is a gap: the prediction takes its place.
    pub(crate) fn step(&mut self, sample: f64) {
        self.push(sample - self.mean);
    }

    fn push(&mut self, deviation: f64) {
        let order = self.reversed.len();
        let deviation = if deviation.is_nan() { dot(&self.reversed, self.recent()) } else { deviation };
        self.history[self.start] = deviation;
        self.history[self.start + order] = deviation;
        self.start = if self.start + 1 == order { 0 } else { self.start + 1 };
    }

    fn recent(&self) -> &[f64] {
        &self.history[self.start..self.start + self.reversed.len()]
    }

    /// `n_missing` is how many samples are missing since the last known one; predictions stand in their place.
    pub(crate) fn forecast_into(&self, n_missing: usize, means: &mut Vec<f64>, standard_errors: &mut [f64]) {
        self.means_into(standard_errors.len(), means);
        match self.ready.get(n_missing..n_missing + standard_errors.len()) {
            Some(ready) => standard_errors.copy_from_slice(ready),
            None => self.standard_errors_into(n_missing, standard_errors),
        }
    }

    /// Each predicted deviation is appended to the known ones, where the next prediction finds it.
    fn means_into(&self, n_leads: usize, means: &mut Vec<f64>) {
        let order = self.reversed.len();
        means.clear();
        means.reserve(order + n_leads);
        means.extend_from_slice(self.recent());
        for lead_idx in 0..n_leads {
            let predicted = dot(&self.reversed, &means[lead_idx..]);
            means.push(predicted);
        }
        means.copy_within(order.., 0);
        means.truncate(n_leads);
        means.iter_mut().for_each(|deviation| *deviation += self.mean);
    }

    /// Var(lead h) = s2 (psi(0)^2 + … + psi(h-1)^2), with psi(0) = 1 and psi(j) = sum of phi(i) psi(j-i).
    /// Leads count from `n_missing + 1`.
    fn standard_errors_into(&self, n_missing: usize, standard_errors: &mut [f64]) {
        let order = self.reversed.len();
        let n_leads = n_missing + standard_errors.len();
        let mut psi: Vec<f64> = Vec::with_capacity(order + n_leads);
        psi.resize(order - 1, 0.0);
        psi.push(1.0);
        let mut sum = 0.0;
        for lead_idx in 0..n_leads {
            sum += psi[order - 1 + lead_idx].powi(2);
            if let Some(out) = lead_idx.checked_sub(n_missing) {
                standard_errors[out] = (self.innovation_variance * sum).sqrt();
            }
            let next = dot(&self.reversed, &psi[lead_idx..]);
            psi.push(next);
        }
    }
}

/// Sum of products over the length of `weights`; `values` may be longer.
///
/// Four sums side by side fill the vector registers. The newest values come last, so that in a recursion the
/// processor works on the older products while the newest is still on its way.
fn dot(weights: &[f64], values: &[f64]) -> f64 {
    let values = &values[..weights.len()];
    let (weight_chunks, weight_rest) = weights.as_chunks::<4>();
    let (value_chunks, value_rest) = values.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (weight, value) in weight_chunks.iter().zip(value_chunks) {
        for lane in 0..4 {
            sums[lane] += weight[lane] * value[lane];
        }
    }
    let rest: f64 = weight_rest.iter().zip(value_rest).map(|(weight, value)| weight * value).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}
