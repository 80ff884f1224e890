//! Model specifications: what is asked for, as a value and as text that round-trips.

mod call;
mod error;
mod expand;
mod parse;
mod text;

use serde::{Deserialize, Serialize};

use crate::model::tar::n_rows_min;

pub(crate) use call::Call;
pub use error::SpecError;
pub use expand::Family;

use crate::auto::AutoSettings;
use crate::loss::Loss;
use crate::outlook::Periods;

/// A model to be fitted, by the names of RPS (Figure 3) where it has them.
///
/// Its text is what people type and what is shown: `AR(16)`, `REFIT(AR(16),every=100,window=600)`. It is
/// read without regard to case and space, and written in one way only, so that equal specifications
/// have equal texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Spec {
    /// `MEAN`: the running mean of all that was seen.
    Mean,
    /// `LAST`: the last value; the same as `BM(1)`.
    Last,
    /// `BM(p)`: the mean over the window of at most `p` samples that fits best.
    BestMean {
        /// The longest window tried, at least 1.
        window_max: usize,
    },
    /// `AR(p)`: autoregressive of order `p`.
    Ar {
        /// The order, at least 1.
        order: usize,
        /// Method by which the coefficients are estimated.
        method: ArMethod,
    },
    /// `MA(q)`: moving average of order `q`.
    Ma {
        /// The order, at least 1.
        order: usize,
        /// Criterion that the fit optimizes.
        method: Method,
    },
    /// `ARMA(p,q)`: both.
    Arma {
        /// The autoregressive order.
        n_phi: usize,
        /// The moving average order; not both are 0.
        n_theta: usize,
        /// Criterion that the fit optimizes.
        method: Method,
    },
    /// `ARIMA(p,d,q)`: both, of the series differenced `d` times.
    Arima {
        /// The autoregressive order.
        n_phi: usize,
        /// Number of times that the series is differenced; 0 makes it an ARMA.
        n_differences: usize,
        /// The moving average order.
        n_theta: usize,
        /// Criterion that the fit optimizes.
        method: Method,
    },
    /// `ARFIMA(p,d,q)`: ARMA of the series differenced a fraction `d` of a time, -0.5 < d < 0.5, which the fit
    /// estimates.
    Arfima {
        /// The autoregressive order.
        n_phi: usize,
        /// The moving average order.
        n_theta: usize,
        /// Criterion that the fit optimizes.
        method: Method,
        /// Number of past samples that the predictor weighs; the weights of older ones are dropped.
        truncation: usize,
    },
    /// `ETS(A,trend,N)`: exponential smoothing with additive errors and no season; `HOLT` is `ETS(A,A,N)`.
    Ets {
        /// Trend of the series beside its level.
        trend: Trend,
        /// Bounds within which the smoothing is looked for.
        region: Region,
    },
    /// `TAR(p)`: autoregressive of order `p` in each of two regimes, by which side of a threshold an earlier sample is
    /// on.
    Tar {
        /// The order of both, at least 1.
        order: usize,
        /// Number of steps by which that sample is earlier, from 1 to `order`; the fit chooses if `None`.
        delay: Option<usize>,
    },
    /// `NWS`: at each step the word of the one of many cheap predictors that was least wrong, as in the Network Weather
    /// Service.
    Nws {
        /// Loss that makes one error worse than another.
        loss: Loss,
        /// Number of last steps over which errors count, at least 1; all since the first sample if `None`.
        recent: Option<usize>,
    },
    /// `SEASONAL(s,t)`, or `OUTLOOK` without a given season: a regression at each lead on the latest deviations, on
    /// what each phase of the seasons had, and on what was there a season before; also finds seasons that nobody named.
    /// See [`Outlook`](crate::Outlook).
    Seasonal {
        /// Lengths of the seasons in steps: none, one or two.
        periods: Periods,
    },
    /// `AUTO(s,t)`: an outlook of these seasons, or of those that it finds, and an ensemble of models that are fitted
    /// anew in turns; at each lead the candidates with the smallest recent errors make the forecast.
    Auto {
        /// Lengths of the seasons in steps: one, two, or none to search for them.
        periods: Periods,
        /// Steps between two fits of a candidate, at least 1.
        every: usize,
        /// Number of the latest samples that a fit uses.
        window: usize,
        /// Limit on the cost of the ensemble: multiplications with addition per sample, on average.
        budget: u64,
    },
    /// `REFIT(model,every=,window=)`: the model, fitted anew as samples arrive.
    Refit {
        /// The model that is refitted; not itself a `REFIT`.
        model: Box<Spec>,
        /// Steps between two fits, at least 1.
        every: usize,
        /// Number of the latest samples that a fit uses.
        window: usize,
    },
}

