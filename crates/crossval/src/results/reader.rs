//! Rows of a result file, checked as they are read.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use parquet::errors::ParquetError;

use super::{Metric, Place, Record, Results, ResultsError, Score, Tested};
use crate::report::SIGNIFICANCE;
use crate::table::TableFile;

/// Takes row groups one after the other into results.
pub(super) struct Reader<'a> {
    path: &'a Path,
    results: &'a mut Results,
    models: HashMap<Arc<str>, usize>,
    n_rows: usize,
}

/// The columns of a row group that are read.
struct Columns {
    wholes: Vec<Vec<Option<i64>>>,
    trace: Vec<Option<Arc<str>>>,
    family: Vec<Option<Arc<str>>>,
    model: Vec<Option<Arc<str>>>,
    failure: Vec<Option<Arc<str>>>,
    reals: Vec<Vec<Option<f64>>>,
}

/// Columns that are read whatever the metric, after the loss and what it is taken relative to.
const REALS: [&str; 10] = [
    "mse",
    "last_mse",
    "coverage_50",
    "coverage_80",
    "coverage_95",
    "ljung_box_p",
    "turning_points_p",
    "rises_p",
    "normality_p",
    "normality_r2",
];

const WHOLES: [&str; 8] = ["case", "start", "aggregate", "difference", "n_fit", "n_test", "n_coefficients", "lead"];

impl Columns {
    fn read(table: &TableFile<File>, group: usize, metric: Metric) -> Result<Self, ParquetError> {
        let (loss, naive) = metric.columns();
        let reals = [loss, naive].into_iter().chain(REALS);
        Ok(Self {
            wholes: WHOLES.iter().map(|name| table.wholes(group, name)).collect::<Result<_, _>>()?,
            trace: table.words(group, "trace")?,
            family: table.words(group, "family")?,
            model: table.words(group, "model")?,
            failure: table.words(group, "failure")?,
            reals: reals.map(|name| table.reals(group, name)).collect::<Result<_, _>>()?,
        })
    }

    fn whole(&self, row: usize, name: &str) -> Option<usize> {
        let column = WHOLES.iter().position(|known| *known == name)?;
        usize::try_from(self.wholes[column][row]?).ok()
    }

    fn place(&self, row: usize, trace_idx: usize) -> Option<Place> {
        let whole = |name| self.whole(row, name);
        // Beyond this no window lies, and sums of such numbers do not overflow.
        let small = |name| whole(name).filter(|number| *number <= 100_000_000);
        Some(Place {
            trace_idx,
            start: small("start")?,
            aggregate: small("aggregate")?,
            n_differences: small("difference")?,
            n_fit: small("n_fit")?,
            n_test: small("n_test")?,
        })
    }

    fn real(&self, row: usize, column: usize) -> f64 {
        self.reals[column][row].unwrap_or(f64::NAN)
    }

    fn tested(&self, row: usize) -> Tested {
        let is_kept = |column: usize| self.reals[column][row].map(|p_value| p_value >= SIGNIFICANCE);
        Tested {
            ljung_box: is_kept(7),
            turning_points: is_kept(8),
            rises: is_kept(9),
            normality: is_kept(10),
            r_squared: self.real(row, 11) as f32,
        }
    }

    fn score(&self, row: usize) -> Score {
        let real = |column: usize| self.real(row, column);
        let has_failed = self.failure[row].is_some();
        let or_failed = |figure: f64| if has_failed { f64::INFINITY } else { figure };
        Score {
            loss: or_failed(real(0)),
            naive: real(1),
            over_last: or_failed(real(2) / real(3)),
            coverage: [real(4), real(5), real(6)],
        }
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(path: &'a Path, results: &'a mut Results) -> Self {
        Self { path, results, models: HashMap::new(), n_rows: 0 }
    }

    pub(super) fn take(&mut self, table: &TableFile<File>, group: usize, n_leads: usize) -> Result<(), ResultsError> {
        let columns = Columns::read(table, group, self.results.metric)
            .map_err(|source| ResultsError::Parquet { path: self.path.to_owned(), source })?;
        let n_rows = columns.trace.len();
        let start = self.n_rows;
        let wrong = |row: usize, problem| ResultsError::Row { path: self.path.to_owned(), row: start + row, problem };
        if !n_rows.is_multiple_of(n_leads) {
            return Err(wrong(n_rows, "there is not a row for each lead of each case"));
        }
        for first in (0..n_rows).step_by(n_leads) {
            let record = self.record(&columns, first..first + n_leads).map_err(|problem| wrong(first, problem))?;
            self.results.records.push(record);
        }
        self.n_rows += n_rows;
        Ok(())
    }

    fn record(&mut self, columns: &Columns, rows: Range<usize>) -> Result<Record, &'static str> {
        let first = rows.start;
        let case = columns.whole(first, "case").ok_or("it has no case")? as u64;
        let word = |column: &[Option<Arc<str>>]| column[first].clone();
        let trace = word(&columns.trace).ok_or("it has no trace")?;
        let trace_idx = self.results.identity.traces.iter().position(|known| *known.name == *trace);
        let family = word(&columns.family).ok_or("it has no family")?;
        let family_idx = self
            .results
            .families
            .iter()
            .position(|known| **known == *family)
            .ok_or("its family is not in the template")?;
        let model = word(&columns.model).ok_or("it has no model")?;
        let place =
            columns.place(first, trace_idx.ok_or("its trace is not in the campaign")?).ok_or("it has no window")?;
        let n_coefficients = columns.whole(first, "n_coefficients").ok_or("its model has no number of coefficients")?;
        let results = &mut *self.results;
        let model_idx = *self.models.entry(Arc::clone(&model)).or_insert_with(|| {
            results.models.push(model.to_string());
            results.n_coefficients.push(n_coefficients);
            results.models.len() - 1
        });
        let failure = word(&columns.failure);
        if let Some(reason) = &failure {
            *results.failures.entry((family_idx, reason.to_string())).or_default() += 1;
        }
        let row_of = |lead: &usize| rows.clone().find(|row| columns.whole(*row, "lead") == Some(*lead));
        let rows =
            results.leads.iter().map(row_of).collect::<Option<Vec<_>>>().ok_or("its leads are not the template's")?;
        let scores = rows.into_iter().map(|row| columns.score(row)).collect();
        let (residuals, has_failed) = (columns.tested(first), failure.is_some());
        let timing = (f32::NAN, f32::NAN);
        Ok(Record { case, place, family_idx, model_idx, has_failed, residuals, timing, scores })
    }
}
