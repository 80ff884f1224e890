//! Whether the node is well and whether it is ready: `GET /healthz`, `GET /readyz`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::App;
use super::extract::{NoParameters, Query};
use crate::api::{ErrorBody, Health, Readiness};

/// Health of the node. Always 200 while it serves.
#[utoipa::path(get, path = "/healthz", tag = "health", responses(
    (status = 200, body = Health), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn healthz(State(app): State<App>, _: Query<NoParameters>) -> Json<Health> {
    Json(app.hub.health())
}

/// Whether the first samples are in and the store is open.
#[utoipa::path(get, path = "/readyz", tag = "health", responses(
    (status = 200, body = Readiness), (status = 503, description = "not yet", body = Readiness),
    (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn readyz(State(app): State<App>, _: Query<NoParameters>) -> (StatusCode, Json<Readiness>) {
    let readiness = app.hub.readiness();
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(readiness))
}
