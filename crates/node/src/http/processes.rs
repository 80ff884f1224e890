//! Processes of the host: `GET /api/v1/processes…`.

#![expect(unused_qualifications, reason = "the macro of utoipa qualifies what it is given")]

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use units::Moment;
use utoipa::IntoParams;

use super::App;
use super::extract::{Fields, FromQuery, Query};
use super::refusal::Refusal;
use super::series::range;
use crate::api::{ErrorBody, ProcessGrouping, ProcessOrder, ProcessTable, ProgramHistory};
use crate::processes::ProcessQuestion;

const ROWS_DEFAULT: usize = 20;

/// The most rows of an answer: more processes than a host can be looked through for.
const ROWS_MAX: usize = 10_000;

/// Default length of the past of a history that has no start.
const RANGE_DEFAULT: Duration = Duration::from_secs(3600);

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ProcessQuery {
    /// Meaning of a row: `process`, `program` (the default) or `cgroup`.
    #[param(value_type = Option<String>, example = "process")]
    by: ProcessGrouping,
    /// Order, greatest first: `cpu` (the default), `memory`, `read` or `written`.
    #[param(value_type = Option<String>, example = "memory")]
    sort: ProcessOrder,
    /// Number of rows at most, 1 to 10,000; 20 by default.
    #[param(value_type = Option<u32>, example = 20)]
    limit: usize,
    /// Moment, or a length of time before now: the last minute that is kept and began by then, by program.
    #[param(value_type = Option<String>, example = "-10min")]
    at: Option<Moment>,
}

impl FromQuery for ProcessQuery {
    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            by: fields.read("by", str::parse)?.unwrap_or_default(),
            sort: fields.read("sort", str::parse)?.unwrap_or_default(),
            limit: fields.read("limit", rows)?.unwrap_or(ROWS_DEFAULT),
            at: fields.read("at", str::parse)?,
        })
    }
}

/// Users of the host, as they are or as a kept minute has them.
#[utoipa::path(get, path = "/api/v1/processes", tag = "processes", params(ProcessQuery),
    responses((status = 200, body = ProcessTable), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn table(State(app): State<App>, Query(query): Query<ProcessQuery>) -> Result<Response, Refusal> {
    let ProcessQuery { by, sort, limit, at } = query;
    let hub = app.hub.clone();
    // It waits for a scan that is under way, and for the store.
    app.reads.run(move || Ok(Json(hub.processes(&ProcessQuestion { by, sort, limit, at })?).into_response())).await
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct HistoryQuery {
    /// Resource: `cpu` (the default), `memory`, `read` or `written`.
    #[param(value_type = Option<String>, example = "memory")]
    sort: ProcessOrder,
    /// Number of programs at most, 1 to 10,000; 20 by default.
    #[param(value_type = Option<u32>, example = 20)]
    limit: usize,
    /// First moment, or a length of time before now; an hour before `to` by default.
    #[param(value_type = Option<String>, example = "-30min")]
    from: Option<Moment>,
    /// The moment after the last, at most two hours later; now by default.
    #[param(value_type = Option<String>, example = "-0s")]
    to: Option<Moment>,
}

impl FromQuery for HistoryQuery {
    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            sort: fields.read("sort", str::parse)?.unwrap_or_default(),
            limit: fields.read("limit", rows)?.unwrap_or(ROWS_DEFAULT),
            from: fields.read("from", str::parse)?,
            to: fields.read("to", str::parse)?,
        })
    }
}

/// Use of a resource by programs in the kept minutes that begin in a range.
#[utoipa::path(get, path = "/api/v1/processes/history", tag = "processes", params(HistoryQuery),
    responses((status = 200, body = ProgramHistory), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn history(State(app): State<App>, Query(query): Query<HistoryQuery>) -> Result<Response, Refusal> {
    let HistoryQuery { sort, limit, from, to } = query;
    let (hub, range) = (app.hub.clone(), range(&app.hub, from, to, RANGE_DEFAULT)?);
    app.reads.run(move || Ok(Json(hub.program_history(range, sort, limit)?).into_response())).await
}

fn rows(text: &str) -> Result<usize, String> {
    let n_rows = text.trim().parse().ok().filter(|n_rows| (1..=ROWS_MAX).contains(n_rows));
    n_rows.ok_or_else(|| format!("`{text}` is not a number of rows; write 1 to {ROWS_MAX}"))
}