/// Method by which autoregressive coefficients are estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ArMethod {
    /// Estimates from the autocorrelations (Yule-Walker), as RPS does; always stationary.
    #[default]
    YuleWalker,
    /// Estimates from forward and backward errors (Burg 1975); always stationary, sharper on short or nearly periodic
    /// series.
    Burg,
    /// The least sum of squared one-step errors, with the mean estimated beside the coefficients.
    LeastSquares,
    /// The greatest exact likelihood of a Gaussian process.
    MaximumLikelihood,
}

/// Criterion that the fit of a model with moving averages, or with a fractional difference, optimizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// `css`: the least sum of squared one-step errors, conditional on no error before the first predictable sample.
    /// RPS's choice (section 5.2.2): it assumes no distribution.
    #[default]
    LeastSquares,
    /// `ml`: the greatest exact likelihood of a Gaussian process.
    MaximumLikelihood,
}

/// Component that exponential smoothing follows beside the level of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Trend {
    /// `N`: nothing.
    None,
    /// `A`: a slope that goes on for ever (Holt 1957).
    Additive,
    /// `Ad`: a slope that dies out (Gardner and McKenzie 1985).
    Damped,
}

/// Bounds within which the constants of exponential smoothing are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Region {
    /// `usual`: 0 < beta < alpha < 1 and 0.8 <= phi <= 0.98, where every state is a mean of past ones.
    #[default]
    Usual,
    /// `admissible`: wherever old samples lose their weight (Hyndman, Koehler, Ord and Snyder 2008, chapter 10), with
    /// `phi` of 0.1 or more.
    Admissible,
}

/// Orders of a linear model: phi(B) (1 - B)^(D + d) z(t) = theta(B) a(t).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Orders {
    pub(crate) n_phi: usize,
    /// D, how many whole times the series is differenced.
    pub(crate) n_differences: usize,
    pub(crate) n_theta: usize,
    /// Truncation of the weights of the fractional difference, if there is one.
    pub(crate) truncation: Option<usize>,
}

impl Spec {
    /// Autoregressive of `order` by Yule-Walker.
    #[must_use]
    pub fn ar(order: usize) -> Self {
        Self::Ar { order, method: ArMethod::YuleWalker }
    }

    /// The managed predictor, with the defaults of its text.
    #[must_use]
    pub fn auto() -> Self {
        Self::auto_with(Periods::NONE)
    }

    /// The managed predictor of a series with these seasons, with the defaults of its text.
    #[must_use]
    pub fn auto_with(periods: Periods) -> Self {
        Self::Auto { periods, every: parse::AUTO_EVERY, window: parse::AUTO_WINDOW, budget: parse::AUTO_BUDGET }
    }

    /// The same model, fitted anew every `every` steps to the last `window` samples.
    #[must_use]
    pub fn refit(self, every: usize, window: usize) -> Self {
        Self::Refit { model: Box::new(self), every, window }
    }

    /// The model itself, without the REFIT around it if there is one.
    #[must_use]
    pub fn inner(&self) -> &Self {
        match self {
            Self::Refit { model, .. } => model,
            plain => plain,
        }
    }

