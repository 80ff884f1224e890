//! Reads a trace file part by part, up to where it ends or is damaged.

use std::io::{self, BufRead, Read};

use super::{FRAME_BYTES, HEAD_BYTES_MAX, Head, KIND_EVENTS, KIND_NOTE, Note, PAYLOAD_BYTES_MAX, VERSION};
use super::{block, checksum};
use crate::Event;

/// The reason why a trace file cannot be read, or read on. Whoever opened it says which it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// Error of the system.
    #[error("cannot read a trace file")]
    Read(#[source] io::Error),
    /// A file that does not begin with a head.
    #[error("it does not begin with the head of a trace file, a line of JSON with `foretop_trace`")]
    Head(#[source] serde_json::Error),
    /// A file of another version.
    #[error("it has version {given} of the format; this program reads version {VERSION}")]
    Version {
        /// Its version.
        given: u32,
    },
    /// A file that ends within a block.
    #[error("it is cut off in the block at byte {at}")]
    Cut {
        /// Position at which the block begins.
        at: u64,
    },
    /// Bytes that no writer wrote.
    #[error("the block at byte {at} is damaged: {fault}")]
    Damaged {
        /// Position at which the block begins.
        at: u64,
        /// Fault of the block.
        fault: &'static str,
    },
    /// A note of a kind that is not known, or not JSON.
    #[error("the note at byte {at} is none of head, ring, clock, communicator, offset, kernel and tree")]
    Note {
        /// Position at which its block begins.
        at: u64,
        /// Fault of the note.
        #[source]
        source: serde_json::Error,
    },
}

/// Reads a trace file.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    head: Head,
    at: u64,
    payload: Vec<u8>,
}

/// A part of a file; parts follow one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Information about the rank.
    Note(Note),
    /// Events of one ring, in the order in which they ended.
    Events {
        /// The ring's number in this file.
        ring: u32,
        /// Number of records that it lost since its part before.
        n_lost: u64,
        /// Events, at most [`N_EVENTS_MAX`](super::N_EVENTS_MAX).
        events: Vec<Event>,
    },
}

impl<R: BufRead> Reader<R> {
    /// Reads the head.
    ///
    /// # Errors
    /// If there is none, or it is of another version.
    pub fn new(mut from: R) -> Result<Self, FileError> {
        let mut line = Vec::new();
        let n_bytes = from.by_ref().take(HEAD_BYTES_MAX).read_until(b'\n', &mut line).map_err(FileError::Read)?;
        let head: Head = serde_json::from_slice(&line).map_err(FileError::Head)?;
        if head.version != VERSION {
            return Err(FileError::Version { given: head.version });
        }
        Ok(Self { from, head, at: n_bytes as u64, payload: Vec::new() })
    }

    /// Returns the head of the file.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the position at which the next part begins: all before it was read.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.at
    }

    /// Returns the next part; `None` at the end.
    ///
    /// # Errors
    /// If the file is cut off or damaged here. There is no way on from there: the next call gives an error too, or
    /// none.
    pub fn part(&mut self) -> Result<Option<Part>, FileError> {
        let at = self.at;
        let mut frame = [0; FRAME_BYTES];
        let n_read = self.fill(FRAME_BYTES)?;
        if n_read == 0 {
            return Ok(None);
        }
        if n_read < FRAME_BYTES {
            return Err(FileError::Cut { at });
        }
        frame.copy_from_slice(&self.payload);
        let [kind, a, b, c, d, sum @ ..] = frame;
        let n_payload = u32::from_le_bytes([a, b, c, d]) as usize;
        let damaged = |fault| FileError::Damaged { at, fault };
        if !matches!(kind, KIND_NOTE | KIND_EVENTS) {
            return Err(damaged("its kind is neither N nor E"));
        }
        if n_payload > PAYLOAD_BYTES_MAX {
            return Err(damaged("it is longer than 1,048,576 bytes"));
        }
        if self.fill(n_payload)? < n_payload {
            return Err(FileError::Cut { at });
        }
        if checksum(&frame[..5], &self.payload) != u32::from_le_bytes(sum) {
            return Err(damaged("its checksum is another"));
        }
        self.at += (FRAME_BYTES + n_payload) as u64;
        if kind == KIND_NOTE {
            let note = serde_json::from_slice(&self.payload).map_err(|source| FileError::Note { at, source })?;
            return Ok(Some(Part::Note(note)));
        }
        let block::Block { ring, n_lost, events } = block::decode(&self.payload).map_err(damaged)?;
        Ok(Some(Part::Events { ring, n_lost, events }))
    }

    /// Reads up to `n_bytes` into the buffer, as they come: a length that is wrong makes no room.
    fn fill(&mut self, n_bytes: usize) -> Result<usize, FileError> {
        self.payload.clear();
        self.from.by_ref().take(n_bytes as u64).read_to_end(&mut self.payload).map_err(FileError::Read)
    }
}
