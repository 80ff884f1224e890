//! Both ends in one place: what an exchange puts on the wire, in bytes, and what arrives.

use super::{Codec, MemorySegments, Message, ProtocolError, Receiver, Sender, Settings, Wire};
use crate::segmenter::{Field, Segmenter};

/// A sender and a receiver in memory, with all bytes between them written and read.
#[derive(Debug)]
pub struct Exchange {
    sender: Sender,
    receiver: Receiver<MemorySegments>,
    there: [Codec; 2],
    back: [Codec; 2],
    tally: Exchanged,
}

/// Counts of what was given and what was on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchanged {
    /// Bytes of data.
    pub n_given: u64,
    /// Bytes to the receiver.
    pub n_there: u64,
    /// Bytes to the sender.
    pub n_back: u64,
    /// Segments that were asked for.
    pub n_requests: u64,
}

impl Exchange {
    /// One in which the receiver remembers `n_memory` bytes, in segments of some `n_segment`.
    #[must_use]
    pub fn new(settings: Settings, wire: Wire, (n_memory, n_segment): (usize, usize)) -> Self {
        let codecs = || [Codec::new(wire, &settings), Codec::new(wire, &settings)];
        let receiver = Receiver::new(settings, MemorySegments::new(n_memory, n_segment));
        Self { sender: Sender::new(settings), receiver, there: codecs(), back: codecs(), tally: Exchanged::default() }
    }

    /// Sends a field, waits for what is asked for and acknowledged, and gives what arrived.
    ///
    /// # Errors
    /// None, as both ends keep to the protocol.
    ///
    /// # Panics
    /// When the field is greater than was agreed on.
    pub fn send(&mut self, field: &Field<'_>, segmenter: &mut dyn Segmenter) -> Result<Vec<u8>, ProtocolError> {
        self.tally.n_given += field.bytes().len() as u64;
        let (mut messages, mut arrived) = (self.sender.send(field, segmenter), Vec::new());
        while !messages.is_empty() {
            let mut answers = Vec::new();
            for message in carry(&mut self.there, &messages, &mut self.tally.n_there) {
                arrived.extend(self.receiver.receive(message, &mut answers)?);
            }
            self.tally.n_requests +=
                answers.iter().filter(|answer| matches!(answer, Message::Request { .. })).count() as u64;
            messages.clear();
            for answer in carry(&mut self.back, &answers, &mut self.tally.n_back) {
                messages.extend(self.sender.answer(&answer)?);
            }
        }
        Ok(arrived.concat())
    }

    /// All that was on the wire until here.
    #[must_use]
    pub fn tally(&self) -> Exchanged {
        self.tally
    }
}

fn carry([near, far]: &mut [Codec; 2], messages: &[Message], n_wire: &mut u64) -> Vec<Message> {
    let mut bytes = Vec::new();
    near.put(messages, &mut bytes);
    *n_wire += bytes.len() as u64;
    far.take(&mut &bytes[..]).expect("what one codec wrote the other one reads")
}
