//! Prediction intervals: how far they reach, if not as far as those of normal errors.

mod adaptive;
mod calibration;
mod empirical;
mod reach;

use serde::{Deserialize, Serialize};

pub(crate) use calibration::Calibration;
pub(crate) use empirical::Sorted;
pub(crate) use reach::{Reach, at_lead};

/// Where the ends of a predictor's intervals come from. Its means and standard errors are the same with each.
///
/// Both of the watching kinds follow the errors at every lead up to 32 and at 64, 128 and 256, in standard errors of
/// the forecasts; leads between them take what lies between, and longer ones what the last has. Errors of lead `h` come
/// `h` steps late. Until there are some, intervals are the normal ones. A standard error of 0 leaves no room for any
/// interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Intervals {
    /// Errors are taken to be normal, with the standard errors that the model states.
    #[default]
    Gaussian,
    /// Quantiles of the last 256 errors at each lead. Takes about 200 KB.
    Empirical,
    /// Ends that move after each error so that in the long run as many samples lie outside as are meant to, on either
    /// side, whatever the errors' distribution and however it drifts: on-line quantile tracking (Angelopoulos, Candès
    /// and Tibshirani 2023, section 2.1), late errors included as by Wang and Hyndman (2024). Takes about 56 KB.
    Adaptive,
}
