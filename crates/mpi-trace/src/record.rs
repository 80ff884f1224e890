//! Contents of rings and files: 24 bytes for a call, or for a message's way through one stage of a tree.
//!
//! A [`Record`] is as it lies in memory; an [`Event`] is what it means. What does not fit into one record's fields goes
//! into a second one right before it, an *extension*: whoever has the record itself has all of the event or knows that
//! it lost it.

use crate::Operation;

/// Words of 8 bytes in a record.
pub const N_RECORD_WORDS: usize = 3;

/// A record as it lies in memory.
///
/// Word 0: start. Word 1: length (low half), bytes (high half). Word 2, from its low end: peer, tag, communicator (16
/// bits each), operation, flags (8 bits each).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record(pub [u64; N_RECORD_WORDS]);

/// A call, or a stage of one in a tree. Times are in ticks of the ring's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time at which it began.
    pub start: u64,
    /// Time at which it ended; not before it began.
    pub end: u64,
    /// Bytes of one message; 0 if the call has none.
    pub bytes: u64,
    /// Operation that was called.
    pub operation: Operation,
    /// Whether it returned an error.
    pub is_failed: bool,
    /// Its subject: the call or the stage.
    pub subject: Subject,
}

/// The subject of an [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A call by the program.
    Call {
        /// The number that this process gave the communicator: 0 is `MPI_COMM_WORLD`, 1 is `MPI_COMM_SELF`.
        communicator: u32,
        /// Peer, as a rank of that communicator.
        peer: Peer,
        /// Tag of a message; -1 for any.
        tag: Option<i32>,
    },
    /// A part of the call before it, besides or instead of it: the receive of `MPI_Sendrecv`, each message that
    /// `MPI_Start` or `MPI_Startall` began. It has the times of that call, and the operation that does the same alone.
    /// It is no call more.
    Part {
        /// Communicator, as of a call.
        communicator: u32,
        /// Peer, as of a call.
        peer: Peer,
        /// Tag, as of a call.
        tag: Option<i32>,
    },
    /// One collector of a tree: `start` is when a message went down past it, towards the root, `end` when the result
    /// came back up.
    Stage {
        /// Number of the tree's collector, as `mpi-tree` counts them.
        collector: u16,
        /// Number of the call on this tree, from 0; wraps around.
        sequence: u32,
    },
}

/// The peer of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Peer {
    /// No peer in particular, as in a barrier.
    None,
    /// Any sender, as with `MPI_ANY_SOURCE`.
    Any,
    /// `MPI_PROC_NULL`.
    Null,
    /// A rank of the call's communicator; of a collective call with a root, the root.
    Rank(u32),
}

const FLAG_EXTENDED: u8 = 1;
const FLAG_FAILED: u8 = 2;
const FLAG_STAGE: u8 = 4;
const FLAG_EXTENSION: u8 = 8;
const FLAG_PART: u8 = 16;

/// Records that an event needs in memory: the second is the record, the first its extension, if it needs one.
pub type Records = (Option<Record>, Record);

impl Event {
    /// Whether it is no call of its own.
    #[must_use]
    pub fn is_part(&self) -> bool {
        matches!(self.subject, Subject::Part { .. })
    }

    /// Whether this is the record that calls a receive off: it has that receive's times, peer and tag.
    #[must_use]
    pub(crate) fn calls_off(&self) -> bool {
        self.operation == Operation::CANCEL && self.is_part()
    }

