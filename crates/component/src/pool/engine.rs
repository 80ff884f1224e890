//! The computation of a server: what comes in for the hosts that it serves, and what goes out.

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};
use stream::{Decoder, Kind, Measurement, Payload};

use super::host::Host;
use super::server::Config;
use super::subjects::partition_of;

/// Counts of a server's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Measurement messages that were worked on.
    pub n_measurements: u64,
    /// Forecasts that were made, one for each signal.
    pub n_forecasts: u64,
    /// Frames that were malformed or empty.
    pub n_bad: u64,
    /// Hosts that are served at this moment.
    pub n_hosts: u64,
}

/// Whether a message is worked on as it comes, or was before this server's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tense {
    /// The message is answered with forecasts.
    Present,
    /// The message is replayed.
    Past,
}

/// The computation of a server, independent of NATS.
#[derive(Default)]
pub struct Engine {
    hosts: HashMap<String, Host>,
    counted: Counted,
}

impl Engine {
    /// Works on one message, and returns what there is to send for it.
    pub fn message(&mut self, subject: &str, payload: &Bytes, tense: Tense, config: &Config) -> Option<Bytes> {
        if !self.hosts.contains_key(subject) && self.hosts.len() >= config.n_hosts_max {
            self.counted.n_bad += 1;
            return None;
        }
        let host = self.hosts.entry(subject.to_owned()).or_insert_with(|| Host::new(subject, config));
        let mut decoder = Decoder::default();
        decoder.buffer().extend_from_slice(payload);
        let mut out = BytesMut::new();
        loop {
            let frame = match decoder.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(_) => {
                    self.counted.n_bad += 1;
                    break;
                }
            };
            match frame.kind {
                Kind::Description => self.counted.n_bad += u64::from(host.describe(frame.as_bytes(), config).is_err()),
                Kind::Measurement => match Measurement::read(frame.payload()) {
                    Ok(measurement) if tense == Tense::Past => host.replay(&measurement),
                    Ok(measurement) => {
                        let (number, time) = (measurement.number, measurement.time);
                        if host.step(&measurement) && host.forecast(number, time, config, &mut out) {
                            self.counted.n_measurements += 1;
                            self.counted.n_forecasts += host.n_forecasts();
                        }
                    }
                    Err(_) => self.counted.n_bad += 1,
                },
                // Others may speak of themselves here.
                _ => {}
            }
        }
        (!out.is_empty()).then(|| out.freeze())
    }

    /// Removes the hosts of a partition that others serve.
    pub(crate) fn forget(&mut self, partition: u32, config: &Config) {
        self.hosts.retain(|subject, _| partition_of(subject, config.n_partitions) != partition);
    }

    pub(crate) fn counted(&self) -> Counted {
        Counted { n_hosts: self.hosts.len() as u64, ..self.counted }
    }
}
