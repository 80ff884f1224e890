//! Text in UTF-8 from a file in UTF-8 or UTF-16, with or without a byte order mark.
//!
//! UTF-16 without a mark shows itself by a zero byte in its first character: numbers, dates and most headers begin with
//! an ASCII character, and text in UTF-8 has no zero bytes.

use std::io::{self, Read};

/// Bytes read at once.
const CHUNK_LEN: usize = 16 * 1024;

/// Bytes of the longest byte order mark.
const MARK_LEN_MAX: usize = 3;

/// Another reader's text in UTF-8 without a byte order mark. Bytes that are not UTF-8 pass as they are.
pub(super) struct Utf8<R> {
    inner: R,
    encoding: Option<Encoding>,
    /// Bytes read and not decoded: the first ones, or a part of a character.
    raw: Vec<u8>,
    decoded: io::Cursor<Vec<u8>>,
}

#[derive(Clone, Copy)]
enum Encoding {
    Utf8,
    Utf16(fn([u8; 2]) -> u16),
}

impl Encoding {
    /// Returns the encoding of a text that begins with these bytes, and the length of its byte order mark.
    fn of(first: &[u8]) -> (Self, usize) {
        match first {
            [0xef, 0xbb, 0xbf, ..] => (Self::Utf8, 3),
            [0xff, 0xfe, ..] => (Self::Utf16(u16::from_le_bytes), 2),
            [0xfe, 0xff, ..] => (Self::Utf16(u16::from_be_bytes), 2),
            [first, 0, ..] if *first != 0 => (Self::Utf16(u16::from_le_bytes), 0),
            [0, second, ..] if *second != 0 => (Self::Utf16(u16::from_be_bytes), 0),
            _ => (Self::Utf8, 0),
        }
    }
}

impl<R: Read> Utf8<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, encoding: None, raw: Vec::new(), decoded: io::Cursor::default() }
    }

    /// Reads and decodes the next bytes. `false` at the end of the text.
    fn fill(&mut self) -> io::Result<bool> {
        let mut chunk = [0; CHUNK_LEN];
        let n_read = self.inner.read(&mut chunk)?;
        let has_ended = n_read == 0;
        self.raw.extend_from_slice(&chunk[..n_read]);
        if self.encoding.is_none() && (has_ended || self.raw.len() >= MARK_LEN_MAX) {
            let (encoding, mark_len) = Encoding::of(&self.raw);
            self.encoding = Some(encoding);
            self.raw.drain(..mark_len);
        }
        let text = match self.encoding {
            None => Vec::new(),
            Some(Encoding::Utf8) => std::mem::take(&mut self.raw),
            Some(Encoding::Utf16(unit)) => utf_8(&mut self.raw, unit, has_ended)?.into_bytes(),
        };
        let has_more = !has_ended || !text.is_empty();
        self.decoded = io::Cursor::new(text);
        Ok(has_more)
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.decoded.read(buffer)?;
            if n > 0 || buffer.is_empty() || !self.fill()? {
                return Ok(n);
            }
        }
    }
}

/// Decodes whole characters of UTF-16 from the front of `raw`, which keeps a part of the last one.
fn utf_8(raw: &mut Vec<u8>, unit: fn([u8; 2]) -> u16, has_ended: bool) -> io::Result<String> {
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut units: Vec<u16> = raw.chunks_exact(2).map(|two| unit([two[0], two[1]])).collect();
    if !has_ended {
        units.pop_if(|last| (0xd800..0xdc00).contains(last));
    }
    raw.drain(..2 * units.len());
    if has_ended && !raw.is_empty() {
        return Err(invalid("the text is UTF-16 and breaks off within a character".to_owned()));
    }
    let text = char::decode_utf16(units).collect::<Result<_, _>>();
    text.map_err(|error| {
        invalid(format!("the text is UTF-16 with half a character (surrogate {:#x})", error.unpaired_surrogate()))
    })
}
