//! Messages in bytes: those of table 18, each by itself, or packed: a group under one head, what is said of segments as
//! differences.

use super::{HASH_BYTES, Settings};
use crate::literals::{Packer, Packing, Unpacker};
use crate::varint;

/// A message from one end to the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A field begins.
    Open {
        /// Its bytes.
        n_bytes: u32,
        /// The bytes of a row.
        width: u32,
        /// Number of its segments.
        n_segments: u32,
    },
    /// The optimistic id of the next segment, and where that lies.
    Id {
        /// The id.
        id: u64,
        /// Where, as a segmenter's areas are written; at most 12 bytes.
        meta: Vec<u8>,
    },
    /// The conservative hash of all ids since the last one.
    Hash([u8; HASH_BYTES]),
    /// A segment is asked for.
    Request {
        /// Its number.
        sequence: u32,
    },
    /// A segment.
    Segment {
        /// Its number.
        sequence: u32,
        /// Its bytes, at most 65,535.
        bytes: Vec<u8>,
    },
    /// Bytes of the field that no segment covers, at most 65,535.
    Literal(Vec<u8>),
    /// The oldest group arrived.
    Ack,
    /// A receiver asks somebody nearer than the sender for a segment.
    Fetch {
        /// Its id.
        id: u64,
    },
    /// The answer: that segment, as far as ids tell.
    Fetched {
        /// Its id.
        id: u64,
        /// Its bytes, at most 65,535.
        bytes: Vec<u8>,
    },
    /// The other answer.
    Unknown {
        /// The id that leads to nothing there.
        id: u64,
    },
}

/// Encoding of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// The encoding of table 18: a type before each id, a number and a size before each segment, nothing packed.
    Paper,
    /// A head for each group, numbers of segments as differences, segments packed.
    Packed(Packing),
}

/// Bytes that are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct BadMessage {
    reason: &'static str,
}

/// One direction of a connection in bytes.
pub struct Codec {
    wire: Wire,
    id_bytes: usize,
    packer: Packer,
    unpacker: Unpacker,
    /// The number that the last message with one had.
    last: u32,
}

mod tag {
    pub const OPEN: u8 = 0x01;
    pub const REQUEST: u8 = 0x02;
    pub const SEGMENT: u8 = 0x03;
    pub const HASH: u8 = 0x04;
    pub const ACK: u8 = 0x05;
    pub const LITERAL: u8 = 0x06;
    pub const GROUP: u8 = 0x07;
    pub const PACKED_SEGMENT: u8 = 0x08;
    pub const PACKED_LITERAL: u8 = 0x09;
    pub const FETCH: u8 = 0x0a;
    pub const FETCHED: u8 = 0x0b;
    pub const PACKED_FETCHED: u8 = 0x0c;
    pub const UNKNOWN: u8 = 0x0d;
    /// The tag of an id, with the length of the meta-data in its lower half.
    pub const ID: u8 = 0x10;
}

const CUT_OFF: BadMessage = BadMessage { reason: "a message is cut off" };
const TOO_LONG: BadMessage = BadMessage { reason: "a message says that it is longer than it may be" };
/// The most meta-data that an id has.
const N_META_MAX: usize = 12;
/// The most bytes of a segment.
pub(super) const N_SEGMENT_MAX: usize = u16::MAX as usize;
/// The most segments of a group.
pub(super) const N_GROUP_MAX: usize = 4096;

impl std::fmt::Debug for Codec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Codec").field("wire", &self.wire).finish_non_exhaustive()
    }
}

impl Codec {
    /// One end of a direction.
    #[must_use]
    pub fn new(wire: Wire, settings: &Settings) -> Self {
        let packing = if let Wire::Packed(packing) = wire { packing } else { Packing::Plain };
        Self {
            wire,
            id_bytes: settings.id_bytes,
            packer: Packer::new(packing),
            unpacker: Unpacker::new(),
            last: settings.first_sequence,
        }
    }

    /// Appends messages in bytes. On the packed wire ids wait for nothing: they have to come with their hash.
    ///
    /// # Panics
    /// When ids are not followed by a hash on the packed wire, or a part is longer than a message may be.
    pub fn put(&mut self, messages: &[Message], out: &mut Vec<u8>) {
        let mut at = 0;
        while at < messages.len() {
            let n_ids = messages[at..].iter().take_while(|message| matches!(message, Message::Id { .. })).count();
            if n_ids > 0 && self.wire != Wire::Paper {
                let Some(Message::Hash(hash)) = messages.get(at + n_ids) else {
                    panic!("a group has a hash behind its ids");
                };
                self.put_group(&messages[at..at + n_ids], hash, out);
                at += n_ids + 1;
            } else {
                self.put_one(&messages[at], out);
                at += 1;
            }
        }
    }

