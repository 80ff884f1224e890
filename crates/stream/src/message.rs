//! What frames carry, as types.

mod control;
mod description;
mod forecast;
mod measurement;
mod sample;

use bytes::BytesMut;
use units::Timestamp;

use crate::frame::{Frame, Kind, PAYLOAD_BYTES_MAX, encode};

pub use control::{Answer, Ask, Configuration, Greeting, Purpose, Reply, Request, Status};
pub use description::{Carries, Description, SignalName};
pub use forecast::Forecast;
pub use measurement::Measurement;
pub use sample::Sample;

/// Something that a frame can carry.
pub trait Payload: Sized {
    /// The kind of such frames.
    const KIND: Kind;

    /// Appends the payload's bytes.
    fn write(&self, out: &mut BytesMut);

    /// What these bytes say.
    ///
    /// # Errors
    /// [`MessageError`] when they say nothing of this kind.
    fn read(payload: &[u8]) -> Result<Self, MessageError>;

    /// Appends a whole frame.
    fn encode(&self, out: &mut BytesMut) {
        encode(Self::KIND, out, |out| self.write(out));
    }
}

/// A payload that is not what its frame's kind says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// It has the wrong length.
    #[error("a {what} of {given} bytes: {needed} are needed")]
    Length {
        /// What it should be.
        what: &'static str,
        /// How many bytes it has.
        given: usize,
        /// What it could have, in words.
        needed: &'static str,
    },
    /// It is no JSON of the right form.
    #[error("a {what} that cannot be read: {reason}")]
    Json {
        /// What it should be.
        what: &'static str,
        /// What is wrong, and where.
        reason: String,
    },
    /// It has more of something than there may be.
    #[error("a {what} with {given} {of}: {limit} is the limit")]
    TooMany {
        /// What it should be.
        what: &'static str,
        /// What there is too much of.
        of: &'static str,
        /// How much.
        given: usize,
        /// How much there may be.
        limit: usize,
    },
}

/// A message of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// What the stream carries.
    Description(Description),
    /// Values of all signals of a sensor.
    Measurement(Measurement),
    /// One value.
    Sample(Sample),
    /// What comes next.
    Forecast(Forecast),
    /// Something is asked.
    Request(Request),
    /// Something is answered.
    Reply(Reply),
    /// Who connects.
    Greeting(Greeting),
}

impl Message {
    /// What a frame carries.
    ///
    /// # Errors
    /// [`MessageError`] when its payload is not what its kind says.
    pub fn decode(frame: &Frame) -> Result<Self, MessageError> {
        let payload = frame.payload();
        Ok(match frame.kind {
            Kind::Description => Self::Description(Description::read(payload)?),
            Kind::Measurement => Self::Measurement(Measurement::read(payload)?),
            Kind::Sample => Self::Sample(Sample::read(payload)?),
            Kind::Forecast => Self::Forecast(Forecast::read(payload)?),
            Kind::Request => Self::Request(Request::read(payload)?),
            Kind::Reply => Self::Reply(Reply::read(payload)?),
            Kind::Greeting => Self::Greeting(Greeting::read(payload)?),
        })
    }

    /// The step of the series that it is about; `None` for what is beside the series.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Measurement(measurement) => Some(measurement.number),
            Self::Sample(sample) => Some(sample.number),
            Self::Forecast(forecast) => Some(forecast.number),
            Self::Description(_) | Self::Request(_) | Self::Reply(_) | Self::Greeting(_) => None,
        }
    }

    /// When the measurement was taken that it is about; `None` for what is beside the series.
    #[must_use]
    pub fn time(&self) -> Option<Timestamp> {
        match self {
            Self::Measurement(measurement) => Some(measurement.time),
            Self::Sample(sample) => Some(sample.time),
            Self::Forecast(forecast) => Some(forecast.time),
            Self::Description(_) | Self::Request(_) | Self::Reply(_) | Self::Greeting(_) => None,
        }
    }

    /// Appends it as a whole frame.
    pub fn encode(&self, out: &mut BytesMut) {
        match self {
            Self::Description(message) => message.encode(out),
            Self::Measurement(message) => message.encode(out),
            Self::Sample(message) => message.encode(out),
            Self::Forecast(message) => message.encode(out),
            Self::Request(message) => message.encode(out),
            Self::Reply(message) => message.encode(out),
            Self::Greeting(message) => message.encode(out),
        }
    }
}

/// Appends what serde makes of it. What is sent was limited where it was made, so that it fits.
fn write_json(value: &impl serde::Serialize, out: &mut BytesMut) {
    let bytes = serde_json::to_vec(value).expect("these types have a JSON form");
    assert!(bytes.len() <= PAYLOAD_BYTES_MAX, "a JSON payload of {} bytes does not fit into a frame", bytes.len());
    out.extend_from_slice(&bytes);
}

fn read_json<T: serde::de::DeserializeOwned>(what: &'static str, payload: &[u8]) -> Result<T, MessageError> {
    serde_json::from_slice(payload).map_err(|error| MessageError::Json { what, reason: error.to_string() })
}

#[cfg(test)]
#[path = "message/tests.rs"]
mod tests;
