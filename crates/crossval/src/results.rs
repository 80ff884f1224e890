//! Result files read again: what a report needs of them, row group by row group.

mod reader;
mod rows;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

use crate::identity::Identity;
use crate::run::{DIGESTS_KEY, N_CASES_KEY, N_CASES_PER_PART_MAX, Run};
use crate::table::TableFile;
use crate::template::{Template, TemplateError};
use reader::Reader;

pub use rows::Rows;

/// Leads that a report shows; of more, so many are picked, evenly on a logarithmic scale.
const N_LEADS_MAX: usize = 7;

/// The reason why a file gives no results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// The file system refused.
    #[error("cannot read `{}`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// Not Parquet, or damaged.
    #[error("`{}` is not a Parquet file, or is damaged", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The decoder's error.
        source: ParquetError,
    },
    /// A row group that is not what was written.
    #[error("part {group} of `{}` is damaged: its bytes have changed since they were written", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The number of the part, from 0.
        group: usize,
    },
    /// Parquet of something else.
    #[error("`{}` does not say which campaign it belongs to; results are written by `foretop crossval run`", path.display())]
    NoIdentity {
        /// The file.
        path: PathBuf,
    },
    /// The template in it is none.
    #[error("the template in `{}`", path.display())]
    Template {
        /// The file.
        path: PathBuf,
        /// The error in the template.
        source: Box<TemplateError>,
    },
    /// Rows that do not belong to the campaign that the file says it is of.
    #[error("row {row} of `{}` is not valid: {problem}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The number of the row, from 0.
        row: usize,
        /// The fault of the row.
        problem: &'static str,
    },
}

/// The measure by which forecasts are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// Mean squared error.
    #[default]
    MeanSquared,
    /// Mean absolute error.
    MeanAbsolute,
    /// Continuous ranked probability score: of the mean and of its error bar.
    Crps,
    /// Score of the 95 % interval.
    IntervalScore,
}

impl Metric {
    /// Returns the metric in words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MeanSquared => "mean squared error",
            Self::MeanAbsolute => "mean absolute error",
            Self::Crps => "continuous ranked probability score",
            Self::IntervalScore => "score of the 95 % interval",
        }
    }

    /// Its column, and the column of what it is taken relative to.
    fn columns(self) -> (&'static str, &'static str) {
        match self {
            Self::MeanSquared => ("mse", "mean_mse"),
            Self::MeanAbsolute => ("mae", "mean_mae"),
            Self::Crps => ("crps", "mean_mae"),
            Self::IntervalScore => ("interval_score_95", "mean_mae"),
        }
    }
}

/// A result file, as far as a report needs it.
#[derive(Clone, Debug)]
pub struct Results {
    pub(crate) identity: Identity,
    pub(crate) families: Vec<String>,
    pub(crate) leads: Vec<usize>,
    pub(crate) metric: Metric,
    pub(crate) n_cases: u64,
    pub(crate) models: Vec<String>,
    pub(crate) n_coefficients: Vec<usize>,
    pub(crate) records: Vec<Record>,
    /// Reasons of failure, and how many cases failed for each.
    pub(crate) failures: BTreeMap<(usize, String), u64>,
    pub(crate) hosts: Vec<String>,
}

/// A case.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) case: u64,
    pub(crate) place: Place,
    pub(crate) family_idx: usize,
    pub(crate) model_idx: usize,
    pub(crate) has_failed: bool,
    pub(crate) residuals: Tested,
    /// Seconds of the fit and of a step; NaN where the timings are not there.
    pub(crate) timing: (f32, f32),
    /// One for each of the report's leads.
    pub(crate) scores: Box<[Score]>,
}

/// Whether each test of a case's errors one step ahead did not reject; `None` of what could not be tested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tested {
    pub(crate) ljung_box: Option<bool>,
    pub(crate) turning_points: Option<bool>,
    pub(crate) rises: Option<bool>,
    pub(crate) normality: Option<bool>,
    /// R^2 of the quantile-quantile line; NaN where there is none.
    pub(crate) r_squared: f32,
}

/// The place of a window; equal for the cases on one window, in whatever file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) trace_idx: usize,
    pub(crate) start: usize,
    pub(crate) aggregate: usize,
    pub(crate) n_differences: usize,
    pub(crate) n_fit: usize,
    pub(crate) n_test: usize,
}

/// The scores of a case at a lead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Score {
    /// The loss by the metric; infinite for a model that could not be fitted, NaN where there was nothing to score.
    pub(crate) loss: f64,
    /// The loss of the mean of the samples to which the model is fitted.
    pub(crate) naive: f64,
    /// Mean squared error over that of the last value, for whatever metric.
    pub(crate) over_last: f64,
    /// Shares inside the 50, 80 and 95 % intervals.
    pub(crate) coverage: [f64; 3],
}

impl Place {
    /// The samples of the trace that forecasts are scored against.
    pub(crate) fn raw_test(&self) -> Range<usize> {
        let end = self.start + (self.n_fit + self.n_test + self.n_differences) * self.aggregate;
        end - self.n_test * self.aggregate..end
    }
}

