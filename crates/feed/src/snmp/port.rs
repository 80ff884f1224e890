//! One interface of an agent: the row that is asked for, and the values in it.

use std::{fmt, time::Duration};

use async_snmp::{Oid, Value};

use super::{
    Implausible, Interface, SnmpError,
    agent::Reading,
    meter::{Count, Meter, Sighting},
    object::{self, instance},
};

/// Bytes per second in what `ifHighSpeed` counts: a million bits per second.
const MEGABIT: f64 = 125_000.0;

/// The value of `ifSpeed` if the speed is beyond its range.
const SPEED_BEYOND: u32 = u32::MAX;

/// The states of `ifOperStatus` in which an interface carries nothing: down, dormant, not present, lower layer down.
const STATES_DOWN: [i32; 4] = [2, 5, 6, 7];

/// The width of the counters of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// 64 bits, of `ifXTable`.
    Wide,
    /// 32 bits, of `ifTable`.
    Narrow,
}

impl Scale {
    /// The columns of a row, in the order in which [`Port::take`] finds their values.
    fn columns(self) -> &'static [&'static [u32]] {
        match self {
            Scale::Wide => &[
                object::IF_HC_IN_OCTETS,
                object::IF_HC_OUT_OCTETS,
                object::IF_HIGH_SPEED,
                object::IF_OPER_STATUS,
                object::IF_NAME,
                object::IF_COUNTER_DISCONTINUITY_TIME,
            ],
            Scale::Narrow => &[
                object::IF_IN_OCTETS,
                object::IF_OUT_OCTETS,
                object::IF_SPEED,
                object::IF_OPER_STATUS,
                object::IF_DESCR,
            ],
        }
    }
}

/// The reason why a row gives no reading.
pub(crate) enum RowError {
    /// It has no counters.
    Uncounted,
    /// Its counters are not believed.
    Impossible(Implausible),
}

impl RowError {
    pub(crate) fn of(self, agent: &str, interface: &Interface) -> SnmpError {
        let (agent, interface) = (agent.to_owned(), interface.to_string());
        match self {
            RowError::Uncounted => SnmpError::Uncounted { agent, interface },
            RowError::Impossible(source) => SnmpError::Impossible { agent, interface, source },
        }
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Interface::Named(name) => write!(formatter, "`{name}`"),
            Interface::Numbered(index) => write!(formatter, "number {index}"),
        }
    }
}

/// One interface that is watched.
pub(crate) struct Port {
    pub(crate) interface: Interface,
    pub(crate) capacity_given: Option<f64>,
    /// `ifIndex`, once it is known.
    pub(crate) index: Option<u32>,
    pub(crate) reading: Reading,
    scale: Scale,
    objects: Vec<Oid>,
    /// The name beside the counters: another one means that the number is another interface's.
    name: Option<Value>,
    meter: Meter,
}

impl Port {
    pub(crate) fn new(interface: Interface, capacity_given: Option<f64>, meter: Meter) -> Port {
        let (index, objects, reading) = (None, Vec::new(), Reading::default());
        let number = match interface {
            Interface::Numbered(number) => Some(number),
            Interface::Named(_) => None,
        };
        let mut port =
            Port { interface, capacity_given, index, reading, scale: Scale::Wide, objects, name: None, meter };
        if let Some(number) = number {
            port.found(number);
        }
        port
    }

    /// Takes `index` for the number of the interface.
    pub(crate) fn found(&mut self, index: u32) {
        self.index = Some(index);
        self.ask_for(Scale::Wide);
    }

    /// Returns the objects to ask for, if the number of the interface is known.
    pub(crate) fn objects(&self) -> &[Oid] {
        &self.objects
    }

    fn ask_for(&mut self, scale: Scale) {
        self.scale = scale;
        self.objects = self
            .index
            .map_or(Vec::new(), |index| scale.columns().iter().map(|column| instance(column, [index])).collect());
        self.name = None;
        self.meter.reset();
    }

