//! Stage times as a stream: in each interval a measurement with the mean of each stage.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use component::Relay;
use stream::{Carries, Description, Endpoint, Inlet, Measurement, Message, Mirror, Running, Security, SignalName};

use super::kind::Watched;

/// Intervals that wait for the mirror.
const N_AHEAD: usize = 16;

/// Sends what is seen.
pub struct Publisher {
    inlet: Inlet,
    description: Description,
    number: u64,
    _running: Running<Relay>,
}

impl Publisher {
    /// Announces itself as `stream`.
    pub fn start(stream: String, step: Duration, endpoints: &[Endpoint], security: &Security) -> anyhow::Result<Self> {
        let mut security = security.clone();
        (security.registry.announces, security.registry.lan) = (true, true);
        let mut mirror = Mirror::new("mpi-watch", Relay).with_security(security);
        let (_, inlet) = mirror.inlet(N_AHEAD);
        for endpoint in endpoints {
            mirror.add(endpoint.clone());
        }
        let running = mirror.start().context("cannot publish stage times")?;
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

    /// The means of the interval that ended. What nobody takes in time is left out.
    pub fn send(&mut self, all: &[Watched]) {
        let (ids, values): (Vec<String>, Vec<f64>) = all.iter().flat_map(Watched::means).unzip();
        let signals = ids.into_iter().map(|id| SignalName { id, unit: "s".to_owned() }).collect();
        if signals != self.description.signals {
            self.description.signals = signals;
            let _full = self.inlet.send(Message::Description(self.description.clone()));
        }
        let measurement = Measurement { number: self.number, time: clock::now(), values };
        let _full = self.inlet.send(Message::Measurement(measurement));
        self.number += 1;
    }
}
