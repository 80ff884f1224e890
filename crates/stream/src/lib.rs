//! Frames, messages, endpoints and the mirror: how the parts of a prediction system talk to each other.
//!
//! RPS composed prediction systems at start-up from small programs. Each is a *mirror*: it computes on whatever comes
//! in on any of its inputs, sends the result to all of its outputs, and answers requests as well (Dinda and O'Hallaron
//! 1999, sections 6 and 7). This crate is that library. A [`Handler`] is the computation; a [`Mirror`] gives it
//! inputs, outputs, request servers and timers, each named by an [`Endpoint`] in RPS's notation,
//! `source:tcp:pyramid:5009`. Programs that are not mirrors use a [`Reader`] and a [`Caller`].
//!
//! The bytes are specified in `docs/formats/stream.md`. Bytes from outside are never trusted: frames have a length
//! limit and a checksum. Readers that stop reading lose messages, which counters report, and cannot block a mirror.
#![forbid(unsafe_code)]

mod caller;
mod counters;
mod endpoint;
mod error;
mod frame;
mod login;
mod message;
mod mirror;
mod network;
mod reader;
pub mod registry;
mod security;
mod transport;

/// Functions for a NATS server that are needed beside endpoints.
pub mod nats {
    pub use crate::transport::nats::{BucketError, bucket, connect};
}

pub use caller::Caller;
pub use counters::{Counted, EndpointStatus};
pub use endpoint::{
    Backlog, Encryption, Endpoint, EndpointError, Host, Keep, Multicast, NatsPlace, Overflow, Place, Replay, Role,
    StreamName,
};
pub use error::{CallError, LoginError, OpenError, ReadError};
pub use frame::{Decoder, Frame, FrameError, HEADER_BYTES, Kind, PAYLOAD_BYTES_MAX, encode};
pub use message::{
    Answer, Ask, Carries, Configuration, Description, Forecast, Greeting, Measurement, Message, MessageError, Payload,
    Purpose, Reply, Request, Results, Sample, SignalName, Status,
};
pub use mirror::{Handler, Inlet, InletFull, InputId, Mirror, Outputs, Panicked, Pending, Running, Stopper, reply};
pub use network::NatsServer;
pub use reader::Reader;
pub use security::{ClientTls, Security, SecurityError, ServerTls};
