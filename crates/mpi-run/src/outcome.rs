//! Result files: JSON Lines, the header first, a line for each thing measured, written as soon as it is known.
//!
//! The format is in `docs/formats/mpi-results.md`. A run that ends before its time leaves all that it had measured.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::header::Header;

/// Key of a line's kind.
const KIND: &str = "kind";
/// Kind of the first line.
const HEADER: &str = "header";
/// The longest line that is read: a rank's histograms take some kilobytes.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// The reason why a result can neither be written nor read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutcomeError {
    /// Nothing can be written there.
    #[error("cannot write results to {path}")]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Nothing can be read there.
    #[error("cannot read results from {path}")]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A line that is none of a result.
    #[error("{path}, line {line}: {what}")]
    Line {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Fault of the line.
        what: String,
    },
}

/// A result that is being made: kept in memory for tables, and in a file as well where one was asked for.
#[derive(Debug)]
pub struct Writer {
    outcome: Outcome,
    file: Option<(PathBuf, File)>,
}

/// A result as read.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its first line.
    pub header: Header,
    /// All others, in their order: kind and content.
    pub records: Vec<(String, Value)>,
    /// Whether the last line broke off, as that of a killed run does; it is left out.
    pub is_truncated: bool,
}

#[derive(Serialize)]
struct Line<'a, T> {
    kind: &'a str,
    #[serde(flatten)]
    content: &'a T,
}

impl Writer {
    /// Begins a result at `path` with its header. Refuses to write over a file that is there.
    ///
    /// # Errors
    /// [`OutcomeError::Write`] when it is there already, or cannot be made or written.
    pub fn create(path: Option<&Path>, header: &Header) -> Result<Self, OutcomeError> {
        let outcome = Outcome { header: header.clone(), records: Vec::new(), is_truncated: false };
        let mut writer = Self { outcome, file: None };
        if let Some(path) = path {
            let file =
                File::create_new(path).map_err(|source| OutcomeError::Write { path: path.to_owned(), source })?;
            writer.file = Some((path.to_owned(), file));
            writer.write(&line(HEADER, header))?;
        }
        Ok(writer)
    }

    /// Goes on with the result at `path` behind its last record of kind `whole`, and behind the header where there is
    /// none. Whatever comes after that was left by a run that broke off, and is cut off.
    ///
    /// # Errors
    /// [`OutcomeError`] when it is no result, or cannot be written.
    pub fn resume(path: &Path, whole: &str) -> Result<Self, OutcomeError> {
        let mut outcome = Outcome::read(path)?;
        let n_kept = outcome.records.iter().rposition(|(kind, _)| kind == whole).map_or(0, |last| last + 1);
        outcome.records.truncate(n_kept);
        outcome.is_truncated = false;
        let unreadable = |source| OutcomeError::Read { path: path.to_owned(), source };
        let unwritable = |source| OutcomeError::Write { path: path.to_owned(), source };
        let content = std::fs::read(path).map_err(unreadable)?;
        let n_bytes: usize = content.split_inclusive(|&byte| byte == b'\n').take(1 + n_kept).map(<[u8]>::len).sum();
        let mut file = File::options().write(true).open(path).map_err(unwritable)?;
        file.set_len(n_bytes as u64).map_err(unwritable)?;
        file.seek(SeekFrom::End(0)).map_err(unwritable)?;
        Ok(Self { outcome, file: Some((path.to_owned(), file)) })
    }

    /// Adds a line. It is in the file when this returns.
    ///
    /// # Errors
    /// [`OutcomeError::Write`] when the file takes no more.
    pub fn record<T: Serialize>(&mut self, kind: &str, content: &T) -> Result<(), OutcomeError> {
        self.write(&line(kind, content))?;
        let content = serde_json::to_value(content).expect(HAS_TEXT_KEYS);
        self.outcome.records.push((kind.to_owned(), content));
        Ok(())
    }

    /// Returns all that was recorded.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    fn write(&mut self, line: &str) -> Result<(), OutcomeError> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        file.write_all(line.as_bytes()).map_err(|source| OutcomeError::Write { path: path.clone(), source })
    }
}

/// Returns one line of a result, its end included.
fn line<T: Serialize>(kind: &str, content: &T) -> String {
    serde_json::to_string(&Line { kind, content }).expect(HAS_TEXT_KEYS) + "\n"
}

/// The reason why a record can always be written as JSON.
const HAS_TEXT_KEYS: &str = "records are structs, and maps in them have keys of text";

