//! Frames: the envelope of every message, on every transport. Specified byte by byte in `docs/formats/stream.md`.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::message::MessageError;

/// The first bytes of every frame.
const MAGIC: [u8; 2] = *b"FT";

/// The version of the format.
const VERSION: u8 = 1;

/// Bytes before the payload.
pub const HEADER_BYTES: usize = 12;

/// The longest payload, 1 MiB: a forecast of 65,000 steps, or a request with as many samples as a fit can use.
pub const PAYLOAD_BYTES_MAX: usize = 1 << 20;

/// Room that is made at once for bytes that were only announced.
const RESERVED_BYTES_MAX: usize = 64 << 10;

/// The kind of a frame's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The description of the stream.
    Description = 1,
    /// Values of all signals of a sensor at one moment.
    Measurement = 2,
    /// One value.
    Sample = 3,
    /// Means and standard errors of the steps ahead.
    Forecast = 4,
    /// Something is asked.
    Request = 5,
    /// Something is answered.
    Reply = 6,
    /// A message of the login.
    Greeting = 7,
    /// Results from a scope.
    Results = 8,
}

impl Kind {
    /// Returns the name of the kind in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Description => "description",
            Self::Measurement => "measurement",
            Self::Sample => "sample",
            Self::Forecast => "forecast",
            Self::Request => "request",
            Self::Reply => "reply",
            Self::Greeting => "greeting",
            Self::Results => "results",
        }
    }

    fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Description,
            2 => Self::Measurement,
            3 => Self::Sample,
            4 => Self::Forecast,
            5 => Self::Request,
            6 => Self::Reply,
            7 => Self::Greeting,
            8 => Self::Results,
            _ => return None,
        })
    }
}

/// A frame whose checksum was right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The kind of the payload.
    pub kind: Kind,
    whole: Bytes,
}

impl Frame {
    /// Returns the payload.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.whole[HEADER_BYTES..]
    }

    /// Header and payload, as they came: what is passed on unchanged need not be made again.
    #[must_use]
    pub fn as_bytes(&self) -> &Bytes {
        &self.whole
    }
}

/// Bytes that are no frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The first two bytes are others.
    #[error("byte {offset}: a frame must begin with `FT`, not with {given:02x?}")]
    NotAFrame {
        /// Bytes before it.
        offset: u64,
        /// The first two bytes.
        given: [u8; 2],
    },
    /// Another version of the format.
    #[error("byte {offset}: a frame of version {given}; this program reads version {VERSION}")]
    Version {
        /// Bytes before it.
        offset: u64,
        /// Its version.
        given: u8,
    },
    /// Longer than any frame is.
    #[error("byte {offset}: a payload of {given} bytes is announced; {limit} is the limit")]
    TooLong {
        /// Bytes before it.
        offset: u64,
        /// The announced length.
        given: u32,
        /// The longest permitted length.
        limit: usize,
    },
    /// The bytes are not those that were sent.
    #[error("byte {offset}: checksum {computed:08x} where the frame says {given:08x}: it was damaged in transit")]
    Checksum {
        /// Bytes before it.
        offset: u64,
        /// The checksum in the frame.
        given: u32,
        /// The checksum computed from the bytes.
        computed: u32,
    },
    /// The end comes before the frame's.
    #[error("byte {offset}: the data end {n_missing} bytes before the frame does")]
    Truncated {
        /// Bytes before it.
        offset: u64,
        /// The least number of missing bytes.
        n_missing: usize,
    },
}

/// Appends a frame of this kind whose payload `write` appends.
///
/// # Errors
/// That of `write`, or [`MessageError::TooMany`] when the payload is longer than [`PAYLOAD_BYTES_MAX`]. `out` is then
/// as it was.
pub fn encode(
    kind: Kind,
    out: &mut BytesMut,
    write: impl FnOnce(&mut BytesMut) -> Result<(), MessageError>,
) -> Result<(), MessageError> {
    let start = out.len();
    out.put_slice(&MAGIC);
    out.put_u8(VERSION);
    out.put_u8(kind as u8);
    out.put_u64_le(0);
    let written = write(out).and_then(|()| match out.len() - start - HEADER_BYTES {
        length @ ..=PAYLOAD_BYTES_MAX => Ok(u32::try_from(length).expect("the limit fits")),
        given => Err(MessageError::TooMany { what: kind.as_str(), of: "bytes", given, limit: PAYLOAD_BYTES_MAX }),
    });
    let length = written.inspect_err(|_| out.truncate(start))?;
    out[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    let checksum = checksum(&out[start..]);
    out[start + 8..start + HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    Ok(())
}

fn checksum(frame: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&frame[2..8]);
    hasher.update(&frame[HEADER_BYTES..]);
    hasher.finalize()
}

/// Finds the frames in a run of bytes that comes in pieces.
#[derive(Debug)]
pub struct Decoder {
    buffer: BytesMut,
    n_before: u64,
    n_unknown: u64,
    payload_bytes_max: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::with_limit(PAYLOAD_BYTES_MAX)
    }
}