    /// Returns its records.
    #[inline]
    #[must_use]
    pub fn to_records(&self) -> Records {
        let span = self.end.saturating_sub(self.start);
        let (peer, tag, communicator, kind) = match self.subject {
            Subject::Call { communicator, peer, tag } => (peer.code(), code_of_tag(tag), communicator, 0),
            Subject::Part { communicator, peer, tag } => (peer.code(), code_of_tag(tag), communicator, FLAG_PART),
            Subject::Stage { collector, sequence } => {
                (u32::from(collector), sequence & 0xffff, sequence >> 16, FLAG_STAGE)
            }
        };
        let is_wide = (span | self.bytes) >> 32 != 0 || (peer | tag | communicator) >> 16 != 0;
        let flags = kind | if self.is_failed { FLAG_FAILED } else { 0 } | if is_wide { FLAG_EXTENDED } else { 0 };
        let record = Record([
            self.start,
            span & 0xffff_ffff | self.bytes << 32,
            low_fields(peer, tag, communicator) | u64::from(self.operation.code()) << 48 | u64::from(flags) << 56,
        ]);
        let extension = is_wide.then(|| {
            Record([
                self.start,
                span >> 32 | self.bytes >> 32 << 32,
                low_fields(peer >> 16, tag >> 16, communicator >> 16)
                    | u64::from(self.operation.code()) << 48
                    | u64::from(FLAG_EXTENSION) << 56,
            ])
        });
        (extension, record)
    }
}

impl Record {
    /// Returns the time at which it began, in ticks.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.0[0]
    }

    /// Whether it is only the first half of an event.
    #[must_use]
    pub fn is_extension(&self) -> bool {
        self.flags() & FLAG_EXTENSION != 0
    }

    fn flags(&self) -> u8 {
        (self.0[2] >> 56) as u8
    }

    /// Returns the event of a record. For an event with an extension, `before` is the record right before it.
    ///
    /// `None` for an extension itself, for a record whose extension was lost, and for an operation that does not exist.
    #[must_use]
    pub fn event(&self, before: Option<&Self>) -> Option<Event> {
        if self.is_extension() {
            return None;
        }
        let high = if self.flags() & FLAG_EXTENDED == 0 {
            [0; N_RECORD_WORDS]
        } else {
            before.filter(|record| record.is_extension() && record.start() == self.start())?.0
        };
        let field = |at: u32| ((self.0[2] >> at) as u32 & 0xffff) | ((high[2] >> at) as u32 & 0xffff) << 16;
        let (peer, tag, communicator) = (field(0), field(16), field(32));
        let span = self.0[1] & 0xffff_ffff | high[1] << 32;
        let subject = if self.flags() & FLAG_STAGE != 0 {
            Subject::Stage { collector: peer as u16, sequence: tag & 0xffff | communicator << 16 }
        } else if self.flags() & FLAG_PART != 0 {
            Subject::Part { communicator, peer: Peer::of_code(peer), tag: tag_of_code(tag) }
        } else {
            Subject::Call { communicator, peer: Peer::of_code(peer), tag: tag_of_code(tag) }
        };
        Some(Event {
            start: self.start(),
            end: self.start().checked_add(span)?,
            bytes: self.0[1] >> 32 | high[1] >> 32 << 32,
            operation: Operation::of_code((self.0[2] >> 48) as u8)?,
            is_failed: self.flags() & FLAG_FAILED != 0,
            subject,
        })
    }
}

#[inline]
fn low_fields(peer: u32, tag: u32, communicator: u32) -> u64 {
    u64::from(peer & 0xffff) | u64::from(tag & 0xffff) << 16 | u64::from(communicator & 0xffff) << 32
}

impl Peer {
    #[inline]
    pub(crate) fn code(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Any => 1,
            Self::Null => 2,
            Self::Rank(rank) => rank.saturating_add(3),
        }
    }

    pub(crate) fn of_code(code: u32) -> Self {
        match code {
            0 => Self::None,
            1 => Self::Any,
            2 => Self::Null,
            _ => Self::Rank(code - 3),
        }
    }
}

// 0 is no tag, 1 is any (-1), 2 is tag 0 and so on: small tags fit into the record itself.
#[inline]
pub(crate) fn code_of_tag(tag: Option<i32>) -> u32 {
    tag.map_or(0, |tag| (tag as u32).wrapping_add(2))
}

pub(crate) fn tag_of_code(code: u32) -> Option<i32> {
    (code != 0).then(|| code.wrapping_sub(2) as i32)
}
