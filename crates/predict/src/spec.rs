//! Model specifications: what is asked for, as a value and as text that round-trips.

mod call;
mod error;
mod expand;
mod parse;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::tar::n_rows_min;

pub(crate) use call::Call;
pub use error::SpecError;
pub use expand::Family;

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
        /// How the coefficients are estimated.
        method: ArMethod,
    },
    /// `MA(q)`: moving average of order `q`.
    Ma {
        /// The order, at least 1.
        order: usize,
        /// What the fit makes best.
        method: Method,
    },
    /// `ARMA(p,q)`: both.
    Arma {
        /// The autoregressive order.
        n_phi: usize,
        /// The moving average order; not both are 0.
        n_theta: usize,
        /// What the fit makes best.
        method: Method,
    },
    /// `ARIMA(p,d,q)`: both, of the series differenced `d` times.
    Arima {
        /// The autoregressive order.
        n_phi: usize,
        /// How many times the series is differenced; 0 makes it an ARMA.
        n_differences: usize,
        /// The moving average order.
        n_theta: usize,
        /// What the fit makes best.
        method: Method,
    },
    /// `ARFIMA(p,d,q)`: ARMA of the series differenced a fraction `d` of a time, -0.5 < d < 0.5, which the fit
    /// estimates.
    Arfima {
        /// The autoregressive order.
        n_phi: usize,
        /// The moving average order.
        n_theta: usize,
        /// What the fit makes best.
        method: Method,
        /// How many past samples the predictor weighs; the weights of older ones are dropped.
        truncation: usize,
    },
    /// `ETS(A,trend,N)`: exponential smoothing with additive errors and no season; `HOLT` is `ETS(A,A,N)`.
    Ets {
        /// What the series does beside its level.
        trend: Trend,
        /// Within which bounds the smoothing is looked for.
        region: Region,
    },
    /// `TAR(p)`: autoregressive of order `p` in each of two regimes, by which side of a threshold an earlier sample is
    /// on.
    Tar {
        /// The order of both, at least 1.
        order: usize,
        /// How many steps earlier that sample is, from 1 to `order`; the fit chooses if `None`.
        delay: Option<usize>,
    },
    /// `NWS`: at each step the word of the one of many cheap predictors that was least wrong, as in the Network Weather
    /// Service.
    Nws {
        /// What makes one error worse than another.
        loss: Loss,
        /// Over how many of the last steps errors count, at least 1; all since the first sample if `None`.
        recent: Option<usize>,
    },
    /// `SEASONAL(s,t)`: a regression at each lead on the latest deviations, on what each phase of the seasons had, and on what was there a
    /// season before; also finds seasons that nobody named. See [`Outlook`](crate::Outlook).
    Seasonal {
        /// Lengths of the seasons in steps: none, one or two.
        periods: Periods,
    },
    /// `AUTO`: several models side by side, each fitted anew in turns, and for each lead time the word of those that
    /// were least wrong lately.
    Auto {
        /// Steps between two fits of a candidate, at least 1.
        every: usize,
        /// How many of the latest samples a fit uses.
        window: usize,
        /// What all candidates together may cost: multiplications with addition per sample, on average.
        budget: u64,
    },
    /// `REFIT(model,every=,window=)`: the model, fitted anew as samples arrive.
    Refit {
        /// The model that is refitted; not itself a `REFIT`.
        model: Box<Spec>,
        /// Steps between two fits, at least 1.
        every: usize,
        /// How many of the latest samples a fit uses.
        window: usize,
    },
}

/// How autoregressive coefficients are estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ArMethod {
    /// From the autocorrelations (Yule-Walker), as RPS does; always stationary.
    #[default]
    YuleWalker,
    /// From forward and backward errors (Burg 1975); always stationary, sharper on short or nearly periodic series.
    Burg,
    /// The least sum of squared one-step errors, with the mean estimated beside the coefficients.
    LeastSquares,
    /// The greatest exact likelihood of a Gaussian process.
    MaximumLikelihood,
}

