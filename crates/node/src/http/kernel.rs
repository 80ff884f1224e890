//! Control of the agent that measures the kernel: `GET /api/v1/kernel`, `POST /api/v1/kernel`,
//! `GET /api/v1/kernel/summaries`, `GET /api/v1/kernel/traces`, `GET /api/v1/kernel/records`.
//!
//! What is asked and answered is the agent's: `docs/formats/kernel-control.md`.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures_util::stream;
use kernel::control::{Answer, Request};
use kernel::{Client, Error};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;

use super::App;
use super::extract::{JsonBody, NoParameters, Query};
use super::refusal::Refusal;
use super::server::Stopping;
use crate::api::{ErrorBody, ErrorCode};

/// A first attachment calibrates each probe, which takes seconds. Below what clients wait for a node.
const PATIENCE: Duration = Duration::from_secs(15);

/// The agent's measurements, their cost, and the controller that may change them.
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

/// The agent's traced points with their latest events.
#[utoipa::path(get, path = "/api/v1/kernel/traces", tag = "kernel", responses(
    (status = 200, body = Object), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn traces(State(app): State<App>, _: Query<NoParameters>) -> Result<Json<Answer>, Refusal> {
    answer(app, Request::Traces).await
}

/// So much of a file of records is passed on at a time.
const PIECE_BYTES: usize = 1 << 16;

/// All that the agent measures from now on, as a file of records that ends when `end-receive` says so.
#[utoipa::path(get, path = "/api/v1/kernel/records", tag = "kernel", responses(
    (status = 200, description = "a file of records", content_type = "application/octet-stream"),
    (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn records(
    State(app): State<App>,
    _: Query<NoParameters>,
    stopping: Option<Extension<Stopping>>,
) -> Result<Response, Refusal> {
    let path = agent_of(&app)?;
    let begin = move || {
        let (first, socket) = Client::connect_for(&path, PATIENCE).and_then(Client::receive).map_err(refused)?;
        socket.set_nonblocking(true).map_err(|error| Refusal::internal(&error))?;
        Ok((first, socket))
    };
    let (first, socket) = app.asks.run(begin).await?;
    let socket = UnixStream::from_std(socket).map_err(|error| Refusal::internal(&error))?;
    let pieces = Pieces { first: Some(first.into()), socket, stopping: stopping.map(|Extension(stopping)| stopping) };
    let pieces = stream::unfold(pieces, async |mut pieces| Some((Ok::<_, Infallible>(pieces.next().await?), pieces)));
    let headers = [(header::CONTENT_TYPE, "application/octet-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// The pieces of a file that a receiver is still to get. If the file breaks off, it states itself that it is cut.
struct Pieces {
    first: Option<Bytes>,
    socket: UnixStream,
    stopping: Option<Stopping>,
}

impl Pieces {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let mut piece = vec![0; PIECE_BYTES];
        let read = self.socket.read(&mut piece);
        let n = match &mut self.stopping {
            None => read.await,
            Some(stopping) => tokio::select! {
                n = read => n,
                () = stopping.begun() => return None,
            },
        };
        piece.truncate(n.ok().filter(|n| *n > 0)?);
        Some(piece.into())
    }
}

/// Passes a request of a controller on to the agent.
#[utoipa::path(post, path = "/api/v1/kernel", tag = "kernel", request_body = Object, responses(
    (status = 200, body = Object), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn ask(
    State(app): State<App>,
    _: Query<NoParameters>,
    JsonBody(request): JsonBody<Request>,
) -> Result<Json<Answer>, Refusal> {
    if request == Request::Receive {
        let message = "records are received by GET /api/v1/kernel/records";
        return Err(Refusal::of_field(ErrorCode::BadBody, "do", message));
    }
    answer(app, request).await
}

async fn answer(app: App, request: Request) -> Result<Json<Answer>, Refusal> {
    let path = agent_of(&app)?;
    let ask = move || Client::connect_for(&path, PATIENCE).and_then(|mut client| client.ask(&request));
    app.asks.run(move || ask().map(Json).map_err(refused)).await
}

fn agent_of(app: &App) -> Result<Arc<PathBuf>, Refusal> {
    let message = "this node has no agent that measures the kernel: start it with `foretop up --kernel`";
    app.kernel.clone().ok_or_else(|| Refusal::new(ErrorCode::NotFound, message))
}

fn refused(error: Error) -> Refusal {
    match error {
        Error::AgentRefused { why } => Refusal::new(ErrorCode::Conflict, why),
        error => Refusal::new(ErrorCode::AgentUnavailable, text::with_causes(&error)),
    }
}
