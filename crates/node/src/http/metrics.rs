//! Values, forecasts and the node's own health for Prometheus: `GET /metrics`, text format 0.0.4.

#![expect(unused_qualifications, reason = "the macro of utoipa qualifies what it is given")]

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use prometheus::TextEncoder;
use utoipa::IntoParams;

use super::App;
use super::extract::{Fields, FromQuery, Query};
use super::refusal::Refusal;
use crate::api::ErrorBody;
use crate::exposition::Families;
use crate::hub::GAUGE_HORIZONS;

const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct MetricsQuery {
    /// `true` for forecasts as `yhat`, `yhat_lower` and `yhat_upper` too.
    #[param(value_type = Option<bool>, example = true)]
    yhat: bool,
}

impl FromQuery for MetricsQuery {
    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self { yhat: fields.flag("yhat")?.unwrap_or(false) })
    }
}

/// Everything for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "health", params(MetricsQuery), responses(
    (status = 200, description = "Prometheus text format 0.0.4", content_type = "text/plain", body = String),
    (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn metrics(State(app): State<App>, Query(query): Query<MetricsQuery>) -> Result<Response, Refusal> {
    let hub = app.hub.clone();
    // A forecast five minutes ahead for every series adds up when steps are short.
    let text = app.reads.run(move || {
        let mut families = Families::new(query.yhat);
        for gauge in hub.gauges(&GAUGE_HORIZONS) {
            families.add_signal(&gauge);
        }
        families.add_warnings(&hub.warnings());
        families.add_node(&hub.counters());
        hub.remote_counters().iter().for_each(|remote| families.add_remote(remote));
        families.add_streams(&hub);
        families.add_process();
        TextEncoder::new().encode_to_string(&families.finish()).map_err(|error| Refusal::internal(&error))
    });
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text.await?).into_response())
}
