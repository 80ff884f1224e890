//! CSV in which empty lines are seen and comments are not: the reader of the csv crate passes over empty lines, as RFC
//! 4180 has none, and takes each line that begins with `#` for a comment, also `#N/A` and a header `#time,load`.

use std::io::{self, Read};

/// Bytes read at once.
const CHUNK_LEN: usize = 16 * 1024;

/// Bytes of a comment that are remembered: it may hold the header, and no header is longer.
const COMMENT_LEN_MAX: usize = 64 * 1024;

/// Another reader's text with `""` on each line that was empty, nothing on each line that was a comment, and LF at
/// each line end. Line ends inside quotes are part of a cell.
pub(super) struct Lines<R> {
    inner: R,
    separator: u8,
    place: Place,
    /// Carriage returns outside quotes of which the line ends are not written yet.
    n_returns: usize,
    output: io::Cursor<Vec<u8>>,
    comment: Vec<u8>,
    has_row: bool,
}

impl<R> Lines<R> {
    pub(super) fn new(inner: R, separator: u8) -> Self {
        Self {
            inner,
            separator,
            place: Place::LineStart,
            n_returns: 0,
            output: io::Cursor::default(),
            comment: Vec::new(),
            has_row: false,
        }
    }

    /// Returns the last comment above the first row, without its `#`.
    pub(super) fn first_comment(&self) -> &[u8] {
        &self.comment
    }

    /// Takes a byte. Each of LF, CR and CRLF ends a line, and CRCRLF, which a CRLF becomes if it is translated twice.
    fn take(&mut self, byte: u8, output: &mut Vec<u8>) {
        match byte {
            b'\r' if self.place != Place::Quoted => self.n_returns += 1,
            b'\n' if self.n_returns > 0 => {
                self.n_returns = (self.n_returns - 1).max(1);
                self.end_lines(output);
            }
            byte => {
                self.end_lines(output);
                self.push(byte, output);
            }
        }
    }

    fn end_lines(&mut self, output: &mut Vec<u8>) {
        (0..std::mem::take(&mut self.n_returns)).for_each(|_| self.push(b'\n', output));
    }

    fn push(&mut self, byte: u8, output: &mut Vec<u8>) {
        match (self.place, byte) {
            (Place::LineStart, b'\n') => output.extend_from_slice(b"\"\"\n"),
            (Place::Hash | Place::Comment, b'\n') => output.push(b'\n'),
            (Place::LineStart, b'#') => {
                if !self.has_row {
                    self.comment.clear();
                }
            }
            (Place::Comment, _) => self.remember(byte),
            (Place::Hash, _) if begins_comment(byte) => self.remember(byte),
            (Place::Hash, _) => {
                output.extend_from_slice(&[b'#', byte]);
                self.has_row = true;
            }
            _ => {
                output.push(byte);
                self.has_row = true;
            }
        }
        self.place = self.place.after(byte, self.separator);
    }

    fn remember(&mut self, byte: u8) {
        if !self.has_row && self.comment.len() < COMMENT_LEN_MAX {
            self.comment.push(byte);
        }
    }
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.output.read(buffer)?;
            if n > 0 || buffer.is_empty() {
                return Ok(n);
            }
            let mut chunk = [0; CHUNK_LEN];
            let n_read = self.inner.read(&mut chunk)?;
            let mut output = std::mem::take(&mut self.output).into_inner();
            output.clear();
            chunk[..n_read].iter().for_each(|byte| self.take(*byte, &mut output));
            if n_read == 0 {
                self.end_lines(&mut output);
                if output.is_empty() {
                    return Ok(0);
                }
            }
            self.output = io::Cursor::new(output);
        }
    }
}

/// Whether `#` at the start of a line and this byte after it begin a comment; so does `#` alone.
pub(super) fn begins_comment(second: u8) -> bool {
    matches!(second, b' ' | b'\t' | b'#' | b'!')
}

/// State before the next byte.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    LineStart,
    /// The place after `#` at the start of a line: a comment if a blank, `#`, `!` or the line's end follows.
    Hash,
    CellStart,
    Cell,
    Quoted,
    /// The place after a quote in a quoted cell: it ended the cell, unless another one follows.
    AfterQuote,
    Comment,
}

impl Place {
    fn after(self, byte: u8, separator: u8) -> Self {
        match (self, byte) {
            (Self::Quoted, b'"') => Self::AfterQuote,
            (Self::Quoted, _) | (Self::AfterQuote | Self::LineStart | Self::CellStart, b'"') => Self::Quoted,
            (_, b'\n') => Self::LineStart,
            (Self::LineStart, b'#') => Self::Hash,
            (Self::Comment, _) => Self::Comment,
            (Self::Hash, byte) if begins_comment(byte) => Self::Comment,
            (_, byte) if byte == separator => Self::CellStart,
            _ => Self::Cell,
        }
    }
}
