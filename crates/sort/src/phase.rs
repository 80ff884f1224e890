//! Phases of a rank, by the names of sesame-sort.

use serde::{Deserialize, Serialize};

/// Phase of a rank from a stamp to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    /// All ranks are there.
    Start,
    /// Gets memory for its numbers.
    Array,
    /// Opens the input.
    InOpen,
    /// Waits until all have opened it.
    InSync,
    /// Reads its section.
    Read,
    /// Closes the input.
    InClose,
    /// Sorts all its numbers.
    Sort,
    /// Sends its lowest number to the rank below, and waits for what is above that there.
    Ask,
    /// Gives its lowest numbers to the rank below, and takes as many of that one's highest.
    AskSwap,
    /// Waits for the rank above to tell its lowest number, and offers what is above it.
    Answer,
    /// Waits for the lowest numbers of the rank above.
    AnswerReceive,
    /// Waits for rank 0 to say whether that was the last round, by `MPI_Probe`, which polls.
    DoneWait,
    /// Opens the output.
    OutOpen,
    /// Waits until all have opened it.
    OutSync,
    /// Writes its section.
    Write,
    /// Closes the output.
    OutClose,
    /// Is done.
    End,
}

/// The part of the system that a phase drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing that takes time.
    Mark,
    /// Memory.
    Memory,
    /// Files.
    File,
    /// Processors, and memory.
    Compute,
    /// Messages, and waiting for their senders.
    Message,
    /// Waiting for others. Both MPI libraries poll meanwhile, so that the processor is busy without any work being
    /// done.
    Wait,
}

impl Phase {
    /// All of them, in the order in which they come first.
    pub const ALL: [Self; 17] = [
        Self::Start,
        Self::Array,
        Self::InOpen,
        Self::InSync,
        Self::Read,
        Self::InClose,
        Self::Sort,
        Self::Ask,
        Self::AskSwap,
        Self::Answer,
        Self::AnswerReceive,
        Self::DoneWait,
        Self::OutOpen,
        Self::OutSync,
        Self::Write,
        Self::OutClose,
        Self::End,
    ];

    /// Returns the name that sesame-sort has for the phase.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Array => "array",
            Self::InOpen => "inopen",
            Self::InSync => "inpsync",
            Self::Read => "read",
            Self::InClose => "inclose",
            Self::Sort => "sort",
            Self::Ask => "ask",
            Self::AskSwap => "askswap",
            Self::Answer => "answer",
            Self::AnswerReceive => "ansrecv",
            Self::DoneWait => "donewait",
            Self::OutOpen => "outopen",
            Self::OutSync => "outpsync",
            Self::Write => "write",
            Self::OutClose => "outclose",
            Self::End => "end",
        }
    }

    /// Returns the part of the system that the phase drives.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Start | Self::End => Kind::Mark,
            Self::Array => Kind::Memory,
            Self::InOpen | Self::Read | Self::InClose | Self::OutOpen | Self::Write | Self::OutClose => Kind::File,
            Self::Sort => Kind::Compute,
            Self::Ask | Self::AskSwap | Self::Answer | Self::AnswerReceive => Kind::Message,
            Self::InSync | Self::OutSync | Self::DoneWait => Kind::Wait,
        }
    }
}

impl Kind {
    /// Returns the name of the part in a word or two.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mark => "mark",
            Self::Memory => "memory",
            Self::File => "files",
            Self::Compute => "work",
            Self::Message => "messages",
            Self::Wait => "waiting (polls)",
        }
    }
}