impl Results {
    /// Reads a file that a run has written, and the timings beside it if they are there.
    ///
    /// # Errors
    /// See [`ResultsError`]. A file of which one row is wrong gives nothing.
    pub fn read(path: &Path, metric: Metric) -> Result<Self, ResultsError> {
        let table = open(path)?;
        check_digests(path, &table)?;
        let no_identity = || ResultsError::NoIdentity { path: path.to_owned() };
        let identity = Identity::read(|key| table.metadata(key)).ok_or_else(no_identity)?;
        let n_cases = table.metadata(N_CASES_KEY).and_then(|text| text.parse().ok()).ok_or_else(no_identity)?;
        let template = Template::read(&identity.template)
            .map_err(|error| ResultsError::Template { path: path.to_owned(), source: Box::new(error) })?;
        let models = template.models().iter().map(ToString::to_string);
        let families = models.chain(identity.peers.iter().cloned()).collect();
        let mut results = Self {
            identity,
            families,
            leads: picked(template.leads()),
            metric,
            n_cases,
            models: Vec::new(),
            n_coefficients: Vec::new(),
            records: Vec::new(),
            failures: BTreeMap::new(),
            hosts: Vec::new(),
        };
        // Grown by doubling, a million of them would be there twice.
        results.records.reserve_exact(table.n_groups() * N_CASES_PER_PART_MAX as usize);
        let mut reader = Reader::new(path, &mut results);
        (0..table.n_groups()).try_for_each(|group| reader.take(&table, group, template.leads().len()))?;
        let timings = Run::timings_path(path);
        if timings.exists() {
            results.read_timings(&timings)?;
        }
        Ok(results)
    }

    /// Returns the identity of the results.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns the number of cases.
    #[must_use]
    pub fn n_cases(&self) -> u64 {
        self.n_cases
    }

    fn read_timings(&mut self, path: &Path) -> Result<(), ResultsError> {
        let table = open(path)?;
        let broken = |source| ResultsError::Parquet { path: path.to_owned(), source };
        check_digests(path, &table)?;
        // Timings of another run under the same name say nothing of this one.
        if Identity::read(|key| table.metadata(key)).as_ref() != Some(&self.identity) {
            return Ok(());
        }
        for group in 0..table.n_groups() {
            let cases = table.wholes(group, "case").map_err(broken)?;
            let fits = table.reals(group, "fit_seconds").map_err(broken)?;
            let steps = table.reals(group, "step_seconds").map_err(broken)?;
            for ((case, fit), step) in cases.into_iter().zip(fits).zip(steps) {
                let (Some(case), Some(fit), Some(step)) = (case, fit, step) else { continue };
                // Rows are in the order of cases.
                if let Ok(idx) = self.records.binary_search_by_key(&case.cast_unsigned(), |record| record.case) {
                    self.records[idx].timing = (fit as f32, step as f32);
                }
            }
            for host in table.words(group, "host").map_err(broken)?.into_iter().flatten() {
                if self.hosts.last().map(String::as_str) != Some(&*host)
                    && !self.hosts.iter().any(|known| **known == *host)
                {
                    self.hosts.push(host.to_string());
                }
            }
        }
        Ok(())
    }
}

fn open(path: &Path) -> Result<TableFile<File>, ResultsError> {
    let file = File::open(path).map_err(|source| ResultsError::Io { path: path.to_owned(), source })?;
    TableFile::open(file).map_err(|source| ResultsError::Parquet { path: path.to_owned(), source })
}

/// A decoder makes sense of damaged bytes as it can; whether they are damaged has to be known before.
fn check_digests(path: &Path, table: &TableFile<File>) -> Result<(), ResultsError> {
    let no_identity = || ResultsError::NoIdentity { path: path.to_owned() };
    let digests: Vec<&str> = table.metadata(DIGESTS_KEY).ok_or_else(no_identity)?.split(' ').collect();
    let source = File::open(path).map_err(|source| ResultsError::Io { path: path.to_owned(), source })?;
    for group in 0..table.n_groups() {
        let digest =
            table.digest(group, &source).map_err(|source| ResultsError::Parquet { path: path.to_owned(), source })?;
        if digests.get(group) != Some(&digest.as_str()) {
            return Err(ResultsError::Damaged { path: path.to_owned(), group });
        }
    }
    Ok(())
}

/// All of them if they are few; else the first, the last, and some between, evenly on a logarithmic scale.
pub(crate) fn picked(leads: &[usize]) -> Vec<usize> {
    if leads.len() <= N_LEADS_MAX {
        return leads.to_vec();
    }
    let (first, last) = (leads[0] as f64, leads[leads.len() - 1] as f64);
    let wanted = (0..N_LEADS_MAX).map(|idx| first * (last / first).powf(idx as f64 / (N_LEADS_MAX - 1) as f64));
    let nearest = |wanted: f64| {
        leads.iter().copied().min_by(|a, b| (*a as f64 - wanted).abs().total_cmp(&(*b as f64 - wanted).abs()))
    };
    let mut picked: Vec<usize> = wanted.filter_map(nearest).collect();
    picked.dedup();
    picked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_leads_some_are_picked() {
        assert_eq!(picked(&(1..=30).collect::<Vec<_>>()), [1, 2, 3, 5, 10, 17, 30]);
        assert_eq!(picked(&[1, 5, 10]), [1, 5, 10]);
        assert_eq!(picked(&(1..=8).collect::<Vec<_>>()), [1, 2, 3, 4, 6, 8]);
    }
}