impl Outcome {
    /// Reads a result.
    ///
    /// # Errors
    /// [`OutcomeError`] when the file cannot be read, or any line but a last one that broke off is not what it should
    /// be.
    pub fn read(path: &Path) -> Result<Self, OutcomeError> {
        let unreadable = |source| OutcomeError::Read { path: path.to_owned(), source };
        let mut reader = BufReader::new(File::open(path).map_err(unreadable)?);
        let mut lines: Vec<Vec<u8>> = Vec::new();
        loop {
            let mut line = Vec::new();
            let n_bytes =
                io::Read::take(&mut reader, LINE_BYTES_MAX).read_until(b'\n', &mut line).map_err(unreadable)?;
            if n_bytes == 0 {
                break;
            }
            lines.push(line);
        }
        Self::of_lines(path, &lines)
    }

    fn of_lines(path: &Path, lines: &[Vec<u8>]) -> Result<Self, OutcomeError> {
        let wrong = |idx: usize, what: String| OutcomeError::Line { path: path.to_owned(), line: idx + 1, what };
        let mut header = None;
        let mut records = Vec::new();
        let mut is_truncated = false;
        for (idx, line) in lines.iter().enumerate() {
            if idx + 1 == lines.len() && idx > 0 && line.last() != Some(&b'\n') {
                is_truncated = true;
                break;
            }
            let mut value: Value = serde_json::from_slice(line).map_err(|error| wrong(idx, error.to_string()))?;
            let kind = match value.as_object_mut().and_then(|fields| fields.remove(KIND)) {
                Some(Value::String(kind)) => kind,
                _ => {
                    return Err(wrong(idx, format!("no `{KIND}`, so this is not a result of a `foretop mpi` program")));
                }
            };
            match (idx, kind.as_str()) {
                (0, HEADER) => {
                    header = Some(serde_json::from_value(value).map_err(|error| wrong(idx, error.to_string()))?);
                }
                (0, _) | (_, HEADER) => {
                    return Err(wrong(idx, format!("`{kind}` is out of place: the header is the first line")));
                }
                _ => records.push((kind, value)),
            }
        }
        let header = header.ok_or_else(|| wrong(0, "the file is empty".to_owned()))?;
        Ok(Self { header, records, is_truncated })
    }

    /// Returns the conditions that make the figures mean less than they seem to, one sentence each: the header's
    /// warnings, and a run that did not end.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let broken = "the result breaks off in its last line: the run was ended before its time";
        self.header.warnings().into_iter().chain(self.is_truncated.then(|| broken.to_owned())).collect()
    }

    /// Returns the kinds of records there are, in alphabetical order.
    #[must_use]
    pub fn kinds(&self) -> Vec<&str> {
        let kinds: BTreeSet<&str> = self.records.iter().map(|(kind, _)| kind.as_str()).collect();
        kinds.into_iter().collect()
    }

    /// Returns all records of one kind.
    ///
    /// # Errors
    /// The record that is not of that form, counted from 1 among its kind.
    pub fn all<T: DeserializeOwned>(&self, kind: &str) -> Result<Vec<T>, MalformedRecord> {
        let of_kind = self.records.iter().filter(|(found, _)| found == kind);
        of_kind
            .enumerate()
            .map(|(idx, (_, value))| {
                serde_json::from_value(value.clone()).map_err(|source| MalformedRecord {
                    kind: kind.to_owned(),
                    position: idx + 1,
                    source,
                })
            })
            .collect()
    }

    /// Returns the result as in a file.
    #[must_use]
    pub fn json_lines(&self) -> String {
        let records = self.records.iter().map(|(kind, content)| line(kind, content));
        std::iter::once(line(HEADER, &self.header)).chain(records).collect()
    }

    /// Returns all records of one kind as CSV: a column for each field, those of nested objects with a dot
    /// (`compute.mean_ns`), lists left out. Columns are in alphabetical order; a record without a field has an empty
    /// cell.
    #[must_use]
    pub fn csv(&self, kind: &str) -> String {
        let rows: Vec<_> =
            self.records.iter().filter(|(found, _)| found == kind).map(|(_, value)| cells(value)).collect();
        let columns: BTreeSet<&String> = rows.iter().flat_map(BTreeMap::keys).collect();
        let mut writer = csv::Writer::from_writer(Vec::new());
        let cell = |row: &BTreeMap<String, String>, column: &str| row.get(column).cloned().unwrap_or_default();
        let lines = rows.iter().map(|row| columns.iter().map(|column| cell(row, column)).collect());
        let head: Vec<String> = columns.iter().map(|&column| column.clone()).collect();
        for line in std::iter::once(head).chain(lines) {
            writer.write_record(&line).expect(TAKES_ALL);
        }
        String::from_utf8(writer.into_inner().expect(TAKES_ALL)).expect("cells are text")
    }
}

