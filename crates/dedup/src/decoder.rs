//! The receiver's half: matches from its history, new bytes unpacked, and nothing handed on unless the hash over all of
//! it holds.

use std::ops::Range;

use crate::encoder::{Settings, hash, note};
use crate::flow::{Flow, Role};
use crate::group::{Framed, GroupError, Hash, Parts, Slots};
use crate::history::{History, Place, RunId};
use crate::literals::Unpacker;
use crate::matching::Match;

/// One direction of a connection, at the receiver.
pub struct Decoder {
    settings: Settings,
    slots: Slots,
    unpacker: Unpacker,
    /// Number of bytes of the last group.
    n_last: usize,
}

/// A group as far as the receiver has it.
#[derive(Debug)]
#[must_use]
pub enum Decoded {
    /// All of it, exactly as it was sent.
    Whole(Vec<u8>),
    /// Not all: the sender has to be asked.
    Lacking(Lacking),
}

/// A group that waits for bytes. Until it has them, no later group can be decoded.
///
/// Whoever has bytes from elsewhere than from the sender tries them on a clone: should [`Decoder::repair`] not make it
/// whole, they were other ones, and nothing has changed.
#[derive(Clone, Debug)]
pub struct Lacking {
    data: Vec<u8>,
    copies: Vec<Match>,
    hash: Hash,
    ranges: Vec<Range<usize>>,
    /// Whether the hash did not hold though nothing was missing, so that all copies were asked for.
    is_collision: bool,
}

/// A repair that does not make the group whole: the peer breaks the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RepairError {
    /// It is not of the bytes that were asked for.
    #[error("{given} bytes came where {asked} were asked for")]
    Length {
        /// The number of bytes that came.
        given: usize,
        /// The number of bytes that were asked for.
        asked: usize,
    },
    /// The hash does not match, though all of the group was sent again.
    #[error("the group is not what its hash says, though all of it was sent again")]
    Hash,
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Decoder {
    /// One for a sender that writes the run of this name, of which nothing has come yet.
    #[must_use]
    pub fn new(settings: Settings, history: &mut impl History, senders_run: RunId) -> Self {
        Self { settings, slots: Slots(vec![history.run(senders_run)]), unpacker: Unpacker::new(), n_last: 0 }
    }

    /// Reads the next group, which is of `flow`.
    ///
    /// # Errors
    /// When it is no group. Nothing that comes later on this connection can be read then.
    pub fn decode(&mut self, history: &mut impl History, flow: &mut Flow, group: &[u8]) -> Result<Decoded, GroupError> {
        let framed = Framed::read(group, self.n_last, self.settings.n_group_max)?;
        self.n_last = framed.n_bytes;
        let mut data = vec![0; framed.n_bytes];
        let copies = if framed.is_led {
            let source = self.slots.expected(flow.expected);
            vec![Match { at: 0, n_bytes: framed.n_bytes, source }]
        } else {
            let mut room = Vec::new();
            let body = framed.unpacked(&mut self.unpacker, &mut room)?;
            let parts = self.slots.parse(body, framed.n_bytes, flow.expected, |id| history.run(id))?;
            fill_literals(&parts, &mut data);
            parts.copies
        };
        let mut ranges = Vec::new();
        for copy in &copies {
            let n = history.copy_ahead(copy.source, &mut data[copy.at..copy.at + copy.n_bytes]);
            if n < copy.n_bytes {
                ranges.push(copy.at + n..copy.at + copy.n_bytes);
            }
        }
        let lacking = Lacking { data, copies, hash: framed.hash, ranges, is_collision: false };
        Ok(self.check(history, flow, lacking))
    }

    /// Completes a group with the bytes that were asked for, one range after the other.
    ///
    /// # Errors
    /// When they are not those.
    pub fn repair(
        &mut self,
        history: &mut impl History,
        flow: &mut Flow,
        mut lacking: Lacking,
        mut bytes: &[u8],
    ) -> Result<Decoded, RepairError> {
        if bytes.len() != lacking.n_lacking() {
            return Err(RepairError::Length { given: bytes.len(), asked: lacking.n_lacking() });
        }
        let ranges = std::mem::take(&mut lacking.ranges);
        for range in &ranges {
            let (part, rest) = bytes.split_at(range.len());
            lacking.data[range.clone()].copy_from_slice(part);
            bytes = rest;
        }
        let (copies, was_collision) = (lacking.copies.clone(), lacking.is_collision);
        match self.check(history, flow, lacking) {
            Decoded::Lacking(_) if was_collision => Err(RepairError::Hash),
            Decoded::Whole(data) => {
                restore(history, &copies, &ranges, &data);
                Ok(Decoded::Whole(data))
            }
            decoded => Ok(decoded),
        }
    }

    fn check(&mut self, history: &mut impl History, flow: &mut Flow, mut lacking: Lacking) -> Decoded {
        if !lacking.ranges.is_empty() {
            return Decoded::Lacking(lacking);
        }
        if hash(&self.settings.key, &lacking.data) == lacking.hash {
            note(history, self.slots.0[0], flow, &lacking.copies, &lacking.data, Role::Receiver);
            return Decoded::Whole(lacking.data);
        }
        lacking.ranges = lacking.copies.iter().map(|copy| copy.at..copy.at + copy.n_bytes).collect();
        lacking.is_collision = true;
        Decoded::Lacking(lacking)
    }
}

impl Lacking {
    /// Returns the ranges of the group's data to ask for, in order.
    #[must_use]
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// Returns the places of the missing bytes in the history, range by range: whoever else remembers the run may have
    /// them.
    pub fn places(&self) -> impl Iterator<Item = (Place, usize)> {
        self.ranges.iter().filter_map(|range| Some((place(&self.copies, range)?, range.len())))
    }

    /// Whether all was there, but not the right bytes.
    #[must_use]
    pub fn is_collision(&self) -> bool {
        self.is_collision
    }

    fn n_lacking(&self) -> usize {
        self.ranges.iter().map(ExactSizeIterator::len).sum()
    }
}

/// Remembers again what had to be asked for.
fn restore(history: &mut impl History, copies: &[Match], ranges: &[Range<usize>], data: &[u8]) {
    for range in ranges {
        if let Some(place) = place(copies, range) {
            history.restore(place, &data[range.clone()]);
        }
    }
}

/// Returns the place that the bytes of a range of the group were copied from: each range lies within a match.
fn place(copies: &[Match], range: &Range<usize>) -> Option<Place> {
    // They are in the order of the group, one after the other.
    let copy = &copies[..copies.partition_point(|copy| copy.at <= range.start)].last()?;
    (range.start < copy.at + copy.n_bytes).then(|| copy.source.after(range.start - copy.at))
}

/// Puts what is new between the matches.
fn fill_literals(parts: &Parts<'_>, data: &mut [u8]) {
    let (mut at, mut bytes) = (0, parts.literals);
    let copies = parts.copies.iter().map(|copy| (copy.at, copy.at + copy.n_bytes));
    for (end, next) in copies.chain([(data.len(), 0)]) {
        let (part, rest) = bytes.split_at(end - at);
        data[at..end].copy_from_slice(part);
        (bytes, at) = (rest, next);
    }
}
