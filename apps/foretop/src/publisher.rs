//! Measurements that a command makes by the way, as a stream.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use component::Relay;
use stream::{Carries, Description, Endpoint, Inlet, Measurement, Message, Mirror, Running, Security, SignalName};

use crate::command::stream::wiring::Protection;
use crate::failure::OrUsage;

/// Measurements that wait for the mirror.
const N_AHEAD: usize = 16;

/// Where measurements go, and how they are protected.
#[derive(Args)]
pub struct Publishing {
    /// Send what is measured as a stream; may be repeated
    #[arg(long, value_name = "ENDPOINT")]
    publish: Vec<Endpoint>,

    #[command(flatten)]
    protection: Protection,
}

/// Sends what is measured.
pub struct Publisher {
    inlet: Inlet,
    description: Description,
    number: u64,
    _running: Running<Relay>,
}

impl Publishing {
    /// Announces itself as `stream`, if anything is to be sent.
    pub fn start(&self, component: &'static str, stream: &str, step: Duration) -> anyhow::Result<Option<Publisher>> {
        if self.publish.is_empty() {
            return Ok(None);
        }
        let security = self.protection.security().or_usage()?;
        Publisher::start(component, stream.to_owned(), step, &self.publish, &security).map(Some)
    }
}

impl Publisher {
    /// Announces itself as `stream`.
    pub fn start(
        component: &'static str,
        stream: String,
        step: Duration,
        endpoints: &[Endpoint],
        security: &Security,
    ) -> anyhow::Result<Self> {
        let mut security = security.clone();
        (security.registry.announces, security.registry.lan) = (true, true);
        let mut mirror = Mirror::new(component, Relay).with_security(security);
        let (_, inlet) = mirror.inlet(N_AHEAD);
        for endpoint in endpoints {
            mirror.add(endpoint.clone());
        }
        let running = mirror.start().with_context(|| format!("cannot publish `{stream}`"))?;
        let description = Description {
            stream,
            host: sensor::host_name(Path::new("/")).unwrap_or_default(),
            carries: Carries::Measurement,
            step_ns: u64::try_from(step.as_nanos()).unwrap_or(u64::MAX),
            signals: Vec::new(),
            model: None,
            horizon: None,
        };
        Ok(Self { inlet, description, number: 0, _running: running })
    }

    /// A measurement of this moment: each signal's id and unit, and its value. What nobody takes in time is left out.
    pub fn send(&mut self, measured: impl IntoIterator<Item = (String, &'static str, f64)>) {
        let named = |(id, unit, value): (String, &str, f64)| (SignalName { id, unit: unit.to_owned() }, value);
        let (signals, values): (Vec<SignalName>, Vec<f64>) = measured.into_iter().map(named).unzip();
        if signals != self.description.signals {
            self.description.signals = signals;
            let _full = self.inlet.send(Message::Description(self.description.clone()));
        }
        let measurement = Measurement { number: self.number, time: clock::now(), values };
        let _full = self.inlet.send(Message::Measurement(measurement));
        self.number += 1;
    }
}