    /// The samples that a fit uses: the last `window` for a `REFIT`, twice as many for an `AUTO`, which is run over
    /// them, all otherwise.
    pub(crate) fn latest<'s>(&self, samples: &'s [f64]) -> &'s [f64] {
        match self {
            Self::Refit { window, .. } => &samples[samples.len().saturating_sub(*window)..],
            Self::Auto { window, .. } => &samples[samples.len().saturating_sub(2 * window)..],
            _ => samples,
        }
    }

    /// The numbers of an AUTO.
    pub(crate) fn auto_settings(&self) -> Option<AutoSettings> {
        match *self {
            Self::Auto { periods, every, window, budget } => Some(AutoSettings { periods, every, window, budget }),
            _ => None,
        }
    }

    /// The orders of a linear model.
    pub(crate) fn orders(&self) -> Option<Orders> {
        let plain = |n_phi, n_differences, n_theta| Orders { n_phi, n_differences, n_theta, truncation: None };
        match *self {
            Self::Auto { .. }
            | Self::Mean
            | Self::Last
            | Self::BestMean { .. }
            | Self::Nws { .. }
            | Self::Ets { .. }
            | Self::Seasonal { .. }
            | Self::Tar { .. } => None,
            Self::Ar { order, .. } => Some(plain(order, 0, 0)),
            Self::Ma { order, .. } => Some(plain(0, 0, order)),
            Self::Arma { n_phi, n_theta, .. } => Some(plain(n_phi, 0, n_theta)),
            Self::Arima { n_phi, n_differences, n_theta, .. } => Some(plain(n_phi, n_differences, n_theta)),
            Self::Arfima { n_phi, n_theta, truncation, .. } => {
                Some(Orders { truncation: Some(truncation), ..plain(n_phi, 0, n_theta) })
            }
            Self::Refit { ref model, .. } => model.orders(),
        }
    }

    /// Returns the number of coefficients that a fit estimates, the mean and the innovation variance aside; the longest
    /// window for BM.
    #[must_use]
    pub fn n_coefficients(&self) -> usize {
        match self.inner() {
            Self::BestMean { window_max } => *window_max,
            Self::Ets { trend, .. } => trend.n_constants(),
            // Of the two intercepts one counts as the mean; the threshold is a coefficient.
            Self::Tar { order, .. } => 2 * order + 2,
            plain => plain
                .orders()
                .map_or(0, |orders| orders.n_phi + orders.n_theta + usize::from(orders.truncation.is_some())),
        }
    }

    /// The least number of known samples that a fit takes.
    ///
    /// This is what the arithmetic needs, not what a good fit needs.
    #[must_use]
    pub fn n_samples_min(&self) -> usize {
        match self {
            Self::Auto { .. } | Self::Mean | Self::Last | Self::BestMean { .. } | Self::Nws { .. } => 2,
            Self::Ar { order, method: ArMethod::YuleWalker | ArMethod::Burg } => 2 * order + 1,
            // One error more than there are coefficients and a mean to make it 0.
            Self::Ar { order, .. } => 2 * order + 2,
            Self::Ma { order, .. } => 3 * order + 2,
            Self::Arma { n_phi, n_theta, .. } => 3 * (n_phi + n_theta) + 2,
            Self::Arima { n_phi, n_differences, n_theta, .. } => 3 * (n_phi + n_theta) + n_differences + 2,
            // A fraction shows in slowly falling correlations, and those need a stretch to fall over.
            Self::Arfima { n_phi, n_theta, .. } => 3 * (n_phi + n_theta) + 20,
            // Constants, as many first states, and a sample or two to err on.
            Self::Ets { trend, .. } => 2 * trend.n_constants() + 2,
            Self::Tar { order, .. } => order + n_rows_min(*order),
            Self::Seasonal { .. } => 4,
            Self::Refit { model, .. } => model.n_samples_min(),
        }
    }

    /// Returns the cost that a fit to so many samples is taken to have, in operations: multiplications with addition,
    /// about one to a nanosecond. It follows from the text alone.
    #[must_use]
    pub fn fit_cost(&self, n_samples: usize) -> u64 {
        crate::cost::of_fit(self, n_samples)
    }

    /// Returns the maximum size of a predictor of this model, in bytes, roughly; samples for fits to come are not
    /// counted.
    #[must_use]
    pub fn n_bytes(&self) -> usize {
        crate::cost::bytes_of_predictor(self)
    }
}

impl Trend {
    /// alpha, beta and phi, as far as they are free.
    pub(crate) fn n_constants(self) -> usize {
        match self {
            Self::None => 1,
            Self::Additive => 2,
            Self::Damped => 3,
        }
    }
}

impl TryFrom<String> for Spec {
    type Error = SpecError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Spec> for String {
    fn from(spec: Spec) -> Self {
        spec.to_string()
    }
}
