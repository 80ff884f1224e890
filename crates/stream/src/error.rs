//! What can go wrong between an endpoint and its peer.

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
        /// What is missing.
        needed: &'static str,
    },
    /// The transport cannot be used in this role by whoever asks.
    #[error("{endpoint} cannot be used here: {needed}")]
    Role {
        /// The endpoint.
        endpoint: String,
        /// What would be.
        needed: &'static str,
    },
    /// No running stream of that name has announced itself.
    #[error("no running stream is found for {endpoint}{}", ignored(*n_ignored))]
    Unknown {
        /// The endpoint.
        endpoint: String,
        /// How many places were announced that are not to be believed.
        n_ignored: usize,
    },
    /// Several components give a stream of that name.
    #[error("{endpoint} is given by several components; name one: {}", names.join(", "))]
    Ambiguous {
        /// The endpoint.
        endpoint: String,
        /// What would each be one.
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
        /// How long it was given.
        limit: Duration,
    },
}

fn ignored(n_ignored: usize) -> String {
    match n_ignored {
        0 => String::new(),
        n => format!("; {n} places were ignored, because others announced them and they are not on other hosts"),
    }
}

/// Why a connection is not trusted by whoever has a token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// What came is not what this side would prove.
    #[error("the proof of the token is wrong: both sides need the same one")]
    Proof,
    /// The listener says something else than that it has the token.
    #[error("the listener does not prove that it has the token: both sides need the same one, or neither")]
    Listener {
        /// What happened instead of an answer, if there was none.
        #[source]
        answer: Option<Box<LoginError>>,
    },
    /// It is not what comes next in a greeting.
    #[error("something other than the next part of a greeting came")]
    Order,
    /// It connected to another endpoint than it thinks.
    #[error("a {wanted:?} came to where a {purpose:?} is let in")]
    Purpose {
        /// What it wants to be.
        wanted: Purpose,
        /// What it could be.
        purpose: Purpose,
    },
    /// It took too long.
    #[error("it did not say who it is within {limit:?}")]
    Late {
        /// How long it was given.
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
    /// What came is no frame.
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
        /// Who was to be asked.
        endpoint: String,
        /// Why.
        source: MessageError,
    },
    /// The connection broke, or what came back made no sense.
    #[error("no answer from {endpoint}")]
    Read {
        /// Who was asked.
        endpoint: String,
        /// Why.
        source: ReadError,
    },
    /// Nothing came back in time.
    #[error("no answer from {endpoint} within {limit:?}")]
    Late {
        /// Who was asked.
        endpoint: String,
        /// How long it was given.
        limit: Duration,
    },
    /// It cannot or will not.
    #[error("{endpoint} refused: {reason}")]
    Refused {
        /// Who was asked.
        endpoint: String,
        /// What it said.
        reason: String,
    },
    /// It answered something else.
    #[error("{endpoint} answered something other than was asked: {answer}")]
    Unexpected {
        /// Who was asked.
        endpoint: String,
        /// What came.
        answer: String,
    },
}
