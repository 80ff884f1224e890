//! Prometheus Alertmanager, by its API v2. It groups, silences and routes; a warning that it does not hear of any more
//! is over.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::{Alert, DeliveryError, Server};

/// A warning in the form of API v2.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Posted<'a> {
    labels: BTreeMap<&'static str, &'a str>,
    annotations: BTreeMap<&'static str, String>,
    starts_at: String,
    ends_at: String,
    #[serde(rename = "generatorURL")]
    generator_url: &'a str,
}

/// Posts the changes and the standing warnings, which are over in `keep` unless they are posted again before.
pub(crate) fn post(
    server: &Server,
    changes: &[Alert],
    standing: &[Alert],
    keep: Duration,
) -> Result<(), DeliveryError> {
    // What was raised stands, and is told of there.
    let over = changes.iter().filter(|alert| !alert.stands);
    let posted: Vec<Posted<'_>> = over.chain(standing).map(|alert| Posted::of(alert, keep)).collect();
    if posted.is_empty() {
        return Ok(());
    }
    let body = serde_json::to_vec(&posted).expect("text has a form in JSON");
    server.post_json(Some("/api/v2/alerts"), &body)
}

impl<'a> Posted<'a> {
    fn of(alert: &'a Alert, keep: Duration) -> Self {
        let ends_at = if alert.stands { alert.at + keep } else { alert.at };
        let probability = format!("{:.3}", alert.probability);
        let mut annotations: BTreeMap<&'static str, String> =
            [("summary", alert.summary.clone()), ("probability", probability), ("origin", alert.origin.to_string())]
                .into();
        annotations.extend(alert.cause.clone().map(|cause| ("cause", cause)));
        annotations.extend(alert.culprit.clone().map(|culprit| ("culprit", culprit)));
        if !alert.picture_url.is_empty() {
            annotations.insert("picture_url", alert.picture_url.clone());
        }
        Self {
            labels: [("alertname", &*alert.rule), ("host", &*alert.host), ("series", &*alert.series)].into(),
            annotations,
            starts_at: alert.since.to_string(),
            ends_at: ends_at.to_string(),
            generator_url: &alert.url,
        }
    }
}
