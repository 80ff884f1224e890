//! Control of the agent that measures the kernel: `GET /api/v1/kernel`, `POST /api/v1/kernel`, `GET /api/v1/kernel/summaries`, `GET /api/v1/kernel/traces`.
//!
//! What is asked and answered is the agent's: `docs/formats/kernel-control.md`.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use kernel::control::{Answer, Request};
use kernel::{Client, Error};

use super::App;
use super::extract::{JsonBody, NoParameters, Query};
use super::refusal::Refusal;
use crate::api::{ErrorBody, ErrorCode};

/// A first attachment calibrates each probe, which takes seconds. Below what clients wait for a node.
const PATIENCE: Duration = Duration::from_secs(15);

/// What the agent measures, what that costs, and who may change it.
#[utoipa::path(get, path = "/api/v1/kernel", tag = "kernel", responses(
    (status = 200, body = Object), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn status(State(app): State<App>, _: Query<NoParameters>) -> Result<Json<Answer>, Refusal> {
    answer(app, Request::Status).await
}

/// The summaries of the agent's latest pull.
#[utoipa::path(get, path = "/api/v1/kernel/summaries", tag = "kernel", responses(
    (status = 200, body = Object), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn summaries(State(app): State<App>, _: Query<NoParameters>) -> Result<Json<Answer>, Refusal> {
    answer(app, Request::Summaries).await
}

/// What came of the agent's traced points, with their latest events.
#[utoipa::path(get, path = "/api/v1/kernel/traces", tag = "kernel", responses(
    (status = 200, body = Object), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn traces(State(app): State<App>, _: Query<NoParameters>) -> Result<Json<Answer>, Refusal> {
    answer(app, Request::Traces).await
}

/// Passes a request of a controller on to the agent.
#[utoipa::path(post, path = "/api/v1/kernel", tag = "kernel", request_body = Object, responses(
    (status = 200, body = Object), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn ask(
    State(app): State<App>,
    _: Query<NoParameters>,
    JsonBody(request): JsonBody<Request>,
) -> Result<Json<Answer>, Refusal> {
    answer(app, request).await
}

async fn answer(app: App, request: Request) -> Result<Json<Answer>, Refusal> {
    let Some(path) = app.kernel else {
        let message = "this node has no agent that measures the kernel: start it with `foretop up --kernel`";
        return Err(Refusal::new(ErrorCode::NotFound, message));
    };
    app.asks
        .run(move || {
            let answer = Client::connect_for(&path, PATIENCE).and_then(|mut client| client.ask(&request));
            answer.map(Json).map_err(|error| match error {
                Error::AgentRefused { why } => Refusal::new(ErrorCode::Conflict, why),
                error => Refusal::new(ErrorCode::AgentUnavailable, text::with_causes(&error)),
            })
        })
        .await
}
