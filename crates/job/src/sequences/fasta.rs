//! FASTA files as they stand: queries in units, and libraries in parts.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};

use super::SearchError;
use super::library::{PART, Parts};
use crate::input::Input;

/// Bytes of one unit's queries: a request has to hold two of them.
const UNIT_BYTES_MAX: usize = 400 << 10;
/// Bytes of all queries, which are held in memory.
const QUERIES_BYTES_MAX: u64 = 256 << 20;
/// Bytes of a library's title.
const TITLE_BYTES_MAX: usize = 64 << 10;
/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 1 << 18;

/// Cuts the queries as they stand in the file into units of about the same number of residues, and returns these
/// numbers, too.
pub fn cut_queries(path: &Path, n_units: usize) -> Result<(Vec<String>, Vec<f64>), SearchError> {
    let unreadable = |source| SearchError::Unreadable { path: path.to_owned(), source };
    let n_bytes = fs::metadata(path).map_err(unreadable)?.len();
    if n_bytes > QUERIES_BYTES_MAX {
        let why = format!("queries of {n_bytes} bytes are too many for one search, which takes {QUERIES_BYTES_MAX}");
        return Err(SearchError::Fasta { path: path.to_owned(), line: 1, why });
    }
    let text = fs::read_to_string(path).map_err(unreadable)?;
    let queries = queries(path, &text)?;
    let total: u64 = queries.iter().map(|(_, n_residues)| n_residues).sum();
    let enough = total / n_units as u64;
    let (mut units, mut n_residues): (Vec<String>, Vec<u64>) = (Vec::new(), Vec::new());
    for (text, n) in queries {
        match (units.last_mut(), n_residues.last_mut()) {
            (Some(unit), Some(sum)) if *sum < enough && unit.len() + text.len() <= UNIT_BYTES_MAX => {
                unit.push_str(text);
                *sum += n;
            }
            _ => {
                units.push(text.to_owned());
                n_residues.push(n);
            }
        }
    }
    Ok((units, n_residues.into_iter().map(|n| n as f64).collect()))
}

/// Returns each query, from its `>` to the next, and its number of residues.
fn queries<'a>(path: &Path, text: &'a str) -> Result<Vec<(&'a str, u64)>, SearchError> {
    let wrong = |line: usize, why: String| SearchError::Fasta { path: path.to_owned(), line, why };
    let mut found: Vec<(usize, usize, usize, u64)> = Vec::new();
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let (begin, content) = (at, line.trim_end());
        at += line.len();
        if content.starts_with('>') {
            found.push((number + 1, begin, at, 0));
        } else if !content.is_empty() && !content.starts_with(';') {
            let query = found
                .last_mut()
                .ok_or_else(|| wrong(number + 1, "a sequence has a line before it that begins with `>`".to_owned()))?;
            if let Some(letter) =
                content.chars().find(|letter| !letter.is_ascii_alphabetic() && !"*-. ".contains(*letter))
            {
                return Err(wrong(number + 1, format!("`{}` stands for no residue", letter.escape_default())));
            }
            query.3 += content.chars().filter(char::is_ascii_alphabetic).count() as u64;
        }
        if let Some(query) = found.last_mut() {
            query.2 = at;
        }
    }
    if found.is_empty() {
        return Err(wrong(1, "there is no query in it".to_owned()));
    }
    for (line, begin, end, n_residues) in &found {
        if *n_residues == 0 {
            return Err(wrong(*line, "the query has no residues".to_owned()));
        }
        if end - begin > UNIT_BYTES_MAX {
            return Err(wrong(*line, format!("the query has {} bytes, and {UNIT_BYTES_MAX} can be sent", end - begin)));
        }
    }
    Ok(found.into_iter().map(|(_, begin, end, n_residues)| (&text[begin..end], n_residues)).collect())
}

/// A library in parts, and its number of letters.
pub struct Library {
    /// Its parts.
    pub parts: Parts,
    /// All letters of its sequences, as DIAMOND counts them.
    pub n_letters: u64,
}

