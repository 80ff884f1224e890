//! A campaign from the first case to the result file, through whatever stops it on the way.

use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::reader::FileReader;
use parquet::file::writer::SerializedFileWriter;

use crate::campaign::Campaign;
use crate::identity::Identity;
use crate::parts::{Kind, Parts, State};
use crate::progress::Progress;
use crate::rows::Part;
use crate::table::{TableFile, properties};

/// The metadata key of the number of cases.
pub(crate) const N_CASES_KEY: &str = "foretop.n_cases";

/// The metadata key of the digests of all row groups.
pub(crate) const DIGESTS_KEY: &str = "foretop.digests";

/// Rows to a part: a few megabytes in memory, and a second of work at the rate of AR(16). A part is a row group of the
/// result file, and what is lost when a run is stopped.
const N_ROWS_PER_PART: usize = 16_384;
pub(crate) const N_CASES_PER_PART_MAX: u64 = 512;

/// Cases to a campaign.
const N_CASES_MAX: u64 = 1_000_000_000;

/// The reason why a run cannot end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Nothing to do, or too much.
    #[error("{given} cases are asked for; there must be from 1 to {N_CASES_MAX}")]
    CaseCount {
        /// The number of cases asked for.
        given: u64,
    },
    /// The result file is there.
    #[error("`{}` already exists; remove it, or write to another file", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A path that names no file.
    #[error("`{}` names no file to write to", path.display())]
    NoFileName {
        /// The path.
        path: PathBuf,
    },
    /// The file system refused.
    #[error("cannot {doing} `{}`", path.display())]
    Io {
        /// The attempted operation.
        doing: &'static str,
        /// The path of the file or folder.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// Parts of another run under the same name.
    #[error(
        "`{}` holds an unfinished run that differs in its {what}; finish that one, remove the folder, or write to another file",
        folder.display()
    )]
    OtherCampaign {
        /// The folder of parts.
        folder: PathBuf,
        /// The property that differs.
        what: &'static str,
    },
    /// Parts of an unknown campaign.
    #[error("`{}` does not say which run the parts beside it belong to; remove the folder to start over", path.display())]
    Identity {
        /// The file.
        path: PathBuf,
        /// The error in the file.
        source: serde_json::Error,
    },
    /// Somebody else is at it.
    #[error("another run writes to `{}`; wait for its end, or write to another file", folder.display())]
    Busy {
        /// The folder of parts.
        folder: PathBuf,
    },
    /// No table can be made of the results.
    #[error("cannot write the results as Parquet")]
    Parquet(#[from] ParquetError),
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The result file is written.
    Finished,
    /// The run ended before that; the same run again goes on from here.
    Stopped,
}

/// A campaign of so many cases, on its way to a file.
#[derive(Debug)]
pub struct Run {
    campaign: Campaign,
    n_cases: u64,
    out: PathBuf,
    parts: Parts,
    missing: Vec<Range<u64>>,
    n_cases_found: u64,
    broken: Vec<PathBuf>,
}