/// The reason why CSV can always be written.
const TAKES_ALL: &str = "memory takes what is written to it, and all rows have the same columns";

/// A record that does not have the form of its kind.
#[derive(Debug, thiserror::Error)]
#[error("record {position} of kind `{kind}` is not of that form")]
pub struct MalformedRecord {
    /// Its kind.
    pub kind: String,
    /// Position among the records of its kind, from 1.
    pub position: usize,
    /// Fault of the record.
    pub source: serde_json::Error,
}

fn cells(value: &Value) -> BTreeMap<String, String> {
    let mut cells = BTreeMap::new();
    gather("", value, &mut cells);
    cells
}

fn gather(name: &str, value: &Value, cells: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                gather(&name, field, cells);
            }
        }
        Value::Array(_) => {}
        Value::Null => {
            cells.insert(name.to_owned(), String::new());
        }
        Value::String(text) => {
            cells.insert(name.to_owned(), text.clone());
        }
        Value::Bool(_) | Value::Number(_) => {
            cells.insert(name.to_owned(), value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use units::Timestamp;

    use super::*;

    fn header() -> Header {
        Header {
            program: "noise".to_owned(),
            version: "0.1.0".to_owned(),
            started: Timestamp::from_system(std::time::UNIX_EPOCH),
            mpi: "none".to_owned(),
            transport: None,
            arguments: vec!["--local".to_owned()],
            seed: 1,
            ranks: Vec::new(),
            assumptions: Vec::new(),
        }
    }

    fn written(records: &[(&str, Value)]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.jsonl");
        let mut writer = Writer::create(Some(&path), &header()).unwrap();
        for (kind, content) in records {
            writer.record(kind, content).unwrap();
        }
        (folder, path)
    }

    #[test]
    fn what_was_written_is_read() {
        let (_folder, path) = written(&[("late", json!({"count": 3})), ("detour", json!({"at_ns": 5}))]);
        let outcome = Outcome::read(&path).unwrap();
        assert_eq!(outcome.header, header());
        assert_eq!(
            outcome.records,
            [("late".to_owned(), json!({"count": 3})), ("detour".to_owned(), json!({"at_ns": 5}))]
        );
        assert!(!outcome.is_truncated);
        assert_eq!(outcome.json_lines(), std::fs::read_to_string(&path).unwrap());
    }

    #[test]
    fn a_line_that_broke_off_is_left_out_and_told_of() {
        let (_folder, path) = written(&[("late", json!({"count": 3})), ("late", json!({"count": 4}))]);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 4]).unwrap();
        let outcome = Outcome::read(&path).unwrap();
        assert!(outcome.is_truncated);
        assert_eq!(outcome.records.len(), 1);
    }

    #[test]
    fn a_run_that_did_not_end_is_a_warning() {
        let (_folder, path) = written(&[("late", json!({"count": 3}))]);
        assert_eq!(Outcome::read(&path).unwrap().warnings(), [""; 0]);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 4]).unwrap();
        let warnings = Outcome::read(&path).unwrap().warnings();
        assert!(matches!(&warnings[..], [only] if only.contains("ended before its time")), "{warnings:?}");
    }

    #[test]
    fn a_file_of_something_else_is_refused_by_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.json");
        for (content, line) in [("", 1), ("{}\n", 1), ("{\"kind\":\"late\"}\n", 1), ("\0\x01\n", 1)] {
            std::fs::write(&path, content).unwrap();
            let error = Outcome::read(&path).unwrap_err();
            assert!(matches!(error, OutcomeError::Line { line: found, .. } if found == line), "{content:?}: {error}");
        }
    }

    #[test]
    fn a_file_that_is_there_is_not_written_over() {
        let (_folder, path) = written(&[]);
        assert!(matches!(Writer::create(Some(&path), &header()), Err(OutcomeError::Write { .. })));
    }

    #[test]
    fn nested_fields_become_columns() {
        let (_folder, path) = written(&[
            ("rank", json!({"rank": 0, "compute": {"mean_ns": 1.5, "bars": [[1, 2]]}, "host": "a, b"})),
            ("rank", json!({"rank": 1, "note": null})),
        ]);
        let csv = Outcome::read(&path).unwrap().csv("rank");
        assert_eq!(csv, "compute.mean_ns,host,note,rank\n1.5,\"a, b\",,0\n,,,1\n");
    }
}
