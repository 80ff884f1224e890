//! Recorded availability: what a worker really gave, second by second.

use std::collections::BTreeMap;
use std::time::Duration;

use series::Series;

/// A recorded availability, read in a circle: after its end it begins anew.
#[derive(Clone, Debug)]
pub struct Trace {
    name: String,
    step_seconds: f64,
    samples: Vec<f64>,
    /// Processor time in seconds between the beginning and each step; in the end, all of it.
    sums: Vec<f64>,
    /// Readings of sensors meanwhile, by the sensors' names.
    readings: BTreeMap<String, Vec<f64>>,
}

/// Reasons why a series is no trace.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A series without the distance of its samples.
    #[error("`{0}` has no times: a trace of availability says how far its samples are apart")]
    NoStep(String),
    /// Too few samples to learn from and to run on.
    #[error("`{name}` has {have} samples, and a trace has {need} at least")]
    TooShort {
        /// The trace.
        name: String,
        /// Samples that it has.
        have: usize,
        /// Samples that it needs.
        need: usize,
    },
    /// A value that is no availability.
    #[error("`{name}` has {value} as sample {at}, and an availability is between 0 and 1")]
    Value {
        /// The trace.
        name: String,
        /// Number of the sample, from 1.
        at: usize,
        /// The value.
        value: f64,
    },
    /// A sensor that did not say as much as there is to say.
    #[error("sensor `{sensor}` has {have} readings of `{name}`, which has {need} samples: they go in pairs")]
    Readings {
        /// The trace.
        name: String,
        /// The sensor.
        sensor: String,
        /// Readings that there are.
        have: usize,
        /// Samples of the trace.
        need: usize,
    },
    /// Nothing is ever available.
    #[error("`{0}` is never above 0: nothing would ever be done")]
    Nothing(String),
}

/// Samples that a trace needs at least.
const N_SAMPLES_MIN: usize = 60;

impl Trace {
    /// Builds a trace from a series of shares from 0 to 1. A gap is taken for the sample before it.
    ///
    /// # Errors
    /// [`TraceError`]: no step, too short, no shares, or never above 0.
    pub fn new(name: &str, series: &Series) -> Result<Self, TraceError> {
        let step = series.grid().map(|grid| grid.step.length()).filter(|step| *step > Duration::ZERO);
        let step_seconds = step.ok_or_else(|| TraceError::NoStep(name.to_owned()))?.as_secs_f64();
        let samples = shares(name, series)?;
        let have = samples.len();
        if have < N_SAMPLES_MIN {
            return Err(TraceError::TooShort { name: name.to_owned(), have, need: N_SAMPLES_MIN });
        }
        let mut sums = vec![0.0];
        for sample in &samples {
            sums.push(sums[sums.len() - 1] + sample * step_seconds);
        }
        if sums[have] == 0.0 {
            return Err(TraceError::Nothing(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), step_seconds, samples, sums, readings: BTreeMap::new() })
    }

    /// Adds what a sensor said at each sample, for forecasts that know nothing else.
    ///
    /// # Errors
    /// [`TraceError`]: not a reading for each sample, or readings that are no shares.
    pub fn with_readings(mut self, sensor: &str, series: &Series) -> Result<Self, TraceError> {
        let readings = shares(&self.name, series)?;
        let (have, need) = (readings.len(), self.samples.len());
        if have != need {
            return Err(TraceError::Readings { name: self.name, sensor: sensor.to_owned(), have, need });
        }
        self.readings.insert(sensor.to_owned(), readings);
        Ok(self)
    }

    /// Returns the readings of a sensor, one at each sample.
    #[must_use]
    pub fn readings(&self, sensor: &str) -> Option<&[f64]> {
        self.readings.get(sensor).map(Vec::as_slice)
    }

    /// Returns the name that people use.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the time between two samples, in seconds.
    #[must_use]
    pub fn step_seconds(&self) -> f64 {
        self.step_seconds
    }

