//! The separator of cells, found from the first lines.

use std::io::{self, Read};

use super::line::begins_comment;

/// Lines that decide: the header, if there is one, and the first row.
const N_LINES: usize = 2;

/// Greatest number of bytes that are searched for the end of these lines.
const HEAD_LEN_MAX: usize = 256 * 1024;

/// Separators other than the comma, the surest first: a tab is in no number, no date and hardly any name.
const OTHERS: [u8; 2] = [b'\t', b';'];

/// Returns the separator and the whole text. A line `sep=;`, as Excel understands it, is a comment in that text.
///
/// A tab or semicolon is the separator if the first two lines have equally many of it, outside quotes.
pub(super) fn find(mut text: impl Read, given: Option<u8>) -> io::Result<(u8, impl Read)> {
    let mut head = Vec::new();
    let mut has_ended = false;
    while !has_ended && head.len() < HEAD_LEN_MAX && lines(complete_lines(&head)).count() < N_LINES {
        let mut chunk = [0; 4_096];
        let n = text.read(&mut chunk)?;
        has_ended = n == 0;
        head.extend_from_slice(&chunk[..n]);
    }
    let stated = lines(&head).next().and_then(|first| match first {
        [b's', b'e', b'p', b'=', separator] => Some(*separator),
        _ => None,
    });
    if stated.is_some() {
        let at = head.windows(4).position(|four| four == b"sep=").unwrap_or_default();
        head[at..at + 2].copy_from_slice(b"# ");
    }
    let found = || OTHERS.into_iter().find(|separator| separates(&head, *separator)).unwrap_or(b',');
    let separator = given.or(stated).unwrap_or_else(found);
    Ok((separator, io::Cursor::new(head).chain(text)))
}

fn complete_lines(head: &[u8]) -> &[u8] {
    let end = head.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
    &head[..end.unwrap_or_default()]
}

fn separates(head: &[u8], separator: u8) -> bool {
    let counts: Vec<usize> = lines(head).take(N_LINES).map(|line| count(line, separator)).collect();
    counts.first().is_some_and(|first| *first > 0 && counts.iter().all(|count| count == first))
}

/// Returns the lines that are neither empty nor comments; the last one may be incomplete.
fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = head.split(|byte| matches!(byte, b'\n' | b'\r'));
    let is_comment = |line: &[u8]| line.starts_with(b"#") && line.get(1).is_none_or(|second| begins_comment(*second));
    lines.filter(move |line| !line.trim_ascii().is_empty() && !is_comment(line))
}

fn count(line: &[u8], separator: u8) -> usize {
    let mut is_quoted = false;
    let count = |byte: &&u8| {
        is_quoted ^= **byte == b'"';
        !is_quoted && **byte == separator
    };
    line.iter().filter(count).count()
}
