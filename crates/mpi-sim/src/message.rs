//! Messages between ranks, and the source, context and tag by which a receive names a message.

use units::SimTime;

use crate::machine::MessageCost;

/// A communicator and a kind of its messages: point-to-point or collective. Messages of different contexts never match.
pub type Context = u32;

/// An operation that a rank began and has not taken yet.
pub type Handle = u32;

/// The condition for a send to be complete. Messages up to the eager limit are sent at once; longer ones wait for their
/// receive (rendezvous).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Complete at once if the message is eager, otherwise when its data have left.
    Standard,
    /// Complete not before the receive has begun to match.
    Synchronous,
    /// Complete at once, whatever the length of the message.
    Buffered,
    /// Complete as in standard mode; an error if no receive waits is not looked for.
    Ready,
}

/// The source, context and tag that a receive or a probe asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The sender; any where there is none.
    pub source: Option<u32>,
    /// The communicator.
    pub context: Context,
    /// The tag; any where there is none. Tags below 0 belong to collectives, which always name them.
    pub tag: Option<i32>,
}

/// Properties of a message that are known before it is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The sender.
    pub source: u32,
    /// The communicator.
    pub context: Context,
    /// Its tag.
    pub tag: i32,
    /// Bytes.
    pub n_bytes: u64,
}

/// Position of a message in the order of sending to its receiver.
pub type MessageId = u64;

/// A message that no receive has matched yet.
pub(crate) struct Message {
    pub(crate) id: MessageId,
    pub(crate) envelope: Envelope,
    pub(crate) bytes: Box<[u8]>,
    /// Time at which the message, or the request to send it, reaches the receiver.
    pub(crate) at: SimTime,
    pub(crate) cost: MessageCost,
    /// The sender's operation, where it waits for the match.
    pub(crate) answer_to: Option<Handle>,
    /// Whether its data wait for the receiver's answer.
    pub(crate) has_to_ask: bool,
}

impl Wanted {
    pub(crate) fn fits(&self, envelope: &Envelope) -> bool {
        self.context == envelope.context
            && self.source.is_none_or(|source| source == envelope.source)
            && match self.tag {
                Some(tag) => tag == envelope.tag,
                None => envelope.tag >= 0,
            }
    }

    /// Whether there may be a message that fits both.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let agree = |one: Option<i64>, other: Option<i64>| one.zip(other).is_none_or(|(one, other)| one == other);
        self.context == other.context
            && agree(self.source.map(i64::from), other.source.map(i64::from))
            && agree(self.tag.map(i64::from), other.tag.map(i64::from))
    }
}
