//! Start of every linear fit: the mean, the deviations from it, and whether they vary at all.

use crate::fit::{FitError, too_large};
use crate::spec::Spec;

/// Samples of a stream beyond this are taken as this, so that no sum of a few of them overflows.
const SAMPLE_MAX: f64 = 1e300;

/// A series of equal numbers has deviations of a few units in the last place of its mean, and no more.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Mean squares below this have lost digits, or will when they are multiplied by a share.
const POWER_MIN: f64 = f64::MIN_POSITIVE / f64::EPSILON;

/// The sample, or the nearest that sums of a few can hold; NaN stays.
pub(crate) fn bounded(sample: f64) -> f64 {
    sample.clamp(-SAMPLE_MAX, SAMPLE_MAX)
}

/// Samples with their mean taken out.
pub(crate) struct Centred {
    pub(crate) mean: f64,
    /// NaN in a gap.
    pub(crate) deviations: Vec<f64>,
    pub(crate) n_known: usize,
    /// Mean square of the known deviations.
    pub(crate) power: f64,
}

impl Centred {
    /// # Errors
    /// Samples that do not vary, or whose squares overflow.
    pub(crate) fn of(spec: &Spec, samples: &[f64]) -> Result<Self, FitError> {
        let n_known = samples.iter().filter(|sample| !sample.is_nan()).count();
        let mean = mean(samples, n_known);
        let deviations: Vec<f64> = samples.iter().map(|sample| sample - mean).collect();
        let squares = deviations.iter().filter(|deviation| !deviation.is_nan()).map(|deviation| deviation * deviation);
        let power = squares.sum::<f64>() / n_known as f64;
        if !(mean.is_finite() && power.is_finite()) {
            return Err(too_large(spec, samples));
        }
        let spread = deviations.iter().fold(0.0_f64, |most, deviation| most.max(deviation.abs()));
        if spread <= ROUNDING * mean.abs() {
            return Err(FitError::Constant { spec: spec.clone(), value: mean });
        }
        if power < POWER_MIN {
            return Err(FitError::TooSmall { spec: spec.clone(), spread });
        }
        Ok(Self { mean, deviations, n_known, power })
    }
}

/// The mean square of a series that was differenced so many times.
///
/// # Errors
/// Differences that do not vary, or whose squares overflow.
pub(crate) fn power_of_differences(spec: &Spec, differenced: &[f64], order: usize) -> Result<f64, FitError> {
    Centred::of(spec, differenced).map(|centred| centred.power).map_err(|error| match error {
        FitError::Constant { spec, value } if order > 0 => FitError::ConstantDifferences { spec, order, value },
        other => other,
    })
}

/// Two passes: the second takes out what rounding left of a large mean.
fn mean(samples: &[f64], n_known: usize) -> f64 {
    let known = || samples.iter().filter(|sample| !sample.is_nan());
    let rough = known().sum::<f64>() / n_known as f64;
    rough + known().map(|sample| sample - rough).sum::<f64>() / n_known as f64
}
