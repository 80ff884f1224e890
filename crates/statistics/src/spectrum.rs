//! Distribution of the variance of a series over frequencies.

use realfft::RealFftPlanner;

use crate::{StatisticError, check, mean};

/// Power at the Fourier frequencies above 0, mean taken out.
#[derive(Clone, Debug, PartialEq)]
pub struct Periodogram {
    /// Angular frequencies 2 pi j / n, j = 1, …, n/2, in radians a step.
    pub frequencies: Vec<f64>,
    /// |sum of z(t) exp(-i w t)|^2 / (2 pi n), in squared units of the series.
    pub powers: Vec<f64>,
}

/// The raw periodogram, neither tapered nor smoothed.
///
/// # Errors
/// Fewer than 4 samples, a gap, samples that do not vary, or samples whose squares overflow.
pub fn periodogram(samples: &[f64]) -> Result<Periodogram, StatisticError> {
    check("the periodogram", samples, 4)?;
    let (n, mean) = (samples.len(), mean(samples));
    let plan = RealFftPlanner::<f64>::new().plan_fft_forward(n);
    let mut row: Vec<f64> = samples.iter().map(|sample| sample - mean).collect();
    let mut spectrum = plan.make_output_vec();
    plan.process(&mut row, &mut spectrum).expect("buffers are of the plan's size");
    let scale = 1.0 / (std::f64::consts::TAU * n as f64);
    let powers: Vec<f64> = spectrum[1..=n / 2].iter().map(|bin| bin.norm_sqr() * scale).collect();
    if powers.iter().any(|power| !power.is_finite()) {
        let largest = samples.iter().fold(0.0_f64, |largest, sample| largest.max(sample.abs()));
        return Err(StatisticError::TooLarge { statistic: "the periodogram", largest });
    }
    let frequencies = (1..=n / 2).map(|j| std::f64::consts::TAU * j as f64 / n as f64).collect();
    Ok(Periodogram { frequencies, powers })
}
