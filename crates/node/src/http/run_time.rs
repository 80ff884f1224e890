//! The time that a task will take: `GET /api/v1/runtime`.

#![expect(unused_qualifications, reason = "the macro of utoipa qualifies what it is given")]

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use units::Confidence;
use utoipa::IntoParams;

use super::App;
use super::extract::{Fields, FromQuery, Query};
use super::refusal::Refusal;
use crate::api::{ErrorBody, RunTime};
use crate::hub::Job;

/// The least CPU time that is asked about: beyond this the scheduler's own grain shows.
const CPU_MIN: Duration = Duration::from_millis(1);

/// The most: four months of a core.
const CPU_MAX: Duration = Duration::from_secs(10_000_000);

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct RunTimeQuery {
    /// CPU time that the task needs, of all its threads together, in seconds: 0.001 to 10,000,000.
    #[param(value_type = f64, example = 10)]
    cpu_seconds: Duration,
    /// Number of threads that share the work; 1 by default.
    #[param(value_type = Option<u32>, example = 1)]
    threads: u32,
    /// Share of tasks that the bounds are meant to hold, in (0, 1); 0.95 by default.
    #[param(value_type = Option<f64>, example = 0.95)]
    confidence: Confidence,
}

impl FromQuery for RunTimeQuery {
    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        let cpu_seconds = fields.read("cpu_seconds", cpu)?;
        let missing = || Refusal::bad_parameter("cpu_seconds", "`cpu_seconds` is missing; write cpu_seconds=10");
        Ok(Self {
            cpu_seconds: cpu_seconds.ok_or_else(missing)?,
            threads: fields.read("threads", threads)?.unwrap_or(1),
            confidence: fields.read("confidence", str::parse)?.unwrap_or_default(),
        })
    }
}

/// Distribution of the time that a task takes if it starts at once.
#[utoipa::path(get, path = "/api/v1/runtime", tag = "forecast", params(RunTimeQuery),
    responses((status = 200, body = RunTime), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn run_time(State(app): State<App>, Query(query): Query<RunTimeQuery>) -> Result<Response, Refusal> {
    let RunTimeQuery { cpu_seconds: cpu, threads: n_threads, confidence } = query;
    let hub = app.hub.clone();
    // A forecast of many leads takes milliseconds.
    app.reads.run(move || Ok(Json(hub.run_time(Job { cpu, n_threads, confidence })?).into_response())).await
}

fn cpu(text: &str) -> Result<Duration, String> {
    let seconds = text.trim().parse::<f64>().ok();
    let length = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    length.filter(|length| (CPU_MIN..=CPU_MAX).contains(length)).ok_or_else(|| {
        format!("`{text}` is not a CPU time; write seconds from {} to {}", CPU_MIN.as_secs_f64(), CPU_MAX.as_secs())
    })
}

fn threads(text: &str) -> Result<u32, String> {
    let n_threads = text.trim().parse().ok().filter(|n_threads| *n_threads > 0);
    n_threads.ok_or_else(|| format!("`{text}` is not a number of threads; write 1 or more"))
}