/// What the fit of a model with moving averages, or with a fractional difference, makes best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// `css`: the least sum of squared one-step errors, conditional on no error before the first predictable sample.
    /// RPS's choice (section 5.2.2): it assumes no distribution.
    #[default]
    LeastSquares,
    /// `ml`: the greatest exact likelihood of a Gaussian process.
    MaximumLikelihood,
}

/// What exponential smoothing follows beside the level of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Trend {
    /// `N`: nothing.
    None,
    /// `A`: a slope that goes on for ever (Holt 1957).
    Additive,
    /// `Ad`: a slope that dies out (Gardner and McKenzie 1985).
    Damped,
}

/// Within which bounds the constants of exponential smoothing are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Region {
    /// `usual`: 0 < beta < alpha < 1 and 0.8 <= phi <= 0.98, where every state is a mean of past ones.
    #[default]
    Usual,
    /// `admissible`: wherever old samples lose their weight (Hyndman, Koehler, Ord and Snyder 2008, chapter 10).
    Admissible,
}

/// Orders of a linear model: phi(B) (1 - B)^(D + d) z(t) = theta(B) a(t).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Orders {
    pub(crate) n_phi: usize,
    /// D, how many whole times the series is differenced.
    pub(crate) n_differences: usize,
    pub(crate) n_theta: usize,
    /// Where the weights of the fractional difference are cut off, if there is one.
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
        Self::Auto { every: parse::AUTO_EVERY, window: parse::AUTO_WINDOW, budget: parse::AUTO_BUDGET }
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

    /// How many coefficients a fit estimates, the mean and the innovation variance aside; the longest window for BM.
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

    /// What a fit to so many samples is taken to cost, in operations: multiplications with addition, about one to a
    /// nanosecond. It follows from the text alone.
    #[must_use]
    pub fn fit_cost(&self, n_samples: usize) -> u64 {
        crate::cost::of_fit(self, n_samples)
    }

    /// What a predictor of this model takes at most, in bytes, roughly; samples for fits to come are not counted.
    #[must_use]
    pub fn n_bytes(&self) -> usize {
        crate::cost::bytes_of_predictor(self)
    }

    /// Every model there is, as `(text, sentence)`, simplest first.
    #[must_use]
    pub fn catalogue() -> &'static [(&'static str, &'static str)] {
        &[
            ("MEAN", "the running mean of the series; right when there is no correlation over time"),
            ("LAST", "the last value; right for a random walk, and what everything else has to beat"),
            ("BM(p)", "the mean over the last N <= p samples, N chosen by the fit for the least one-step error"),
            ("AR(p)", "autoregressive of order p by Yule-Walker; AR(16) is the choice of RPS for host load"),
            ("AR(p,method=burg)", "the same by Burg's method: sharper on short or nearly periodic series"),
            ("AR(p,method=ls)", "the same by least squares, with the mean estimated too; skips gaps"),
            (
                "AR(p,method=ml)",
                "the same by exact Gaussian likelihood, p up to 64: the best use of a short series, gaps included",
            ),
            ("MA(q)", "moving average of order q, by least squares of the one-step errors"),
            ("MA(q,method=ml)", "the same by exact Gaussian likelihood"),
            ("ARMA(p,q)", "autoregressive and moving average, by least squares: needs fewer coefficients than AR"),
            (
                "ARMA(p,q,method=ml)",
                "the same by exact Gaussian likelihood: slower, and the same for a long series without gaps",
            ),
            ("ARIMA(p,d,q)", "ARMA of the series differenced d times: for a level that wanders"),
            ("ARIMA(p,d,q,method=ml)", "the same by exact Gaussian likelihood of the differenced series"),
            ("ARFIMA(p,d,q)", "ARMA of the fractionally differenced series, d found by the fit: for long memory"),
            ("ARFIMA(p,d,q,method=ml)", "the same by exact Gaussian likelihood"),
            ("ETS(A,N,N)", "exponential smoothing of a level; equivalent to ARIMA(0,1,1)"),
            ("ETS(A,A,N)", "the same with a trend: Holt's method, HOLT for short"),
            ("ETS(A,Ad,N)", "the same with a damped trend"),
            (
                "TAR(p)",
                "threshold autoregression: one AR(p) while an earlier sample is low, another while it is high; for cycles that rise and fall differently",
            ),
            (
                "NWS",
                "the forecast of whichever of 22 cheap predictors (means, medians, smoothers) had the smallest error so far; as in the Network Weather Service",
            ),
            (
                "SEASONAL(s,t)",
                "seasons of s and t steps, as 288 and 2016 for a day and a week of five minutes: an outlook of hours and days; SEASONAL(s) and SEASONAL find others",
            ),
            (
                "AUTO",
                "several of these side by side, refitted in turn; at each lead it combines those with the smallest recent errors",
            ),
            ("REFIT(model,every=n,window=n)", "any of these, refitted every n samples to the last n"),
        ]
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.write_str("MEAN"),
            Self::Last => f.write_str("LAST"),
            Self::BestMean { window_max } => write!(f, "BM({window_max})"),
            Self::Ar { order, method } => write!(f, "AR({order}{method})"),
            Self::Ma { order, method } => write!(f, "MA({order}{method})"),
            Self::Arma { n_phi, n_theta, method } => write!(f, "ARMA({n_phi},{n_theta}{method})"),
            Self::Arima { n_phi, n_differences, n_theta, method } => {
                write!(f, "ARIMA({n_phi},{n_differences},{n_theta}{method})")
            }
            Self::Arfima { n_phi, n_theta, method, truncation } => {
                write!(f, "ARFIMA({n_phi},d,{n_theta}{method}")?;
                match *truncation {
                    parse::TRUNCATION_DEFAULT => f.write_str(")"),
                    other => write!(f, ",truncation={other})"),
                }
            }
            Self::Ets { trend, region } => {
                let trend = match trend {
                    Trend::None => "N",
                    Trend::Additive => "A",
                    Trend::Damped => "Ad",
                };
                let region = match region {
                    Region::Usual => "",
                    Region::Admissible => ",bounds=admissible",
                };
                write!(f, "ETS(A,{trend},N{region})")
            }
            Self::Tar { order, delay: None } => write!(f, "TAR({order})"),
            Self::Tar { order, delay: Some(delay) } => write!(f, "TAR({order},delay={delay})"),
            Self::Nws { loss, recent } => {
                let loss = match loss {
                    Loss::Squared => None,
                    Loss::Absolute => Some("by=mae".to_owned()),
                };
                let arguments: Vec<String> =
                    loss.into_iter().chain(recent.map(|recent| format!("recent={recent}"))).collect();
                if arguments.is_empty() { f.write_str("NWS") } else { write!(f, "NWS({})", arguments.join(",")) }
            }
            Self::Seasonal { periods } => {
                let steps: Vec<String> = periods.steps().map(|steps| steps.to_string()).collect();
                if steps.is_empty() { f.write_str("SEASONAL") } else { write!(f, "SEASONAL({})", steps.join(",")) }
            }
            Self::Auto { every, window, budget } => {
                let defaults = [
                    ("every", *every as u64, parse::AUTO_EVERY as u64),
                    ("window", *window as u64, parse::AUTO_WINDOW as u64),
                    ("budget", *budget, parse::AUTO_BUDGET),
                ];
                let changed = defaults.iter().filter(|(_, given, default)| given != default);
                let arguments: Vec<String> = changed.map(|(name, given, _)| format!("{name}={given}")).collect();
                if arguments.is_empty() { f.write_str("AUTO") } else { write!(f, "AUTO({})", arguments.join(",")) }
            }
            Self::Refit { model, every, window } => write!(f, "REFIT({model},every={every},window={window})"),
        }
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

/// As an argument of a specification; the method that goes without saying is left out.
impl fmt::Display for ArMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::YuleWalker => "",
            Self::Burg => ",method=burg",
            Self::LeastSquares => ",method=ls",
            Self::MaximumLikelihood => ",method=ml",
        })
    }
}

/// As an argument of a specification; the method that goes without saying is left out.
impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LeastSquares => "",
            Self::MaximumLikelihood => ",method=ml",
        })
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
