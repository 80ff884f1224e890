//! SEASONAL: an outlook as a model among others. It learns with every sample, so a fit is a run over the samples.

use serde::{Deserialize, Serialize};

use super::sample::Centred;
use crate::fit::{FitError, too_large};
use crate::outlook::{Outlook, Periods};
use crate::spec::Spec;

/// Leads are watched as far as two of the longest period, within these bounds; beyond, errors grow no more.
const N_LEADS_MIN: usize = 512;
const N_LEADS_MAX: usize = 8192;

/// Shares of a normal distribution below one standard deviation under its mean, and below one over it.
const DEVIATION: [f64; 2] = [0.158_655_253_931_457_05, 0.841_344_746_068_543];

/// Samples beyond this are taken for gaps: squares of them would overflow.
const LARGEST: f64 = 1e100;

/// An outlook, and the mean of what it has seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seasonal {
    outlook: Outlook,
    n: f64,
    mean: f64,
}

/// Seasons of these lengths, and those that are found, in samples of which four are known.
///
/// # Errors
/// Samples whose squares overflow or vanish.
pub(crate) fn fit(spec: &Spec, samples: &[f64], periods: Periods, range: (f64, f64)) -> Result<Seasonal, FitError> {
    if samples.iter().any(|sample| sample.abs() > LARGEST) {
        return Err(too_large(spec, samples));
    }
    if let Err(error @ FitError::TooSmall { .. }) = Centred::of(spec, samples) {
        return Err(error);
    }
    let mut seasonal = Seasonal { outlook: outlook(periods, range), n: 0.0, mean: 0.0 };
    samples.iter().for_each(|sample| seasonal.step(*sample));
    Ok(seasonal)
}

/// An outlook that has no sample yet.
pub(crate) fn outlook(periods: Periods, (min, max): (f64, f64)) -> Outlook {
    Outlook::new(periods, n_leads(periods)).within(min, max)
}

/// Whether this can have become of [`outlook`] with these seasons.
pub(crate) fn is_outlook_of(outlook: &Outlook, periods: Periods) -> bool {
    outlook.is_of(periods, n_leads(periods))
}

/// Returns the sample, or a gap in place of one whose square overflows.
pub(crate) fn squarable(sample: f64) -> f64 {
    if sample.abs() <= LARGEST { sample } else { f64::NAN }
}

/// Returns the number of leads up to which leads are watched.
fn n_leads(periods: Periods) -> usize {
    let longest = periods.steps().fold(0.0, f64::max);
    ((2.0 * longest) as usize).clamp(N_LEADS_MIN, N_LEADS_MAX)
}

/// Returns the period of each season in steps by its name: those that were given, and those that were found.
pub(crate) fn parameters(outlook: &Outlook) -> Vec<(String, f64)> {
    let given = outlook.periods().steps().map(|period| ("period", period)).collect::<Vec<_>>();
    let found = outlook.found().into_iter().map(|season| ("found", season.period));
    let numbered = |(idx, (name, period)): (usize, (&str, f64))| (format!("{name}{}", idx + 1), period);
    given.into_iter().enumerate().map(numbered).chain(found.enumerate().map(numbered)).collect()
}

impl Seasonal {
    /// Takes a sample, NaN for a gap.
    pub(crate) fn step(&mut self, sample: f64) {
        let sample = squarable(sample);
        if !sample.is_nan() {
            self.n += 1.0;
            self.mean += (sample - self.mean) / self.n;
        }
        self.outlook.step(sample);
    }

    /// Computes the difference of each sample from the median that was expected of it. NaN where there was none yet,
    /// and in gaps.
    pub(crate) fn one_step_errors(&self, samples: &[f64]) -> Vec<f64> {
        let outlook = outlook(self.outlook.periods(), self.outlook.range());
        let mut fresh = Self { outlook, n: 0.0, mean: 0.0 };
        let error = |sample: &f64| {
            let error = fresh.outlook.quantile(1, 0.5).map_or(f64::NAN, |expected| sample - expected);
            fresh.step(*sample);
            error
        };
        samples.iter().map(error).collect()
    }

    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    /// The square of the standard error of the next sample.
    pub(crate) fn innovation_variance(&self) -> f64 {
        let (mut mean, mut standard_error) = ([0.0], [0.0]);
        self.forecast_into(&mut mean, &mut standard_error);
        standard_error[0].powi(2)
    }

    /// Medians, and half the widths of the intervals that hold as much as one standard deviation on both sides.
    pub(crate) fn forecast_into(&self, means: &mut [f64], standard_errors: &mut [f64]) {
        let [below, above] = DEVIATION;
        let quantiles = self.outlook.view(&[]).at_each(means.len(), [below, 0.5, above]);
        for ((mean, error), [lower, median, upper]) in means.iter_mut().zip(standard_errors).zip(quantiles) {
            (*mean, *error) = (median, 0.5 * (upper - lower));
        }
    }

    /// See [`parameters`].
    pub(crate) fn parameters(&self) -> Vec<(String, f64)> {
        parameters(&self.outlook)
    }

    /// Range of values that the quantity can have.
    pub(crate) fn range(&self) -> (f64, f64) {
        self.outlook.range()
    }

    pub(crate) fn into_outlook(self) -> Outlook {
        self.outlook
    }

    /// Whether this is a fit of these seasons, and its parts fit together.
    pub(crate) fn is_of(&self, periods: Periods) -> bool {
        is_outlook_of(&self.outlook, periods)
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.n >= 0.0 && self.n.is_finite() && self.mean.is_finite() && self.outlook.is_ready()
    }
}
