//! The Hurst exponent, in four ways.
//!
//! H is 0.5 for a series without long memory, toward 1 the longer the memory, below 0.5 when rises are followed by
//! falls. For a fractionally integrated series H = d + 0.5.

use crate::{Line, StatisticError, check, mean, periodogram, scaled};

/// An estimate of the Hurst exponent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hurst {
    /// The exponent; not cut to (0, 1), because an estimate outside says that the method does not fit the series.
    pub exponent: f64,
    /// Its standard error as the method sees it; NaN when it gives none.
    pub standard_error: f64,
}

/// A point of the pox plot: R/S over one stretch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoxPoint {
    /// Samples in the stretch.
    pub length: usize,
    /// Rescaled adjusted range of the stretch.
    pub rescaled_range: f64,
}

/// Shorter stretches say more of the short memory than of the long one.
const STRETCH_MIN: usize = 8;

/// R/S over stretches that do not overlap, of lengths growing by a factor of 2^(1/2) from 8 to a half of the samples
/// (Mandelbrot and Taqqu 1979; Leland, Taqqu, Willinger and Wilson 1994, section 4.1).
///
/// # Errors
/// Fewer than 64 samples, a gap, or samples that do not vary.
pub fn pox_plot(samples: &[f64]) -> Result<Vec<PoxPoint>, StatisticError> {
    check("the pox plot", samples, 64)?;
    let scaled = scaled(samples);
    let points = lengths(scaled.len() / 2).into_iter().flat_map(|length| {
        let ranges = scaled.chunks_exact(length).filter_map(rescaled);
        ranges.map(move |rescaled_range| PoxPoint { length, rescaled_range })
    });
    Ok(points.collect())
}

/// The slope of the pox plot on logarithmic axes.
///
/// # Errors
/// As [`pox_plot`].
pub fn rescaled_range(samples: &[f64]) -> Result<Hurst, StatisticError> {
    let points = pox_plot(samples)?;
    let logs = points.iter().map(|point| ((point.length as f64).ln(), point.rescaled_range.ln()));
    slope("the rescaled range", samples, logs).map(|line| Hurst { exponent: line.slope, standard_error: f64::NAN })
}

/// Estimates the exponent from the decrease of the variance of means over m samples with m: as m^(2H - 2).
///
/// # Errors
/// Fewer than 64 samples, a gap, or samples that do not vary.
pub fn aggregated_variance(samples: &[f64]) -> Result<Hurst, StatisticError> {
    check("the aggregated variance", samples, 64)?;
    let scaled = scaled(samples);
    // A variance of fewer than 10 means says little.
    let levels = lengths(samples.len() / 10).into_iter().chain([1, 2, 4]);
    let points: Vec<(f64, f64)> = levels
        .map(|level| (level, scaled.chunks_exact(level).map(mean).collect::<Vec<_>>()))
        .map(|(level, means)| ((level as f64).ln(), variance(&means).ln()))
        .filter(|(_, log_variance)| log_variance.is_finite())
        .collect();
    let line = slope("the aggregated variance", samples, points.iter().copied())?;
    Ok(Hurst { exponent: 1.0 + line.slope / 2.0, standard_error: f64::NAN })
}

/// Log-periodogram regression over the lowest floor(n^0.5) frequencies (Geweke and Porter-Hudak 1983), as R's
/// `fracdiff::fdGPH`: H = d + 0.5, with the asymptotic standard deviation.
///
/// # Errors
/// Fewer than 64 samples, a gap, or samples that do not vary.
pub fn geweke_porter_hudak(samples: &[f64]) -> Result<Hurst, StatisticError> {
    check("the log-periodogram regression", samples, 64)?;
    let n_frequencies = (samples.len() as f64).sqrt() as usize;
    let spectrum = periodogram(&scaled(samples))?;
    let regressor = |frequency: f64| (2.0 * (frequency / 2.0).sin()).powi(2).ln();
    let points: Vec<(f64, f64)> = spectrum.frequencies[..n_frequencies]
        .iter()
        .zip(&spectrum.powers)
        .map(|(frequency, power)| (regressor(*frequency), power.ln()))
        .filter(|(_, log_power)| log_power.is_finite())
        .collect();
    let line = slope("the log-periodogram regression", samples, points.iter().copied())?;
    let x_mean = points.iter().map(|(x, _)| x).sum::<f64>() / points.len() as f64;
    let xx: f64 = points.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
    let standard_error = (std::f64::consts::PI.powi(2) / (6.0 * xx)).sqrt();
    Ok(Hurst { exponent: 0.5 - line.slope, standard_error })
}

/// Local Whittle (Robinson 1995) over the lowest floor(n^0.65) frequencies: the d that makes the rescaled
/// periodogram flattest in likelihood. H = d + 0.5, standard error 1 / (2 sqrt(m)).
///
/// # Errors
/// Fewer than 64 samples, a gap, or samples that do not vary.
pub fn whittle(samples: &[f64]) -> Result<Hurst, StatisticError> {
    check("the Whittle estimate", samples, 64)?;
    let n_frequencies = (samples.len() as f64).powf(0.65) as usize;
    let spectrum = periodogram(&scaled(samples))?;
    let (frequencies, powers) = (&spectrum.frequencies[..n_frequencies], &spectrum.powers[..n_frequencies]);
    let log_mean = frequencies.iter().map(|frequency| frequency.ln()).sum::<f64>() / n_frequencies as f64;
    let objective = |d: f64| {
        let scaled = frequencies.iter().zip(powers).map(|(frequency, power)| frequency.powf(2.0 * d) * power);
        (scaled.sum::<f64>() / n_frequencies as f64).ln() - 2.0 * d * log_mean
    };
    let d = minimum(objective, -0.5, 1.0);
    Ok(Hurst { exponent: d + 0.5, standard_error: 0.5 / (n_frequencies as f64).sqrt() })
}

/// Returns the lengths from [`STRETCH_MIN`] up to `most`, two an octave.
fn lengths(most: usize) -> Vec<usize> {
    let rungs = (0..).map(|rung| (STRETCH_MIN as f64 * 2.0_f64.powf(0.5 * f64::from(rung))).round() as usize);
    rungs.take_while(|length| *length <= most).collect()
}

/// Range of the summed deviations over the standard deviation (divided by n); `None` where nothing varies.
fn rescaled(stretch: &[f64]) -> Option<f64> {
    let mean = mean(stretch);
    let (mut sum, mut least, mut most, mut squares) = (0.0_f64, 0.0_f64, 0.0_f64, 0.0_f64);
    for sample in stretch {
        sum += sample - mean;
        (least, most) = (least.min(sum), most.max(sum));
        squares += (sample - mean).powi(2);
    }
    let deviation = (squares / stretch.len() as f64).sqrt();
    (deviation > 0.0).then(|| (most - least) / deviation)
}

fn variance(samples: &[f64]) -> f64 {
    let mean = mean(samples);
    samples.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>() / samples.len() as f64
}

fn slope(
    statistic: &'static str,
    samples: &[f64],
    points: impl Iterator<Item = (f64, f64)> + Clone,
) -> Result<Line, StatisticError> {
    // With samples that vary too little to rounding, no point is left to draw a line through.
    Line::through(points).ok_or(StatisticError::Constant { statistic, value: samples[0] })
}

/// Golden-section search; `objective` is convex in between.
fn minimum(objective: impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
    let (mut low, mut high) = (low, high);
    while high - low > 1e-9 {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if objective(left) < objective(right) {
            high = right;
        } else {
            low = left;
        }
    }
    f64::midpoint(low, high)
}
