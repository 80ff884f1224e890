//! The folder of a run: which units are done, what they wrote, and what was decided. A run is taken up again from
//! there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The journal's name in the run's folder.
pub const JOURNAL: &str = "run.jsonl";
const OUTPUTS: &str = "outputs";

/// The reason why a run's folder is of no use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeptError {
    /// A folder that cannot be read or written.
    #[error("cannot keep or read the run in `{}`", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A folder of another job.
    #[error("`{}` is the folder of a run of another job: its job file was not the same", .0.display())]
    OtherJob(PathBuf),
    /// A journal that this program did not write.
    #[error("`{}` is no journal of a run: {why}", path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// Fault of the file.
        why: String,
    },
}

/// Share that a worker gets at first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Given {
    /// Name of the worker.
    pub worker: String,
    /// Number of units.
    pub n_units: usize,
    /// Time until these are forecast to be done, in seconds; the median.
    pub seconds: f64,
    /// The reason for this number.
    pub reason: String,
}

/// A line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Line {
    /// The first line.
    Run {
        /// Version of the format: 1.
        format: u32,
        /// Name by which workers know the run.
        run: String,
        /// SHA-256 of the job file.
        job_sha256: String,
        /// Number of units.
        n_units: usize,
    },
    /// The begin of a run, or its taking up, with the forecast of it.
    Planned {
        /// The policy that decides.
        policy: String,
        /// Number of units that were done before.
        n_done: usize,
        /// Median of the time until all is done, in seconds.
        makespan: f64,
        /// Lower end of the interval of the makespan.
        lower: f64,
        /// Upper end of the interval of the makespan.
        upper: f64,
        /// Confidence of the interval.
        confidence: f64,
        /// Share that each worker gets at first.
        shares: Vec<Given>,
    },
    /// The end of a unit, whose output is there.
    Done {
        /// Seconds since the run was begun or taken up.
        t: f64,
        /// Number of the unit.
        unit: usize,
        /// The worker that did the unit.
        worker: String,
        /// Time that the unit took.
        seconds: f64,
        /// Processor time that the unit took.
        cpu_seconds: f64,
        /// Probability with which the unit was forecast, when it was sent, to take no longer; `None` before costs are
        /// known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        level: Option<f64>,
    },
    /// A decision.
    Decided {
        /// Seconds since the run was begun or taken up.
        t: f64,
        /// `run`, `give_up` or `twin`.
        what: String,
        /// The worker.
        worker: String,
        /// Number of the first unit.
        from: usize,
        /// Number of the unit after the last.
        to: usize,
        /// The reason why work is moved or done twice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// Failure of a unit or a worker.
    Failed {
        /// Seconds since the run was begun or taken up.
        t: f64,
        /// The worker.
        worker: String,
        /// Description of the failure.
        why: String,
    },
}

/// Reads a run's journal.
///
/// # Errors
/// If there is none, or this program did not write it.
pub fn journal(folder: &Path) -> Result<Vec<Line>, KeptError> {
    let path = folder.join(JOURNAL);
    let bytes = fs::read(&path).map_err(|source| KeptError::Io { path: path.clone(), source })?;
    lines(&path, whole(&bytes))
}

/// Returns the bytes without a last line that has no end: it was being written when the machine went down.
fn whole(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)]
}

fn lines(path: &Path, bytes: &[u8]) -> Result<Vec<Line>, KeptError> {
    let wrong = |at: usize, error: serde_json::Error| KeptError::Journal {
        path: path.to_owned(),
        why: format!("line {}: {error}", at + 1),
    };
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate();
    lines.map(|(at, line)| serde_json::from_slice(line).map_err(|error| wrong(at, error))).collect()
}

/// An open run's folder.
#[derive(Debug)]
pub struct Kept {
    folder: PathBuf,
    journal: File,
    run: String,
    done: Vec<bool>,
}

