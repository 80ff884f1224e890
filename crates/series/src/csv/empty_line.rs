//! CSV in which empty lines are seen: the reader of the csv crate passes over them, as RFC 4180 has none.

use std::io::{self, Read};

/// What is read at once.
const CHUNK_LEN: usize = 16 * 1024;

/// Another reader's text, with `""` on each line that was empty. Line ends inside quotes are part of a cell.
pub(super) struct EmptyLines<R> {
    inner: R,
    place: Place,
    /// What the reader of this has not had yet.
    shown: Vec<u8>,
    n_taken: usize,
}

impl<R> EmptyLines<R> {
    pub(super) fn shown(inner: R) -> Self {
        Self { inner, place: Place::LineStart, shown: Vec::with_capacity(CHUNK_LEN), n_taken: 0 }
    }
}

impl<R: Read> Read for EmptyLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.n_taken == self.shown.len() {
            let mut chunk = [0; CHUNK_LEN];
            let n_read = self.inner.read(&mut chunk)?;
            self.shown.clear();
            self.n_taken = 0;
            for &byte in &chunk[..n_read] {
                if self.place == Place::LineStart && matches!(byte, b'\n' | b'\r') {
                    self.shown.extend_from_slice(b"\"\"");
                }
                self.shown.push(byte);
                self.place = self.place.after(byte);
            }
        }
        let n = buffer.len().min(self.shown.len() - self.n_taken);
        buffer[..n].copy_from_slice(&self.shown[self.n_taken..self.n_taken + n]);
        self.n_taken += n;
        Ok(n)
    }
}

/// Where the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    LineStart,
    CellStart,
    Cell,
    Quoted,
    /// After a quote in a quoted cell: it ended the cell, unless another one follows.
    AfterQuote,
    Comment,
}

impl Place {
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Quoted, b'"') => Self::AfterQuote,
            (Self::Quoted, _) | (Self::AfterQuote | Self::LineStart | Self::CellStart, b'"') => Self::Quoted,
            (_, b'\n') => Self::LineStart,
            (Self::Comment, _) | (Self::LineStart, b'#') => Self::Comment,
            (_, b',') => Self::CellStart,
            _ => Self::Cell,
        }
    }
}
