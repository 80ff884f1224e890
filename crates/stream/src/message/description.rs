//! A description: what a stream carries, said before anything else.

use std::time::Duration;

use bytes::BytesMut;
use serde::{Deserialize, Serialize};

use super::{MessageError, Payload, read_json, write_json};
use crate::frame::Kind;

/// Longer, and it is no name.
const NAME_BYTES_MAX: usize = 256;

/// A node with exporters has some thousand.
const N_SIGNALS_MAX: usize = 4096;

/// The description of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The name of the stream, by which it is looked up.
    pub stream: String,
    /// The host whose signals these are.
    pub host: String,
    /// The kind of the stream's messages.
    pub carries: Carries,
    /// Time between two steps of the series, in nanoseconds; 0 for steps that are not evenly spaced.
    pub step_ns: u64,
    /// The measured or forecast signals, in the order of a measurement's values.
    pub signals: Vec<SignalName>,
    /// The text of the model that forecasts, of a stream of forecasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The number of steps ahead that are forecast, of a stream of forecasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub horizon: Option<u32>,
}

/// The kind of a stream's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Carries {
    /// Values of all signals of a sensor at one moment.
    Measurement,
    /// One value.
    Sample,
    /// Means and standard errors of the steps ahead.
    Forecast,
    /// Results from scopes of an MPI job, for a program that pulls them.
    Results,
}

impl Carries {
    /// The kind of the stream's frames, its descriptions left out.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Measurement => Kind::Measurement,
            Self::Sample => Kind::Sample,
            Self::Forecast => Kind::Forecast,
            Self::Results => Kind::Results,
        }
    }
}

/// A signal of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SignalName {
    /// Its id, as in `cpu.availability`.
    pub id: String,
    /// Its unit in a word; empty for a plain number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
}

impl Description {
    /// Time between two steps of the series; zero for steps that are not evenly spaced.
    #[must_use]
    pub fn step(&self) -> Duration {
        Duration::from_nanos(self.step_ns)
    }

    fn check(&self) -> Result<(), MessageError> {
        let too_many = |of, given, limit| MessageError::TooMany { what: "description", of, given, limit };
        if self.signals.len() > N_SIGNALS_MAX {
            return Err(too_many("signals", self.signals.len(), N_SIGNALS_MAX));
        }
        let names = self.signals.iter().flat_map(|signal| [&signal.id, &signal.unit]);
        match names.chain([&self.stream, &self.host]).chain(&self.model).map(String::len).max() {
            Some(longest) if longest > NAME_BYTES_MAX => Err(too_many("bytes in a name", longest, NAME_BYTES_MAX)),
            _ => Ok(()),
        }
    }
}

impl Payload for Description {
    const KIND: Kind = Kind::Description;

    fn write(&self, out: &mut BytesMut) -> Result<(), MessageError> {
        self.check()?;
        write_json(self, out)
    }

    fn read(payload: &[u8]) -> Result<Self, MessageError> {
        let description: Self = read_json(payload)?;
        description.check()?;
        Ok(description)
    }
}
