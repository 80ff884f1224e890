//! Jobs of MPI programs: `GET /api/v1/mpi/jobs…`.

#![expect(unused_qualifications, reason = "the macro of utoipa qualifies what it is given")]

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use mpi_analysis::draw::{Waits, last_arrival_tree, pathmap as draw_pathmap};
use mpi_analysis::{Analysis, KernelLog};
use mpi_trace::Flow;
use utoipa::IntoParams;

use super::App;
use super::extract::{Fields, FromQuery, NoParameters, Query, in_path};
use super::refusal::Refusal;
use crate::api::{ErrorBody, ErrorCode, MpiFlow, MpiJobDetail, MpiJobs};
use crate::mpi::JobsError;

/// The name of a job in the path: one that is none finds nothing.
pub(super) struct Job(String);

impl<S: Send + Sync> FromRequestParts<S> for Job {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        in_path(parts, state, "job").await.map(Self)
    }
}

/// Every job of the node's user on this host.
#[utoipa::path(get, path = "/api/v1/mpi/jobs", tag = "mpi", responses(
    (status = 200, body = MpiJobs), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn list(State(app): State<App>, _: Query<NoParameters>) -> Result<Json<MpiJobs>, Refusal> {
    let jobs = app.jobs;
    app.reads.run(move || Ok(Json(jobs.list()?))).await
}

/// State of a job, observed from the first request on.
#[utoipa::path(get, path = "/api/v1/mpi/jobs/{job}", tag = "mpi", params(("job" = String, Path)), responses(
    (status = 200, body = MpiJobDetail), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn detail(
    State(app): State<App>,
    Job(job): Job,
    _: Query<NoParameters>,
) -> Result<Json<MpiJobDetail>, Refusal> {
    let jobs = app.jobs;
    app.reads.run(move || Ok(Json(jobs.detail(&job)?))).await
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct TreeQuery {
    /// The tree's name; needed where the job has several.
    #[param(value_type = Option<String>, example = "flat")]
    tree: Option<String>,
    /// The flow of the calls; by default that of most calls.
    #[param(value_type = Option<MpiFlow>, example = "all")]
    flow: Option<Flow>,
}

impl FromQuery for TreeQuery {
    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self { tree: fields.text("tree")?, flow: fields.read("flow", flow)? })
    }
}

fn flow(text: &str) -> Result<Flow, String> {
    match text {
        "all" => Ok(Flow::All),
        "to_root" => Ok(Flow::ToRoot),
        "from_root" => Ok(Flow::FromRoot),
        _ => Err(format!("`{text}` is no flow: all, to_root and from_root are")),
    }
}

/// All figures of a tree's calls of one flow: an element of `trees` of `foretop mpi analyze --json`.
#[utoipa::path(get, path = "/api/v1/mpi/jobs/{job}/analysis", tag = "mpi", params(("job" = String, Path), TreeQuery),
    responses((status = 200, body = Object), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn analysis(
    State(app): State<App>,
    Job(job): Job,
    Query(query): Query<TreeQuery>,
) -> Result<Response, Refusal> {
    of_analysis(app, job, query, |analysis| Json(analysis.report(&KernelLog::default())).into_response()).await
}

/// Returns the answer that `made` builds from the figures of a tree.
async fn of_analysis(
    app: App,
    job: String,
    TreeQuery { tree, flow }: TreeQuery,
    made: impl FnOnce(&Analysis) -> Response + Send + 'static,
) -> Result<Response, Refusal> {
    let jobs = app.jobs;
    app.reads.run(move || Ok(made(&jobs.analysis(&job, tree.as_deref(), flow)?))).await
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PathmapQuery {
    /// The tree's name; needed where the job has several.
    #[param(value_type = Option<String>, example = "flat")]
    tree: Option<String>,
    /// The flow of the calls; by default that of most calls.
    #[param(value_type = Option<MpiFlow>, example = "all")]
    flow: Option<Flow>,
    /// Whether waits for late ranks are drawn; `false` by default.
    #[param(value_type = Option<bool>, example = true)]
    waits: bool,
}

impl FromQuery for PathmapQuery {
    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        let TreeQuery { tree, flow } = TreeQuery::read(fields)?;
        Ok(Self { tree, flow, waits: fields.flag("waits")?.unwrap_or(false) })
    }
}

/// Each rank's way down to the root and up again, as a picture.
#[utoipa::path(get, path = "/api/v1/mpi/jobs/{job}/pathmap.svg", tag = "mpi", params(("job" = String, Path), PathmapQuery),
    responses((status = 200, content_type = "image/svg+xml", body = String),
    (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn pathmap(
    State(app): State<App>,
    Job(job): Job,
    Query(query): Query<PathmapQuery>,
) -> Result<Response, Refusal> {
    let PathmapQuery { tree, flow, waits } = query;
    let waits = if waits { Waits::Drawn } else { Waits::LeftOut };
    of_analysis(app, job, TreeQuery { tree, flow }, move |analysis| svg(draw_pathmap(analysis, waits).to_svg())).await
}

/// The tree with edges as thick as their lower ends were the last to arrive, as a picture.
#[utoipa::path(get, path = "/api/v1/mpi/jobs/{job}/last-arrival.svg", tag = "mpi", params(("job" = String, Path), TreeQuery),
    responses((status = 200, content_type = "image/svg+xml", body = String),
    (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn last_arrival(
    State(app): State<App>,
    Job(job): Job,
    Query(query): Query<TreeQuery>,
) -> Result<Response, Refusal> {
    of_analysis(app, job, query, |analysis| svg(last_arrival_tree(analysis).to_svg())).await
}

fn svg(text: String) -> Response {
    ([(header::CONTENT_TYPE, "image/svg+xml")], text).into_response()
}

impl From<JobsError> for Refusal {
    fn from(error: JobsError) -> Self {
        match error {
            JobsError::Folder(_) | JobsError::NoThread(_) => Self::internal(&error),
            JobsError::UnknownJob { .. } => Self::new(ErrorCode::UnknownJob, error.to_string()),
            JobsError::UnknownTree { .. } => Self::bad_parameter("tree", error.to_string()),
            JobsError::UnknownFlow { .. } => Self::bad_parameter("flow", error.to_string()),
            JobsError::TooMany => Self::new(ErrorCode::TooMany, error.to_string()),
        }
    }
}
