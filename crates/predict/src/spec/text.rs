//! Text of a specification, and the list of all models there are.

use std::fmt;

use super::{ArMethod, Method, Region, Spec, Trend, parse};
use crate::loss::Loss;

impl Spec {
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
                "seasons of s and t steps, as 288 and 2016 for a day and a week of five minutes: an outlook of hours and days; SEASONAL(s) and OUTLOOK, without a given season, find others",
            ),
            (
                "AUTO(s,t)",
                "seasons of s and t steps and models of the latest samples side by side; at each lead it uses those with the smallest recent errors; AUTO finds seasons",
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
                if steps.is_empty() { f.write_str("OUTLOOK") } else { write!(f, "SEASONAL({})", steps.join(",")) }
            }
            Self::Auto { periods, every, window, budget } => {
                let defaults = [
                    ("every", *every as u64, parse::AUTO_EVERY as u64),
                    ("window", *window as u64, parse::AUTO_WINDOW as u64),
                    ("budget", *budget, parse::AUTO_BUDGET),
                ];
                let changed = defaults.iter().filter(|(_, given, default)| given != default);
                let changed = changed.map(|(name, given, _)| format!("{name}={given}"));
                let arguments: Vec<String> = periods.steps().map(|steps| steps.to_string()).chain(changed).collect();
                if arguments.is_empty() { f.write_str("AUTO") } else { write!(f, "AUTO({})", arguments.join(",")) }
            }
            Self::Refit { model, every, window } => write!(f, "REFIT({model},every={every},window={window})"),
        }
    }
}

/// Formats an argument of a specification; the method that goes without saying is left out.
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

/// Formats an argument of a specification; the method that goes without saying is left out.
impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LeastSquares => "",
            Self::MaximumLikelihood => ",method=ml",
        })
    }
}
