//! Results as rows, one for each case and lead: `docs/formats/crossval.md`.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parquet::errors::ParquetError;
use predict::{FitError, LeadScore};
use statistics::{Residuals, Whiteness};

use crate::campaign::Campaign;
use crate::evaluate::{CaseResult, Scored, Timing};
use crate::host::host;
use crate::identity::Identity;
use crate::naive::NaiveErrors;
use crate::peer::Failure;
use crate::table::{Cells, Column, encode};

/// A range of cases evaluated, as two Parquet files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// A row for each case and lead: the same wherever it was evaluated.
    pub results: Vec<u8>,
    /// A row for each case, of how long it took and where.
    pub timings: Vec<u8>,
}

impl Campaign {
    /// Evaluates cases and writes down what they came to: what a worker elsewhere does with the bytes of a campaign.
    /// Parameters are those of [`Campaign::evaluate`].
    ///
    /// # Errors
    /// When a table cannot be encoded, which only a lack of memory would explain.
    pub fn part(
        &self,
        cases: Range<u64>,
        stop: &AtomicBool,
        note: impl Fn(&CaseResult) + Sync,
    ) -> Result<Option<Part>, ParquetError> {
        let Some(done) = self.evaluate(cases, stop, note) else { return Ok(None) };
        let metadata = Identity::of(self).metadata();
        let results = encode(&result_columns(self, &done), &metadata)?;
        let timings = encode(&timing_columns(&done), &metadata)?;
        Ok(Some(Part { results, timings }))
    }
}

/// The values from which a row's cells are taken.
struct Row<'a> {
    result: &'a CaseResult,
    lead: usize,
    naive: &'a NaiveErrors,
    /// `None` of a case that failed.
    scored: Option<(&'a Scored, &'a LeadScore)>,
}

fn result_columns(campaign: &Campaign, done: &[(CaseResult, Timing)]) -> Vec<Column> {
    let leads = campaign.template().leads();
    let rows: Vec<Row<'_>> = done.iter().flat_map(|(result, _)| rows_of(result, leads)).collect();
    let traces: Vec<Arc<str>> = campaign.traces().iter().map(|trace| Arc::from(trace.name())).collect();
    let families: Vec<Arc<str>> = campaign.families().into_iter().map(Arc::from).collect();
    let mut columns = case_columns(&rows, &traces, &families);
    columns.extend(score_columns(&rows));
    columns.extend(naive_columns(&rows));
    columns.extend(residual_columns(&rows));
    columns
}

fn rows_of<'a>(result: &'a CaseResult, leads: &'a [usize]) -> impl Iterator<Item = Row<'a>> {
    let row = |(idx, lead): (usize, &usize)| Row {
        result,
        lead: *lead,
        naive: &result.window.naive[idx],
        scored: result.outcome.as_ref().ok().map(|scored| (scored, &scored.leads[idx])),
    };
    leads.iter().enumerate().map(row)
}

