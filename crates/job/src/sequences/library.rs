//! Parts of a BLAST library, as alias files: a range of its sequences, with the statistics of all of them.
//!
//! Nothing is copied: each part names the library beside it. Source: the index of a BLAST database as
//! `blast/impl/seqdbfile.hpp` of the NCBI C++ toolkit reads it, and the keys of alias files as `seqdbalias.cpp` does.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::num::NonZero;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::SearchError;
use crate::input::Input;

/// The name of all parts' alias files, before their number.
pub const PART: &str = "foretop-part-";

/// A library in parts.
pub struct Parts {
    /// The library and the alias files.
    pub input: Input,
    /// Share of all residues in each part.
    pub shares: Vec<f64>,
}

/// Cuts a library into so many parts of about the same number of residues, or fewer where it has fewer sequences.
pub fn cut(library: &Input, n_parts: NonZero<usize>, folder: &Path) -> Result<Parts, SearchError> {
    let paths: Vec<PathBuf> = library.files().map(|(_, path)| path.to_owned()).collect();
    let one_volume = || SearchError::Parts {
        what: "the library".to_owned(),
        why: "only a protein library of one volume can be, which has one file NAME.pin and none NAME.pal",
    };
    if paths.iter().any(|path| path.extension().is_some_and(|extension| extension == "pal")) {
        return Err(one_volume());
    }
    let path = paths.iter().find(|path| path.extension().is_some_and(|it| it == "pin")).ok_or_else(one_volume)?;
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        |source: io::Error| SearchError::Unreadable { path, source }
    };
    let bytes = fs::read(path).map_err(unreadable(path))?;
    let lengths = lengths(&bytes).ok_or_else(|| SearchError::Parts {
        what: format!("`{}`", path.display()),
        why: "it is no index of a protein library of version 4 or 5",
    })?;
    let headers = path.with_extension("phr");
    let titles = fs::read(&headers).map_err(unreadable(&headers))?;
    if let Some(name) = name_of_two(&titles) {
        return Err(SearchError::Parts {
            what: format!("`{name}`"),
            why: "two sequences of the library have this name, and hits are told apart by it",
        });
    }
    let ranges = ranges(&lengths, n_parts.get());
    let total: u64 = lengths.iter().sum();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    fs::create_dir_all(folder).map_err(unreadable(folder))?;
    let mut files = paths.clone();
    for (nth, range) in ranges.iter().enumerate() {
        let text = format!(
            "TITLE part {nth}\nDBLIST {stem}\nFIRST_OID {}\nLAST_OID {}\nSTATS_TOTLEN {total}\nSTATS_NSEQ {}\n",
            range.start + 1,
            range.end,
            lengths.len(),
        );
        let alias = folder.join(format!("{PART}{nth}.pal"));
        fs::write(&alias, text).map_err(unreadable(&alias))?;
        files.push(alias);
    }
    let share = |range: &Range<usize>| lengths[range.clone()].iter().sum::<u64>() as f64 / total as f64;
    let shares = ranges.iter().map(share).collect();
    Ok(Parts { input: Input::new(files).map_err(unreadable(folder))?, shares })
}

/// Returns the number of residues of each sequence; `None` if these are not the bytes of an index.
fn lengths(bytes: &[u8]) -> Option<Vec<u64>> {
    let mut at = 0;
    let number = |at: &mut usize| {
        let bytes = bytes.get(*at..*at + 4)?;
        *at += 4;
        Some(u32::from_be_bytes(bytes.try_into().ok()?) as usize)
    };
    let (version, is_protein) = (number(&mut at)?, number(&mut at)?);
    if !matches!(version, 4 | 5) || is_protein != 1 {
        return None;
    }
    if version == 5 {
        let _volume = number(&mut at)?;
    }
    // The title; in version 5 the name of another file; the date.
    for _ in 0..version - 2 {
        let n_bytes = number(&mut at)?;
        at = at.checked_add(n_bytes)?;
    }
    let n_sequences = number(&mut at)?;
    // The number of all residues and the length of the longest, then where headers begin.
    at = at.checked_add(8 + 4 + 4 * (n_sequences + 1))?;
    let ends: Vec<usize> = (0..=n_sequences).map_while(|_| number(&mut at)).collect();
    // A byte of zero stands between two sequences.
    let lengths = ends.windows(2).map(|pair| pair[1].checked_sub(pair[0] + 1).map(|length| length as u64));
    lengths.collect::<Option<Vec<_>>>().filter(|lengths| lengths.len() == n_sequences && n_sequences > 0)
}

