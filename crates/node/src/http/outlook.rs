//! Hours and days ahead: `GET /api/v1/series/{id}/outlook`, `GET /api/v1/series/{id}/hindcast`,
//! `GET /api/v1/probability` and `GET /api/v1/probability.png`.

#![expect(unused_qualifications, reason = "the macro of utoipa qualifies what it is given")]

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use picture::Kind;
use units::{Confidence, Moment, span};
use utoipa::IntoParams;

use super::App;
use super::extract::{Fields, FromQuery, Id, Query};
use super::refusal::Refusal;
use super::series::range;
use crate::api::{ErrorBody, Hindcast, Outlook, Probability, Seasons};
use crate::hub::{Asked, Hub, QueryError};

const HORIZON_DEFAULT: Duration = Duration::from_secs(86_400);
const HINDCAST_DEFAULT: Duration = Duration::from_secs(7 * 86_400);
const WITHIN_DEFAULT: Duration = Duration::from_secs(1800);

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct OutlookQuery {
    /// Time to look ahead, at most 14d; 24h by default.
    #[param(value_type = Option<String>, example = "24h")]
    horizon: Duration,
    /// Share of values to come that the bounds are meant to hold, in (0, 1); 0.95 by default.
    #[param(value_type = Option<f64>, example = 0.95)]
    confidence: Confidence,
    /// `false` to see no season, neither days and weeks nor others.
    #[param(value_type = Option<bool>, example = true)]
    season: Seasons,
}

impl FromQuery for OutlookQuery {
    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            horizon: fields.read("horizon", span::parse)?.unwrap_or(HORIZON_DEFAULT),
            confidence: fields.read("confidence", str::parse)?.unwrap_or_default(),
            season: seasons(fields)?,
        })
    }
}

fn seasons(fields: &mut Fields<'_>) -> Result<Seasons, Refusal> {
    Ok(if fields.flag("season")?.unwrap_or(true) { Seasons::Learned } else { Seasons::Off })
}

/// Every step up to a horizon of hours or days.
#[utoipa::path(get, path = "/api/v1/series/{id}/outlook", tag = "forecast", params(("id" = String, Path), OutlookQuery),
    responses((status = 200, body = Outlook), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn outlook(
    State(app): State<App>,
    Id(id): Id,
    Query(query): Query<OutlookQuery>,
) -> Result<Response, Refusal> {
    let hub = app.hub.clone();
    app.reads
        .run(move || Ok(Json(hub.outlook(&id, query.horizon, query.confidence, query.season)?).into_response()))
        .await
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct HindcastQuery {
    /// Lead of the forecasts, at most 14d; 24h by default.
    #[param(value_type = Option<String>, example = "6h")]
    lead: Duration,
    /// Share of values that the bounds are meant to hold, in (0, 1); 0.95 by default.
    #[param(value_type = Option<f64>, example = 0.95)]
    confidence: Confidence,
    /// First moment, or a length of time before now; 7 days before `to` by default.
    #[param(value_type = Option<String>, example = "-7d")]
    from: Option<Moment>,
    /// The moment after the last; now by default.
    #[param(value_type = Option<String>, example = "-0s")]
    to: Option<Moment>,
}

impl FromQuery for HindcastQuery {
    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            lead: fields.read("lead", span::parse)?.unwrap_or(HORIZON_DEFAULT),
            confidence: fields.read("confidence", str::parse)?.unwrap_or_default(),
            from: fields.read("from", str::parse)?,
            to: fields.read("to", str::parse)?,
        })
    }
}

/// Forecasts that would have been made of past steps hours or days before.
#[utoipa::path(get, path = "/api/v1/series/{id}/hindcast", tag = "forecast", params(("id" = String, Path), HindcastQuery),
    responses((status = 200, body = Hindcast), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn hindcast(
    State(app): State<App>,
    Id(id): Id,
    Query(query): Query<HindcastQuery>,
) -> Result<Response, Refusal> {
    let range = range(&app.hub, query.from, query.to, HINDCAST_DEFAULT)?;
    let hub = app.hub.clone();
    app.reads.run(move || Ok(Json(hub.hindcast(&id, query.lead, query.confidence, range)?).into_response())).await
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ProbabilityQuery {
    /// The condition: a series, `<`, `<=`, `>` or `>=`, and a number, which may have a unit. `max(…)`, `min(…)` and
    /// `mean(…)` of a series are over the whole time. For a series may stand several with `+`, `-` and `/` between
    /// spaces, and brackets. Names may stand in double quotes; those of series that exist need none, whatever they
    /// hold.
    #[param(example = "cpu.busy > 90%")]
    statement: String,
    /// The time that it is about, at most 14d; 30min by default.
    #[param(value_type = Option<String>, example = "30min")]
    within: Duration,
    /// Time for which it has to hold; one value is enough by default.
    #[param(value_type = Option<String>, example = "5s")]
    r#for: Option<Duration>,
    /// `false` to see no season, neither days and weeks nor others.
    #[param(value_type = Option<bool>, example = true)]
    season: Seasons,
}

impl FromQuery for ProbabilityQuery {
    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        let statement = fields.text("statement")?;
        let missing =
            || Refusal::bad_parameter("statement", "`statement` is missing; write for example cpu.busy > 90%");
        Ok(Self {
            statement: statement.ok_or_else(missing)?,
            within: fields.read("within", span::parse)?.unwrap_or(WITHIN_DEFAULT),
            r#for: fields.read("for", span::parse)?,
            season: seasons(fields)?,
        })
    }
}

/// Probability that a statement about a series comes true.
#[utoipa::path(get, path = "/api/v1/probability", tag = "forecast", params(ProbabilityQuery),
    responses((status = 200, body = Probability), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn probability(
    State(app): State<App>,
    Query(query): Query<ProbabilityQuery>,
) -> Result<Response, Refusal> {
    let hub = app.hub.clone();
    app.reads.run(move || Ok(Json(hub.probability(&query.asked(&hub)?)?).into_response())).await
}

/// Picture of the past, of possible futures, and of the threshold of a statement.
#[utoipa::path(get, path = "/api/v1/probability.png", tag = "forecast", params(ProbabilityQuery),
    responses((status = 200, content_type = "image/png", body = [u8]), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn picture(
    State(app): State<App>,
    Query(query): Query<ProbabilityQuery>,
) -> Result<Response, Refusal> {
    let hub = app.hub.clone();
    let drawn = move || {
        let png =
            hub.picture(&query.asked(&hub)?, None)?.encode(Kind::Png).map_err(|error| Refusal::internal(&error))?;
        Ok(([(header::CONTENT_TYPE, "image/png")], png).into_response())
    };
    app.reads.run(drawn).await
}

impl ProbabilityQuery {
    fn asked(self, hub: &Hub) -> Result<Asked, QueryError> {
        let Self { statement, within, r#for: lasting, season: seasons } = self;
        Ok(Asked { statement: hub.statement(&statement)?, within, lasting, seasons })
    }
}