    /// All samples, from 0 to 1.
    #[must_use]
    pub fn samples(&self) -> &[f64] {
        &self.samples
    }

    /// The processor time in seconds that there is until a time after the beginning of the trace.
    #[must_use]
    pub fn cpu_until(&self, seconds: f64) -> f64 {
        let steps = seconds / self.step_seconds;
        let (rounds, inside) =
            (steps.div_euclid(self.samples.len() as f64), steps.rem_euclid(self.samples.len() as f64));
        let at = (inside as usize).min(self.samples.len() - 1);
        rounds * self.sums[self.samples.len()]
            + self.sums[at]
            + (inside - at as f64) * self.samples[at] * self.step_seconds
    }

    /// The time after the beginning by which there was so much processor time.
    #[must_use]
    pub fn time_of(&self, cpu_seconds: f64) -> f64 {
        let n = self.samples.len();
        let (rounds, inside) = (cpu_seconds.div_euclid(self.sums[n]), cpu_seconds.rem_euclid(self.sums[n]));
        let at = self.sums.partition_point(|sum| *sum < inside).clamp(1, n) - 1;
        let part = if self.samples[at] > 0.0 { (inside - self.sums[at]) / self.samples[at] } else { 0.0 };
        rounds * n as f64 * self.step_seconds + at as f64 * self.step_seconds + part
    }

    /// Returns the time that so much processor time takes from a moment on, both in seconds.
    #[must_use]
    pub fn time_for(&self, from: f64, cpu_seconds: f64) -> f64 {
        if cpu_seconds <= 0.0 {
            0.0
        } else {
            (self.time_of(self.cpu_until(from) + cpu_seconds) - from).max(cpu_seconds)
        }
    }
}

/// The samples of a series of shares. A gap is taken for the sample before it.
fn shares(name: &str, series: &Series) -> Result<Vec<f64>, TraceError> {
    let mut samples = Vec::with_capacity(series.samples().len());
    for (idx, value) in series.samples().iter().enumerate() {
        if value.is_finite() && !(0.0..=1.0).contains(value) {
            return Err(TraceError::Value { name: name.to_owned(), at: idx + 1, value: *value });
        }
        samples.push(if value.is_finite() { *value } else { samples.last().copied().unwrap_or(1.0) });
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use units::Timestamp;

    use super::*;

    fn trace(samples: &[f64]) -> Trace {
        let timed: Vec<(Timestamp, f64)> = samples
            .iter()
            .enumerate()
            .map(|(idx, value)| (Timestamp::from_nanos(2_000_000_000 * idx as i64), *value))
            .collect();
        Trace::new("made", &Series::from_timed(&timed).unwrap()).unwrap()
    }

    #[test]
    fn time_goes_by_the_samples_in_a_circle() {
        let mut samples = [1.0; 100];
        samples[1] = 0.5;
        samples[2] = 0.0;
        let trace = trace(&samples);
        assert_eq!(trace.time_for(0.0, 2.0), 2.0);
        assert_eq!(trace.time_for(2.0, 1.0), 2.0);
        assert_eq!(trace.time_for(1.0, 3.0), 6.0);
        // 197 s of processor time in a round of 200 s.
        assert_eq!(trace.time_for(0.0, 2.0 * 197.0), 400.0);
        for at in [0.0, 3.3, 7.0, 150.0, 555.5] {
            let back = trace.time_of(trace.cpu_until(at));
            assert!((back - at).abs() < 1e-9, "{at} became {back}");
        }
    }

    #[test]
    fn what_is_no_availability_is_refused() {
        let timed = |value: f64| -> Vec<_> {
            (0..100).map(|idx| (Timestamp::from_nanos(idx * 1_000_000_000), value)).collect()
        };
        let of = |value| Trace::new("made", &Series::from_timed(&timed(value)).unwrap()).map(|_| ());
        assert!(matches!(of(3.0), Err(TraceError::Value { at: 1, .. })));
        assert_eq!(of(0.0), Err(TraceError::Nothing("made".to_owned())));
    }
}