    /// Takes in what the agent says: its clocks, and a value for each of the objects.
    ///
    /// An interface without 64-bit counters is asked for its 32-bit ones from the next read on. One with another name
    /// than before is looked for anew, because the agent gave its number to another.
    pub(crate) fn take(&mut self, at: Duration, clocks: &[Value], row: &[Value]) -> Result<(), RowError> {
        let (Some(received), Some(sent)) = (self.count(&row[0]), self.count(&row[1])) else {
            return self.do_without();
        };
        if self.name.as_ref().is_some_and(|name| *name != row[4]) {
            self.renumbered();
            return Ok(());
        }
        self.name = Some(row[4].clone());
        let capacity = self.capacity_given.or_else(|| self.speed(&row[2]));
        let is_down = row[3].as_i32().is_some_and(|state| STATES_DOWN.contains(&state));
        self.reading.capacity = if is_down { Some(0.0) } else { capacity };
        let Some(uptime_ticks) = ticks(&clocks[0]) else {
            return Err(RowError::Uncounted);
        };
        let (boots, discontinuity) = (clocks[1].as_u32(), row.get(5).and_then(ticks));
        let sighting = Sighting { at, uptime_ticks, boots, discontinuity, received, sent };
        self.reading.rates = self.meter.step(sighting, capacity).map_err(RowError::Impossible)?;
        Ok(())
    }

    /// Looks for other counters: for the 32-bit ones first, and if those are not there either, for the interface
    /// itself.
    fn do_without(&mut self) -> Result<(), RowError> {
        match self.scale {
            Scale::Wide => {
                self.ask_for(Scale::Narrow);
                Ok(())
            }
            Scale::Narrow => {
                self.renumbered();
                Err(RowError::Uncounted)
            }
        }
    }

    /// Forgets a number that is another interface's, and starts with one that was given from the beginning.
    fn renumbered(&mut self) {
        if matches!(self.interface, Interface::Named(_)) {
            self.index = None;
        }
        self.ask_for(Scale::Wide);
    }

    fn count(&self, value: &Value) -> Option<Count> {
        match (self.scale, value) {
            (Scale::Wide, Value::Counter64(count)) => Some(Count::Wide(*count)),
            (Scale::Narrow, Value::Counter32(count)) => Some(Count::Narrow(*count)),
            _ => None,
        }
    }

    /// Returns the speed in bytes per second that the agent states, if there is one.
    fn speed(&self, value: &Value) -> Option<f64> {
        let said = value.as_u32().filter(|&said| said > 0)?;
        match self.scale {
            Scale::Wide => Some(f64::from(said) * MEGABIT),
            Scale::Narrow => (said != SPEED_BEYOND).then_some(f64::from(said) / 8.0),
        }
    }
}

fn ticks(value: &Value) -> Option<u32> {
    match value {
        Value::TimeTicks(ticks) => Some(*ticks),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Generates values that an agent may send for any object.
    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            Just(Value::NoSuchInstance),
            Just(Value::EndOfMibView),
            any::<i32>().prop_map(Value::Integer),
            any::<u32>().prop_map(Value::Counter32),
            any::<u32>().prop_map(Value::Gauge32),
            any::<u32>().prop_map(Value::TimeTicks),
            any::<u64>().prop_map(Value::Counter64),
            any::<Vec<u8>>().prop_map(|bytes| Value::OctetString(bytes.into())),
        ]
    }

    /// Generates rows of arbitrary values: most have the right types, the others any.
    fn row() -> impl Strategy<Value = Vec<Value>> {
        let typed = (any::<[u64; 2]>(), any::<u32>(), 0..8, any::<u32>()).prop_map(|(counts, speed, state, since)| {
            let name = Value::OctetString(b"eth0".to_vec().into());
            let counts = counts.map(Value::Counter64);
            [&counts[..], &[Value::Gauge32(speed), Value::Integer(state), name, Value::TimeTicks(since & 1)]].concat()
        });
        prop_oneof![4 => typed, 1 => prop::collection::vec(value(), 6)]
    }

    proptest! {
        #[test]
        fn whatever_an_agent_says_rates_stay_within_the_capacity(
            answers in prop::collection::vec((row(), value(), any::<u32>(), 0..100_u64), 1..20)
        ) {
            let meter = Meter::new(Duration::from_secs(6), Duration::from_millis(600));
            let mut port = Port::new(Interface::Numbered(1), Some(125e6), meter);
            let mut at = Duration::ZERO;
            for (row, boots, uptime, step_s) in answers {
                at += Duration::from_secs(step_s);
                let n_objects = port.objects().len();
                let _ = port.take(at, &[Value::TimeTicks(uptime), boots], &row[..n_objects]);
                if let Some(rates) = port.reading.rates {
                    prop_assert!((0.0..=125e6).contains(&rates.received) && (0.0..=125e6).contains(&rates.sent));
                }
            }
        }
    }
}
