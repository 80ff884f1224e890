//! The published protocol of two levels (Bongo 2007, section 8.4): a short optimistic id for each segment, a
//! conservative hash for each group, and the segments themselves only where the receiver asks for them.
//!
//! The sender knows nothing of the receiver's memory and keeps a group until it is acknowledged. The receiver asks for
//! what its ids do not lead to, and when a hash does not hold for all that came from its memory. Both are state
//! machines of [`Message`]s; a [`Codec`] is what those are in bytes. The bytes are in
//! `docs/formats/dedup-two-level.md`.

mod codec;
mod exchange;
mod filter;
mod receiver;
mod sender;

pub use codec::{BadMessage, Codec, Message, Wire};
pub use exchange::{Exchange, Exchanged};
pub use filter::Filter;
pub use receiver::{Early, MemorySegments, Neighbour, Receiver, Segments};
pub use sender::Sender;

use sha1::Digest;

use crate::gear::Key;

/// The bytes of a conservative hash.
pub const HASH_BYTES: usize = 20;

/// Settings that both ends agree on before the first message.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The tenant's key, for ids and hashes.
    pub key: Key,
    /// Bytes of an optimistic id, 1 to 8.
    pub id_bytes: usize,
    /// Segments for each conservative hash, at least 1.
    pub n_group: usize,
    /// The number of the first segment; numbers wrap.
    pub first_sequence: u32,
    /// No field is of more bytes. Beyond 2^20 meta-data may not fit its messages.
    pub n_field_max: usize,
    /// The functions that make ids and hashes.
    pub fingerprints: Fingerprints,
}

/// Functions that make ids and hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fingerprints {
    /// BLAKE3 under the tenant's key, of where segments lie, their lengths and their bytes.
    #[default]
    Keyed,
    /// The functions as printed, for comparison only: FNV-1a for ids, and SHA-1 of a group's bytes. Whoever chooses
    /// data can have ids collide, and where segments lie is not checked.
    Published,
}

/// A peer that breaks the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A segment that nobody asked for, or a request for one that is not kept.
    #[error("segment {sequence} was not asked for, or is no longer kept")]
    Sequence {
        /// Its number.
        sequence: u32,
    },
    /// An acknowledgement without a group.
    #[error("a group was acknowledged, where none waits for it")]
    Acknowledged,
    /// A message that cannot come now.
    #[error("`{message}` came where it means nothing")]
    Unexpected {
        /// The message.
        message: &'static str,
    },
    /// A field that is greater than was agreed on, or no rows.
    #[error("a field of {n_bytes} bytes in rows of {width}, where at most {max} are taken")]
    Field {
        /// The announced size of the field.
        n_bytes: u32,
        /// The announced width of its rows.
        width: u32,
        /// The agreed limit.
        max: usize,
    },
    /// A segment outside its field.
    #[error("segment {sequence} is not within its field")]
    Outside {
        /// Its number.
        sequence: u32,
    },
    /// A segment of another length than its meta-data say.
    #[error("segment {sequence} has {given} bytes, where {announced} were announced")]
    Length {
        /// Its number.
        sequence: u32,
        /// The number of bytes that came.
        given: usize,
        /// The announced number of bytes.
        announced: usize,
    },
    /// A hash that does not hold though nothing came from memory.
    #[error("a group is not what its hash says, though all of it was sent")]
    Hash,
}

impl Default for Settings {
    /// Returns the published settings: ids of 40 bits, groups of 20.
    fn default() -> Self {
        let fingerprints = Fingerprints::Keyed;
        Self { key: Key::OPEN, id_bytes: 5, n_group: 20, first_sequence: 0, n_field_max: 1 << 20, fingerprints }
    }
}

impl Settings {
    /// The id of a segment: the first bits of its keyed hash, so that a shorter id is a prefix of a longer one.
    #[must_use]
    pub fn id(&self, segment: &[u8]) -> u64 {
        if self.fingerprints == Fingerprints::Published {
            return fnv(segment, 8 * self.id_bytes as u32);
        }
        let hash = self.key.hasher().update(segment).finalize();
        let bytes = hash.as_bytes().first_chunk::<8>().expect("BLAKE3 gives 32 bytes");
        u64::from_be_bytes(*bytes) >> (64 - 8 * self.id_bytes)
    }
}

/// The hash of a group: over where its segments lie, their lengths and their bytes.
#[expect(clippy::large_enum_variant, reason = "there is one for each end")]
enum GroupHash {
    Keyed(blake3::Hasher),
    Published(sha1::Sha1),
}

impl GroupHash {
    fn new(settings: &Settings) -> Self {
        if settings.fingerprints == Fingerprints::Published {
            return Self::Published(sha1::Sha1::new());
        }
        let mut hasher = settings.key.hasher();
        hasher.update(b"group");
        Self::Keyed(hasher)
    }

    fn add(&mut self, area: crate::segmenter::Area, bytes: &[u8]) {
        match self {
            Self::Keyed(hasher) => {
                for number in [area.x, area.y, area.width, area.height] {
                    hasher.update(&(number as u64).to_le_bytes());
                }
                hasher.update(bytes);
            }
            Self::Published(hasher) => hasher.update(bytes),
        }
    }

    fn finish(self) -> [u8; HASH_BYTES] {
        match self {
            Self::Keyed(hasher) => *hasher.finalize().as_bytes().first_chunk().expect("BLAKE3 gives 32 bytes"),
            Self::Published(hasher) => hasher.finalize().into(),
        }
    }
}

/// FNV-1a of 64 bits, folded to fewer as its authors say (RFC 9923).
fn fnv(bytes: &[u8], bits: u32) -> u64 {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    if bits == 64 { hash } else { ((hash >> bits) ^ hash) & ((1 << bits) - 1) }
}
