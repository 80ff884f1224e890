//! Server-sent events of a node.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use units::Timestamp;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

use crate::node::NodeInfo;

/// The first event of a stream: the node that sends it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Hello {
    /// The node that sends the stream.
    pub node: NodeInfo,
}

/// An event: samples that arrived, and the forecasts made from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct TickEvent {
    /// The moment that the samples are for.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub time: Timestamp,
    /// Time from one sample of these series to the next.
    pub step_seconds: f64,
    /// A value for each series; a gap is `null`.
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, Option<f64>>))]
    pub values: BTreeMap<Arc<str>, Option<f64>>,
    /// Forecasts of those series that have one.
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, LeadForecast>))]
    pub forecasts: BTreeMap<Arc<str>, LeadForecast>,
    /// Second bands of these forecasts; empty unless asked for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, LeadBand>))]
    pub inner: BTreeMap<Arc<str>, LeadBand>,
}

/// A forecast at chosen leads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct LeadForecast {
    /// Leads in steps of the series, ascending.
    pub leads: Vec<usize>,
    /// Expected values, one for each lead.
    pub mean: Vec<f64>,
    /// Lower bounds, cut to the range of the series.
    pub lower: Vec<f64>,
    /// Upper bounds, cut to the range of the series.
    pub upper: Vec<f64>,
}

/// Bounds of another confidence, at the leads of a forecast.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct LeadBand {
    /// Lower bounds, cut to the range of the series.
    pub lower: Vec<f64>,
    /// Upper bounds, cut to the range of the series.
    pub upper: Vec<f64>,
}

/// An event: the reader was too slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Lagged {
    /// Ticks that the reader missed.
    pub missed: u64,
}
