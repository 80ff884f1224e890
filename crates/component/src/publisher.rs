//! Measurements that a program makes by the way, as a stream.

use std::time::Duration;

use stream::{
    Carries, Description, Endpoint, Inlet, Measurement, Message, Mirror, OpenError, Running, Security, SignalName,
};

use crate::Relay;

/// Measurements that wait for the mirror.
const N_AHEAD: usize = 16;

/// Publisher of a program's measurements.
pub struct Publisher {
    inlet: Inlet,
    description: Description,
    number: u64,
    _running: Running<Relay>,
}

/// Origin of a stream: its program, host and name.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The program.
    pub component: &'static str,
    /// The name of the stream.
    pub stream: &'a str,
    /// This host.
    pub host: &'a str,
    /// Time from one measurement to the next.
    pub step: Duration,
}

impl Publisher {
    /// Announces itself, and accepts whoever connects to `endpoints`.
    ///
    /// # Errors
    /// When an endpoint cannot be opened.
    pub fn start(origin: Origin<'_>, endpoints: &[Endpoint], security: &Security) -> Result<Self, OpenError> {
        let mut security = security.clone();
        (security.registry.announces, security.registry.lan) = (true, true);
        let mut mirror = Mirror::new(origin.component, Relay).with_security(security);
        let (_, inlet) = mirror.inlet(N_AHEAD);
        for endpoint in endpoints {
            mirror.add(endpoint.clone());
        }
        let running = mirror.start()?;
        let description = Description {
            stream: origin.stream.to_owned(),
            host: origin.host.to_owned(),
            carries: Carries::Measurement,
            step_ns: u64::try_from(origin.step.as_nanos()).unwrap_or(u64::MAX),
            signals: Vec::new(),
            model: None,
            horizon: None,
        };
        Ok(Self { inlet, description, number: 0, _running: running })
    }

    /// Sends a measurement of this moment: each signal's id and unit, and its value. What nobody takes in time is left
    /// out.
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
