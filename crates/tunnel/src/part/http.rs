//! HTTP/1.1 (RFC 9112): heads in a lane of their own, bodies in another.
//!
//! It sees one direction alone and so does not know which request an answer is to: after the answer to HEAD, which has
//! a length and no body, it takes heads for bodies until that length has passed. What is no HTTP, an upgrade included,
//! is all body from there on.

use super::{Component, Part};

const BODIES: u8 = 0;
const HEADS: u8 = 1;
/// A longer head, or line of a chunk, is none.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The position of the next byte in a message.
#[derive(Debug, Default)]
pub(crate) struct Http {
    at: At,
    /// The head, or the line with a chunk's length, as far as it has come.
    line: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Head,
    /// The next byte is in a body or chunk of which so many bytes are left.
    Body { n_left: u64, is_chunk: bool },
    /// The next byte is in the line that states the length of the next chunk, or in the line that ends a chunk.
    ChunkLine,
    /// The next byte is after the last chunk.
    Trailer,
    /// The next byte is in a part that only the connection ends.
    Rest,
}

impl Component for Http {
    fn cut(&mut self, said: &[u8]) -> Vec<Part> {
        let (mut parts, mut rest) = (Vec::new(), said);
        while !rest.is_empty() {
            let (n_bytes, lane) = match self.at {
                At::Head => (self.take_until(rest, b"\r\n\r\n", Self::after_head), HEADS),
                At::ChunkLine => (self.take_until(rest, b"\r\n", Self::after_chunk_line), HEADS),
                At::Trailer => (self.take_until(rest, b"\r\n", Self::after_trailer), HEADS),
                At::Body { n_left, is_chunk } => {
                    let n_bytes = usize::try_from(n_left).unwrap_or(usize::MAX).min(rest.len());
                    let n_left = n_left - n_bytes as u64;
                    self.at = match n_left {
                        0 if is_chunk => At::ChunkLine,
                        0 => At::Head,
                        n_left => At::Body { n_left, is_chunk },
                    };
                    (n_bytes, BODIES)
                }
                At::Rest => (rest.len(), BODIES),
            };
            parts.push(Part { n_bytes, lane });
            rest = &rest[n_bytes..];
        }
        parts
    }
}

impl Http {
    /// Gathers bytes until `end`, then goes on as `after` says of them. Gives how many bytes it took.
    fn take_until(&mut self, rest: &[u8], end: &[u8], after: fn(&[u8]) -> At) -> usize {
        let n_before = self.line.len();
        // The end may have begun with what came before.
        let n_again = n_before.min(end.len() - 1);
        self.line.extend_from_slice(&rest[..rest.len().min(LINE_BYTES_MAX)]);
        let found = self.line[n_before - n_again..].windows(end.len()).position(|window| window == end);
        if let Some(found) = found {
            let n_line = n_before - n_again + found + end.len();
            self.at = after(&self.line[..n_line]);
            self.line.clear();
            return n_line - n_before;
        }
        if self.line.len() > LINE_BYTES_MAX {
            self.at = At::Rest;
            self.line = Vec::new();
        }
        rest.len().min(LINE_BYTES_MAX)
    }

    fn after_head(head: &[u8]) -> At {
        let Ok(head) = std::str::from_utf8(head) else { return At::Rest };
        let mut lines = head.split("\r\n").skip_while(|line| line.is_empty());
        let first = lines.next().unwrap_or_default();
        let is_answer = first.starts_with("HTTP/1.");
        if !is_answer && !first.ends_with(" HTTP/1.1") && !first.ends_with(" HTTP/1.0") {
            return At::Rest;
        }
        let status = if is_answer { first.split(' ').nth(1).unwrap_or_default() } else { "" };
        if status == "101" {
            return At::Rest;
        }
        if status.starts_with('1') || matches!(status, "204" | "304") {
            return At::Head;
        }
        let (mut length, mut is_chunked) = (None, false);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.parse::<u64>().ok();
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                is_chunked |= value.to_ascii_lowercase().ends_with("chunked");
            }
        }
        match length {
            _ if is_chunked => At::ChunkLine,
            Some(0) => At::Head,
            Some(n_left) => At::Body { n_left, is_chunk: false },
            None if is_answer => At::Rest,
            None => At::Head,
        }
    }

    fn after_chunk_line(line: &[u8]) -> At {
        let text = std::str::from_utf8(line).unwrap_or("?").trim_end();
        if text.is_empty() {
            // The line that ends a chunk.
            return At::ChunkLine;
        }
        let digits = text.split(';').next().unwrap_or_default().trim();
        match u64::from_str_radix(digits, 16) {
            Ok(0) => At::Trailer,
            Ok(n_left) => At::Body { n_left, is_chunk: true },
            Err(_) => At::Rest,
        }
    }

    fn after_trailer(line: &[u8]) -> At {
        if line == b"\r\n" { At::Head } else { At::Trailer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::checked;

    /// Returns the bytes for the bodies' lane, if the input is cut in pieces of `n_piece` bytes.
    fn bodies(said: &[u8], n_piece: usize) -> Vec<u8> {
        let mut http = Http::default();
        let mut bodies = Vec::new();
        for piece in said.chunks(n_piece) {
            let mut rest = piece;
            for part in checked(http.cut(piece), piece.len()) {
                let (taken, after) = rest.split_at(part.n_bytes);
                if part.lane == BODIES {
                    bodies.extend_from_slice(taken);
                }
                rest = after;
            }
        }
        bodies
    }

    #[track_caller]
    fn check(said: &str, expected: &str) {
        for n_piece in [1, 2, 3, 7, 64, said.len().max(1)] {
            let found = bodies(said.as_bytes(), n_piece);
            assert_eq!(String::from_utf8_lossy(&found), expected, "in pieces of {n_piece}");
        }
    }

    #[test]
    fn requests_and_answers_have_their_bodies_apart() {
        check("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\n\r\n", "");
        check("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\n\r\n", "hello");
        check(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 304 N\r\n\r\n",
            "ok",
        );
        let chunked =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n4;x=y\r\nabcd\r\n3\r\nefg\r\n0\r\nT: v\r\n\r\n";
        check(&format!("{chunked}HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nz"), "abcdefgz");
    }

    #[test]
    fn what_is_no_http_is_all_body_from_there_on() {
        check("HTTP/1.1 200 OK\r\n\r\nuntil the end\r\n\r\n", "until the end\r\n\r\n");
        check("HTTP/1.1 101 S\r\n\r\n\u{1}\u{2}\r\n\r\n", "\u{1}\u{2}\r\n\r\n");
        check("SSH-2.0-x\r\n\r\nrest", "rest");
        check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nrest", "rest");
        let long = "x".repeat(LINE_BYTES_MAX + 100);
        assert!(bodies(long.as_bytes(), 1000).len() < long.len());
        check("POST / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\nabc", "abc");
    }
}
