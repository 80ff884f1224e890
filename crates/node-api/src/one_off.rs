//! Forecasts of samples that come with the request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

use crate::series::Fitted;

/// Request of `POST /api/v1/forecast`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OneOff {
    /// A model specification: `AR(16)`.
    pub model: String,
    /// Evenly spaced samples, oldest first; a gap is `null`. At most 100,000.
    pub samples: Vec<Option<f64>>,
    /// Steps to look ahead, 1 to 100,000.
    pub horizon: usize,
    /// Share of values to come that the bounds are meant to hold, in (0, 1); 0.95 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
}

/// Answer of `POST /api/v1/forecast`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct OneOffForecast {
    /// The model that was asked for.
    pub model: String,
    /// Share of values to come that the bounds are meant to hold, in (0, 1).
    pub confidence: f64,
    /// Expected values; element `i` is for lead `i + 1`.
    pub mean: Vec<f64>,
    /// Standard errors of the means.
    pub standard_error: Vec<f64>,
    /// Lower bounds.
    pub lower: Vec<f64>,
    /// Upper bounds.
    pub upper: Vec<f64>,
    /// Result of the fit.
    pub fitted: Fitted,
}

/// Request of `POST /api/v1/forecasts`: one-offs of many series, all by the same model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OneOffs {
    /// A model specification: `AR(16)`.
    pub model: String,
    /// Evenly spaced samples of each series by its name, oldest first; a gap is `null`. At most 100,000 in all.
    pub series: BTreeMap<String, Vec<Option<f64>>>,
    /// Steps to look ahead, at least 1; at most 100,000 over all series.
    pub horizon: usize,
    /// Share of values to come that the bounds are meant to hold, in (0, 1); 0.95 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
}

/// Answer of `POST /api/v1/forecasts`: every series is in one of the two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct OneOffForecasts {
    /// Forecasts by the name of the series.
    pub forecasts: BTreeMap<String, OneOffForecast>,
    /// Reasons why the samples do not yield the model, by the name of the series.
    pub refused: BTreeMap<String, String>,
}
