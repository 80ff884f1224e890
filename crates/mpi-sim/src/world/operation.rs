//! Operations that ranks have begun.

use units::{Rank, SimDuration, SimTime};

use crate::message::{Envelope, Handle};

/// Something that a rank began and has not taken.
pub(crate) enum Operation {
    /// A free place, and the next one.
    Free(Option<Handle>),
    /// A send that waits for its receive, and where it goes.
    Sends(Rank),
    /// A send that is complete from this moment on, and where it goes.
    Sent(SimTime, Rank),
    /// A receive without a message.
    Receives,
    /// A receive with its message.
    Received {
        /// Complete from this moment on; never as long as its data are on links.
        at: SimTime,
        envelope: Envelope,
        bytes: Box<[u8]>,
        /// Overhead that the message still costs the receiver's core.
        overhead: Option<SimDuration>,
        /// Whether the sender waited for the receive.
        answers: bool,
    },
    /// A receive that was taken back.
    Cancelled,
}

impl Operation {
    /// Returns the time at which the operation completes; none if the time is not known.
    pub(crate) fn completes(&self) -> Option<SimTime> {
        match self {
            Self::Sent(at, _) | Self::Received { at, .. } => (*at < SimTime::NEVER).then_some(*at),
            Self::Cancelled => Some(SimTime::ZERO),
            Self::Free(_) | Self::Sends(_) | Self::Receives => None,
        }
    }
}
