//! Data that collective operations move: bytes, or only their number.

use std::ops::Range;

use crate::message::Envelope;

use super::Combine;

/// Data of one or more members. A replay knows sizes alone, and does the same with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Bytes.
    Bytes(Vec<u8>),
    /// Number of bytes, without the bytes themselves.
    Size(usize),
}

impl Block {
    /// Bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Size(size) => *size,
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes; none where only their number is known.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Size(_) => &[],
        }
    }

    /// Returns the data of a received message.
    pub(super) fn received(envelope: &Envelope, bytes: Box<[u8]>) -> Self {
        let size = envelope.n_bytes as usize;
        if bytes.len() == size { Self::Bytes(bytes.into_vec()) } else { Self::Size(size) }
    }

    /// Returns a block of `size` bytes of the same kind, all zero.
    pub(super) fn like(&self, size: usize) -> Self {
        match self {
            Self::Bytes(_) => Self::Bytes(vec![0; size]),
            Self::Size(_) => Self::Size(size),
        }
    }

    /// A part of it.
    pub(super) fn part(&self, at: Range<usize>) -> Self {
        match self {
            Self::Bytes(bytes) => Self::Bytes(bytes[at].to_vec()),
            Self::Size(_) => Self::Size(at.len()),
        }
    }

    /// Puts another in the place of a part.
    pub(super) fn put(&mut self, at: Range<usize>, other: &Self) {
        if let Self::Bytes(bytes) = self {
            bytes[at].copy_from_slice(other.bytes());
        }
    }

    /// Combines another into a part.
    pub(super) fn combine(&mut self, at: Range<usize>, other: &Self, combine: &Combine<'_>) {
        if let Self::Bytes(bytes) = self {
            (combine.with)(&mut bytes[at], other.bytes());
        }
    }

    /// Combines another into the whole.
    pub(super) fn combine_all(&mut self, other: &Self, combine: &Combine<'_>) {
        self.combine(0..self.len(), other, combine);
    }

    pub(super) fn append(&mut self, other: &Self) {
        match self {
            Self::Bytes(bytes) => bytes.extend_from_slice(other.bytes()),
            Self::Size(size) => *size += other.len(),
        }
    }

    /// Takes what comes from `at` on away, and gives it.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        match self {
            Self::Bytes(bytes) => Self::Bytes(bytes.split_off(at)),
            Self::Size(size) => {
                let rest = *size - at;
                *size = at;
                Self::Size(rest)
            }
        }
    }

    /// Rotates the block so that the bytes from `to` on come first, and those before `to` last.
    pub(super) fn rotate_left(&mut self, to: usize) {
        if let Self::Bytes(bytes) = self {
            bytes.rotate_left(to);
        }
    }

    /// Undoes `rotate_left`.
    pub(super) fn rotate_right(&mut self, to: usize) {
        if let Self::Bytes(bytes) = self {
            bytes.rotate_right(to);
        }
    }
}

impl From<&[u8]> for Block {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl From<Vec<u8>> for Block {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}
