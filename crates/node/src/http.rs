//! The HTTP side of a node: reads requests, asks the [`Hub`], writes answers. `docs/formats/http.md` says what they
//! mean.
//!
//! Handlers hold no state of their own beyond limits. What takes long runs on [`Workers`]; what has many
//! readers is made once by the [`Press`].

mod access;
mod budget;
mod events;
mod extract;
mod health;
mod kernel;
mod metrics;
mod mpi;
mod one_off;
mod outlook;
mod press;
mod processes;
mod pushed;
mod refusal;
mod rules;
mod run_time;
mod series;
mod server;
mod warnings;
mod workers;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::http::Uri;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use utoipa::openapi::Components;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use access::Access;
use budget::Budget;
use press::Press;
use refusal::Refusal;
pub(crate) use server::serve;
use workers::Workers;

use crate::api::ErrorCode;
use crate::hub::Hub;
use crate::mpi::Jobs;
use crate::page;

/// State that every handler can reach.
#[derive(Clone)]
struct App {
    hub: Arc<Hub>,
    jobs: Arc<Jobs>,
    /// The path of the socket of the agent that measures the kernel.
    kernel: Option<Arc<PathBuf>>,
    press: Arc<Press>,
    /// Fits of one-off forecasts. Two at once keep a small host usable, whatever is asked of it.
    fits: Workers,
    /// The limits of fits that clients may ask for.
    budget: Budget,
    /// Questions to that agent, which may be slow to answer.
    asks: Workers,
    /// Reading and changing the store, and long answers.
    reads: Workers,
}

#[derive(OpenApi)]
#[openapi(
    info(title = "Foretop", description = "What this host delivers, and what it will deliver next."),
    modifiers(&TokenScheme),
    tags((name = "series"), (name = "pushed"), (name = "forecast"), (name = "live"), (name = "mpi"),
         (name = "kernel"), (name = "processes"), (name = "health"))
)]
struct Description;

/// Modifier that adds to the description how a token is shown, if there is one.
struct TokenScheme;

impl Modify for TokenScheme {
    fn modify(&self, description: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        description.components.get_or_insert_with(Components::new).add_security_scheme("token", scheme);
        description.security = Some(vec![SecurityRequirement::default(), SecurityRequirement::new("token", [""; 0])]);
    }
}

/// Every path of the node, ready to be served.
pub(crate) fn router(hub: Arc<Hub>, jobs: Arc<Jobs>, kernel: Option<PathBuf>, access: Access) -> axum::Router {
    let access = Arc::new(access);
    let app = App {
        press: Arc::new(Press::new(Arc::clone(&hub))),
        hub,
        jobs,
        kernel: kernel.map(Arc::new),
        fits: Workers::new("fits", 2, 16),
        budget: Budget::default(),
        asks: Workers::new("questions to the kernel's agent", 2, 16),
        reads: Workers::new("reads", 4, 64),
    };
    let (guarded, described) = described_routes(&access).with_state(app).split_for_parts();
    let description = Arc::new(described);
    let describe = get(async move || Json(description));
    let described_path = axum::Router::new()
        .route("/api/v1/openapi.json", describe)
        .layer(from_fn_with_state(Arc::clone(&access), access::require_token));
    guarded
        .merge(described_path)
        .merge(page::router())
        .fallback(async |uri: Uri| Refusal::new(ErrorCode::NotFound, format!("there is nothing at `{}`", uri.path())))
        .method_not_allowed_fallback(async || {
            Refusal::new(
                ErrorCode::MethodNotAllowed,
                "this path does not take this method; `Allow` says which it takes",
            )
        })
        .layer(from_fn_with_state(access, access::guard))
}

/// The paths that the description describes: those that need the token, and those that do not.
fn described_routes(access: &Arc<Access>) -> OpenApiRouter<App> {
    let guarded = OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(series::list, pushed::create))
        .routes(routes!(series::detail, pushed::remove))
        .routes(routes!(series::samples, pushed::push))
        .routes(routes!(series::cause))
        .routes(routes!(series::forecast))
        .routes(routes!(series::remembered))
        .routes(routes!(series::accuracy))
        .routes(routes!(outlook::outlook))
        .routes(routes!(outlook::hindcast))
        .routes(routes!(outlook::probability))
        .routes(routes!(outlook::picture))
        .routes(routes!(warnings::list))
        .routes(routes!(warnings::silence))
        .routes(routes!(warnings::acknowledge))
        .routes(routes!(warnings::exhaustion))
        .routes(routes!(rules::list))
        .routes(routes!(rules::put, rules::remove))
        .routes(routes!(rules::test))
        .routes(routes!(processes::table))
        .routes(routes!(processes::history))
        .routes(routes!(run_time::run_time))
        .routes(routes!(one_off::forecast))
        .routes(routes!(one_off::forecasts))
        .routes(routes!(events::events))
        .routes(routes!(mpi::list))
        .routes(routes!(mpi::detail))
        .routes(routes!(mpi::pathmap))
        .routes(routes!(mpi::analysis))
        .routes(routes!(mpi::last_arrival))
        .routes(routes!(kernel::status, kernel::ask))
        .routes(routes!(kernel::summaries))
        .routes(routes!(kernel::traces))
        .routes(routes!(kernel::records))
        .routes(routes!(metrics::metrics))
        .layer(from_fn_with_state(Arc::clone(access), access::require_token));
    guarded.merge(OpenApiRouter::new().routes(routes!(health::healthz)).routes(routes!(health::readyz)))
}
