//! A program's own signals: `POST /api/v1/series`, `POST /api/v1/series/{id}/samples`, `DELETE /api/v1/series/{id}`.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::App;
use super::extract::{Id, JsonBody, NoParameters, Query};
use super::refusal::Refusal;
use crate::api::{Accepted, ErrorBody, NewSeries, PushedSamples, SeriesDetail};

/// Time limit of an answer that waits for the model to take the samples.
const PATIENCE: Duration = Duration::from_secs(1);

/// Makes a series that a program will feed.
#[utoipa::path(post, path = "/api/v1/series", tag = "pushed", request_body = NewSeries, responses(
    (status = 201, body = SeriesDetail), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn create(
    State(app): State<App>,
    _: Query<NoParameters>,
    JsonBody(new): JsonBody<NewSeries>,
) -> Result<(StatusCode, Json<SeriesDetail>), Refusal> {
    let hub = app.hub.clone();
    let made = app.reads.run(move || Ok(hub.create(new)?)).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

/// Feeds a series; all samples are taken or none.
#[utoipa::path(post, path = "/api/v1/series/{id}/samples", tag = "pushed", params(("id" = String, Path)),
    request_body = PushedSamples,
    responses((status = 200, body = Accepted), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn push(
    State(app): State<App>,
    Id(id): Id,
    _: Query<NoParameters>,
    JsonBody(pushed): JsonBody<PushedSamples>,
) -> Result<Json<Accepted>, Refusal> {
    let (hub, fed) = (app.hub.clone(), id.clone());
    let accepted = app.reads.run(move || Ok(hub.push(&fed, &pushed.samples)?)).await?;
    // Who asks for a forecast next should get one that knows these samples, unless that takes long.
    let _ = tokio::time::timeout(PATIENCE, app.hub.caught_up(&id)).await;
    Ok(Json(Accepted { accepted }))
}

/// Removes a series, with its history.
#[utoipa::path(delete, path = "/api/v1/series/{id}", tag = "pushed", params(("id" = String, Path)), responses(
    (status = 204, description = "removed"), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn remove(State(app): State<App>, Id(id): Id, _: Query<NoParameters>) -> Result<StatusCode, Refusal> {
    let hub = app.hub.clone();
    app.reads.run(move || Ok(hub.remove(&id)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}