impl Kept {
    /// Begins a run in a folder, or takes up the one that is there.
    pub fn open(folder: &Path, job: &str, n_units: usize) -> Result<Self, KeptError> {
        let path = folder.join(JOURNAL);
        let io = |source| KeptError::Io { path: path.clone(), source };
        fs::create_dir_all(folder.join(OUTPUTS)).map_err(io)?;
        let job_sha256: String = Sha256::digest(job).iter().map(|byte| format!("{byte:02x}")).collect();
        let mut kept = Self {
            folder: folder.to_owned(),
            journal: OpenOptions::new().create(true).append(true).open(&path).map_err(io)?,
            run: String::new(),
            done: vec![false; n_units],
        };
        let bytes = fs::read(&path).map_err(io)?;
        let whole = whole(&bytes);
        kept.journal.set_len(whole.len() as u64).map_err(io)?;
        if whole.is_empty() {
            let now = clock::now().as_nanos();
            kept.run = format!("{}-{}-{now}", &job_sha256[..8], std::process::id());
            kept.note(&Line::Run { format: 1, run: kept.run.clone(), job_sha256, n_units })?;
            return Ok(kept);
        }
        for line in lines(&path, whole)? {
            match line {
                Line::Run { job_sha256: of, n_units: n, .. } if of != job_sha256 || n != n_units => {
                    return Err(KeptError::OtherJob(folder.to_owned()));
                }
                Line::Run { run, .. } => kept.run = run,
                Line::Done { unit, .. } if unit < n_units => kept.done[unit] = kept.output(unit).exists(),
                Line::Done { unit, .. } => {
                    let why = format!("unit {unit} of {n_units} is done");
                    return Err(KeptError::Journal { path, why });
                }
                Line::Planned { .. } | Line::Decided { .. } | Line::Failed { .. } => {}
            }
        }
        Ok(kept)
    }

    /// Returns the name by which workers know the run.
    pub fn run(&self) -> &str {
        &self.run
    }

    pub fn is_done(&self, unit: usize) -> bool {
        self.done[unit]
    }

    pub fn n_done(&self) -> usize {
        self.done.iter().filter(|is_done| **is_done).count()
    }

    /// Stores the output of a unit; the unit is done when this returns, whatever happens then.
    pub fn keep(&mut self, unit: usize, bytes: &[u8], line: &Line) -> Result<(), KeptError> {
        let (path, part) = (self.output(unit), self.folder.join(OUTPUTS).join("part"));
        let io = |source| KeptError::Io { path: path.clone(), source };
        fs::write(&part, bytes).and_then(|()| fs::rename(&part, &path)).map_err(|source| {
            // A disk that is full has no use for half of it.
            let _ = fs::remove_file(&part);
            io(source)
        })?;
        self.note(line)?;
        self.done[unit] = true;
        Ok(())
    }

    /// Adds a line to the journal.
    pub fn note(&mut self, line: &Line) -> Result<(), KeptError> {
        let mut text = serde_json::to_vec(line).expect("a line has a form in JSON");
        text.push(b'\n');
        let io = |source| KeptError::Io { path: self.folder.join(JOURNAL), source };
        self.journal.write_all(&text).map_err(io)
    }

    /// Writes the outputs of all units, in their order.
    pub fn copy_outputs(&self, out: &mut dyn Write) -> Result<(), KeptError> {
        for unit in 0..self.done.len() {
            let path = self.output(unit);
            let copied = File::open(&path).and_then(|mut file| io::copy(&mut file, out));
            copied.map_err(|source| KeptError::Io { path, source })?;
        }
        Ok(())
    }

    /// Reads the output of a unit.
    pub fn output_text(&self, unit: usize) -> Result<String, KeptError> {
        let path = self.output(unit);
        fs::read_to_string(&path).map_err(|source| KeptError::Io { path, source })
    }

    fn output(&self, unit: usize) -> PathBuf {
        self.folder.join(OUTPUTS).join(unit.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(unit: usize) -> Line {
        Line::Done { t: 1.0, unit, worker: "a".to_owned(), seconds: 1.0, cpu_seconds: 0.5, level: None }
    }

    #[test]
    fn a_run_is_taken_up_with_what_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = Kept::open(folder.path(), "job", 3).unwrap();
        let run = kept.run().to_owned();
        kept.keep(2, b"two\n", &done(2)).unwrap();
        // Killed in the middle of a line.
        kept.journal.write_all(b"{\"is\":\"do").unwrap();
        drop(kept);
        let mut kept = Kept::open(folder.path(), "job", 3).unwrap();
        assert_eq!((kept.run(), kept.n_done(), kept.is_done(2)), (&run[..], 1, true));
        kept.keep(0, b"zero\n", &done(0)).unwrap();
        kept.keep(1, b"", &done(1)).unwrap();
        let mut out = Vec::new();
        Kept::open(folder.path(), "job", 3).unwrap().copy_outputs(&mut out).unwrap();
        assert_eq!(out, b"zero\ntwo\n");
    }

    #[test]
    fn another_jobs_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        Kept::open(folder.path(), "job", 3).unwrap();
        assert!(matches!(Kept::open(folder.path(), "other", 3), Err(KeptError::OtherJob(_))));
        fs::write(folder.path().join(JOURNAL), "nonsense\n").unwrap();
        assert!(matches!(Kept::open(folder.path(), "job", 3), Err(KeptError::Journal { .. })));
    }
}