/// Returns the first word of a title that another title has, too. Where makeblastdb was told to parse names it has seen
/// to that itself.
fn name_of_two(headers: &[u8]) -> Option<String> {
    if !headers.windows(GENERATED.len()).any(|bytes| bytes == GENERATED) {
        return None;
    }
    let mut seen = HashSet::new();
    let begins = headers.windows(BEFORE_TITLE.len()).enumerate().filter(|(_, bytes)| *bytes == BEFORE_TITLE);
    let names = begins.filter_map(|(at, _)| {
        let title = &headers[at + BEFORE_TITLE.len()..];
        // A length of more than seven bits says in how many bytes it follows.
        let skipped = match *title.first()? {
            long @ 0x81.. => 1 + usize::from(long & 0x7f),
            _ => 1,
        };
        let title = title.get(skipped..)?;
        let n_bytes = title.iter().position(|byte| byte.is_ascii_whitespace() || *byte == 0)?;
        title.get(..n_bytes)
    });
    let twice = names.map(String::from_utf8_lossy).find(|name| !seen.insert(name.clone()));
    twice.map(|name| name.into_owned())
}

/// Bytes in ASN.1 before the first title of a sequence, and the identifier of one whose name was not parsed.
const BEFORE_TITLE: &[u8] = &[0x30, 0x80, 0x30, 0x80, 0xa0, 0x80, 0x1a];
const GENERATED: &[u8] = b"BL_ORD_ID";

fn ranges(lengths: &[u64], n_parts: usize) -> Vec<Range<usize>> {
    let total: u64 = lengths.iter().sum();
    let n_parts = n_parts.min(lengths.len());
    let (mut ranges, mut begin, mut sum) = (Vec::new(), 0, 0);
    for (at, length) in lengths.iter().enumerate() {
        sum += length;
        let is_due = u128::from(sum) * n_parts as u128 >= u128::from(total) * (ranges.len() as u128 + 1);
        // Each part that is still to come needs a sequence.
        let n_left = (lengths.len() - at - 1, n_parts - ranges.len() - 1);
        if n_left.0 == n_left.1 || (is_due && n_left.1 > 0 && n_left.0 >= n_left.1) {
            ranges.push(begin..at + 1);
            begin = at + 1;
        }
        if ranges.len() == n_parts {
            break;
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_about_the_same_residues_and_all_sequences() {
        for (lengths, n_parts, wanted) in [
            (vec![10, 10, 10, 10], 2, vec![0..2, 2..4]),
            (vec![100, 1, 1, 1], 2, vec![0..1, 1..4]),
            (vec![1, 1, 1, 100], 2, vec![0..3, 3..4]),
            (vec![5, 5], 7, vec![0..1, 1..2]),
            (vec![1, 1, 100], 3, vec![0..1, 1..2, 2..3]),
        ] {
            assert_eq!(ranges(&lengths, n_parts), wanted, "{lengths:?}");
        }
    }

    #[test]
    fn what_is_no_index_has_no_lengths() {
        assert_eq!(lengths(b""), None);
        assert_eq!(lengths(&[0; 64]), None);
        // Version 4, proteins, a title and a date without a letter, and more sequences than there are bytes.
        let mut bytes = [4_u32, 1, 0, 0, 1_000].map(u32::to_be_bytes).concat();
        assert_eq!(lengths(&bytes), None);
        bytes.truncate(16);
        for number in [2_u32, 0, 0, 0, 0, 0, 0, 1, 5, 8] {
            bytes.extend(number.to_be_bytes());
        }
        assert_eq!(lengths(&bytes), Some(vec![3, 2]));
    }
}
