//! Measured values, forecasts and their accuracy: `GET /api/v1/series…`.

#![expect(unused_qualifications, reason = "the macro of utoipa qualifies what it is given")]

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use units::{Confidence, Moment, span};
use utoipa::IntoParams;

use super::App;
use super::extract::{Fields, FromQuery, Id, NoParameters, Query};
use super::refusal::Refusal;
use crate::api::{Accuracy, ChangeCause, ErrorBody, Forecast, Remembered, Samples, SeriesDetail, SeriesList};
use crate::hub::{Hub, TimeRange};

const HORIZON_DEFAULT: Duration = Duration::from_secs(30);

/// Default length of the past in a query that has no start.
const RANGE_DEFAULT: Duration = Duration::from_secs(600);
const CAUSE_DEFAULT: Duration = Duration::from_secs(3600);

/// Every series there is.
#[utoipa::path(get, path = "/api/v1/series", tag = "series", responses(
    (status = 200, body = SeriesList), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn list(State(app): State<App>, _: Query<NoParameters>) -> Json<SeriesList> {
    Json(SeriesList { node: app.hub.info(), series: app.hub.list() })
}

/// One series, and what is fitted to it.
#[utoipa::path(get, path = "/api/v1/series/{id}", tag = "series", params(("id" = String, Path)), responses(
    (status = 200, body = SeriesDetail), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn detail(
    State(app): State<App>,
    Id(id): Id,
    _: Query<NoParameters>,
) -> Result<Json<SeriesDetail>, Refusal> {
    Ok(Json(app.hub.detail(&id)?))
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct SamplesQuery {
    /// First moment, or a length of time before now; 10 minutes before `to` by default.
    #[param(value_type = Option<String>, example = "-10min")]
    from: Option<Moment>,
    /// The moment after the last; now by default.
    #[param(value_type = Option<String>, example = "-0s")]
    to: Option<Moment>,
    /// Means over buckets of this length, rounded up to whole steps of the series.
    #[param(value_type = Option<String>, example = "60s")]
    step: Option<Duration>,
}

impl FromQuery for SamplesQuery {
    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        let step = fields.read("step", length_above_zero)?;
        Ok(Self { from: fields.read("from", str::parse)?, to: fields.read("to", str::parse)?, step })
    }
}

/// Samples of a series, as sampled or as means over buckets.
#[utoipa::path(get, path = "/api/v1/series/{id}/samples", tag = "series", params(("id" = String, Path), SamplesQuery),
    responses((status = 200, body = Samples), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn samples(
    State(app): State<App>,
    Id(id): Id,
    Query(query): Query<SamplesQuery>,
) -> Result<Response, Refusal> {
    let range = range(&app.hub, query.from, query.to, RANGE_DEFAULT)?;
    answer(&app, move |hub| Ok(hub.samples(&id, range, query.step)?)).await
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct CauseQuery {
    /// First moment, or a length of time before now; an hour before `to` by default.
    #[param(value_type = Option<String>, example = "-1h")]
    from: Option<Moment>,
    /// The moment after the last; now by default.
    #[param(value_type = Option<String>, example = "-0s")]
    to: Option<Moment>,
}

impl FromQuery for CauseQuery {
    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self { from: fields.read("from", str::parse)?, to: fields.read("to", str::parse)? })
    }
}

/// Programs whose use of a resource moved a series.
#[utoipa::path(get, path = "/api/v1/series/{id}/cause", tag = "processes", params(("id" = String, Path), CauseQuery),
    responses((status = 200, body = ChangeCause), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn cause(
    State(app): State<App>,
    Id(id): Id,
    Query(query): Query<CauseQuery>,
) -> Result<Response, Refusal> {
    let range = range(&app.hub, query.from, query.to, CAUSE_DEFAULT)?;
    answer(&app, move |hub| Ok(hub.cause(&id, range)?)).await
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ForecastQuery {
    /// Time to look ahead; 30s by default.
    #[param(value_type = Option<String>, example = "30s")]
    horizon: Duration,
    /// Share of values to come that the bounds are meant to hold, in (0, 1); 0.95 by default.
    #[param(value_type = Option<f64>, example = 0.95)]
    confidence: Confidence,
}

impl FromQuery for ForecastQuery {
    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            horizon: fields.read("horizon", span::parse)?.unwrap_or(HORIZON_DEFAULT),
            confidence: fields.read("confidence", str::parse)?.unwrap_or_default(),
        })
    }
}