/// Copies a library in so many parts of about the same number of bytes, or fewer where it has fewer sequences.
///
/// It is read once, piece by piece: a sequence may be of any length. With `has_names` two sequences of one name are
/// refused.
pub fn cut_library(
    path: &Path,
    n_parts: NonZero<usize>,
    folder: &Path,
    has_names: bool,
) -> Result<Library, SearchError> {
    let unreadable = |source| SearchError::Unreadable { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    let n_bytes = file.metadata().map_err(unreadable)?.len();
    fs::create_dir_all(folder).map_err(|source| SearchError::Unwritable { path: folder.to_owned(), source })?;
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    let mut cutter = Cutter {
        path,
        folder,
        n_parts: n_parts.get() as u64,
        n_bytes,
        names: has_names.then(HashSet::new),
        parts: Vec::new(),
        n_read: 0,
        line: 1,
        is_within_line: false,
        title: None,
    };
    loop {
        let buffer = reader.fill_buf().map_err(unreadable)?;
        if buffer.is_empty() {
            return cutter.end();
        }
        let end = buffer.iter().position(|byte| *byte == b'\n').map_or(buffer.len(), |at| at + 1);
        cutter.take(&buffer[..end])?;
        reader.consume(end);
    }
}

/// A part of a library that is being written.
struct CutPart {
    place: PathBuf,
    file: BufWriter<File>,
    n_letters: u64,
}

/// State of the cutting of a library.
struct Cutter<'a> {
    path: &'a Path,
    folder: &'a Path,
    n_parts: u64,
    n_bytes: u64,
    /// Names that were seen, if two may not be the same.
    names: Option<HashSet<Vec<u8>>>,
    parts: Vec<CutPart>,
    n_read: u64,
    line: usize,
    /// Whether a piece of the line was taken.
    is_within_line: bool,
    /// Bytes that were taken of the line, if it is a title.
    title: Option<Vec<u8>>,
}

