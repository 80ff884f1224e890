//! Fitting: from a specification and samples to a model, or to the reason why not.

use serde::{Deserialize, Serialize};

use crate::auto;
use crate::effort::{self, Cancel, End};
use crate::model::{Fitted, Model, ar, arfima, arma, ets, mean, nws, seasonal, tar, window};
use crate::outlook::UNBOUNDED;
use crate::spec::Spec;

/// The reason why samples do not yield the model that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// Fewer known samples than the model needs.
    #[error("{spec} needs at least {need} samples that are not gaps, but has {have}")]
    TooShort {
        /// The specification that was to be fitted.
        spec: Spec,
        /// Known samples given.
        have: usize,
        /// Known samples needed.
        need: usize,
    },
    /// Gaps lie so close that few samples have what they would be predicted from, or differenced with.
    #[error(
        "gaps leave {spec} {have} samples whose predecessors are known too, but it needs {need}; AR with method=ml or burg skips gaps"
    )]
    TooBroken {
        /// The specification that was to be fitted.
        spec: Spec,
        /// Samples that the gaps leave.
        have: usize,
        /// Samples needed.
        need: usize,
    },
    /// All known samples are the same number, so there is nothing to estimate coefficients from.
    #[error("{spec} cannot be fitted to a constant series (every sample is {value}); LAST predicts it without error")]
    Constant {
        /// The specification that was to be fitted.
        spec: Spec,
        /// The value of every sample.
        value: f64,
    },
    /// All differences are the same number: the series is a straight line, or for higher orders a parabola.
    #[error(
        "{spec} cannot be fitted to a series whose differences of order {order} are constant (every one is {value}); AUTO goes on with a \
         straight line"
    )]
    ConstantDifferences {
        /// The specification that was to be fitted.
        spec: Spec,
        /// Number of times that the series was differenced.
        order: usize,
        /// The value of every difference.
        value: f64,
    },
    /// No search for the coefficients came to an end: those of an over-parametrized model cancel each other out.
    #[error(
        "no best coefficients of {spec} were found: the samples do not determine so many; use lower orders, \
         or AR, whose coefficients do not hide each other"
    )]
    DidNotConverge {
        /// The specification that was to be fitted.
        spec: Spec,
    },
    /// The fraction that fits best is no difference of a stationary and invertible process.
    #[error(
        "the fraction d of {spec} that fits best is {d:.2}, outside (-0.5, 0.5): {}",
        if *.d > 0.0 { "the series wanders; difference it first, as ARIMA(p,1,q) does" }
        else { "the series was differenced once too often; fit what it was differenced from" }
    )]
    FractionOutside {
        /// The specification that was to be fitted.
        spec: Spec,
        /// The fraction that fits best.
        d: f64,
    },
    /// So many samples are equal that no threshold has enough of them on either side.
    #[error("no threshold of {spec} leaves enough samples on both sides; use AR for such a series")]
    NoThreshold {
        /// The specification that was to be fitted.
        spec: Spec,
    },
    /// The coefficients that fit best let the series run away.
    #[error(
        "the best coefficients of {spec} are unstable, so forecasts would grow without bound; try lower orders, or ARIMA on its differences"
    )]
    Explosive {
        /// The specification that was to be fitted.
        spec: Spec,
    },
    /// A sample is infinite.
    #[error("sample {idx} is {value}, which is not a measurement; mark a missing sample as NaN")]
    Infinite {
        /// Its position in the slice, from 0.
        idx: usize,
        /// The sample.
        value: f64,
    },
    /// Samples that differ by so little that the squares of their deviations vanish.
    #[error(
        "samples that lie within {spread:e} of their mean vary too little to fit {spec}: their variance underflows; multiply them by a constant"
    )]
    TooSmall {
        /// The specification that was to be fitted.
        spec: Spec,
        /// The largest distance of a sample from the mean.
        spread: f64,
    },
    /// The fit is taken to cost more than it may.
    #[error(
        "a fit of {spec} to {n_samples} samples takes about {cost} operations, but the limit is {limit}; use a lower order or a shorter window"
    )]
    TooDear {
        /// The specification that was to be fitted.
        spec: Spec,
        /// Number of samples of the fit.
        n_samples: usize,
        /// Cost of the fit, in operations.
        cost: u64,
        /// Limit on the cost, in operations.
        limit: u64,
    },
    /// Samples whose squares overflow.
    #[error(
        "samples up to {largest:e} are too large to fit {spec}: their variance overflows; divide them by a constant"
    )]
    TooLarge {
        /// The specification that was to be fitted.
        spec: Spec,
        /// The largest magnitude among the samples.
        largest: f64,
    },
    /// The search for coefficients goes on after more operations than the fit may take.
    #[error(
        "a fit of {spec} to {n_samples} samples was not done after {limit} operations, which is the limit; use a lower order or a shorter window"
    )]
    TooLong {
        /// The specification that was to be fitted.
        spec: Spec,
        /// Number of samples of the fit.
        n_samples: usize,
        /// Limit on the fit, in operations.
        limit: u64,
    },
    /// There is no season in the samples.
    #[error("no season was found in {n_samples} samples; one that is to be found comes at least four times in them")]
    NoSeason {
        /// Number of samples, gaps included.
        n_samples: usize,
    },
    /// Somebody cancelled it.
    #[error("the fit of {spec} was cancelled")]
    Cancelled {
        /// The specification that was to be fitted.
        spec: Spec,
    },
}

