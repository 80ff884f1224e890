//! Traces from files: CSV, and Parquet with a sample a row.

use std::fs::{File, read_dir};
use std::io;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use parquet::errors::ParquetError;
use series::csv::{Column, CsvError, Options};

use super::{Trace, TraceError};
use crate::table::TableFile;

/// The limit on samples, as in the CSV reader.
const N_SAMPLES_MAX: i64 = 100_000_000;

/// The reason why a file or folder gives no traces.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceFileError {
    /// The file system refused.
    #[error("cannot read `{}`", path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// A folder with nothing to read in it.
    #[error("there is no file in `{}` whose name ends in .csv or .parquet", path.display())]
    EmptyFolder {
        /// The folder.
        path: PathBuf,
    },
    /// An ending that says nothing of the format.
    #[error("cannot tell the format of `{}` from its name; it must end in .csv or .parquet", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// No CSV, or none that is a series.
    #[error("cannot take a series from `{}`", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// The error.
        source: CsvError,
    },
    /// No Parquet, or compressed in a way that is not known here.
    #[error("cannot take a series from `{}`; only Parquet that is uncompressed, or compressed with snappy or zstd, is read", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The error.
        source: ParquetError,
    },
    /// No column, or several, could be the samples.
    #[error("`{}` has the columns {known}; choose one by its name", path.display())]
    Columns {
        /// The file.
        path: PathBuf,
        /// Their names.
        known: String,
    },
    /// More than fits.
    #[error("`{}` has {n_rows} rows; at most {N_SAMPLES_MAX} are read", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Its rows.
        n_rows: i64,
    },
    /// Samples that are none.
    #[error("in `{}`", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// The fault of the samples.
        source: TraceError,
    },
}

impl Trace {
    /// The trace in a file, or those in all files of a folder that end in `.csv` or `.parquet`, each called as its file
    /// without the ending. `column` is where the samples are; `None` takes the only one that can be meant.
    ///
    /// CSV is read as everywhere, times and gaps included. Rows of Parquet are one step apart, oldest first; a sample
    /// that is null or no finite number is a gap.
    ///
    /// # Errors
    /// See [`TraceFileError`]: one file that cannot be read is named, and nothing is read around it.
    pub fn read(path: &Path, column: Option<&str>) -> Result<Vec<Self>, TraceFileError> {
        Self::read_in(path, column, None)
    }

    /// Reads traces as [`Trace::read`] does, with the time zone of times without an offset in CSV.
    ///
    /// # Errors
    /// As [`Trace::read`].
    pub fn read_in(path: &Path, column: Option<&str>, zone: Option<&TimeZone>) -> Result<Vec<Self>, TraceFileError> {
        let failed = |source| TraceFileError::Io { path: path.to_owned(), source };
        if !path.metadata().map_err(failed)?.is_dir() {
            return Ok(vec![read_file(path, column, zone)?]);
        }
        let entries = read_dir(path).map_err(failed)?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>().map_err(failed)?;
        paths.retain(|path| Format::of(path).is_some());
        if paths.is_empty() {
            return Err(TraceFileError::EmptyFolder { path: path.to_owned() });
        }
        paths.sort();
        paths.iter().map(|path| read_file(path, column, zone)).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Csv,
    Parquet,
}

impl Format {
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }
}

fn read_file(path: &Path, column: Option<&str>, zone: Option<&TimeZone>) -> Result<Trace, TraceFileError> {
    let format = Format::of(path).ok_or_else(|| TraceFileError::UnknownFormat { path: path.to_owned() })?;
    let file = File::open(path).map_err(|source| TraceFileError::Io { path: path.to_owned(), source })?;
    let (samples, merged) = match format {
        Format::Csv => {
            let column = column.map(|name| Column::Name(name.to_owned()));
            let series = series::csv::read(file, &Options { column, zone: zone.cloned(), ..Options::default() })
                .map_err(|source| TraceFileError::Csv { path: path.to_owned(), source })?;
            (series.samples().to_vec(), series.merged().cloned())
        }
        Format::Parquet => {
            let table =
                TableFile::open(file).map_err(|source| TraceFileError::Parquet { path: path.to_owned(), source })?;
            (read_table(&table, path, column)?, None)
        }
    };
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let trace = Trace::new(name, samples).map_err(|source| TraceFileError::Trace { path: path.to_owned(), source })?;
    Ok(Trace { merged, ..trace })
}

fn read_table(table: &TableFile<File>, path: &Path, column: Option<&str>) -> Result<Vec<f64>, TraceFileError> {
    let n_rows = table.n_rows();
    if n_rows > N_SAMPLES_MAX {
        return Err(TraceFileError::TooLong { path: path.to_owned(), n_rows });
    }
    let names = table.names();
    let wanted = match (column, &names[..]) {
        (Some(wanted), _) => names.iter().find(|name| **name == wanted),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let absent = || TraceFileError::Columns { path: path.to_owned(), known: format!("`{}`", names.join("`, `")) };
    let wanted = wanted.ok_or_else(absent)?;
    let mut samples = Vec::new();
    for group in 0..table.n_groups() {
        let cells = table.reals(group, wanted);
        let cells = cells.map_err(|source| TraceFileError::Parquet { path: path.to_owned(), source })?;
        samples.extend(cells.into_iter().map(|cell| cell.filter(|sample| sample.is_finite()).unwrap_or(f64::NAN)));
    }
    Ok(samples)
}
