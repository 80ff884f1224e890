//! Whether a series keeps to a level or to a straight line, or wanders: the KPSS tests.

use std::fmt;

use crate::{Line, StatisticError, check, scaled};

/// The outcome of a KPSS test, whose null hypothesis is that the series keeps to its level, or to its straight line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kpss {
    /// The statistic: large when the partial sums wander.
    pub statistic: f64,
    /// Lags of the long-run variance (Bartlett weights).
    pub n_lags: usize,
    /// Interpolated in the published table, and cut to its ends, 0.01 and 0.1.
    pub p_value: f64,
}

/// Both tests, and what they come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stationarity {
    /// Against keeping to a level.
    pub level: Kpss,
    /// Against keeping to a straight line.
    pub trend: Kpss,
    /// The verdict that follows from the two at a significance of 5 %.
    pub verdict: Verdict,
}

/// The kind of stationarity of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A level: stationary as it is.
    Level,
    /// A straight line: stationary once the line is taken out.
    Trend,
    /// Neither: to be differenced, or of long memory.
    Wanders,
}

/// A p-value below this speaks against the null hypothesis.
const SIGNIFICANCE: f64 = 0.05;

/// Kwiatkowski, Phillips, Schmidt and Shin 1992, table 1: statistic and upper tail.
type Table = [(f64, f64); 4];
const LEVEL: Table = [(0.347, 0.10), (0.463, 0.05), (0.574, 0.025), (0.739, 0.01)];
const TREND: Table = [(0.119, 0.10), (0.146, 0.05), (0.176, 0.025), (0.216, 0.01)];

/// Tests for a level, then for a straight line, and says which one the series keeps to.
///
/// # Errors
/// Fewer than 10 samples, a gap, or samples that do not vary.
pub fn stationarity(samples: &[f64]) -> Result<Stationarity, StatisticError> {
    let (level, trend) = (kpss(samples)?, kpss_trend(samples)?);
    let verdict = if level.p_value >= SIGNIFICANCE {
        Verdict::Level
    } else if trend.p_value >= SIGNIFICANCE {
        Verdict::Trend
    } else {
        Verdict::Wanders
    };
    Ok(Stationarity { level, trend, verdict })
}

/// The level-stationary test with floor(4 (n/100)^(1/4)) lags, R's `tseries::kpss.test` default.
///
/// # Errors
/// Fewer than 10 samples, a gap, or samples that do not vary.
pub fn kpss(samples: &[f64]) -> Result<Kpss, StatisticError> {
    check("the KPSS test", samples, 10)?;
    let scaled = scaled(samples);
    let mean = crate::mean(&scaled);
    let deviations: Vec<f64> = scaled.iter().map(|sample| sample - mean).collect();
    Ok(wandering(&deviations, &LEVEL))
}

/// The trend-stationary test with as many lags, R's `tseries::kpss.test` with `null = "Trend"`.
///
/// # Errors
/// Fewer than 10 samples, a gap, or samples that do not vary.
pub fn kpss_trend(samples: &[f64]) -> Result<Kpss, StatisticError> {
    check("the KPSS test", samples, 10)?;
    let points = scaled(samples).into_iter().enumerate().map(|(t, sample)| (t as f64, sample));
    let line = Line::through(points.clone()).expect("there are 10 moments, all different");
    let deviations: Vec<f64> = points.map(|(t, sample)| sample - line.intercept - line.slope * t).collect();
    Ok(wandering(&deviations, &TREND))
}

fn wandering(deviations: &[f64], table: &Table) -> Kpss {
    let n = deviations.len() as f64;
    let n_lags = (4.0 * (n / 100.0).powf(0.25)) as usize;
    let product =
        |lag: usize| -> f64 { deviations.iter().zip(&deviations[lag..]).map(|(a, b)| a * b).sum::<f64>() / n };
    let weighted = |lag: usize| 2.0 * (1.0 - lag as f64 / (n_lags as f64 + 1.0)) * product(lag);
    let long_run = product(0) + (1..=n_lags).map(weighted).sum::<f64>();
    // What is left of a line is rounding, of samples between -4 and 4, and rounding does not wander.
    if product(0) < 1e-28 {
        return Kpss { statistic: 0.0, n_lags, p_value: p_value(0.0, table) };
    }
    let mut sum = 0.0;
    let wandering: f64 = deviations
        .iter()
        .map(|deviation| {
            sum += deviation;
            sum * sum
        })
        .sum();
    let statistic = wandering / (n * n * long_run);
    Kpss { statistic, n_lags, p_value: p_value(statistic, table) }
}

fn p_value(statistic: f64, table: &Table) -> f64 {
    let above = table.partition_point(|(known, _)| *known < statistic);
    match (above.checked_sub(1).map(|below| table[below]), table.get(above)) {
        (Some(low), Some(high)) => low.1 + (high.1 - low.1) * (statistic - low.0) / (high.0 - low.0),
        (None, _) => table[0].1,
        (Some(last), None) => last.1,
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Level => "stationary about a level",
            Self::Trend => "stationary about a straight line",
            Self::Wanders => "not stationary",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_verdict(samples: &[f64], expected: Verdict) {
        assert_eq!(stationarity(samples).unwrap().verdict, expected);
    }

    fn noise(n: i64) -> impl Iterator<Item = f64> {
        (0..n).map(|t| (t * t * 7919 % 1013) as f64 / 1013.0 - 0.5)
    }

    #[test]
    fn noise_keeps_to_its_level() {
        check_verdict(&noise(500).collect::<Vec<_>>(), Verdict::Level);
    }

    #[test]
    fn noise_about_a_line_keeps_to_the_line() {
        check_verdict(&noise(500).enumerate().map(|(t, e)| 0.01 * t as f64 + e).collect::<Vec<_>>(), Verdict::Trend);
        check_verdict(&(0..500).map(f64::from).collect::<Vec<_>>(), Verdict::Trend);
    }

    #[test]
    fn summed_noise_wanders_at_any_scale() {
        let mut sum = 0.0;
        let walk: Vec<f64> = noise(500)
            .map(|e| {
                sum += e;
                sum
            })
            .collect();
        for scale in [1.0, 1e300, 1e-300] {
            check_verdict(&walk.iter().map(|sample| sample * scale).collect::<Vec<_>>(), Verdict::Wanders);
        }
    }
}
