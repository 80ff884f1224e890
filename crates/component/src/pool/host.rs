//! Signals of one host, and their state.

use bytes::{Bytes, BytesMut};
use predict::{LiveFleet, Policy};
use stream::{Carries, Description, Forecast, Measurement, Payload};
use units::Timestamp;

use super::server::Config;

/// A step back by more than this is another series; a shorter one is a message that comes again.
const STEP_BACK_MAX: u64 = 1000;

/// State of one host.
pub(crate) struct Host {
    policy: Policy,
    description: Option<Description>,
    /// The frame of the description, to be compared with the next.
    described_by: Bytes,
    /// The frame that forecasts begin with.
    forecast_description: Bytes,
    signals: LiveFleet,
    means: Vec<f64>,
    standard_errors: Vec<f64>,
}

impl Host {
    pub(crate) fn new(subject: &str, config: &Config) -> Self {
        let policy = config.policy(subject);
        Self {
            description: None,
            described_by: Bytes::new(),
            forecast_description: Bytes::new(),
            signals: LiveFleet::new(policy.clone(), 0, 0),
            means: Vec::new(),
            standard_errors: Vec::new(),
            policy,
        }
    }

    /// Takes a description, unless it is the one that is known.
    pub(crate) fn describe(&mut self, frame: &Bytes, config: &Config) -> Result<(), stream::MessageError> {
        if self.described_by == *frame {
            return Ok(());
        }
        // What cannot be told of the forecasts is not told wrongly.
        (self.description, self.described_by) = (None, Bytes::new());
        let description = Description::read(&frame[stream::HEADER_BYTES..])?;
        let forecasts = Description {
            carries: Carries::Forecast,
            model: Some(config.model.to_string()),
            horizon: Some(config.horizon),
            ..description.clone()
        };
        let mut bytes = BytesMut::new();
        forecasts.encode(&mut bytes)?;
        self.forecast_description = bytes.freeze();
        // A copy, so that the message that it stood in can go.
        self.described_by = Bytes::copy_from_slice(frame);
        self.description = Some(description);
        Ok(())
    }

    /// Takes samples that were measured while others served the host.
    pub(crate) fn replay(&mut self, measurement: &Measurement) {
        if self.go_to(measurement) {
            self.signals.replay(&measurement.values);
        }
    }

    /// Takes samples, and moves the models on. `false` for what is known already.
    pub(crate) fn step(&mut self, measurement: &Measurement) -> bool {
        let is_new = self.go_to(measurement);
        if is_new {
            self.signals.step(&measurement.values);
        }
        is_new
    }

    /// Passes over steps that are missing before a measurement; `false` if the measurement was there before.
    fn go_to(&mut self, measurement: &Measurement) -> bool {
        let Measurement { number, ref values, .. } = *measurement;
        let (n_signals, next) = (self.signals.len(), self.signals.number());
        if values.len() != n_signals || number.saturating_add(STEP_BACK_MAX) < next {
            self.signals = LiveFleet::new(self.policy.clone(), values.len(), number);
        } else if number < next {
            return false;
        } else {
            self.signals.skip(number - next);
        }
        true
    }

    /// Appends the forecasts of all signals, and before them their description; `false` while there is no description.
    pub(crate) fn forecast(&mut self, number: u64, time: Timestamp, config: &Config, out: &mut BytesMut) -> bool {
        if self.description.as_ref().is_none_or(|description| description.signals.len() != self.signals.len()) {
            return false;
        }
        out.extend_from_slice(&self.forecast_description);
        let n_leads = config.horizon as usize;
        self.means.resize(self.signals.len() * n_leads, 0.0);
        self.standard_errors.resize(self.signals.len() * n_leads, 0.0);
        self.signals.forecast_into(n_leads, &mut self.means, &mut self.standard_errors);
        let completed = clock::now();
        let rows = self.means.chunks_exact(n_leads).zip(self.standard_errors.chunks_exact(n_leads));
        for (signal, (means, standard_errors)) in (0..).zip(rows) {
            // One of which too little is known is told nothing of.
            if self.signals.speaks(signal as usize) {
                let (means, standard_errors) = (means.to_vec(), standard_errors.to_vec());
                let forecast = Forecast { number, time, completed, signal, means, standard_errors };
                forecast.encode(out).expect("the horizon was checked at the start");
            }
        }
        true
    }

    pub(crate) fn n_forecasts(&self) -> u64 {
        (0..self.signals.len()).filter(|signal| self.signals.speaks(*signal)).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(number: u64) -> Measurement {
        Measurement { number, time: Timestamp::from_nanos(0), values: vec![(number % 1000 * 7919 % 13) as f64] }
    }

    #[test]
    fn what_comes_again_is_nothing_and_a_step_back_another_series() {
        let mut host = Host::new("a", &Config::new("AR(4)".parse().unwrap()));
        assert!((7..50).all(|number| host.step(&measurement(number))));
        assert!(!host.step(&measurement(49)) && !host.step(&measurement(7)));
        assert!(host.step(&measurement(60)) && host.signals.speaks(0));
        assert!(host.step(&measurement(5000)) && !host.signals.speaks(0), "nothing is known after so long a gap");
        assert!(host.step(&measurement(u64::MAX)) && host.step(&measurement(3)));
        assert_eq!(host.signals.number(), 4);
    }
}