fn case_columns(rows: &[Row<'_>], traces: &[Arc<str>], families: &[Arc<str>]) -> Vec<Column> {
    let whole = |name, of: &dyn Fn(&CaseResult) -> usize| {
        let cell = |row: &Row<'_>| Some(of(row.result) as i64);
        Column { name, cells: Cells::Whole(rows.iter().map(cell).collect()) }
    };
    let words = |name, of: &dyn Fn(&CaseResult) -> Option<Arc<str>>| {
        let cells = rows.chunk_by(|row, next| std::ptr::eq(row.result, next.result));
        let cells = cells.flat_map(|rows| vec![of(rows[0].result); rows.len()]).collect();
        Column { name, cells: Cells::Words(cells) }
    };
    let failure = |result: &CaseResult| result.outcome.as_ref().err().cloned();
    vec![
        whole("case", &|result| result.case.number as usize),
        whole("window", &|result| result.case.window.number as usize),
        words("trace", &|result| Some(Arc::clone(&traces[result.case.window.trace_idx]))),
        whole("start", &|result| result.case.window.start),
        whole("aggregate", &|result| result.case.window.transformation.aggregate),
        whole("difference", &|result| result.case.window.transformation.n_differences),
        whole("n_fit", &|result| result.case.window.n_fit),
        whole("n_test", &|result| result.case.window.n_test),
        whole("n_fit_gaps", &|result| result.window.n_fit_gaps),
        whole("n_test_gaps", &|result| result.window.n_test_gaps),
        words("family", &|result| Some(Arc::clone(&families[result.case.family_idx]))),
        words("model", &|result| Some(result.case.model.to_string().into())),
        whole("n_coefficients", &|result| result.case.model.n_coefficients()),
        words("failure", &|result| failure(result).as_ref().map(|error| kind(error).into())),
        words("failure_message", &|result| failure(result).map(|error| error.to_string().into())),
    ]
}

fn score_columns(rows: &[Row<'_>]) -> Vec<Column> {
    let whole = |name, of: &dyn Fn(&Scored, &LeadScore) -> u64| {
        let cell = |row: &Row<'_>| row.scored.map(|(scored, score)| of(scored, score) as i64);
        Column { name, cells: Cells::Whole(rows.iter().map(cell).collect()) }
    };
    let real = |name, of: &dyn Fn(&LeadScore) -> Option<f64>| {
        let cell = |row: &Row<'_>| row.scored.and_then(|(_, score)| of(score)).filter(|value| !value.is_nan());
        Column { name, cells: Cells::Real(rows.iter().map(cell).collect()) }
    };
    let lead = rows.iter().map(|row| Some(row.lead as i64)).collect();
    vec![
        Column { name: "lead", cells: Cells::Whole(lead) },
        whole("n_refits", &|scored, _| scored.n_refits),
        whole("n_failed_refits", &|scored, _| scored.n_failed_refits),
        whole("n", &|_, score| score.n as u64),
        whole("n_unscored", &|_, score| score.n_unscored),
        real("error_min", &|score| score.errors.map(|errors| errors.min)),
        real("error_median", &|score| score.errors.map(|errors| errors.median)),
        real("error_max", &|score| score.errors.map(|errors| errors.max)),
        real("error_mean", &|score| score.errors.map(|errors| errors.mean)),
        real("mae", &|score| score.errors.map(|errors| errors.mean_absolute)),
        real("mse", &|score| score.errors.map(|errors| errors.mean_squared)),
        real("mase", &|score| score.mean_absolute_scaled),
        real("crps", &|score| score.crps),
        real("coverage_50", &|score| score.coverage.map(|coverage| coverage.p50)),
        real("coverage_80", &|score| score.coverage.map(|coverage| coverage.p80)),
        real("coverage_95", &|score| score.coverage.map(|coverage| coverage.p95)),
        real("interval_score_50", &|score| score.interval_scores.map(|scores| scores.p50)),
        real("interval_score_80", &|score| score.interval_scores.map(|scores| scores.p80)),
        real("interval_score_95", &|score| score.interval_scores.map(|scores| scores.p95)),
    ]
}

fn naive_columns(rows: &[Row<'_>]) -> Vec<Column> {
    let real = |name, of: &dyn Fn(&Row<'_>) -> f64| {
        let cell = |row: &Row<'_>| Some(of(row)).filter(|value| !value.is_nan());
        Column { name, cells: Cells::Real(rows.iter().map(cell).collect()) }
    };
    vec![
        real("test_variance", &|row| row.result.window.test_variance),
        real("mean_mse", &|row| row.naive.mean_squared_of_mean),
        real("mean_mae", &|row| row.naive.mean_absolute_of_mean),
        real("last_mse", &|row| row.naive.mean_squared_of_last),
        real("last_mae", &|row| row.naive.mean_absolute_of_last),
    ]
}

/// Builds the columns of the residual tests, in which the result of a case is repeated in the row of each lead.
fn residual_columns(rows: &[Row<'_>]) -> Vec<Column> {
    let real = |name, of: &dyn Fn(&Residuals) -> Option<f64>| {
        let cell = |row: &Row<'_>| row.scored.and_then(|(scored, _)| of(&scored.residuals));
        Column { name, cells: Cells::Real(rows.iter().map(cell).collect()) }
    };
    let noise = |of: fn(&Whiteness) -> f64| move |found: &Residuals| found.whiteness.as_ref().ok().map(of);
    vec![
        real("ljung_box_p", &noise(|noise| noise.ljung_box.p_value)),
        real("turning_points_p", &noise(|noise| noise.turning_points.p_value)),
        real("rises_p", &noise(|noise| noise.rises.p_value)),
        real("significant_share", &noise(|noise| noise.significant_share)),
        real("normality_r2", &|found| found.normality.as_ref().ok().map(|line| line.r_squared)),
        real("normality_p", &|found| found.normality.as_ref().ok().and_then(|line| line.p_value)),
    ]
}

fn timing_columns(done: &[(CaseResult, Timing)]) -> Vec<Column> {
    let host: Arc<str> = host().into();
    let seconds = |of: &dyn Fn(&Timing) -> f64| Cells::Real(done.iter().map(|(_, timing)| Some(of(timing))).collect());
    let numbers = done.iter().map(|(result, _)| Some(result.case.number as i64)).collect();
    vec![
        Column { name: "case", cells: Cells::Whole(numbers) },
        Column { name: "fit_seconds", cells: seconds(&|timing| timing.fit.as_secs_f64()) },
        Column { name: "step_seconds", cells: seconds(&|timing| timing.step.as_secs_f64()) },
        Column { name: "host", cells: Cells::Words(vec![Some(host); done.len()]) },
    ]
}

/// Returns the reason why a fit failed, in as many words as there are kinds of reasons.
fn kind(failure: &Failure) -> &'static str {
    let error = match failure {
        Failure::Fit(error) => error,
        Failure::Peer(_) => return "peer gave up",
    };
    match error {
        FitError::TooShort { .. } => "too short",
        FitError::TooBroken { .. } => "too many gaps",
        FitError::Constant { .. } | FitError::ConstantDifferences { .. } => "constant",
        FitError::DidNotConverge { .. } => "did not converge",
        FitError::FractionOutside { .. } => "fraction outside",
        FitError::NoThreshold { .. } => "no threshold",
        FitError::Explosive { .. } => "explosive",
        FitError::Infinite { .. } => "infinite sample",
        FitError::TooSmall { .. } => "too small",
        FitError::TooLarge { .. } => "too large",
        FitError::TooDear { .. } => "too dear",
        _ => "another reason",
    }
}