impl Cutter<'_> {
    /// Takes a line, or a piece of one.
    fn take(&mut self, piece: &[u8]) -> Result<(), SearchError> {
        if !self.is_within_line && piece.first() == Some(&b'>') {
            self.begin_part_if_due()?;
            self.title = Some(Vec::new());
        }
        let Some(part) = self.parts.last_mut() else {
            return Err(self.wrong("a library in FASTA begins with `>`"));
        };
        let unwritable = |source| SearchError::Unwritable { path: part.place.clone(), source };
        part.file.write_all(piece).map_err(unwritable)?;
        match &mut self.title {
            Some(title) if title.len() + piece.len() > TITLE_BYTES_MAX => {
                return Err(self.wrong("the title has more than 64 KiB"));
            }
            Some(title) => title.extend(piece),
            None => part.n_letters += piece.iter().filter(|byte| !byte.is_ascii_whitespace()).count() as u64,
        }
        self.n_read += piece.len() as u64;
        self.is_within_line = !piece.ends_with(b"\n");
        if self.is_within_line { Ok(()) } else { self.end_line() }
    }

    /// Begins a part if one is due: a part begins with the first title after its share of the bytes.
    fn begin_part_if_due(&mut self) -> Result<(), SearchError> {
        let n = self.parts.len() as u64;
        if n < self.n_parts && self.n_read * self.n_parts >= self.n_bytes * n {
            let place = self.folder.join(format!("{PART}{n}.fa"));
            let file =
                File::create(&place).map_err(|source| SearchError::Unwritable { path: place.clone(), source })?;
            self.parts.push(CutPart { place, file: BufWriter::new(file), n_letters: 0 });
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), SearchError> {
        self.line += 1;
        let (Some(title), Some(names)) = (self.title.take(), &mut self.names) else { return Ok(()) };
        let name = title[1..].split(u8::is_ascii_whitespace).next().unwrap_or_default();
        if names.insert(name.to_owned()) {
            return Ok(());
        }
        Err(SearchError::Parts {
            what: format!("`{}`", String::from_utf8_lossy(name)),
            why: "two sequences of the library have this name, and hits are told apart by it",
        })
    }

    fn end(mut self) -> Result<Library, SearchError> {
        let n_letters: u64 = self.parts.iter().map(|part| part.n_letters).sum();
        if n_letters == 0 {
            self.line = 1;
            return Err(self.wrong("there is no sequence in it"));
        }
        for part in &mut self.parts {
            let unwritable = |source| SearchError::Unwritable { path: part.place.clone(), source };
            part.file.flush().map_err(unwritable)?;
        }
        // A part without a letter costs something, too.
        let shares = self.parts.iter().map(|part| part.n_letters.max(1) as f64 / n_letters as f64).collect();
        let unreadable = |source| SearchError::Unreadable { path: self.folder.to_owned(), source };
        let input = Input::new(self.parts.into_iter().map(|part| part.place)).map_err(unreadable)?;
        Ok(Library { parts: Parts { input, shares }, n_letters })
    }

    fn wrong(&self, why: &str) -> SearchError {
        SearchError::Fasta { path: self.path.to_owned(), line: self.line, why: why.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_cut_as_they_stand() {
        let text = ">one\r\nACD\r\nEF\r\n\r\n>two with words\nAC*\n>three\nA";
        let found = queries(Path::new("q.fa"), text).unwrap();
        assert_eq!(found.iter().map(|(text, _)| *text).collect::<String>(), text);
        assert_eq!(found.iter().map(|(_, n_residues)| *n_residues).collect::<Vec<_>>(), [5, 2, 1]);
        for (text, wanted) in [
            ("", "line 1: there is no query"),
            ("ACD\n", "line 1: a sequence has a line before it"),
            (">a\nAC\n>b\n>c\nA\n", "line 3: the query has no residues"),
            (">a\nAC\nA1\n", "line 3: `1` stands for no residue"),
        ] {
            let told = queries(Path::new("q.fa"), text).unwrap_err().to_string();
            assert!(told.contains(wanted), "{told}");
        }
    }

    fn parts_of(text: &str, n_parts: usize) -> Result<(Vec<String>, u64), String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("library.fa");
        fs::write(&path, text).unwrap();
        let cut = cut_library(&path, NonZero::new(n_parts).unwrap(), &folder.path().join("parts"), true);
        let cut = cut.map_err(|error| error.to_string())?;
        let texts = cut.parts.input.files().map(|(_, path)| fs::read_to_string(path).unwrap()).collect();
        Ok((texts, cut.n_letters))
    }

    #[test]
    fn a_library_is_cut_between_its_sequences() {
        let text = ">a one\r\nACDE\r\nFG*\r\n>b\nAC-D\n\n>c\nA\n>d\nACDEF";
        let (parts, n_letters) = parts_of(text, 3).unwrap();
        assert_eq!((parts.concat(), parts.len(), n_letters), (text.to_owned(), 3, 17));
        assert!(parts.iter().all(|part| part.starts_with('>')), "{parts:?}");
        assert_eq!(parts_of(text, 99).unwrap().0.len(), 4);
        // One that is longer than what is read at a time.
        let long = format!(">long\n{}\n>short\nA\n", "ACDEF".repeat(BUFFER_BYTES / 2));
        let (parts, n_letters) = parts_of(&long, 2).unwrap();
        assert_eq!((parts.concat() == long, parts.len()), (true, 2));
        assert_eq!(n_letters, 5 * (BUFFER_BYTES / 2) as u64 + 1);
    }

    #[test]
    fn what_is_no_library_is_told() {
        let title = format!(">{}\nA\n", "x".repeat(TITLE_BYTES_MAX));
        for (text, wanted) in [
            ("", "there is no sequence in it"),
            ("ACD\n", "line 1: a library in FASTA begins with `>`"),
            (">a\n>b\n", "there is no sequence in it"),
            (">a\nA\n>b\nA\n>a again\nA\n", "`a` cannot be cut by library: two sequences"),
            (&title, "line 1: the title has more than 64 KiB"),
        ] {
            let told = parts_of(text, 2).unwrap_err();
            assert!(told.contains(wanted), "{told}");
        }
    }

    #[test]
    fn queries_of_gigabytes_are_refused_unread() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queries.fa");
        // Without blocks on the disk.
        File::create(&path).unwrap().set_len(2 << 30).unwrap();
        let told = cut_queries(&path, 9).unwrap_err().to_string();
        assert!(told.contains("queries of 2147483648 bytes are too many"), "{told}");
    }
}