    fn put_one(&mut self, message: &Message, out: &mut Vec<u8>) {
        match message {
            Message::Open { n_bytes, width, n_segments } => {
                out.push(tag::OPEN);
                for number in [n_bytes, width, n_segments] {
                    out.extend(number.to_le_bytes());
                }
            }
            Message::Id { id, meta } => {
                assert!(meta.len() <= N_META_MAX, "{} bytes of meta-data do not fit", meta.len());
                self.put_id(tag::ID | meta.len() as u8, *id, out);
                out.extend_from_slice(meta);
            }
            Message::Hash(hash) => {
                out.push(tag::HASH);
                out.extend_from_slice(hash);
            }
            Message::Request { sequence } => {
                out.push(tag::REQUEST);
                self.put_sequence(*sequence, out);
            }
            Message::Segment { sequence, bytes } => {
                let at = out.len();
                out.push(tag::SEGMENT);
                self.put_sequence(*sequence, out);
                if self.put_bytes(bytes, out) {
                    out[at] = tag::PACKED_SEGMENT;
                }
            }
            Message::Literal(bytes) => {
                let at = out.len();
                out.push(tag::LITERAL);
                if self.put_bytes(bytes, out) {
                    out[at] = tag::PACKED_LITERAL;
                }
            }
            Message::Ack => out.push(tag::ACK),
            Message::Fetch { id } => self.put_id(tag::FETCH, *id, out),
            Message::Unknown { id } => self.put_id(tag::UNKNOWN, *id, out),
            Message::Fetched { id, bytes } => {
                let at = out.len();
                self.put_id(tag::FETCHED, *id, out);
                if self.put_bytes(bytes, out) {
                    out[at] = tag::PACKED_FETCHED;
                }
            }
        }
    }

    fn put_id(&self, tag: u8, id: u64, out: &mut Vec<u8>) {
        out.push(tag);
        out.extend_from_slice(&id.to_le_bytes()[..self.id_bytes]);
    }

    fn put_sequence(&mut self, sequence: u32, out: &mut Vec<u8>) {
        if self.wire == Wire::Paper {
            out.extend(sequence.to_le_bytes());
        } else {
            varint::put(out, varint::zigzag(i64::from(sequence.wrapping_sub(self.last).cast_signed())));
        }
        self.last = sequence;
    }

