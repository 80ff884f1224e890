//! Forecasts of a series, those of earlier moments, and how right they were.

use serde::{Deserialize, Serialize};
use units::Timestamp;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

/// Answer of `GET /api/v1/series/{id}/forecast`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Forecast {
    /// The series.
    pub id: String,
    /// Unit of the values.
    pub unit: String,
    /// The moment of the last sample that the forecast is made from.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub origin: Timestamp,
    /// Time from one value to the next.
    pub step_seconds: f64,
    /// Share of values to come that the bounds are meant to hold, in (0, 1).
    pub confidence: f64,
    /// The model in use.
    pub model: String,
    /// Stretches of the forecast, each with the model of greatest weight in it, if the model in use chooses among
    /// several; empty for any other model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_speaking: Vec<Speaking>,
    /// Models that make the last step of this forecast, the heaviest first, if the model in use weighs several; empty
    /// for any other model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub speakers: Vec<Weighed>,
    /// Expected values; element `i` is for `origin + (i + 1) * step`.
    pub mean: Vec<f64>,
    /// Standard errors of the means.
    pub standard_error: Vec<f64>,
    /// Lower bounds, cut to the range of the series.
    pub lower: Vec<f64>,
    /// Upper bounds, cut to the range of the series.
    pub upper: Vec<f64>,
}

/// The model of greatest weight in a stretch of a forecast.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Speaking {
    /// The first lead of the stretch, in steps. It ends before the next one, or with the forecast.
    pub from_lead: usize,
    /// The model.
    pub model: String,
}

/// A model's share in a forecast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Weighed {
    /// The model.
    pub model: String,
    /// Its share, in (0, 1].
    pub weight_ratio: f64,
}

/// Answer of `GET /api/v1/series/{id}/forecasts`: earlier forecasts of the node, by the moments that they were for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Remembered {
    /// The series.
    pub id: String,
    /// Lead time of these forecasts.
    pub lead_seconds: f64,
    /// The moments that they were for.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>, format = DateTime))]
    pub time: Vec<Timestamp>,
    /// Expected values.
    pub mean: Vec<f64>,
    /// Standard errors of the means.
    pub standard_error: Vec<f64>,
}

/// Answer of `GET /api/v1/series/{id}/accuracy`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Accuracy {
    /// The series.
    pub id: String,
    /// Unit of the errors.
    pub unit: String,
    /// Shortest lead first.
    pub leads: Vec<LeadAccuracy>,
    /// Results of tests of the model's errors one step ahead; `null` if lead 1 is not scored, or too few forecasts came
    /// due.
    pub residuals: Option<Residuals>,
}

/// Tests of errors one step ahead: a p-value below 0.05 says that normal noise rarely looks like this.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Residuals {
    /// Errors tested.
    pub n: usize,
    /// Lags that correlations were looked at.
    pub n_lags: usize,
    /// The share of correlations beyond what 5 % of those of noise exceed.
    pub significant_ratio: f64,
    /// The p-value of the test of Ljung and Box: whether errors are correlated.
    pub ljung_box_p: f64,
    /// The p-value of the number of turning points.
    pub turning_points_p: f64,
    /// The p-value of the number of rises.
    pub rises_p: f64,
    /// The share of the errors' variance on the line of their quantile-quantile plot; 1 for normal ones.
    pub normality_r_squared: f64,
    /// The p-value of that; `null` beyond 5,000 errors, for which none is known.
    pub normality_p: Option<f64>,
}

/// Accuracy of the forecasts of one lead time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct LeadAccuracy {
    /// The lead in steps of the series.
    pub lead_steps: usize,
    /// The lead in time.
    pub lead_seconds: f64,
    /// Forecasts that came due and are counted here.
    pub n: usize,
    /// Errors of the model in use; `null` before any forecast came due.
    pub model: Option<ErrorStatistics>,
    /// Errors of LAST at the same moments; `null` before any forecast came due.
    pub last: Option<ErrorStatistics>,
    /// Errors of MEAN at the same moments; `null` before any forecast came due.
    pub mean: Option<ErrorStatistics>,
}

/// Statistics of errors: sample minus forecast, in the unit of the series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct ErrorStatistics {
    /// Least error.
    pub min: f64,
    /// Median error.
    pub median: f64,
    /// Greatest error.
    pub max: f64,
    /// Mean error: what the forecast is off by on the whole.
    pub mean: f64,
    /// Mean absolute error.
    pub mean_absolute: f64,
    /// Mean squared error, in squared units of the series.
    pub mean_squared: f64,
    /// Share of samples that lay in the interval.
    pub coverage: Coverage,
}

/// Share of samples inside the interval of each confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Coverage {
    /// Coverage of the 50 % interval.
    #[serde(rename = "0.5")]
    pub p50: f64,
    /// Coverage of the 80 % interval.
    #[serde(rename = "0.8")]
    pub p80: f64,
    /// Coverage of the 95 % interval.
    #[serde(rename = "0.95")]
    pub p95: f64,
}
