//! What can be said of samples without a model: correlation over time, spectrum, long memory, stationarity.
//!
//! Gaps are NaN. Correlations pass over them; what needs an unbroken row says so and refuses.

mod autocorrelation;
mod hurst;
mod line;
mod spectrum;
mod stationarity;

pub use autocorrelation::{autocorrelations, autocovariances, partial_autocorrelations};
pub use hurst::{Hurst, PoxPoint, aggregated_variance, geweke_porter_hudak, pox_plot, rescaled_range, whittle};
pub use line::Line;
pub use spectrum::{Periodogram, periodogram};
pub use stationarity::{Kpss, kpss};

/// Why a statistic cannot be had from these samples.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StatisticError {
    /// Fewer samples than it needs.
    #[error("{statistic} needs at least {need} samples, and has {have}")]
    TooShort {
        /// What was asked for.
        statistic: &'static str,
        /// Samples given.
        have: usize,
        /// Samples needed.
        need: usize,
    },
    /// A gap or an infinity where an unbroken row is needed.
    #[error("{statistic} needs an unbroken row, and sample {idx} is {value}; take a stretch without gaps")]
    Broken {
        /// What was asked for.
        statistic: &'static str,
        /// Position of the first sample that is not finite, from 0.
        idx: usize,
        /// That sample.
        value: f64,
    },
    /// Samples that do not vary, to rounding.
    #[error("{statistic} needs samples that vary, and every one is {value}")]
    Constant {
        /// What was asked for.
        statistic: &'static str,
        /// The value of every sample.
        value: f64,
    },
}

/// Samples that a statistic can be had from: enough, finite, varying.
fn check(statistic: &'static str, samples: &[f64], need: usize) -> Result<(), StatisticError> {
    if samples.len() < need {
        return Err(StatisticError::TooShort { statistic, have: samples.len(), need });
    }
    if let Some(idx) = samples.iter().position(|sample| !sample.is_finite()) {
        return Err(StatisticError::Broken { statistic, idx, value: samples[idx] });
    }
    if samples.iter().all(|sample| *sample == samples[0]) {
        return Err(StatisticError::Constant { statistic, value: samples[0] });
    }
    Ok(())
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}