impl Run {
    /// Looks for what an earlier run to the same file has left, and checks every byte of it.
    ///
    /// Parts wait in a folder beside the file, called as the file with `.parts` behind. More cases than the earlier run
    /// was to have are no other campaign: those that are done stay done.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn open(campaign: Campaign, n_cases: u64, out: &Path) -> Result<Self, RunError> {
        if !(1..=N_CASES_MAX).contains(&n_cases) {
            return Err(RunError::CaseCount { given: n_cases });
        }
        if out.exists() {
            return Err(RunError::Exists { path: out.to_owned() });
        }
        let parts = Parts::open(beside(out, ".parts")?, &Identity::of(&campaign))?;
        let mut run = Self {
            n_cases,
            out: out.to_owned(),
            parts,
            missing: Vec::new(),
            n_cases_found: 0,
            broken: Vec::new(),
            campaign,
        };
        for cases in run.ranges() {
            match run.parts.state(&cases)? {
                State::Whole => run.n_cases_found += cases.end - cases.start,
                State::Absent => run.missing.push(cases),
                State::Broken(path) => {
                    run.parts.remove(&path)?;
                    run.broken.push(path);
                    run.missing.push(cases);
                }
            }
        }
        Ok(run)
    }

    /// Returns the campaign that is evaluated.
    #[must_use]
    pub fn campaign(&self) -> &Campaign {
        &self.campaign
    }

    /// Cases in the end.
    #[must_use]
    pub fn n_cases(&self) -> u64 {
        self.n_cases
    }

    /// Cases that an earlier run has done.
    #[must_use]
    pub fn n_cases_found(&self) -> u64 {
        self.n_cases_found
    }

    /// Files of an earlier run that were no longer what had been written, and are removed; their cases are evaluated
    /// again.
    #[must_use]
    pub fn broken(&self) -> &[PathBuf] {
        &self.broken
    }

    /// The ranges of cases that are still to be evaluated: what can be given to workers elsewhere.
    #[must_use]
    pub fn missing(&self) -> &[Range<u64>] {
        &self.missing
    }

    /// The file of the timings beside the file of the results.
    #[must_use]
    pub fn timings_path(out: &Path) -> PathBuf {
        out.with_extension("timings.parquet")
    }

    /// Takes a part that was evaluated elsewhere.
    ///
    /// # Errors
    /// Those of the file system; the part is then not there.
    ///
    /// # Panics
    /// When `cases` is none of [`Run::missing`].
    pub fn add(&mut self, cases: &Range<u64>, part: &Part) -> Result<(), RunError> {
        let idx = self.missing.iter().position(|missing| missing == cases).expect("a range that is missing");
        self.parts.add(cases, part)?;
        self.missing.remove(idx);
        Ok(())
    }

    /// Evaluates what is missing, by all workers of the thread pool that this is called in, and writes the file. When
    /// `stop` comes true, cases that were begun are finished, and those of the part in work are lost.
    ///
    /// # Errors
    /// Those of the file system. What was evaluated before stays.
    pub fn run(mut self, stop: &AtomicBool, progress: &Progress) -> Result<End, RunError> {
        while let Some(cases) = self.missing.first().cloned() {
            let Some(part) = self.campaign.part(cases.clone(), stop, |result| progress.note(result))? else {
                return Ok(End::Stopped);
            };
            self.add(&cases, &part)?;
        }
        self.finish()?;
        Ok(End::Finished)
    }

    /// Puts the parts together. The timings appear first, so that where the results are, all is.
    ///
    /// # Errors
    /// Those of the file system; the parts then stay where they are.
    ///
    /// # Panics
    /// When a part is missing.
    pub fn finish(self) -> Result<(), RunError> {
        assert!(self.missing.is_empty(), "{} parts are missing", self.missing.len());
        self.assemble(Kind::Timings, &Self::timings_path(&self.out))?;
        self.assemble(Kind::Results, &self.out)?;
        self.parts.discard()
    }

    fn assemble(&self, kind: Kind, path: &Path) -> Result<(), RunError> {
        let failed = |source| RunError::Io { doing: "write", path: path.to_owned(), source };
        let file = self.parts.temporary()?;
        let mut out = self.write(kind, BufWriter::new(file.as_file()))?;
        out.flush().map_err(failed)?;
        drop(out);
        file.as_file().sync_all().map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    fn write<W: Write + Send>(&self, kind: Kind, out: W) -> Result<W, RunError> {
        let mut metadata = Identity::of(&self.campaign).metadata();
        metadata.push((N_CASES_KEY, self.n_cases.to_string()));
        let ranges = self.ranges();
        let read = |cases| -> Result<_, RunError> {
            let bytes = Bytes::from(self.parts.read(cases, kind)?);
            Ok((TableFile::open(bytes.clone())?, bytes))
        };
        let (first, _) = read(&ranges[0])?;
        let schema = first.reader().metadata().file_metadata().schema_descr().root_schema_ptr();
        let mut writer = SerializedFileWriter::new(out, schema, properties(&metadata))?;
        let mut digests = Vec::with_capacity(ranges.len());
        for cases in &ranges {
            let (part, bytes) = read(cases)?;
            append(&mut writer, &part, &bytes)?;
            digests.push(part.digest(0, &bytes)?);
        }
        writer.append_key_value_metadata(KeyValue::new(DIGESTS_KEY.to_owned(), digests.join(" ")));
        Ok(writer.into_inner()?)
    }

    /// All parts. Where they are cut depends on the template alone.
    fn ranges(&self) -> Vec<Range<u64>> {
        let n_leads = self.campaign.template().leads().len();
        let n_per_part = ((N_ROWS_PER_PART / n_leads) as u64).clamp(1, N_CASES_PER_PART_MAX);
        let starts = (0..self.n_cases).step_by(usize::try_from(n_per_part).unwrap_or(usize::MAX));
        starts.map(|start| start..self.n_cases.min(start + n_per_part)).collect()
    }
}

/// Copies the row group of a part as it is.
fn append<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    part: &TableFile<Bytes>,
    bytes: &Bytes,
) -> Result<(), ParquetError> {
    for group in part.reader().metadata().row_groups() {
        let mut out = writer.next_row_group()?;
        for column in group.columns() {
            let close = ColumnCloseResult {
                bytes_written: column.compressed_size() as u64,
                rows_written: group.num_rows() as u64,
                metadata: column.clone(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            out.append_column(bytes, close)?;
        }
        out.close()?;
    }
    Ok(())
}

/// The path with `suffix` behind its file name.
fn beside(path: &Path, suffix: &str) -> Result<PathBuf, RunError> {
    let name = path.file_name().ok_or_else(|| RunError::NoFileName { path: path.to_owned() })?;
    let mut name = name.to_owned();
    name.push(suffix);
    Ok(path.with_file_name(name))
}
