//! Statistics of numbers without a model: quantiles and intervals, rank tests, correlation, spectrum, long memory.
//!
//! This is the one place where a quantile is computed, a bootstrap is drawn or a test of ranks is made. Functions take
//! slices; gaps are NaN. Correlations skip gaps; functions that need an unbroken row say so and refuse them.
#![forbid(unsafe_code)]

mod autocorrelation;
mod decomposition;
pub mod digest;
mod friedman;
mod holm;
mod hurst;
mod interval;
mod line;
mod nemenyi;
mod normality;
mod pieces;
mod quantile;
mod residuals;
mod spectrum;
mod stationarity;
mod summary;
pub mod transform;
mod whiteness;
mod wilcoxon;

pub use autocorrelation::{autocorrelations, autocovariances, partial_autocorrelations};
pub use decomposition::{Component, Decomposition, Season, decomposition};
pub use friedman::{Friedman, friedman, ranks};
pub use holm::holm;
pub use hurst::{Hurst, PoxPoint, aggregated_variance, geweke_porter_hudak, pox_plot, rescaled_range, whittle};
pub use interval::{Interval, N_RESAMPLES, bootstrap};
pub use line::Line;
pub use nemenyi::critical_difference;
pub use normality::{Normality, normality};
pub use pieces::pieces;
pub use quantile::{mad, median, quantile, quantile_of_sorted, sorted};
pub use residuals::Residuals;
pub use spectrum::{Periodogram, periodogram};
pub use stationarity::{Kpss, Stationarity, Verdict, kpss, kpss_trend, stationarity};
pub use summary::{Summary, longest_stretch, summary};
pub use whiteness::{
    Count, Portmanteau, Weighting, Whiteness, portmanteau, rises, significance_bound, turning_points, usual_lags,
};
pub use wilcoxon::{SignedRank, signed_rank};

/// The reason why a statistic cannot be had from these samples.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StatisticError {
    /// Fewer samples than it needs.
    #[error("{statistic} needs at least {need} samples, but has {have}")]
    TooShort {
        /// The statistic that was asked for.
        statistic: &'static str,
        /// Samples given.
        have: usize,
        /// Samples needed.
        need: usize,
    },
    /// A gap or an infinity where an unbroken row is needed.
    #[error("{statistic} needs a row without gaps, but sample {idx} is {value}; use a stretch without gaps")]
    Broken {
        /// The statistic that was asked for.
        statistic: &'static str,
        /// Position of the first sample that is not finite, from 0.
        idx: usize,
        /// The value of the sample.
        value: f64,
    },
    /// No stretch between gaps is long enough.
    #[error("{statistic} needs at least {need} samples without a gap, but has {have}")]
    TooBroken {
        /// The statistic that was asked for.
        statistic: &'static str,
        /// Samples in the longest stretch.
        have: usize,
        /// Samples needed.
        need: usize,
    },
    /// No more lags to test at than fitted coefficients.
    #[error(
        "the portmanteau test needs more lags with samples than the {n_fitted} fitted coefficients, but has {n_lags}; use more lags"
    )]
    NoFreedom {
        /// Lags at which there are pairs of samples.
        n_lags: usize,
        /// Coefficients fitted.
        n_fitted: usize,
    },
    /// Samples whose squares overflow.
    #[error(
        "{statistic} cannot be computed for samples up to {largest:e}: their squares overflow; divide them by a constant"
    )]
    TooLarge {
        /// The statistic that was asked for.
        statistic: &'static str,
        /// The largest magnitude among the samples.
        largest: f64,
    },
    /// Samples that do not vary, to rounding.
    #[error("{statistic} needs samples that vary, but every one is {value}")]
    Constant {
        /// The statistic that was asked for.
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

/// A power of two near the largest magnitude, by which samples can be divided without rounding so that no square of
/// them overflows or vanishes; 1 for samples that are all 0 or gaps.
fn scale(samples: &[f64]) -> f64 {
    let finite = samples.iter().filter(|sample| sample.is_finite());
    let largest = finite.fold(0.0_f64, |largest, sample| largest.max(sample.abs()));
    if largest == 0.0 {
        return 1.0;
    }
    // Beyond the ends, the reciprocal would be subnormal or infinite.
    2.0_f64.powi((largest.log2().floor() as i32).clamp(-1021, 1021))
}

/// Samples between -4 and 4 that have the same shape.
fn scaled(samples: &[f64]) -> Vec<f64> {
    let scale = scale(samples);
    samples.iter().map(|sample| sample / scale).collect()
}
