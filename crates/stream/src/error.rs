//! Errors between an endpoint and its peer.

use std::io;
use std::time::Duration;

use crate::frame::FrameError;
use crate::message::{MessageError, Purpose};
use crate::registry::RegistryError;

/// An endpoint that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The system refuses.
    #[error("cannot open {endpoint}")]
    Io {
        /// The endpoint.
        endpoint: String,
        /// Why.
        source: io::Error,
    },
    /// The host has no address.
    #[error("cannot find the host of {endpoint}")]
    NoAddress {
        /// The endpoint.
        endpoint: String,
    },
    /// There is something at the path that is not what the transport needs.
    #[error("cannot open {endpoint}: there is something else at that path")]
    Occupied {
        /// The endpoint.
        endpoint: String,
    },
    /// Others could connect to it, and nothing keeps them out.
    #[error("{endpoint} can be reached from other machines: it needs {needed}")]
    Unprotected {
        /// The endpoint.
        endpoint: String,
        /// The missing protection.
        needed: &'static str,
    },
    /// The transport cannot be used in this role by whoever asks.
    #[error("{endpoint} cannot be used here: {needed}")]
    Role {
        /// The endpoint.
        endpoint: String,
        /// The use that is possible.
        needed: &'static str,
    },
    /// No running stream of that name has announced itself.
    #[error("no running stream is found for {endpoint}{}", ignored(*n_ignored))]
    Unknown {
        /// The endpoint.
        endpoint: String,
        /// The number of announced places that are not to be trusted.
        n_ignored: usize,
    },
    /// Several components give a stream of that name.
    #[error("{endpoint} is given by several components; name one: {}", names.join(", "))]
    Ambiguous {
        /// The endpoint.
        endpoint: String,
        /// The names, each of which would select one stream.
        names: Vec<String>,
    },
    /// One of both ends does not have the token.
    #[error("cannot log in at {endpoint}")]
    Login {
        /// The endpoint.
        endpoint: String,
        /// Why.
        source: LoginError,
    },
    /// It cannot be looked up.
    #[error("cannot look {endpoint} up")]
    Registry {
        /// The endpoint.
        endpoint: String,
        /// Why.
        source: Box<RegistryError>,
    },
    /// It took too long.
    #[error("{endpoint} gave no answer within {limit:?}")]
    Late {
        /// The endpoint.
        endpoint: String,
        /// The time limit.
        limit: Duration,
    },
}

fn ignored(n_ignored: usize) -> String {
    match n_ignored {
        0 => String::new(),
        n => format!("; {n} places were ignored, because others announced them and they are not on other hosts"),
    }
}

/// The reason why the side with a token does not trust a connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The received proof is not the one that this side would give.
    #[error("the proof of the token is wrong: both sides need the same one")]
    Proof,
    /// The listener says something else than that it has the token.
    #[error("the listener does not prove that it has the token: both sides need the same one, or neither")]
    Listener {
        /// The error that came instead of an answer, if there was no answer.
        #[source]
        answer: Option<Box<LoginError>>,
    },
    /// It is not what comes next in a greeting.
    #[error("something other than the next part of a greeting came")]
    Order,
    /// It connected to another endpoint than it thinks.
    #[error("a {wanted:?} came to where a {purpose:?} is let in")]
    Purpose {
        /// The purpose that the visitor asked for.
        wanted: Purpose,
        /// The purpose that the endpoint admits.
        purpose: Purpose,
    },
    /// It took too long.
    #[error("it did not say who it is within {limit:?}")]
    Late {
        /// The time limit.
        limit: Duration,
    },
    /// The connection broke, or what came is no message.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// A stream that ends where it should not, or says what cannot be understood.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The connection broke.
    #[error("the connection broke")]
    Io(#[from] io::Error),
    /// The received bytes are not a frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A frame's payload is not what its kind says.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// Somebody is not let in.
    #[error("{peer} is not let in")]
    Login {
        /// Its address.
        peer: String,
        /// Why.
        source: Box<LoginError>,
    },
}

/// A request that was not answered as it was meant.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// It does not fit into a frame, so nothing was asked.
    #[error("cannot ask {endpoint}")]
    Request {
        /// The endpoint that was to be asked.
        endpoint: String,
        /// Why.
        source: MessageError,
    },
    /// The connection broke, or what came back made no sense.
    #[error("no answer from {endpoint}")]
    Read {
        /// The endpoint that was asked.
        endpoint: String,
        /// Why.
        source: ReadError,
    },
    /// Nothing came back in time.
    #[error("no answer from {endpoint} within {limit:?}")]
    Late {
        /// The endpoint that was asked.
        endpoint: String,
        /// The time limit.
        limit: Duration,
    },
    /// It cannot or will not.
    #[error("{endpoint} refused: {reason}")]
    Refused {
        /// The endpoint that was asked.
        endpoint: String,
        /// The reason that the endpoint gave.
        reason: String,
    },
    /// It answered something else.
    #[error("{endpoint} answered something other than was asked: {answer}")]
    Unexpected {
        /// The endpoint that was asked.
        endpoint: String,
        /// The answer received.
        answer: String,
    },
}