/// Every step up to a horizon.
#[utoipa::path(get, path = "/api/v1/series/{id}/forecast", tag = "series", params(("id" = String, Path), ForecastQuery),
    responses((status = 200, body = Forecast), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn forecast(
    State(app): State<App>,
    Id(id): Id,
    Query(query): Query<ForecastQuery>,
) -> Result<Response, Refusal> {
    answer(&app, move |hub| Ok(hub.forecast(&id, query.horizon, query.confidence)?)).await
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct RememberedQuery {
    /// Lead of these forecasts: one of the leads that `accuracy` lists.
    #[param(value_type = String, example = "60s")]
    lead: Duration,
    /// First moment, or a length of time before now; 10 minutes before `to` by default.
    #[param(value_type = Option<String>, example = "-10min")]
    from: Option<Moment>,
    /// The moment after the last; now by default.
    #[param(value_type = Option<String>, example = "-0s")]
    to: Option<Moment>,
}

impl FromQuery for RememberedQuery {
    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        let lead = fields.read("lead", length_above_zero)?;
        let lead = lead.ok_or_else(|| Refusal::bad_parameter("lead", "`lead` is missing; write lead=60s"))?;
        Ok(Self { lead, from: fields.read("from", str::parse)?, to: fields.read("to", str::parse)? })
    }
}

/// Forecasts that the node made at the time, by the moments that they were for.
#[utoipa::path(get, path = "/api/v1/series/{id}/forecasts", tag = "series", params(("id" = String, Path), RememberedQuery),
    responses((status = 200, body = Remembered), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn remembered(
    State(app): State<App>,
    Id(id): Id,
    Query(query): Query<RememberedQuery>,
) -> Result<Response, Refusal> {
    let range = range(&app.hub, query.from, query.to, RANGE_DEFAULT)?;
    answer(&app, move |hub| Ok(hub.remembered(&id, query.lead, range)?)).await
}

/// Accuracy of the forecasts, beside that of LAST and MEAN.
#[utoipa::path(get, path = "/api/v1/series/{id}/accuracy", tag = "series", params(("id" = String, Path)), responses(
    (status = 200, body = Accuracy), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn accuracy(
    State(app): State<App>,
    Id(id): Id,
    _: Query<NoParameters>,
) -> Result<Json<Accuracy>, Refusal> {
    Ok(Json(app.hub.accuracy(&id)?))
}

/// Asks the hub, and writes the answer, where neither a store that is slow nor 100,000 numbers hold up others.
async fn answer<T: Serialize>(
    app: &App,
    ask: impl FnOnce(&Hub) -> Result<T, Refusal> + Send + 'static,
) -> Result<Response, Refusal> {
    let hub = app.hub.clone();
    app.reads.run(move || ask(&hub).map(|answer| Json(answer).into_response())).await
}

/// The range that is asked about, which begins `default` before its end unless it is said.
pub(super) fn range(
    hub: &Hub,
    from: Option<Moment>,
    to: Option<Moment>,
    default: Duration,
) -> Result<TimeRange, Refusal> {
    // The end is exclusive, and a sample for this very moment is meant to be in.
    let now = hub.now() + Duration::from_nanos(1);
    let to = to.map_or(now, |to| to.resolve(now));
    let from = from.map_or(to - default, |from| from.resolve(now));
    if from < to {
        Ok(TimeRange { from, to })
    } else {
        Err(Refusal::bad_parameter("from", format!("from ({from}) must be before to ({to})")))
    }
}

fn length_above_zero(text: &str) -> Result<Duration, String> {
    match span::parse(text) {
        Ok(Duration::ZERO) => Err(format!("`{text}` is no time; write a length such as 60s")),
        Ok(length) => Ok(length),
        Err(error) => Err(error.to_string()),
    }
}
