//! The rows of a result file as they are, a column at a time: for those who make tables of their own.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::{ResultsError, check_digests, open};
use crate::table::{Cells, TableFile};

/// A result file whose bytes are what was written.
pub struct Rows {
    path: PathBuf,
    table: TableFile<File>,
}

impl Rows {
    /// Opens a file of results or timings, and reads every byte of it once.
    ///
    /// # Errors
    /// See [`ResultsError`].
    pub fn open(path: &Path) -> Result<Self, ResultsError> {
        let table = open(path)?;
        check_digests(path, &table)?;
        Ok(Self { path: path.to_owned(), table })
    }

    /// The columns, in the order of the file.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.table.names()
    }

    /// All cells of a column.
    ///
    /// # Errors
    /// [`ResultsError::Parquet`] for a column that is not there.
    pub fn column(&self, name: &str) -> Result<Cells, ResultsError> {
        let failed = |source| ResultsError::Parquet { path: self.path.clone(), source };
        let mut column: Option<Cells> = None;
        for group in 0..self.table.n_groups() {
            let cells = self.table.cells(group, name).map_err(failed)?;
            match (&mut column, cells) {
                (Some(Cells::Whole(all)), Cells::Whole(cells)) => all.extend(cells),
                (Some(Cells::Real(all)), Cells::Real(cells)) => all.extend(cells),
                (Some(Cells::Words(all)), Cells::Words(cells)) => all.extend(cells),
                (column, cells) => *column = Some(cells),
            }
        }
        Ok(column.unwrap_or_else(|| Cells::Real(Vec::new())))
    }
}