    /// Appends a length and bytes, and says whether they are packed: with the length that they have unpacked before
    /// that.
    fn put_bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        let n_bytes = u16::try_from(bytes.len()).expect("segments are cut to fit");
        let mut packed = Vec::new();
        let is_packed = self.wire != Wire::Paper && self.packer.pack(bytes, &mut packed);
        if self.wire == Wire::Paper {
            out.extend(n_bytes.to_le_bytes());
        } else {
            varint::put(out, u64::from(n_bytes));
        }
        if is_packed {
            varint::put(out, packed.len() as u64);
        }
        out.extend_from_slice(if is_packed { &packed } else { bytes });
        is_packed
    }

    fn put_group(&mut self, ids: &[Message], hash: &[u8; HASH_BYTES], out: &mut Vec<u8>) {
        let parts = ids.iter().filter_map(|message| match message {
            Message::Id { id, meta } => Some((id, meta)),
            _ => None,
        });
        let has_meta = parts.clone().any(|(_, meta)| !meta.is_empty());
        out.push(tag::GROUP);
        varint::put(out, (ids.len() as u64) << 1 | u64::from(has_meta));
        if has_meta {
            let lengths: Vec<u8> = parts.clone().map(|(_, meta)| meta.len() as u8).collect();
            assert!(lengths.iter().all(|&n| usize::from(n) <= N_META_MAX), "meta-data do not fit");
            out.extend(lengths.chunks(2).map(|pair| pair[0] | pair.get(1).copied().unwrap_or(0) << 4));
            parts.clone().for_each(|(_, meta)| out.extend_from_slice(meta));
        }
        parts.for_each(|(id, _)| out.extend_from_slice(&id.to_le_bytes()[..self.id_bytes]));
        out.extend_from_slice(hash);
    }

    /// Takes the messages that are there in full off the front of `bytes`.
    ///
    /// # Errors
    /// When they are none. What comes later on this connection cannot be read then.
    pub fn take(&mut self, bytes: &mut &[u8]) -> Result<Vec<Message>, BadMessage> {
        let mut messages = Vec::new();
        while !bytes.is_empty() {
            let mut rest = *bytes;
            match self.take_one(&mut rest, &mut messages) {
                Err(CUT_OFF) => break,
                taken => taken?,
            }
            *bytes = rest;
        }
        Ok(messages)
    }

    fn take_one(&mut self, bytes: &mut &[u8], messages: &mut Vec<Message>) -> Result<(), BadMessage> {
        let tag = part(bytes, 1)?[0];
        let message = match tag {
            tag::OPEN => {
                let [n_bytes, width, n_segments] = [word(bytes)?, word(bytes)?, word(bytes)?];
                Message::Open { n_bytes, width, n_segments }
            }
            tag::REQUEST => Message::Request { sequence: self.take_sequence(bytes)? },
            tag::SEGMENT | tag::PACKED_SEGMENT => {
                // The number counts as read only with all of the message.
                let last = self.last;
                let sequence = self.take_sequence(bytes)?;
                let taken = self.take_bytes(bytes, tag == tag::PACKED_SEGMENT);
                if taken.is_err() {
                    self.last = last;
                }
                Message::Segment { sequence, bytes: taken? }
            }
            tag::HASH => Message::Hash(*part(bytes, HASH_BYTES)?.first_chunk().expect("so many were taken")),
            tag::ACK => Message::Ack,
            tag::FETCH => Message::Fetch { id: self.take_id(bytes)? },
            tag::UNKNOWN => Message::Unknown { id: self.take_id(bytes)? },
            tag::FETCHED | tag::PACKED_FETCHED => {
                let id = self.take_id(bytes)?;
                Message::Fetched { id, bytes: self.take_bytes(bytes, tag == tag::PACKED_FETCHED)? }
            }
            tag::LITERAL | tag::PACKED_LITERAL => Message::Literal(self.take_bytes(bytes, tag == tag::PACKED_LITERAL)?),
            tag::GROUP if self.wire != Wire::Paper => return self.take_group(bytes, messages),
            id if (tag::ID..=tag::ID | N_META_MAX as u8).contains(&id) => {
                let id = self.take_id(bytes)?;
                Message::Id { id, meta: part(bytes, usize::from(tag & 0xf))?.to_vec() }
            }
            _ => return Err(BadMessage { reason: "a message begins with a byte that means nothing" }),
        };
        messages.push(message);
        Ok(())
    }

    fn take_sequence(&mut self, bytes: &mut &[u8]) -> Result<u32, BadMessage> {
        self.last = if self.wire == Wire::Paper {
            word(bytes)?
        } else {
            let delta = varint::unzigzag(number(bytes, u64::from(u32::MAX))?);
            self.last.wrapping_add(delta as u32)
        };
        Ok(self.last)
    }

    fn take_id(&self, bytes: &mut &[u8]) -> Result<u64, BadMessage> {
        let mut id = [0; 8];
        id[..self.id_bytes].copy_from_slice(part(bytes, self.id_bytes)?);
        Ok(u64::from_le_bytes(id))
    }

    fn take_bytes(&mut self, bytes: &mut &[u8], is_packed: bool) -> Result<Vec<u8>, BadMessage> {
        let n_bytes = if self.wire == Wire::Paper {
            usize::from(u16::from_le_bytes(*part(bytes, 2)?.first_chunk().expect("two were taken")))
        } else {
            number(bytes, N_SEGMENT_MAX as u64)? as usize
        };
        if !is_packed {
            return Ok(part(bytes, n_bytes)?.to_vec());
        }
        let n_packed = number(bytes, 2 * N_SEGMENT_MAX as u64)? as usize;
        let packed = part(bytes, n_packed)?;
        self.unpacker.unpack(packed, n_bytes).map_err(|_| BadMessage { reason: "packed bytes are damaged" })
    }

    fn take_group(&self, bytes: &mut &[u8], messages: &mut Vec<Message>) -> Result<(), BadMessage> {
        let head = number(bytes, (N_GROUP_MAX as u64) << 1 | 1)?;
        let (n_ids, has_meta) = ((head >> 1) as usize, head & 1 == 1);
        let mut metas = vec![Vec::new(); n_ids];
        if has_meta {
            let lengths = part(bytes, n_ids.div_ceil(2))?;
            for (i, meta) in metas.iter_mut().enumerate() {
                let n = usize::from(lengths[i / 2] >> (4 * (i % 2)) & 0xf);
                if n > N_META_MAX {
                    return Err(TOO_LONG);
                }
                *meta = part(bytes, n)?.to_vec();
            }
        }
        let ids: Result<Vec<u64>, _> = (0..n_ids).map(|_| self.take_id(bytes)).collect();
        let hash = *part(bytes, HASH_BYTES)?.first_chunk().expect("so many were taken");
        messages.extend(ids?.into_iter().zip(metas).map(|(id, meta)| Message::Id { id, meta }));
        messages.push(Message::Hash(hash));
        Ok(())
    }
}

fn part<'a>(bytes: &mut &'a [u8], n: usize) -> Result<&'a [u8], BadMessage> {
    let (part, rest) = bytes.split_at_checked(n).ok_or(CUT_OFF)?;
    *bytes = rest;
    Ok(part)
}

fn word(bytes: &mut &[u8]) -> Result<u32, BadMessage> {
    Ok(u32::from_le_bytes(*part(bytes, 4)?.first_chunk().expect("four were taken")))
}

fn number(bytes: &mut &[u8], max: u64) -> Result<u64, BadMessage> {
    let is_whole = bytes.iter().take(10).any(|byte| byte & 0x80 == 0);
    let number = varint::take(bytes).map_err(|_| if is_whole || bytes.len() >= 10 { TOO_LONG } else { CUT_OFF })?;
    if number <= max { Ok(number) } else { Err(TOO_LONG) }
}
