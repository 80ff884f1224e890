//! Samples and forecasts as they come, as server-sent events: `GET /api/v1/events`.

#![expect(unused_qualifications, reason = "the macro of utoipa qualifies what it is given")]

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::broadcast::error::RecvError;
use units::Confidence;
use utoipa::IntoParams;

use super::App;
use super::extract::{Fields, FromQuery, Query};
use super::press::{Choice, Reader, event};
use super::refusal::Refusal;
use super::server::Stopping;
use crate::api::{ErrorBody, Hello, Lagged, TickEvent};

const LEADS_DEFAULT: [usize; 7] = [1, 2, 5, 10, 20, 30, 60];

/// The most leads a reader can ask for.
const N_LEADS_MAX: usize = 32;

/// The farthest lead in a tick: an hour at one step a second. Every step up to it costs at every tick.
const LEAD_MAX: usize = 3_600;

/// Time without an event after which a comment shows the reader, and any intermediary, that the connection is alive.
const COMMENT_AFTER: Duration = Duration::from_secs(15);

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct EventsQuery {
    /// A series; may be repeated. All series by default.
    #[param(value_type = Option<Vec<String>>, style = Form, explode = true)]
    series: Vec<String>,
    /// Leads in steps, with commas between: at most 32, each from 1 to 3,600.
    #[param(value_type = Option<String>, example = "1,10,60")]
    leads: Vec<usize>,
    /// Share of values to come that the bounds are meant to hold, in (0, 1); 0.95 by default.
    #[param(value_type = Option<f64>, example = 0.95)]
    confidence: Confidence,
    /// The same for a second band of each forecast; none by default.
    #[param(value_type = Option<f64>, example = 0.5)]
    inner: Option<Confidence>,
}

impl FromQuery for EventsQuery {
    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            series: fields.all("series"),
            leads: fields.read("leads", parse_leads)?.unwrap_or_else(|| LEADS_DEFAULT.to_vec()),
            confidence: fields.read("confidence", str::parse)?.unwrap_or_default(),
            inner: fields.read("inner", str::parse)?,
        })
    }
}

/// A stream of `hello`, `health`, `warnings`, `tick` and `lagged`.
#[utoipa::path(get, path = "/api/v1/events", tag = "live", params(EventsQuery), responses(
    (status = 200, description = "server-sent events; `data` of a tick is as described", content_type = "text/event-stream",
     body = TickEvent),
    (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn events(
    State(app): State<App>,
    Query(query): Query<EventsQuery>,
    stopping: Option<Extension<Stopping>>,
) -> Result<Response, Refusal> {
    let series = resolve(&app, query.series)?;
    let reader = app.press.subscribe(Choice::new(series, query.leads, query.confidence, query.inner))?;
    let first = [
        event("hello", &Hello { node: app.hub.info() }),
        event("health", &app.hub.health()),
        event("warnings", &app.hub.warnings()),
    ];
    let feed = Feed { first: first.into(), reader, stopping: stopping.map(|Extension(stopping)| stopping) };
    let events = stream::unfold(feed, async |mut feed| {
        let next = feed.next().await?;
        Some((Ok::<_, Infallible>(next), feed))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(events)).into_response())
}

/// Short names in full, without duplicates, so that equal choices are equal.
fn resolve(app: &App, asked: Vec<String>) -> Result<Option<Vec<String>>, Refusal> {
    if asked.is_empty() {
        return Ok(None);
    }
    let mut ids = asked.iter().map(|id| Ok(app.hub.detail(id)?.series.id)).collect::<Result<Vec<_>, Refusal>>()?;
    ids.sort_unstable();
    ids.dedup();
    Ok(Some(ids))
}

fn parse_leads(text: &str) -> Result<Vec<usize>, String> {
    let refused = || {
        format!("`{text}` are not leads; write at most {N_LEADS_MAX} whole numbers from 1 to {LEAD_MAX}, as in 1,10,60")
    };
    let read = |lead: &str| lead.trim().parse().ok().filter(|lead| (1..=LEAD_MAX).contains(lead));
    let mut leads = text.split(',').map(read).collect::<Option<Vec<usize>>>().ok_or_else(refused)?;
    leads.sort_unstable();
    leads.dedup();
    if leads.len() <= N_LEADS_MAX { Ok(leads) } else { Err(refused()) }
}

/// Events that one reader is still to get.
struct Feed {
    first: VecDeque<Bytes>,
    reader: Reader,
    stopping: Option<Stopping>,
}

impl Feed {
    /// The next event; `None` when the node stops.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.pop_front() {
            return Some(first);
        }
        let next = tokio::time::timeout(COMMENT_AFTER, self.reader.events.recv());
        let next = match &mut self.stopping {
            None => next.await,
            Some(stopping) => tokio::select! {
                next = next => next,
                () = stopping.begun() => return None,
            },
        };
        match next {
            Ok(Ok(event)) => Some(event),
            Ok(Err(RecvError::Lagged(missed))) => Some(event("lagged", &Lagged { missed })),
            Ok(Err(RecvError::Closed)) => None,
            Err(_) => Some(Bytes::from_static(b":\n\n")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leads_are_sorted_and_told_once() {
        assert_eq!(parse_leads("60,1,10,10"), Ok(vec![1, 10, 60]));
    }

    #[test]
    fn leads_out_of_range_are_refused_by_name() {
        for refused in ["", "0", "1,,2", "3601", "-1", "a", "99999999999999999999999"] {
            assert!(parse_leads(refused).unwrap_err().contains(refused), "{refused} was taken");
        }
        assert!(parse_leads(&(1..=33).map(|lead| lead.to_string()).collect::<Vec<_>>().join(",")).is_err());
    }
}
