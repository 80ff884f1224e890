//! Results of a study, line by line as they are found: JSON Lines, a header first. Specified in
//! `docs/formats/study-journal.md`.
//!
//! A journal is written by one study at a time and only grows. What was written before a test's line is on the disk
//! before the next test starts.

use std::{
    collections::BTreeMap,
    fs::{self, File, TryLockError},
    io::{self, BufWriter, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use units::Timestamp;

use crate::{JournalError, Length, Settings};

/// Its name in the folder of a study.
pub const FILE_NAME: &str = "journal.jsonl";

/// The version of the format.
pub(crate) const FORMAT: u32 = 1;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Line {
    Header(Box<Header>),
    Resumed { time: Timestamp },
    Visit(VisitStart),
    Skipped { round: usize, scenario: String, reason: String },
    Reading(Reading),
    Test(TestDone),
    VisitEnd,
}

/// The first line: where and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format.
    pub format: u32,
    /// The version of the program.
    pub version: String,
    /// Name of the host by its own account.
    pub host: String,
    /// Name, release and machine of its kernel.
    pub kernel: String,
    /// Cores that are online.
    pub n_cores: u32,
    /// Time at which the study began.
    pub time: Timestamp,
    /// Busy share of the cores before any load was made, all of them together, 0 to 1.
    pub busy_before: f64,
    /// Settings of the study.
    pub settings: Settings,
}

/// The start of a visit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VisitStart {
    /// Number of the visit's round, from 1.
    pub round: usize,
    /// The scenario's name.
    pub scenario: String,
    /// Time at which the load began.
    pub time: Timestamp,
}

/// Values of the sensors at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Seconds since the visit began.
    pub at_seconds: f64,
    /// Values by signal.
    pub said: BTreeMap<String, f64>,
}

/// A test process that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestDone {
    /// Length of time that the process was to spin.
    pub length: Length,
    /// Number of threads.
    pub n_threads: u32,
    /// Start of the process, in seconds since the visit began.
    pub start_seconds: f64,
    /// Time at which its end was seen.
    pub end_seconds: f64,
    /// The CPU time whose wall time it was to note.
    pub demand_seconds: f64,
    /// The report of the process, or the reason why there is none.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The outcome of a test process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// It spun to its end.
    Done(Spun),
    /// It did not.
    Failed {
        /// Why.
        reason: String,
    },
}

/// The report of a test process that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spun {
    /// Clock times at each of the moments that were asked for, the last one being the end of the process.
    pub marks: Vec<Mark>,
    /// The wall time at which its CPU clock reached the demand; none when it never did.
    pub reached_seconds: Option<f64>,
}

/// Clock times of a test process at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// The moment that was asked for, in seconds since it began to spin.
    pub wanted_seconds: f64,
    /// Time that had passed on the wall clock.
    pub passed_seconds: f64,
    /// Time that had passed on the CPU clock of the process, all threads together.
    pub used_seconds: f64,
}

/// All lines of a journal.
#[derive(Debug)]
pub(crate) struct Lines {
    pub header: Box<Header>,
    pub rest: Vec<Line>,
    /// Number of bytes of the file that are whole lines.
    pub n_whole_bytes: u64,
    /// Whether a last line was torn and left out.
    pub is_torn: bool,
}

/// The journal of a study that runs.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: BufWriter<File>,
}

/// Reads the journal in the folder `dir`; none when there is no journal, or nothing whole in it.
///
/// # Errors
/// When it cannot be read, and for a line that is none, unless it is the last: that one was torn and is left out.
pub(crate) fn read(dir: &Path) -> Result<Option<Lines>, JournalError> {
    let path = dir.join(FILE_NAME);
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|source| JournalError::Io { path: path.clone(), doing: "read", source })?,
    };
    let mut lines = Vec::new();
    let (mut n_whole_bytes, mut is_torn) = (0, false);
    let mut chunks = bytes.split_inclusive(|byte| *byte == b'\n').enumerate().peekable();
    while let Some((idx, chunk)) = chunks.next() {
        match serde_json::from_slice::<Line>(chunk) {
            Ok(line) if chunk.ends_with(b"\n") => lines.push(line),
            Err(source) if chunks.peek().is_some() => {
                return Err(JournalError::Line { path, line: idx + 1, source });
            }
            _ => {
                is_torn = true;
                break;
            }
        }
        n_whole_bytes += chunk.len() as u64;
    }
    let mut rest = lines.into_iter();
    match rest.next() {
        None => Ok(None),
        Some(Line::Header(header)) if header.format == FORMAT => {
            let checked = header.settings.check_spans();
            checked.map_err(|source| JournalError::Settings { path, source })?;
            Ok(Some(Lines { header, rest: rest.collect(), n_whole_bytes, is_torn }))
        }
        Some(Line::Header(header)) => Err(JournalError::Format { path, given: header.format, known: FORMAT }),
        Some(_) => Err(JournalError::NoHeader { path }),
    }
}

impl Journal {
    /// Opens the journal in the folder `dir`, which is made if it is not there, with nothing but its first `n_bytes`.
    ///
    /// # Errors
    /// When the file system refuses, and while another study writes there.
    pub(crate) fn open(dir: &Path, n_bytes: u64) -> Result<Journal, JournalError> {
        let path = dir.join(FILE_NAME);
        let failed = |doing| {
            let path = path.clone();
            move |source| JournalError::Io { path, doing, source }
        };
        fs::create_dir_all(dir).map_err(failed("create the folder of"))?;
        // Not truncated by the opening itself: another study may be writing.
        let mut file = own_file::create(&path).map_err(failed("open"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Busy { path }),
            Err(TryLockError::Error(source)) => return Err(failed("lock")(source)),
        }
        file.set_len(n_bytes).map_err(failed("shorten"))?;
        file.seek(SeekFrom::End(0)).map_err(failed("write"))?;
        Ok(Journal { path, file: BufWriter::new(file) })
    }

    /// Adds a line, which may reach the disk later.
    pub(crate) fn add(&mut self, line: &Line) -> Result<(), JournalError> {
        let added = serde_json::to_writer(&mut self.file, line).map_err(io::Error::from);
        added.and_then(|()| self.file.write_all(b"\n")).map_err(|source| self.failed(source))
    }

    /// Adds a line and waits until everything is on the disk.
    pub(crate) fn commit(&mut self, line: &Line) -> Result<(), JournalError> {
        self.add(line)?;
        let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_data());
        synced.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> JournalError {
        JournalError::Io { path: self.path.clone(), doing: "write", source }
    }
}
