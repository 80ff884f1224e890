//! Writes a trace file, or the end of one.

use std::io::{self, Write};

use super::{FRAME_BYTES, HEAD_BYTES_MAX, Head, KIND_EVENTS, KIND_NOTE, N_EVENTS_MAX, Note, PAYLOAD_BYTES_MAX};
use super::{block, checksum};
use crate::Event;

/// Writes a trace file. Each call writes whole blocks, which a reader can read at once; nothing is kept back here.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    buffer: Vec<u8>,
    n_bytes: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If it cannot be written, or the head is longer than a head may be.
    pub fn new(mut out: W, head: &Head) -> io::Result<Self> {
        let mut line = serde_json::to_vec(head)?;
        line.push(b'\n');
        if line.len() as u64 > HEAD_BYTES_MAX {
            return Err(too_long("a head", line.len(), HEAD_BYTES_MAX));
        }
        out.write_all(&line)?;
        Ok(Self { out, buffer: Vec::new(), n_bytes: line.len() as u64 })
    }

    /// Builds a writer that goes on with a file that ends with a whole block.
    pub fn append(out: W) -> Self {
        Self { out, buffer: Vec::new(), n_bytes: 0 }
    }

    /// Writes a note.
    ///
    /// # Errors
    /// If it cannot be written, or is longer than a block may be.
    pub fn note(&mut self, note: &Note) -> io::Result<()> {
        self.frame(KIND_NOTE, |payload| serde_json::to_writer(payload, note).map_err(io::Error::from))
    }

    /// Writes events of a ring, in as many blocks as they need, and the number of records that it lost since the last
    /// time.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn events(&mut self, ring: u32, n_lost: u64, events: &[Event]) -> io::Result<()> {
        let (first, rest) = events.split_at(events.len().min(N_EVENTS_MAX));
        let chunks = std::iter::once((n_lost, first)).chain(rest.chunks(N_EVENTS_MAX).map(|chunk| (0, chunk)));
        for (n_lost, chunk) in chunks {
            self.frame(KIND_EVENTS, |payload| {
                block::encode(ring, n_lost, chunk, payload);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Returns the number of bytes that were written.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Passes on the bytes that `out` may keep back.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Flushes `out` at the end, and returns it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn frame(&mut self, kind: u8, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        self.buffer.clear();
        self.buffer.resize(FRAME_BYTES, 0);
        write(&mut self.buffer)?;
        let n_payload = self.buffer.len() - FRAME_BYTES;
        if n_payload > PAYLOAD_BYTES_MAX {
            return Err(too_long("a block", n_payload, PAYLOAD_BYTES_MAX as u64));
        }
        self.buffer[0] = kind;
        self.buffer[1..5].copy_from_slice(&(n_payload as u32).to_le_bytes());
        let checksum = checksum(&self.buffer[..5], &self.buffer[FRAME_BYTES..]);
        self.buffer[5..FRAME_BYTES].copy_from_slice(&checksum.to_le_bytes());
        self.out.write_all(&self.buffer)?;
        self.n_bytes += self.buffer.len() as u64;
        Ok(())
    }
}

fn too_long(what: &str, given: usize, max: u64) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{what} of {given} bytes is longer than {max}"))
}
