//! Types of the messages that frames carry.

mod control;
mod description;
mod forecast;
mod greeting;
mod measurement;
mod results;
mod sample;

use bytes::{BufMut, BytesMut};
use units::Timestamp;

use crate::frame::{Frame, Kind, encode};

pub use control::{Answer, Ask, Configuration, Reply, Request, Status};
pub use description::{Carries, Description, SignalName};
pub use forecast::Forecast;
pub use greeting::{Greeting, Purpose};
pub use measurement::Measurement;
pub use results::Results;
pub use sample::Sample;

/// Something that a frame can carry.
pub trait Payload: Sized {
    /// The kind of such frames.
    const KIND: Kind;

    /// Appends the payload's bytes.
    ///
    /// # Errors
    /// [`MessageError`] when no reader would take them.
    fn write(&self, out: &mut BytesMut) -> Result<(), MessageError>;

    /// Reads a message of this kind from the payload's bytes.
    ///
    /// # Errors
    /// [`MessageError`] when they say nothing of this kind.
    fn read(payload: &[u8]) -> Result<Self, MessageError>;

    /// Appends a whole frame.
    ///
    /// # Errors
    /// [`MessageError`] when it is longer than a frame can be, or no reader would take it. `out` is then as it was.
    fn encode(&self, out: &mut BytesMut) -> Result<(), MessageError> {
        encode(Self::KIND, out, |out| self.write(out))
    }
}

/// A payload that is not what its frame's kind says, or a message that no frame can carry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// It has the wrong length.
    #[error("a {what} of {given} bytes: {needed} are needed")]
    Length {
        /// The kind that was expected.
        what: &'static str,
        /// The number of bytes given.
        given: usize,
        /// The permitted lengths, in words.
        needed: &'static str,
    },
    /// It is not JSON of the right form.
    #[error("a {what} that is not the right JSON: {reason}")]
    Json {
        /// The kind that was expected.
        what: &'static str,
        /// The error, and its position.
        reason: String,
    },
    /// It has more of something than there may be.
    #[error("a {what} with {given} {of}: {limit} is the limit")]
    TooMany {
        /// The kind that was expected.
        what: &'static str,
        /// The items of which there are too many.
        of: &'static str,
        /// The number given.
        given: usize,
        /// The largest permitted number.
        limit: usize,
    },
    /// It greets in another way.
    #[error("a greeting without a proof, as by a program of an older version: both sides need this version")]
    Greeting,
    /// A forecast whose means and standard errors are not those of the same steps.
    #[error("a forecast with {n_means} means and {n_standard_errors} standard errors: each mean has one")]
    Uneven {
        /// The number of steps with a mean.
        n_means: usize,
        /// The number of steps with a standard error.
        n_standard_errors: usize,
    },
}

/// A message of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// The description of the stream.
    Description(Description),
    /// Values of all signals of a sensor.
    Measurement(Measurement),
    /// One value.
    Sample(Sample),
    /// A forecast of the steps ahead.
    Forecast(Forecast),
    /// Something is asked.
    Request(Request),
    /// Something is answered.
    Reply(Reply),
    /// A message of the login.
    Greeting(Greeting),
    /// Results from a scope.
    Results(Results),
}

impl Message {
    /// Decodes the message that a frame carries.
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
            Kind::Results => Self::Results(Results::read(payload)?),
        })
    }

    /// The step of the series that it is about; `None` for what is beside the series.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Measurement(measurement) => Some(measurement.number),
            Self::Sample(sample) => Some(sample.number),
            Self::Forecast(forecast) => Some(forecast.number),
            _ => None,
        }
    }

    /// When the measurement was taken that it is about; `None` for what is beside the series.
    #[must_use]
    pub fn time(&self) -> Option<Timestamp> {
        match self {
            Self::Measurement(measurement) => Some(measurement.time),
            Self::Sample(sample) => Some(sample.time),
            Self::Forecast(forecast) => Some(forecast.time),
            _ => None,
        }
    }

    /// Appends it as a whole frame.
    ///
    /// # Errors
    /// As [`Payload::encode`].
    pub fn encode(&self, out: &mut BytesMut) -> Result<(), MessageError> {
        match self {
            Self::Description(message) => message.encode(out),
            Self::Measurement(message) => message.encode(out),
            Self::Sample(message) => message.encode(out),
            Self::Forecast(message) => message.encode(out),
            Self::Request(message) => message.encode(out),
            Self::Reply(message) => message.encode(out),
            Self::Greeting(message) => message.encode(out),
            Self::Results(message) => message.encode(out),
        }
    }
}

/// Appends what serde makes of it.
fn write_json<T: Payload + serde::Serialize>(value: &T, out: &mut BytesMut) -> Result<(), MessageError> {
    serde_json::to_writer(out.writer(), value).map_err(not_json::<T>)
}

fn read_json<T: Payload + serde::de::DeserializeOwned>(payload: &[u8]) -> Result<T, MessageError> {
    serde_json::from_slice(payload).map_err(not_json::<T>)
}

fn not_json<T: Payload>(error: serde_json::Error) -> MessageError {
    MessageError::Json { what: T::KIND.as_str(), reason: cut(error.to_string()) }
}

/// The most bytes of a text that are sent back to its sender, or stored.
const ECHO_BYTES_MAX: usize = 1024;

/// The text, or its first kilobyte and an ellipsis.
pub(crate) fn cut(mut text: String) -> String {
    if text.len() > ECHO_BYTES_MAX {
        text.truncate(text.floor_char_boundary(ECHO_BYTES_MAX));
        text.push('…');
    }
    text
}

#[cfg(test)]
#[path = "message/tests.rs"]
mod tests;
