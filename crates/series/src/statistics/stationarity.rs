//! Whether a series keeps to a level: the KPSS test.

use super::{StatisticError, check, mean};

/// The outcome of a KPSS test, whose null hypothesis is that the series is stationary about a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kpss {
    /// The statistic: large when the partial sums wander.
    pub statistic: f64,
    /// Lags of the long-run variance (Bartlett weights).
    pub n_lags: usize,
    /// Interpolated in the published table, and cut to its ends, 0.01 and 0.1.
    pub p_value: f64,
}

/// Kwiatkowski, Phillips, Schmidt and Shin 1992, table 1, level-stationary: statistic and upper tail.
const TABLE: [(f64, f64); 4] = [(0.347, 0.10), (0.463, 0.05), (0.574, 0.025), (0.739, 0.01)];

/// The level-stationary test with floor(4 (n/100)^(1/4)) lags, R's `tseries::kpss.test` default.
///
/// # Errors
/// Fewer than 10 samples, a gap, or samples that do not vary.
pub fn kpss(samples: &[f64]) -> Result<Kpss, StatisticError> {
    check("the KPSS test", samples, 10)?;
    let (n, mean) = (samples.len() as f64, mean(samples));
    let deviations: Vec<f64> = samples.iter().map(|sample| sample - mean).collect();
    let n_lags = (4.0 * (n / 100.0).powf(0.25)) as usize;
    let product =
        |lag: usize| -> f64 { deviations.iter().zip(&deviations[lag..]).map(|(a, b)| a * b).sum::<f64>() / n };
    let weighted = |lag: usize| 2.0 * (1.0 - lag as f64 / (n_lags as f64 + 1.0)) * product(lag);
    let long_run = product(0) + (1..=n_lags).map(weighted).sum::<f64>();
    let mut sum = 0.0;
    let wandering: f64 = deviations
        .iter()
        .map(|deviation| {
            sum += deviation;
            sum * sum
        })
        .sum();
    let statistic = wandering / (n * n * long_run);
    Ok(Kpss { statistic, n_lags, p_value: p_value(statistic) })
}

fn p_value(statistic: f64) -> f64 {
    let above = TABLE.partition_point(|(known, _)| *known < statistic);
    match (above.checked_sub(1).map(|below| TABLE[below]), TABLE.get(above)) {
        (Some(low), Some(high)) => low.1 + (high.1 - low.1) * (statistic - low.0) / (high.0 - low.0),
        (None, _) => TABLE[0].1,
        (Some(last), None) => last.1,
    }
}
