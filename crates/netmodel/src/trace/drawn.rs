//! Traces that are drawn: from a mean and a deviation, or from forecasts with their errors.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal};

use super::{Trace, TraceError};

/// Distribution of one step of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// One way.
    pub latency_ns: Spread,
    /// `None` where the wire costs no time; of all steps or of none.
    pub rate_bits_per_sec: Option<Spread>,
}

/// A mean that is above 0, and a standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean, above 0.
    pub mean: f64,
    /// Not negative.
    pub deviation: f64,
}

impl Trace {
    /// A value for each step that is expected, each drawn for itself from a log-normal distribution: like a link's,
    /// it is never below 0 and has a long tail upward.
    ///
    /// # Errors
    /// [`TraceError`] when nothing is expected, or a mean or deviation is not possible.
    pub fn drawn(step: Duration, expected: &[Expected], seed: u64) -> Result<Self, TraceError> {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        let (mut latency, mut bandwidth) = (Vec::new(), Vec::new());
        for (idx, expected) in (0_u64..).zip(expected) {
            let at = idx * step.as_nanos() as u64;
            latency.push((at, expected.latency_ns.draw(&mut chance)?));
            if let Some(rate) = expected.rate_bits_per_sec {
                bandwidth.push((at, rate.draw(&mut chance)?));
            }
        }
        Self::of_tracks(latency, bandwidth)
    }
}

impl Spread {
    /// Rounded up to a whole number.
    fn draw(self, chance: &mut ChaCha8Rng) -> Result<u64, TraceError> {
        let Self { mean, deviation } = self;
        if !(mean > 0.0 && mean.is_finite() && deviation >= 0.0 && deviation.is_finite()) {
            return Err(TraceError::Spread { mean, deviation });
        }
        let variance = (deviation / mean).powi(2).ln_1p();
        // Of the open interval, so that both ends of the distribution stay finite.
        let standard = Normal::standard().inverse_cdf(chance.random_range(f64::EPSILON..1.0));
        Ok((mean * (variance.sqrt() * standard - 0.5 * variance).exp()).ceil() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Standard error of the mean of 20,000 draws with a deviation of twice the mean: 1.4 %; the deviation's is some 10
    /// times that.
    #[test]
    fn draws_have_the_mean_and_the_deviation_that_were_asked_for() {
        let expected = Expected { latency_ns: Spread { mean: 12.7e6, deviation: 27.03e6 }, rate_bits_per_sec: None };
        let trace = Trace::drawn(Duration::from_secs(1), &[expected; 20_000], 1).unwrap();
        let latencies: Vec<f64> = trace.latency.0.iter().map(|(_, latency)| *latency as f64).collect();
        let n = latencies.len() as f64;
        let mean = latencies.iter().sum::<f64>() / n;
        let deviation = (latencies.iter().map(|latency| (latency - mean).powi(2)).sum::<f64>() / n).sqrt();
        assert!((mean / 12.7e6 - 1.0).abs() < 0.05 && (deviation / 27.03e6 - 1.0).abs() < 0.3, "{mean} {deviation}");
        assert!(latencies.iter().all(|latency| *latency > 0.0));
        assert_eq!(Trace::drawn(Duration::from_secs(1), &[expected; 20_000], 1), Ok(trace));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (mean, deviation) in [(0.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
            let expected = Expected { latency_ns: Spread { mean, deviation }, rate_bits_per_sec: None };
            assert!(Trace::drawn(Duration::from_secs(1), &[expected], 1).is_err(), "{mean} {deviation}");
        }
    }
}
