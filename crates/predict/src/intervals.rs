//! Prediction intervals: how far they reach, if not as far as those of normal errors.

mod adaptive;
mod calibration;
mod empirical;
mod reach;
mod tails;

use serde::{Deserialize, Serialize};

pub(crate) use adaptive::stretch;
pub(crate) use calibration::Calibration;
pub(crate) use empirical::Sorted;
pub(crate) use reach::{Reach, Widest, at_lead, widening};
pub(crate) use tails::{Shares, Tails};

/// Source of the ends of a predictor's intervals. Means and standard errors are the same with each source.
///
/// Both of the watching kinds follow the errors at every lead up to 32 and at 64, 128 and 256, in standard errors of
/// the forecasts; leads between them take what lies between, and longer ones what the last has. Errors of lead `h` come
/// `h` steps late. Until there are some, intervals are normal. Intervals of 80 % and more always hold the mean.
/// A standard error of 0 leaves no room for any interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Intervals {
    /// Errors are taken to be normal, with the standard errors that the model states.
    #[default]
    Gaussian,
    /// Quantiles of the last 256 errors at each lead. Takes about 200 KB.
    Empirical,
    /// The distribution of past errors, mixed at lead 1 with the normal one, which counts for 30 errors, and at other
    /// leads with that of the next shorter one. Standard errors are corrected by the mean squared error of the
    /// last 200, and intervals of a young series are as wide as Student's t asks for. No end lies more than 20
    /// corrected standard errors from the mean. Takes about 20 KB. An `AUTO` has the distribution of its outlook
    /// instead, which counts errors in the same way.
    Adaptive,
}
