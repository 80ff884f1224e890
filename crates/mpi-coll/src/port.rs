//! Messages between hosts: what they say, and how those for later calls wait for them.

use std::collections::VecDeque;

use units::Rank;

/// A call that could not be carried to its end. What was sent cannot be taken back, so that the job has to end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Trouble {
    /// MPI did not carry a message.
    #[error("cannot send or receive for a tree")]
    Message(#[from] mpi_abi::Failed),
    /// A message that no rank with the same tree sends.
    #[error("rank {rank} got a message of {given} bytes that belongs to no call over its trees")]
    Foreign {
        /// The rank that got the message.
        rank: Rank,
        /// Length of the message.
        given: usize,
    },
    /// An answer is to be compared, and the others do not come to that.
    #[error(
        "other ranks have not come to the call in which an answer is compared with a plain allreduce; the patience is over"
    )]
    Missing,
    /// A process of this host ended while others waited for it.
    #[error("rank {rank} has ended in the middle of a collective operation; its process was {pid}")]
    Ended {
        /// The rank of the process.
        rank: Rank,
        /// The process.
        pid: u32,
    },
}

/// The means by which a rank reaches those on other hosts.
pub(crate) trait Port {
    /// Sends a message. Returns when the buffer may be used again, and may take in messages meanwhile.
    fn send(&mut self, to: Rank, message: &[u8]) -> Result<(), Trouble>;

    /// Appends the next message that has come, if there is one; gives whether there was.
    fn receive(&mut self, into: &mut Vec<u8>) -> Result<bool, Trouble>;

    /// Checks, now and then while a rank waits for long, whether those that it waits for are still there.
    fn check(&mut self) -> Result<(), Trouble>;

    /// Returns a number that all get with what goes from one rank to all; called on that rank in each such call.
    fn notice(&mut self) -> u32;
}

/// Head of a message. Its data follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    /// Number of the tree, in the order in which trees came into force.
    pub(crate) tree: u32,
    /// Number of the call on that tree.
    pub(crate) sequence: u32,
    /// The node that it is for.
    pub(crate) node: u32,
    /// Position of the node's contributor that the message is from, or for.
    pub(crate) position: u32,
    /// The sender; the number of a notice on the way to all.
    pub(crate) word: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A contribution.
    Down,
    /// The result for a contributor.
    Up,
    /// Data that the root of the operation gives to a root of the tree.
    Give,
    /// Data that a root of the tree has for the root of the operation.
    Deliver,
}

const KINDS: [Kind; 4] = [Kind::Down, Kind::Up, Kind::Give, Kind::Deliver];
pub(crate) const HEAD_BYTES: usize = 24;

impl Head {
    pub(crate) fn write(&self, into: &mut Vec<u8>) {
        let words = [self.kind as u32, self.tree, self.sequence, self.node, self.position, self.word];
        into.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    }

    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let words = message.get(..HEAD_BYTES)?.as_chunks::<4>().0;
        let word = |at: usize| u32::from_ne_bytes(words[at]);
        let kind = *KINDS.get(word(0) as usize)?;
        Some(Self { kind, tree: word(1), sequence: word(2), node: word(3), position: word(4), word: word(5) })
    }
}

/// Messages that came before the call that they are for: others may be ahead where not all ranks wait.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    early: VecDeque<(Head, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
}

impl Mailbox {
    /// The next message for this call on this tree.
    pub(crate) fn take(
        &mut self,
        port: &mut impl Port,
        (rank, tree, sequence): (Rank, u32, u32),
    ) -> Result<Option<(Head, Vec<u8>)>, Trouble> {
        let is_for_this = |head: &Head| head.tree == tree && head.sequence == sequence;
        if let Some(at) = self.early.iter().position(|(head, _)| is_for_this(head)) {
            return Ok(self.early.remove(at));
        }
        let mut message = self.buffer();
        while port.receive(&mut message)? {
            let head = Head::read(&message).ok_or(Trouble::Foreign { rank, given: message.len() })?;
            if is_for_this(&head) {
                return Ok(Some((head, message)));
            }
            self.early.push_back((head, message));
            message = self.buffer();
        }
        self.give_back(message);
        Ok(None)
    }

    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    pub(crate) fn give_back(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        self.spare.push(buffer);
    }
}
