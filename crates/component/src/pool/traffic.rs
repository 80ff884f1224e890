//! Measurements of many hosts that do not exist, to load a pool with.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use stream::{Carries, Description, Measurement, OpenError, Payload, Security, SignalName, nats};
use tokio::time::Instant;
use units::Timestamp;

/// Number of slices that a step is cut into; the hosts of a slice are sent in a row.
const N_SLICES: u32 = 100;

/// Message of a panic that should never happen.
const FITS: &str = "a host of at most 4096 signals fits into a frame";

/// Hosts, and the speed of their measurements.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Prefix of subjects; the number of a host follows.
    pub prefix: String,
    /// Number of hosts.
    pub n_hosts: u32,
    /// Number of signals of each host, 4,096 at most.
    pub n_signals: u32,
    /// Time between two measurements of a host.
    pub step: Duration,
    /// The number of the first measurement.
    pub first: u64,
    /// Number of measurements that each host makes.
    pub n_steps: u64,
}

impl Traffic {
    /// The subject of a host.
    #[must_use]
    pub fn subject(&self, host: u32) -> String {
        format!("{}.{}", self.prefix, name(host))
    }

    /// Returns the description of a host's measurements.
    #[must_use]
    pub fn description(&self, host: u32) -> Description {
        let signal = |at| SignalName { id: format!("made.{at}"), unit: String::new() };
        Description {
            stream: "made".to_owned(),
            host: name(host),
            carries: Carries::Measurement,
            step_ns: u64::try_from(self.step.as_nanos()).unwrap_or(u64::MAX),
            signals: (0..self.n_signals).map(signal).collect(),
            model: None,
            horizon: None,
        }
    }

    /// Returns a host's measurement at one step: a wave and noise that no model predicts, the same for each call.
    #[must_use]
    pub fn measurement(&self, host: u32, number: u64, time: Timestamp) -> Measurement {
        let value = |signal: u32| {
            let seed = (u64::from(host) << 40) ^ (u64::from(signal) << 32) ^ number;
            let period = 5.0 + f64::from((host + 7 * signal) % 50);
            (number as f64 / period).sin() + noise(seed)
        };
        Measurement { number, time, values: (0..self.n_signals).map(value).collect() }
    }

    /// Returns a message of a host: the description of its measurements, and a measurement.
    ///
    /// # Panics
    /// When a host has too many signals.
    #[must_use]
    pub fn message(&self, description: &[u8], host: u32, number: u64) -> Bytes {
        let mut bytes = BytesMut::from(description);
        let now = clock::now();
        self.measurement(host, number, now).encode(&mut bytes).expect(FITS);
        bytes.freeze()
    }

    /// Publishes the traffic, each host at its own moment of the step; `sent` is called with each message.
    ///
    /// # Errors
    /// [`OpenError`] when the NATS server cannot be had.
    ///
    /// # Panics
    /// When a host has too many signals.
    pub async fn run(&self, security: &Security, mut sent: impl FnMut(u64)) -> Result<(), OpenError> {
        let client = nats::connect(security).await?;
        let hosts: Vec<(String, BytesMut)> = (0..self.n_hosts)
            .map(|host| {
                let mut description = BytesMut::new();
                self.description(host).encode(&mut description).expect(FITS);
                (self.subject(host), description)
            })
            .collect();
        let start = Instant::now();
        for number in 0..self.n_steps {
            for slice in 0..N_SLICES {
                let steps = number as f64 + f64::from(slice) / f64::from(N_SLICES);
                tokio::time::sleep_until(start + self.step.mul_f64(steps)).await;
                for host in (slice..self.n_hosts).step_by(N_SLICES as usize) {
                    let (subject, description) = &hosts[host as usize];
                    let message = self.message(description, host, self.first + number);
                    // What the client cannot take while its server is away waits in it.
                    let _ = client.publish(subject.clone(), message).await;
                    sent(self.first + number);
                }
            }
        }
        let _ = client.flush().await;
        Ok(())
    }
}

fn name(host: u32) -> String {
    format!("host-{host:05}")
}

/// Returns noise spread evenly over -0.5 to 0.5; the finalizer of SplitMix64.
fn noise(seed: u64) -> f64 {
    let mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
}