/// Fits `spec` to `samples`, evenly spaced, oldest first, gaps as NaN.
///
/// The model's predictor goes on where the samples end. A `REFIT` is fitted to the last `window` samples.
///
/// # Errors
/// See [`FitError`]; nothing else goes wrong, and nothing panics, whatever the samples are.
pub fn fit(spec: &Spec, samples: &[f64]) -> Result<Model, FitError> {
    fit_bounded(spec, samples, UNBOUNDED)
}

/// Fits as [`fit`] does to samples of a quantity that is never below the first bound or above the second. `AUTO` and
/// `SEASONAL` choose their scale by the bounds (see [`Scale`](crate::Scale)); other models ignore them.
///
/// # Errors
/// As [`fit`].
///
/// # Panics
/// If the first bound is above the second, or either is NaN.
pub fn fit_bounded(spec: &Spec, samples: &[f64], range: (f64, f64)) -> Result<Model, FitError> {
    let whole = samples;
    let samples = spec.latest(whole);
    let n_known = count_known(spec.inner(), samples)?;
    let fitted = match spec.inner() {
        Spec::Mean => Fitted::Mean(mean::fit(samples)),
        Spec::Last => Fitted::Window(window::fit(samples, 1)),
        Spec::BestMean { window_max } => Fitted::Window(window::fit(samples, *window_max)),
        Spec::Ar { order, method } => Fitted::Linear(ar::fit(spec.inner(), samples, *order, *method)?),
        plain @ (Spec::Ma { method, .. } | Spec::Arma { method, .. } | Spec::Arima { method, .. }) => {
            let orders = plain.orders().expect("a linear model has orders");
            Fitted::Linear(arma::fit(plain, samples, orders, *method)?)
        }
        Spec::Ets { trend, region } => Fitted::Ets(ets::fit(spec.inner(), samples, *trend, *region)?),
        Spec::Nws { loss, recent } => Fitted::Nws(nws::fit(samples, *loss, *recent)),
        plain @ Spec::Arfima { method, truncation, .. } => {
            let orders = plain.orders().expect("a linear model has orders");
            Fitted::Linear(arfima::fit(plain, samples, orders, *method, *truncation)?)
        }
        Spec::Tar { order, delay } => Fitted::Tar(tar::fit(spec.inner(), samples, *order, *delay)?),
        plain @ Spec::Auto { .. } => {
            let settings = plain.auto_settings().expect("an AUTO has settings");
            let auto = auto::fit(whole, samples.len(), settings, range);
            let have = auto.n_known();
            if !auto.is_ready() && have < spec.n_samples_min() {
                return Err(FitError::TooShort { spec: spec.clone(), have, need: spec.n_samples_min() });
            }
            Fitted::Auto(Box::new(auto))
        }
        Spec::Seasonal { periods } => Fitted::Seasonal(Box::new(seasonal::fit(spec, samples, *periods, range)?)),
        Spec::Refit { .. } => unreachable!("the inner model of a REFIT is never a REFIT"),
    };
    if !fitted.is_sound() {
        return Err(too_large(spec.inner(), samples));
    }
    let n_missing = samples.iter().rev().take_while(|sample| sample.is_nan()).count();
    let recent = if matches!(spec, Spec::Refit { .. }) { samples.to_vec() } else { Vec::new() };
    Ok(Model { spec: spec.clone(), fitted, n_samples: n_known, n_missing, recent })
}

/// Fits as [`fit`] does, in `limit` operations at most, and only until `cancel` cancels.
///
/// One that is taken to cost more ([`Spec::fit_cost`]) is not begun. Where one ends that is not done in time depends on
/// the samples alone.
///
/// # Errors
/// As [`fit`], and [`FitError::TooDear`], [`FitError::TooLong`] and [`FitError::Cancelled`].
pub fn fit_within(spec: &Spec, samples: &[f64], limit: u64, cancel: &Cancel) -> Result<Model, FitError> {
    attempt(spec, samples, UNBOUNDED, limit, Some(cancel))
}

/// Fits as [`fit_within`] does; without a `cancel` of its own, the `cancel` of the work around it holds.
pub(crate) fn attempt(
    spec: &Spec,
    samples: &[f64],
    range: (f64, f64),
    limit: u64,
    cancel: Option<&Cancel>,
) -> Result<Model, FitError> {
    let (n_samples, cost) = (samples.len(), spec.fit_cost(samples.len()));
    if cost > limit {
        return Err(FitError::TooDear { spec: spec.clone(), n_samples, cost, limit });
    }
    effort::within(limit, cancel, || fit_bounded(spec, samples, range)).unwrap_or_else(|end| {
        let spec = spec.clone();
        Err(match end {
            End::Spent => FitError::TooLong { spec, n_samples, limit },
            End::Cancelled => FitError::Cancelled { spec },
        })
    })
}

pub(crate) fn too_large(spec: &Spec, samples: &[f64]) -> FitError {
    let largest = samples.iter().filter(|sample| !sample.is_nan()).fold(0.0_f64, |most, sample| most.max(sample.abs()));
    FitError::TooLarge { spec: spec.clone(), largest }
}

fn count_known(spec: &Spec, samples: &[f64]) -> Result<usize, FitError> {
    if let Some(idx) = samples.iter().position(|sample| sample.is_infinite()) {
        return Err(FitError::Infinite { idx, value: samples[idx] });
    }
    let have = samples.iter().filter(|sample| !sample.is_nan()).count();
    let need = spec.n_samples_min();
    if have < need {
        return Err(FitError::TooShort { spec: spec.clone(), have, need });
    }
    Ok(have)
}