impl Decoder {
    /// One that refuses payloads of more than so many bytes.
    #[must_use]
    pub fn with_limit(payload_bytes_max: usize) -> Self {
        Self { buffer: BytesMut::new(), n_before: 0, n_unknown: 0, payload_bytes_max }
    }

    /// The same without its limit, which was for somebody who has said by now who it is.
    #[must_use]
    pub fn without_limit(self) -> Self {
        Self { payload_bytes_max: PAYLOAD_BYTES_MAX, ..self }
    }

    /// Returns the buffer for incoming bytes.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Returns the position where the next frame begins, in bytes from the first.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.n_before
    }

    /// Resumes after an error where the next frame seems to begin, and returns the number of bytes left out.
    ///
    /// Of a connection it is better made again; a file or a pipe has no other bytes than those that follow.
    pub fn resume(&mut self) -> u64 {
        // The byte that was refused as a beginning is none.
        let n_least = self.buffer.len().min(1);
        let ahead = &self.buffer[n_least..];
        let n_ahead =
            memchr::memmem::find(ahead, &MAGIC).unwrap_or(ahead.len() - usize::from(ahead.ends_with(&MAGIC[..1])));
        let n_left_out = n_least + n_ahead;
        self.buffer.advance(n_left_out);
        self.n_before += n_left_out as u64;
        n_left_out as u64
    }

    /// Returns the number of skipped frames of a kind that is not known here.
    #[must_use]
    pub fn n_unknown(&self) -> u64 {
        self.n_unknown
    }

    /// Whether a whole frame is there, unless it is damaged.
    ///
    /// # Errors
    /// [`FrameError`] when what comes next is no frame.
    pub(crate) fn has_frame(&self) -> Result<bool, FrameError> {
        Ok(self.length()?.is_some_and(|length| self.buffer.len() >= length))
    }

    /// The next whole frame; `None` until more bytes come.
    ///
    /// # Errors
    /// [`FrameError`] when what comes next is no frame. Nothing that follows can be trusted, so the same error comes
    /// again.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        loop {
            let Some(length) = self.length()? else {
                return Ok(None);
            };
            if self.buffer.len() < length {
                self.buffer.reserve((length - self.buffer.len()).min(RESERVED_BYTES_MAX));
                return Ok(None);
            }
            let (given, computed) = (read_u32(&self.buffer[8..]), checksum(&self.buffer[..length]));
            if given != computed {
                return Err(FrameError::Checksum { offset: self.n_before, given, computed });
            }
            self.n_before += length as u64;
            let kind = Kind::from_byte(self.buffer[3]);
            let Some(kind) = kind else {
                self.n_unknown += 1;
                self.buffer.advance(length);
                continue;
            };
            return Ok(Some(Frame { kind, whole: self.buffer.split_to(length).freeze() }));
        }
    }

    /// Whether the end may be here.
    ///
    /// # Errors
    /// [`FrameError::Truncated`] when it is in the middle of a frame.
    pub fn finish(&self) -> Result<(), FrameError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let length = self.length()?.unwrap_or(HEADER_BYTES);
        Err(FrameError::Truncated { offset: self.n_before, n_missing: length - self.buffer.len() })
    }

    /// Returns the length of the whole frame that the buffer begins with; `None` while that is not known.
    fn length(&self) -> Result<Option<usize>, FrameError> {
        let offset = self.n_before;
        match *self.buffer {
            [first, second, ..] if [first, second] != MAGIC => {
                return Err(FrameError::NotAFrame { offset, given: [first, second] });
            }
            [_, _, version, ..] if version != VERSION => return Err(FrameError::Version { offset, given: version }),
            _ => {}
        }
        if self.buffer.len() < HEADER_BYTES {
            return Ok(None);
        }
        let given = read_u32(&self.buffer[4..]);
        match usize::try_from(given) {
            Ok(length) if length <= self.payload_bytes_max => Ok(Some(HEADER_BYTES + length)),
            _ => Err(FrameError::TooLong { offset, given, limit: self.payload_bytes_max }),
        }
    }
}

fn read_u32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests;
