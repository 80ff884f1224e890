//! Warnings, silences, acknowledgements, and what runs out: `GET /api/v1/warnings`,
//! `POST /api/v1/warnings/{name}/silence` and `/acknowledge`, `GET /api/v1/exhaustion`.

use axum::Json;
use axum::extract::State;
use units::span;

use super::App;
use super::extract::{JsonBody, Name, NoParameters, Query};
use super::refusal::Refusal;
use crate::api::{Acknowledging, ErrorBody, ErrorCode, ExhaustionList, Silence, Warning, Warnings};

/// The longest name of somebody who acknowledges a warning.
const BY_BYTES_MAX: usize = 100;

/// Rules and how they stand, and signals that will leave their usual range.
#[utoipa::path(get, path = "/api/v1/warnings", tag = "forecast", responses(
    (status = 200, body = Warnings), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn list(State(app): State<App>, _: Query<NoParameters>) -> Result<Json<Warnings>, Refusal> {
    Ok(Json(app.hub.warnings()))
}

/// Resources of all hosts that will be exhausted, soonest first.
#[utoipa::path(get, path = "/api/v1/exhaustion", tag = "forecast", responses(
    (status = 200, body = ExhaustionList), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn exhaustion(
    State(app): State<App>,
    _: Query<NoParameters>,
) -> Result<Json<ExhaustionList>, Refusal> {
    let hub = app.hub.clone();
    app.reads.run(move || Ok(Json(hub.exhaustion()?))).await
}

/// Has nobody told of a rule for some time.
#[utoipa::path(post, path = "/api/v1/warnings/{name}/silence", tag = "forecast", params(("name" = String, Path)),
    request_body = Silence,
    responses((status = 200, body = Warning), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn silence(
    State(app): State<App>,
    Name(name): Name,
    _: Query<NoParameters>,
    JsonBody(silence): JsonBody<Silence>,
) -> Result<Json<Warning>, Refusal> {
    let length = span::parse(&silence.length)
        .map_err(|error| Refusal::of_field(ErrorCode::BadBody, "for", error.to_string()))?;
    let hub = app.hub.clone();
    app.reads.run(move || Ok(Json(hub.silence_rule(&name, length)?))).await
}

/// Acknowledges the warning of a rule that stands: somebody takes care of it.
#[utoipa::path(post, path = "/api/v1/warnings/{name}/acknowledge", tag = "forecast", params(("name" = String, Path)),
    request_body = Acknowledging,
    responses((status = 200, body = Warning), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn acknowledge(
    State(app): State<App>,
    Name(name): Name,
    _: Query<NoParameters>,
    JsonBody(Acknowledging { by, since }): JsonBody<Acknowledging>,
) -> Result<Json<Warning>, Refusal> {
    let is_name = |by: &String| (1..=BY_BYTES_MAX).contains(&by.len()) && !by.contains(char::is_control);
    if by.as_ref().is_some_and(|by| !is_name(by)) {
        let message = "`by` must be 1 to 100 bytes without control characters; leave it out to give no name";
        return Err(Refusal::of_field(ErrorCode::BadBody, "by", message.to_owned()));
    }
    Ok(Json(app.hub.acknowledge(&name, since, by)?))
}
